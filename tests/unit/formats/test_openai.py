"""OpenAI's message lists, in and out."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.messages import Draft, Error, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from previously.formats.files import Document, StorySource
from previously.formats.request_files import OPENAI
from previously.wire.chat import parse_chat_message, to_openai


def read_text(text: str) -> StorySource:
    return OPENAI.read(Document("chat.json", BytesIO(text.encode())))


def function(name: str, arguments: object, id: str = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("item", "role", "parts"),
    [
        ({"role": "system", "content": "Be brief."}, Role.SYSTEM, (Text("Be brief."),)),
        ({"role": "developer", "content": "Be brief."}, Role.SYSTEM, (Text("Be brief."),)),
        ({"role": "user", "content": ""}, Role.USER, (Text(""),)),
        ({"role": "assistant", "content": None}, Role.ASSISTANT, (Text(""),)),
        ({"role": "assistant", "content": []}, Role.ASSISTANT, (Text(""),)),
        ({"role": "user", "content": ["a", {"type": "text", "text": "b"}]}, Role.USER, (Text("a"), Text("b"))),
        ({"role": "user", "content": [{"type": "input_text", "text": "b"}]}, Role.USER, (Text("b"),)),
        ({"role": "assistant", "content": [{"type": "output_text", "text": "b"}]}, Role.ASSISTANT, (Text("b"),)),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, Role.ASSISTANT, (Text("No."),)),
        ({"role": "assistant", "content": None, "refusal": "No."}, Role.ASSISTANT, (Text("No."),)),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}]},
            Role.USER,
            (Image("http://x/y.png"),),
        ),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "d:"}]}, Role.USER, (Image("d:"),)),
        (
            {"role": "assistant", "content": None, "tool_calls": [function("look", '{"at": "lamp"}')]},
            Role.ASSISTANT,
            (ToolCall("c1", "look", '{"at": "lamp"}'),),
        ),
        (
            {"role": "assistant", "content": "", "tool_calls": [function("look", {"at": "Lämp"})]},
            Role.ASSISTANT,
            (ToolCall("c1", "look", '{"at": "Lämp"}'),),
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "i"}}]},
            Role.ASSISTANT,
            (ToolCall("c", "f", "i"),),
        ),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            Role.ASSISTANT,
            (ToolCall("", "f", "{}"),),
        ),
        (
            {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", "tool_calls": None},
            Role.ASSISTANT,
            (Thinking("Hm."), Text("Yes.")),
        ),
        ({"role": "assistant", "content": "Yes.", "reasoning": " "}, Role.ASSISTANT, (Text("Yes."),)),
        (
            {"role": "assistant", "content": "Yes.", "reasoning": "Hm.", "reasoning_content": "Hm."},
            Role.ASSISTANT,
            (Thinking("Hm."), Text("Yes.")),
        ),
        ({"role": "tool", "tool_call_id": "c1", "content": "42"}, Role.TOOL, (ToolResult("c1", "42"),)),
        ({"role": "tool", "tool_call_id": "c1", "content": None}, Role.TOOL, (ToolResult("c1", ""),)),
        (
            {"role": "tool", "tool_call_id": "c1", "content": ["a", "b", {"type": "image_url", "image_url": "d:"}]},
            Role.TOOL,
            (ToolResult("c1", "a\n\nb"), Image("d:")),
        ),
        ({"role": "function", "name": "f", "content": "42"}, Role.TOOL, (ToolResult("", "42"),)),
    ],
)
def test_messages(item: dict[str, Any], role: Role, parts: tuple[Part, ...]) -> None:
    message = parse_chat_message(item).message
    assert (message.role, message.parts) == (role, parts)


@pytest.mark.parametrize(
    ("item", "extra"),
    [
        ({"role": "developer", "content": "x"}, {"role": "developer"}),
        ({"role": "function", "content": "x"}, {"role": "function"}),
        ({"role": "user", "content": "x", "weight": 0, "audio": {"id": "a"}}, {"weight": 0, "audio": {"id": "a"}}),
        (
            {"role": "user", "content": ["x", {"type": "input_audio", "input_audio": {"data": "…"}}]},
            {"content": [{"type": "input_audio", "input_audio": {"data": "…"}}]},
        ),
        ({"role": "assistant", "content": "x", "reasoning": {"effort": 1}}, {"reasoning": {"effort": 1}}),
        ({"role": "user", "content": "x", "tool_call_id": "c"}, {"tool_call_id": "c"}),
        ({"role": "user", "content": "x", "extra": {"a": 1}, "a": 2}, {"a": 1, "a_": 2}),
    ],
)
def test_nothing_is_lost(item: dict[str, Any], extra: dict[str, Any]) -> None:
    assert parse_chat_message(item).attributes.extra == extra


def test_our_own_fields_hold_in_a_list_too() -> None:
    draft = parse_chat_message({"role": "user", "content": "psst", "witnesses": ["Maya"], "id": 3, "hidden": True})
    assert draft.message.witnesses == ("Maya",)
    assert (draft.attributes.source_id, draft.attributes.hidden) == ("3", True)


def test_a_list_and_a_request_body() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "name": "Ada", "content": "u"}]
    expected = [Draft(Message(Role.SYSTEM, (Text("s"),))), Draft(Message(Role.USER, (Text("u"),), "Ada"))]
    assert read_text(json.dumps(messages, indent=2)) == StorySource(expected, "openai", {}, 0)
    body = {"model": "m\ud800", "messages": messages, "stream": True}
    assert read_text(json.dumps(body)) == StorySource(expected, "openai", {"model": "m\ufffd", "stream": True}, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3", ": the file must hold a list of messages, not a number."),
        ('{"model": "m"}', ': "messages" is missing.'),
        ('{"messages": {}}', ': "messages" must be a list, not an object.'),
        ('{"messages": [], "x": ' + "[" * 300 + "]" * 300 + "}", ": a value is nested more than 200 levels deep."),
        ("[" * 100_000, ": the JSON is nested too deeply."),
        ('[\n  {"role": "user"', ", line 2: the file is cut off (not valid JSON)."),
        ('[\n  {"role": "user",\n', ", line 2: the file is cut off (not valid JSON)."),
        ('[\n  {"role" "user"}]', ", line 2: the file is not valid JSON at column 11: expecting ':' delimiter."),
        (
            '{"messages": []}\n{"messages": []}\n',
            ", line 2: a second JSON value begins here; a file holds one conversation, so split it first.",
        ),
        ('[{"role": "user", "content": "x"}, 7]', ", message 2 of 2: a message must be an object, not a number."),
        ('[{"role": "user", "content": {}}]',
         ', message 1 of 1: "content" must be text, a list of parts or null, not an object.'),
        ('[{"role": "user", "content": [3]}]',
         ', message 1 of 1: "content" must be a list of part objects, not a number.'),
        ('[{"role": "user", "content": [{}]}]',
         ', message 1 of 1: "type" must be text in every content part, not null.'),
        ('[{"role": "user", "content": [{"type": "text"}]}]',
         ', message 1 of 1: "text" must be text in a content part, not null.'),
        ('[{"role": "assistant", "tool_calls": {}}]', ', message 1 of 1: "tool_calls" must be a list, not an object.'),
        ('[{"role": "assistant", "tool_calls": [3]}]',
         ', message 1 of 1: "tool_calls" must be a list of objects, not a number.'),
        ('[{"role": "assistant", "tool_calls": [{"id": "c"}]}]',
         ', message 1 of 1: "function" must be an object in a tool call, not null.'),
        ('[{"role": "assistant", "tool_calls": [{"function": {}}]}]',
         ', message 1 of 1: "name" must be text in a tool call, not null.'),
        ('[{"role": "tool", "tool_call_id": 3, "content": ""}]',
         ', message 1 of 1: "tool_call_id" must be text, not a number.'),
    ],
)  # fmt: skip
def test_faults(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_text(text)
    assert str(caught.value) == f"chat.json{sentence}"


@pytest.mark.parametrize(
    ("message", "objects"),
    [
        (Message(Role.USER, (Text("hi"),), "Ada"), [{"role": "user", "content": "hi", "name": "Ada"}]),
        (
            Message(Role.ASSISTANT, (Text("hi"),), "Ines Quillan é"),
            [{"role": "assistant", "content": "hi", "name": "Ines Quillan é"}],
        ),
        (Message(Role.SYSTEM, (Text("a"), Text("b"))), [{"role": "system", "content": "a\n\nb"}]),
        (Message(Role.USER, ()), [{"role": "user", "content": ""}]),
        (Message(Role.ASSISTANT, (Thinking("hm"), Text("hi"))), [{"role": "assistant", "content": "hi"}]),
        (Message(Role.ASSISTANT, (Thinking("hm"),)), []),
        (Message(Role.ASSISTANT, (Error("down"),)), []),
        (
            Message(Role.USER, (Text("see"), Text(""), Image("d:"))),
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see"},
                        {"type": "image_url", "image_url": {"url": "d:"}},
                    ],
                }
            ],
        ),
        (
            Message(Role.ASSISTANT, (ToolCall("c1", "look", "{}"),)),
            [{"role": "assistant", "content": None, "tool_calls": [function("look", "{}")]}],
        ),
        (
            Message(Role.ASSISTANT, (Text("Hm."), ToolCall("c1", "look", "{}"))),
            [{"role": "assistant", "content": "Hm.", "tool_calls": [function("look", "{}")]}],
        ),
        (
            Message(Role.TOOL, (ToolResult("c1", "a"), ToolResult("c2", "b"))),
            [
                {"role": "tool", "content": "a", "tool_call_id": "c1"},
                {"role": "tool", "content": "b", "tool_call_id": "c2"},
            ],
        ),
        (
            Message(Role.TOOL, (ToolResult("c1", "a"), Text("b"))),
            [{"role": "tool", "content": "a\n\nb", "tool_call_id": "c1"}],
        ),
        (Message(Role.TOOL, (Text("b"),)), [{"role": "tool", "content": "b", "tool_call_id": ""}]),
        (
            Message(Role.USER, (ToolResult("c1", "a"), Text("b"))),
            [{"role": "tool", "content": "a", "tool_call_id": "c1"}, {"role": "user", "content": "b"}],
        ),
    ],
)
def test_to_openai(message: Message, objects: list[dict[str, Any]]) -> None:
    assert to_openai(message) == objects


def _single(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[tuple[Part, ...]]:
    return st.tuples(parts)


_TEXTS = st.text(min_size=1)
_SPOKEN = _single(_TEXTS.map(Text)) | st.tuples(_TEXTS.map(Text), st.builds(ToolCall, st.text(), st.text(), st.text()))
_MESSAGES = st.builds(
    Message, st.sampled_from([Role.SYSTEM, Role.USER, Role.ASSISTANT]), _SPOKEN, st.none() | _TEXTS
) | st.builds(Message, st.just(Role.TOOL), _single(st.builds(ToolResult, st.text(), st.text())), st.none() | _TEXTS)


@given(_MESSAGES)
def test_out_and_in_again(message: Message) -> None:
    (item,) = to_openai(message)
    assert parse_chat_message(json.loads(json.dumps(item))) == Draft(message)
