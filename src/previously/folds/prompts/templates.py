"""Filling templates and writing messages down for a model to read.

A template is one text: what the model is told, a line `=== user ===`, and what it is given. Placeholders are
`{{name}}`; every one must be filled and every value used, so that a template that was edited cannot silently lose its
input. Story text goes between tags, with tags of the same name in it defused: it is data, never instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from previously.core.errors import BadInput
from previously.core.json_values import shown
from previously.core.messages import Error, Image, Message, Role, Text, ToolCall, ToolResult
from previously.core.patterns import lazy_pattern

SEPARATOR = "=== user ==="
FORM = "=== form ==="
"""The line before the form of the answer, of which a fold may ask for some parts only."""

_PLACEHOLDER = lazy_pattern(r"\{\{(\w+)\}\}")
_OWN_TAG = lazy_pattern(
    r"</?(?=(?:recap|new_events|old_words|new_words|chapter|story_so_far"
    r"|known|as_things_stood|just_before|so_far|scene|summaries|memory|open_threads|noted|fragment|brief|conversation"
    r"|new_messages|sources|excerpts|question"
    r")\b)"
)

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "update": (
        "voices",
        "language",
        "known",
        "before",
        "recap",
        "threads",
        "state",
        "bridge",
        "messages",
        "form",
        "hint",
        "episode_words",
        "recap_words",
        "lore_entries",
        "backbone_words",
    ),
    "chapter": (
        "backbone",
        "earlier",
        "episodes",
        "title",
        "recap",
        "ending",
        "messages",
        "language",
        "form",
        "hint",
        "chapter_words",
        "backbone_words",
    ),
    "amend": ("previous", "removed", "events", "hint"),
    "scene": ("types", "aspects", "title", "story", "known", "open", "state", "noted", "events", "language", "hint"),
    "combine": ("length", "summaries", "hint"),
    "ask": ("sources", "question", "hint"),
    "seek": ("known", "question", "hint"),
    "pick": ("excerpts", "question", "reader", "hint"),
    "cast": ("name", "summary", "facts", "events", "hint"),
    "brief": ("length", "previous", "conversation", "hint"),
    "analysis": ("aspects", "story", "known", "open", "state", "bridge", "noted", "fragment", "language", "hint"),
}
"""Every prompt there is, and what it is filled with."""


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt, and the hash that is stored with all that it made."""

    name: str
    system: str
    user: str
    hash: str
    form: str = ""


def parse_template(name: str, text: str, placeholders: Iterable[str]) -> Template:
    """The template in a text. `BadInput` when its placeholders are not exactly those that its fold fills."""
    system, separator, user = text.replace("\r\n", "\n").partition(f"\n{SEPARATOR}\n")
    if not separator:
        raise BadInput(f"The prompt {name} has no line {SEPARATOR!r} between instruction and input.")
    given, wanted = set(_PLACEHOLDER.findall(text)), set(placeholders)
    if given != wanted:
        missing, unknown = sorted(wanted - given), sorted(given - wanted)
        what = f"lacks {{{{{missing[0]}}}}}" if missing else f"has an unknown {{{{{shown(unknown[0], 60)}}}}}"
        raise BadInput(f"The prompt {name} {what}; it needs exactly: {', '.join(sorted(wanted))}.")
    user, _, form = user.partition(f"\n{FORM}\n")
    digest = blake2b(text.encode(), digest_size=8).hexdigest()
    return Template(name, system.strip(), user.strip(), digest, form.strip())


def fill_template(template: Template, values: Mapping[str, str]) -> tuple[str, str]:
    """System and user text with every placeholder filled, in one pass: a value is never looked into."""

    def value(match: re.Match[str]) -> str:
        return values[match[1]]

    return _PLACEHOLDER.sub(value, template.system), _PLACEHOLDER.sub(value, template.user)


def split_form(form: str, headings: Iterable[str]) -> list[tuple[str, str]]:
    """Return the parts of a form, each with its heading."""
    starts = [match.start() for match in re.finditer(rf"^(?:{'|'.join(headings)})$", form, re.M)]
    blocks = [form[first:last].strip() for first, last in pairwise([*starts, len(form)])]
    return [(block.partition("\n")[0], block) for block in blocks]


def defuse_tags(text: str) -> str:
    """Story text as it may stand between tags."""
    return _OWN_TAG.sub(lambda match: match[0].replace("<", "‹"), text)


TOOL_TEXT_CHARACTERS = 2_000
"""The characters of a tool's output that are told: its head shows what it was; what is cut is counted."""


def render_message(message: Message) -> str:
    """Return what a message tells: its text, its calls by name, and what tools gave back. Thinking is not told."""
    pieces: list[str] = []
    for part in message.parts:
        match part:
            case Text(text) | Error(text):
                pieces.append(text.strip())
            case ToolCall(_, name, arguments):
                pieces.append(f"(calls {name} with {_cap_tool_text(arguments)})")
            case ToolResult(_, text):
                pieces.append(_cap_tool_text(text.strip()))
            case Image(_, caption):
                pieces.append(f"(shows a picture: {caption})" if caption else "(shows a picture)")
            case _:
                pass
    return "\n\n".join(piece for piece in pieces if piece)


def _cap_tool_text(text: str) -> str:
    cut = len(text) - TOOL_TEXT_CHARACTERS
    return f"{text[:TOOL_TEXT_CHARACTERS]} (and {cut:,} more characters)" if cut > 0 else text


def render_transcript(messages: Iterable[Message]) -> str:
    """Messages as a model reads them: who, then what."""
    lines = [f"{name_speaker(message)}: {text}" for message in messages if (text := render_message(message))]
    return defuse_tags("\n\n".join(lines))


def name_speaker(message: Message) -> str:
    """Return whom a message is by, in words."""
    names = {Role.USER: "User", Role.ASSISTANT: "Narrator", Role.TOOL: "Tool", Role.SYSTEM: "Narrator"}
    return message.speaker or names[message.role]
