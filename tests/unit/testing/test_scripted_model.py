"""The public double behaves like a server that says the same."""

from __future__ import annotations

import asyncio

from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.models.client import Model
from previously.models.retry import GiveUp, decide_retry
from previously.testing.model import NOTHING_LEFT, ScriptedModel

REQUEST = ModelRequest(system="Be brief.", user="Recap.", max_output_tokens=10)
DOWN = ModelFailure(FailureKind.CONNECTION, "No connection.")


async def test_one_text_always() -> None:
    model: Model = ScriptedModel("<think>hm</think>It rained.", name="tiny")
    for _ in range(2):
        reply = await model.ask(REQUEST)
        assert isinstance(reply, ModelReply)
        assert (reply.text, reply.reasoning, reply.model, reply.finish_reason) == ("It rained.", "hm", "tiny", "stop")
        assert not reply.usage.reported


async def test_one_answer_after_another() -> None:
    given = ModelReply("Rain.", "other", "length", Usage(1, 1, True))
    model = ScriptedModel([DOWN, given, "Sun."])
    assert await model.ask(REQUEST) is DOWN
    assert await model.ask(REQUEST) is given
    assert getattr(await model.ask(REQUEST), "text", None) == "Sun."
    assert await model.ask(REQUEST) is NOTHING_LEFT
    assert isinstance(decide_retry(NOTHING_LEFT, 1, jitter=0.0), GiveUp)
    assert model.requests == [REQUEST] * 4


async def test_a_function_of_the_request() -> None:
    model = ScriptedModel(lambda request: request.user.upper())
    assert getattr(await model.ask(REQUEST), "text", None) == "RECAP."


async def test_an_async_function_and_many_at_once() -> None:
    together = asyncio.Barrier(20)

    async def reply(request: ModelRequest) -> str | ModelFailure:
        await together.wait()
        return request.user if request.max_output_tokens % 2 else DOWN

    model = ScriptedModel(reply)
    replies = await asyncio.gather(*(model.ask(ModelRequest("", f"{n}", n)) for n in range(20)))
    assert [getattr(answer, "text", None) for answer in replies] == [f"{n}" if n % 2 else None for n in range(20)]
    assert len(model.requests) == 20
    await model.close()
    assert model.closed
    assert repr(model) == "ScriptedModel(name='scripted', requests=20)"
