"""Large transcripts of Claude Code, read as they go.

A first look through the file finds out whether its lines are one chain (see `log_stream`): nothing was taken back, no
sub-agent speaks in between, no line is repeated. Then each step is passed on when the next begins, as `claude_code`
would have it. The look holds eight bytes of each line, and the newest of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from previously.core.json_values import MAX_MESSAGE_BYTES
from previously.core.messages import Draft
from previously.formats.claude_code import (
    NAME,
    Item,
    LinkedLine,
    LogStep,
    TranscriptLog,
    link_line,
    parse_draft,
    read_subagents,
    select_header,
)
from previously.formats.files import Document, DraftStream, StorySource
from previously.formats.log_lines import DraftCleaner, read_objects
from previously.formats.log_stream import MOST_HELD, CallLedger, CallWindow, TangledLog, UniqueWords

_SAFE_SIZE = MAX_MESSAGE_BYTES // 8
"""Characters of a message that any store keeps, however they are encoded and whatever is kept beside them."""

_NOTHING, _LOST = 0, -1
"""The steps that a line leads to which names no line before it, or one that is not in the file."""

_PLAIN = {"role", "content"}


@dataclass(frozen=True, slots=True)
class LogChain:
    """A transcript that is one chain, as far as it was looked at."""

    header: Item
    last: int
    """The number of its last line: what an agent writes meanwhile is left for the next time."""
    never: frozenset[str]
    """The calls that got no result."""


def stream(document: Document, path: Path) -> StorySource | None:
    """Return a transcript, to be read as its messages are asked for; None if it has to be held as a whole."""
    try:
        chain = _ChainSearch().look_through(document)
    except TangledLog:
        return None
    skipped: dict[str, int] = {}

    def read(again: Document) -> Iterator[tuple[Draft, int]]:
        return _read_steps(again, chain, skipped)

    cleaner = DraftCleaner(Counter())
    header = cleaner.header(chain.header)
    others = tuple(read_subagents(path, set()))
    return StorySource([], NAME, header, cleaner.replaced, skipped, others=others, stream=DraftStream(path, read))


def _read_steps(document: Document, chain: LogChain, skipped: dict[str, int]) -> Iterator[tuple[Draft, int]]:
    """Yield the messages of a chain, each with how many characters were replaced since the one before; `skipped` is
    complete when all were read."""
    log, window, counted = TranscriptLog(), CallWindow(chain.never), 0
    for step in _find_steps(document, chain.last, log):
        for told in log.tell(step, chain.header):
            for draft in window.take(told):
                yield draft, log.kept.replaced - counted
                counted = log.kept.replaced
        for line in (*step.lines, *step.results):
            del log.items[line.id], log.drafts[line.id]
        log.links.clear()
    for draft in window.end():
        yield draft, log.kept.replaced - counted
        counted = log.kept.replaced
    skipped.clear()
    skipped.update(log.skipped)


def _find_steps(document: Document, last: int, log: TranscriptLog) -> Iterator[LogStep]:
    step: LogStep | None = None
    calls: frozenset[str] = frozenset()
    for number, item in read_objects(document, log.skipped):
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
                yield step
            step, calls = LogStep([line]), frozenset()
        calls = (calls | line.calls) - line.results
    if step is not None:
        yield step


class _ChainSearch:
    """The look through a file: whether every line stands where a chain has it."""

    def __init__(self) -> None:
        self._ids, self._messages = UniqueWords(), UniqueWords()
        self._lost: set[str] = set()
        """Lines that are named and were not there: they must not come later, nor have gone by long ago."""
        self._leads: dict[str, int] = {}
        """By id of the newest lines, the number of the step that each belongs or leads to."""
        self._ledger = CallLedger()
        self._cleaner = DraftCleaner(Counter())
        self._steps = 0
        self._step: list[Item] = []
        """The lines of the newest step that are no results."""
        self._together = ""
        self._calls: frozenset[str] = frozenset()
        self._first: Item = {}

    def look_through(self, document: Document) -> LogChain:
        last = 0
        for number, item in read_objects(document, Counter()):
            self._take(item)
            last = number
        if not self._steps:
            raise TangledLog
        self._ids.check(self._lost)
        self._messages.check()
        return LogChain(select_header(self._first), last, frozenset(self._ledger.waiting))

    def _take(self, item: Item) -> None:
        uuid = item.get("uuid")
        leads_to = _LOST
        if isinstance(uuid, str) and uuid:
            self._ids.add(uuid)
            leads_to = self._find_lead(item.get("parentUuid") or item.get("logicalParentUuid"))
        line = self._link(item)
        if line is not None:
            self._first = self._first or item
            if bool(item.get("isSidechain")) is not bool(self._first.get("isSidechain")):
                raise TangledLog
            self._place(line, item, leads_to)
            leads_to = self._steps
        if isinstance(uuid, str) and uuid:
            self._leads[uuid] = leads_to
            if len(self._leads) > 2 * MOST_HELD:
                self._leads = dict(islice(self._leads.items(), MOST_HELD, None))

    def _find_lead(self, before: object) -> int:
        if not isinstance(before, str):
            return _NOTHING
        if before not in self._leads:
            self._lost.add(before)
            if len(self._lost) > MOST_HELD:
                raise TangledLog
            return _LOST
        return self._leads[before]

    def _place(self, line: LinkedLine, item: Item, leads_to: int) -> None:
        if line.results:
            if not line.results <= self._calls:
                raise TangledLog
        elif line.together and line.together == self._together:
            self._step.append(item)
            said = sum(len(str(one["message"])) for one in self._step)
            if said > _SAFE_SIZE or len(self._step) > MOST_HELD:
                raise TangledLog
        else:
            if self._steps and leads_to not in (self._steps, _LOST):
                raise TangledLog
            self._steps += 1
            self._step, self._together, self._calls = [item], line.together, frozenset()
            if line.together:
                self._messages.add(line.together)
        self._calls = (self._calls | line.calls) - line.results

    def _link(self, item: Item) -> LinkedLine | None:
        """Return how a line belongs to others; None for one without a message."""
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
            return LinkedLine("", named if isinstance(named, str) else "")
        draft = parse_draft(item)
        if draft is None:
            return None
        clean = self._cleaner.draft(draft)
        if clean is None:
            raise TangledLog
        self._ledger.note(clean.message)
        return link_line("", item, clean.message)
