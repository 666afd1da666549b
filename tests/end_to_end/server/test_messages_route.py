"""Anthropic's interface: what goes through, what is kept of it, and what its clients are told when all is not well."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from previously import ScriptedAnswer
from previously.core.messages import ToolCall
from previously.testing import find_anthropic_faults
from previously.wire.interface import MESSAGES
from tests.end_to_end.server.running import Rig

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEYS = {"x-api-key": "sk-ant-of-the-client", "anthropic-version": "2023-06-01", "anthropic-beta": "some-beta"}
TIDE = ToolCall("toolu_1", "tide", '{"port":"Ule"}')


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    return {"model": "claude-small", "max_tokens": 100, "messages": said, **fields}


async def post(rig: Rig, asked: dict[str, Any], *, directly: bool = False, **headers: str) -> httpx.Response:
    base = rig.upstream.base_url if directly else rig.proxy.base_url
    return await rig.client.post(f"{base}/messages", json=asked, headers=KEYS | headers)


def told(response: httpx.Response) -> dict[str, Any]:
    """The error in Anthropic's shape."""
    answer: dict[str, Any] = response.json()
    assert answer["type"] == "error", answer
    assert set(answer["error"]) == {"type", "message"}
    error: dict[str, Any] = answer["error"]
    return error


async def test_one_answer_is_passed_on_and_kept(rig: Rig) -> None:
    asked = body("AM one: when?", system="You keep the harbour.")
    through = await post(rig, asked)
    rig.upstream.new_plan()
    assert through.content == (await post(rig, asked, directly=True)).content
    text = through.json()["content"][0]["text"]
    assert through.headers["x-previously-memory"] == "on"
    await rig.keeps("AM one", ("user", "AM one: when?"), ("assistant", text))


async def test_a_stream_comes_byte_for_byte(rig: Rig) -> None:
    plan = ScriptedAnswer(text="High at noon. 🦊", reasoning="Think of the moon.", tool_calls=[TIDE], piece_bytes=7)
    rig.upstream.new_plan(plan)
    through = await post(rig, body("AM stream: when?", stream=True))
    rig.upstream.new_plan(plan)
    assert through.content == (await post(rig, body("AM stream: when?", stream=True), directly=True)).content
    assert through.headers["content-type"].startswith("text/event-stream")
    reader = MESSAGES.open_reader()
    reader.feed(through.content)
    reply = reader.finish()
    assert reply.whole and reply.done and not reply.junk
    assert reply.choice().text == "High at noon. 🦊"
    assert reply.choice().reasoning == "Think of the moon."
    assert [(call.id, call.name, call.arguments) for call in reply.choice().tool_calls] == [
        ("toolu_1", "tide", '{"port": "Ule"}')
    ]
    await rig.keeps("AM stream", ("user", "AM stream: when?"), ("assistant", "High at noon. 🦊"))


