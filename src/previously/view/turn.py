"""Volatile memory: lore that this turn brings up and what was found again for it, inside the newest user message.

It stands between two marks, as data, before what the user said: no message and no role is added, and all before that
message stays as it was. What must stay true: nothing in a passage can end the block early, and what was said comes out
again by `without_recall`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, Text
from previously.core.path import Span
from previously.core.tokens import Counter, message_tokens
from previously.view.view import Item, Section, View

OPENING = "<recalled>\nFrom earlier in this story, for reference:"
CLOSING = "</recalled>"
MARKS_TOKENS = 24
"""What the marks around passages cost, at most."""

_BLOCK = re.compile(r"\A<recalled>\n.*?\n</recalled>\n\n", re.DOTALL)
_ECHO = re.compile(
    r"<recalled>\r?\n(?:From earlier in this story, for reference:.*?(?:</recalled>\s*|\Z)|.*?\n</recalled>\s*)",
    re.DOTALL,
)
_MARK = re.compile(r"<(\s*/?\s*recalled[^>]*)>", re.IGNORECASE)


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


def block(passages: Sequence[Recalled], lore: Sequence[LoreShown] = ()) -> str:
    """Entries and passages as they stand in a view: what things are, then what was said, in the order of the story."""
    said = [one.text for one in sorted(passages, key=lambda one: one.span)]
    return "\n".join([OPENING, *map(written, (*map(render_lore, lore), *said)), CLOSING]) + "\n\n"


def written(text: str) -> str:
    """An entry or a passage as it stands between the marks: no line of it looks like another one, or like a mark."""
    return "\n  ".join(_MARK.sub(r"‹\1›", text).splitlines())


def render_lore(lore: LoreShown) -> str:
    """An entry as it stands in a view."""
    return f"About {' '.join(lore.name.split())}: {lore.text.strip()}"


def remove_turn_memory(text: str) -> str:
    """What a user said, without what was put before it."""
    return _BLOCK.sub("", text)


def remove_echoes(text: str) -> str:
    """A text without recalled passages that a client or a model repeats, wherever they stand in it."""
    return _ECHO.sub("", text) if "<recalled>" in text else text


def add_turn_memory(
    view: View, passages: Sequence[Recalled], said: Message | None, counter: Counter, lore: Sequence[LoreShown] = ()
) -> View:
    """The view with this lore and as many of these passages, the best first, as it has room for, in what the user said.
    Where there is not even room for the lore, its first entries give way."""
    at = next((at for at, one in enumerate(view.messages) if one is said), None)
    if at is None or not any(isinstance(part, Text) for part in view.messages[at].parts):
        return view
    kept, entries = list(passages), list(lore)
    while kept or entries:
        message = _put(view.messages[at], block(kept, entries))
        cost = message_tokens(message, counter) - message_tokens(view.messages[at], counter)
        if view.tokens + cost <= view.budget_tokens:
            return replace(
                view,
                tokens=view.tokens + cost,
                volatile_tokens=cost,
                messages=(*view.messages[:at], message, *view.messages[at + 1 :]),
                items=(*view.items, *_items(kept, entries, cost, counter)),
            )
        if kept:
            kept.pop()
        else:
            entries.pop(0)
    return view


def _put(message: Message, text: str) -> Message:
    first = next(at for at, part in enumerate(message.parts) if isinstance(part, Text))
    words = message.parts[first]
    assert isinstance(words, Text)
    return replace(message, parts=(*message.parts[:first], Text(text + words.text), *message.parts[first + 1 :]))


def _items(passages: Sequence[Recalled], lore: Sequence[LoreShown], cost: int, counter: Counter) -> list[Item]:
    """Each entry and passage with what it costs; the last also bears the marks around them all."""
    found = [Item(Section.LORE, counter.tokens(render_lore(one)), one.item_reason, ()) for one in lore]
    found += [Item(Section.RECALL, counter.tokens(one.text), one.reason, (one.span,), one.score) for one in passages]
    for number, one in enumerate(found, 1):
        tokens = min(cost, one.tokens) if number < len(found) else cost
        found[number - 1] = replace(one, tokens=tokens)
        cost -= tokens
    return found
