"""A model that is named over HTTP: it writes on and folds, and chats of clients go to its server from then on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import httpx
import pytest

from previously import Memory, ScriptedServer
from previously.core.model_io import ModelReply
from previously.models.endpoint import parse_endpoint
from previously.runtime.keys import LOCAL_OWNER
from previously.server.app import Proxy, ServerOptions, make_app
from previously.server.model_choice import WORD, ChosenModel
from previously.testing import ScriptedAnswer

OPENED = ServerOptions(None, page_first=True, upstream_is_model=True, memory="builtin", idle_s=3_600.0)
"""A server as `previously open` starts it, without a model."""

CHAT = {"model": "small", "messages": [{"role": "user", "content": "Is the ferry in?"}]}


@pytest.fixture(autouse=True)
def _keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREVIOUSLY_CONFIG", "")


async def open_client(options: ServerOptions) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(make_app(await Memory.open(":memory:"), options), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=options.origin, trust_env=False)


async def test_a_model_that_is_named_is_behind_the_proxy_at_once() -> None:
    async with (
        ScriptedServer("It is in.") as first,
        ScriptedServer("Not yet.") as second,
        await open_client(OPENED) as client,
    ):
        refused = await client.post("/v1/chat/completions", json=CHAT)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "no_upstream")
        assert (await client.get("/api/v1/server")).json()["proxy"] is None
        for server, says in ((first, "It is in."), (second, "Not yet.")):
            named = {"endpoint": server.base_url, "model": "small", "key": "sk-mine"}
            assert (await client.put("/api/v1/model", json=named)).status_code == 200
            answer = await client.post("/v1/chat/completions", json=CHAT, headers={"Authorization": "Bearer sk-theirs"})
            assert answer.json()["choices"][0]["message"]["content"] == says
            assert server.requests[-1].headers["authorization"] == "Bearer sk-mine", "another server's key stays here"
            facts = (await client.get("/api/v1/server")).json()
            assert facts["proxy"] == f"{OPENED.origin}/v1"
            assert facts["upstream"] == parse_endpoint(server.base_url).shown


async def test_an_upstream_that_was_named_stays() -> None:
    async with ScriptedServer("It is in.") as upstream, ScriptedServer("Not yet.") as other:
        options = replace(OPENED, upstream=parse_endpoint(upstream.base_url), upstream_is_model=False)
        async with await open_client(options) as client:
            named = {"endpoint": other.base_url, "model": "small"}
            assert (await client.put("/api/v1/model", json=named)).status_code == 200
            answer = await client.post("/v1/chat/completions", json=CHAT)
            assert answer.json()["choices"][0]["message"]["content"] == "It is in."


async def test_another_model_is_one_of_the_server_that_was_named_last() -> None:
    async with ScriptedServer("It rained.") as first, ScriptedServer("It rained.") as second:
        proxy = Proxy(await Memory.open(":memory:"), OPENED, None, has_model=False)
        for server in (first, second):
            await proxy.use_model(ChosenModel(server.base_url, "small", ""))
            story = await proxy.memory.story("tale")
            for number in range(80):
                await story.add("user", f"I came to Lethen on day {number}, and it rained.", name="Ines")
            await (await proxy.open_to_fold(LOCAL_OWNER, "tale", "large")).fold()
            assert {request.json["model"] for request in server.requests} == {"large"}
        await proxy.close()


async def wait_until_gone(server: ScriptedServer) -> None:
    await asyncio.wait_for(asyncio.gather(*(connection.lost for connection in server.connections)), 10)


async def test_connections_to_a_former_model_are_closed_behind_what_is_under_way() -> None:
    goes_on = asyncio.Event()
    answer = ScriptedAnswer(text="It is in.", hold={-1: goes_on})
    async with ScriptedServer(answer) as first, ScriptedServer("Not yet.") as second:
        proxy = Proxy(await Memory.open(":memory:"), OPENED, None, has_model=False)
        await proxy.use_model(ChosenModel(first.base_url, "small", ""))
        model = proxy.memory.model
        assert model is not None
        asked = asyncio.create_task(model.ask(WORD))
        passed_on = proxy.upstream.open_response("POST", "chat/completions", {}, json.dumps(CHAT).encode())
        chat = asyncio.create_task(passed_on.__aenter__())
        await first.changes.until(lambda: first.running == 2)
        await proxy.use_model(ChosenModel(second.base_url, "small", ""))
        assert not any(connection.lost.done() for connection in first.connections), "answers are under way"
        goes_on.set()
        reply = await asked
        assert isinstance(reply, ModelReply)
        assert reply.text == "It is in."
        assert "It is in." in (await (await chat).aread()).decode()
        await passed_on.__aexit__(None, None, None)
        await wait_until_gone(first)
        assert isinstance(await model.ask(WORD), ModelReply), "a fold that goes on may ask again"
        await wait_until_gone(first)
        await proxy.close()


async def test_connections_that_nobody_uses_are_closed_when_another_model_is_named() -> None:
    async with ScriptedServer("It is in.") as first, ScriptedServer("Not yet.") as second:
        proxy = Proxy(await Memory.open(":memory:"), OPENED, None, has_model=False)
        await proxy.use_model(ChosenModel(first.base_url, "small", ""))
        model = proxy.memory.model
        assert model is not None
        await model.ask(WORD)
        async with proxy.upstream.open_response("POST", "chat/completions", {}, json.dumps(CHAT).encode()) as response:
            await response.aread()
        assert len(first.connections) == 2
        await proxy.use_model(ChosenModel(second.base_url, "small", ""))
        await wait_until_gone(first)
        await proxy.close()
