"""What the strict upstream refuses: what the official APIs refuse, and nothing else."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously import ScriptedServer
from previously.testing import find_anthropic_faults, find_chat_faults, find_responses_faults

Raw = dict[str, Any]
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "tool_calls", "id", "text", "messages"]), inner)
    ),
    max_leaves=12,
)


def user(text: str = "Look.") -> Raw:
    return {"role": "user", "content": text}


def calls(*ids: str) -> Raw:
    made = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(one: str) -> Raw:
    return {"role": "tool", "tool_call_id": one, "content": "seen"}


SYSTEM = {"role": "system", "content": "Be brief."}
GOOD_CHATS = [
    [user()],
    [SYSTEM, user()],
    [{"role": "assistant", "content": "Hello."}, user()],
    [user(), calls("a", "b"), result("b"), result("a"), user()],
    [user(), calls("a"), result("a"), calls("a"), result("a")],
    [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "u"}}]}],
    [user(), {"role": "assistant", "content": ""}, user()],
]
BAD_CHATS: dict[str, object] = {
    "nothing": [],
    "no list": "hello",
    "no object": ["hello"],
    "an odd role": [{"role": "narrator", "content": "x"}],
    "a call without its result": [user(), calls("a"), user()],
    "a call at the end": [user(), calls("a")],
    "one of two results": [user(), calls("a", "b"), result("a"), user()],
    "a result without its call": [user(), result("a")],
    "a result before its call": [user(), result("a"), calls("a")],
    "two results": [user(), calls("a"), result("a"), result("a")],
    "a result apart": [user(), calls("a"), user(), result("a")],
    "no content": [{"role": "user", "content": None}],
    "no parts": [{"role": "user", "content": []}],
    "an empty part": [{"role": "user", "content": [{"type": "text", "text": ""}]}],
    "a part of another interface": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}],
    "a field of ours": [{"role": "user", "content": "x", "witnesses": []}],
    "reasoning sent back": [{"role": "assistant", "content": "x", "reasoning_content": "y"}, user()],
    "calls that are none": [user(), {"role": "assistant", "content": "x", "tool_calls": []}],
}


@pytest.mark.parametrize("messages", GOOD_CHATS)
def test_chats_that_are_taken(messages: list[Raw]) -> None:
    assert find_chat_faults(messages) == []


@pytest.mark.parametrize("fault", BAD_CHATS)
def test_chats_that_are_refused(fault: str) -> None:
    assert find_chat_faults(BAD_CHATS[fault])


def text(words: str) -> Raw:
    return {"type": "text", "text": words}


def use(one: str) -> Raw:
    return {"type": "tool_use", "id": one, "name": "look", "input": {}}


def used(one: str) -> Raw:
    return {"type": "tool_result", "tool_use_id": one, "content": "seen"}


def says(*blocks: Raw) -> Raw:
    return {"role": "assistant", "content": list(blocks)}


def gives(*blocks: Raw) -> Raw:
    return {"role": "user", "content": list(blocks)}


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
GOOD_MESSAGES: list[list[Raw]] = [
    [user()],
    [user(), user()],
    [user(), says(THINKING, text("I look."), use("a"), use("b")), gives(used("b"), used("a"), text("So?"))],
    [user(), {"role": "assistant", "content": "It is"}],
    [user(), says(use("a")), gives({"type": "tool_result", "tool_use_id": "a"}), says(text("Seen.")), user()],
]
BAD_MESSAGES: dict[str, list[Any]] = {
    "nothing": [],
    "the assistant first": [says(text("Hello."))],
    "a system message": [{"role": "system", "content": "x"}, user()],
    "a tool's role": [user(), {"role": "tool", "content": "x"}],
    "a call without its result": [user(), says(use("a")), user()],
    "a call at the end": [user(), says(use("a"))],
    "one of two results": [user(), says(use("a"), use("b")), gives(used("a"))],
    "a result without its call": [gives(used("a"))],
    "a result apart": [user(), says(use("a")), gives(used("a")), gives(used("a"))],
    "two results": [user(), says(use("a")), gives(used("a"), used("a"))],
    "words before a result": [user(), says(use("a")), gives(text("So?"), used("a"))],
    "no words": [{"role": "user", "content": ""}],
    "white space": [{"role": "user", "content": [text(" \n")]}],
    "no blocks": [user(), {"role": "assistant", "content": []}, user()],
    "thinking without its signature": [user(), says({"type": "thinking", "thinking": "Hm."}), user()],
    "a call of the user": [gives(use("a"))],
    "an empty text in a result": [user(), says(use("a")), gives({**used("a"), "content": [text("")]})],
    "another field": [{"role": "user", "content": "x", "name": "Ann"}],
    "an end in white space": [user(), {"role": "assistant", "content": "It is "}],
}


def body(messages: list[Any], **fields: Any) -> Raw:
    return {"model": "m", "max_tokens": 9, "messages": messages, **fields}


@pytest.mark.parametrize("messages", GOOD_MESSAGES)
def test_messages_that_are_taken(messages: list[Raw]) -> None:
    assert find_anthropic_faults(body(messages, system=[text("Be brief.")])) == []


@pytest.mark.parametrize("fault", BAD_MESSAGES)
def test_messages_that_are_refused(fault: str) -> None:
    assert find_anthropic_faults(body(BAD_MESSAGES[fault]))


def test_bodies_that_are_refused() -> None:
    assert find_anthropic_faults({"model": "m", "messages": [user()]}) == ["max_tokens: Field required."]
    assert find_anthropic_faults({"max_tokens": 9, "messages": [user()]}) == ["model: Field required."]
    assert find_anthropic_faults(body([user()], system=[text("")]))
    assert find_anthropic_faults([])


def fc(one: str) -> Raw:
    return {"type": "function_call", "call_id": one, "name": "look", "arguments": "{}"}


def out(one: str) -> Raw:
    return {"type": "function_call_output", "call_id": one, "output": "seen"}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
GOOD_ITEMS: list[list[Raw]] = [
    [user()],
    [user(), REASONING, fc("a"), fc("b"), out("b"), out("a"), user()],
    [user(), REASONING, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}],
    [{"role": "developer", "content": "x"}, {"role": "assistant", "content": "Hello."}],
]
BAD_ITEMS: dict[str, object] = {
    "nothing": [],
    "no words": "",
    "an output without its call": [user(), out("a")],
    "an output before its call": [user(), out("a"), fc("a")],
    "two outputs": [user(), fc("a"), out("a"), out("a")],
    "a call without its output": [user(), fc("a"), user()],
    "an output of another kind": [user(), fc("a"), {**out("a"), "type": "custom_tool_call_output"}],
    "reasoning alone": [user(), REASONING],
    "reasoning before the user": [user(), REASONING, user()],
    "reasoning before an output": [user(), fc("a"), REASONING, out("a")],
    "a part of another interface": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
    "no parts": [{"role": "user", "content": []}],
    "an odd kind": [{"type": "tool_use"}],
    "a tool's role": [{"role": "tool", "content": "x"}],
}


@pytest.mark.parametrize("items", GOOD_ITEMS)
def test_items_that_are_taken(items: list[Raw]) -> None:
    assert find_responses_faults(items) == []


@pytest.mark.parametrize("fault", BAD_ITEMS)
def test_items_that_are_refused(fault: str) -> None:
    assert find_responses_faults(BAD_ITEMS[fault])


def test_with_an_earlier_response_its_calls_may_be_answered() -> None:
    assert find_responses_faults([out("a")], earlier=True) == []
    assert find_responses_faults([out("a"), out("a")], earlier=True)


@given(ANY)
def test_whatever_comes_there_is_an_answer(value: object) -> None:
    for faults in (find_chat_faults(value), find_anthropic_faults(value), find_responses_faults(value)):
        assert all(isinstance(fault, str) for fault in faults)


async def test_the_server_refuses_in_the_shape_of_each_interface() -> None:
    async with ScriptedServer(strict=True) as server, httpx.AsyncClient(trust_env=False) as client:
        wrong = [user(), calls("a")]
        chat = await client.post(f"{server.base_url}/chat/completions", json={"messages": wrong})
        assert chat.status_code == 400
        assert "tool messages" in chat.json()["error"]["message"]
        message = await client.post(f"{server.base_url}/messages", json={"messages": []})
        assert message.status_code == 400
        assert message.json()["type"] == "error"
        assert message.json()["error"]["type"] == "invalid_request_error"
        response = await client.post(f"{server.base_url}/responses", json={"input": [out("a")]})
        assert (
            response.json()["error"]["message"]
            == "input[0]: No tool call found for function_call_output with call_id a."
        )
        assert len(server.faults) == 5
        good = await client.post(f"{server.base_url}/messages", json=body([user()]))
        assert good.status_code == 200
        assert good.json()["content"][0]["text"].startswith("Answer-3")
