"""Random clients against the follower: after every request the stored path is what the client has shown.

`python -m tests.recognition.following --steps 20000 --chats 50 --seed 1` is the long run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from previously.core.messages import Message, Role, Text
from previously.runtime.recognising import Place, Recognising
from previously.server.asked import read_chat
from previously.server.turns import listed_of
from previously.storage.in_memory import InMemoryStore
from previously.storage.store import Store
from tests.recognition.clients import COMMON, CONTINUE, IMPERSONATE, Chat, Client, Said

OWNER = "local"


class Differs(AssertionError):
    """The stored path is not what the client has shown."""


@dataclass
class Follower:
    """Sends what a client does, and holds the store against the client."""

    store: Store
    client: Client
    done: Counter[str] = field(default_factory=Counter)
    said: set[str] = field(default_factory=set)
    places: dict[int, tuple[Any, str]] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.recognising = Recognising(self.store)

    async def step(self) -> None:
        """One random thing in one random chat."""
        client, chance = self.client, self.client.chance
        number = chance.randrange(len(client.chats))
        chat = client.chats[number]
        deeds = ("send",) * 10 if chat.turns < 2 else (
            "send", "send", "send", "send", "swipe", "regenerate", "swipe_left", "edit", "delete_last", "delete_middle",
            "hide", "resize", "continue", "aside", "branch", "abort", "fail", "again", "new", "restart",
        )  # fmt: skip
        deed = chance.choice(deeds)
        self.done[deed] += 1
        self.trail.append(f"{number}:{deed}")
        match deed:
            case "edit" | "delete_last" | "delete_middle" | "hide" | "resize" | "swipe_left":
                getattr(client, deed)(chat)
            case "branch":
                client.chats[chance.randrange(len(client.chats))] = client.branch(chat)
            case "new":
                greeting = chat.history[0].text
                client.chats[chance.randrange(len(client.chats))] = Chat([Said("assistant", greeting)], mode=chat.mode)
            case "restart":
                self.recognising = Recognising(self.store)  # a new process remembers nothing
            case "aside":
                await self._aside(chat)
            case "continue":
                await self._continue(chat)
            case "swipe" | "regenerate" | "again":
                await self._another(chat, deed)
            case _:
                await self._send(chat, deed)

    async def _send(self, chat: Chat, deed: str) -> None:
        text = self.client.text() if deed != "fail" else f"{self.client.text()} {next(self.client.words)}"
        self.said.add(text)
        chat.history.append(Said("user", text))
        place = await self._ask(chat, chat.history)
        chat.turns += 1
        if deed == "fail":
            await self.recognising.unanswered(place)
            chat.swipes = []
        else:
            reply = self.client.text() if deed == "send" else f"Half of {self.client.text()}"
            kept = reply if deed == "send" else reply[: self.client.chance.randrange(3, len(reply))]
            await self._reply(chat, place, reply, kept, partial=deed == "abort")
        await self._check(chat, place)

    async def _another(self, chat: Chat, deed: str) -> None:
        """The last reply once more: as another swipe, in its place, or because nothing came."""
        if chat.history[-1].role != "assistant" or len(chat.history) < 3 or chat.history[-2].role != "user":
            return
        if chat.history[-1].hidden or chat.history[-2].hidden:
            return
        old = chat.history.pop()
        place = await self._ask(chat, chat.history)
        if deed == "again":
            await self.recognising.unanswered(place)
            chat.history.append(old)
            return  # what is on screen is told by the next request
        swipes = chat.swipes or [old.text]
        reply = self.client.text()
        await self._reply(chat, place, reply, reply)
        chat.swipes = [*swipes, reply] if deed == "swipe" else [reply]
        await self._check(chat, place)

    async def _continue(self, chat: Chat) -> None:
        last = chat.history[-1]
        if last.role != "assistant" or last.hidden or chat.mode == "strict":
            return
        place = await self._ask(chat, chat.history, behind=CONTINUE)
        more = self.client.text()
        await self.recognising.answer(place, [Message(Role.ASSISTANT, (Text(more),))])
        chat.history[-1] = replace(last, text=f"{last.text} {more}")
        chat.shown[-1] = chat.history[-1]
        chat.swipes = [chat.history[-1].text]
        await self._check(chat, place)

    async def _aside(self, chat: Chat) -> None:
        if chat.history[-1].role != "assistant" or chat.history[-1].hidden:
            return
        _, messages = self.client.listed(chat, chat.history)
        before = await self._entries()
        if await self._follow([*messages, {"role": "system", "content": IMPERSONATE}]) is not None:
            raise Differs("an aside was taken for a turn")
        if await self._entries() != before:
            raise Differs("an aside was stored")

    async def _ask(self, chat: Chat, history: list[Said], behind: str = "") -> Place:
        shown, messages = self.client.listed(chat, history)
        if behind:
            messages.append({"role": "system", "content": behind})
        place = await self._follow(messages)
        if place is None:
            raise Differs("a turn was taken for an aside")
        if place.created and all(one.text in COMMON or one.role == "assistant" for one in shown[:-1]):
            chat.shown = []  # nothing in it is of this story only: nobody could know it
        self.client.follow(chat, shown)
        return place

    async def _follow(self, messages: list[dict[str, Any]]) -> Place | None:
        body = json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
        asked = read_chat(body, {})
        return await self.recognising.follow(listed_of(OWNER, asked), f"story {next(self.client.words)}")

    async def _reply(self, chat: Chat, place: Place, reply: str, kept: str, *, partial: bool = False) -> None:
        await self.recognising.answer(place, [Message(Role.ASSISTANT, (Text(reply),), "Odalys")], partial=partial)
        chat.history.append(Said("assistant", kept))
        chat.swipes = [kept]
        if kept == reply:
            chat.shown.append(chat.history[-1])
        else:
            chat.shown.append(replace(chat.history[-1], text=reply))  # until the client shows what it kept

    async def _check(self, chat: Chat, place: Place) -> None:
        path = await self.store.path(place.key, place.branch, 0, 1_000_000)
        shown = [item.entry.message for item in path if not item.entry.attributes.hidden]
        stored = [(message.role.value, _plain(message.text)) for message in shown]
        wanted = [(one.role, _plain(one.text)) for one in chat.shown]
        if chat.mode in ("merge", "strict"):
            first = chat.before if chat.copied else 0
            stored, wanted = _joined(stored), _joined(wanted[first:])
            if chat.copied:  # the first of them may be joined with what stands before
                wanted = wanted[1:]
                stored = stored[-len(wanted) :] if wanted else []
        elif chat.copied:
            wanted = wanted[chat.before :]
            stored = stored[-len(wanted) :]
        if stored != wanted:
            at = next((at for at, pair in enumerate(zip(stored, wanted, strict=False)) if pair[0] != pair[1]), None)
            raise Differs(
                f"{place.name}, {place.branch}, mode {chat.mode}, window {chat.window}: {len(stored)} stored, "
                f"{len(wanted)} shown; from {at}:\n  stored {stored[(at or 0) :][:6]}\n  shown  "
                f"{wanted[(at or 0) :][:6]}\n  after {self.trail[-12:]}"
            )

    async def _entries(self) -> int:
        return sum(info.active.messages for info in await self.store.stories(OWNER))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _joined(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """As a client that joins neighbours of one role shows them: where one ends is not to be told."""
    joined: list[tuple[str, str]] = []
    for role, text in said:
        if joined and joined[-1][0] == role:
            joined[-1] = role, f"{joined[-1][1]} {text}"
        else:
            joined.append((role, text))
    return joined


async def run(steps: int, chats: int, seed: int, *, modes: tuple[str, ...], store: Store | None = None) -> Follower:
    """Random steps; `Differs` with the first difference."""
    client = Client(random.Random(seed), chats, modes=modes)
    follower = Follower(store or InMemoryStore(), client)
    for _ in range(steps):
        await follower.step()
    return follower


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", default="none")
    asked = parser.parse_args()
    modes = tuple(asked.modes.split(","))
    follower = asyncio.run(run(asked.steps, asked.chats, asked.seed, modes=modes))
    print(json.dumps({"steps": asked.steps, "chats": asked.chats, "seed": asked.seed, "done": dict(follower.done)}))  # noqa: T201


if __name__ == "__main__":
    main()
