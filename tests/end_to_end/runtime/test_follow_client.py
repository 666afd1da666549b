"""A story is found again by what a client sends, brought to what it shows, and answered where it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from previously.core.digests import match_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Draft, Message, Role, Text
from previously.core.path import Splice
from previously.recognition.choose_story import ClientRequest
from previously.recognition.client_list import Ask
from previously.runtime.find_story import ClientPlace
from previously.runtime.follow_client import PARTIAL, ClientFollower
from previously.runtime.story_settings import StorySettings
from previously.storage.store import BranchInfo
from previously.storage.tables import Tables
from previously.story.access import StoryAccess
from previously.story.presence import PresenceEdits
from tests.contract.storage.verbs import VerbStore
from tests.unit.recognition.lists import CONTINUE, IMPERSONATE, MAIN, START, drafts, heard, line_of, said

AT = "2026-03-02T19:04:00+00:00"
FRONT = (MAIN, START)
HI = ("a You are late, and wet.", "u I stamp the rain off at the door.")
TOLD = (*HI, "a Sit by the stove.", "u I sit down and look around.")


class Desk:
    """A proxy's use of a store: lists come in, answers go back."""

    def __init__(self, store: VerbStore) -> None:
        self.store = store
        self.count = 0
        self.restart()

    def restart(self) -> None:
        """A new process remembers nothing."""
        self.recognising = ClientFollower(self.store)

    async def asked(self, *lines: str, front: Sequence[str] = FRONT, **told: object) -> ClientPlace | None:
        """Where a list belongs."""
        self.count += 1
        listed = replace(ClientRequest("me", heard(*front, *lines), streams=True), **told)  # type: ignore[arg-type]
        return await self.recognising.follow(listed, f"story {self.count}")

    async def sent(self, *lines: str, **told: object) -> ClientPlace:
        """The same for what is a turn."""
        place = await self.asked(*lines, **told)  # type: ignore[arg-type]
        assert place is not None
        return place

    async def said(self, *lines: str, reply: str = "Good.", **told: object) -> ClientPlace:
        """A whole turn."""
        place = await self.sent(*lines, **told)
        await self.answer(place, reply)
        return place

    async def answer(self, place: ClientPlace, *replies: str, partial: bool = False) -> None:
        """What the model says."""
        messages = [Message(Role.ASSISTANT, (Text(reply),), "Odalys") for reply in replies]
        await self.recognising.answer(place, messages, partial=partial)

    async def path(self, place: ClientPlace, branch: str | None = None) -> list[str]:
        """What is on screen."""
        found = await self.store.path(place.key, branch or place.branch, 0, 999)
        return [line_of(item.entry.message) for item in found if not item.entry.attributes.hidden]

    async def beside(self, place: ClientPlace, position: int) -> list[str]:
        """All replies at a place."""
        found = await self.store.siblings(place.key, place.branch, position)
        return sorted(item.entry.message.text for item in found)

    async def stories(self, owner: str = "me") -> int:
        return len(await self.store.stories(owner))


@pytest.fixture
def desk(store: VerbStore) -> Desk:
    return Desk(store)


async def test_a_list_never_seen_is_a_new_story_and_all_of_it_is_kept(desk: Desk) -> None:
    place = await desk.sent(*TOLD)
    assert place.created
    assert (place.ask, place.branch, place.messages, place.positions) == (Ask.TURN, "main", 4, (0, 1, 2, 3))
    assert await desk.path(place) == list(TOLD)
    newest = (await desk.store.path(place.key, "main", 3, 3))[0].entry
    assert newest.attributes.at, "what is said now has a time"


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_goes_on_from_it_is_the_same_story(desk: Desk, restarts: bool) -> None:
    first = await desk.said(*TOLD)
    if restarts:
        desk.restart()
    place = await desk.sent(*TOLD, "a Good.", "u I ask for tea.")
    assert (place.key, place.created) == (first.key, False)
    assert await desk.path(place) == [*TOLD, "a Good.", "u I ask for tea."]
    assert place.positions == (0, 1, 2, 3, 4, 5)
    assert await desk.stories() == 1


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_shared_greeting_is_a_new_story(desk: Desk, restarts: bool) -> None:
    first = await desk.said(*HI)
    if restarts:
        desk.restart()
    place = await desk.sent(HI[0], "u Is the harbour master in today?")
    assert place.created
    assert place.key != first.key
    assert await desk.path(first) == [*HI, "a Good."]


