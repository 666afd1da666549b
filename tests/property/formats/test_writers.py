"""Whatever the messages are, what is written of them is taken: by a judge as strict as the real API."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given

from previously.core.messages import (
    FAILED,
    Attributes,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from previously.core.pairing import INTERRUPTED
from previously.formats import claude_code, to_anthropic, to_claude_code
from previously.formats.files import Document, StorySource
from previously.wire.anthropic import parse_anthropic_message
from previously.wire.anthropic_request import BEGINNING
from tests.unit.formats.agent_messages import CONVERSATIONS, sound_conversations
from tests.unit.formats.strict_anthropic import refusals

AT = "2026-01-01T00:00:00Z"


def lines_of(messages: list[Message], **more: Any) -> list[str]:
    return to_claude_code(messages, session_id="s", at=AT, **more)


def read(lines: list[str]) -> StorySource:
    return claude_code.read(Document("file", BytesIO("\n".join(lines).encode())))


def parts_of(messages: list[Message]) -> list[Part]:
    return [part for message in messages for part in message.parts]


@given(CONVERSATIONS)
def test_any_messages_are_taken(messages: list[Message]) -> None:
    body = to_anthropic(messages)
    assert refusals(body) in ([], ["no message"])
    assert to_anthropic(messages) == body


@given(sound_conversations())
def test_a_sound_conversation_keeps_its_parts(messages: list[Message]) -> None:
    drafts = [parse_anthropic_message(item) for item in to_anthropic(messages)["messages"]]
    assert parts_of([draft.message for draft in drafts]) == parts_of(messages)
    assert [draft.message for draft in drafts] == messages


@given(sound_conversations())
def test_a_transcript_for_claude_code_reads_as_it_was_written(messages: list[Message]) -> None:
    lines = lines_of(messages)
    assert lines == lines_of(messages)
    source = read(lines)
    assert [draft.message for draft in source.drafts] == messages
    assert (source.branches, source.others, source.skipped) == ((), (), {})


@given(CONVERSATIONS)
def test_any_messages_make_a_transcript_that_is_taken(messages: list[Message]) -> None:
    written = [json.loads(line) for line in lines_of(messages)]
    said = [one["message"] for one in written if "isMeta" not in one]
    body = {"messages": [{"role": one["role"], "content": one["content"]} for one in said]}
    assert refusals(body) in ([], ["no message"])
    chain = [one["uuid"] for one in written]
    assert [one["parentUuid"] for one in written] == [None, *chain][: len(chain)]


CALL = ToolCall("c", "run", "{}")
HI = Message(Role.USER, (Text("Hi."),))


@pytest.mark.parametrize(
    ("messages", "written"),
    [
        (
            [Message(Role.SYSTEM, (Text("A."),)), Message(Role.SYSTEM, (Text("B."),)), HI],
            {"system": "A.\n\nB.", "messages": [{"role": "user", "content": "Hi."}]},
        ),
        (
            [HI, Message(Role.SYSTEM, (Text("Now kind."),))],
            {"messages": [{"role": "user", "content": [
                {"type": "text", "text": "Hi."}, {"type": "text", "text": "<system>\nNow kind.\n</system>"},
            ]}]},
        ),
        (
            [Message(Role.ASSISTANT, (Text("Hello."),))],
            {"messages": [{"role": "user", "content": BEGINNING},
                          {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}]},
        ),
        (
            [HI, Message(Role.ASSISTANT, (Thinking("Hm."), Text(" "), CALL))],
            {"messages": [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "run", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": INTERRUPTED, "is_error": True}]},
            ]},
        ),
        (
            # Calls as separate items, results as separate messages, then the user: one answer each.
            [HI, Message(Role.ASSISTANT, (CALL,)),
             Message(Role.ASSISTANT, (ToolCall("c.2", "run it", "no JSON"),)),
             Message(Role.TOOL, (ToolResult("c", "", FAILED),)),
             Message(Role.TOOL, (ToolResult("c.2", "ok"), Image("https://example.org/a.png"))),
             Message(Role.USER, (Text("And?"),))],
            {"messages": [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c", "name": "run", "input": {}},
                    {"type": "tool_use", "id": "c_2", "name": "run_it", "input": {"input": "no JSON"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c", "is_error": True},
                    {"type": "tool_result", "tool_use_id": "c_2", "content": "ok"},
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                    {"type": "text", "text": "And?"},
                ]},
            ]},
        ),
        (
            # An id that is used again is another one.
            [HI, Message(Role.ASSISTANT, (CALL,)), Message(Role.TOOL, (ToolResult("c", "1"),)),
             Message(Role.ASSISTANT, (CALL,)), Message(Role.TOOL, (ToolResult("c", "2"),))],
            {"messages": [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "run", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "1"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c_2", "name": "run", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c_2", "content": "2"}]},
            ]},
        ),
    ],
)  # fmt: skip
def test_what_is_written(messages: list[Message], written: dict[str, Any]) -> None:
    assert to_anthropic(messages) == written
    assert refusals(written) == []


def test_with_its_attributes_a_request_comes_back_as_it_was() -> None:
    body: dict[str, Any] = {
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Hi."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "xx"},
                    {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "x"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Glass."}]},
                    {"type": "text", "text": "And?", "cache_control": {"type": "ephemeral"}},
                ],
            },
        ],
    }
    drafts = [parse_anthropic_message({"role": "system", "content": body["system"]})]
    drafts += [parse_anthropic_message(item) for item in body["messages"]]
    again = to_anthropic([draft.message for draft in drafts], [draft.attributes for draft in drafts])
    assert again == body
    assert refusals(again) == []
    bare = to_anthropic([draft.message for draft in drafts])
    assert [block["type"] for block in bare["messages"][1]["content"]] == ["tool_use"]


def test_thinking_is_never_last_and_damaged_blocks_are_not_sent() -> None:
    said = parse_anthropic_message(
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Yes."},
                {"type": "tool_use", "id": "t"},
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            ],
        }
    )
    orphan = parse_anthropic_message(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 3}]}
    )
    messages, attributes = [said.message, orphan.message], [said.attributes, orphan.attributes]
    body = to_anthropic(messages, attributes)
    assert body["messages"][1] == {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    assert refusals(body) == []


def test_a_transcript_keeps_signatures_times_and_what_the_session_says() -> None:
    item = {"role": "assistant", "model": "m", "usage": {"output_tokens": 7}, "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"}, {"type": "text", "text": "Yes."},
    ]}  # fmt: skip
    said = parse_anthropic_message(item)
    messages = [Message(Role.SYSTEM, (Text("Rules."),)), Message(Role.USER, (Text("Hi."),)), said.message]
    known = [Attributes(), Attributes(at="2025-05-05T05:05:05Z"), said.attributes]
    lines = [json.loads(line) for line in lines_of(messages, attributes=known, header={"cwd": "/work", "x": 1})]
    assert [line["message"]["content"] for line in lines] == ["Rules.", "Hi.", item["content"]]
    assert [line.get("isMeta") for line in lines] == [True, None, None]
    assert [line["timestamp"] for line in lines] == [AT, "2025-05-05T05:05:05Z", AT]
    assert lines[2]["message"]["model"] == "m"
    assert lines[2]["message"]["usage"] == {"output_tokens": 7}
    assert all(line["cwd"] == "/work" and "x" not in line for line in lines)
