"""Recipes: all that is needed to make a view once more, byte for byte, and to go on from it.

A recipe names what was shown; the words of messages stay in the transcript. Memory is kept with its words, once per
epoch, since what was shown must be known even when what it was made of has been taken back. What must stay true:
reading is total; what cannot be read is None.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from previously.core.messages import Error, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from previously.core.spans import Span
from previously.view.epochs import Epoch
from previously.view.furniture import NO_FURNITURE, Furniture
from previously.view.memory import Remembered
from previously.view.view import LeftOut, Reason, Section, View
from previously.view.volatile import Recalled

_PARTS: dict[str, type[Part]] = {kind.__name__: kind for kind in (Text, Thinking, ToolCall, ToolResult, Image, Error)}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a view was made."""

    epoch: Epoch
    turn_position: int
    """Where the newest user message stands; -1 if there is none."""
    shown: tuple[Span, ...]
    """The messages of the tail that were shown."""
    recalled: tuple[Recalled, ...]
    """What was found again, the best first. Its words are not kept: they stand in the transcript."""
    budget_tokens: int
    digest: str
    """That of the messages."""
    furniture: Furniture = NO_FURNITURE
    began: str = ""
    """Why the epoch began with this view; empty if it went on."""
    unchanged_tokens: int | None = None


def digest_of(messages: Sequence[Message]) -> str:
    """What tells the bytes of a view from all others."""
    plain = [_plain(message) for message in messages]
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def unchanged_tokens(view: View, recipe: Recipe, before: Recipe) -> int:
    """How many tokens at the front of a view are those of the one before, which was of the same path: where an epoch
    began, up to the first text of memory that is new; else up to the message that volatile memory was put into, or to
    the end of the tail there was."""
    if before.furniture.front != recipe.furniture.front:
        return 0
    same = before.epoch == recipe.epoch
    new = None if same else _first_new(recipe.epoch.memories, before.epoch.memories)
    then = [position for span in before.shown for position in range(span.first, span.last + 1)]
    total = at = 0
    for item in view.items:
        if item.section is Section.RECALL or item.section is new:
            break
        if item.section is Section.TAIL:
            position = item.sources[0].first
            moved = at >= len(then) or position != then[at]
            if not same or moved or (before.recalled and position >= before.turn_position):
                break
            at += 1
        total += item.tokens
    return total


def _first_new(memories: Sequence[Remembered], before: Sequence[Remembered]) -> Section | None:
    """The first section, in the order of the view, that does not tell the same as it did."""
    for section in Section:
        now, then = ([one.shown for one in texts if one.section is section] for texts in (memories, before))
        if now != then:
            return section
    return None


def to_text(recipe: Recipe) -> tuple[str, str]:
    """The recipe but for its epoch, and the epoch."""
    body = asdict(recipe)
    epoch = body.pop("epoch")
    body["recalled"] = [[asdict(one.span), one.score, one.reason] for one in recipe.recalled]
    if recipe.furniture == NO_FURNITURE:
        del body["furniture"]
    else:
        front = [_plain(message) for message in recipe.furniture.front]
        notes = [[depth, _plain(message)] for depth, message in recipe.furniture.notes]
        body["furniture"] = {"front": front, "notes": notes, "tools": recipe.furniture.tools}
    return json.dumps(body), json.dumps(epoch)


def from_text(body: str, epoch: str) -> Recipe | None:
    """The recipe of these texts."""
    try:
        values: dict[str, Any] = json.loads(body)
        values["shown"] = tuple(_span(one) for one in values["shown"])
        values["recalled"] = tuple(Recalled(_span(at), "", score, why) for at, score, why in values["recalled"])
        if "furniture" in values:
            values["furniture"] = _furniture(values["furniture"])
        return Recipe(epoch=_epoch(json.loads(epoch)), **values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _plain(message: Message) -> list[Any]:
    parts = [[type(part).__name__, asdict(part)] for part in message.parts]
    return [message.role.value, message.speaker, parts]


def _message(plain: Any) -> Message:
    role, speaker, parts = plain
    return Message(Role(role), tuple(_PARTS[name](**fields) for name, fields in parts), speaker)


def _furniture(value: Any) -> Furniture:
    notes = tuple((depth, _message(plain)) for depth, plain in value["notes"])
    return Furniture(tuple(map(_message, value["front"])), notes, value["tools"])


def _epoch(values: dict[str, Any]) -> Epoch:
    memories = tuple(
        Remembered(**{**one, "section": Section(one["section"]), "span": _span(one["span"])})
        for one in values.pop("memories")
    )
    cut = tuple(LeftOut(one["what"], Reason(one["reason"]), _span(one["span"])) for one in values.pop("cut"))
    return Epoch(memories=memories, cut=cut, **values)


def _span(value: Any) -> Any:
    """A span as `asdict` left it, or None."""
    return None if value is None else Span(value["first"], value["last"])
