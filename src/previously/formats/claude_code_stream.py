"""Large transcripts of Claude Code, read as they go.

A first look through the file finds the paths of its steps, and whether they can be read one after the other (see
`log_stream`): no sub-agent speaks in between, no line is repeated. Then each step of the conversation is passed on when
the next begins, as `claude_code` would have it, and what was taken back is read when it is asked for. The look holds
twelve bytes of each line, and the newest of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any

from previously.core.json_values import MAX_MESSAGE_BYTES
from previously.core.messages import Draft, Message
from previously.formats.claude_code import (
    NAME,
    Item,
    LinkedLine,
    LogStep,
    TranscriptLog,
    link_line,
    name_rewinds,
    parse_draft,
    read_subagents,
    select_header,
)
from previously.formats.files import Document, DraftStream, StorySource, StreamedBranch, open_document
from previously.formats.log_lines import DraftCleaner, parse_objects, read_objects
from previously.formats.log_stream import (
    MOST_HELD,
    CallLedger,
    CallWindow,
    ForkedPath,
    ForkPositions,
    LineLinks,
    LogPaths,
    Stretch,
    TangledLog,
    UniqueWords,
    count_replaced,
    is_in,
    part_paths,
)

_SAFE_SIZE = MAX_MESSAGE_BYTES // 8
"""Characters of a message that any store keeps, however they are encoded and whatever is kept beside them."""

_NOTHING, _LOST = 0, -1
"""The steps that a line leads to which names no line before it, or one that is not in the file."""

_PLAIN = {"role", "content"}


@dataclass(frozen=True, slots=True)
class LogLook:
    """A transcript as far as it was looked at. Its places are the numbers of the lines that steps begin with."""

    header: Item
    last: int
    """The number of its last line: what an agent writes meanwhile is left for the next time."""
    never: frozenset[str]
    """The calls that got no result."""
    main: list[Stretch]
    beside: list[tuple[ForkedPath, str]]
    """The paths that were taken back, each with the id of its last step."""
    boundaries: Mapping[str, Item]
    marks: Sequence[int]


def stream(document: Document, path: Path) -> StorySource | None:
    """Return a transcript, to be read as its messages are asked for; None if it has to be held as a whole."""
    try:
        look = _PathSearch().look_through(document)
    except TangledLog:
        return None
    skipped: dict[str, int] = {}
    positions = ForkPositions(fork.parent for fork, _ in look.beside)

    def read(again: Document) -> Iterator[tuple[Draft, int]]:
        log = TranscriptLog()
        yield from count_replaced(_read_main(again, look, positions, log), log.kept)
        skipped.clear()
        skipped.update(log.skipped)

    cleaner = DraftCleaner(Counter())
    header = cleaner.header(look.header)
    branches = tuple(
        StreamedBranch(name, partial(positions.find, fork.parent), DraftStream(path, partial(_read_branch, look, fork)))
        for name, (fork, _) in zip(_name_branches(path, look), look.beside, strict=True)
    )
    messages = DraftStream(path, read, branches=branches)
    others = tuple(read_subagents(path, set()))
    return StorySource([], NAME, header, cleaner.replaced, skipped, others=others, stream=messages)


def _read_main(document: Document, look: LogLook, positions: ForkPositions, log: TranscriptLog) -> Iterator[Draft]:
    """Yield the messages of the conversation; in `log` is counted what is skipped or replaced, on other paths too."""
    window, messages = CallWindow(look.never), 0
    positions.begin()
    for place, step in _find_steps(read_objects(document, log.skipped), look.last, log):
        positions.reach(place, messages)
        told = log.tell(step, look.header)
        log.drop(step)
        for draft in chain.from_iterable(map(window.take, told if is_in(place, look.main) else ())):
            yield draft
            messages += 1
    positions.reach(inf, messages)
    yield from window.end()


def _read_branch(look: LogLook, path: ForkedPath, document: Document) -> Iterator[tuple[Draft, int]]:
    """Yield the messages of a path behind its fork; what was replaced in them is counted with the conversation."""
    window = CallWindow(look.never)
    for log, step in _read_stretches(document, look, path):
        for draft in chain.from_iterable(map(window.take, log.tell(step, look.header))):
            yield draft, 0
    for draft in window.end():
        yield draft, 0


def _read_stretches(document: Document, look: LogLook, path: ForkedPath) -> Iterator[tuple[TranscriptLog, LogStep]]:
    for first, last in path.rest:
        log = TranscriptLog()
        log.boundaries.update(look.boundaries)
        lines = document.log_lines_from(max(1, first - 1), look.marks)  # the step before ends with its lines
        for place, step in _find_steps(parse_objects(lines, log.skipped), look.last, log):
            if first <= place <= last:
                yield log, step
            log.drop(step)
            if place > last:
                break


def _name_branches(path: Path, look: LogLook) -> list[str]:
    ids: list[tuple[str, str]] = []
    for fork, last in look.beside:
        with open_document(path) as document:
            _, step = next(_read_stretches(document, look, fork))
            ids.append((step.lines[0].id, last))
    return name_rewinds(ids)


def _find_steps(objects: Iterable[tuple[int, Item]], last: int, log: TranscriptLog) -> Iterator[tuple[int, LogStep]]:
    """Yield the steps of a log up to a line, each with its place."""
    step: LogStep | None = None
    place = 0
    calls: frozenset[str] = frozenset()
    for number, item in objects:
        if number > last:
            break
        log.take(number, item)
        if not log.lines:
            continue
        line = log.lines.pop()
        if step is not None and line.results and line.results <= calls:
            step.results.append(line)
        elif step is not None and line.together and line.together == step.lines[0].together:
            step.lines.append(line)
        else:
            if step is not None:
                yield place, step
            place, step, calls = number, LogStep([line]), frozenset()
        calls = (calls | line.calls) - line.results
    if step is not None:
        yield place, step


class _PathSearch:
    """The look through a transcript: each step must follow the one before it, or fork from an earlier one."""

    def __init__(self) -> None:
        self._cleaner = DraftCleaner(Counter())
        self._ledger = CallLedger()
        self._paths = LogPaths()
        self._ends: list[tuple[int, str]] = []
        """The last step of each path that was left, and its id."""
        self._links = LineLinks()
        self._messages = UniqueWords()
        self._lost: set[str] = set()
        self._boundaries: dict[str, Item] = {}
        self._is_tree = False
        self._place = 0
        """The step that is being read; 0 before the first."""
        self._id = ""
        self._step: list[Item] = []
        self._together = ""
        self._calls: frozenset[str] = frozenset()
        self._first: Item = {}

    def look_through(self, document: Document) -> LogLook:
        last = 0
        for number, item in read_objects(document, Counter()):
            self._take(number, item)
            last = number
        forks = self._paths.forks
        if not self._place or (forks and not self._is_tree):
            raise TangledLog
        self._links.check(self._lost)
        self._messages.check()
        self._ledger.check(forks)
        main = self._paths.path_to(self._place)
        ends = [(place, step_id) for place, step_id in self._ends if place not in set(forks)]
        beside = [(part_paths(main, self._paths.path_to(place)), step_id) for place, step_id in ends]
        header, never = select_header(self._first), self._ledger.never
        return LogLook(header, last, never, main, beside, self._boundaries, document.line_marks)

    def _take(self, number: int, item: Item) -> None:
        uuid = item.get("uuid")
        line_id = uuid if isinstance(uuid, str) and uuid else f"line {number}"
        leads_to, is_linked = _LOST, False
        if uuid == line_id:
            leads_to, is_linked = self._find_lead(item.get("parentUuid") or item.get("logicalParentUuid"))
        found = self._link(item)
        if found is None:
            if item.get("subtype") == "compact_boundary":
                self._boundaries.setdefault(line_id, item)
        else:
            line, message = found
            self._is_tree = self._is_tree or is_linked
            self._first = self._first or item
            if bool(item.get("isSidechain")) is not bool(self._first.get("isSidechain")):
                raise TangledLog
            self._put(number, line_id, line, item, leads_to)
            leads_to = self._place
            if message is not None:
                self._ledger.note(message, self._place)
            else:
                self._ledger.settle(self._place)
        if uuid == line_id:
            self._links.link(uuid, leads_to)

    def _find_lead(self, before: object) -> tuple[int, bool]:
        """Return the step that a line leads to, and whether the line before it is there."""
        if not isinstance(before, str):
            return _NOTHING, False
        place = self._links.find(before)
        if place is not None:
            return place, True
        self._lost.add(before)
        if len(self._lost) > MOST_HELD:
            raise TangledLog
        return _LOST, False

    def _put(self, number: int, line_id: str, line: LinkedLine, item: Item, leads_to: int) -> None:
        if line.results:
            if not line.results <= self._calls:
                raise TangledLog
        elif line.together and line.together == self._together:
            self._step.append(item)
            said = sum(len(str(one["message"])) for one in self._step)
            if said > _SAFE_SIZE or len(self._step) > MOST_HELD:
                raise TangledLog
        else:
            if self._place and leads_to not in (self._place, _LOST):
                self._ends.append((self._place, self._id))
                self._paths.fork(number, leads_to)
                self._ledger.fork(leads_to)
            self._place, self._id = number, line_id
            self._step, self._together, self._calls = [item], line.together, frozenset()
            if line.together:
                self._messages.add(line.together)
        self._calls = (self._calls | line.calls) - line.results

    def _link(self, item: Item) -> tuple[LinkedLine, Message | None] | None:
        """Return how a line belongs to others, and its message, if that is more than plain words; None for a line
        without a message."""
        said: Any = item.get("message")
        if not isinstance(said, dict):
            return None
        content, role = said.get("content"), said.get("role")
        if (
            type(content) is str
            and said.keys() == _PLAIN
            and role in ("user", "assistant")
            and item.get("type") == role
            and len(content) < _SAFE_SIZE
        ):
            named = item.get("requestId") if role == "assistant" else None
            return LinkedLine("", named if isinstance(named, str) else ""), None
        draft = parse_draft(item)
        if draft is None:
            return None
        clean = self._cleaner.draft(draft)
        if clean is None:
            raise TangledLog
        return link_line("", item, clean.message), clean.message
