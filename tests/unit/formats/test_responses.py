"""Items of OpenAI's Responses API: each one message, and back."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given

from previously.core.errors import BadInput
from previously.core.messages import Attributes, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from previously.formats.files import Document, StorySource
from previously.formats.request_files import RESPONSES
from previously.wire.responses import parse_item, to_responses, write_item
from tests.unit.formats.agent_messages import CONVERSATIONS, sound_conversations


def read(value: object) -> StorySource:
    return RESPONSES.read(Document("file", BytesIO(json.dumps(value).encode())))


CASES: list[tuple[dict[str, Any], Role, tuple[Part, ...]]] = [
    ({"role": "user", "content": "Hi."}, Role.USER, (Text("Hi."),)),
    ({"type": "message", "role": "developer", "content": "Rules."}, Role.SYSTEM, (Text("Rules."),)),
    (
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "See:"},
            {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
            {"type": "input_file", "file_id": "f"},
        ]},
        Role.USER, (Text("See:"), Image("https://example.org/a.png")),
    ),
    (
        {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "Yes.", "annotations": []}, {"type": "refusal", "refusal": "No."},
        ]},
        Role.ASSISTANT, (Text("Yes."), Text("No.")),
    ),
    (
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "e"},
        Role.ASSISTANT, (Thinking("Hm"),),
    ),
    (
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}],
         "content": [{"type": "reasoning_text", "text": "b"}], "encrypted_content": None},
        Role.ASSISTANT, (Thinking("a"), Thinking("b")),
    ),
    ({"type": "reasoning", "summary": [], "encrypted_content": "e"}, Role.ASSISTANT, (Thinking(""),)),
    (
        {"type": "function_call", "name": "run", "arguments": '{"a":1}', "call_id": "c1"},
        Role.ASSISTANT, (ToolCall("c1", "run", '{"a":1}'),),
    ),
    (
        {"type": "function_call", "id": "fc", "status": "completed", "name": "run", "arguments": "", "call_id": "c1"},
        Role.ASSISTANT, (ToolCall("c1", "run", ""),),
    ),
    ({"type": "function_call_output", "call_id": "c1", "output": "ok"}, Role.TOOL, (ToolResult("c1", "ok"),)),
    (
        {"type": "function_call_output", "call_id": "c1", "output": [
            {"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"},
            {"type": "input_text", "text": "two"},
        ]},
        Role.TOOL, (ToolResult("c1", "one\n\ntwo"), Image("data:image/png;base64,AA")),
    ),
    (
        {"type": "function_call_output", "call_id": "c1", "output": {"content": "x", "success": True}},
        Role.TOOL, (ToolResult("c1", '{"content": "x", "success": true}'),),
    ),
    (
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin", "status": "done"},
        Role.ASSISTANT, (ToolCall("c2", "apply_patch", "*** Begin"),),
    ),
    ({"type": "custom_tool_call_output", "call_id": "c2", "output": "done"}, Role.TOOL, (ToolResult("c2", "done"),)),
    (
        {"type": "local_shell_call", "id": "s1", "call_id": "c3", "status": "completed",
         "action": {"type": "exec", "command": ["ls", "-a"]}},
        Role.ASSISTANT, (ToolCall("c3", "local_shell", '{"type": "exec", "command": ["ls", "-a"]}'),),
    ),
    (
        {"type": "local_shell_call_output", "id": "s1", "output": "a\nb"},
        Role.TOOL, (ToolResult("s1", "a\nb"),),
    ),
    (
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "q"}},
        Role.ASSISTANT, (Text(""),),
    ),
    ({"type": "item_reference", "id": "m1"}, Role.ASSISTANT, (Text(""),)),
    ({"type": "compaction", "encrypted_content": "e"}, Role.ASSISTANT, (Text(""),)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "role", "parts"), CASES)
def test_an_item_is_read_and_written_again(item: dict[str, Any], role: Role, parts: tuple[Part, ...]) -> None:
    draft = parse_item(item)
    assert draft.message == Message(role, parts)
    extra = json.loads(json.dumps(draft.attributes.extra))
    assert write_item(draft.message, Attributes(extra=extra)) == item


def test_a_cut_output_is_written_as_it_is_now() -> None:
    draft = parse_item(
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "long"}]}
    )
    cut = Message(Role.TOOL, (ToolResult("c", "[cut]"),))
    assert write_item(cut, draft.attributes) == {"type": "function_call_output", "call_id": "c", "output": "[cut]"}


def test_bodies() -> None:
    source = read({"model": "m", "instructions": "Be brief.", "input": "Hi."})
    assert [(draft.message.role, draft.message.text) for draft in source.drafts] == [
        (Role.SYSTEM, "Be brief."),
        (Role.USER, "Hi."),
    ]
    assert source.header == {"model": "m"}
    answer = read(
        {"object": "response", "id": "r", "output": [{"type": "message", "role": "assistant", "content": []}]}
    )
    assert [draft.message.role for draft in answer.drafts] == [Role.ASSISTANT]
    assert answer.header == {"object": "response", "id": "r"}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("x", "file: the file must hold a list of items, not text."),
        ([3], "file, item 1 of 1: an item must be an object, not a number."),
        ([{"type": 3}], 'file, item 1 of 1: "type" must be text, not a number.'),
        ([{"type": "message", "content": ""}], 'file, item 1 of 1: "role" is missing.'),
        ([{"type": "function_call"}], 'file, item 1 of 1: "name" must be text in a call, not null.'),
    ],
)
def test_faults(value: object, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(value)
    assert str(caught.value) == sentence


@given(CONVERSATIONS)
def test_whatever_is_written_can_be_read_and_every_call_has_one_output(messages: list[Message]) -> None:
    items = to_responses(messages)
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(outputs)
    for item in items:
        parse_item(item)


@given(sound_conversations())
def test_a_sound_conversation_keeps_its_parts(messages: list[Message]) -> None:
    drafts = [parse_item(item) for item in to_responses(messages)]
    kept = [part for draft in drafts for part in draft.message.parts]
    # This API has no word for a failure: the text alone says it.
    said = [ToolResult(p.id, p.text) if isinstance(p, ToolResult) else p for m in messages for p in m.parts]
    assert kept == said
