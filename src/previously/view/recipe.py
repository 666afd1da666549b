"""Recipes: all that is needed to make a view once more, byte for byte, and to go on from it.

A recipe names what was shown; the words of messages stay in the transcript. Memory is kept with its words, once per
epoch, since what was shown must be known even when what it was made of has been taken back. A recipe that cannot be
parsed is None.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from previously.core.messages import (
    Error,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    list_fields,
)
from previously.core.path import Span
from previously.core.recent_values import RecentValues
from previously.core.tokens import Counter, message_tokens
from previously.text.compare import find_common_front
from previously.view.agent import Trim
from previously.view.epoch import Epoch
from previously.view.memory import Remembered, render_sections
from previously.view.render import make_system_message
from previously.view.turn import LoreShown, Recalled
from previously.view.view import NO_FURNITURE, Furniture, LeftOut, Reason, Section, View

_PARTS: dict[str, type[Part]] = {kind.__name__: kind for kind in (Text, Thinking, ToolCall, ToolResult, Image, Error)}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The way a view was made."""

    epoch: Epoch
    turn_position: int
    """The position of the newest user message; -1 if there is none."""
    shown: tuple[Span, ...]
    """The messages of the tail that were shown."""
    recalled: tuple[Recalled, ...]
    """The passages found again, the best first. Their words are not kept: they stand in the transcript."""
    budget_tokens: int
    digests: tuple[str, ...]
    """Those of the messages."""
    furniture: Furniture = NO_FURNITURE
    began: str = ""
    """Why the epoch began with this view; empty if it went on."""
    unchanged_tokens: int | None = None
    tail_messages: int = 0
    """The number of messages that are never folded."""
    dated: bool = True
    """True if passages said when they were written."""
    mark: str = ""
    """The story's mark, which the memory of the turn had; empty for none."""
    lore: tuple[LoreShown, ...] = ()
    """The entries that the turn brought up, with their words: an entry may read otherwise by now."""
    in_outlets: tuple[str, ...] = ()
    """The entries that it brought up for outlets of the furniture, by uid: their words stand there."""


def digest_messages(messages: Iterable[Message]) -> tuple[str, ...]:
    return tuple(map(_digest_message, messages))


DIGEST_BYTES = 300
"""Bytes of a digest and of its place in a dictionary."""

_recent_digests = RecentValues[tuple[Role, str | None, str], str](16 * 1024 * 1024)
"""Digests of messages that were shown lately: a view shows nearly all of what the one before has shown."""


def _digest_message(message: Message) -> str:
    """Return the digest of a message as JSON, remembered where it is words alone, as nearly all are."""
    if not (len(message.parts) == 1 and type(part := message.parts[0]) is Text):
        return _digest_anew(message)
    key, size = (message.role, message.speaker, part.text), DIGEST_BYTES + 2 * len(part.text)
    digest = _recent_digests.get(key, size)
    if digest is None:
        digest = _digest_anew(message)
        _recent_digests.keep(key, digest, size)
    return digest


def _digest_anew(message: Message) -> str:
    return sha256(json.dumps(_to_plain(message), sort_keys=True).encode()).hexdigest()[:16]


def count_unchanged_tokens(view: View, recipe: Recipe, before: Recipe, opening: Sequence[str], counter: Counter) -> int:
    """Return how many tokens at the front of a view are those of the one before, byte for byte. Of a system message
    that has changed, what both begin with counts; `opening` is what the story has in it."""
    if before.furniture.tools != recipe.furniture.tools:
        return 0  # servers put them before everything
    total = counter.tokens(recipe.furniture.tools) + counter.request_overhead_tokens
    for message, now, then in zip(view.messages, recipe.digests, before.digests, strict=False):
        if now != then:
            if message is view.messages[0] and message.role is Role.SYSTEM:
                texts = [*before.furniture.system_texts, *opening, *render_sections(before.epoch.memories)]
                earlier = make_system_message(texts)
                total += counter.tokens(find_common_front(message.text, earlier.text if earlier else ""))
            break
        total += message_tokens(message, counter)
    return total


def write_recipe(recipe: Recipe) -> tuple[str, str]:
    """Return the recipe but for its epoch, and the epoch."""
    body = _list_values(recipe)
    epoch = body.pop("epoch")
    body["recalled"] = [[one.span, one.score, one.reason] for one in recipe.recalled]
    if not recipe.in_outlets:
        del body["in_outlets"]
    if recipe.furniture == NO_FURNITURE:
        del body["furniture"]
    else:
        front = [_to_plain(message) for message in recipe.furniture.front]
        notes = [[depth, _to_plain(message)] for depth, message in recipe.furniture.notes]
        body["furniture"] = {"front": front, "notes": notes, "tools": recipe.furniture.tools}
    return json.dumps(body, default=_list_values), json.dumps(epoch, default=_list_values)


def _list_values(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass. Unlike `asdict`, which copies all that is below, it leaves the rest to JSON."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def parse_recipe(body: str, epoch: str) -> Recipe | None:
    """Return the recipe of these texts; None if they are none."""
    try:
        values: dict[str, Any] = json.loads(body)
        values["digests"] = tuple(map(str, values["digests"]))
        values["shown"] = tuple(_parse_span(one) for one in values["shown"])
        values["recalled"] = tuple(Recalled(_parse_span(at), "", score, why) for at, score, why in values["recalled"])
        values["lore"] = tuple(LoreShown(**one) for one in values.get("lore", ()))
        values["in_outlets"] = tuple(map(str, values.get("in_outlets", ())))
        if "furniture" in values:
            values["furniture"] = _parse_furniture(values["furniture"])
        return Recipe(epoch=_parse_epoch(json.loads(epoch)), **values)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _to_plain(message: Message) -> list[Any]:
    parts = [[type(part).__name__, list_fields(part)] for part in message.parts]
    return [message.role.value, message.speaker, parts]


def _parse_message(plain: Any) -> Message:
    role, speaker, parts = plain
    return Message(Role(role), tuple(_PARTS[name](**fields) for name, fields in parts), speaker)


def _parse_furniture(value: Any) -> Furniture:
    notes = tuple((depth, _parse_message(plain)) for depth, plain in value["notes"])
    return Furniture(tuple(map(_parse_message, value["front"])), notes, value["tools"])


def _parse_epoch(values: dict[str, Any]) -> Epoch:
    memories = tuple(
        Remembered(
            **{
                **one,
                "section": Section(one["section"]),
                **{at: _parse_span(one.get(at)) for at in ("span", "beside")},
                "lost": tuple(_parse_span(gap) for gap in one.get("lost") or ()),
            }
        )
        for one in values.pop("memories")
    )
    cut = tuple(map(_parse_left_out, values.pop("cut")))
    trimmed = values.pop("trim", {})
    trim = Trim(**{**trimmed, "repeated": tuple(tuple(place) for place in trimmed.get("repeated", ()))})
    return Epoch(memories=memories, cut=cut, trim=trim, **values)


def _parse_left_out(one: dict[str, Any]) -> LeftOut:
    share_of = one.get("share_of")  # recipes of earlier versions do not say
    return LeftOut(
        one["what"], Reason(one["reason"]), _parse_span(one["span"]), Section(share_of) if share_of else None
    )


def _parse_span(value: Any) -> Any:
    """Return a span as it was written, or None."""
    return None if value is None else Span(value["first"], value["last"])
