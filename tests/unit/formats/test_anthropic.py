"""Anthropic's messages: every block as parts and back, byte for byte."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.messages import FAILED, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from previously.formats.files import Document, StorySource
from previously.formats.request_files import ANTHROPIC
from previously.wire.anthropic import parse_anthropic_message, write_anthropic_message

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PNG_URL = "data:image/png;base64,iVBORw0KGgo="


def read(value: object) -> StorySource:
    return ANTHROPIC.read(Document("file", BytesIO(json.dumps(value).encode())))


def user(content: object) -> dict[str, Any]:
    return {"role": "user", "content": content}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(content: object, **more: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", "content": content, **more}


CASES: list[tuple[dict[str, Any], Role, tuple[Part, ...]]] = [
    (user("Hi."), Role.USER, (Text("Hi."),)),
    (user(""), Role.USER, (Text(""),)),
    (user([{"type": "text", "text": "Hi."}]), Role.USER, (Text("Hi."),)),
    (
        user([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]),
        Role.USER,
        (Text("a"), Text("b")),
    ),
    ({"role": "assistant", "content": "Yes."}, Role.ASSISTANT, (Text("Yes."),)),
    ({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}, Role.ASSISTANT, (Text("Yes."),)),
    (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eHh4"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "Lämp", "n": 1.0}},
                {"type": "tool_use", "id": "t2", "name": "wait", "input": {}, "cache_control": {"type": "ephemeral"}},
            ],
        },
        Role.ASSISTANT,
        (
            Thinking("Hm."),
            Thinking(""),
            Text("I look."),
            ToolCall("t1", "look", '{"at": "Lämp", "n": 1.0}'),
            ToolCall("t2", "wait", "{}"),
        ),
    ),
    (user([result("Glass.")]), Role.TOOL, (ToolResult("t1", "Glass."),)),
    (user([result("No.", is_error=True)]), Role.TOOL, (ToolResult("t1", "No.", FAILED),)),
    (user([result("Ok.", is_error=False)]), Role.TOOL, (ToolResult("t1", "Ok."),)),
    (user([{"type": "tool_result", "tool_use_id": "t1"}]), Role.TOOL, (ToolResult("t1", ""),)),
    (
        user([result([text("one"), {"type": "image", "source": PNG}, text("two")])]),
        Role.TOOL,
        (ToolResult("t1", "one\n\ntwo"), Image(PNG_URL)),
    ),
    (
        user([result([{"type": "search_result", "title": "x"}, {"type": "text", "text": "t"}])]),
        Role.TOOL,
        (ToolResult("t1", "t"),),
    ),
    (
        user([{"type": "text", "text": "And?"}, result("Glass."), result("Brass.", tool_use_id="t2")]),
        Role.USER,
        (ToolResult("t1", "Glass."), ToolResult("t2", "Brass."), Text("And?")),
    ),
    (
        user([{"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}]),
        Role.USER,
        (Image("https://example.org/x.png"),),
    ),
    (user([{"type": "image", "source": {"type": "file", "file_id": "f"}}]), Role.USER, (Text(""),)),
    (
        user([{"type": "document", "source": {"type": "text", "media_type": "text/x", "data": "D."}, "title": "T"}]),
        Role.USER,
        (Text("D."),),
    ),
    (user([{"type": "container_upload", "file_id": "f"}, {"type": "text", "text": "a"}]), Role.USER, (Text("a"),)),
    (user([]), Role.USER, (Text(""),)),
    ({"role": "system", "content": [{"type": "text", "text": "Be kind."}]}, Role.SYSTEM, (Text("Be kind."),)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "role", "parts"), CASES)
def test_a_message_is_read_and_written_again(item: dict[str, Any], role: Role, parts: tuple[Part, ...]) -> None:
    draft = parse_anthropic_message(item)
    assert draft.message == Message(role, parts)
    assert write_anthropic_message(draft.message, draft.attributes) == item
    json.dumps(draft.attributes.extra)


def test_what_parts_tell_is_not_kept_twice() -> None:
    long = "x" * 10_000
    items = [
        user(long),
        user([result(long)]),
        user([result([{"type": "text", "text": long}, {"type": "image", "source": PNG | {"data": long}}])]),
        {"role": "assistant", "content": [{"type": "thinking", "thinking": long, "signature": "s"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": long}}]},
    ]
    assert all(len(json.dumps(parse_anthropic_message(item).attributes.extra)) < 200 for item in items)


def test_other_fields_of_a_response_are_kept() -> None:
    draft = parse_anthropic_message(
        {"role": "assistant", "content": [], "id": "msg_1", "model": "m", "usage": {"input_tokens": 3}}
    )
    assert draft.attributes.extra["anthropic"]["usage"] == {"input_tokens": 3}
    assert draft.attributes.extra["anthropic"]["model"] == "m"


def test_a_changed_part_is_written_as_it_is_now() -> None:
    draft = parse_anthropic_message(
        user([result([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], is_error=True)])
    )
    shorter = Message(Role.TOOL, (ToolResult("t1", "[cut]", FAILED),))
    assert write_anthropic_message(shorter, draft.attributes)["content"] == [
        result([{"type": "text", "text": "[cut]"}], is_error=True)
    ]
    other = Message(Role.TOOL, (ToolResult("t1", "a"), ToolResult("t2", "b")))
    assert write_anthropic_message(other, draft.attributes)["content"] == [result("a"), result("b", tool_use_id="t2")]


def test_a_body_has_its_system_first_and_the_rest_in_the_header() -> None:
    source = read({"model": "m", "system": "Be brief.", "max_tokens": 9, "messages": [user("Hi.")]})
    assert [draft.message.role for draft in source.drafts] == [Role.SYSTEM, Role.USER]
    assert source.header == {"model": "m", "max_tokens": 9}
    assert source.format == "anthropic"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (3, "file: the file must hold a list of messages, not a number."),
        ({"system": "x"}, "file: the file must hold a list of messages, not null."),
        ([3], "file, message 1 of 1: a message must be an object, not a number."),
        ([{"role": "user"}], 'file, message 1 of 1: "content" is missing.'),
        ([{"role": "user", "content": 3}], 'file, message 1 of 1: "content" must be text or a list of blocks'),
        (
            [{"role": "user", "content": [3]}],
            'file, message 1 of 1: "content" must be a list of blocks, not of a number',
        ),
    ],
)
def test_faults(value: object, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(value)
    assert str(caught.value).startswith(sentence)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TEXT_BLOCK = st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=6)}, optional={"x": JSON})
IMAGE = st.just({"type": "image", "source": PNG})
BLOCKS = st.one_of(
    TEXT_BLOCK,
    IMAGE,
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": st.text(max_size=4), "signature": st.text()}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": st.text(max_size=4),
            "name": st.text(max_size=4),
            "input": st.dictionaries(st.text(max_size=3), JSON, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": st.text(max_size=3)},
        optional={
            "content": st.text(max_size=6) | st.lists(TEXT_BLOCK | IMAGE | st.just({"type": "other"}), max_size=3),
            "is_error": st.booleans(),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["other", "document", "text", "tool_use"])}, optional={"text": JSON}
    ),
)


@given(st.sampled_from(["user", "assistant", "system"]), st.lists(BLOCKS, max_size=5) | st.text(max_size=5))
def test_every_content_comes_back(role: str, content: object) -> None:
    item = {"role": role, "content": content}
    draft = parse_anthropic_message(item)
    extra = json.loads(json.dumps(draft.attributes.extra))  # as a store gives it back
    assert write_anthropic_message(draft.message, type(draft.attributes)(extra=extra)) == item
