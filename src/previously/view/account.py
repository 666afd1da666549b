"""Accounting for every message of a path: what is in the view and what it costs, what is not and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from previously.core.path import OnPath, Span, find_spans
from previously.core.tokens import Counter, message_tokens
from previously.view.memory import Remembered
from previously.view.reader import Reader
from previously.view.view import Item, LeftOut, Reason, Section


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
        """Where what was read begins."""
        return self.newest[0].position if self.newest else self.length

    @property
    def outside_tail(self) -> int:
        """Where the tail that is never folded begins."""
        return self.length - self.tail_messages


@dataclass(frozen=True, slots=True)
class SystemCost:
    """What the parts of the system message cost; all together they make up the whole."""

    furniture: int
    opening: int
    memory: int


def items(
    path: ViewPath, memories: Sequence[Remembered], cost_of: SystemCost, kept: Sequence[OnPath], counter: Counter
) -> Iterator[Item]:
    """What is in the view but for recall."""
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
        reason = memory.reason if memory.text else "nothing was told there"
        yield Item(memory.section, cost, reason, tuple(covers))
        left -= cost
    for item in kept:
        in_tail = item.position >= path.outside_tail
        reason = f"one of the newest {path.tail_messages}" if in_tail else "not folded yet"
        if any(item.position in span for memory in memories for span in memory.told) and not in_tail:
            reason = "shown since this epoch began"
        cost = message_tokens(item.entry.message, counter)
        yield Item(Section.TAIL, cost, reason, (Span(item.position, item.position),))


def left_out(
    path: ViewPath,
    reader: Reader,
    memories: Sequence[Remembered],
    kept: Sequence[OnPath],
    withheld: Sequence[tuple[Span, Reason]],
    knows: Callable[[OnPath], bool],
) -> list[LeftOut]:
    """Every position that is neither shown nor covered, by reason, in path order. Memory that gave way has been listed
    with its span: `memories` are all there are. `withheld` are the spans of memory that is not shown here, and why."""
    remembered = [span for memory in memories for span in memory.told]
    withheld = [*withheld, *((gap, Reason.CUT) for memory in memories for gap in memory.lost)]
    shown = {item.position for item in (*kept, *path.opening)}
    missing = {
        item.position: item
        for item in path.newest
        if item.position not in shown and not any(item.position in span for span in remembered)
    }
    by_reason: dict[Reason, list[int]] = {}
    for position, item in missing.items():
        by_reason.setdefault(_why(item, knows), []).append(position)
    found = [(span, reason) for reason, positions in by_reason.items() for span in find_spans(positions)]
    front = len(path.opening)
    listed = list(remembered)
    for span, reason in withheld:
        found += [(part, reason) for part in _parts(span, listed, front, path.first)]
        listed.append(span)
    unread, waiting = _holes(front, path.first, [*remembered, *(span for span, _ in withheld)])
    found += [(span, Reason.WAITING) for span in waiting]
    if unread:
        found.append((unread, Reason.NOT_READ if reader.turns else Reason.BUDGET))
    return [LeftOut(str(span), reason, span) for span, reason in _joined(sorted(found))]


def _parts(span: Span, listed: Sequence[Span], front: int, end: int) -> Iterator[Span]:
    """What of a span, between the opening and what was read, is in none of the others."""
    at, last = max(span.first, front), min(span.last, end - 1)
    for other in sorted(listed):
        if at <= last and other.first <= last and at <= other.last:
            if at < other.first:
                yield Span(at, other.first - 1)
            at = other.last + 1
    if at <= last:
        yield Span(at, last)


def _why(item: OnPath, knows: Callable[[OnPath], bool]) -> Reason:
    """Why a message of the tail is not shown. All of it is but for halves of what belongs together."""
    if not knows(item):
        return Reason.UNWITNESSED
    if item.entry.attributes.hidden:
        return Reason.HIDDEN
    return Reason.HALF_A_PAIR


def _holes(front: int, end: int, remembered: Sequence[Span]) -> tuple[Span | None, list[Span]]:
    """What lies before the messages that were read: behind all memory there was no room for it; between memories it
    waits to be folded."""
    waiting: list[Span] = []
    at = front
    for span in sorted(remembered):
        if at < min(span.first, end):
            waiting.append(Span(at, min(span.first, end) - 1))
        at = max(at, span.last + 1)
    return (Span(at, end - 1) if at < end else None), waiting


def _joined(found: Sequence[tuple[Span, Reason]]) -> Iterator[tuple[Span, Reason]]:
    """Neighbours with the same reason as one."""
    last: tuple[Span, Reason] | None = None
    for span, reason in found:
        if last and last[1] is reason and last[0].last + 1 == span.first:
            last = Span(last[0].first, span.last), reason
            continue
        if last:
            yield last
        last = span, reason
    if last:
        yield last
