"""The interfaces, without a server: what is read of a body, what is written back, and what an answer comes to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Message, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.pairing import find_units, find_unpaired
from previously.core.tokens import ESTIMATE, message_tokens
from previously.server.chat_request import parse_chat_request, write_body
from previously.server.overflow import Overflow, compute_window, find_overflow, shrink_budget
from previously.server.upstream_messages import choose_messages, find_budget, is_turn_start
from previously.testing import find_anthropic_faults, find_chat_faults, find_responses_faults
from previously.testing.bodies import ScriptedMessagesReply, ScriptedReply, ScriptedResponsesReply
from previously.wire.interface import CHAT, INTERFACES, MESSAGES, RESPONSES, Interface

TOOL = Message(Role.TOOL, (ToolResult("a", "seen"), ToolResult("b", "seen too")))
CALLS = Message(
    Role.ASSISTANT, (Thinking("Hm."), Text("So."), ToolCall("a", "f", "{}"), ToolCall("b", "f", '{"x": 1}'))
)

COMPOSED: dict[str, type[ScriptedReply]] = {
    "chat": ScriptedReply,
    "messages": ScriptedMessagesReply,
    "responses": ScriptedResponsesReply,
}


def composed(dialect: str, **fields: Any) -> ScriptedReply:
    usage = {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26}
    given: dict[str, Any] = {
        "number": 3, "model": "small", "texts": [["At", " noon", " 🦊."]], "reasoning": "The moon is full.",
        "tool_calls": [ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "{}")], "finish_reason": "tool_calls",
        "usage": usage, "streamed": True, "chat": True, "logprobs": False, "done": True, "endless": False,
        "error_after": None, "error": None, "error_event": False,
    }  # fmt: skip
    return COMPOSED[dialect](**given | fields)


def pieces(whole: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(whole), size):
        yield whole[at : at + size]


@pytest.mark.parametrize("dialect", COMPOSED)
@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_a_stream_and_an_object_come_to_the_same(dialect: str, size: int) -> None:
    answer = composed(dialect)
    replies = []
    for sent in (b"".join(answer.events()), answer.whole()):
        reader = INTERFACES[dialect].open_reader()
        for piece in pieces(sent, size):
            reader.feed(piece)
        replies.append(reader.finish())
    streamed, whole = replies
    assert streamed.choices == whole.choices
    assert streamed.whole and whole.whole and streamed.done and streamed.junk == whole.junk == 0
    assert streamed.choice().text == "At noon 🦊."
    assert streamed.choice().reasoning == "The moon is full."
    assert [call.arguments for call in streamed.choice().tool_calls] == ['{"x": 1}', "{}"]
    assert whole.usage and whole.usage["prompt_tokens"] == 20


@pytest.mark.parametrize("dialect", ["messages", "responses"])
def test_a_stream_that_is_cut_is_not_whole(dialect: str) -> None:
    events = list(composed(dialect).events())
    for count in range(len(events)):
        reader = INTERFACES[dialect].open_reader()
        reader.feed(b"".join(events[:count]))
        assert not reader.finish().whole
        assert not reader.done


ODD = [
    '{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}',
    '{"type": "message_delta", "delta": {}, "usage": 7}',
    '{"type": "response.output_text.delta", "delta": "x"}',
    '{"type": "response.completed", "response": {"output": [7, {"type": "function_call"}]}}',
    "[1]", "{}", "null", '{"error": 0}', '{"type": 7}',
]  # fmt: skip


@given(
    st.sampled_from(sorted(INTERFACES)),
    st.lists(
        st.binary(max_size=30) | st.sampled_from([f"data: {one}\n\n".encode() for one in ODD] + [b"event: error\n"]),
        max_size=8,
    ),
)
def test_whatever_comes_is_read(dialect: str, sent: list[bytes]) -> None:
    reader = INTERFACES[dialect].open_reader()
    for piece in sent:
        reader.feed(piece)
    reader.finish()


def asked_body(dialect: Interface) -> dict[str, Any]:
    said = [{"role": "user", "content": "Look."}]
    return {"input": said} if dialect is RESPONSES else {"messages": said}


@pytest.mark.parametrize("dialect", INTERFACES.values(), ids=lambda one: one.name)
def test_a_message_that_the_client_did_not_send_is_written_as_it_would_have(dialect: Interface) -> None:
    raws = [raw for one in (message("user", "Look."), CALLS, TOOL) for raw in dialect.write_raws(one)]
    body = dialect.write_body(asked_body(dialect) | {"model": "m", "max_tokens": 9}, raws)
    faults = {
        "chat": lambda: find_chat_faults(body["messages"]),
        "messages": lambda: find_anthropic_faults(body),
        "responses": lambda: find_responses_faults(body["input"]),
    }[dialect.name]()
    assert faults == []
    again = [part for raw in raws for part in dialect.parse_raw(raw).message.parts]
    assert again == [Text("Look."), *CALLS.parts[1:], *TOOL.parts]
    assert dialect.write_raws(Message(Role.ASSISTANT, (Thinking("Hm."),))) == []


@pytest.mark.parametrize("dialect", INTERFACES.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("system", ["", "Be brief."])
def test_memory_without_instructions_gets_their_place(dialect: Interface, system: str) -> None:
    field = {"chat": None, "messages": "system", "responses": "instructions"}[dialect.name]
    fields = asked_body(dialect) | ({field: system} if field and system else {})
    raws = dialect.read_raws(fields)
    memory = {"role": "system", "content": "Once upon a time."}
    written = dialect.write_body(fields, [memory, *raws[1 if field and system else 0 :]])
    if field:
        assert written[field] == "Once upon a time."
        assert written.get("messages", written.get("input")) == fields.get("messages", fields.get("input"))
    else:
        assert written["messages"] == [memory, *fields["messages"]]


def test_an_input_of_responses_that_begins_with_the_developer_keeps_its_place() -> None:
    first = {"role": "developer", "content": "Be brief."}
    fields = {"input": [first, {"role": "user", "content": "Look."}]}
    raws = RESPONSES.read_raws(fields)
    assert RESPONSES.write_body(fields, raws) == fields
    assert RESPONSES.write_body(fields, raws)["input"][0] is first


def test_what_a_model_gave_together_is_one_message() -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "Look."},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "custom_tool_call", "call_id": "b", "name": "g", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "y"},
        {"type": "function_call_output", "call_id": "a", "output": "z"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    asked = parse_chat_request(json.dumps({"model": "m", "input": items}).encode(), {}, RESPONSES)
    messages = [draft.message for draft in asked.drafts]
    assert [one.role.value for one in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert messages[1].parts == (Thinking("Hm."), Text("So."), ToolCall("a", "f", "{}"), ToolCall("b", "g", "x"))
    assert find_unpaired(messages) == []
    assert json.loads(write_body(asked, asked.messages))["input"] == items


def test_whose_conversation_it_is() -> None:
    session = json.dumps({"device_id": "d", "session_id": "s"})
    body = {"messages": [{"role": "user", "content": "x"}], "metadata": {"user_id": session}, "user": "ann"}
    assert parse_chat_request(json.dumps(body).encode(), {}, MESSAGES).user == session
    assert parse_chat_request(json.dumps(body).encode(), {}, CHAT).user == "ann"
    headers = {"session_id": "0199-codex"}
    asked = parse_chat_request(json.dumps({"input": "x", "user": "ann"}).encode(), headers, RESPONSES)
    assert (asked.user, asked.story, asked.named) == ("ann", "0199-codex", False)


def talk(draw: Any) -> list[Message]:
    found = [message("system", "Be brief.")]
    for turn in range(draw(st.integers(1, 4))):
        found.append(message("user", f"Request {turn} " + "word " * draw(st.integers(0, 20))))
        for step in range(draw(st.integers(0, 4))):
            ids = [f"c{turn}.{step}.{at}" for at in range(draw(st.integers(1, 3)))]
            found.append(Message(Role.ASSISTANT, tuple(ToolCall(one, "f", "{}") for one in ids)))
            results = [ToolResult(one, "line " * draw(st.integers(0, 30))) for one in ids]
            if draw(st.booleans()):
                found.append(Message(Role.TOOL, tuple(results)))
            else:
                found += [Message(Role.TOOL, (one,)) for one in results]
        if draw(st.booleans()):
            found.append(message("assistant", "Done."))
    return found


@given(st.data())
def test_a_list_that_is_cut_parts_no_call_from_its_results(data: st.DataObject) -> None:
    messages = talk(data.draw)
    tokens = [message_tokens(one, ESTIMATE) for one in messages]
    budget = data.draw(st.integers(0, sum(tokens) + 10))
    begins = data.draw(st.booleans())
    kept = choose_messages(messages, tokens.__getitem__, budget, begins_with_user=begins)
    assert kept == sorted(set(kept))
    assert find_unpaired([messages[at] for at in kept]) == []
    assert kept[0] == 0 and kept[-1] == len(messages) - 1
    request = max(at for at, one in enumerate(messages) if one.role is Role.USER)
    assert request in kept
    if begins:
        assert is_turn_start(messages[kept[1]])
    if budget >= sum(tokens):
        assert len(kept) == len(messages)
    least = choose_messages(messages, tokens.__getitem__, 0, begins_with_user=begins)
    newest = find_units(messages)[-1]
    assert least == sorted({0, request, *newest})
    assert sum(tokens[at] for at in kept) <= max(budget, sum(tokens[at] for at in least))


def asked_chat(**fields: Any) -> Any:
    return parse_chat_request(json.dumps({"messages": [{"role": "user", "content": "x"}], **fields}).encode(), {})


def test_how_much_smaller_the_second_request_is() -> None:
    asked = asked_chat(max_tokens=500)
    assert shrink_budget(asked, Overflow(), 10_000) == 6_000
    assert shrink_budget(asked, Overflow(8_000), 10_000) == find_budget(asked, 8_000)
    assert shrink_budget(asked, Overflow(8_000, 16_000), 10_000) == find_budget(asked, 8_000) * 10_000 // 16_000
    assert shrink_budget(asked, Overflow(80_000), 10_000) == 6_000, "they count otherwise"


@given(st.integers(300, 200_000), st.none() | st.integers(1, 50_000), st.booleans())
def test_the_window_that_is_learned_has_just_that_room(budget: int, answer: int | None, tools: bool) -> None:
    asked = asked_chat(**({"max_tokens": answer} if answer else {}), **({"tools": [{}]} if tools else {}))
    assert abs(find_budget(asked, compute_window(asked, budget)) - budget) <= max(4, budget // 100)


def test_what_is_left_for_an_answer() -> None:
    asks_for_all = {"max_tokens": 32_000}
    assert find_budget(asked_chat(**asks_for_all), 32_000) == 15_000
    assert find_budget(asked_chat(**asks_for_all, tools=[{}]), 32_000) == 27_000, "an agent writes a call"
    assert find_budget(asked_chat(max_tokens=500, tools=[{}]), 32_000) == 30_500
    assert find_budget(asked_chat(), 32_000) == 32_000 - 1_024 - 1_000


def test_what_is_no_overflow() -> None:
    assert find_overflow(400, b"") == Overflow()
    assert find_overflow(413, b"(a page)") == Overflow()
    assert find_overflow(400, b"(a page)") is None
    assert find_overflow(429, b'{"error": {"message": "Rate limit: too many tokens"}}') is None
    assert find_overflow(401, b"prompt is too long") is None
    assert find_overflow(500, b"") is None


def test_what_a_server_says_of_its_window_in_fields_of_their_own_is_read() -> None:
    error = {
        "code": 400,
        "message": "the request exceeds the available context size",
        "n_ctx": 4096,
        "n_prompt_tokens": 9000,
    }
    told = find_overflow(400, json.dumps({"error": error}).encode())
    assert told == Overflow(4_096, 9_000)
    assert find_overflow(400, json.dumps({"error": {"message": "no such model", "n_ctx": 4096}}).encode()) is None
