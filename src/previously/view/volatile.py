"""Volatile memory: what was found again for this turn, inside the newest user message.

It stands between two marks, as data, before what the user said: no message and no role is added, and all before that
message stays as it was. What must stay true: nothing in a passage can end the block early, and what was said comes out
again by `without_recall`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, Text
from previously.core.spans import Span
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


def block(passages: Sequence[Recalled]) -> str:
    """Those passages as they stand in a view, in the order of the story."""
    texts = (_MARK.sub(r"‹\1›", one.text) for one in sorted(passages, key=lambda one: one.span))
    lines = ["\n  ".join(text.splitlines()) for text in texts]  # so that no line of one looks like another passage
    return "\n".join([OPENING, *lines, CLOSING]) + "\n\n"


def without_recall(text: str) -> str:
    """What a user said, without what was put before it."""
    return _BLOCK.sub("", text)


def without_echo(text: str) -> str:
    """A text without recalled passages that a client or a model repeats, wherever they stand in it."""
    return _ECHO.sub("", text) if "<recalled>" in text else text


def with_recall(view: View, passages: Sequence[Recalled], said: Message | None, counter: Counter) -> View:
    """The view with as many of these passages, the best first, as it has room for, in what the user said."""
    at = next((at for at, one in enumerate(view.messages) if one is said), None)
    if at is None or not any(isinstance(part, Text) for part in view.messages[at].parts):
        return view
    kept = list(passages)
    while kept:
        message = _put(view.messages[at], block(kept))
        cost = message_tokens(message, counter) - message_tokens(view.messages[at], counter)
        if view.tokens + cost <= view.budget_tokens:
            return replace(
                view,
                tokens=view.tokens + cost,
                messages=(*view.messages[:at], message, *view.messages[at + 1 :]),
                items=(*view.items, *_items(kept, cost, counter)),
            )
        kept.pop()
    return view


def _put(message: Message, text: str) -> Message:
    first = next(at for at, part in enumerate(message.parts) if isinstance(part, Text))
    words = message.parts[first]
    assert isinstance(words, Text)
    return replace(message, parts=(*message.parts[:first], Text(text + words.text), *message.parts[first + 1 :]))


def _items(passages: Sequence[Recalled], cost: int, counter: Counter) -> list[Item]:
    """Each passage with what it costs; the last also bears the marks around them all."""
    found = []
    for number, one in enumerate(passages, 1):
        tokens = min(cost, counter.tokens(one.text)) if number < len(passages) else cost
        found.append(Item(Section.RECALL, tokens, one.reason, (one.span,), one.score))
        cost -= tokens
    return found
