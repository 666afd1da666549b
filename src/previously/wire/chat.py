"""Messages and replies as OpenAI's chat API writes them, in both directions.

A message object may also carry the fields of our own JSONL lines (`witnesses`, `at`, `id`, `hidden`, `extra`), so that
wrapping lines into a list changes nothing, least of all who was there. What has no place in a message is kept in
`extra`: unknown fields under their own name (with `_` after it if `extra` has that name already), parts that are
neither text nor picture under `content`, the roles `developer` and `function` (read as system and tool) under `role`.

The API wants all calls that wait together in one message, and their results right behind it, each of text alone;
`to_chat` writes a list that it takes. A message that nothing is wrong with stays the same object.

A reply is one object, or the chunks of a stream; `ChatEvents` takes any JSON object. Servers agree on little, so the
message is looked for where clients look: in the delta, else in a whole message, else in the text of the older
completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import Draft, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from previously.core.pairing import add_call_ids, mend
from previously.wire.fields import (
    read_attributes,
    read_optional_list,
    read_optional_text,
    read_role,
    read_witnesses,
    refuse,
)
from previously.wire.reply import (
    CallDelta,
    ChoiceEnded,
    ChoiceStarted,
    ModelNamed,
    ReasoningDelta,
    RefusalDelta,
    ReplyEvent,
    ReplyFailed,
    TextDelta,
    UsageReported,
)

_PLAIN = frozenset(["role", "name", "content", "witnesses", "at", "id", "hidden", "extra"])
_SPOKEN = frozenset(["refusal", "tool_calls", "tool_call_id", "function_call", "reasoning_content", "reasoning"])
_KNOWN = _PLAIN | _SPOKEN


def parse_chat_message(item: dict[str, Any]) -> Draft:
    """Parse a message object. A fault names the field and what was expected there. The draft is not yet cleaned."""
    role, given = read_role(item)
    content = item.get("content")
    if len(item) == 2 and type(content) is str and given is None and role is not Role.TOOL:
        return Draft(Message(role, (Text(content),)))  # nothing but a role and words, as nearly all are
    name = item.get("name")
    speaker = name if type(name) is str and name else read_optional_text(item, "name")
    witnesses = read_witnesses(item) if "witnesses" in item else None
    kept: dict[str, Any] = {} if given is None else {"role": given}
    parts: tuple[Part, ...]
    if type(content) is str and role is not Role.TOOL and item.keys() <= _PLAIN:
        parts = (Text(content),)
    else:
        parts = _parts(item, role, kept)
        if not item.keys() <= _KNOWN:
            kept |= {key: value for key, value in item.items() if key not in _KNOWN}
    return Draft(Message(role, parts, speaker, witnesses), read_attributes(item, kept))


def _parts(item: dict[str, Any], role: Role, kept: dict[str, Any]) -> tuple[Part, ...]:
    said = _said(item, kept)
    if role is Role.TOOL:
        text = "\n\n".join(part.text for part in said if isinstance(part, Text))
        result = ToolResult(read_optional_text(item, "tool_call_id") or "", text)
        return (result, *(part for part in said if not isinstance(part, Text)))
    if "tool_call_id" in item:
        kept["tool_call_id"] = item["tool_call_id"]
    thinking = _read_thinking(item, kept)
    calls = [_call(call) for call in read_optional_list(item, "tool_calls")]
    if item.get("function_call") is not None:
        calls.append(_call({"id": "", "function": item["function_call"]}))
    if not (said or thinking or calls):
        if "content" not in item:
            raise BadInput('"content" is missing.')
        said = [Text("")]
    return (*thinking, *said, *calls)


def _said(item: dict[str, Any], kept: dict[str, Any]) -> list[Part]:
    content = item.get("content")
    said: list[Part] = []
    if isinstance(content, str):
        if content or not item.get("tool_calls"):
            said.append(Text(content))
    elif isinstance(content, list):
        unknown = []
        for part in content:
            read = _parse_part(part)
            if read is None:
                unknown.append(part)
            else:
                said.append(read)
        if unknown:
            kept["content"] = unknown
    elif content is not None:
        refuse("content", "text, a list of parts or null", content)
    if refusal := read_optional_text(item, "refusal"):
        said.append(Text(refusal))
    return said


def _parse_part(part: object) -> Part | None:
    """Parse a content part; None for a kind that no message of ours can hold."""
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        refuse("content", "a list of part objects", part)
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            text = part.get("text")
        case "refusal":
            text = part.get("refusal")
        case "image_url" | "input_image":
            address = part.get("image_url")
            if isinstance(address, dict):
                address = address.get("url")
            return Image(address) if isinstance(address, str) else None
        case str():
            return None
        case other:
            refuse("type", "text in every content part", other)
    if not isinstance(text, str):
        refuse(str(part["type"]), "text in a content part", text)
    return Text(text)


def _read_thinking(item: dict[str, Any], kept: dict[str, Any]) -> list[Part]:
    thoughts: list[Part] = []
    for key in ("reasoning_content", "reasoning"):
        value = item.get(key)
        if isinstance(value, str):
            if value.strip() and Thinking(value) not in thoughts:
                thoughts.append(Thinking(value))
        elif value is not None:
            kept[key] = value
    return thoughts


def _call(call: object) -> Part:
    if not isinstance(call, dict):
        refuse("tool_calls", "a list of objects", call)
    function = call.get("function", call.get("custom"))
    if not isinstance(function, dict):
        refuse("function", "an object in a tool call", function)
    name = function.get("name")
    if not isinstance(name, str):
        refuse("name", "text in a tool call", name)
    arguments = function.get("arguments", function.get("input", ""))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(read_optional_text(call, "id") or "", name, arguments)


def to_openai(message: Message) -> list[dict[str, Any]]:
    """Write the message as a model API takes it: one object, or one per tool result.

    Thinking and errors are left out; a message of nothing else gives no object. A speaker's name is given as it is,
    though OpenAI itself takes only 1 to 64 letters, digits, `_` and `-`: local servers take any, and a changed name
    would be another person.
    """
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    said = [part for part in message.parts if isinstance(part, Text | Image)]
    if message.parts and not (results or calls or said):
        return []
    named: dict[str, Any] = {"name": message.speaker} if message.speaker else {}
    objects: list[dict[str, Any]] = [
        {"role": "tool", "content": result.text, **named, "tool_call_id": result.id} for result in results
    ]
    if message.role is Role.TOOL:
        if not results:
            return [{"role": "tool", "content": _content(said), **named, "tool_call_id": ""}]
        if said:
            objects[-1]["content"] = _content([Text(results[-1].text), *said])
        return objects
    if said or calls or not results:
        last = {"role": message.role.value, "content": _content(said) if said or not calls else None, **named}
        if calls:
            last["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        objects.append(last)
    return objects


def _content(said: list[Text | Image]) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, Image) for part in said):
        return "\n\n".join(part.text for part in said if isinstance(part, Text))
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image_url", "image_url": {"url": part.url}}
        for part in said
        if isinstance(part, Image) or part.text
    ]


Raw = dict[str, Any]

PICTURE = "[a picture]"
"""Stands where a tool gave a picture, which no tool can give in this API."""


def to_chat(messages: Sequence[Message]) -> list[Raw]:
    whole = add_call_ids(mend(messages).messages, once=False)
    return join_calls([raw for message in whole for raw in to_openai(message)])


def join_calls(raws: Sequence[Raw]) -> list[Raw]:
    """Return the list with calls that wait together in one message, and results of text alone."""
    joined: list[Raw] = []
    for raw in raws:
        if (
            raw.get("role") == "assistant"
            and joined
            and joined[-1].get("role") == "assistant"
            and _list_calls(joined[-1])
        ):
            joined[-1] = _join(joined[-1], raw)
        elif raw.get("role") == "tool" and isinstance(raw.get("content"), list):
            joined.append({**raw, "content": _text_of(raw["content"])})
        else:
            joined.append(raw)
    return joined


def _list_calls(raw: Raw) -> list[Any]:
    calls = raw.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _join(first: Raw, second: Raw) -> Raw:
    contents = [content for content in (first.get("content"), second.get("content")) if content]
    content: Any = contents[0] if len(contents) == 1 else None
    if len(contents) == 2:
        if isinstance(contents[0], str) and isinstance(contents[1], str):
            content = f"{contents[0]}\n\n{contents[1]}"
        else:
            content = [*_list_parts(contents[0]), *_list_parts(contents[1])]
    return {**second, **first, "content": content, "tool_calls": [*_list_calls(first), *_list_calls(second)]}


def _list_parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text_of(content: Sequence[Any]) -> str:
    texts = (part.get("text", PICTURE) if isinstance(part, dict) else part for part in content)
    return "\n\n".join(map(str, texts))


_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Servers that send two of them send the same words twice, so the first one counts."""


