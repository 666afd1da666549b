"""Messages and their content blocks as Anthropic's API writes them, as drafts and back.

One message object is one message of ours, at the same place. A user message of nothing but tool results is a tool's
message; one with results and words is the user's, the results first.

What the parts do not say of a block (a signature, a cache mark, the order of results and text) is its *rest*. The
*layout* of a message lists for each block which parts it was and its rest: with it the very same blocks are written
again. Long text is in the parts alone, never a second time in the layout. The layout is kept in `extra["anthropic"]`
under `content`, other fields of the message under their own names.

`write_blocks(*read_blocks(content))` is `content` for every list of blocks, and what `write_anthropic_message` makes of
a draft that `parse_anthropic_message` read has the role and the content of the original. A layout that no longer fits
its parts, since they were changed, is not used; what was changed inside a part is written as it is now.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import kind, parse_json
from previously.core.messages import (
    FAILED,
    NO_ATTRIBUTES,
    Attributes,
    Draft,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from previously.wire.fields import drop_fields, read_role, refuse

Block = dict[str, Any]
Layout = list[list[Any]]
"""For each block the places of its parts, and its rest."""

WRITTEN = frozenset(["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"])
"""The kinds of blocks that parts stand for. One of these that gave no part is damaged, and is not sent again."""


def read_blocks(content: Sequence[object]) -> tuple[tuple[Part, ...], Layout]:
    """Return the parts of a list of blocks, results before all else, and the layout."""
    read = [_read_block(block) for block in content]
    order = sorted(range(len(read)), key=lambda at: read[at][1].get("type") != "tool_result" or not read[at][0])
    parts: list[Part] = []
    places: dict[int, list[int]] = {}
    for at in order:
        places[at] = list(range(len(parts), len(parts) + len(read[at][0])))
        parts += read[at][0]
    return tuple(parts), [[places[at], rest] for at, (_, rest) in enumerate(read)]


def write_blocks(parts: Sequence[Part], layout: Layout | None = None) -> list[Block]:
    """Write the blocks of a message: by its layout, or, without one that fits, as plain as can be.

    Thinking is written by a layout only: without its signature no API takes it back.
    """
    if layout is not None:
        with suppress(KeyError, IndexError, TypeError, ValueError, AttributeError):
            return _write_by_layout(parts, layout)
    return _write_plainly(parts)


def _read_block(block: object) -> tuple[list[Part], Block]:
    """Return the parts of a block, none where it is of a kind that they cannot tell, and its rest."""
    if isinstance(block, str):
        return [Text(block)], {"type": "text"}
    if not isinstance(block, dict):
        raise BadInput(f'"content" must be a list of blocks, not of {kind(block)}.')
    match block:
        case {"type": "text", "text": str(text)}:
            return [Text(text)], drop_fields(block, "text")
        case {"type": "thinking", "thinking": str(text)}:
            return [Thinking(text)], drop_fields(block, "thinking")
        case {"type": "redacted_thinking"}:
            return [Thinking("")], block
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict(given)}:
            call = ToolCall(call_id, name, json.dumps(given, ensure_ascii=False))
            return [call], drop_fields(block, "id", "name", "input")
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return _read_result(block, call_id)
        case {"type": "image", "source": dict(source)}:
            url = _find_url(source)
            return ([Image(url)], drop_fields(block, "source")) if url else ([], block)
        case {"type": "document", "source": {"type": "text", "data": str(text)} as source}:
            return [Text(text)], block | {"source": drop_fields(source, "data")}
    return [], block


def _read_result(block: Block, call_id: str) -> tuple[list[Part], Block]:
    content = block.get("content")
    rest = drop_fields(block, "tool_use_id", "content")
    failed = rest.get("is_error") is True
    if failed:
        del rest["is_error"]
    pictures: list[Part] = []
    texts: list[str] = []
    if isinstance(content, list):
        inside: list[list[Any]] = []
        for item in content:
            parts, its_rest = _read_block(item)
            match parts:
                case [Text(text)] if its_rest.get("type") == "text":
                    inside.append([len(text), its_rest])
                    texts.append(text)
                case [Image()]:
                    inside.append([None, its_rest])
                    pictures += parts
                case _:
                    inside.append([-1, item])
        rest["content"] = inside
    elif isinstance(content, str):
        texts.append(content)
    elif content is None:
        rest["content"] = None
    else:
        return [], block
    return [ToolResult(call_id, "\n\n".join(texts), FAILED if failed else ""), *pictures], rest


def _write_by_layout(parts: Sequence[Part], layout: Layout) -> list[Block]:
    used = sorted(place for places, _ in layout for place in places)
    if used != list(range(len(parts))) and not (not used and list(parts) == [Text("")]):
        raise ValueError
    return [_write_block([parts[place] for place in places], rest) for places, rest in layout]


def _write_block(parts: list[Part], rest: Block) -> Block:
    match parts, rest["type"] if parts else None:
        case [], _:
            return rest
        case [Text(text)], "text":
            return rest | {"text": text}
        case [Text(text)], "document":
            return rest | {"source": rest["source"] | {"data": text}}
        case [Thinking(text)], "thinking":
            return rest | {"thinking": text}
        case [Thinking()], "redacted_thinking":
            return rest
        case [ToolCall() as call], "tool_use":
            return rest | {"id": call.id, "name": call.name, "input": parse_arguments(call)}
        case [Image(url)], "image":
            return rest | {"source": write_image_source(url)}
        case [ToolResult() as result, *pictures], "tool_result":
            return _write_result(result, pictures, rest)
    raise ValueError


def _write_result(result: ToolResult, pictures: list[Part], rest: Block) -> Block:
    block = drop_fields(rest, "content") | {"tool_use_id": result.id, "content": result.text}
    if result.failed:
        block["is_error"] = True
    inside = rest.get("content", "")
    if inside is None and not result.text:
        del block["content"]
    elif isinstance(inside, list):
        lengths = [length for length, _ in inside if length is not None and length >= 0]
        if sum(lengths) + 2 * max(len(lengths) - 1, 0) != len(result.text):  # it was cut or replaced since
            block["content"] = [
                *_make_text_blocks(result.text),
                *({"type": "image", "source": _source(picture)} for picture in pictures),
            ]
            return block
        content: list[Block] = []
        start, rest_of_pictures = 0, iter(pictures)
        for length, its_rest in inside:
            if length is None:
                content.append(its_rest | {"source": _source(next(rest_of_pictures))})
            elif length < 0:
                content.append(its_rest)
            else:
                content.append(its_rest | {"text": result.text[start : start + length]})
                start += length + 2
        block["content"] = content
    return block


def _write_plainly(parts: Sequence[Part]) -> list[Block]:
    blocks: list[Block] = []
    for part in parts:
        match part:
            case Text(text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ToolCall():
                blocks.append({"type": "tool_use", "id": part.id, "name": part.name, "input": parse_arguments(part)})
            case ToolResult():
                block: Block = {"type": "tool_result", "tool_use_id": part.id, "content": part.text}
                blocks.append(block | {"is_error": True} if part.failed else block)
            case Image(url, caption):
                source = write_image_source(url)
                shown = {"type": "image", "source": source} if source else None
                blocks.append(shown or {"type": "text", "text": f"[image: {caption or url}]"})
            case _:
                pass
    return blocks


def parse_arguments(call: ToolCall) -> Block:
    """Return the arguments of a call as the object that this API wants; what is no object stands in one."""
    with suppress(BadInput):
        given = parse_json(call.arguments, "text")
        if isinstance(given, dict):
            return given
    return {"input": call.arguments} if call.arguments.strip() else {}


def write_image_source(url: str) -> Block | None:
    """Write the source of a picture; None for an address that this API cannot reach."""
    if url.startswith("data:") and ";base64," in url:
        media, data = url[5:].split(";base64,", 1)
        return {"type": "base64", "media_type": media, "data": data}
    return {"type": "url", "url": url} if url.startswith(("http://", "https://")) else None


def _find_url(source: Block) -> str | None:
    """Return the address of a picture's source, if the source can be made of it again."""
    url = None
    match source:
        case {"type": "base64", "media_type": str(media), "data": str(data)}:
            url = f"data:{media};base64,{data}"
        case {"type": "url", "url": str(address)}:
            url = address
    return url if url and write_image_source(url) == source else None