async def test_two_new_stories_that_would_be_called_the_same_stay_two(desk: Desk) -> None:
    """Names have only so many letters by chance: a story that meets the name of another is given a number."""
    told = [
        ClientRequest("me", heard(*FRONT, f"u Is the {what} in today?"), streams=True)
        for what in ("smith", "baker", "cook")
    ]
    places = [await desk.recognising.follow(listed, "Chat") for listed in told]
    assert [place and (place.name, place.created) for place in places] == [
        ("Chat", True), ("Chat (2)", True), ("Chat (3)", True)
    ]  # fmt: skip
    assert len({place.key for place in places if place}) == 3


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_two_stories_have_in_common_is_told_apart_by_the_rest(desk: Desk, restarts: bool) -> None:
    one = await desk.said(HI[0], "u ok", reply="One.")
    two = await desk.said(HI[0], "u Hello!", reply="Two.")
    assert one.key != two.key
    if restarts:
        desk.restart()
    again = await desk.sent(HI[0], "u ok", "a One.", "u Hello!")
    assert again.key == one.key
    other = await desk.sent(HI[0], "u Hello!", "a Two.", "u ok")
    assert other.key == two.key


async def test_among_many_stories_that_began_in_the_same_words_the_one_with_its_own_greeting_is_found(
    desk: Desk,
) -> None:
    places = [await desk.said(f"a Greeting {number}.", "u Hello!", reply="Hello!") for number in range(8)]
    desk.restart()
    again = await desk.sent("a Greeting 2.", "u Hello!", "a Hello!", "u And now?")
    assert again.key == places[2].key


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_list_that_goes_back_is_a_branch_and_the_way_back_to_the_old_end_is_open(
    desk: Desk, restarts: bool
) -> None:
    long = [*TOLD, "a Good.", "u I ask for tea.", "a Tea it is.", "u I drink."]
    first = await desk.said(*long, reply="Slowly.")
    if restarts:
        desk.restart()
    branch = await desk.said(*HI, "a Sit by the stove.", "u I stay at the door.", reply="As you like.")
    assert (branch.key, branch.branch) == (first.key, "branch 2")
    assert await desk.path(branch) == [*HI, "a Sit by the stove.", "u I stay at the door.", "a As you like."]
    assert await desk.path(first, "main") == [*long, "a Slowly."]
    if restarts:
        desk.restart()
    back = await desk.sent(*long, "a Slowly.", "u I look up.")
    assert (back.key, back.branch) == (first.key, "main")
    assert (await desk.store.branch(first.key)).name == "main", "the branch that is talked in is the active one"
    again = await desk.sent(*HI, "a Sit by the stove.", "u I stay at the door.", "a As you like.", "u Thanks.")
    assert again.branch == "branch 2"
    assert await desk.stories() == 1


async def test_names_of_branches_are_never_taken_twice(desk: Desk) -> None:
    long = [*TOLD, "a Good.", "u I ask for tea."]
    first = await desk.said(*long)
    await desk.store.fork(first.key, "main", "branch 3", 1, at=AT)
    place = await desk.said(*HI, "a Sit by the stove.", "u I stay at the door.")
    assert place.branch == "branch 4"


async def test_two_owners_never_meet(desk: Desk) -> None:
    mine = await desk.said(*TOLD)
    theirs = await desk.said(*TOLD, owner="they", reply="Theirs.")
    assert theirs.created
    assert theirs.key.owner == "they"
    assert await desk.path(mine) == [*TOLD, "a Good."]
    desk.restart()
    again = await desk.sent(*TOLD, "a Theirs.", "u More.", owner="they")
    assert again.key == theirs.key
    assert (await desk.stories(), await desk.stories("they")) == (1, 1)


@pytest.mark.parametrize("restarts", [False, True])
async def test_two_users_of_one_client_never_meet(desk: Desk, restarts: bool) -> None:
    ann = await desk.said(*TOLD, user="ann", reply="To Ann.")
    if restarts:
        desk.restart()
    bob = await desk.said(*TOLD, user="bob", reply="To Bob.")
    nobody = await desk.said(*TOLD, reply="To nobody.")
    assert len({ann.key, bob.key, nobody.key}) == 3
    if restarts:
        desk.restart()
    again = await desk.sent(*TOLD, "a To Ann.", "u More.", user="ann")
    assert again.key == ann.key