class ChatEvents:
    """The objects of `/v1/chat/completions` as events."""

    def is_part(self, value: dict[str, Any]) -> bool:
        return "choices" in value or "error" in value

    def finish_arguments(self, arguments: str) -> str:
        return arguments

    def parse(self, value: dict[str, Any]) -> list[ReplyEvent]:
        events: list[ReplyEvent] = []
        choices = value.get("choices")
        if type(choices) is list:
            for position, choice in enumerate(choices):
                if type(choice) is dict:
                    events += _parse_choice(choice, position)
        if error := value.get("error"):
            events.append(ReplyFailed(error))
        elif value.get("object") == "error":
            events.append(ReplyFailed(value))
        elif choices is None and (detail := value.get("detail")):
            events.append(ReplyFailed(detail))
        if type(usage := value.get("usage")) is dict:
            events.append(UsageReported(usage))
        if type(model := value.get("model")) is str:
            events.append(ModelNamed(model))
        return events


def _parse_choice(choice: dict[str, Any], position: int) -> list[ReplyEvent]:
    index = choice.get("index")
    index = index if type(index) is int and index >= 0 else position
    delta = choice.get("delta")
    events = _parse_message(index, delta) if type(delta) is dict else []
    if not events:
        if type(message := choice.get("message")) is dict:
            events = _parse_message(index, message)
        elif type(text := choice.get("text")) is str:
            events.append(TextDelta(index, text))
    if not events:
        events.append(ChoiceStarted(index))
    if type(reason := choice.get("finish_reason")) is str and reason:
        events.append(ChoiceEnded(index, reason))
    if error := choice.get("error"):
        events.append(ReplyFailed(error))
    return events


