"""Bodies that `previously serve` sends upstream, for what clients of each interface do.

The proxy runs as people run it, before a server that answers from a script. It never folds by itself here, since that
would depend on the clock: folds are made between two requests. Answers tell no usage, from which it would learn beside
the next request.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from previously import BadInput, Memory, ScriptedAnswer, ScriptedServer, read_story
from previously.core.messages import ToolCall
from previously.testing import ServedRequest
from previously.wire.chat import to_openai
from tests.end_to_end.server.running import Proxy, running_proxy
from tests.goldens.corpora import Corpus
from tests.goldens.memory_texts import Apart
from tests.goldens.normal_form import normalise, shorten

WINDOW_TOKENS = 6_000
"""Less than any of the stories but the shortest logs, so that memory stands for what is old."""

NEVER_S = 100_000.0
KEPT_WITHIN_S = 30.0
"""How long an answer may take to be stored; far above what it takes, for machines under load."""

SYSTEM = "You are the narrator of a tale by the sea."
TIDE = ToolCall("call_1", "tide", '{"port":"Ule"}')

DOORS = {"chat": "chat/completions", "messages": "messages", "responses": "responses"}
MODEL = {"model": "small"}

Body = dict[str, Any]


class Client:
    """A client that sends, waits until the answer is stored, and keeps what went upstream."""

    def __init__(self, proxy: Proxy, server: ScriptedServer, story: str) -> None:
        self.sent: dict[str, Body] = {}
        self.newest_answer = ""
        self._proxy = proxy
        self._server = server
        self._story = story
        server.new_plan(_answered)  # so that answers are numbered anew, whatever was asked before

    async def ask(self, step: str, door: str, body: Body) -> None:
        """Send a body to a door of the proxy, under the name of the story."""
        before = len(self._server.requests)
        response = await self._proxy.client.post(
            f"{self._proxy.base_url}/{DOORS[door]}", json=MODEL | body, headers={"X-Previously-Story": self._story}
        )
        assert response.status_code == 200, (self._story, step, response.text)
        upstream = self._server.requests[before:]
        self.sent[f"{len(self.sent) + 1} {step}"] = {
            "path": [request.path for request in upstream],
            "body": [request.json for request in upstream],
            "memory": response.headers.get("x-previously-memory"),
        }
        self.newest_answer = _answer_of(upstream[-1].number)
        await self._kept(response)

    async def fold(self) -> None:
        """Fold what is due, as the proxy would when nobody asks."""
        async with await Memory.open(self._proxy.db) as memory:
            await (await memory.story(self._story, create=False)).fold()

    async def _kept(self, response: httpx.Response) -> None:
        """Wait until all that a turn leaves behind is stored: the answer, how its view was made, and the index, which
        the proxy brings up beside the next request."""
        last = time.monotonic() + KEPT_WITHIN_S
        async with await Memory.open(self._proxy.db) as memory:
            while time.monotonic() < last:
                with suppress(BadInput):
                    story = await memory.story(self._story, create=False)
                    newest = await story.messages(-1, -1)
                    if newest[0].entry.message.text == self.newest_answer:
                        await story.why(-1)  # refused as long as nothing is known of the view
                        await story.search("anything")
                        return
                await asyncio.sleep(0.02)
        raise AssertionError(
            f"{self._story}: {self.newest_answer!r} was not stored; the client got {response.text[:200]}"
        )


async def take_upstream(corpora: list[Corpus], directory: Path, apart: Apart) -> dict[str, Any]:
    """Return what went upstream for each corpus, and for short scripted talks in each interface."""
    taken: dict[str, Any] = {}
    async with (
        ScriptedServer() as server,
        running_proxy(
            server.base_url, db=directory / "upstream.db", window=WINDOW_TOKENS, memory="builtin", idle_s=NEVER_S
        ) as proxy,
    ):
        for name, talk in TALKS.items():
            client = Client(proxy, server, f"talk {name}")
            await talk(client)
            taken[f"talk {name}"] = _structure(client, f"talk {name}", directory, apart)
        for corpus in corpora:
            client = Client(proxy, server, corpus.name)
            await _tell(client, _messages(corpus, directory))
            taken[corpus.name] = _structure(client, corpus.name, directory, apart)
    return taken


async def _tell(client: Client, told: list[Body]) -> None:
    """Send a story as its client does: all of it every time, then a swipe, an edit, a branch and one more turn."""
    front = {"role": "system", "content": SYSTEM}
    question = {"role": "user", "content": "What do we know of the key?"}
    history = [front, *told]
    await client.ask("first request", "chat", {"messages": [*history, question]})
    await client.fold()
    await client.ask("swipe", "chat", {"messages": [*history, question], "temperature": 0.7})
    history += [question, {"role": "assistant", "content": client.newest_answer}]
    again = {"role": "user", "content": "And then?"}
    await client.ask("next turn", "chat", {"messages": [*history, again]})
    edited = [*history]
    spoken = [at for at, one in enumerate(edited) if one["role"] != "system" and isinstance(one.get("content"), str)]
    edited[spoken[-3]] = {**edited[spoken[-3]], "content": "These words were changed by their author."}
    await client.ask("edit", "chat", {"messages": [*edited, again]})
    await client.fold()
    await client.ask("after the next fold", "chat", {"messages": [*edited, again]})
    await client.ask("shorter by two", "chat", {"messages": [*edited[:-2], again], "max_tokens": 300})


async def _chat(client: Client) -> None:
    messages: list[Body] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Where are we?"}]
    await client.ask("first request", "chat", {"messages": messages, "temperature": 0.5, "made_up_field": [1, None]})
    await client.ask("swipe", "chat", {"messages": messages})
    messages += [{"role": "assistant", "content": client.newest_answer}]
    messages += [{"role": "user", "content": [{"type": "text", "text": "And who is here?"}]}]
    await client.ask("parts and a stream", "chat", {"messages": messages, "stream": True})


async def _tools(client: Client) -> None:
    tools = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}]
    call = {"id": TIDE.id, "type": "function", "function": {"name": TIDE.name, "arguments": TIDE.arguments}}
    messages: list[Body] = [{"role": "user", "content": "When is high water?"}]
    await client.ask("question", "chat", {"messages": messages, "tools": tools})
    messages += [{"role": "assistant", "content": None, "tool_calls": [call]}]
    messages += [{"role": "tool", "tool_call_id": TIDE.id, "content": "at noon"}]
    await client.ask("result", "chat", {"messages": messages, "tools": tools})


async def _anthropic(client: Client) -> None:
    use = {"type": "tool_use", "id": TIDE.id, "name": TIDE.name, "input": {"port": "Ule"}}
    result = {"type": "tool_result", "tool_use_id": TIDE.id, "content": "at noon"}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCgIYAhIM"}
    fields = {"max_tokens": 100, "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
              "tools": [{"name": "tide", "input_schema": {"type": "object"}}]}  # fmt: skip
    messages: list[Body] = [{"role": "user", "content": "When is high water?"}]
    await client.ask("question", "messages", {**fields, "messages": messages})
    messages += [{"role": "assistant", "content": [thinking, {"type": "text", "text": "I look."}, use]}]
    messages += [{"role": "user", "content": [result]}]
    await client.ask("result", "messages", {**fields, "messages": messages})
    messages += [{"role": "assistant", "content": client.newest_answer}]
    messages += [{"role": "user", "content": "And low water?"}]
    await client.ask("next turn", "messages", {**fields, "messages": messages, "system": SYSTEM})


async def _responses(client: Client) -> None:
    call = {"type": "function_call", "call_id": TIDE.id, "name": TIDE.name, "arguments": TIDE.arguments}
    fields = {"instructions": SYSTEM, "tools": [{"type": "function", "name": "tide", "parameters": {"type": "object"}}]}
    await client.ask("text", "responses", {**fields, "input": "When is high water?"})
    items: list[Body] = [{"role": "user", "content": "When is high water?"}, call]
    items += [{"type": "function_call_output", "call_id": TIDE.id, "output": "at noon"}]
    await client.ask("items", "responses", {**fields, "input": items, "store": False})
    items += [{"role": "assistant", "content": [{"type": "output_text", "text": client.newest_answer}]}]
    items += [{"role": "user", "content": [{"type": "input_text", "text": "And low water?"}]}]
    await client.ask("next turn", "responses", {**fields, "input": items})


def _long(door: str) -> Callable[[Client], Any]:
    """A talk too long for the window, in another interface than chat."""

    async def talk(client: Client) -> None:
        said = [
            {"role": role, "content": f"{role} {number}: " + "The tide comes in over the grey stones of the mole. " * 9}
            for number in range(40)
            for role in ("user", "assistant")
        ]
        field = "input" if door == "responses" else "messages"
        fields = {"instructions": SYSTEM} if door == "responses" else {"system": SYSTEM, "max_tokens": 100}
        body = {**fields, field: [*said, {"role": "user", "content": "When does it turn?"}]}
        await client.ask("first request", door, body)
        await client.fold()
        await client.ask("after a fold", door, body)

    return talk


TALKS = {
    "chat": _chat,
    "tools": _tools,
    "anthropic": _anthropic,
    "responses": _responses,
    "long anthropic": _long("messages"),
    "long responses": _long("responses"),
}


def _structure(client: Client, name: str, directory: Path, apart: Apart) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for step, sent in client.sent.items():
        place = f"{name}/{step}"
        bodies = []
        for body in normalise(sent["body"], str(directory)):
            listed = next(field for field in ("messages", "input") if field in body)
            items = body.pop(listed)
            told = apart.of_body(place, body)
            told[listed] = apart.of_messages(f"{place}/{listed}", items) if isinstance(items, list) else items
            bodies.append(shorten(told))
        found[step] = {**sent, "body": bodies}
    return found


def _messages(corpus: Corpus, directory: Path) -> list[Body]:
    """The story as a client would hold it."""
    drafts = read_story(corpus.write_into(directory)).drafts
    return [json.loads(json.dumps(line)) for draft in drafts for line in to_openai(draft.message)]


def _answer_of(number: int) -> str:
    return f"Answer {number} tells of the sea."


def _answered(request: ServedRequest) -> ScriptedAnswer:
    return ScriptedAnswer(text=_answer_of(request.number), usage=False)
