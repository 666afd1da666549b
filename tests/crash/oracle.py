"""The oracle: what a store must answer after each verb of the scenario, and what a crash may have left.

The right answers are those of the in-memory store, which keeps no caches and is never crashed. Ids differ between
stores when stories are written at once, or when a change was cut off and done again; so each is renamed to the order
in which it first appears.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from previously.core.align import KnownEntry
from previously.core.errors import HeadMoved
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Entry
from previously.core.path import OnPath
from previously.core.versions import Kind, LiveVersion, Version
from previously.storage.store import BranchInfo, Move, StoryKey
from tests.contract.storage.verbs import VerbStore
from tests.crash.scenario import REQUESTS, Story
from tests.crash.verbs import AT
from tests.oracle.in_memory import oracle

Answers = dict[str, Any]
"""All that a store says of a story, by what was asked, with ids renamed. Empty if there is no such story."""

RECEIPTS = ("first", "second", "import")
LEASES = ("recap",)
EVERYTHING = 10_000


class Verdict(StrEnum):
    """What a crash has left of one story."""

    AS_TOLD = "as acknowledged"
    ONE_MORE = "one more than acknowledged"
    LOST = "acknowledged and lost"
    HALF = "half published"

    @property
    def is_right(self) -> bool:
        """Whether a crash may leave that."""
        return self in (Verdict.AS_TOLD, Verdict.ONE_MORE)


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict, after how many verbs the story stands, and where half of a change was seen."""

    verdict: Verdict
    verbs: int
    where: str = ""


def judged(expected: Sequence[Answers], found: Answers, acknowledged: int) -> Found:
    """What became of a story of which so many verbs were acknowledged. `expected[n]` is right after n verbs."""
    if found == expected[acknowledged]:
        return Found(Verdict.AS_TOLD, acknowledged)
    if acknowledged + 1 < len(expected) and found == expected[acknowledged + 1]:
        return Found(Verdict.ONE_MORE, acknowledged + 1)
    for earlier in range(acknowledged - 1, -1, -1):
        if found == expected[earlier]:
            return Found(Verdict.LOST, earlier, f"stands after {earlier} verbs")
    nearest = min(expected[acknowledged : acknowledged + 2], key=lambda one: len(different(one, found)))
    return Found(Verdict.HALF, acknowledged, f"wrong: {', '.join(different(nearest, found))}")


def different(expected: Answers, found: Answers) -> list[str]:
    """What is answered differently."""
    return sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))


async def expected_of(story: Story) -> list[Answers]:
    """What is right after none, one, … all of the story's verbs."""
    store = oracle()
    after = [await answers(store, story)]
    for number in range(len(story.verbs)):
        await story.do(store, number)
        after.append(await answers(store, story))
    return after


BY_WRITING = ("receipts", "leases")
"""What can only be asked with verbs that write, though they change nothing that anybody sees."""


async def answers(store: VerbStore, story: Story, *, only_reading: bool = False) -> Answers:
    """All that a store says of a story; with `only_reading`, all but what is asked `BY_WRITING`."""
    info = await store.story(story.owner, story.name)
    if info is None:
        return {}
    key, ids = info.key, _Ids()
    found: Answers = {
        "story": (info.name, info.active.name, info.branches, info.budget_tokens),
        "stories": [one.name for one in await store.stories(story.owner)],
        "versions": [ids.version(one) for one in await store.versions(key)],
        "settings": await store.settings(key),
        "header": await store.header(key),
        "spent": await store.spent(story.owner, ""),
        "books": [await store.book(story.owner, one.name) for one in await store.books(story.owner)],
        "answers": [await store.answer(story.owner, request) for request in REQUESTS],
        "model fact": await store.model_fact(story.owner, "m"),
        "attached": await store.attached(key),
    }
    branches = await store.branches(key)
    places: set[int] = set()
    for branch in branches:
        found |= await _of_branch(store, key, branch.name, ids, places)
    found["branches"] = [ids.branch(branch) for branch in branches]
    found["moves"] = [ids.move(move) for move in await store.moves(key)]
    if only_reading:
        return found
    found["receipts"] = [await _seen(store, key, receipt) for receipt in RECEIPTS]
    # A lease that has run out by the time it is taken: whether it could be had is seen, and nobody is kept out by it.
    found["leases"] = [await store.take_lease(key, work, "asking", now=AT, until=AT) for work in LEASES]
    return found