def _parse_message(index: int, fields: dict[str, Any]) -> list[ReplyEvent]:
    """Parse a delta or a message; nothing where it says nothing."""
    events: list[ReplyEvent] = []
    content = fields.get("content")
    thinking = ""
    if type(content) is str:
        events.append(TextDelta(index, content))
    elif content is not None and (read := read_content(content)):
        text, thinking = read
        events.append(TextDelta(index, text))
    beside = (thought for name in _REASONING_FIELDS if type(thought := fields.get(name)) is str and thought)
    if reasoning := "\n".join(part for part in (next(beside, ""), thinking) if part):
        events.append(ReasoningDelta(index, reasoning))
    if type(refusal := fields.get("refusal")) is str and refusal:
        events.append(RefusalDelta(index, refusal))
    if type(calls := fields.get("tool_calls")) is list:
        events += [_parse_call(index, call, call.get("function")) for call in calls if type(call) is dict]
    if type(call := fields.get("function_call")) is dict and call:  # the older name, one call at most
        events.append(_parse_call(index, {"index": 0}, call))
    return events


def _parse_call(index: int, call: dict[str, Any], function: object) -> CallDelta:
    slot, call_id = call.get("index"), call.get("id")
    fields = function if type(function) is dict else {}
    name, arguments = fields.get("name"), fields.get("arguments")
    if type(arguments) is dict:  # they should be the text of an object
        arguments = _dump(arguments)
    return CallDelta(
        index,
        slot if type(slot) is int else None,
        call_id if type(call_id) is str else "",
        name if type(name) is str else "",
        arguments if type(arguments) is str else "",
    )


def _dump(arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def read_content(content: object, depth: int = 0) -> tuple[str, str] | None:
    """Return the text of a message, and the thinking among its parts; None when it is neither text nor parts."""
    match content:
        case None:
            return "", ""
        case str() as text:
            return text, ""
        case list() as parts if depth < 3:  # no server nests its parts deeper than twice
            texts: list[str] = []
            thinking: list[str] = []
            for part in parts:
                match part:
                    case str() as text:
                        texts.append(text)
                    case {"type": "thinking" | "reasoning", **fields}:
                        inner = read_content(fields.get("thinking") or fields.get("text"), depth + 1)
                        thinking.append("".join(inner) if inner else "")
                    case {"text": str() as text}:
                        texts.append(text)
                    case _:
                        pass
            return "".join(texts), "".join(thinking)
        case _:
            return None


def write_completion(text: str, model: str, *, created: int) -> dict[str, Any]:
    return {
        "id": "previously",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def write_chunks(text: str, model: str, *, created: int) -> Iterator[bytes]:
    head = {"id": "previously", "object": "chat.completion.chunk", "created": created, "model": model}
    for delta, finish in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
    yield b"data: [DONE]\n\n"
