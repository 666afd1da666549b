"""Tellers: clients that each tell a story, wait for every answer, and send their whole history each turn.

A turn is acknowledged when its answer came whole with status 200 and without `X-Previously-Memory: unsaved`. What a
client shows its user is its history: acknowledged turns, and nothing else. A turn that failed is sent again.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import httpx

from previously import ScriptedAnswer
from previously.testing import ServedRequest
from previously.wire.sse import ReplyReader
from tests.soak.servers import Server, pause

WORDS = (
    "harbour lamp ferry glass bell market rope storm orchard mill ledger bridge candle anchor tower winter letter coin "
    "river stone garden horse window garret cellar smoke violin needle barrel lantern map promise debt stranger cousin"
).split()

_TURN = re.compile(rb"S(\d+)T(\d+)\b")
LEAVING = 0.03
"""The part of turns whose client goes away in the middle of the answer."""

ENDING, ENDING_DEGRADED = 0.02, 0.5
"""The part of turns after which a story is told no more: nothing that comes later can bring back what was lost. Many
end where memory was slow, since there something can be lost."""


class Upstream:
    """Answers that are all different: they name the story, the turn, and how often it was asked."""

    def __init__(self) -> None:
        self._asked: Counter[tuple[int, int]] = Counter()

    def answer(self, request: ServedRequest) -> ScriptedAnswer:
        turns = [(int(story), int(turn)) for story, turn in _TURN.findall(request.body)]
        if not turns:
            return ScriptedAnswer(text="Nobody is there.")
        story, turn = max(turns, key=lambda one: one[1])
        self._asked[story, turn] += 1
        chance = Random(f"{story} {turn}")
        words = [chance.choice(WORDS) for _ in range(40)]
        words[0] = f"S{story}R{turn}a{self._asked[story, turn]} {words[0]}"
        pieces = [" ".join(words[at : at + 5]) + " " for at in range(0, len(words), 5)]
        return ScriptedAnswer(text=pieces, choices=1, chunk_wait_s=0.02, model="scripted")


@dataclass
class Tale:
    """One story as its client has it."""

    number: int
    named: bool
    """True if the client names it; else the server has to find out."""
    history: list[tuple[str, str]] = field(default_factory=list)
    """Role and text of all that was acknowledged."""
    degraded: bool = False
    """True if memory was missing from its last turn."""
    unsaved: set[str] = field(default_factory=set)
    """Texts of turns that the server said it could not keep."""


@dataclass
class Outcomes:
    """What became of all turns."""

    acknowledged: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    """Turns that were not acknowledged, by why."""
    memory: Counter[str] = field(default_factory=Counter)
    """Acknowledged turns by what the server said of memory."""


class Teller:
    """Tells one story after the other."""

    def __init__(
        self, first: int, servers: Sequence[Server], tales: list[Tale], outcomes: Outcomes, think_s: float, seed: int
    ) -> None:
        self._next = first
        self._servers = servers
        self._tales = tales
        self._outcomes = outcomes
        self._think_s = think_s
        self._chance = Random(f"{seed} {first}")

    async def tell(self, step: int, over: asyncio.Event) -> None:
        """Tell until it is over; every `step` numbers belong to this teller."""
        await asyncio.sleep(self._chance.random() * self._think_s)
        async with httpx.AsyncClient(trust_env=False, timeout=120.0) as client:
            while not over.is_set():
                tale = Tale(self._next, named=self._chance.random() < 0.5)
                self._next += step
                self._tales.append(tale)
                while await self._take_turn(client, tale, over):
                    if not await pause(over, self._chance.expovariate(1 / self._think_s)):
                        break

    async def _take_turn(self, client: httpx.AsyncClient, tale: Tale, over: asyncio.Event) -> bool:
        """Say something until it is acknowledged; whether the story goes on."""
        turn = len(tale.history) // 2 + 1
        said = f"S{tale.number}T{turn} " + " ".join(self._chance.choice(WORDS) for _ in range(20))
        is_acknowledged = False
        while not is_acknowledged and not over.is_set():
            is_acknowledged = await self._ask(client, tale, said)
            if not is_acknowledged:
                await pause(over, 0.2)
        ending = ENDING_DEGRADED if tale.degraded else ENDING
        return is_acknowledged and self._chance.random() >= ending

    async def _ask(self, client: httpx.AsyncClient, tale: Tale, said: str) -> bool:
        server = self._chance.choice(self._servers)
        listed = [{"role": role, "content": text} for role, text in (*tale.history, ("user", said))]
        headers = {"X-Previously-Story": f"Tale {tale.number}"} if tale.named else {}
        leaves = self._chance.random() < LEAVING
        reader = ReplyReader()
        try:
            async with client.stream(
                "POST",
                f"{server.base_url}/v1/chat/completions",
                content=json.dumps({"model": "scripted", "stream": True, "messages": listed}),
                headers={"content-type": "application/json", **headers},
            ) as response:
                async for piece in response.aiter_raw():
                    reader.feed(piece)
                    if leaves and reader.reply().choice().text:
                        break
        except httpx.TransportError as error:
            self._outcomes.failed[type(error).__name__] += 1
            return False
        reply = reader.finish()
        if leaves:
            self._outcomes.failed["the client left"] += 1
            return False
        if response.status_code != 200 or not reply.whole or not reader.done:
            self._outcomes.failed[f"status {response.status_code}, {'whole' if reply.whole else 'broken'}"] += 1
            return False
        memory = response.headers.get("x-previously-memory", "nothing said")
        answer = reply.choice().text
        if memory == "unsaved":
            tale.unsaved |= {said, answer}
        self._outcomes.acknowledged += 1
        self._outcomes.memory[memory] += 1
        tale.degraded = memory != "on"
        tale.history += [("user", said), ("assistant", answer)]
        return True
