"""Random clients against the follower: after every request the stored path is what the client has shown.

`python -m tests.unit.recognition.following --steps 20000 --chats 50 [--seed N] [--modes none,merge]` is the long run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from previously.core.digests import match_key
from previously.core.messages import Message, Role, Text
from previously.runtime.find_story import ClientPlace
from previously.runtime.follow_client import ClientFollower
from previously.server.chat_request import parse_chat_request
from previously.storage.store import StoryKey
from tests.contract.storage.verbs import SqliteVerbs, VerbStore
from tests.unit.recognition.clients import COMMON, CONTINUE, IMPERSONATE, Chat, Client, Said

OWNER = "local"
JOINING = ("merge", "strict")
"""Modes in which neighbours of one role are joined."""


class Differs(AssertionError):
    """The stored path is not what the client has shown."""


@dataclass
class Follower:
    """Sends what a client does, and holds the store against the client."""

    store: VerbStore
    client: Client
    done: Counter[str] = field(default_factory=Counter)
    said: set[str] = field(default_factory=set)
    places: dict[int, StoryKey] = field(default_factory=dict)
    """In which story each chat is."""
    trail: list[str] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    """How often all of a path was held against a chat, and how often only its end could be."""

    def __post_init__(self) -> None:
        self.recognising = ClientFollower(self.store)

    async def step(self) -> None:
        """One random thing in one random chat."""
        client, chance = self.client, self.client.chance
        number = chance.randrange(len(client.chats))
        chat = client.chats[number]
        deeds = ("send",) if chat.turns < 2 else (
            *("send",) * 10, *("swipe", "regenerate", "swipe_left", "edit", "delete_last", "delete_middle", "hide") * 2,
            *("move", "resize", "continue", "aside", "abort", "fail", "again") * 2, "branch", "new", "restart",
        )  # fmt: skip
        deed = chance.choice(deeds)
        self.done[deed] += 1
        self.trail.append(f"{number}:{deed}")
        match deed:
            case "edit" | "delete_last" | "delete_middle" | "hide" | "move" | "resize" | "swipe_left":
                getattr(client, deed)(chat)
            case "branch":
                client.chats[chance.randrange(len(client.chats))] = client.branch(chat)
            case "new":
                greeting = chat.history[0].text
                client.chats[chance.randrange(len(client.chats))] = Chat([Said("assistant", greeting)], mode=chat.mode)
            case "restart":
                self.recognising = ClientFollower(self.store)  # a new process remembers nothing
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

    async def _ask(self, chat: Chat, history: list[Said], behind: str = "") -> ClientPlace:
        shown, messages = self.client.listed(chat, history)
        if behind:
            messages.append({"role": "system", "content": behind})
        place = await self._follow(messages)
        if place is None:
            raise Differs("a turn was taken for an aside")
        self._meet(chat, place)
        had = {one.text for one in chat.shown if one.role == "user"}.difference(COMMON)
        if place.created and had.isdisjoint(one.text for one in shown[:-1]):
            chat.shown = []  # nothing in it is known to be of this story only: nobody could tell
        chat.blurred = chat.blurred or self._is_blurred(chat, shown)
        self.client.follow(chat, shown)
        return place

    @staticmethod
    def _is_blurred(chat: Chat, shown: list[Said]) -> bool:
        """Whether nobody could tell where the first message of a list stood: it is not as it was seen before, and it is
        not the first there was, or was joined with others."""
        if not shown or not chat.shown or (shown[0].id == chat.shown[0].id and chat.mode not in JOINING):
            return False
        seen, now = _told(chat.shown), _told(shown)
        return (_joined(now)[0] not in _joined(seen)) if chat.mode in JOINING else (now[0] not in seen)

    def _meet(self, chat: Chat, place: ClientPlace) -> None:
        """Chats that begin in the same words are branches of one story: that they are two, nobody could tell from their
        first lists, which are the same to the byte. Branches share messages, and whether these are hidden. A chat that
        was taken for a new one, since it showed nothing of its own, may be found again where it was before."""
        before = self.places.get(chat.number)
        self.places[chat.number] = place.key
        met = [one for one in self.client.chats if self.places.get(one.number) == place.key]
        if before not in (None, place.key) and not place.created:
            chat.blurred = True
        if len(met) > 1:
            for one in met:
                one.blurred = True

    async def _follow(self, messages: list[dict[str, Any]]) -> ClientPlace | None:
        body = json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
        asked = parse_chat_request(body, {})
        return await self.recognising.follow(asked.client_request(OWNER), f"story {next(self.client.words)}")

    async def _reply(self, chat: Chat, place: ClientPlace, reply: str, kept: str, *, partial: bool = False) -> None:
        await self.recognising.answer(place, [Message(Role.ASSISTANT, (Text(reply),), "Odalys")], partial=partial)
        chat.history.append(Said("assistant", kept))
        chat.swipes = [kept]
        if kept == reply:
            chat.shown.append(chat.history[-1])
        else:
            chat.shown.append(replace(chat.history[-1], text=reply))  # until the client shows what it kept

    async def _check(self, chat: Chat, place: ClientPlace) -> None:
        """The path on screen is what was shown; of a chat that is blurred, its end is."""
        path = await self.store.path(place.key, place.branch, 0, 1_000_000)
        there = [
            Said(one.entry.message.role.value, one.entry.message.text)
            for one in path
            if not one.entry.attributes.hidden
        ]
        stored, wanted = _told(there), _told(chat.shown[chat.before :] if chat.blurred else chat.shown)
        if chat.mode in JOINING:
            stored, wanted = _joined(stored), _joined(wanted)
        if chat.blurred:
            stored = stored[-len(wanted) :]
        if chat.mode in JOINING and stored and wanted:
            # Messages that were joined when they were first seen are one: if the first of them is shown no more, it is
            # that one with fewer words; and the first that is shown may be joined with what stands before.
            (_, one), (role, other) = stored[0], wanted[0]
            stored[0] = role, other if one.endswith(other) or other.endswith(one) else one
        if stored != wanted:
            at = next((at for at, pair in enumerate(zip(stored, wanted, strict=False)) if pair[0] != pair[1]), None)
            raise Differs(
                f"{place.name}, {place.branch}, mode {chat.mode}, window {chat.window}: {len(stored)} stored, "
                f"{len(wanted)} shown; from {at}:\n  stored {stored[(at or 0) :][:6]}\n  shown  "
                f"{wanted[(at or 0) :][:6]}\n  after {self.trail[-12:]}"
            )
        self.checked["end" if chat.blurred else "all"] += 1

    async def check_all(self) -> None:
        """Nothing that a user has ever sent is lost, on a path or off it."""
        if set(self.client.modes) & set(JOINING):
            return  # what was joined when it was first seen is kept as one
        wanted = {match_key(Message(Role.USER, (Text(text),))): text for text in self.said}
        held = {key for one in await self.store.holding(OWNER, list(wanted)) for key in one.match_keys}
        lost = [text for key, text in wanted.items() if key not in held]
        if lost:
            raise Differs(f"{len(lost)} messages are lost: {lost[:3]}")

    async def _entries(self) -> int:
        return sum(info.active.messages for info in await self.store.stories(OWNER))


def _told(said: list[Said]) -> list[tuple[str, str]]:
    return [(one.role, " ".join(one.text.split())) for one in said]


def _joined(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """As a client that joins neighbours of one role shows them: where one ends is not to be told."""
    joined: list[tuple[str, str]] = []
    for role, text in said:
        if joined and joined[-1][0] == role:
            joined[-1] = role, f"{joined[-1][1]} {text}"
        else:
            joined.append((role, text))
    return joined


async def run(steps: int, chats: int, seed: int, *, modes: tuple[str, ...], store: VerbStore | None = None) -> Follower:
    """Random steps; `Differs` with the first difference."""
    client = Client(random.Random(seed), chats, modes=modes)
    follower = Follower(store or SqliteVerbs(":memory:"), client)
    for _ in range(steps):
        await follower.step()
    await follower.check_all()
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
    told = {"steps": asked.steps, "chats": asked.chats, "seed": asked.seed, "modes": modes}
    print(json.dumps({**told, "checked": dict(follower.checked), "done": dict(follower.done)}))  # noqa: T201


if __name__ == "__main__":
    main()
