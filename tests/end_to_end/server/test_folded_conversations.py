"""Folded conversations are taken by the official APIs: by what refuses all that they refuse, and through their own
clients."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from previously import ScriptedAnswer, ScriptedServer, fold_conversation_async
from previously.core.messages import Role
from previously.formats.conversations import Conversation, Dialect, parse_conversation, read_conversation
from previously.testing.request_faults import find_anthropic_faults, find_chat_faults, find_responses_faults
from previously.wire.anthropic_request import to_anthropic
from previously.wire.chat import to_openai
from previously.wire.responses import to_responses
from tests.effort import cases
from tests.unit.folds.conversation.conversations import conversation

DATA = Path(os.environ.get("PREVIOUSLY_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data")
SAMPLES = sorted(path for path in (DATA / "agents").rglob("*") if path.is_file())
BATCH, BATCHES = cases(25, quick=10), 12


async def written(given: Any, to: str, **how: Any) -> dict[str, Any]:
    """The body that a client would send on."""
    done = await fold_conversation_async(given, to=to, **how)
    body: dict[str, Any] = {"model": "m", ("input" if to == "responses" else "messages"): done.messages}
    if to == "anthropic":
        body["max_tokens"] = 99
    if done.system:
        body["system"] = done.system
    return body


def faults(body: dict[str, Any], to: str) -> list[str]:
    if to == "openai":
        return find_chat_faults(body["messages"])
    return find_anthropic_faults(body) if to == "anthropic" else find_responses_faults(body["input"])


def can_be_sent(given: Conversation) -> bool:
    """Whether there is anything that a model could answer."""
    return any(message.role is not Role.SYSTEM and message.text.strip() for message in given.messages)


@pytest.mark.random
@pytest.mark.parametrize("batch", range(BATCHES))
async def test_random_conversations(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        chance = Random(seed)
        messages = conversation(seed)
        came: dict[str, Any] = {
            "openai": [one for message in messages for one in to_openai(message)],
            "anthropic": to_anthropic(messages),
            "responses": to_responses(messages),
        }
        source = chance.choice(list(came))
        if not came[source] or not can_be_sent(parse_conversation(came[source])):
            continue
        for to in Dialect:
            budget = chance.choice([None, 1_000, 4_000, 20_000])
            body = await written(came[source], to, budget=budget, tail_turns=chance.choice([0, 1, 2]))
            assert faults(body, to) == [], (seed, source, to)


@pytest.mark.skipif(not SAMPLES, reason="PREVIOUSLY_DATA names no folder with agents' transcripts")
@pytest.mark.parametrize("to", Dialect)
async def test_real_conversations(to: str) -> None:
    for path in SAMPLES:
        given = read_conversation(path)
        for budget in (None, 2_500, 6_000):
            assert faults(await written(given, to, budget=budget), to) == [], path.name


async def test_the_official_clients_send_them() -> None:
    anthropic, openai = pytest.importorskip("anthropic"), pytest.importorskip("openai")
    async with ScriptedServer(lambda _: ScriptedAnswer(text="Going on."), strict=True) as server:
        claude = anthropic.AsyncAnthropic(base_url=server.base_url.removesuffix("/v1"), api_key="sk-ant", max_retries=0)
        gpt = openai.AsyncOpenAI(base_url=server.base_url, api_key="sk", max_retries=0)
        sent = 0
        async with claude, gpt:
            for seed in range(12):
                given = [one for message in conversation(seed) for one in to_openai(message)]
                if not given or not can_be_sent(parse_conversation(given)):
                    continue
                body = await written(given, "anthropic", budget=4_000)
                assert (await claude.messages.create(**body)).content[0].text == "Going on."
                body = await written(given, "openai", budget=4_000)
                assert (await gpt.chat.completions.create(**body)).choices[0].message.content == "Going on."
                body = await written(given, "responses", budget=4_000)
                assert (await gpt.responses.create(**body)).output_text == "Going on."
                sent += 3
        assert sent >= 15
        assert server.faults == []
