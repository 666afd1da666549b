"""The items of OpenAI's Responses API as messages, and back.

What parts cannot tell of an item is its *rest*, kept in `extra["responses"]`. An item of a kind that no part stands for
(a search on the server's side, a reference) is all rest: a message without words. `write_item(parse_item(item))` is
`item` again; long text is in the parts alone; what was changed in a part since is written as it is now.

There are several kinds of calls, and the API refuses an output of another kind than its call's. `OutputKinds` leaves an
output of the right kind and shape as it is; one that was made or shortened says the same in the shape of its kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import parse_json
from previously.core.messages import (
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
from previously.core.pairing import INTERRUPTED, mend
from previously.wire.fields import drop_fields, read_role, refuse

Item = dict[str, Any]

CALLS: Mapping[str, tuple[str | None, str]] = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "local_shell_call": (None, "action"),
    "shell_call": (None, "action"),
    "apply_patch_call": (None, "operation"),
    "computer_call": (None, "action"),
}
"""Calls that the client answers: the field of the name, and that of the arguments. One without a name is named like its
kind, and its arguments are an object."""
OUTPUTS = frozenset(f"{call}_output" for call in CALLS)

NO_SCREENSHOT = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""The smallest picture there is: a computer's output is a picture, even where none was taken or it was left out."""


class OutputKinds:
    """The calls of a list as far as it has been written, each of which wants an output of its own kind."""

    def __init__(self) -> None:
        self._calls: dict[str, Item] = {}

    def note(self, item: Item) -> None:
        """Take the next item, which stays as it is."""
        if item.get("type") in CALLS:
            self._calls[_read_id(item)] = item

    def fit(self, item: Item) -> Item:
        """Take the next item, and return it; an output in the kind and the shape that its call wants."""
        self.note(item)
        call = self._calls.get(_read_id(item)) if item.get("type") in OUTPUTS else None
        if call is None:
            return item
        kind = f"{call['type']}_output"
        if item["type"] != kind:
            named = "call_id" if isinstance(call.get("call_id"), str) else "id"
            item = {"type": kind, named: _read_id(item), "output": item.get("output")}
        return _in_shape(kind, item)