async def test_what_the_client_sends_goes_on_as_it_came(rig: Rig) -> None:
    """Signatures of thinking, marks of caches, pictures, fields that nobody here has heard of."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCgIYAhIM"}
    hidden = {"type": "redacted_thinking", "data": "EmwKAhgBEgy"}
    use = {"type": "tool_use", "id": "toolu_9", "name": "tide", "input": {"port": "Ule", "n": 1.50}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
    result = {"type": "tool_result", "tool_use_id": "toolu_9", "content": [picture], "is_error": False}
    asked = body(
        {
            "role": "user",
            "content": [picture, {"type": "text", "text": "AM raw: look", "cache_control": {"type": "x"}}],
        },
        {"role": "assistant", "content": [thinking, hidden, {"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [result, {"type": "text", "text": "<system-reminder>be brief</system-reminder>"}]},
        system=[{"type": "text", "text": "You look.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        tools=[{"name": "tide", "input_schema": {"type": "object"}}],
        thinking={"type": "enabled", "budget_tokens": 50},
        metadata={"user_id": "user_1_account__session_raw"},
        context_management={"edits": []},
        made_up_field=[1, {"two": None}],
    )
    await post(rig, asked)
    sent = (await rig.upstream.request(0)).json
    assert sent == asked
    assert find_anthropic_faults(sent) == []


async def test_headers_of_this_interface_go_on_and_come_back(rig: Rig) -> None:
    answer = ScriptedAnswer(text="Aye.", headers={"request-id": "req_7", "anthropic-ratelimit-tokens-limit": "9"})
    rig.upstream.new_plan(answer)
    response = await post(rig, body("AM headers"))
    headers = (await rig.upstream.request(0)).headers
    assert {name: headers[name] for name in KEYS} == KEYS
    assert "authorization" not in headers
    assert (response.headers["request-id"], response.headers["anthropic-ratelimit-tokens-limit"]) == ("req_7", "9")
    rig.upstream.new_plan()
    address = f"{rig.proxy.base_url}/messages?beta=true"
    await rig.client.post(address, json=body("AM bearer"), headers={"authorization": "Bearer oauth-token"})
    request = await rig.upstream.request(0)
    assert request.headers["authorization"] == "Bearer oauth-token"
    assert "x-api-key" not in request.headers
    assert request.path == "/v1/messages?beta=true"


async def test_tokens_are_counted_upstream(rig: Rig) -> None:
    response = await rig.client.post(f"{rig.proxy.base_url}/messages/count_tokens", json=body("AM count"), headers=KEYS)
    assert rig.upstream.others[-1].path == "/v1/messages/count_tokens"
    assert rig.upstream.others[-1].json == body("AM count")
    assert response.status_code == 404, "this upstream has no such door, and that is what it says"


async def test_an_agent_s_tool_loop_is_one_story(rig: Rig) -> None:
    rig.upstream.new_plan([ScriptedAnswer(text="I look.", tool_calls=[TIDE]), "At noon."])
    history: list[Any] = [{"role": "user", "content": "AM loop: when?"}]
    answer = (await post(rig, body(*history))).json()
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "noon"}
    history += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
    await post(rig, body(*history))
    path = (("user", "AM loop: when?"), ("assistant", "I look."), ("tool", ""), ("assistant", "At noon."))
    await rig.keeps("AM loop", *path)


async def test_sessions_of_one_client_are_never_mixed(rig: Rig) -> None:
    for session, place in (("s-1", "Ule"), ("s-2", "Tarn")):
        rig.upstream.new_plan(f"It is {place}.")
        await post(rig, body("AM session: where?", metadata={"user_id": session}))
        again = body("AM session: where?", {"role": "assistant", "content": f"It is {place}."}, f"And {place} after?",
                     metadata={"user_id": session})  # fmt: skip
        response = await post(rig, again)
        assert response.headers["x-previously-memory"] == "on"
        assert (await rig.upstream.request(1)).messages == again["messages"]
    await rig.keeps("And Ule", *((role, text) for role, text in (
        ("user", "AM session: where?"), ("assistant", "It is Ule."), ("user", "And Ule after?"),
        ("assistant", "It is Ule."))))  # fmt: skip


async def test_commands_are_answered_in_this_interface(rig: Rig) -> None:
    await post(rig, body("AM command: hello"))
    asked = body("AM command: hello", {"role": "assistant", "content": "Answer"}, "//help")
    words = (await post(rig, asked)).json()["content"][0]["text"]
    assert "//recap" in words
    reader = MESSAGES.open_reader()
    reader.feed((await post(rig, asked | {"stream": True})).content)
    assert reader.finish().choice().text == words
    assert reader.done
    assert len(rig.upstream.requests) == 1


async def test_what_is_wrong_is_told_as_anthropic_tells_it(rig: Rig) -> None:
    bad: list[dict[str, Any]] = [
        {"model": "m"},
        {"messages": []},
        {"messages": [{"role": "user"}]},
        {"messages": ["x"]},
    ]
    for wrong in bad:
        response = await post(rig, wrong)
        assert response.status_code == 400
        assert told(response)["type"] == "invalid_request_error"
    foreign = await post(rig, body("AM foreign"), origin="https://evil.example")
    assert foreign.status_code == 403
    assert told(foreign)["type"] == "permission_error"
    rig.upstream.new_plan(ScriptedAnswer(status=529, body={"type": "error", "error": {"type": "overloaded_error"}}))
    busy = await post(rig, body("AM busy"))
    assert (busy.status_code, busy.json()) == (529, {"type": "error", "error": {"type": "overloaded_error"}})
    rig.upstream.new_plan(ScriptedAnswer(status=502, content_type="text/html", body="<html>Bad Gateway</html>"))
    assert told(await post(rig, body("AM page")))["type"] == "api_error"
    missing = await rig.client.post(f"{rig.proxy.base_url}/messages/..%2fbatches", json={}, headers=KEYS)
    assert missing.status_code == 404
    assert told(missing)["type"] == "not_found_error"


async def test_a_stream_that_breaks_off_ends_with_an_error_event(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text="One two three four", cut_chunks=4))
    response = await post(rig, body("AM broken", stream=True))
    event = response.text.rstrip().rpartition("\n\n")[2]
    assert event.startswith("event: error\ndata: ")
    error = json.loads(event.partition("data: ")[2])
    assert error["type"] == "error"
    assert error["error"]["type"] == "api_error"
    await rig.keeps("AM broken", ("user", "AM broken"), ("assistant", "(partial) One two"))


async def test_an_error_in_a_stream_is_no_answer(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text="One two three four", error_after=3))
    response = await post(rig, body("AM error event", stream=True))
    assert b"event: error" in response.content
    await rig.keeps("AM error event", ("user", "AM error event"), ("assistant", "(partial) One two"))


async def test_the_official_client(rig: Rig) -> None:
    anthropic = pytest.importorskip("anthropic")
    tool: Any = {"name": "tide", "input_schema": {"type": "object"}}
    rig.upstream.new_plan(ScriptedAnswer(text="I look.", reasoning="Hm.", tool_calls=[TIDE]))
    async with anthropic.AsyncAnthropic(base_url=rig.proxy.origin, api_key="sk-ant", max_retries=0) as client:
        said: Any = [{"role": "user", "content": "AM official: when?"}]
        whole = await client.messages.create(model="claude-small", max_tokens=99, messages=said, tools=[tool])
        assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
        assert whole.stop_reason == "tool_use"
        async with client.messages.stream(model="claude-small", max_tokens=99, messages=said, tools=[tool]) as stream:
            streamed = await stream.get_final_message()
        assert [block.to_dict() for block in streamed.content] == [
            {**block.to_dict(), **({"signature": "signed-1"} if block.type == "thinking" else {})}
            for block in whole.content
        ]
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "noon"}
        said += [{"role": "assistant", "content": whole.content}, {"role": "user", "content": [result]}]
        await client.messages.create(model="claude-small", max_tokens=99, messages=said, tools=[tool])
        assert find_anthropic_faults((await rig.upstream.request(2)).json) == []
        with pytest.raises(anthropic.BadRequestError):
            await client.messages.create(model="claude-small", max_tokens=99, messages=[])
        rig.upstream.new_plan(ScriptedAnswer(status=429, headers={"retry-after": "3"}, body={"type": "error"}))
        with pytest.raises(anthropic.RateLimitError):
            await client.messages.create(model="claude-small", max_tokens=99, messages=said)