async def test_a_story_that_is_named_is_the_one_whatever_the_list_holds(desk: Desk) -> None:
    first = await desk.said(*TOLD, story="tale")
    assert first.name == "tale"
    same_words = await desk.said(*TOLD, story="other tale")
    assert same_words.key != first.key
    desk.restart()
    other_words = await desk.sent("u Something quite different is said.", story="tale")
    assert other_words.key == first.key
    assert await desk.path(other_words) == [*TOLD, "a Good.", "u Something quite different is said."]


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_story_that_was_begun_without_an_id_is_the_one_when_the_client_gives_its_id(
    desk: Desk, restarts: bool
) -> None:
    first = await desk.said(*TOLD)
    if restarts:
        desk.restart()
    known = {"story": "chat 1", "adopts": True}
    second = await desk.said(*TOLD[2:], "a Good.", "u I ask for tea.", reply="Tea.", **known)
    assert second.key == first.key
    if restarts:
        desk.restart()
    third = await desk.said("a Good.", "u I ask for tea.", "a Tea.", "u Thanks.", reply="Well.", **known)
    assert third.key == first.key
    assert await desk.path(third) == [*TOLD, "a Good.", "u I ask for tea.", "a Tea.", "u Thanks.", "a Well."]
    without = await desk.sent("a Tea.", "u Thanks.", "a Well.", "u And without the id?")
    assert without.key == first.key


@pytest.mark.parametrize("restarts", [False, True])
async def test_two_chats_in_the_same_words_are_two_stories_by_their_ids(desk: Desk, restarts: bool) -> None:
    one = await desk.said(*TOLD, story="chat 1", adopts=True)
    if restarts:
        desk.restart()
    two = await desk.said(*TOLD, story="chat 2", adopts=True)
    assert one.key != two.key
    assert (one.name, two.name) == ("chat 1", "chat 2")
    again = await desk.sent(*TOLD, "a Good.", "u More.", story="chat 1", adopts=True)
    assert again.key == one.key


async def test_a_story_that_one_id_has_is_not_given_to_another(desk: Desk) -> None:
    first = await desk.said(*TOLD)
    assert (await desk.said(*TOLD, "a Good.", "u More.", story="chat 1", adopts=True)).key == first.key
    for _ in range(2):
        other = await desk.said(*TOLD, "a Good.", "u More.", story="chat 2", adopts=True)
        assert other.key != first.key
        desk.restart()


async def test_what_a_file_said_beside_a_story_stays_when_an_id_is_kept_there(desk: Desk) -> None:
    first = await desk.said(*TOLD)
    await desk.store.keep_header(first.key, '{"character_name": "Odalys"}')
    await desk.said(*TOLD, "a Good.", "u More.", story="chat 1", adopts=True)
    assert json.loads(await desk.store.header(first.key)) == {"character_name": "Odalys", "client_chat": "chat 1"}


async def test_among_many_users_who_say_the_same_each_finds_their_own(desk: Desk) -> None:
    places = [await desk.said(*TOLD, user=f"user {number}") for number in range(8)]
    desk.restart()
    again = await desk.sent(*TOLD, "a Good.", "u More.", user="user 0")
    assert again.key == places[0].key


async def test_a_story_that_is_not_to_be_made_is_not(desk: Desk) -> None:
    assert await desk.asked(*TOLD, creates=False) is None
    assert await desk.asked(*TOLD, creates=False, story="tale") is None
    assert await desk.stories() == 0


@pytest.mark.parametrize(
    ("behind", "told"),
    [((IMPERSONATE,), {}), (("s One word for the weather.",), {"streams": False}), ((), {"ask": Ask.ASIDE})],
)
async def test_an_aside_leaves_no_trace(desk: Desk, behind: tuple[str, ...], told: dict[str, object]) -> None:
    assert await desk.asked(*HI, "a Sit.", *behind, **told) is None  # type: ignore[arg-type]
    assert await desk.stories() == 0
    first = await desk.said(*TOLD)
    assert await desk.asked(*TOLD, "a Good.", *behind, **told) is None  # type: ignore[arg-type]
    assert await desk.path(first) == [*TOLD, "a Good."]


