"""Building a view: the opening and the recap in one system message, then the newest messages as they were said.

The fixed parts are the opening and the newest message that is not hidden; a budget that cannot hold them is refused.
Of what remains, memory gets half, or more when the tail needs less. The tail is filled from the newest message
backwards, whole messages only and without a gap; the recap is cut at sentences, the oldest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.errors import BudgetTooSmall
from previously.core.messages import Message, Role, Text, ToolCall, ToolResult
from previously.core.paths import OnPath
from previously.core.spans import Span, spans_of
from previously.core.tokens import message_tokens
from previously.core.versions import LiveVersion
from previously.view.view import Item, LeftOut, Reason, Section, View

_QUOTES = frozenset('"“”„«»「」『』')
"""Marks that come in pairs, whatever the language opens and closes with."""

RECAP_HEADING = "# Previously in this story"

_SENTENCE_END = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+|(?<=[。！？])[」』”’）]*\s*|\n+""")


@dataclass(frozen=True, slots=True)
class Material:
    """What a view can be made of. `newest` ends with the path and goes back at least as far as the budget reaches."""

    path_length: int
    opening: Sequence[OnPath]
    recap: LiveVersion | None
    newest: Sequence[OnPath]
    """Only messages after the recap; in path order."""
    tail_messages: int


def build(material: Material, budget_tokens: int) -> View:
    """The view of this material under this budget; `BudgetTooSmall` says how much would do."""
    opening = {item.position for item in material.opening}
    story = [item for item in material.newest if item.position not in opening]
    shown = [item for item in story if not item.entry.attributes.hidden]
    fixed = _system_tokens(material.opening, "") + (message_tokens(shown[-1].entry.message) if shown else 0)
    if fixed > budget_tokens:
        raise BudgetTooSmall(budget_tokens, fixed)
    spare = budget_tokens - fixed
    wanted = sum(message_tokens(item.entry.message) for item in shown[:-1])
    recap, cut = _fit_recap(material, budget=max(spare // 2, spare - wanted))
    system_tokens = _system_tokens(material.opening, recap)
    verbatim = _fit_tail(shown, budget_tokens - system_tokens)
    kept = _whole_pairs(verbatim)

    system = _system_message(material.opening, recap)
    messages = ([system] if system else []) + [item.entry.message for item in kept]
    outside_tail = material.path_length - material.tail_messages
    left_out = _left_out(material, kept, verbatim)
    return View(
        budget_tokens=budget_tokens,
        tokens=system_tokens + sum(message_tokens(item.entry.message) for item in kept),
        messages=tuple(messages),
        items=tuple(_items(material, recap, system_tokens, kept, outside_tail)),
        left_out=(*cut, *left_out),
        fold_due=any(
            item.reason is Reason.BUDGET and item.span is not None and item.span.first < outside_tail
            for item in left_out
        ),
    )


def _system_message(opening: Sequence[OnPath], recap: str) -> Message | None:
    texts = [item.entry.message.text for item in opening]
    if recap:
        texts.append(f"{RECAP_HEADING}\n\n{recap}")
    return Message(Role.SYSTEM, (Text("\n\n".join(texts)),)) if texts else None


def _system_tokens(opening: Sequence[OnPath], recap: str) -> int:
    system = _system_message(opening, recap)
    return message_tokens(system) if system else 0


def _fit_recap(material: Material, budget: int) -> tuple[str, list[LeftOut]]:
    """As many of the recap's newest sentences as fit, and what was cut."""
    if material.recap is None:
        return "", []
    text = material.recap.version.made.text
    without = _system_tokens(material.opening, "")
    if _system_tokens(material.opening, text) - without <= budget:
        return text, []
    starts = _sentence_starts(text)
    for number, start in enumerate(starts[1:], 1):
        if _system_tokens(material.opening, text[start:]) - without <= budget:
            return text[start:], [LeftOut(f"the first {number} of {len(starts)} sentences of the recap", Reason.BUDGET)]
    covered = _covered(material)
    return "", [LeftOut(f"the recap of {covered}", Reason.BUDGET, covered)] if covered else []


def _covered(material: Material) -> Span | None:
    """What the recap stands for: all up to its end but the opening, which is shown itself."""
    if material.recap is None or material.recap.span.last < len(material.opening):
        return None
    return Span(len(material.opening), material.recap.span.last)


def _sentence_starts(text: str) -> list[int]:
    """Where sentences begin; never inside a quotation, which would lose its speaker."""
    starts, quotes, at = [0], 0, 0
    for found in _SENTENCE_END.finditer(text):
        quotes += sum(mark in _QUOTES for mark in text[at : found.end()])
        at = found.end()
        if quotes % 2 == 0 and starts[-1] < at < len(text):
            starts.append(at)
    return starts


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
    material: Material, recap: str, system_tokens: int, kept: Sequence[OnPath], outside_tail: int
) -> Iterable[Item]:
    opening_tokens = _system_tokens(material.opening, "")
    if material.opening:
        spans = tuple(spans_of(item.position for item in material.opening))
        yield Item(Section.SYSTEM, opening_tokens, "the system message is always shown", spans)
    covered = _covered(material)
    if covered and material.recap is not None and (recap or not material.recap.version.made.text):
        made = material.recap.version.made
        reason = f"recap, version {material.recap.version.id}, by {made.made_by}" if recap else "nothing was told there"
        yield Item(Section.RECAP, system_tokens - opening_tokens, reason, (covered,))
    for item in kept:
        in_tail = item.position >= outside_tail
        reason = f"one of the newest {material.tail_messages}" if in_tail else "not folded yet"
        tokens = message_tokens(item.entry.message)
        yield Item(Section.TAIL, tokens, reason, (Span(item.position, item.position),))


def _left_out(material: Material, kept: Sequence[OnPath], verbatim: Sequence[OnPath]) -> list[LeftOut]:
    """Every position after the recap that is not shown, by reason, in path order."""
    shown = {item.position for item in kept} | {item.position for item in material.opening}
    missing = [item for item in material.newest if item.position not in shown]
    hidden = [item.position for item in missing if item.entry.attributes.hidden]
    halved = sorted({item.position for item in verbatim} - shown)
    cut = [item.position for item in missing if item.position not in {*hidden, *halved}]
    found = [(span, Reason.HIDDEN) for span in spans_of(hidden)]
    found += [(span, Reason.HALF_A_PAIR) for span in spans_of(halved)]
    found += [(span, Reason.BUDGET) for span in _with_unread(material, list(spans_of(cut)))]
    return [LeftOut(str(span), reason, span) for span, reason in sorted(found)]


def _with_unread(material: Material, cut: list[Span]) -> list[Span]:
    """What lies between the recap and the messages that were read far enough back to fill the budget."""
    first = max(material.recap.span.last + 1 if material.recap else 0, len(material.opening))
    end = material.newest[0].position if material.newest else material.path_length
    if first >= end:
        return cut
    if cut and cut[0].first == end:
        return [Span(first, cut[0].last), *cut[1:]]
    return [Span(first, end - 1), *cut]
