"""Turns that have waited come in whenever they can, in any order, and beside those that did not wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

import pytest

from previously.core.messages import Message, Role, Text
from previously.recognition.choose_story import ClientRequest
from previously.recognition.client_list import Ask
from previously.runtime import follow_client
from previously.runtime.follow_client import ClientFollower
from previously.runtime.late_turns import bring_in
from previously.storage.sqlite import SqliteStore
from previously.storage.sqlite.file import make_memory_uri
from previously.storage.store import StoryInfo
from previously.storage.tables import Tables
from tests.unit.recognition.lists import MAIN, START, heard, line_of

HI = ("a You are late, and wet.", "u I stamp the rain off at the door.")
TOLD = (*HI, "a Sit by the stove.", "u I sit down and look around.")
REST = ("a The kettle sings.", "u I pour us both a cup.")


@dataclass(frozen=True)
class Turn:
    """A list that a client sent, and the answer that came."""

    at: int
    lines: tuple[str, ...]
    reply: str | None
    ask: Ask | None = None


def stamp(second: int) -> str:
    return f"2026-03-02T19:04:{second:02}.000+00:00"


class Town:
    """One store, and turns that come to it."""

    def __init__(self, story: str | None) -> None:
        self.story = story
        self.store = SqliteStore(make_memory_uri())
        self.follower = ClientFollower(self.store)

    def request(self, turn: Turn, said_at: str | None) -> ClientRequest:
        lines = heard(MAIN, START, *turn.lines)
        return ClientRequest("me", lines, streams=True, story=self.story, ask=turn.ask, said_at=said_at)

    async def bring_in(self, turn: Turn) -> None:
        replies = replies_of(turn)
        at = stamp(turn.at)
        await bring_in(self.follower, self.request(turn, at), "late", replies, partial=False, answered_at=at)

    async def take(self, turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
        """A turn at its time, as the proxy takes it."""
        with monkeypatch.context() as patch:
            patch.setattr(follow_client, "time_at", lambda: stamp(turn.at))
            place = await self.follower.follow(self.request(turn, None), "live")
            assert place is not None
            if turn.reply:
                await self.follower.answer(place, replies_of(turn))

    async def stories(self) -> list[StoryInfo]:
        return await self.store.read("me", lambda tables: list(tables.stories.all("me")))

    async def look(self) -> tuple[list[str], list[str]]:
        """The path of the only story, and all that was ever said in it."""
        [info] = await self.stories()

        def read(tables: Tables) -> tuple[list[str], list[str]]:
            active = tables.snapshot(info.key)
            path = [line_of(item.entry.message) for item in active.path(0, active.messages - 1)]
            nodes: dict[int, str] = {}
            for branch in tables.stories.branches(info.key):
                snapshot = tables.snapshot(info.key, branch.name)
                for at in range(snapshot.messages):
                    nodes |= {item.node: line_of(item.entry.message) for item in snapshot.siblings(at)}
            return path, sorted(nodes.values())

        return await self.store.read("me", read)


def replies_of(turn: Turn) -> Sequence[Message]:
    return [Message(Role.ASSISTANT, (Text(turn.reply),), "Odalys")] if turn.reply else []


async def play(story: str | None, turns: Iterable[Turn]) -> Town:
    town = Town(story)
    for turn in turns:
        await town.bring_in(turn)
    return town


TURNS = (
    Turn(1, HI[:1] + HI[1:], "Sit by the stove."),
    Turn(2, TOLD, "The kettle sings."),
    Turn(3, (*TOLD, *REST), "It is hot."),
    Turn(4, (*TOLD, *REST, "a It is hot.", "u And strong."), None),
)
WHOLE = [*TOLD, *REST, "a It is hot.", "u And strong."]


@pytest.mark.parametrize("story", [None, "tale"])
async def test_the_order_makes_no_difference_and_nothing_comes_twice(story: str | None) -> None:
    for order in list(permutations(TURNS))[::3]:
        town = await play(story, [*order, *order])
        assert await town.look() == (WHOLE, sorted(WHOLE)), order
        await town.store.close()


async def test_what_is_said_at_once_does_not_wait_for_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for live in range(4):
        town = Town(None)
        await town.take(TURNS[live], monkeypatch)
        for turn in [*TURNS[:live], *TURNS[:live]]:
            await town.bring_in(turn)
        expected = WHOLE[: 2 + 2 * live] + ([f"a {TURNS[live].reply}"] if TURNS[live].reply else [])
        assert await town.look() == (expected, sorted(expected))
        await town.store.close()


SWIPED = (
    Turn(1, HI, "Sit by the stove."),
    Turn(2, HI, "Take off your coat."),
    Turn(3, (*HI, "a Take off your coat.", "u I hang it up."), "Good."),
)
SWIPED_PATH = [*HI, "a Take off your coat.", "u I hang it up.", "a Good."]
EDITED = (
    Turn(1, HI, "Sit by the stove."),
    Turn(2, (*HI[:1], "u I wait at the door."), "Come in."),
    Turn(3, (*HI[:1], "u I wait at the door.", "a Come in.", "u I do."), "Good."),
)
EDITED_PATH = [*HI[:1], "u I wait at the door.", "a Come in.", "u I do.", "a Good."]


@pytest.mark.parametrize(("turns", "expected"), [(SWIPED, SWIPED_PATH), (EDITED, EDITED_PATH)], ids=["swipe", "edit"])
async def test_the_newest_way_is_the_path_and_the_others_are_kept(turns: Sequence[Turn], expected: list[str]) -> None:
    for order in permutations(turns):
        town = await play("tale", [*order, *order])
        path, everything = await town.look()
        assert path == expected, order
        said = {line for turn in turns for line in (*turn.lines, f"a {turn.reply}")}
        assert set(everything) == said, order
        await town.store.close()


async def test_a_late_turn_does_not_change_which_branch_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town("tale")
    await town.take(TURNS[2], monkeypatch)
    elsewhere = Turn(2, (*HI[:1], "u I turn back into the rain."), "Wait!")
    await town.bring_in(elsewhere)
    await town.bring_in(elsewhere)
    path, _ = await town.look()
    assert path == [*TOLD, *REST, "a It is hot."]
    [info] = await town.stories()
    branches = await town.store.read("me", lambda tables: tables.stories.branches(info.key))
    assert [branch.messages for branch in branches] == [7, 3]


async def test_more_of_a_message_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    more = Turn(2, (*HI, "a Sit by the stove."), "And dry your boots.", Ask.CONTINUE)
    town = await play("tale", [TURNS[0], more, more])
    path, _ = await town.look()
    assert path == [*HI, "a Sit by the stove. And dry your boots."]
    gone_on = Turn(3, (*HI, "a Sit by the stove. And dry your boots.", "u I do."), "Good.")
    for order in permutations([TURNS[0], more, gone_on]):
        path, _ = await (await play("tale", [*order, *order])).look()
        assert path == [*gone_on.lines, "a Good."], order


async def test_a_short_opening_that_comes_late_is_no_story_of_its_own() -> None:
    short = (
        Turn(1, ("u Hi.",), "Hello."),
        Turn(2, ("u Hi.", "a Hello.", "u Ready?"), "Yes."),
        Turn(3, ("u Hi.", "a Hello.", "u Ready?", "a Yes.", "u Then come."), "Coming."),
    )
    whole = [*short[2].lines, "a Coming."]
    for order in permutations(short):
        assert await (await play(None, [*order, *order])).look() == (whole, sorted(whole)), order


async def test_a_branch_that_grows_late_is_not_shown_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town("tale")
    back = Turn(4, (*HI[:1], "u I turn back into the rain."), "Wait!")
    for turn in (TURNS[2], back, Turn(6, (*TOLD, *REST, "a It is hot.", "u And strong."), "Yes.")):
        town.follower = ClientFollower(town.store)
        await town.take(turn, monkeypatch)
    path, _ = await town.look()
    await town.bring_in(Turn(5, (*back.lines, "a Wait!", "u I do not."), "Then go."))
    path_after, everything = await town.look()
    assert path_after == path
    assert {"u I do not.", "a Then go."} <= set(everything)
