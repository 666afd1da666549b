"""Messages, and the drafts and entries that carry them.

A `Message` is a plain value: who said what, before whom. It knows nothing of stores, ids or time. A `Draft` is a
message on its way in, an `Entry` one occurrence of a message in a story. Two equal messages are two entries.

What lies in `Message` is identity (see `digests`): changing it makes another message. What lies beside it in
`Attributes` (time, source id, extra, hidden) may change without moving any node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import MAX_JSON_DEPTH, MAX_MESSAGE_BYTES, clean, clean_json


class Role(StrEnum):
    """The side a message comes from, in the words every model API uses."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Text:
    """Words that were said."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning: kept in the transcript, never shown to a model again."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call a model asked for; `arguments` is the text it wrote, valid JSON or not."""

    id: str
    name: str
    arguments: str


FAILED = "error"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call; `status` is `FAILED` where the tool said that it failed."""

    id: str
    text: str
    status: str = ""

    @property
    def failed(self) -> bool:
        return self.status == FAILED


@dataclass(frozen=True, slots=True)
class Image:
    """A picture by its address (a data URL included) and what it shows, if known."""

    url: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Error:
    """A failure that a client recorded among the messages."""

    text: str


Part = Text | Thinking | ToolCall | ToolResult | Image | Error


def list_fields(part: Part) -> dict[str, str]:
    """Return what makes a part this part. A field that came later counts only where it is given: what was kept before
    it came stays what it was."""
    return {name: value for name in part.__slots__ if (value := getattr(part, name)) or name != "status"}


@dataclass(frozen=True, slots=True)
class Message:
    """Role, speaker, parts and witnesses: all that makes a message this message."""

    role: Role
    parts: tuple[Part, ...]
    speaker: str | None = None
    witnesses: tuple[str, ...] | None = None
    """The people who were there, sorted; None = everyone."""

    @property
    def text(self) -> str:
        """Return what a reader of the story reads: text parts, one under the other."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return self.parts[0].text
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text))


def message(role: str, text: str, *, speaker: str | None = None, witnesses: Iterable[str] | None = None) -> Message:
    """Return a message of plain text. An unknown role is refused."""
    if not isinstance(text, str):
        raise BadInput(f"The words of a message must be text, not {type(text).__name__}.")
    return Message(
        parse_role(role), (Text(text),), speaker or None, None if witnesses is None else tuple(sorted(set(witnesses)))
    )


def put_text(old: Message, text: str) -> tuple[Part, ...]:
    """Return a message's parts with their text replaced: the first text part takes the new words, other text parts
    go."""
    parts: list[Part] = []
    placed = False
    for part in old.parts:
        if not isinstance(part, Text):
            parts.append(part)
        elif not placed:
            parts.append(Text(text))
            placed = True
    return tuple(parts) if placed else (*parts, Text(text))


def parse_role(role: str) -> Role:
    """Return the role of that name; anything else is refused with the names that exist."""
    try:
        return Role(role)
    except ValueError:
        known = ", ".join(member.value for member in Role)
        raise BadInput(f"{role!r} is not a role; use one of {known}.") from None


@dataclass(frozen=True, slots=True)
class Attributes:
    """All that is known of an entry besides its message. None of it is identity."""

    at: str | None = None
    """When it was said, as given (ISO 8601 where the source has it)."""
    source_id: str | None = None
    """The id the message has in the file or client it came from."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Everything else the source holds, kept as it was."""
    hidden: bool = False
    """Not shown verbatim, still remembered."""


NO_ATTRIBUTES = Attributes()


@dataclass(frozen=True, slots=True)
class Draft:
    """A message on its way into a story."""

    message: Message
    attributes: Attributes = NO_ATTRIBUTES
    alternatives: tuple[Draft, ...] = ()
    """Other replies given at the same place (swipes): they become sibling nodes, off the path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One occurrence of a message in a story."""

    id: int
    message: Message
    digest: bytes
    attributes: Attributes = NO_ATTRIBUTES
    replaces: int | None = None
    """The entry it is an edit of."""


