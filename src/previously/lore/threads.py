"""Threads: open questions, promises, debts, threats, deadlines and secrets, as a reduce over operations.

Owns what becomes of a thread when it is opened, touched, settled or opened again. What must stay true: the reduce is a
plain fold over the operations in their order, so that a snapshot and the rest give what all of them give; two promises
of different people or about different things are never one; a settling word that could mean two threads settles none;
what a person wrote, no model changes: it becomes a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b

from previously.core.signals import folded
from previously.core.story_time import due_in, hours_of, hours_told, messages_of
from previously.lore.matching import Board
from previously.lore.thread_wording import ThreadKind, kind_of, mentioned_in

DORMANT_AFTER = 200
"""Messages after which an untouched thread sleeps."""

MOST_UNMATCHED = 40
"""Operations without a thread that are remembered, the newest."""


class Op(StrEnum):
    """What is done to threads."""

    OPEN = "open"
    RESOLVE = "resolve"
    TOUCH = "touch"
    """Something happened that has to do with it."""
    PASS = "pass"
    """Story time went by: "three days later"."""
    OVERDUE = "overdue"
    """Said of a thread, mostly by a person: its time has passed."""


class Status(StrEnum):
    """How a thread stands."""

    OPEN = "open"
    RESOLVED = "resolved"
    DORMANT = "dormant"
    OVERDUE = "overdue"


PERSON = "person"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a fold or a person says of threads."""

    op: Op
    text: str
    position: int
    quote: str = ""
    """The words of the story that support it."""
    by: str = "model"
    """`model`, `builtin` or `person`."""
    mentions: tuple[str, ...] = ()
    """Names that the text may hold."""
    kind: ThreadKind | None = None
    """None: as the text says."""
    due: str = ""
    """By when; "" = as the text says."""

    @property
    def verified(self) -> bool:
        """Whether it has support, or needs none."""
        return bool(self.quote) or self.by == PERSON


@dataclass(frozen=True, slots=True)
class Thread:
    """One open or settled thing."""

    id: str
    """From its first words and their place; it stays when the words change."""
    text: str
    opened: int
    """Where it was opened, the last time."""
    touched: int
    resolved: int | None
    kind: ThreadKind
    due: str
    mentions: tuple[str, ...]
    by: str
    verified: bool
    quote: str = ""
    waited: int = 0
    """Hours of story time told since it was opened."""
    passed: bool = False
    """Whether it was said that its time has passed."""
    resolved_by: str = ""


@dataclass(frozen=True, slots=True)
class Threads:
    """All threads of a path, in the order they were first opened, and what led to none."""

    threads: tuple[Thread, ...] = ()
    unmatched: tuple[Operation, ...] = ()
    """What was to be settled, and is not known or not plain."""
    suggestions: tuple[Operation, ...] = ()
    """What a model would do to threads of a person."""


NO_THREADS = Threads()


def reduce_threads(earlier: Threads, operations: Iterable[Operation]) -> Threads:
    """The threads after these operations, which come in path order."""
    board = Board((one.text, one.mentions, one.kind) for one in earlier.threads)
    threads = list(earlier.threads)
    unmatched, suggestions = list(earlier.unmatched), list(earlier.suggestions)
    for operation in operations:
        if operation.op is Op.PASS:
            hours = hours_told(operation.text)
            threads = [_waited(one, hours, operation.position) for one in threads] if hours else threads
        elif operation.op is Op.OPEN:
            _open(threads, board, operation, suggestions)
        elif not _settle(threads, board, operation, suggestions) and operation.op is not Op.TOUCH:
            unmatched.append(operation)
    return Threads(tuple(threads), tuple(unmatched[-MOST_UNMATCHED:]), tuple(suggestions[-MOST_UNMATCHED:]))


def _waited(thread: Thread, hours: int, position: int) -> Thread:
    if thread.resolved is not None or position < thread.opened or not thread.due:
        return thread
    before = _is_overdue(thread, position)
    later = replace(thread, waited=thread.waited + hours)
    return (
        replace(later, touched=max(position, later.touched)) if not before and _is_overdue(later, position) else later
    )


def _open(threads: list[Thread], board: Board, operation: Operation, suggestions: list[Operation]) -> None:
    text = " ".join(operation.text.split())
    if not text:
        return
    kind = operation.kind or kind_of(text)
    mentions = mentioned_in(text, operation.mentions)
    found = board.same(text, mentions, kind, lambda index: threads[index].resolved is None)
    if found is None:
        state = blake2b(f"{folded(text)}\x00{operation.position}".encode(), digest_size=8, person=b"prev.thread.1")
        due = operation.due or due_in(text)
        threads.append(
            Thread(
                state.hexdigest(), text, operation.position, operation.position, None, kind, due, mentions,
                operation.by, operation.verified, operation.quote,
            )
        )  # fmt: skip
        board.add(text, mentions, kind)
        return
    old = threads[found]
    if old.resolved is not None and old.resolved_by == PERSON and operation.by != PERSON:
        suggestions.append(operation)
        return
    threads[found] = _opened_again(old, operation, text, kind, mentions)
    if threads[found].text != old.text or threads[found].mentions != old.mentions:
        board.put(found, threads[found].text, threads[found].mentions, threads[found].kind)


