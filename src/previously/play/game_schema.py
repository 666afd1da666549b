"""The fields of a game's files: what each holds and which must be there. Checks and the published schema both come from
here, so that they cannot differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FieldKind(StrEnum):
    """The shape of a field's value."""

    TEXT = "text"
    NAME = "name"
    TEXTS = "texts"
    NAMES = "names"
    TIES = "ties"
    COMPLETION = "completion"


@dataclass(frozen=True, slots=True)
class FileField:
    """One field of a file."""

    kind: FieldKind
    says: str
    required: bool = True


LONGEST_TEXT = 2_000
"""Characters of one text: five times what any prompt has room for."""

NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
"""Of ids, which are names of files too."""

FILES: Mapping[str, Mapping[str, FileField]] = {
    "game": {
        "id": FileField(FieldKind.NAME, "The name that saves of this game go by."),
        "title": FileField(FieldKind.TEXT, "The title, as players read it."),
        "description": FileField(FieldKind.TEXT, "Two or three sentences for whoever may want to play it."),
        "player": FileField(FieldKind.TEXT, "The name of the player's own character.", required=False),
        "player_role": FileField(FieldKind.TEXT, "Who the player is, in a few words.", required=False),
        "characters": FileField(FieldKind.NAMES, "The files in characters/, without .yaml."),
        "chapters": FileField(
            FieldKind.NAMES, "The files in chapters/, without .yaml; the game begins with the first."
        ),
    },
    "world": {
        "setting": FileField(FieldKind.TEXT, "Where and when it plays. Characters are told of it too."),
        "tone": FileField(FieldKind.TEXT, "How it is told.", required=False),
        "rules": FileField(FieldKind.TEXTS, "What is always so; for the narrator alone.", required=False),
    },
    "character": {
        "name": FileField(FieldKind.TEXT, "The name, as the story has it."),
        "role": FileField(FieldKind.TEXT, "What they are, as everybody can see."),
        "personality": FileField(FieldKind.TEXT, "How they are and how they speak; about 60 words."),
        "secret": FileField(FieldKind.TEXT, "What they keep to themselves.", required=False),
        "relationships": FileField(
            FieldKind.TIES, "By the files of others, or `player`: what they are to this one.", required=False
        ),
    },
    "chapter": {
        "title": FileField(FieldKind.TEXT, "The title, as players read it."),
        "summary": FileField(FieldKind.TEXT, "What the chapter is about; for the narrator alone."),
        "beats": FileField(FieldKind.TEXTS, "What is to happen, one sentence each, in any order."),
        "completion": FileField(
            FieldKind.COMPLETION, "When it is over: a sentence that the state agent judges, a number of beats, or both."
        ),
        "characters": FileField(FieldKind.NAMES, "Who may appear: files in characters/."),
        "present": FileField(FieldKind.NAMES, "Who is there when it opens; all, if nobody is named.", required=False),
        "opening": FileField(FieldKind.TEXT, "Read out when the chapter begins.", required=False),
        "next": FileField(FieldKind.NAME, "The chapter that follows; the last one has none.", required=False),
    },
}
"""The fields of each kind of file."""

_TEXT = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
_NAME = {"type": "string", "pattern": f"^{NAME_PATTERN}$"}
_SHAPES: Mapping[FieldKind, Mapping[str, Any]] = {
    FieldKind.TEXT: _TEXT,
    FieldKind.NAME: _NAME,
    FieldKind.TEXTS: {"type": "array", "items": _TEXT, "minItems": 1},
    FieldKind.NAMES: {"type": "array", "items": _NAME, "minItems": 1, "uniqueItems": True},
    FieldKind.TIES: {"type": "object", "propertyNames": _NAME, "additionalProperties": _TEXT},
    FieldKind.COMPLETION: {
        "oneOf": [
            _TEXT,
            {
                "type": "object",
                "properties": {"beats": {"type": "integer", "minimum": 1}, "when": _TEXT},
                "additionalProperties": False,
                "minProperties": 1,
            },
        ]
    },
}


def render_schema() -> dict[str, Any]:
    """Return the JSON Schema of all files of a game, for editors: one definition for each kind of file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A game for `previously play`",
        "$defs": {name: _render_file(name, fields) for name, fields in FILES.items()},
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in FILES],
    }


def _render_file(name: str, fields: Mapping[str, FileField]) -> dict[str, Any]:
    return {
        "title": name,
        "type": "object",
        "properties": {key: {"description": one.says, **_SHAPES[one.kind]} for key, one in fields.items()},
        "required": [key for key, one in fields.items() if one.required],
        "additionalProperties": False,
    }