def clean_draft(draft: Draft) -> tuple[Draft, int]:
    """Return the draft as every store can keep it, and how many characters had to be replaced.

    A message over `MAX_MESSAGE_BYTES` is refused.
    """
    original = draft.message
    extra = str(draft.attributes.extra) if draft.attributes.extra else ""
    if _is_plain(draft, extra):
        return draft, 0
    parts, replaced = _clean_parts(original.parts)
    beside = (original.speaker, draft.attributes.at, draft.attributes.source_id, *(original.witnesses or ()))
    size = sum(_measure_part(part) for part in parts) + sum(_utf8_size(text) for text in beside if text)
    size += _utf8_size(extra)
    if size > MAX_MESSAGE_BYTES:
        raise BadInput(
            f"A message of {size / 1_048_576:.1f} MB is too large; "
            f"a message may have at most {MAX_MESSAGE_BYTES // 1_048_576} MB."
        )
    speaker, in_speaker = clean(original.speaker) if original.speaker else (original.speaker, 0)
    replaced += in_speaker
    witnesses = original.witnesses
    if witnesses is not None:
        pairs = [clean(name) for name in witnesses]
        witnesses = tuple(sorted({name for name, _ in pairs}))
        replaced += sum(count for _, count in pairs)
    attributes, in_attributes = _clean_attributes(draft.attributes, extra)
    alternatives = [clean_draft(alternative) for alternative in draft.alternatives]
    replaced += in_attributes + sum(count for _, count in alternatives)
    if replaced == 0:
        return draft, 0
    return (
        Draft(
            Message(original.role, parts, speaker, witnesses),
            attributes,
            tuple(alternative for alternative, _ in alternatives),
        ),
        replaced,
    )


def _is_plain(draft: Draft, extra: str) -> bool:
    """Return whether a draft is one text and needs no other look, as nearly all are: clean, and so short that no
    encoding makes it too large. `extra` is how Python shows its own."""
    message, attributes = draft.message, draft.attributes
    if draft.alternatives or message.witnesses is not None or len(message.parts) != 1:
        return False
    part = message.parts[0]
    if type(part) is not Text:
        return False
    words = f"{part.text}{message.speaker}{attributes.at}{attributes.source_id}"
    return len(words) + len(extra) <= MAX_MESSAGE_BYTES // 4 and not clean(words)[1] and _is_clean(extra)


def _clean_parts(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], int]:
    total = 0
    result: list[Part] = []
    for part in parts:
        fields = [clean(getattr(part, name)) for name in part.__slots__]
        replaced = sum(count for _, count in fields)
        result.append(type(part)(*(text for text, _ in fields)) if replaced else part)
        total += replaced
    return (tuple(result), total) if total else (parts, 0)


def _is_clean(shown: str) -> bool:
    """Return whether a JSON value that Python shows so needs no other look; most need none."""
    if not shown:
        return True
    nested = shown.count("{") + shown.count("[")
    # The signs of a NUL, of half a character and of no number, one by one: every message is asked.
    unclean = "\\x00" in shown or "\\ud" in shown or "nan" in shown or "inf" in shown
    return nested <= MAX_JSON_DEPTH and not unclean


def _clean_attributes(attributes: Attributes, shown: str) -> tuple[Attributes, int]:
    """`shown` is the text by which Python shows `extra`."""
    if attributes is NO_ATTRIBUTES:
        return attributes, 0
    at, in_at = clean(attributes.at) if attributes.at else (attributes.at, 0)
    source_id, in_id = clean(attributes.source_id) if attributes.source_id else (attributes.source_id, 0)
    extra: object = attributes.extra
    in_extra = 0
    if not _is_clean(shown):
        extra, in_extra = clean_json(dict(attributes.extra))
    total = in_at + in_id + in_extra
    if not total:
        return attributes, 0
    assert isinstance(extra, Mapping)
    return Attributes(at, source_id, extra, attributes.hidden), total


def _measure_part(part: Part) -> int:
    return sum(_utf8_size(getattr(part, name)) for name in part.__slots__)


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
