"""OpenAI's Responses: what goes through, what is kept of it, and when the history lies elsewhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from previously import ScriptedAnswer
from previously.core.messages import ToolCall
from previously.testing import find_responses_faults
from previously.wire.interface import RESPONSES
from tests.end_to_end.server.running import Rig

pytestmark = pytest.mark.asyncio(loop_scope="module")

TIDE = ToolCall("call_1", "tide", '{"port":"Ule"}')
TOOLS: Any = [{"type": "function", "name": "tide", "parameters": {"type": "object"}, "strict": False}]


@pytest_asyncio.fixture(loop_scope="module")
async def client(rig: Rig) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=rig.proxy.base_url, api_key="sk", max_retries=0) as made:
        yield made


async def post(rig: Rig, *, directly: bool = False, **fields: Any) -> httpx.Response:
    base = rig.upstream.base_url if directly else rig.proxy.base_url
    return await rig.client.post(f"{base}/responses", json={"model": "small", **fields})


async def test_text_as_input_goes_on_as_text_and_is_kept(rig: Rig, client: AsyncOpenAI) -> None:
    answer = await client.responses.create(
        model="small", input="RR one: when?", instructions="You keep the harbour.", extra_headers={"session-id": "one"}
    )
    sent = (await rig.upstream.request(0)).json
    assert sent == {"model": "small", "input": "RR one: when?", "instructions": "You keep the harbour."}
    assert answer.output_text.startswith("Answer-0")
    assert answer.usage and answer.usage.input_tokens > 0
    await rig.keeps("RR one", ("user", "RR one: when?"), ("assistant", answer.output_text))


async def test_a_stream_comes_byte_for_byte(rig: Rig) -> None:
    plan = ScriptedAnswer(text="High at noon. 🦊", reasoning="Think of the moon.", tool_calls=[TIDE], piece_bytes=11)
    rig.upstream.new_plan(plan)
    through = await post(rig, input="RR stream: when?", stream=True)
    rig.upstream.new_plan(plan)
    assert through.content == (await post(rig, input="RR stream: when?", stream=True, directly=True)).content
    reader = RESPONSES.open_reader()
    reader.feed(through.content)
    reply = reader.finish()
    assert reply.whole and reply.done and not reply.junk
    assert (reply.choice().text, reply.choice().reasoning) == ("High at noon. 🦊", "Think of the moon.")
    assert reply.choice().tool_calls == (TIDE,)
    await rig.keeps("RR stream", ("user", "RR stream: when?"), ("assistant", "High at noon. 🦊"))


async def test_the_official_client_makes_the_same_of_a_stream_and_of_an_object(rig: Rig, client: AsyncOpenAI) -> None:
    plan = ScriptedAnswer(text="At noon.", reasoning="Hm.", tool_calls=[TIDE])
    rig.upstream.new_plan(plan)
    said: Any = [{"role": "user", "content": "RR official: when?"}]
    whole = await client.responses.create(model="small", input=said, tools=TOOLS)
    rig.upstream.new_plan(plan)
    async with client.responses.stream(model="small", input=said, tools=TOOLS) as stream:
        texts = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    assert "".join(texts) == "At noon."
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    plainly = [json.loads(item.model_dump_json(exclude={"content": {"__all__": {"parsed"}}, "parsed_arguments": True}))
               for item in final.output]  # fmt: skip
    assert plainly == [json.loads(item.model_dump_json()) for item in whole.output]


async def test_items_go_on_as_they_came_and_are_one_story(rig: Rig, client: AsyncOpenAI) -> None:
    second = ToolCall("call_2", "tide", '{"port":"Tarn"}')
    rig.upstream.new_plan([ScriptedAnswer(text="I look.", reasoning="Hm.", tool_calls=[TIDE, second]), "At noon."])
    said: list[Any] = [
        {"role": "developer", "content": [{"type": "input_text", "text": "You keep the harbour."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "RR loop: when?"}]},
    ]
    first = await client.responses.create(model="small", input=said, tools=TOOLS, store=False, include=[])
    said += [item.model_dump(exclude_none=True) for item in first.output]
    said += [{"type": "function_call_output", "call_id": call, "output": "noon"} for call in ("call_2", "call_1")]
    await client.responses.create(model="small", input=said, tools=TOOLS, store=False)
    sent = (await rig.upstream.request(1)).json
    assert sent["input"] == json.loads(json.dumps(said))
    assert sent["store"] is False
    assert find_responses_faults(sent["input"]) == []
    path = (("user", "RR loop: when?"), ("assistant", "I look."), ("tool", ""), ("tool", ""), ("assistant", "At noon."))
    await rig.keeps("RR loop", *path)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"previous_response_id": "resp_7", "input": "RR elsewhere"},
        {"conversation": {"id": "conv_7"}, "input": "RR elsewhere"},
        {"prompt": {"id": "pmpt_7"}, "input": []},
        {"input": [{"type": "item_reference", "id": "msg_7"}, {"role": "user", "content": "RR elsewhere"}]},
    ],
)
async def test_a_history_that_lies_with_the_provider_is_left_alone(rig: Rig, elsewhere: dict[str, Any]) -> None:
    response = await post(rig, **elsewhere, stream=True, odd=[1.50])
    assert response.status_code == 200
    assert response.headers["x-previously-memory"] == "off"
    assert "x-previously-story" not in response.headers
    request = await rig.upstream.request(0)
    assert request.body == response.request.content, "byte for byte"
    assert rig.proxy.written().count("Traceback") == 0


async def test_other_doors_of_this_interface_are_passed_on(rig: Rig) -> None:
    base = rig.proxy.base_url
    await rig.client.get(f"{base}/responses/resp_7")
    await rig.client.delete(f"{base}/responses/resp_7")
    await rig.client.post(f"{base}/responses/resp_7/cancel", json={})
    await rig.client.get(f"{base}/responses/resp_7/input_items?limit=2")
    await rig.client.post(f"{base}/responses/input_tokens", json={"input": "x"})
    assert [(one.method, one.path) for one in rig.upstream.others] == [
        ("GET", "/v1/responses/resp_7"),
        ("DELETE", "/v1/responses/resp_7"),
        ("POST", "/v1/responses/resp_7/cancel"),
        ("GET", "/v1/responses/resp_7/input_items?limit=2"),
        ("POST", "/v1/responses/input_tokens"),
    ]


async def test_commands_are_answered_in_this_interface(rig: Rig, client: AsyncOpenAI) -> None:
    await client.responses.create(model="small", input="RR command: hello")
    said: Any = [
        {"role": "user", "content": "RR command: hello"},
        {"role": "assistant", "content": "Answer"},
        {"role": "user", "content": "//help"},
    ]
    answer = await client.responses.create(model="small", input=said)
    assert "//recap" in answer.output_text
    async with client.responses.stream(model="small", input=said) as stream:
        final = await stream.get_final_response()
    assert final.output_text == answer.output_text
    assert len(rig.upstream.requests) == 1


async def test_what_is_wrong_is_told(rig: Rig, client: AsyncOpenAI) -> None:
    bad: list[dict[str, Any]] = [{}, {"input": []}, {"input": 7}, {"input": ["x"]}, {"input": [{"role": "user"}]}]
    for wrong in bad:
        response = await post(rig, **wrong)
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "bad_request"
    rig.upstream.new_plan(ScriptedAnswer(text="One two three four", cut_chunks=4))
    events = [one async for one in await client.responses.create(model="small", input="RR broken", stream=True)]
    assert events[-1].type == "error"
    assert "broke off" in events[-1].message
    await rig.keeps("RR broken", ("user", "RR broken"), ("assistant", "(partial) One two"))


async def test_a_response_that_fails_is_no_answer(rig: Rig) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text="One two three four", error_after=3))
    response = await post(rig, input="RR failed", stream=True)
    assert b"response.failed" in response.content
    await rig.keeps("RR failed", ("user", "RR failed"), ("assistant", "(partial) One two"))
