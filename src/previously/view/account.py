"""The account of a view: for every message of a path, what shows or tells it and at what cost, or why nothing does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from previously.core.path import OnPath, Span, find_spans
from previously.core.tokens import Counter, message_tokens
from previously.view.memory import Remembered
from previously.view.reader import Reader
from previously.view.view import Item, LeftOut, Reason, Section

NOTHING_TOLD = "nothing was told there"
SHOWN_IN_TAIL = "all that it quotes is shown word for word"
"""The reason of a quoting memory whose lines went because the messages themselves are shown."""


@dataclass(frozen=True, slots=True)
class ViewPath:
    """The path a view is of, as far as it was read."""

    length: int
    opening: Sequence[OnPath]
    newest: Sequence[OnPath]
    """From the first message of the tail on, shown or not."""
    tail_messages: int

    @property
    def first(self) -> int:
        return self.newest[0].position if self.newest else self.length

    @property
    def outside_tail(self) -> int:
        """The position at which the tail that is never folded begins."""
        return self.length - self.tail_messages


@dataclass(frozen=True, slots=True)
class SystemCost:
    """The costs of the parts of the system message; all together they make up the whole."""

    furniture: int
    opening: int
    memory: int


def list_items(
    path: ViewPath, memories: Sequence[Remembered], cost_of: SystemCost, kept: Sequence[OnPath], counter: Counter
) -> Iterator[Item]:
    """Yield what is in the view but for this turn's memory."""
    if cost_of.furniture:
        yield Item(Section.FURNITURE, cost_of.furniture, "the client's own", ())
    if path.opening:
        spans = tuple(find_spans(item.position for item in path.opening))
        yield Item(Section.SYSTEM, cost_of.opening, "the system message is always shown", spans)
    left = cost_of.memory
    opening = len(path.opening)
    shown = [memory for memory in memories if memory.stands_for(opening) or memory.span is None]
    for memory in shown:
        # The last also bears what headings cost; all together they make up the whole.
        cost = left if memory is shown[-1] else min(left, counter.tokens(memory.shown))
        covers = [Span(max(span.first, opening), span.last) for span in memory.told if span.last >= opening]
        reason = memory.reason if memory.text or memory.reason == SHOWN_IN_TAIL else NOTHING_TOLD
        yield Item(memory.section, cost, reason, tuple(covers))
        left -= cost
    told = [span for memory in memories for span in memory.told]
    for item in kept:
        in_tail = item.position >= path.outside_tail
        reason = f"one of the newest {path.tail_messages}" if in_tail else "not folded yet"
        if not in_tail and any(item.position in span for span in told):
            reason = "shown since this epoch began"
        cost = message_tokens(item.entry.message, counter)
        yield Item(Section.TAIL, cost, reason, (Span(item.position, item.position),))


def list_cut(path: ViewPath, cut: Sequence[LeftOut], kept: Sequence[OnPath]) -> Iterator[LeftOut]:
    """Yield the memory that gave way, with those messages before the tail that are not shown themselves."""
    shown = list(find_spans(item.position for item in kept))
    for memory in cut:
        parts = list(_subtract(memory.span, shown, 0, path.first)) if memory.span else []
        yield from (replace(memory, span=part) for part in parts or (None,))


def list_left_out(
    path: ViewPath,
    reader: Reader,
    memories: Sequence[Remembered],
    cut: Sequence[LeftOut],
    kept: Sequence[OnPath],
    withheld: Sequence[tuple[Span, Reason]],
    knows: Callable[[OnPath], bool],
) -> list[LeftOut]:
    """Return every position that is neither shown nor covered, by reason, in path order, but for those that `list_cut`
    lists. `withheld` are the spans of memory that is not shown here, and why."""
    told = [span for memory in memories for span in memory.told]
    remembered = [*told, *(memory.span for memory in cut if memory.span)]
    withheld = [*withheld, *((gap, Reason.CUT) for memory in memories for gap in memory.lost)]
    shown = {item.position for item in (*kept, *path.opening)}
    missing = {
        item.position: item
        for item in path.newest
        if item.position not in shown and not any(item.position in span for span in told)
    }
    by_reason: dict[Reason, list[int]] = {}
    for position, item in missing.items():
        by_reason.setdefault(_find_reason(item, knows), []).append(position)
    reasons = [(span, reason) for reason, positions in by_reason.items() for span in find_spans(positions)]
    front = len(path.opening)
    listed = list(remembered)
    for span, reason in withheld:
        reasons += [(part, reason) for part in _subtract(span, listed, front, path.first)]
        listed.append(span)
    unread, waiting = _find_holes(front, path.first, [*remembered, *(span for span, _ in withheld)])
    reasons += [(span, Reason.WAITING) for span in waiting]
    if unread:
        reasons.append((unread, Reason.NOT_READ if reader.turns else Reason.BUDGET))
    held = list(find_spans(item.position for item in kept if item.position < path.first))  # an agent's request
    reasons = [(part, reason) for span, reason in reasons for part in _subtract(span, held, 0, path.length)]
    return [LeftOut(str(span), reason, span) for span, reason in _join_neighbours(sorted(reasons))]


def _subtract(span: Span, listed: Sequence[Span], front: int, end: int) -> Iterator[Span]:
    """Yield what of a span, between the opening and what was read, is in none of the others."""
    at, last = max(span.first, front), min(span.last, end - 1)
    for other in sorted(listed):
        if at <= last and other.first <= last and at <= other.last:
            if at < other.first:
                yield Span(at, other.first - 1)
            at = other.last + 1
    if at <= last:
        yield Span(at, last)


def _find_reason(item: OnPath, knows: Callable[[OnPath], bool]) -> Reason:
    """Return why a message of the tail is not shown. All of it is but for halves of what belongs together."""
    if not knows(item):
        return Reason.UNWITNESSED
    if item.entry.attributes.hidden:
        return Reason.HIDDEN
    return Reason.HALF_A_PAIR


def _find_holes(front: int, end: int, remembered: Sequence[Span]) -> tuple[Span | None, list[Span]]:
    """Return what lies before the messages that were read: behind all memory there was no room for it; between memories
    it waits to be folded."""
    waiting: list[Span] = []
    at = front
    for span in sorted(remembered):
        if at < min(span.first, end):
            waiting.append(Span(at, min(span.first, end) - 1))
        at = max(at, span.last + 1)
    return (Span(at, end - 1) if at < end else None), waiting


def _join_neighbours(reasons: Sequence[tuple[Span, Reason]]) -> Iterator[tuple[Span, Reason]]:
    """Yield neighbours with the same reason as one."""
    last: tuple[Span, Reason] | None = None
    for span, reason in reasons:
        if last and last[1] is reason and last[0].last + 1 == span.first:
            last = Span(last[0].first, span.last), reason
            continue
        if last:
            yield last
        last = span, reason
    if last:
        yield last