def _opened_again(old: Thread, operation: Operation, text: str, kind: ThreadKind, mentions: tuple[str, ...]) -> Thread:
    """A thread that is spoken of again, in the fuller words; it keeps its id. What was settled is open once more."""
    by_hand = operation.by == PERSON
    ours = old.by == PERSON and not by_hand
    due = operation.due or due_in(text)
    fuller = by_hand or (not ours and len(folded(text)) > len(folded(old.text)))
    again = replace(
        old,
        text=text if fuller else old.text,
        touched=max(old.touched, operation.position),
        kind=kind if by_hand or (old.kind is ThreadKind.OTHER and not ours) else old.kind,
        due=due if due and not ours else old.due,
        mentions=tuple(dict.fromkeys([*old.mentions, *mentions])),
        by=PERSON if by_hand else old.by,
        verified=old.verified or operation.verified,
        quote=old.quote or operation.quote,
        waited=0 if due and due != old.due and not ours else old.waited,
    )
    if old.resolved is None:
        return again
    return replace(again, opened=operation.position, resolved=None, resolved_by="", waited=0, passed=False)


def _settle(threads: list[Thread], board: Board, operation: Operation, suggestions: list[Operation]) -> bool:
    """Resolve, touch or call overdue what an operation means; whether there was such a thread."""

    def can_be(index: int) -> bool:
        return threads[index].resolved is None and threads[index].opened <= operation.position

    mentions = mentioned_in(operation.text, operation.mentions)
    if operation.op is Op.TOUCH:
        touched = board.touched(operation.text, mentions, can_be)
        for index in touched:
            threads[index] = replace(threads[index], touched=max(threads[index].touched, operation.position))
        return bool(touched)
    found = board.meant(operation.text, mentions, operation.kind or kind_of(operation.text), can_be)
    if found is None:
        return False
    thread = threads[found]
    if thread.by == PERSON and operation.by != PERSON:
        suggestions.append(operation)
        return True
    touched_at = max(thread.touched, operation.position)
    if operation.op is Op.OVERDUE:
        threads[found] = replace(thread, passed=True, touched=touched_at)
    else:
        threads[found] = replace(
            thread, resolved=operation.position, resolved_by=operation.by, touched=touched_at,
            verified=thread.verified or operation.verified,
        )  # fmt: skip
    return True


def settled_by_hand(threads: Threads, ident: str, position: int) -> Threads:
    """The threads where a person has settled one of them."""
    return replace(
        threads,
        threads=tuple(
            replace(one, resolved=max(position, one.opened), resolved_by=PERSON, touched=max(one.touched, position))
            if one.id == ident and one.resolved is None
            else one
            for one in threads.threads
        ),
    )


def status(thread: Thread, now: int, dormant_after: int = DORMANT_AFTER) -> Status:
    """How a thread stands where the path is `now` messages long. What a person wrote never sleeps."""
    if thread.resolved is not None:
        return Status.RESOLVED
    left = messages_of(thread.due)
    overdue = _is_overdue(thread, now)
    last = max(thread.touched, thread.opened + left) if overdue and left is not None else thread.touched
    if thread.by != PERSON and now - last > dormant_after:
        return Status.DORMANT
    return Status.OVERDUE if overdue else Status.OPEN


def _is_overdue(thread: Thread, now: int) -> bool:
    hours, left = hours_of(thread.due), messages_of(thread.due)
    told = hours is not None and thread.waited >= hours
    return thread.passed or told or (left is not None and now - thread.opened > left)


WEIGHTS = {
    ThreadKind.DEADLINE: 5,
    ThreadKind.PROMISE: 5,
    ThreadKind.DEBT: 4,
    ThreadKind.THREAT: 4,
    ThreadKind.SECRET: 3,
    ThreadKind.QUESTION: 2,
    ThreadKind.OTHER: 1,
}
"""How much each kind matters in the view."""


def ranked(threads: Sequence[Thread], now: int, dormant_after: int = DORMANT_AFTER) -> tuple[Thread, ...]:
    """The threads that are not settled, those that matter most first: written by hand, then overdue, then by kind, then
    the newest; what sleeps comes last."""
    stands = {one.id: status(one, now, dormant_after) for one in threads}

    def order(thread: Thread) -> tuple[bool, bool, bool, int, int, str]:
        asleep, overdue = stands[thread.id] is Status.DORMANT, stands[thread.id] is Status.OVERDUE
        return asleep, thread.by != PERSON, not overdue, -WEIGHTS[thread.kind], -thread.touched, thread.id

    return tuple(sorted((one for one in threads if stands[one.id] is not Status.RESOLVED), key=order))


def lines(threads: Sequence[Thread], now: int, dormant_after: int = DORMANT_AFTER) -> tuple[str, ...]:
    """The threads as a view tells them, by rank, those asleep left out."""
    stands = [(one, status(one, now, dormant_after)) for one in ranked(threads, now, dormant_after)]
    return tuple(_line(thread, how) for thread, how in stands if how is not Status.DORMANT)


def _line(thread: Thread, how: Status) -> str:
    marks = ["overdue"] if how is Status.OVERDUE else []
    marks += [] if thread.verified else ["unverified"]
    return f"{thread.text} ({', '.join(marks)})" if marks else thread.text
