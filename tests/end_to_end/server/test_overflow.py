"""A request that was too long for the model is sent once more, folded, and what the user asked last is untouched."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from previously import ScriptedAnswer
from previously.wire.interface import INTERFACES
from tests.end_to_end.server.agents import ALL, FIRST, STEPS, Agent, agents_rig, holds, sent_list, work
from tests.end_to_end.server.running import Rig, stories_with

pytestmark = pytest.mark.asyncio(loop_scope="module")

Talking = Callable[[str], Agent]

WINDOW = 1_500
"""What the upstream reads; the proxy was told of four times as much."""

TOO_LONG: dict[str, tuple[int, Any]] = {
    "Anthropic": (400, {"type": "error", "error": {"message": "prompt is too long: 9000 tokens > 1500 maximum"}}),
    "Anthropic, in bytes": (413, {"type": "error", "error": {"type": "request_too_large", "message": "Too large"}}),
    "Bedrock": (400, {"message": "Input is too long for requested model."}),
    "Cerebras": (400, b""),
    "nginx": (413, "<html>413 Request Entity Too Large</html>"),
    "OpenAI": (400, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}),
    "OpenRouter": (200, {"error": {"code": 400, "message": "This endpoint's maximum context length is 1500 tokens."}}),
    "vLLM": (422, {"object": "error", "message": "This model's maximum context length is 1500 tokens."}),
}  # fmt: skip
OTHERS: list[tuple[int, Any]] = [
    (400, {"error": {"message": "Unknown field"}}),
    (401, {"error": {"message": "The prompt is too long for this key"}}),
    (429, {"error": {"message": "Rate limit: too many tokens per min"}}),
    (500, {"error": {"message": "The model is gone"}}),
]


def first_then_work(answer: ScriptedAnswer, at: int) -> Any:
    """The plan in which one request is answered otherwise."""
    return lambda request: answer if request.number == at else work(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    async with agents_rig(tmp_path_factory.mktemp("overflow"), window=8_000, upstream={}) as rig:
        yield rig


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def histories(shared_rig: Rig) -> dict[str, Agent]:
    """For each interface an agent that has worked for a while, without the proxy."""
    found = {dialect: Agent(shared_rig.upstream.base_url, shared_rig.client, dialect) for dialect in ALL}
    for agent in found.values():
        shared_rig.upstream.new_plan(work)
        await agent.works(3 * STEPS)
    return found


@pytest.fixture
def long_talk(rig: Rig, histories: dict[str, Agent]) -> Callable[[str], Agent]:
    """An agent with a long history, in a story of its own, with a model of its own."""

    def made(dialect: str) -> Agent:
        return Agent(rig.proxy.base_url, rig.client, dialect, secrets.token_hex(4)).goes_on(histories[dialect])

    return made


@pytest.mark.parametrize("dialect", FIRST)
async def test_the_window_is_learned_from_what_the_server_says(dialect: str, tmp_path: Path) -> None:
    upstream = {"window_tokens": WINDOW, "on_overflow": "refuse"}
    async with agents_rig(tmp_path, window=4 * WINDOW, upstream=upstream) as rig:
        agent = Agent(rig.proxy.base_url, rig.client, dialect)
        asked = await agent.works(5 * STEPS)
        assert rig.upstream.faults == []
        twice = len(rig.upstream.requests) - 5 * STEPS
        assert 1 <= twice <= 2, "what was learned is kept"
        assert holds(rig.upstream.requests[-1], asked[-1])
        assert rig.proxy.written().count("sent once more") == twice


@pytest.mark.parametrize("server", TOO_LONG)
@pytest.mark.parametrize("dialect", ALL)
async def test_what_servers_say(dialect: str, server: str, rig: Rig, long_talk: Talking) -> None:
    status, body = TOO_LONG[server]
    agent = long_talk(dialect)
    kind = "text/html" if isinstance(body, str) else None
    refusal = ScriptedAnswer(status=status, body=body, content_type=kind)
    rig.upstream.new_plan(first_then_work(refusal, 0))
    message = agent.asks("Mend the last part, and paint none of it.")
    response = await agent.step()
    first, second = rig.upstream.requests
    assert holds(first, message) and holds(second, message)
    assert len(second.body) < 0.8 * len(first.body)
    assert sent_list(second)[-1] == sent_list(first)[-1], "and nothing is said in the user's name"
    assert rig.upstream.faults == []
    assert response.headers["x-previously-memory"] == "on"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ALL)
async def test_if_it_is_too_long_still_the_client_hears_what_the_server_says(
    dialect: str, stream: bool, rig: Rig, long_talk: Talking
) -> None:
    agent = long_talk(dialect)
    words = {"error": {"message": "prompt is too long", "who": "the provider"}}
    rig.upstream.new_plan(ScriptedAnswer(status=413, body=words, headers={"x-request-id": "r-7"}))
    agent.asks("Mend the last part.")
    response = await agent.post(stream=stream)
    assert (response.status_code, response.json(), response.headers["x-request-id"]) == (413, words, "r-7")
    assert len(rig.upstream.requests) == 2, "twice, and not again"


@pytest.mark.parametrize(("status", "body"), OTHERS)
async def test_nothing_else_is_sent_twice(status: int, body: Any, rig: Rig, long_talk: Talking) -> None:
    agent = long_talk("chat")
    rig.upstream.new_plan(ScriptedAnswer(status=status, body=body))
    agent.asks("Mend the last part.")
    response = await agent.post()
    assert (response.status_code, response.json()) == (status, body)
    assert len(rig.upstream.requests) == 1


def failed_stream(dialect: str) -> ScriptedAnswer:
    """A stream in which it is said, before anything else, that the request was too long."""
    error: dict[str, Any] = {"code": "context_length_exceeded", "message": "Your input exceeds the context window."}
    if dialect == "responses":
        created = {"type": "response.created", "response": {"id": "r", "model": "small", "output": []}}
        failed = {"type": "response.failed", "response": {"status": "failed", "error": error, "output": []}}
        events = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in (created, failed)]
    elif dialect == "messages":
        events = [f"event: error\ndata: {json.dumps({'type': 'error', 'error': error})}\n\n"]
    else:
        events = [": PROCESSING\n\n", f"data: {json.dumps({'error': error})}\n\n"]
    return ScriptedAnswer(content_type="text/event-stream", body=lambda: (one.encode() for one in events))


@pytest.mark.parametrize("dialect", ALL)
async def test_it_may_be_said_in_a_stream_before_anything_else_is(dialect: str, rig: Rig, long_talk: Talking) -> None:
    agent = long_talk(dialect)
    rig.upstream.new_plan(first_then_work(failed_stream(dialect), 0))
    message = agent.asks("Mend the last part.")
    response = await agent.post(stream=True)
    assert response.status_code == 200
    assert b"context_length_exceeded" not in response.content
    reader = INTERFACES[dialect].open_reader()
    reader.feed(response.content)
    assert reader.finish().choice().text == "I look at part 1."
    first, second = rig.upstream.requests
    assert holds(second, message)
    assert len(second.body) < len(first.body)


async def test_an_answer_that_was_begun_is_never_asked_for_again(rig: Rig, long_talk: Talking) -> None:
    agent = long_talk("chat")
    error = {"message": "Context size has been exceeded."}
    rig.upstream.new_plan(ScriptedAnswer(text="One two three", error_after=2, error=error))
    agent.asks("Mend the last part.")
    response = await agent.post(stream=True)
    assert b"One" in response.content and b"Context size" in response.content
    assert len(rig.upstream.requests) == 1


def picture(dialect: str, name: str) -> dict[str, Any]:
    data = f"data:image/png;base64,{name}"
    shapes: dict[str, dict[str, Any]] = {
        "chat": {"type": "image_url", "image_url": {"url": data}},
        "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": name}},
        "responses": {"type": "input_image", "image_url": data},
    }
    return shapes[dialect]


@pytest.mark.parametrize("dialect", ALL)
async def test_older_pictures_become_words(dialect: str, rig: Rig) -> None:
    agent = Agent(rig.proxy.base_url, rig.client, dialect, secrets.token_hex(4))
    agent.asks("What is in this picture?", picture(dialect, "AAAAold="))
    await agent.works(STEPS)
    too_long = ScriptedAnswer(status=413, body={"error": {"type": "request_too_large"}})
    rig.upstream.new_plan(first_then_work(too_long, 0))
    message = agent.asks("And in this one?", picture(dialect, "BBBBnew="))
    await agent.step()
    first, second = rig.upstream.requests
    assert b"AAAAold=" in first.body
    assert b"AAAAold=" not in second.body
    assert holds(second, message)
    assert b"BBBBnew=" in second.body
    assert rig.upstream.faults == []


@pytest.mark.parametrize("dialect", ALL)
async def test_without_memory_the_oldest_are_cut_and_pairs_stay_whole(
    dialect: str, rig: Rig, long_talk: Talking
) -> None:
    """Asides are no part of a story: the client's own list is cut."""
    agent = long_talk(dialect)
    agent.headers["X-Previously-Kind"] = "aside"
    message = agent.asks("What is left to do?")
    too_long = ScriptedAnswer(status=413, body={"error": {"type": "request_too_large"}})
    rig.upstream.new_plan(first_then_work(too_long, 0))
    response = await agent.post()
    first, second = rig.upstream.requests
    assert response.headers["x-previously-memory"] == "off"
    assert 0.3 * len(first.body) < len(second.body) < 0.85 * len(first.body)
    assert holds(second, message)
    assert rig.upstream.faults == []


@pytest.mark.slow(reason="a proxy of its own")
async def test_an_answer_after_the_second_time_is_kept_once(rig: Rig, long_talk: Talking) -> None:
    agent = long_talk("messages")
    rig.upstream.new_plan(first_then_work(ScriptedAnswer(status=413, body=b""), 0))
    agent.asks("Overflow kept: mend the last part.")
    await agent.step()
    (path,) = (await stories_with(rig.proxy.db, "Overflow kept")).values()
    assert path[-2:] == [("user", "Overflow kept: mend the last part."), ("assistant", "I look at part 1.")]
