"""The verbs of the scenario: each reads what it needs, then makes exactly one change.

Nothing is named by id but by place (the second version, the mark at the end), so that a verb means the same on every
store, and after a crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from previously.core.digests import span_key
from previously.core.marks import MarkKind, is_of_a_span
from previously.core.messages import Attributes, Draft, message
from previously.core.path import Insertion, Put, Reuse, Span, Splice
from previously.core.versions import Cost, Kind, NewVersion, Status
from previously.storage.store import StoryKey
from tests.contract.storage.verbs import VerbStore

AT = "2026-01-01T00:00:00Z"
SOON, LATER, MUCH_LATER = "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z"
"""All changes are made at the first; what leases are about comes after it."""


Act = Callable[[VerbStore, StoryKey], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Verb:
    """One change, by name."""

    name: str
    act: Act


class Words:
    """Text for messages and memory, some of it long enough for pages of its own."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def line(self, length: int) -> str:
        """So many words."""
        return " ".join(self._chance.choice(_VOCABULARY) for _ in range(length))

    def drafts(self, count: int) -> list[Draft]:
        """Messages, all different."""
        lengths = [self._chance.choice((5, 5, 5, 30, 300)) for _ in range(count)]
        return [
            Draft(message(self._chance.choice(("user", "assistant")), f"{n} {self.line(length)}", speaker="Zoë"))
            for n, length in enumerate(lengths)
        ]

    def pieces(self, count: int, swipes: int = 0) -> tuple[Insertion, ...]:
        """Messages to put on a path; the first comes with swipes."""
        first, *rest = self.drafts(count)
        return (Put(Draft(first.message, alternatives=tuple(self.drafts(swipes)))), *map(Put, rest))


_VOCABULARY = (
    "harbour lamp Odalys rope küste tide oath 灯台 ledger storm promised three never bell 'quoted' salt".split()
)


def append(branch: str, pieces: Sequence[Insertion], receipt: str | None = None) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        end = (await store.branch(key, branch)).messages
        return await store.apply(key, branch, [Splice(end, 0, tuple(pieces))], at=AT, receipt=receipt)

    return Verb("append with a receipt" if receipt else "append", act)


def at_the_end(drafts: Sequence[Draft], store: VerbStore, key: StoryKey) -> Awaitable[object]:
    return store.append(key, "main", drafts, at=AT)


async def gc(store: Any, key: StoryKey) -> None:
    """Changes nothing that anybody sees; the store that is the measure has nothing to take away."""
    if hasattr(store, "gc"):
        await store.gc(key.owner, before=SOON)


def forget(branch: str, position: int) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        (item,) = await store.path(key, branch, position, position)
        return await store.forget_entries(key, {item.entry.id})

    return Verb("forget_entries", act)


def splice(branch: str, at: int, remove: int, pieces: Sequence[Insertion], name: str) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        head = (await store.branch(key, branch)).head
        there = await store.path(key, branch, at, at)
        edited = list(pieces)
        if edited and isinstance(edited[0], Put) and remove:
            edited[0] = Put(edited[0].draft, replaces=there[0].entry.id)
        return await store.apply(key, branch, [Splice(at, remove, tuple(edited))], at=AT, expected_head=head)

    return Verb(name, act)


def put_back(branch: str, position: int) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        edited = (await store.path(key, branch, position, position))[0].entry.replaces
        assert edited is not None, "it was edited before"
        return await store.apply(key, branch, [Splice(position, 1, (Reuse(edited),))], at=AT)

    return Verb("choose a swipe", act)


def hide(branch: str, position: int) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> None:
        items = await store.path(key, branch, position, position + 1)
        new = Attributes(at=AT, source_id=f"s{position}", extra={"note": ["ö", position]}, hidden=True)
        await store.set_attributes(key, [(item.entry.id, new) for item in items])

    return Verb("set_attributes", act)


def siblings(branch: str, position: int, drafts: Sequence[Draft]) -> Verb:
    return Verb("add_siblings", lambda store, key: store.add_siblings(key, branch, [(position, drafts)]))


def fork(source: str, name: str, length: int) -> Verb:
    return Verb("fork", lambda store, key: store.fork(key, source, name, length, at=AT))


