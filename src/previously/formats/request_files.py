"""Files of message objects: a request or a response of a model's API, or just its list (OpenAI's chat, Anthropic's
messages, OpenAI's Responses), and our own lines.

The list becomes the drafts, one for each of its objects; a system prompt beside the list is a draft before all others;
the rest of a body becomes the header.

A file of our own has one message object per line, `{"role", "name"?, "content", "witnesses"?, "at"?, "id"?, "hidden"?,
"extra"?}`; without `witnesses` everyone was there. A line may be anything that `parse_chat_message` reads. Blank lines
are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

OPENAI, ANTHROPIC, RESPONSES = "openai", "anthropic", "responses"
"""The names of the formats."""

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


def read_openai(document: Document) -> StorySource:
    """Read a file of OpenAI's chat messages."""
    return read_value(document, read_openai_value)


def read_anthropic(document: Document) -> StorySource:
    return read_value(document, read_anthropic_value)


def read_responses(document: Document) -> StorySource:
    """Read a file of the items of OpenAI's Responses."""
    return read_value(document, read_responses_value)


def read_openai_value(document: Document, value: Any) -> StorySource:
    header: dict[str, Any] = {}
    if isinstance(value, dict):
        if "messages" not in value:
            raise document.fault(BadInput('"messages" is missing.'))
        header = drop_fields(value, "messages")
        value = value["messages"]
        if not isinstance(value, list):
            raise document.fault(BadInput(f'"messages" must be a list, not {kind(value)}.'))
    return _read_list(document, OPENAI, _check_list(value, "messages"), header, parse_chat_message)


def read_anthropic_value(document: Document, value: Any) -> StorySource:
    header: dict[str, Any] = {}
    led: list[Draft] = []
    if isinstance(value, dict):
        header = drop_fields(value, "messages", "system")
        if value.get("system"):
            led.append(parse_anthropic_message({"role": "system", "content": value["system"]}))
        value = value.get("messages")
    return _read_list(document, ANTHROPIC, _check_list(value, "messages"), header, parse_anthropic_message, led)


def read_responses_value(document: Document, value: Any) -> StorySource:
    """Read the items of a parsed file, those of a response behind those of its request."""
    header: dict[str, Any] = {}
    items: list[Any] = []
    if isinstance(value, dict):
        header = drop_fields(value, "instructions", "input", "output")
        if isinstance(value.get("instructions"), str) and value["instructions"]:
            items.append({"role": "system", "content": value["instructions"]})
        given = value.get("input", [])
        items += [{"role": "user", "content": given}] if isinstance(given, str) else _check_list(given, "items")
        items += _check_list(value.get("output", []), "items")
    else:
        items = _check_list(value, "items")
    return _read_list(document, RESPONSES, items, header, parse_item, what="item")


def _read_list(
    document: Document,
    name: str,
    items: Sequence[object],
    header: dict[str, Any],
    read: Callable[[dict[str, Any]], Draft],
    led: Sequence[Draft] = (),
    *,
    what: str = "message",
) -> StorySource:
    new_header, replaced = clean_json(header)
    assert isinstance(new_header, dict)
    first = [clean_draft(draft) for draft in led]
    drafts = [draft for draft, _ in first]
    replaced += sum(count for _, count in first)
    for number, item in enumerate(items, 1):
        try:
            if not isinstance(item, dict):
                raise BadInput(f"{'an' if what == 'item' else 'a'} {what} must be an object, not {kind(item)}.")
            draft, count = clean_draft(read(item))
        except (BadInput, RecursionError) as error:
            raise document.fault(error, f"{what} {number} of {len(items)}") from None
        drafts.append(draft)
        replaced += count
    return StorySource(drafts, name, new_header, replaced)


def _check_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"the file must hold a list of {what}, not {kind(value)}.")
    return value


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
