"""The public double of a server: says what its plan says, goes wrong as planned, and knows what became of a request."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from previously.core.messages import ToolCall
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.models.http import OpenAICompatibleModel
from previously.testing import Plan, ScriptedAnswer, ScriptedServer, gzip_bomb, long_line, redirect, refused, web_page
from previously.testing.server import ServerKind
from previously.wire.reply import Reply
from previously.wire.sse import ReplyReader
from tests.unit.wire.whole_reply import read_reply

ASKED = {"model": "small", "messages": [{"role": "user", "content": "When does the ferry leave?"}]}
STREAMED: dict[str, Any] = ASKED | {"stream": True}
TIDE = ToolCall("call-1", "tide", '{"port": "Ule"}')


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=20.0, trust_env=False) as opened:
        yield opened


async def ask(client: httpx.AsyncClient, server: ScriptedServer, **fields: Any) -> httpx.Response:
    return await client.post(f"{server.base_url}/chat/completions", json=ASKED | fields)


async def heard(client: httpx.AsyncClient, server: ScriptedServer, **fields: Any) -> Reply:
    """What the client got, also when the connection broke."""
    reader = ReplyReader()
    try:
        async with client.stream("POST", f"{server.base_url}/chat/completions", json=STREAMED | fields) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            async for piece in response.aiter_raw():
                reader.feed(piece)
    except httpx.HTTPError:
        pass
    return reader.finish()


async def test_without_a_plan_every_answer_is_another_and_the_same_in_every_run(client: httpx.AsyncClient) -> None:
    runs = []
    for _ in range(2):
        async with ScriptedServer() as server:
            texts = [(await heard(client, server)).choice().text, (await heard(client, server)).choice().text]
            whole = read_reply((await ask(client, server)).content)
            runs.append([*texts, whole.choice().text])
            assert (whole.whole, whole.model) == (True, "small")
            assert [request.number for request in server.requests] == [0, 1, 2]
            assert [request.state for request in server.requests] == ["answered"] * 3
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3
    assert runs[0][0].startswith("Answer-0 ")


PLANS: list[tuple[Plan, list[str]]] = [
    ("Rain.", ["Rain.", "Rain."]),
    (ScriptedAnswer(text="Rain."), ["Rain.", "Rain."]),
    (["Rain.", ScriptedAnswer(text=["S", "un."])], ["Rain.", "Sun."]),
    ({1: "Sun."}, ["Answer-0", "Sun."]),
    (lambda request: f"{request.number}: {request.messages[-1]['content']}", ["0: When", "1: When"]),
]


@pytest.mark.parametrize(("plan", "texts"), PLANS)
async def test_plans(client: httpx.AsyncClient, plan: Plan, texts: list[str]) -> None:
    async with ScriptedServer(plan) as server:
        got = [(await heard(client, server)).choice().text for _ in texts]
    assert all(text.startswith(wanted) for text, wanted in zip(got, texts, strict=True)), got


async def test_a_stream_and_an_object_say_the_same(client: httpx.AsyncClient) -> None:
    answer = ScriptedAnswer(
        text="The tide is out.", reasoning="Let me look.", tool_calls=[TIDE], usage={"prompt_tokens": 7}
    )
    async with ScriptedServer(answer) as server:
        for asked in ({}, {"n": 2}, {"logprobs": True}, {"n": 3, "logprobs": True}):
            streamed = await heard(client, server, **asked)
            whole = read_reply((await ask(client, server, **asked)).content)
            assert streamed.choices == whole.choices
            assert streamed.usage == whole.usage == {"prompt_tokens": 7}
            assert len(whole.choices) == asked.get("n", 1)
    assert whole.choice().tool_calls == (TIDE,)
    assert (whole.choice().reasoning, whole.choice().finish_reason) == ("Let me look.", "tool_calls")


async def test_usage_is_streamed_when_asked_for(client: httpx.AsyncClient) -> None:
    async with ScriptedServer("One two three.", count_tokens=len) as server:
        assert (await heard(client, server)).usage is None
        usage = (await heard(client, server, stream_options={"include_usage": True})).usage
        assert usage == {"prompt_tokens": 30, "completion_tokens": 14, "total_tokens": 44}
        server.plan = ScriptedAnswer(usage=lambda request, text: {"prompt_tokens": len(request.body)})
        assert (await heard(client, server)).usage == {"prompt_tokens": len(server.requests[-1].body)}
        server.plan = ScriptedAnswer(usage=False)
        assert read_reply((await ask(client, server)).content).usage is None


async def test_older_completions_and_embeddings(client: httpx.AsyncClient) -> None:
    async with ScriptedServer("It rained.") as server:
        for stream in (True, False):
            response = await client.post(f"{server.base_url}/completions", json={"prompt": "x", "stream": stream})
            assert read_reply(response.content).choice().text == "It rained."
        vectors = (await client.post(f"{server.base_url}/embeddings", json={"input": ["a", "b", "a"]})).json()["data"]
        assert vectors[0]["embedding"] == vectors[2]["embedding"] != vectors[1]["embedding"]
        assert [request.path for request in server.others] == ["/v1/embeddings"]


async def test_the_log_has_what_arrived(client: httpx.AsyncClient) -> None:
    async with ScriptedServer() as server:

        async def in_chunks() -> AsyncIterator[bytes]:
            for byte in json.dumps(ASKED).encode():
                yield bytes([byte])

        address = f"{server.base_url}/chat/completions?a=b"
        await client.post(address, content=in_chunks(), headers={"X-Tide": "low", "Content-Type": "application/json"})
        request = await server.request(0)
        assert (request.method, request.path, request.json) == ("POST", "/v1/chat/completions?a=b", ASKED)
        assert request.headers["x-tide"] == "low"
        assert request.messages == ASKED["messages"]
        await client.post(f"{server.base_url}/chat/completions", content=b"{")
        assert server.requests[1].json is None


async def test_many_requests_on_one_connection_and_at_once(client: httpx.AsyncClient) -> None:
    async with ScriptedServer(ScriptedAnswer(chunk_wait_s=0.001, chunks=30)) as server:
        replies = await asyncio.gather(*(heard(client, server) for _ in range(60)))
        assert len({reply.choice().text for reply in replies}) == 60
        assert all(reply.whole for reply in replies)
        assert server.most_running > 5
        await server.idle()
        assert server.running == 0
        assert len(server.connections) <= 60
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = json.dumps(ASKED).encode()
        one = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n" % len(body)
        writer.write(one + b"\r\n" + body + one + b"Connection: close\r\n\r\n" + body)
        assert (await reader.read()).count(b"200 OK") == 2
        writer.close()
        await writer.wait_closed()


async def test_held_until_the_test_lets_go(client: httpx.AsyncClient) -> None:
    head, third = asyncio.Event(), asyncio.Event()
    async with ScriptedServer(ScriptedAnswer(text=["a", "b", "c"], hold={-1: head, 2: third})) as server:
        asking = asyncio.create_task(heard(client, server))
        request = await server.request(0)
        assert (server.running, request.sent_chunks) == (1, 0)
        head.set()
        await request.sent(2)
        assert not asking.done()
        third.set()
        assert (await asking).choice().text == "abc"


@pytest.mark.parametrize(
    "plan", [ScriptedAnswer(never=True), ScriptedAnswer(hold={2: asyncio.Event()}), ScriptedAnswer(endless=True)]
)
async def test_a_client_that_goes_away(client: httpx.AsyncClient, plan: ScriptedAnswer) -> None:
    async with ScriptedServer(plan) as server:
        asking = asyncio.create_task(heard(client, server))
        request = await server.request(0)
        await asyncio.sleep(0.01)
        asking.cancel()
        assert await request.ended() == "gone"
        assert request.ended_at is not None and request.ended_at >= request.arrived_at
        await server.idle()


async def test_an_endless_stream_waits_for_its_reader(client: httpx.AsyncClient) -> None:
    async with ScriptedServer(ScriptedAnswer(endless=True)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1_000)
        body = json.dumps(STREAMED).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await reader.readuntil(b"\r\n\r\n")
        request = await server.request(0)
        before = -1
        while before != request.sent_bytes:
            before = request.sent_bytes
            await asyncio.sleep(0.05)
        assert request.sent_bytes < 20_000_000
        writer.transport.abort()
        assert await request.ended() == "gone"


BROKEN = {
    "after chunks": (ScriptedAnswer(text=["a", "b", "c"], cut_chunks=2), "ab"),
    "after the head": (ScriptedAnswer(cut_chunks=0), ""),
    "inside a character": (ScriptedAnswer(text=["ab", "é"], cut_bytes=300), "ab"),
    "after all but the end": (ScriptedAnswer(text="ab", cut_bytes=100_000), "ab"),
    "by a reset": (ScriptedAnswer(text=["a", "b", "c"], cut_chunks=2, chunk_wait_s=0.01, reset=True), "ab"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_connections_that_break(client: httpx.AsyncClient, how: str) -> None:
    answer, text = BROKEN[how]
    async with ScriptedServer(answer) as server:
        got = await heard(client, server)
        assert got.choice().text == text
        assert await server.requests[0].ended() == "cut"
        with pytest.raises(httpx.HTTPError):
            async with client.stream("POST", f"{server.base_url}/chat/completions", json=STREAMED) as response:
                await response.aread()


@pytest.mark.parametrize("reset", [True, False])
async def test_a_connection_that_breaks_before_the_head(client: httpx.AsyncClient, reset: bool) -> None:
    async with ScriptedServer(ScriptedAnswer(cut_chunks=-1, reset=reset)) as server:
        with pytest.raises(httpx.ReadError if reset else httpx.RemoteProtocolError):
            await ask(client, server)


async def test_a_whole_answer_that_is_cut(client: httpx.AsyncClient) -> None:
    async with ScriptedServer(ScriptedAnswer(cut_bytes=20)) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(client, server)


@pytest.mark.parametrize("pieces", [1, 7, (3, 50, 51)])
async def test_pieces_that_fall_anywhere(client: httpx.AsyncClient, pieces: Any) -> None:
    async with ScriptedServer(ScriptedAnswer(text="čaj 🦊 東京", piece_bytes=pieces)) as server:
        assert (await heard(client, server)).choice().text == "čaj 🦊 東京"
        if pieces == 1:
            assert server.requests[0].sent_chunks == server.requests[0].sent_bytes


async def test_errors_in_the_stream(client: httpx.AsyncClient) -> None:
    for event in (False, True):
        answer = ScriptedAnswer(text=["a", "b", "c"], error_after=2, error={"message": "Out."}, error_event=event)
        async with ScriptedServer(answer) as server:
            got = await heard(client, server)
            assert (got.choice().text, got.error, got.done) == ("ab", {"message": "Out."}, True)
            assert read_reply((await ask(client, server)).content).error == {"message": "Out."}


async def test_refusals_and_odd_bodies(client: httpx.AsyncClient) -> None:
    plan = [
        refused(429, retry_after="7"), refused(400, "No.", code="bad"), ScriptedAnswer(status=503), web_page(),
        redirect("http://127.0.0.1:9/"), ScriptedAnswer(body={"a": 1}),
        ScriptedAnswer(body=b"\xff", content_type="x/y"), ScriptedAnswer(status=599),
    ]  # fmt: skip
    async with ScriptedServer(plan) as server:
        got = [await ask(client, server) for _ in plan]
    assert [response.status_code for response in got] == [429, 400, 503, 200, 307, 200, 200, 599]
    assert got[0].headers["retry-after"] == "7"
    assert got[1].json()["error"] == {"message": "No.", "type": "invalid_request_error", "param": None, "code": "bad"}
    assert got[2].json()["error"]["type"] == "server_error"
    assert "<h1>" in got[3].text
    assert got[4].headers["location"] == "http://127.0.0.1:9/"
    assert (got[5].json(), got[6].content, got[6].headers["content-type"]) == ({"a": 1}, b"\xff", "x/y")


async def test_what_is_far_too_large(client: httpx.AsyncClient) -> None:
    async with ScriptedServer([gzip_bomb(3_000_000), long_line(3_000_000)]) as server:
        async with client.stream("POST", f"{server.base_url}/chat/completions", json=ASKED) as response:
            packed = b"".join([piece async for piece in response.aiter_raw()])
        assert len(packed) < 20_000
        assert gzip.decompress(packed) == b" " * 3_000_000
        got = await heard(client, server)
        assert (got.junk, got.choices) == (1, ())
        assert server.requests[1].sent_bytes == 3_000_006


async def test_a_window_that_is_kept_and_one_that_is_cut(client: httpx.AsyncClient) -> None:
    long = {"messages": [{"role": "user", "content": "x " * 3_000}]}
    async with ScriptedServer(window_tokens=1_000, on_overflow="refuse") as server:
        response = await ask(client, server, **long)
        assert (response.status_code, response.json()["error"]["n_ctx"]) == (400, 1_000)
        model = OpenAICompatibleModel(server.base_url, "small")
        failure = await model.ask(ModelRequest("", "x " * 3_000, 10))
        assert isinstance(failure, ModelFailure)
        assert (failure.kind, failure.window_tokens) == (FailureKind.OVERFLOW, 1_000)
        assert isinstance(await model.ask(ModelRequest("", "x", 10)), ModelReply)
        await model.close()
    async with ScriptedServer(window_tokens=1_000, on_overflow="cut") as server:
        assert (await ask(client, server, **long)).json()["usage"]["prompt_tokens"] == 1_000


KINDS: list[tuple[ServerKind, int | None, str | None]] = [
    ("openai", None, None),
    ("llama.cpp", 4_096, "/props"),
    ("ollama", 4_096, "/api/ps"),
    ("lm studio", 4_096, "/api/v0/models"),
    ("koboldcpp", 4_096, "/api/extra/true_max_context_length"),
    ("vllm", 4_096, "/models"),
    ("openrouter", 4_096, "/models"),
]


@pytest.mark.parametrize(("kind", "window", "told_by"), KINDS)
async def test_each_kind_tells_its_window_at_its_own_door(
    kind: ServerKind, window: int | None, told_by: str | None
) -> None:
    async with ScriptedServer(kind=kind, window_tokens=4_096, model="small") as server:
        model = OpenAICompatibleModel(server.base_url, "small")
        known = await model.describe(probe_schema=False)
        await model.close()
        assert (known["window_tokens"], known["window_from"]) == (window, told_by)
        assert known["models"] == ["small"]


async def test_ollama_that_runs_nothing_and_llama_cpp_with_slots(client: httpx.AsyncClient) -> None:
    async with ScriptedServer(
        kind="ollama", window_tokens=2_048, doors={"/api/ps": ScriptedAnswer(body={"models": []})}
    ) as server:
        model = OpenAICompatibleModel(server.base_url, "small")
        assert (await model.describe(probe_schema=False))["window_from"] == "/api/show"
        await model.close()
    hold = asyncio.Event()
    async with ScriptedServer(ScriptedAnswer(hold={1: hold}), kind="llama.cpp") as server:
        asking = asyncio.create_task(heard(client, server))
        await (await server.request(0)).sent(1)
        assert (await client.get(f"{server.origin}/slots")).json()[0]["is_processing"]
        hold.set()
        await asking
        assert not (await client.get(f"{server.origin}/slots")).json()[0]["is_processing"]


async def test_a_key(client: httpx.AsyncClient) -> None:
    async with ScriptedServer(api_key="sesame") as server:
        assert (await ask(client, server)).status_code == 401
        assert (await client.get(f"{server.base_url}/models")).status_code == 401
        client.headers["Authorization"] = "Bearer sesame"
        assert (await ask(client, server)).status_code == 200
        assert (await client.get(f"{server.base_url}/models")).status_code == 200
        assert (await client.get(f"{server.base_url}/nothing")).status_code == 404


async def test_what_is_not_http_is_not_waited_for() -> None:
    async with ScriptedServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"\x16\x03\x01\x02\x00\x01")  # how a client says hello that wants TLS
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_the_log_can_be_kept_short(client: httpx.AsyncClient) -> None:
    async with ScriptedServer(keep=2) as server:
        for _ in range(5):
            await ask(client, server)
        assert [request.number for request in server.requests][-2:] == [3, 4]
        assert len(server.requests) <= 4
        assert (await server.request(4)).number == 4
        await server.close()


async def test_by_itself() -> None:
    command = [
        sys.executable,
        "-m",
        "previously.testing",
        "--delay-ms",
        "0",
        "--chunks",
        "5",
        "--window",
        "2048",
    ]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().strip()
        async with httpx.AsyncClient(trust_env=False) as client:
            response = await client.post(f"{address}/chat/completions", json=STREAMED)
            assert read_reply(response.content).whole
            assert response.content.count(b'"content"') == 5
    finally:
        process.terminate()
        await process.wait()