def mark(branch: str, kind: MarkKind, position: int, text: str, *, instead: bool = False) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        old = (await store.marks(key, branch))[-1] if instead else None
        return await store.add_mark(
            key,
            branch,
            kind,
            old.position if old else position,
            text,
            made_by="person",
            at=AT,
            seen=b"\x00\xff",
            origin=old.origin if old else 0,
            retires=[old.id] if old else (),
        )

    return Verb("replace a mark" if instead else "add_mark", act)


def take_back(branch: str) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> None:
        await store.take_back_mark(key, branch, (await store.marks(key, branch))[-1].id)

    return Verb("take_back_mark", act)


def update(branch: str, first: int, last: int, text: str) -> Verb:
    """A link of the recap, an episode and a note of the same messages, in one step."""

    async def act(store: VerbStore, key: StoryKey) -> object:
        span, of_span = Span(first, last), _Terms(own="*")
        link = await _new(store, key, branch, Kind.RECAP, span, text, _Terms(goes_on=True))
        notes = [await _new(store, key, branch, kind, span, text, of_span) for kind in (Kind.EPISODE, Kind.NOTE)]
        return await store.commit_all(key, [link, *notes])

    return Verb("commit_all", act)


def keep_answer(request: bytes, text: str) -> Verb:
    return Verb("keep_answer", lambda store, key: store.keep_answer(key, request, text, model="m", at=AT))


def set_model_fact(model: str, fact: str) -> Verb:
    return Verb("set_model_fact", lambda store, key: store.set_model_fact(key.owner, model, fact, AT))


def fold(
    branch: str,
    kind: Kind,
    first: int,
    last: int,
    text: str,
    *,
    goes_on: bool = False,
    behind_mark: int | None = None,
    status: Status = Status.COMMITTED,
    own: str = "",
) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        terms = _Terms(goes_on, behind_mark, status, own)
        new = await _new(store, key, branch, kind, Span(first, last), text, terms)
        return await store.commit(key, new)

    return Verb("commit of a chain" if goes_on else "commit", act)


@dataclass(frozen=True, slots=True)
class _Terms:
    """On what a version is made."""

    goes_on: bool = False
    behind_mark: int | None = None
    status: Status = Status.COMMITTED
    own: str = ""


async def _new(
    store: VerbStore, key: StoryKey, branch: str, kind: Kind, span: Span, text: str, terms: _Terms
) -> NewVersion:
    marks = await store.marks(key, branch)
    scope = terms.own if terms.behind_mark is None else marks[terms.behind_mark].scope
    before = await store.live(key, branch, kind, scope, through=span.first - 1) if terms.goes_on else None
    read = await store.path(key, branch, span.first, span.last)
    return NewVersion(
        kind=kind,
        scope=scope,
        span=span,
        key=span_key([item.entry.digest for item in read]),
        before=before.version.id if before else None,
        text=text,
        carry=text[:5],
        status=terms.status,
        made_by="model",
        reason="due",
        at=AT,
        model="m",
        cost=Cost(1, 100 + span.first, 20),
        anchor=read[-1].node,
        reach=len(span) + (before.version.made.reach if before else 0),
        commitments=("to come back",),
        first=read[0].entry.digest if is_of_a_span(scope) else b"",
    )


def restate(number: int, status: Status) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> object:
        return await store.set_status(key, (await store.versions(key))[number].id, status, reason=status.value)

    return Verb("set_status", act)


def loosen(number: int) -> Verb:
    async def act(store: VerbStore, key: StoryKey) -> None:
        await store.loosen(key, [(await store.versions(key))[number].id])

    return Verb("loosen", act)


def lease(work: str, holder: str, *, now: str, until: str) -> Verb:
    return Verb("take_lease", lambda store, key: store.take_lease(key, work, holder, now=now, until=until))


def keep_book(name: str, body: str) -> Verb:
    return Verb("keep_book", lambda store, key: store.keep_book(key.owner, name, body, at=AT))


def attach_book(name: str) -> Verb:
    return Verb("attach_book", lambda store, key: store.attach_book(key, name))


def forget_book(name: str) -> Verb:
    return Verb("forget_book", lambda store, key: store.forget_book(key.owner, name))