async def _of_branch(store: VerbStore, key: StoryKey, name: str, ids: _Ids, places: set[int]) -> Answers:
    path = await store.path(key, name, 0, EVERYTHING)
    new = [item for item in path if item.node not in places]  # what branches share is asked once
    places.update(item.node for item in new)
    siblings = await asyncio.gather(*(store.siblings(key, name, item.position) for item in new))
    marks = await store.marks(key, name)
    scopes = ["", "@Odalys", *(mark.scope for mark in marks)]
    digests = [item.entry.digest for item in path]
    covers = await store.cover(key, name)
    live = [await store.live_each(key, name, kind, [(scope, len(path)) for scope in scopes]) for kind in Kind]
    return {
        f"path of {name}": [ids.item(item) for item in path],
        f"known of {name}": [ids.known(known) for known in await store.known(key, name)],
        f"siblings of {name}": [[ids.item(one) for one in at_place] for at_place in siblings],
        f"marks of {name}": [ids.mark(mark) for mark in marks],
        f"newest marks of {name}": [
            (ids.mark(mark) if mark else None, count)
            for mark, count in [await store.newest_mark(key, name, kind, 0) for kind in MarkKind]
        ],
        f"notes of {name}": [ids.version(one) for one in await store.notes(key, Kind.SCENE, "*", digests)],
        f"cover of {name}": ids.covers(covers),
        f"firm cover of {name}": ids.covers(await store.cover(key, name, firm=True)),
        f"spans of {name}": [
            sorted((ids.scope(scope), first, last) for scope, first, last in await store.spans(key, name, kind))
            for kind in Kind
        ],
        f"live of {name}": [[ids.live(one) for one in of_kind] for of_kind in live],
    }


async def _seen(store: VerbStore, key: StoryKey, receipt: str) -> bool:
    """Whether a change with that receipt was made: if not, the head that is expected is wrong."""
    try:
        await store.apply(key, "main", [], at=AT, expected_head=-1, receipt=receipt)
    except HeadMoved:
        return False
    return True


class _Ids:
    """Ids by the order in which they first appear. 0 and None stay what they are."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def _of(self, kind: str, ident: int) -> int:
        numbers = self._numbers[kind]
        return numbers.setdefault(ident, len(numbers) + 1) if ident else 0

    def scope(self, scope: str) -> str:
        return str(self._of("mark", int(scope))) if scope.isdecimal() else scope

    def branch(self, branch: BranchInfo) -> BranchInfo:
        return replace(branch, head=self._of("node", branch.head))

    def move(self, move: Move) -> Move:
        return replace(move, old_head=self._of("node", move.old_head), new_head=self._of("node", move.new_head))

    def entry(self, entry: Entry) -> Entry:
        replaces = None if entry.replaces is None else self._of("entry", entry.replaces)
        return replace(entry, id=self._of("entry", entry.id), replaces=replaces)

    def item(self, item: OnPath) -> OnPath:
        return replace(item, node=self._of("node", item.node), entry=self.entry(item.entry))

    def known(self, known: KnownEntry) -> KnownEntry:
        return replace(known, entry=self._of("entry", known.entry))

    def mark(self, mark: Mark) -> Mark:
        return replace(
            mark,
            id=self._of("mark", mark.id),
            origin=self._of("mark", mark.origin),
            of=self._of("mark", mark.of),
            after=self._of("version", mark.after),
        )

    def version(self, version: Version) -> tuple[Any, ...]:
        made = replace(
            version.made,
            scope=self.scope(version.made.scope),
            before=self._of("version", version.made.before or 0),
            replaces=self._of("version", version.made.replaces or 0),
            anchor=self._of("node", version.made.anchor),
        )
        return (self._of("version", version.id), version.firm, *(getattr(made, one.name) for one in fields(made)))

    def live(self, live: LiveVersion | None) -> tuple[Any, ...] | None:
        return None if live is None else (self._of("version", live.version.id), live.span)

    def covers(self, covers: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        return [(first, last, self._of("version", version)) for first, last, version in covers]
