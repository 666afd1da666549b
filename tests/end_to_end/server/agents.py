"""A coding agent as the proxy's client, in each of the interfaces: it is asked for something, calls tools, gives their
results back, and sends all of its history every time."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from previously import Memory, ScriptedAnswer, ScriptedServer
from previously.core.messages import ToolCall
from previously.testing import ServedRequest
from previously.wire.interface import CHAT, INTERFACES, MESSAGES, RESPONSES
from tests.effort import mark_slow
from tests.end_to_end.server.running import SETTLING_S, Rig, running_proxy

RULE = "You mend the bridge. Never push to main."
STEPS = 7
"""After so many answers, one calls nothing and the user asks for something else."""


def work(request: ServedRequest) -> ScriptedAnswer:
    """What the model answers: it thinks, says a word, and calls one tool or two at a time."""
    number = request.number
    if number % STEPS == STEPS - 1:
        return ScriptedAnswer(text=f"Part {number} of the bridge is mended.")
    calls = [
        ToolCall(f"call_{number}_{at}", "read", json.dumps({"path": f"src/part_{number}_{at}.py"}))
        for at in range(1 + number % 2)
    ]
    thought = f"The stones of part {number} are loose."
    return ScriptedAnswer(text=f"I look at part {number}.", reasoning=thought, tool_calls=calls)


@asynccontextmanager
async def agents_rig(
    folder: Path, *, window: int | None, upstream: dict[str, Any], **options: Any
) -> AsyncIterator[Rig]:
    """A proxy that folds by itself, before an upstream that refuses what the official APIs refuse."""
    async with (
        ScriptedServer(work, strict=True, **upstream) as server,
        running_proxy(server.base_url, db=folder / "stories.db", window=window, memory="builtin", idle_s=0.05) as proxy,
    ):
        yield Rig(server, proxy)
        assert "Traceback" not in proxy.written(), proxy.written()


async def folded(db: Path) -> None:
    """Wait until there is a story, and something of it is remembered."""
    last = time.monotonic() + SETTLING_S
    async with await Memory.open(db) as memory:
        while time.monotonic() < last:
            for info in await memory.stories():
                if await (await memory.story(info.name)).recap():
                    return
            await asyncio.sleep(0.05)
    raise AssertionError("Nothing was folded.")


class Agent:
    """Speaks one of the interfaces."""

    def __init__(self, base_url: str, client: httpx.AsyncClient, dialect: str, name: str = "") -> None:
        """With a name, its story and its model are called so."""
        self.address = f"{base_url}/{INTERFACES[dialect].path}"
        self.client = client
        self.model = name or "small"
        self.dialect = INTERFACES[dialect]
        self.history: list[dict[str, Any]] = []
        self.headers = {"X-Previously-Story": name} if name else {}
        self.calls: list[dict[str, Any]] = []
        self.results = 60
        """How many words a tool gives back."""

    def asks(self, text: str, *others: dict[str, Any]) -> dict[str, Any]:
        """The user asks for something; what is put into the history for it."""
        message = {"role": "user", "content": [*others, self.dialect.write_text_part(text)]}
        self.history.append(message)
        return message

    def body(self, **fields: Any) -> dict[str, Any]:
        """The next request."""
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        if self.dialect is MESSAGES:
            system = [{"type": "text", "text": RULE, "cache_control": {"type": "ephemeral"}}]
            tools: dict[str, Any] = {"name": "read", "input_schema": schema}
            given: dict[str, Any] = {"system": system, "messages": list(self.history), "max_tokens": 200}
        elif self.dialect is RESPONSES:
            tools = {"type": "function", "name": "read", "parameters": schema}
            given = {"instructions": RULE, "input": list(self.history), "max_output_tokens": 200}
        else:
            tools = {"type": "function", "function": {"name": "read", "parameters": schema}}
            system = [{"role": "system", "content": RULE}]
            given = {"messages": [*system, *self.history], "max_tokens": 200}
        return {"model": self.model, **given, "tools": [tools], **fields}

    async def post(self, **fields: Any) -> httpx.Response:
        """Send the next request; nothing becomes of the answer."""
        headers = {"anthropic-version": "2023-06-01"} if self.dialect is MESSAGES else {}
        return await self.client.post(self.address, json=self.body(**fields), headers={**self.headers, **headers})

    def goes_on(self, other: Agent) -> Agent:
        """The same with the history of another."""
        self.history, self.calls = copy.deepcopy(other.history), list(other.calls)
        return self

    async def step(self) -> httpx.Response:
        """Send the history; the answer becomes part of it, and so do the results of its calls."""
        response = await self.post()
        assert response.status_code == 200, response.text
        self._take(response.json())
        return response

    async def works(self, steps: int) -> list[dict[str, Any]]:
        """So many answers one after the other; the user asks for something whenever there is nothing left to do. The
        newest request at each step."""
        asked: list[dict[str, Any]] = []
        for step in range(steps):
            if not self.calls:
                self.asks(f"Request {len(self.history)}: mend the next part, and keep the toll at {step} pence.")
            await self.step()
            asked.append(self.asked)
        return asked

    @property
    def asked(self) -> dict[str, Any]:
        """The newest message of the user."""
        return next(
            one for one in reversed(self.history) if one.get("role") == "user" and "tool_result" not in str(one)
        )

    def _take(self, answer: dict[str, Any]) -> None:
        output = "stone " * self.results
        if self.dialect is MESSAGES:
            self.history.append({"role": "assistant", "content": answer["content"]})
            self.calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": output} for call in self.calls]
            self.history += [{"role": "user", "content": results}] if results else []
        elif self.dialect is RESPONSES:
            self.history += answer["output"]
            self.calls = [item for item in answer["output"] if item["type"] == "function_call"]
            kind = "function_call_output"
            self.history += [{"type": kind, "call_id": call["call_id"], "output": output} for call in self.calls]
        else:
            message = answer["choices"][0]["message"]
            message.pop("reasoning_content", None)
            self.history.append(message)
            self.calls = message.get("tool_calls") or []
            self.history += [{"role": "tool", "tool_call_id": call["id"], "content": output} for call in self.calls]


def sent_list(request: ServedRequest) -> list[dict[str, Any]]:
    """The messages or items that reached the upstream."""
    found: list[dict[str, Any]] = request.json.get("messages") or request.json["input"]
    return found


def holds(request: ServedRequest, message: dict[str, Any]) -> bool:
    """Whether a message reached the upstream with all that it was sent with, and nothing but recalled passages more."""
    for one in sent_list(request):
        content = one.get("content")
        if one.get("role") != message["role"] or not isinstance(content, list):
            continue
        own = [part for part in content if "<recalled " not in str(part.get("text"))]
        if own == message["content"] and {**one, "content": own} == message:
            return True
    return False


ALL = [CHAT.name, MESSAGES.name, RESPONSES.name]
FIRST = [CHAT.name, *mark_slow(MESSAGES.name, RESPONSES.name, reason="the same in another interface")]
"""All interfaces, for tests that are too long to run in each of them every time."""
