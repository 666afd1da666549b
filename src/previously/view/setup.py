"""The setup of a story for writing on: how its model is asked, as people set it for one story.

Pure. What a person set wins over what the file of the story brought along: a character card, the name of the user, the
author's note of its chat. `{{char}}` and `{{user}}` in any text stand for the two names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.patterns import lazy_pattern

CARD = "card"
"""The field of a story's header that holds the card it was begun with."""

LONGEST_TEXT = 200_000
"""Characters of one text: no window has room for more, and a card of an average length has 4,000."""

MOST_STOPS, LONGEST_STOP = 16, 200
"""Stop words, and characters of one: servers take 4 to 16, and none is longer than a line."""


@dataclass(frozen=True, slots=True)
class WritingSetup:
    """All that a model is told and asked with beside the story itself."""

    form: str = ""
    """`chat`, `prose`, or empty: prose for a novel, else a chat."""
    system: str = ""
    """The system prompt; empty = one of ours for the form."""
    name: str = ""
    """The character whom the model plays,"""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    examples: str = ""
    """and how they talk."""
    user_name: str = ""
    user_description: str = ""
    note: str = ""
    """The author's note, which the model sees shortly before it writes,"""
    note_depth: int = 4
    """with so many messages behind it."""
    temperature: float = 0.8
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repeat_penalty: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    """The longest reply; None = the story's `answer_tokens`."""
    stop: tuple[str, ...] = ()
    """The reply ends before any of these."""

    @property
    def sampling(self) -> dict[str, Any]:
        """The options that are given, by the names that servers have for them; temperature and length stand apart."""
        named = {key: getattr(self, key) for key in _OPTIONS if getattr(self, key) is not None}
        return {**named, **({"stop": list(self.stop)} if self.stop else {})}

    @property
    def outlets(self) -> frozenset[str]:
        """The outlets that its texts name: places for lore, `{{outlet::name}}`."""
        texts = (getattr(self, name) for name in _TOLD)
        return frozenset(match[1] for text in texts if "{{" in text for match in _OUTLET.finditer(text))

    def with_outlets(self, told: Mapping[str, str]) -> WritingSetup:
        """Return the setup with what lore has for each outlet in its place; nothing where it has nothing."""

        def put_in(text: str) -> str:
            return _OUTLET.sub(lambda match: told.get(match[1], ""), text)

        texts: dict[str, Any] = {name: put_in(getattr(self, name)) for name in _TOLD}
        return replace(self, **texts)

    def fill(self, text: str) -> str:
        """Return a text with the names in place of `{{char}}` and `{{user}}`."""
        names = {"char": self.name or "the character", "user": self.user_name or "the user"}
        return _NAMES.sub(lambda match: names[match[1].lower()], text)


_NAMES = lazy_pattern(r"\{\{(char|user)\}\}", re.IGNORECASE)

_OUTLET = lazy_pattern(r"\{\{outlet::\s*([^{}]*?)\s*\}\}", re.IGNORECASE)

_TOLD = ("system", "description", "personality", "scenario", "examples", "user_description", "note")
"""The texts that a model is given."""

_OPTIONS = ("top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repeat_penalty", "seed")

FORMS = ("chat", "prose")

_BOUNDS: Mapping[str, tuple[float, float]] = {
    "note_depth": (0, 1_000),
    "temperature": (0, 5),
    "top_p": (0, 1),
    "top_k": (0, 1_000),
    "min_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "repeat_penalty": (0, 5),
    "seed": (-(2**53), 2**53),
    "max_tokens": (1, 1_000_000),
}
"""The numbers that servers take; beyond them a value is a slip."""

_WHOLE = frozenset({"note_depth", "top_k", "seed", "max_tokens"})
_KEYS = tuple(field.name for field in fields(WritingSetup))


def change_setup(own: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a person set, after changes; None takes a value back. All of them hold, or `BadInput`."""
    new = dict(own)
    for key, value in changes.items():
        if key not in _KEYS:
            raise BadInput(f"{key} is no part of how a story is written on; there are {', '.join(_KEYS)}.")
        if value is None:
            new.pop(key, None)
            continue
        if fault := _find_fault(key, value):
            raise BadInput(f"{key} must be {fault}.")
        new[key] = clean(value)[0] if isinstance(value, str) else value
    return new


def read_setup(own: Mapping[str, Any], header: Mapping[str, Any]) -> WritingSetup:
    """Return the setup in force: what a person set, over what the story's file brought along. What cannot be used is
    left out: nobody may be kept from writing by a file."""
    brought = _read_card(header) | _read_chat(header)
    values: dict[str, Any] = {
        key: value
        for layer in (brought, own)
        for key, value in layer.items()
        if key in _KEYS and value is not None and not _find_fault(key, value)
    }
    values["stop"] = tuple(values.get("stop", ()))
    return WritingSetup(**values)


def parse_setup_words(key: str, words: str) -> Any:
    """Return the value that words of a command line stand for; None for none, the words themselves if they stand for
    nothing else."""
    if not words.strip():
        return None
    if key == "stop":
        return [words]
    if key in _BOUNDS:
        with suppress(ValueError):
            return int(words) if key in _WHOLE else float(words)
    return words


def list_setup(setup: WritingSetup) -> dict[str, Any]:
    """Return a setup as JSON."""
    return {**asdict(setup), "stop": list(setup.stop)}


def _find_fault(key: str, value: object) -> str:
    """Say what a value must be and is not; empty if all is well."""
    if key == "stop":
        usable = isinstance(value, list | tuple) and len(value) <= MOST_STOPS
        if usable and all(isinstance(word, str) and 0 < len(word) <= LONGEST_STOP for word in value):  # type: ignore[attr-defined]
            return ""
        return f"a list of at most {MOST_STOPS} texts of 1 to {LONGEST_STOP} characters"
    if key in _BOUNDS:
        low, high = _BOUNDS[key]
        kinds = (int,) if key in _WHOLE else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            return f"a {'whole ' if key in _WHOLE else ''}number from {low:g} to {high:g}"
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return f"text of at most {LONGEST_TEXT:,} characters"
    if key == "form" and value not in ("", *FORMS):
        return "chat, prose or nothing"
    return ""


def read_card_notes(header: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a character card's creator noted, and the note that it wants at a depth; empty where it has none."""
    card = _find_card(header)
    note: Any = card
    for step in ("extensions", "depth_prompt", "prompt"):
        note = note.get(step) if isinstance(note, Mapping) else None
    texts = (card.get("creator_notes"), note)
    creator, at_depth = (text if isinstance(text, str) else "" for text in texts)
    return creator, at_depth


def _find_card(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a character card, in any of its versions."""
    card = header.get(CARD)
    if isinstance(card, Mapping) and isinstance(card.get("data"), Mapping):
        card = card["data"]
    return card if isinstance(card, Mapping) else {}


def _read_card(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a character card says of how its character is played."""
    card = _find_card(header)
    named = {"mes_example": "examples", "system_prompt": "system"}
    known = ("name", "description", "personality", "scenario", *named)
    return {named.get(key, key): card[key] for key in known if card.get(key)}


def _read_chat(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a chat file of SillyTavern says of its people, and its author's note."""
    brought = {
        ours: header[theirs]
        for ours, theirs in (("name", "character_name"), ("user_name", "user_name"))
        if header.get(theirs) not in (None, "", "unused")
    }
    metadata = header.get("chat_metadata")
    if isinstance(metadata, Mapping) and metadata.get("note_prompt"):
        brought["note"] = metadata["note_prompt"]
        brought["note_depth"] = metadata.get("note_depth")
    return brought
