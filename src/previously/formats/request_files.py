"""Files of message objects: a request or a response of a model's API, or just its list (OpenAI's chat, Anthropic's
messages, OpenAI's Responses), and our own lines.

The list becomes the drafts, one for each of its objects; a system prompt beside the list is a draft before all others;
the rest of a body becomes the header.

A file of our own has one message object per line, `{"role", "name"?, "content", "witnesses"?, "at"?, "id"?, "hidden"?,
"extra"?}`; without `witnesses` everyone was there. A line may be anything that `parse_chat_message` reads. Blank lines
are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json, kind, parse_object
from previously.core.messages import Draft, clean_draft
from previously.formats.files import Document, DraftStream, StorySource, read_value
from previously.wire.anthropic import parse_anthropic_message
from previously.wire.chat import parse_chat_message
from previously.wire.fields import drop_fields
from previously.wire.responses import CALLS, OUTPUTS, parse_item

_ANTHROPIC_BLOCKS = frozenset(["thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"])
_RESPONSES_ITEMS = frozenset(["reasoning", "item_reference", *CALLS, *OUTPUTS])


def is_anthropic(value: object) -> bool:
    """Return whether a parsed file is in Anthropic's format rather than in OpenAI's."""
    messages = value
    if isinstance(value, dict):
        if "system" in value and "messages" in value:
            return True
        messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    contents = [item.get("content") for item in messages if isinstance(item, dict)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(_is_anthropic_block(block) for block in blocks if isinstance(block, dict))


def _is_anthropic_block(block: dict[str, Any]) -> bool:
    name = str(block.get("type"))
    return name in _ANTHROPIC_BLOCKS or (name in ("image", "document") and isinstance(block.get("source"), dict))


def is_responses(value: object) -> bool:
    """Return whether a parsed file is in the format of OpenAI's Responses."""
    if isinstance(value, dict):
        return "messages" not in value and (
            isinstance(value.get("input"), list | str) or isinstance(value.get("output"), list)
        )
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return any(
        str(item.get("type")) in _RESPONSES_ITEMS or (item.get("type") == "message" and "role" in item)
        for item in items
    )


@dataclass(frozen=True, slots=True)
class RequestParts:
    """A request, or a list of messages, taken apart."""

    items: list[Any]
    header: dict[str, Any] = field(default_factory=dict)
    led: tuple[Draft, ...] = ()
    """The system prompt that stands beside the items."""


@dataclass(frozen=True, slots=True)
class RequestFormat:
    """A dialect of message objects, and how a file of it is read."""

    name: str
    lists: tuple[str, ...]
    """The fields that hold its items, in their order."""
    split: Callable[[Any], RequestParts]
    parse: Callable[[dict[str, Any]], Draft]
    what: str = "message"
    """The name of an item in a fault."""

    def read(self, document: Document) -> StorySource:
        """Read a file."""
        return read_value(document, self.read_parsed)

    def read_parsed(self, document: Document, value: Any) -> StorySource:
        """Return the messages of a parsed file."""
        parts = self.split(value)
        header, replaced = clean_header(parts.header)
        pairs = list(self.read_items(document, parts, parts.items, len(parts.items)))
        replaced += sum(count for _, count in pairs)
        return StorySource([draft for draft, _ in pairs], self.name, header, replaced)

    def read_items(
        self, document: Document, parts: RequestParts, items: Iterable[object], total: int
    ) -> Iterator[tuple[Draft, int]]:
        """Yield what is said beside the items, and then the items, `total` of them, as drafts; each with how many
        characters were replaced in it."""
        for draft in parts.led:
            yield clean_draft(draft)
        for number, item in enumerate(items, 1):
            try:
                if not isinstance(item, dict):
                    article = "an" if self.what == "item" else "a"
                    raise BadInput(f"{article} {self.what} must be an object, not {kind(item)}.")
                yield clean_draft(self.parse(item))
            except (BadInput, RecursionError) as error:
                raise document.fault(error, f"{self.what} {number} of {total}") from None


def clean_header(header: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a header as every store can keep it, and how many characters were replaced in it."""
    clean, replaced = clean_json(header)
    assert isinstance(clean, dict)
    return clean, replaced


def _split_openai(value: Any) -> RequestParts:
    if not isinstance(value, dict):
        return RequestParts(_check_list(value, "messages"))
    if "messages" not in value:
        raise BadInput('"messages" is missing.')
    if not isinstance(value["messages"], list):
        raise BadInput(f'"messages" must be a list, not {kind(value["messages"])}.')
    return RequestParts(value["messages"], drop_fields(value, "messages"))


def _split_anthropic(value: Any) -> RequestParts:
    if not isinstance(value, dict):
        return RequestParts(_check_list(value, "messages"))
    led: tuple[Draft, ...] = ()
    if value.get("system"):
        led = (parse_anthropic_message({"role": "system", "content": value["system"]}),)
    items = _check_list(value.get("messages"), "messages")
    return RequestParts(items, drop_fields(value, "messages", "system"), led)


def _split_responses(value: Any) -> RequestParts:
    """Take the items apart, those of a response behind those of its request."""
    if not isinstance(value, dict):
        return RequestParts(_check_list(value, "items"))
    items: list[Any] = []
    if isinstance(value.get("instructions"), str) and value["instructions"]:
        items.append({"role": "system", "content": value["instructions"]})
    given = value.get("input", [])
    items += [{"role": "user", "content": given}] if isinstance(given, str) else _check_list(given, "items")
    items += _check_list(value.get("output", []), "items")
    return RequestParts(items, drop_fields(value, "instructions", "input", "output"))


def _check_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"the file must hold a list of {what}, not {kind(value)}.")
    return value


OPENAI = RequestFormat("openai", ("messages",), _split_openai, parse_chat_message)
ANTHROPIC = RequestFormat("anthropic", ("messages",), _split_anthropic, parse_anthropic_message)
RESPONSES = RequestFormat("responses", ("input", "output"), _split_responses, parse_item, "item")


JSONL = "jsonl"


def read_jsonl(document: Document) -> StorySource:
    """Read a file of message lines."""
    pairs = list(read_jsonl_lines(document))
    return StorySource([draft for draft, _ in pairs], JSONL, {}, sum(count for _, count in pairs))


def read_jsonl_lines(document: Document) -> Iterator[tuple[Draft, int]]:
    """Yield the messages of a file of message lines, each with how many characters were replaced in it."""
    for number, line in document.lines():
        try:
            yield clean_draft(parse_chat_message(parse_object(line)))
        except (BadInput, RecursionError) as error:
            raise document.fault(error, number) from None


def stream_jsonl(_: Document, path: Path) -> StorySource:
    """Return a file of message lines, to be read as its messages are asked for."""
    return StorySource([], JSONL, {}, 0, stream=DraftStream(path, read_jsonl_lines))
