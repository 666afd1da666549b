"""Memory for one turn: lore that it brings up and passages recalled for it, inside the newest user message.

It stands between two marks, as data, before what the user said: no message and no role is added, and all before that
message stays as it was. Nothing in a passage can end the block early, and `remove_turn_memory` gives back what was
said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Text
from previously.core.path import OnPath, Span
from previously.core.patterns import lazy_pattern
from previously.core.tokens import Counter, message_tokens
from previously.view.render import put_before, render_messages
from previously.view.view import Item, Section, TurnMemory, View

OPENING = "<recalled>\nFrom earlier in this story, for reference:"
CLOSING = "</recalled>"
MARKS_TOKENS = 24
"""The most that the marks around passages cost, by any counter."""

_ECHO = lazy_pattern(
    r"<recalled>\r?\n(?:From earlier in this story, for reference:.*?(?:</recalled>\s*|\Z)|.*?\n</recalled>\s*)",
    re.DOTALL,
)
_MARK = lazy_pattern(r"<(\s*/?\s*recalled[^>]*)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A passage that was found again, in words that say who said it, when and where in the story."""

    span: Span
    text: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class LoreShown:
    """An entry of lore that a turn brings up."""

    uid: str
    name: str
    text: str
    reason: str

    @property
    def item_reason(self) -> str:
        """Why it is in the view, with its name."""
        return f"{self.name}: {self.reason}"


def render_block(passages: Sequence[Recalled], lore: Sequence[LoreShown] = ()) -> str:
    """Return entries, then passages in the order of the story, between the marks."""
    said = [passage.text for passage in sorted(passages, key=lambda passage: passage.span)]
    return "\n".join([OPENING, *map(render_text, (*map(render_lore, lore), *said)), CLOSING]) + "\n\n"


def render_text(text: str) -> str:
    """Return an entry or a passage as it stands between the marks: no line of it looks like another one, or like a
    mark."""
    return "\n  ".join(_MARK.sub(r"‹\1›", text).splitlines())


def render_lore(lore: LoreShown) -> str:
    """Return an entry as it stands in a view."""
    return f"About {' '.join(lore.name.split())}: {lore.text.strip()}"


def remove_echoes(text: str) -> str:
    """Return a text without the recalled passages that a client or a model repeats, wherever they stand in it."""
    return _ECHO.sub("", text) if "<recalled>" in text else text


def add_turn_memory(
    view: View, passages: Sequence[Recalled], turn: OnPath | None, counter: Counter, lore: Sequence[LoreShown] = ()
) -> View:
    """Return the view with this lore and as many of these passages, the best first, as it has room for, in what the
    user said. Where there is not even room for the lore, its first entries give way. A message of which the view shows
    only a part bears none."""
    shown = next((item for item in view.parts.tail if turn and item.position == turn.position), None)
    if turn is None or shown is None or shown.entry.message != turn.entry.message:
        return view
    said = turn.entry.message
    if not any(isinstance(part, Text) for part in said.parts):
        return view
    kept, entries = list(passages), list(lore)
    while kept or entries:
        memory = TurnMemory(turn.position, render_block(kept, entries))
        cost = message_tokens(put_before(said, memory.text), counter) - message_tokens(said, counter)
        if view.tokens + cost <= view.budget_tokens:
            parts = replace(view.parts, turn_memory=memory)
            return replace(
                view,
                tokens=view.tokens + cost,
                volatile_tokens=cost,
                messages=render_messages(parts),
                items=(*view.items, *_list_items(kept, entries, cost, counter)),
                parts=parts,
            )
        if kept:
            kept.pop()
        else:
            entries.pop(0)
    return view


def _list_items(passages: Sequence[Recalled], lore: Sequence[LoreShown], cost: int, counter: Counter) -> list[Item]:
    """Return each entry and passage with what it costs; the last also bears the marks around them all."""
    items = [Item(Section.LORE, counter.tokens(render_lore(entry)), entry.item_reason, ()) for entry in lore]
    items += [
        Item(Section.RECALL, counter.tokens(passage.text), passage.reason, (passage.span,), passage.score)
        for passage in passages
    ]
    for number, item in enumerate(items, 1):
        tokens = min(cost, item.tokens) if number < len(items) else cost
        items[number - 1] = replace(item, tokens=tokens)
        cost -= tokens
    return items
