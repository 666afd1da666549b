"""Building a view: the opening and memory in one system message, then the newest messages as they were said.

The fixed parts are the opening, the pins and the newest message that is not hidden; a budget that cannot hold them is
refused. Of what remains, memory gets half, or more when the tail needs less. The tail is filled from the newest message
backwards, whole messages only and without a gap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.errors import BudgetTooSmall
from previously.core.messages import ToolCall, ToolResult
from previously.core.paths import OnPath
from previously.core.spans import Span, spans_of
from previously.core.tokens import estimate_tokens, message_tokens
from previously.view.memory import Remembered, fit, system_message, system_tokens
from previously.view.view import Item, LeftOut, Reason, Section, View


@dataclass(frozen=True, slots=True)
class Material:
    """What a view can be made of. `newest` ends with the path and goes back at least as far as the budget reaches."""

    path_length: int
    opening: Sequence[OnPath]
    memories: Sequence[Remembered]
    """In the order of the story."""
    newest: Sequence[OnPath]
    """The messages after all memory, and the tail even where memory covers it; in path order."""
    tail_messages: int


def build(material: Material, budget_tokens: int, without: Collection[Section] = ()) -> View:
    """The view of this material under this budget, without these sections; `BudgetTooSmall` says how much would do."""
    excluded = [memory.span for memory in material.memories if memory.section in without and memory.span]
    material = replace(material, memories=[one for one in material.memories if one.section not in without])
    opening = {item.position for item in material.opening}
    shown = [item for item in material.newest if item.position not in opening and not item.entry.attributes.hidden]
    pins = [memory for memory in material.memories if memory.section is Section.PINS]
    fixed = system_tokens(material.opening, pins) + (message_tokens(shown[-1].entry.message) if shown else 0)
    if fixed > budget_tokens:
        raise BudgetTooSmall(budget_tokens, fixed)
    spare = budget_tokens - fixed
    wanted = sum(message_tokens(item.entry.message) for item in shown[:-1])
    pins_tokens = system_tokens(material.opening, pins) - system_tokens(material.opening, ())
    memories, cut = fit(material.opening, material.memories, max(spare // 2, spare - wanted) + pins_tokens)
    remembered = system_tokens(material.opening, memories)
    verbatim = _fit_tail(shown, budget_tokens - remembered)
    kept = _whole_pairs(verbatim)

    system = system_message(material.opening, memories)
    outside_tail = material.path_length - material.tail_messages
    left_out = _left_out(material, kept, verbatim, excluded)
    return View(
        budget_tokens=budget_tokens,
        tokens=remembered + sum(message_tokens(item.entry.message) for item in kept),
        messages=tuple(([system] if system else []) + [item.entry.message for item in kept]),
        items=tuple(_items(material, memories, remembered, kept, outside_tail)),
        left_out=(*cut, *left_out),
        fold_due=any(
            item.reason in (Reason.BUDGET, Reason.WAITING) and item.span is not None and item.span.first < outside_tail
            for item in left_out
        ),
    )


def _fit_tail(shown: Sequence[OnPath], budget: int) -> list[OnPath]:
    fitting: list[OnPath] = []
    for item in reversed(shown):
        budget -= message_tokens(item.entry.message)
        if budget < 0:
            break
        fitting.append(item)
    return fitting[::-1]


def _whole_pairs(verbatim: Sequence[OnPath]) -> list[OnPath]:
    """Without results whose call is not shown, and calls whose result is not: no model accepts half of a pair. The
    newest message may still wait for its results."""
    called, answered = _ids(verbatim, ToolCall), _ids(verbatim, ToolResult)
    whole = [item for item in verbatim if called.issuperset(_ids([item], ToolResult))]
    return [item for item in whole if answered.issuperset(_ids([item], ToolCall)) or item is verbatim[-1]]


def _ids(items: Iterable[OnPath], kind: type[ToolCall] | type[ToolResult]) -> set[str]:
    return {part.id for item in items for part in item.entry.message.parts if isinstance(part, kind)}


def _items(
    material: Material, memories: Sequence[Remembered], tokens: int, kept: Sequence[OnPath], outside_tail: int
) -> Iterable[Item]:
    opening_tokens = system_tokens(material.opening, ())
    if material.opening:
        spans = tuple(spans_of(item.position for item in material.opening))
        yield Item(Section.SYSTEM, opening_tokens, "the system message is always shown", spans)
    left = tokens - opening_tokens
    opening = len(material.opening)
    shown = [memory for memory in memories if memory.stands_for(opening) or memory.span is None]
    for memory in shown:
        # The last also bears what headings cost; all together they make up the whole.
        cost = left if memory is shown[-1] else min(left, estimate_tokens(memory.shown))
        reason = memory.reason if memory.text else "nothing was told there"
        covers = memory.stands_for(opening)
        yield Item(memory.section, cost, reason, (covers,) if covers else ())
        left -= cost
    for item in kept:
        in_tail = item.position >= outside_tail
        reason = f"one of the newest {material.tail_messages}" if in_tail else "not folded yet"
        cost = message_tokens(item.entry.message)
        yield Item(Section.TAIL, cost, reason, (Span(item.position, item.position),))


def _left_out(
    material: Material, kept: Sequence[OnPath], verbatim: Sequence[OnPath], excluded: Sequence[Span]
) -> list[LeftOut]:
    """Every position that is neither shown nor covered, by reason, in path order. Memory that gave way has been listed
    with its span."""
    remembered = [memory.span for memory in material.memories if memory.span]
    shown = {item.position for item in kept} | {item.position for item in material.opening}
    missing = [
        item
        for item in material.newest
        if item.position not in shown and not any(item.position in span for span in remembered)
    ]
    hidden = [item.position for item in missing if item.entry.attributes.hidden]
    halved = sorted({item.position for item in verbatim} & {item.position for item in missing})
    no_room = [item.position for item in missing if item.position not in {*hidden, *halved}]
    found = [(span, Reason.HIDDEN) for span in spans_of(hidden)]
    found += [(span, Reason.HALF_A_PAIR) for span in spans_of(halved)]
    opening, first_read = (
        len(material.opening),
        material.newest[0].position if material.newest else material.path_length,
    )
    for span in excluded:
        if max(span.first, opening) <= min(span.last, first_read - 1):
            found.append((Span(max(span.first, opening), min(span.last, first_read - 1)), Reason.EXCLUDED))
    unread, waiting = _holes(material, [*remembered, *excluded])
    found += [(span, Reason.WAITING) for span in waiting]
    found += [(span, Reason.BUDGET) for span in _joined(unread, list(spans_of(no_room)))]
    return [LeftOut(str(span), reason, span) for span, reason in sorted(found)]


def _holes(material: Material, remembered: Sequence[Span]) -> tuple[Span | None, list[Span]]:
    """What lies before the messages that were read: behind all memory there was no room for it; between memories it
    waits to be folded."""
    end = material.newest[0].position if material.newest else material.path_length
    waiting: list[Span] = []
    at = len(material.opening)
    for span in sorted(remembered):
        if at < min(span.first, end):
            waiting.append(Span(at, min(span.first, end) - 1))
        at = max(at, span.last + 1)
    return (Span(at, end - 1) if at < end else None), waiting


def _joined(unread: Span | None, cut: list[Span]) -> list[Span]:
    if unread is None:
        return cut
    if cut and cut[0].first == unread.last + 1:
        return [Span(unread.first, cut[0].last), *cut[1:]]
    return [unread, *cut]