async def test_find_changes_nothing_and_tells_only_what_is_there(desk: Desk) -> None:
    first = await desk.said(*TOLD)
    listed = ClientRequest("me", heard(*FRONT, *TOLD, "a Good."))
    found = await desk.recognising.find(listed)
    assert found is not None
    assert (found.key, found.branch, found.messages) == (first.key, "main", 5)
    assert await desk.recognising.find(ClientRequest("me", heard(*FRONT, *TOLD, "a Good.", "u New."))) is None
    assert await desk.path(first) == [*TOLD, "a Good."]


async def test_the_same_request_once_more_is_no_new_turn(desk: Desk) -> None:
    first = await desk.sent(*TOLD)
    again = await desk.sent(*TOLD)
    assert (again.key, again.head, again.messages) == (first.key, first.head, 4)
    await desk.answer(first, "One.")
    swiped = await desk.said(*TOLD, reply="Two.")
    assert await desk.path(swiped) == [*TOLD, "a Two."]
    assert await desk.beside(swiped, 4) == ["One.", "Two."]


async def test_two_identical_requests_at_once_are_one_story_with_two_replies(desk: Desk) -> None:
    one, two = await asyncio.gather(desk.sent(*HI), desk.sent(*HI))
    assert one.key == two.key
    await asyncio.gather(desk.answer(one, "One."), desk.answer(two, "Two."))
    assert await desk.beside(one, 2) == ["One.", "Two."]
    assert await desk.stories() == 1
    shown = await desk.path(one)
    assert shown[:2] == list(HI)
    assert shown[2:] in (["a One."], ["a Two."])


async def test_two_processes_that_follow_the_same_client_make_one_story(desk: Desk) -> None:
    other = Desk(desk.store)
    first = await desk.said(*TOLD)
    theirs = await other.said(*TOLD, "a Good.", "u I ask for tea.", reply="Tea.")
    mine = await desk.said(*TOLD, "a Good.", "u I ask for tea.", "a Tea.", "u Thanks.", reply="Well.")
    assert first.key == theirs.key == mine.key
    assert await desk.path(mine) == [*TOLD, "a Good.", "u I ask for tea.", "a Tea.", "u Thanks.", "a Well."]


async def test_what_another_process_took_away_is_not_taken_to_be_there(desk: Desk) -> None:
    first = await desk.said(*TOLD)
    late = await desk.sent(*TOLD, "a Good.", "u I ask for tea.")
    await desk.store.apply(first.key, "main", [Splice(0, 2, ())], at=AT)  # somebody else
    await desk.answer(late, "Tea.")
    place = await desk.sent(*TOLD[2:], "a Good.", "u I ask for tea.", "a Tea.", "u Thanks.")
    assert await desk.path(place) == [*TOLD[2:], "a Good.", "u I ask for tea.", "a Tea.", "u Thanks."]


async def test_several_replies_are_one_on_the_path_and_others_beside_it(desk: Desk) -> None:
    place = await desk.sent(*TOLD)
    await desk.answer(place, "One.", "Two.", "Three.")
    assert await desk.path(place) == [*TOLD, "a One."]
    assert await desk.beside(place, 4) == ["One.", "Three.", "Two."]


async def test_a_reply_that_was_given_before_and_comes_back_is_the_one_that_is_stored(desk: Desk) -> None:
    place = await desk.said(*TOLD, reply="One.")
    await desk.said(*TOLD, reply="Two.")
    again = await desk.sent(*TOLD, "a One.", "u I stay with that.")
    assert await desk.path(again) == [*TOLD, "a One.", "u I stay with that."]
    assert await desk.beside(place, 4) == ["One.", "Two."], "nothing was stored twice"


async def test_a_reply_that_arrives_after_the_next_request_is_one_of_the_replies_there(desk: Desk) -> None:
    slow = await desk.sent(*HI)
    place = await desk.said(*HI, "u Hello?", reply="Yes.")
    await desk.answer(slow, "Late.")
    assert await desk.path(place) == [*HI, "u Hello?", "a Yes."]
    assert await desk.beside(place, 2) == ["Hello?", "Late."]


async def test_a_reply_finds_its_message_where_something_before_it_has_changed(desk: Desk) -> None:
    slow = await desk.sent(*TOLD)
    changed = [TOLD[0], "u I stamp the snow off.", *TOLD[2:]]
    place = await desk.sent(*changed)
    await desk.answer(slow, "Late.")
    assert await desk.path(place) == [*changed, "a Late."]


