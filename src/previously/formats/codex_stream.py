"""Large rollouts of Codex, read as they go.

A first look through the file finds what was taken back, and whether the rest can be read line after line (see
`log_stream`): every result follows its call, and no compaction was taken back. Then each message of the conversation is
passed on as `codex` would have it, and what was taken back is read when it is asked for. Places are the numbers of
lines. The look holds sixteen bytes of each turn.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path

from previously.core.messages import Draft, ToolCall, ToolResult
from previously.formats.codex import NAME, Item, Rollout, is_asked, name_rewind
from previously.formats.files import Document, DraftStream, StorySource, StreamedBranch, open_document
from previously.formats.log_lines import DraftCleaner, parse_objects, read_objects
from previously.formats.log_stream import (
    CallLedger,
    CallWindow,
    ForkedPath,
    ForkPositions,
    LogPaths,
    Stretch,
    TangledLog,
    count_replaced,
    is_in,
    part_paths,
)

_CALLS = (ToolCall, ToolResult)


@dataclass(frozen=True, slots=True)
class RolloutLook:
    """A rollout as far as it was looked at."""

    header: Item
    last: int
    """The number of its last line: what an agent writes meanwhile is left for the next time."""
    never: frozenset[str]
    """The calls that got no result."""
    main: list[Stretch]
    beside: list[tuple[str, ForkedPath]]
    """The paths that were taken back, by name."""
    marks: Sequence[int]


def stream(document: Document, path: Path) -> StorySource | None:
    """Return a rollout, to be read as its messages are asked for; None if it has to be held as a whole."""
    try:
        look = _look_through(document, path)
    except TangledLog:
        return None
    skipped: dict[str, int] = {}
    positions = ForkPositions(fork.parent for _, fork in look.beside)

    def read(again: Document) -> Iterator[tuple[Draft, int]]:
        rollout = Rollout()
        yield from count_replaced(_read_main(again, look, positions, rollout), rollout.kept)
        skipped.clear()
        skipped.update(rollout.skipped)

    kept = DraftCleaner(Counter())
    header = kept.header(look.header)
    branches = tuple(
        StreamedBranch(name, partial(positions.find, fork.parent), DraftStream(path, partial(_read_branch, look, fork)))
        for name, fork in look.beside
    )
    messages = DraftStream(path, read, branches=branches)
    return StorySource([], NAME, header, kept.replaced, skipped, stream=messages)


def _look_through(document: Document, path: Path) -> RolloutLook:
    try:
        return _TurnSearch(with_turns=False).look_through(document)
    except _TakenBackError:
        with open_document(path) as again:
            return _TurnSearch(with_turns=True).look_through(again)


def _read_main(document: Document, look: RolloutLook, positions: ForkPositions, rollout: Rollout) -> Iterator[Draft]:
    """Yield the messages of the conversation; in `rollout` is counted what is skipped or replaced, on other paths
    too."""
    window, messages, aside = CallWindow(look.never), 0, Rollout(rollout.kept)
    positions.begin()
    for number, item in read_objects(document, rollout.skipped):
        if number > look.last:
            break
        positions.reach(number, messages)
        if not is_in(number, look.main):
            aside.take(number, item)
            aside.drafts.clear()
            continue
        rollout.take(number, item)
        for draft in chain.from_iterable(map(window.take, rollout.pass_on())):
            yield draft
            messages += 1
    positions.reach(inf, messages)
    yield from window.end()


def _read_branch(look: RolloutLook, path: ForkedPath, document: Document) -> Iterator[tuple[Draft, int]]:
    """Yield the messages that were taken back; what was replaced in them is counted with the conversation."""
    rollout, window = Rollout(), CallWindow(look.never)
    for first, last in path.rest:
        for number, item in parse_objects(document.log_lines_from(first, look.marks), rollout.skipped):
            if number > last:
                break
            if number >= first:
                rollout.take(number, item)
                for draft in chain.from_iterable(map(window.take, rollout.pass_on())):
                    yield draft, 0
    for draft in window.end():
        yield draft, 0


class _TakenBackError(Exception):
    """Turns were taken back, so that they have to be known."""


class _TurnSearch:
    """The look through a rollout; `with_turns` it takes twice as long, and knows where each turn begins."""

    def __init__(self, *, with_turns: bool) -> None:
        self._with_turns = with_turns
        self._rollout = Rollout()
        self._ledger = CallLedger()
        self._paths = LogPaths()
        self._turns, self._asked = array("q"), array("q")
        """Of each turn on the path the line that it begins with, and the hash of what was asked."""
        self._first = 0
        """The line of the first message on the path; 0 = there is none."""
        self._settings = 0
        """The line of settings of which nothing has been said yet; 0 = there are none."""
        self._compacted = 0
        """The line of the newest compaction."""
        self._taken: list[tuple[str, int]] = []
        self._asked_before: set[int] = set()

    def look_through(self, document: Document) -> RolloutLook:
        number = 0
        for number, item in read_objects(document, self._rollout.skipped):
            match item:
                case {"type": "response_item", "payload": {"type": "message", "role": role}} if self._is_quiet(role):
                    continue  # most are, and none of them is a call
                case {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": int(turns)}}:
                    self._take_back(turns, number)
                case _:
                    self._take(number, item)
        if not self._first:
            raise TangledLog
        self._ledger.check(self._paths.forks)
        main = self._paths.path_to(number + 1)  # nothing may have been said since the last was taken back
        beside = [(name, part_paths(main, self._paths.path_to(end))) for name, end in self._taken]
        return RolloutLook(self._rollout.header, number, self._ledger.never, main, beside, document.line_marks)

    def _is_quiet(self, role: object) -> bool:
        """Return whether nothing hangs on a message of that role."""
        if not self._with_turns:
            return self._first > 0
        return self._first > 0 and role == "assistant" and not self._settings and not self._ledger.is_open

    def _take(self, number: int, item: Item) -> None:
        is_compaction = item.get("type") == "compacted"
        if is_compaction and self._settings and self._with_turns:
            raise TangledLog  # whether its messages take the settings is known when all are read
        self._rollout.take(number, item)
        begins = self._settings or number
        for draft in self._rollout.pass_on():
            if is_compaction and any(isinstance(one, _CALLS) for one in draft.message.parts):
                raise TangledLog  # they may have been said before, and then are left out
            self._ledger.note(draft.message, number)
            self._first = self._first or number
            if is_asked(draft):
                asked = hash((draft.message, draft.attributes.at))
                if asked in self._asked_before:
                    raise TangledLog  # what was taken back began like what stands
                self._turns.append(begins)
                self._asked.append(asked)
        self._settings = begins if self._rollout.has_settings else 0
        self._compacted = number if is_compaction else self._compacted

    def _take_back(self, turns: int, number: int) -> None:
        if not self._with_turns:
            raise _TakenBackError
        if turns <= 0 or not self._turns:
            return
        if self._settings:
            raise TangledLog  # they are of what comes
        at = max(0, len(self._turns) - turns)
        begins = self._turns[at]
        if self._compacted >= begins:
            raise TangledLog  # what it left out, it left out with regard to what is taken back
        parent = self._paths.find_before(begins)
        self._taken.append((name_rewind(number), number - 1))
        self._asked_before.add(self._asked[at])
        del self._turns[at:], self._asked[at:]
        self._first = self._first if self._first < begins else 0
        self._ledger.fork(parent)
        self._paths.fork(number + 1, parent)