def find_call_ids(items: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Return the shared id for each output that names its call by the call's own id, by place."""
    shared: dict[str, str] = {}
    call_ids: dict[int, str] = {}
    for at, item in enumerate(items):
        own, call_id = item.get("id"), item.get("call_id")
        if item.get("type") in CALLS and isinstance(own, str) and isinstance(call_id, str):
            shared[own] = call_id
        elif item.get("type") in OUTPUTS and call_id is None and isinstance(own, str) and own in shared:
            call_ids[at] = shared[own]
    return call_ids


def _read_id(item: Item) -> str:
    return str(item.get("call_id") or item.get("id"))


def _in_shape(kind: str, item: Item) -> Item:
    output = item.get("output")
    match kind:
        case "shell_call_output" if not _is_of_a_shell(output):
            failed = _text(output) == INTERRUPTED
            outcome = {"type": "exit", "exit_code": 1 if failed else 0}
            return item | {"output": [{"stdout": _text(output), "stderr": "", "outcome": outcome}]}
        case "apply_patch_call_output":
            status = "failed" if _text(output) == INTERRUPTED else item.get("status", "completed")
            return item | ({"output": _text(output)} if output is not None else {}) | {"status": status}
        case "local_shell_call_output":
            return item | {"output": _text(output)}
        case "computer_call_output" if not is_screenshot(output):
            return item | {"output": {"type": "computer_screenshot", "image_url": _find_picture(output)}}
    return item


def is_screenshot(output: object) -> bool:
    """Return whether an output is what a computer's call gave."""
    return isinstance(output, dict) and output.get("type") == "computer_screenshot"


def read_shell_text(output: object) -> str | None:
    """Return what the commands of a shell's call gave, as one text; None if it is no output of such a call."""
    if not isinstance(output, list) or not _is_of_a_shell(output):
        return None
    texts = (part[stream] for part in output for stream in ("stdout", "stderr"))
    return "\n".join(text for text in texts if text)


def shorten_shell(output: list[Item], text: str) -> list[Item]:
    """Return the output of a shell's call with another text in place of what it gave."""
    return [{**output[-1], "stdout": text, "stderr": ""}]


def _is_of_a_shell(output: object) -> bool:
    return (
        isinstance(output, list)
        and bool(output)
        and all(
            isinstance(part, dict) and isinstance(part.get("stdout"), str) and isinstance(part.get("stderr"), str)
            for part in output
        )
    )


def _text(output: object) -> str:
    if isinstance(output, list):
        return "\n\n".join(str(part.get("text", "[a picture]")) for part in output if isinstance(part, dict))
    return output if isinstance(output, str) else ""


def _find_picture(output: object) -> str:
    parts = [part for part in output if isinstance(part, dict)] if isinstance(output, list) else []
    return next((part["image_url"] for part in parts if isinstance(part.get("image_url"), str)), NO_SCREENSHOT)


KEY = "responses"

_TEXTS = frozenset(["input_text", "output_text", "text", "summary_text", "reasoning_text"])


def parse_item(item: Item) -> Draft:
    """Parse an item. A fault names the field and what was expected there. The draft is not yet cleaned."""
    type_ = item.get("type")
    if type_ is not None and not isinstance(type_, str):
        refuse("type", "text", type_)
    if type_ in (None, "message"):
        role, _ = read_role(item)
        parts, rest = _read_content(item, "content")
    elif type_ == "reasoning":
        role, (parts, rest) = Role.ASSISTANT, _read_reasoning(item)
    elif type_ in CALLS:
        role, (parts, rest) = Role.ASSISTANT, _read_call(item, *CALLS[type_])
    elif type_ in OUTPUTS:
        role, (parts, rest) = Role.TOOL, _read_output(item)
    else:
        role, parts, rest = Role.ASSISTANT, [], item
    message = Message(role, tuple(parts) or (Text(""),))
    if type_ != "message" and write_item(message) == item:  # without a rest, a message is written without its type
        return Draft(message)
    source_id = item.get("id")
    return Draft(message, Attributes(source_id=source_id if isinstance(source_id, str) else None, extra={KEY: rest}))


def write_item(message: Message, attributes: Attributes = NO_ATTRIBUTES) -> Item:
    """Write a message of one item's parts as that item; see `write_items` for any message."""
    kept = attributes.extra.get(KEY)
    rest: Item = kept if isinstance(kept, dict) else {}
    parts = message.parts
    match parts[0] if parts else None:
        case ToolCall() as call:
            return _write_call(call, rest)
        case ToolResult() as result:
            return _write_output(result, parts[1:], rest)
        case Thinking():
            return _write_reasoning(parts, rest)
    if rest and rest.get("type") not in (None, "message"):
        return rest
    given = {"role": message.role.value} | rest
    return given | {"content": _write_content(parts, rest.get("content"))}


def _read_content(item: Item, field: str) -> tuple[list[Part], Item]:
    """Return the parts of text or of a list of content parts, and the rest, where a place stands for a part."""
    content = item.get(field)
    rest = drop_fields(item, field)
    if isinstance(content, str):
        return [Text(content)], rest
    if not isinstance(content, list):
        refuse(field, "text or a list of parts", content)
    parts: list[Part] = []
    inside: list[Any] = []
    for given in content:
        if not isinstance(given, dict):
            refuse(field, "a list of part objects", given)
        part = _read_part(given)
        if part is None:
            inside.append([None, given])
            continue
        inside.append([len(parts), drop_fields(given, *_PART_FIELDS)])
        parts.append(part)
    return parts, rest | {field: inside}


def _read_part(given: Item) -> Part | None:
    """Return what a content part says; None for one that is all rest."""
    type_, text = given.get("type"), given.get("text")
    if type(type_) is str and type_ in _TEXTS and type(text) is str:  # nearly all are, and `match` takes thrice as long
        return Text(text)
    match given:
        case {"type": "refusal", "refusal": str(refusal)}:
            return Text(refusal)
        case {"type": "input_image", "image_url": str(url)}:
            return Image(url)
    return None


_PART_FIELDS = ("text", "refusal", "image_url")
"""The fields of a content part that hold what a part of ours holds."""


def _write_content(parts: tuple[Part, ...], inside: Any) -> str | list[Item]:
    said = [part for part in parts if isinstance(part, Text | Image)]
    if not isinstance(inside, list):
        if all(isinstance(part, Text) for part in said):
            return "\n\n".join(part.text for part in said if isinstance(part, Text))
        inside = [
            [at, {"type": "input_text" if isinstance(part, Text) else "input_image"}] for at, part in enumerate(said)
        ]
    content: list[Item] = []
    for at, rest in inside:
        if at is None:
            content.append(rest)
            continue
        part = said[at] if at < len(said) else Text("")
        if isinstance(part, Image):
            content.append(rest | {"image_url": part.url})
        else:
            content.append(rest | {"refusal" if rest["type"] == "refusal" else "text": part.text})
    return content


def _read_reasoning(item: Item) -> tuple[list[Part], Item]:
    rest = dict(item)
    parts: list[Part] = []
    for field in ("summary", "content"):
        if isinstance(item.get(field), list):
            texts, inside = _read_content({field: item[field]}, field)
            rest[field] = [[None if at is None else at + len(parts), its_rest] for at, its_rest in inside[field]]
            parts += [Thinking(part.text) for part in texts if isinstance(part, Text)]
    return parts or [Thinking("")], rest


def _write_reasoning(parts: tuple[Part, ...], rest: Item) -> Item:
    said = tuple(Text(part.text) for part in parts if isinstance(part, Thinking))
    item: Item = {"type": "reasoning"} | rest
    if not rest:
        return item | {"summary": [{"type": "summary_text", "text": part.text} for part in said]}
    for field in ("summary", "content"):
        if isinstance(rest.get(field), list):
            item[field] = _write_content(said, rest[field])
    return item


def _read_call_id(item: Item, rest: Item) -> str:
    """Return the id that a call and its output share; older kinds have only their own."""
    call_id = item.get("call_id")
    if isinstance(call_id, str):
        return call_id
    rest["call_id"] = None
    return item["id"] if isinstance(item.get("id"), str) else ""


def _with_id(call_id: str, rest: Item) -> Item:
    return {"call_id": call_id} if rest.get("call_id", call_id) is not None else {}


def _read_call(item: Item, name_field: str | None, field: str) -> tuple[list[Part], Item]:
    name = item.get(name_field) if name_field else str(item["type"]).removesuffix("_call")
    if not isinstance(name, str):
        refuse("name", "text in a call", name)
    field = "actions" if item["type"] == "computer_call" and "actions" in item and field not in item else field
    given = item.get(field, "")
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    rest = {key: value for key, value in item.items() if key not in ("call_id", name_field, field)}
    return [ToolCall(_read_call_id(item, rest), name, arguments)], rest


def _write_call(call: ToolCall, rest: Item) -> Item:
    type_ = rest.get("type", "function_call")
    name_field, field = CALLS.get(type_, ("name", "arguments"))
    item = {"type": type_} | drop_fields(rest, "call_id") | _with_id(call.id, rest)
    if name_field:
        return item | {name_field: call.name, field: call.arguments}
    with suppress(BadInput):
        given = parse_json(call.arguments, "text")
        return item | {"actions" if type_ == "computer_call" and isinstance(given, list) else field: given}
    return item | {field: call.arguments}


def _read_output(item: Item) -> tuple[list[Part], Item]:
    output = item.get("output")
    rest = drop_fields(item, "call_id", "output")
    call_id = _read_call_id(item, rest)
    pictures: list[Part] = []
    if isinstance(output, str):
        text = output
    elif (shell_text := read_shell_text(output)) is not None:
        text = shell_text
        rest["output"] = {"shell": output}
    elif isinstance(output, dict) and is_screenshot(output):
        text = ""
        pictures = [Image(output["image_url"])] if isinstance(output.get("image_url"), str) else []
        rest["output"] = {"screenshot": drop_fields(output, "image_url") if pictures else output}
    elif isinstance(output, list) and all(isinstance(part, dict) for part in output):
        parts, inside = _read_content({"output": output}, "output")
        pictures = [part for part in parts if isinstance(part, Image)]
        texts = [part.text for part in parts if isinstance(part, Text)]
        text = "\n\n".join(texts)
        rest["output"] = [inside["output"], [len(part_text) for part_text in texts]]
    else:
        text = "" if output is None else json.dumps(output, ensure_ascii=False)
        rest["output"] = {"value": output}
    return [ToolResult(call_id, text), *pictures], rest


def _write_output(result: ToolResult, pictures: tuple[Part, ...], rest: Item) -> Item:
    item = {"type": "function_call_output"} | drop_fields(rest, "call_id", "output") | _with_id(result.id, rest)
    match rest.get("output"):
        case [list(inside), list(lengths)] if sum(lengths) + 2 * max(len(lengths) - 1, 0) == len(result.text):
            texts, start = [], 0
            for length in lengths:
                texts.append(Text(result.text[start : start + length]))
                start += length + 2
            said, shown = iter(texts), iter(pictures)
            parts = tuple(
                next(shown) if its_rest["type"] == "input_image" else next(said)
                for at, its_rest in inside
                if at is not None
            )
            return item | {"output": _write_content(parts, inside)}
        case {"value": value} if result.text in ("", json.dumps(value, ensure_ascii=False)):
            return item | {"output": value}
        case {"shell": list(given)}:
            same = result.text == read_shell_text(given)
            return item | {"output": given if same else shorten_shell(given, result.text)}
        case {"screenshot": dict(given)} if not result.text:
            urls = [part.url for part in pictures if isinstance(part, Image)]
            return item | {"output": given | ({"image_url": urls[0]} if urls else {})}
    if not pictures:
        return item | {"output": result.text}
    return item | {"output": _write_content((Text(result.text), *pictures), None)}


def write_items(message: Message) -> list[Item]:
    """Write any message as items, without reasoning: the server would not know it again."""
    of_tool = message.role is Role.TOOL
    pictures = tuple(part for part in message.parts if isinstance(part, Image)) if of_tool else ()
    said = tuple(part for part in message.parts if isinstance(part, Text | Image) and part not in pictures)
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    items = [_write_output(result, (), {}) for result in results[:-1]]
    items += [_write_output(result, pictures, {}) for result in results[-1:]]
    if any(isinstance(part, Image) or part.text.strip() for part in said):
        role = Role.USER if of_tool else message.role
        items.append({"role": role.value, "content": _write_content(said, None)})
    return items + [_write_call(part, {}) for part in message.parts if isinstance(part, ToolCall)]


def to_responses(messages: Sequence[Message], attributes: Sequence[Attributes] | None = None) -> list[Item]:
    """Write the messages as the input of a request. Every call has its output; thinking goes only as it came."""
    paired = mend(messages)
    items: list[Item] = []
    kinds = OutputKinds()
    for message, origin in zip(paired.messages, paired.origin, strict=True):
        whole = origin is not None and messages[origin] is message and attributes is not None
        known = attributes[origin] if whole and attributes is not None and origin is not None else NO_ATTRIBUTES
        if KEY in known.extra:
            items.append(kinds.fit(write_item(message, known)))
        else:
            items += [kinds.fit(item) for item in write_items(message)]
    return items