async def test_what_is_written_with_a_late_reply_is_written_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = await desk.sent(*TOLD)
    place = await desk.sent(TOLD[0], "u I stamp the snow off.", *TOLD[2:])
    append, moves = desk.store.append, iter([True, True])
    written: list[Tables] = []

    async def move_on(*args: Any, **options: Any) -> BranchInfo:
        if next(moves, False):
            raise HeadMoved("Somebody else was there first.")
        return await append(*args, **options)

    monkeypatch.setattr(desk.store, "append", move_on)
    reply = Message(Role.ASSISTANT, (Text("Late."),), "Odalys")
    await desk.recognising.answer(slow, [reply], also=written.append)
    assert (await desk.path(place))[-1] == "a Late."
    assert len(written) == 1


async def test_a_reply_to_what_is_not_there_any_more_is_put_nowhere_else(desk: Desk) -> None:
    slow = await desk.sent(*TOLD)
    place = await desk.sent(*TOLD[:3], "u I do not sit.")
    await desk.answer(slow, "Late.")
    assert await desk.path(place) == [*TOLD[:3], "u I do not sit."]
    undone = await desk.sent(*TOLD[:2])
    await desk.answer(place, "Later.")
    assert await desk.path(undone) == list(HI)


async def test_more_of_the_last_message_is_joined_to_it(desk: Desk) -> None:
    first = await desk.said(*TOLD, reply="Good")
    for more, whole in ((" enough.", "Good enough."), ("Rest.", "Good enough. Rest.")):
        lines = await desk.path(first)
        place = await desk.sent(*lines, CONTINUE)
        assert place.ask is Ask.CONTINUE
        await desk.answer(place, more)
        assert await desk.path(place) == [*TOLD, f"a {whole}"]
    assert (await desk.store.path(first.key, "main", 4, 4))[0].entry.message.speaker == "Odalys"


async def test_more_of_a_message_that_was_sent_on_meanwhile_is_one_of_the_replies_there(desk: Desk) -> None:
    await desk.said(*TOLD, reply="Good")
    slow = await desk.sent(*TOLD, "a Good", CONTINUE)
    place = await desk.sent(*TOLD, "a Good", "u I nod and say nothing.")
    await desk.answer(slow, "enough.")
    assert await desk.path(place) == [*TOLD, "a Good", "u I nod and say nothing."]
    assert await desk.beside(place, 4) == ["Good", "Good enough."]
    assert await desk.beside(place, 5) == ["I nod and say nothing."]


async def test_where_no_reply_came_the_old_one_is_back(desk: Desk) -> None:
    await desk.said(*TOLD, reply="One.")
    swipe = await desk.sent(*TOLD)
    assert await desk.path(swipe) == list(TOLD)
    await desk.recognising.unanswered(swipe)
    assert await desk.path(swipe) == [*TOLD, "a One."]
    new = await desk.sent(*TOLD, "a One.", "u More.")
    await desk.recognising.unanswered(new)
    assert await desk.path(new) == [*TOLD, "a One.", "u More."]


async def test_an_old_reply_does_not_come_back_behind_what_was_said_since(desk: Desk) -> None:
    await desk.said(*TOLD, reply="One.")
    swipe = await desk.sent(*TOLD)
    place = await desk.sent(*TOLD, "u Hello?")
    await desk.recognising.unanswered(swipe)
    assert await desk.path(place) == [*TOLD, "u Hello?"]


async def test_a_reply_that_was_broken_off_is_marked_until_the_client_shows_another(desk: Desk) -> None:
    place = await desk.sent(*TOLD)
    await desk.answer(place, "Good eno", partial=True)
    kept = (await desk.store.path(place.key, "main", 4, 4))[0].entry
    assert kept.attributes.extra == PARTIAL
    again = await desk.sent(*TOLD, "a Good", "u Go on.")
    assert await desk.path(again) == [*TOLD, "a Good", "u Go on."]


async def test_who_has_left_does_not_witness_what_is_said_until_they_enter(desk: Desk) -> None:
    place = await desk.said(*TOLD)
    presence = presence_in(desk, place)
    await presence.leave("Maya")
    second = await desk.said(*TOLD, "a Good.", "u A secret.", reply="Mum.")
    assert second.witnesses == ("Odalys", "Wren", "user")
    await presence.enter("Maya")
    await desk.said(*TOLD, "a Good.", "u A secret.", "a Mum.", "u Maya is back.", reply="Hello, Maya.")
    found = await desk.store.path(place.key, "main", 0, 99)
    told = [item.entry.message.witnesses for item in found]
    away, back = ("Odalys", "Wren", "user"), ("Maya", "Odalys", "Wren", "user")
    assert told == [None] * 5 + [away] * 2 + [back] * 2, "whoever enters is there, though they say nothing"