def _source(picture: Part) -> Block | None:
    assert isinstance(picture, Image)
    return write_image_source(picture.url)


def _make_text_blocks(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


KEY = "anthropic"
_AS_TEXT = "text"
"""In place of a layout: the content was one text where blocks are usual."""


def parse_anthropic_message(item: dict[str, Any]) -> Draft:
    """Parse a message object. A fault names the field and what was expected there. The draft is not yet cleaned."""
    role, given = read_role(item)
    content = item.get("content")
    kept = {name: value for name, value in item.items() if name not in ("role", "content")}
    if given is not None:
        kept["role"] = given
    parts: tuple[Part, ...]
    if isinstance(content, str):
        parts = (Text(content),)
        if role not in (Role.USER, Role.SYSTEM):
            kept["content"] = _AS_TEXT
    elif isinstance(content, list):
        parts, layout = read_blocks(content)
        if role is Role.USER and layout and all(rest.get("type") == "tool_result" for _, rest in layout):
            role = Role.TOOL
        parts = parts or (Text(""),)
        if content != _write_content(role, parts, None):
            kept["content"] = layout
    elif "content" not in item:
        raise BadInput('"content" is missing.')
    else:
        refuse("content", "text or a list of blocks", content)
    return Draft(Message(role, parts), Attributes(extra={KEY: kept}) if kept else NO_ATTRIBUTES)


def write_anthropic_message(message: Message, attributes: Attributes = NO_ATTRIBUTES) -> dict[str, Any]:
    """Write the role and the content of a message object; a tool's message is the user's here."""
    role = Role.USER if message.role is Role.TOOL else message.role
    layout = _read_layout(attributes)
    if layout == _AS_TEXT and len(message.parts) == 1:
        return {"role": role.value, "content": message.text}
    return {"role": role.value, "content": _write_content(message.role, message.parts, layout)}


def _read_layout(attributes: Attributes) -> Any:
    kept = attributes.extra.get(KEY)
    return kept.get("content") if isinstance(kept, dict) else None


def _write_content(role: Role, parts: tuple[Part, ...], layout: Any) -> str | list[Block]:
    if isinstance(layout, list):
        return write_blocks(parts, layout)
    if role in (Role.USER, Role.SYSTEM) and len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return write_blocks(parts)