async def test_who_left_on_one_branch_is_there_on_the_other(desk: Desk) -> None:
    long = [*TOLD, "a Good.", "u I ask for tea.", "a Tea it is.", "u I drink."]
    first = await desk.said(*long, reply="Slowly.")
    await presence_in(desk, first).leave("Maya")
    branch = await desk.sent(*HI, "a Sit by the stove.", "u I stay at the door.")
    assert branch.branch != "main"
    assert branch.witnesses is None
    back = await desk.sent(*long, "a Slowly.", "u I look up.")
    assert back.witnesses is not None
    assert "Maya" not in back.witnesses


async def test_nobody_leaves_twice_or_enters_who_is_there(desk: Desk) -> None:
    presence = presence_in(desk, await desk.said(*TOLD))
    assert await presence.absent() == []
    with pytest.raises(BadInput, match="Odalys is there already"):
        await presence.enter("Odalys")
    await presence.leave("  Maya  Ash ")
    await presence.leave("Bram")
    assert await presence.absent() == ["Maya Ash", "Bram"]
    with pytest.raises(BadInput, match="left already"):
        await presence.leave("Maya Ash")
    with pytest.raises(BadInput, match="needs a name"):
        await presence.leave(" ")


def presence_in(desk: Desk, place: ClientPlace) -> PresenceEdits:
    return PresenceEdits(StoryAccess(desk.store, place.key, StorySettings((), "{}")))


async def test_holding_tells_which_stories_hold_most_the_newest_first(store: VerbStore) -> None:
    async def told(name: str, *lines: str, owner: str = "me") -> None:
        info = await store.create_story(owner, name, at=AT)
        await store.append(info.key, None, drafts(*lines), at=AT)

    keys = [match_key(said(line)) for line in TOLD]
    assert await store.holding("me", keys) == []
    await told("one", *TOLD[:2])
    await told("two", *TOLD)
    await told("three", *TOLD[:2], "u Other.")
    await told("none", "u Other.")
    await told("theirs", *TOLD, owner="they")
    found = await store.holding("me", keys)
    assert [one.name for one in found] == ["two", "three", "one"]
    assert [len(one.match_keys) for one in found] == [4, 2, 2]
    assert found[2].match_keys == frozenset(keys[:2])
    assert {one.key.owner for one in found} == {"me"}
    assert [one.name for one in await store.holding("they", keys)] == ["theirs"]
    assert await store.holding("me", []) == []


async def test_holding_finds_what_is_off_the_path_too(store: VerbStore) -> None:
    info = await store.create_story("me", "tale", at=AT)
    await store.append(info.key, None, [Draft(said("u a")), Draft(said("a b"))], at=AT)
    await store.apply(info.key, "main", [Splice(1, 1, ())], at=AT)
    assert [one.name for one in await store.holding("me", [match_key(said("a b"))])] == ["tale"]


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_reply_that_the_client_trimmed_is_stored_as_it_keeps_it(desk: Desk, restarts: bool) -> None:
    place = await desk.sent(*TOLD)
    await desk.answer(place, "Good. \n", partial=True)
    if restarts:
        desk.restart()
    place = await desk.sent(*TOLD, "a Good.", "u I ask for tea.")
    found = await desk.store.path(place.key, place.branch, 4, 4)
    assert (found[0].entry.message.text, found[0].entry.message.speaker) == ("Good.", "Odalys")
    assert await desk.path(place) == [*TOLD, "a Good.", "u I ask for tea."]


async def test_a_story_that_is_named_goes_on_with_lists_of_the_newest_message_only(desk: Desk) -> None:
    for said_now in ("u Good evening to you all.", "u What is for supper?", "u Good evening to you all."):
        place = await desk.said(said_now, story="mine", reply="Well.")
    assert await desk.path(place) == [
        "u Good evening to you all.", "a Well.", "u What is for supper?", "a Well.", "u Good evening to you all.",
        "a Well.",
    ]  # fmt: skip
    again = await desk.said("u Good evening to you all.", story="mine", reply="Once more.")
    assert again.messages == 5, "the same once more is no new turn"
    assert (await desk.path(again))[4:] == ["u Good evening to you all.", "a Once more."]
