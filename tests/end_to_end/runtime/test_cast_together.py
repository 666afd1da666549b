"""What each character knows is kept for all at once: they are asked together, and what becomes of one changes nobody
else. Who was there learns, spoken to or not; who was not learns when told, and from whom.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from previously import Memory, ScriptedModel, Settings
from previously.core.cast import MOST_FACTS, Knowledge
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.core.versions import Kind, Status
from previously.story.story import Story
from previously.testing.model import Scripted
from tests.effort import mark_slow
from tests.end_to_end.runtime.echoing import about, kind_of, make_writer, part

NAMES = ("Ada", "Bram", "Cleo", "Dov", "Esme", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Kaja", "Liv", "Milo", "Nell",
         "Odalys", "Piet", "Quill", "Rosa", "Sven", "Tova")  # fmt: skip
GAME = Settings.of("game", tail_turns=1)
GROUP = Settings(tail_messages=1, fold_messages=1_000, chapter_messages=0)
SECRET = '"The brass key is under the stair," says Bram.'
SUMMARY = "{0} was at the mill. {0} heard the bell. {0} waits for the tide."

Answer = Callable[[ModelRequest], Scripted | Awaitable[Scripted]]


def learnt(request: ModelRequest, *facts: str) -> str:
    """An answer about the character who is asked about."""
    return json.dumps({"summary": SUMMARY.format(about(request)), "add": list(facts)})


def note(request: ModelRequest) -> str:
    """What is answered about scenes, and in prose."""
    return (
        json.dumps({"summary": "They were at the mill.", "lorebooks": []})
        if kind_of(request) == "scene"
        else "They met."
    )


async def opened(answer: Answer, settings: Settings = GAME) -> tuple[Memory, Story, ScriptedModel]:
    async def reply(request: ModelRequest) -> Scripted:
        if kind_of(request) != "cast":
            return note(request)
        found = answer(request)
        return await found if isinstance(found, Awaitable) else found

    model = ScriptedModel(reply)
    memory = await Memory.open(":memory:", settings=settings, writer=make_writer(model))
    return memory, await memory.story("tale"), model


async def gather_all(story: Story) -> None:
    """All twenty are there and say something."""
    for name in NAMES:
        await story.add("assistant", f"{name} waits by the mill and counts the boats.", name=name)


async def knows(story: Story) -> dict[str, Knowledge]:
    return {one.name: one.knowledge for one in await story.cast() if not one.knowledge.is_empty}


async def test_twenty_are_asked_at_once() -> None:
    """A model that answers only when all twenty questions wait for it: one after the other, none would be answered."""
    waiting, all_there = 0, asyncio.Event()

    async def answer(request: ModelRequest) -> Scripted:
        nonlocal waiting
        waiting += 1
        if waiting == len(NAMES):
            all_there.set()
        await asyncio.wait_for(all_there.wait(), 20)
        return learnt(request, "The tide turns at noon")

    memory, story, _ = await opened(answer)
    await gather_all(story)
    report = await story.fold()
    assert waiting == len(NAMES)
    assert [done.status for done in report.folds] == ["committed"] * len(NAMES)
    assert sorted(await knows(story)) == sorted(NAMES)
    await memory.close()


FAULTS: list[Scripted] = [
    "",
    "I'm sorry, but I can't help with that.",
    '{"summary": "',
    json.dumps({"character": "Somebody Else", "summary": "Somebody Else rules. He is king. He laughs."}),
    ModelFailure(FailureKind.TIMEOUT, "The model did not answer in time."),
    ModelFailure(FailureKind.SERVER, "The server said 500."),
]


@pytest.mark.parametrize(
    "unlucky", [NAMES[7], *mark_slow(NAMES[0], NAMES[-1], reason="the first and the last of them")]
)
@pytest.mark.parametrize("fault", FAULTS)
async def test_one_that_fails_changes_nobody_else(unlucky: str, fault: Scripted) -> None:
    memory, story, model = await opened(lambda asked: learnt(asked, f"{about(asked)} owns a boat"))
    await gather_all(story)
    await story.fold()
    before = await knows(story)

    def failing(asked: ModelRequest) -> Scripted:
        if kind_of(asked) != "cast":
            return note(asked)
        return fault if about(asked) == unlucky else learnt(asked, f"{about(asked)} heard the bell of Lethen")

    model._reply = failing
    await story.add("user", "The bell of Lethen rings.", name="Anna")
    await story.add("assistant", "All of them look up.")
    report = await story.fold()
    after = await knows(story)
    others = [name for name in NAMES if name != unlucky]
    for name in others:
        assert [fact.text for fact in after[name].facts] == [f"{name} owns a boat", f"{name} heard the bell of Lethen"]
        assert after[name].summary == SUMMARY.format(name)
    assert before[unlucky].facts[0] in after[unlucky].facts, "what was known stays known"
    assert not any(name in repr(after[unlucky].facts) for name in others)
    done = {fold.scope: fold.status for fold in report.folds}
    assert done.pop(f"@{unlucky.casefold()}") == "provisional"
    assert set(done.values()) == {"committed"}

    model._reply = lambda asked: learnt(asked, f"{about(asked)} heard the bell of Lethen")
    again = await story.fold()
    assert [(fold.scope, fold.status) for fold in again.folds] == [(f"@{unlucky.casefold()}", "committed")]
    assert after == {**await knows(story), unlucky: after[unlucky]}
    await memory.close()


async def test_one_that_never_answers_holds_nobody_up() -> None:
    never = asyncio.Event()

    async def answer(request: ModelRequest) -> Scripted:
        if about(request) == "Greta":
            await never.wait()
        return learnt(request, f"{about(request)} owns a boat")

    memory, story, _ = await opened(answer)
    await gather_all(story)
    folding = asyncio.create_task(story.fold())
    for _ in range(10_000):
        await asyncio.sleep(0)
        if len(await knows(story)) == len(NAMES) - 1:
            break
    assert sorted(await knows(story)) == sorted(set(NAMES) - {"Greta"}), "the others know while one still waits"
    assert not folding.done()
    folding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await folding
    assert sorted(await knows(story)) == sorted(set(NAMES) - {"Greta"})
    never.set()
    report = await story.fold()
    assert [(fold.scope, fold.status) for fold in report.folds] == [("@greta", "committed")], "only she is asked again"
    await memory.close()


async def test_eleven_facts_keep_the_eleventh() -> None:
    turn = 0

    def answer(request: ModelRequest) -> Scripted:
        return learnt(request, f"Boat number {turn} belongs to the {turn}th harbour guild")

    memory, story, _ = await opened(answer)
    for turn in range(1, MOST_FACTS + 2):
        await story.add("user", f"Boat {turn} comes in.", name="Anna")
        await story.add("assistant", "Bram ties it up.", name="Bram")
        await story.fold()
    (bram,) = (await knows(story)).values()
    assert len(bram.facts) == MOST_FACTS
    assert f"Boat number {MOST_FACTS + 1}" in bram.facts[-1].text
    assert "Boat number 1 " not in repr(bram.facts), "the oldest gave way"
    await memory.close()


async def test_silent_witnesses_learn_and_absent_ones_do_not() -> None:
    memory, story, model = await opened(lambda asked: learnt(asked, *told_in(asked)))
    for name in ("Bram", "Cleo", "Dov"):
        await story.add("assistant", f"{name} comes in.", name=name, witnesses=["Bram", "Cleo", "Dov"])
    await story.fold()
    await story.add("assistant", SECRET, name="Bram", witnesses=["Bram", "Cleo"])
    await story.fold()
    known = await knows(story)
    assert "brass key" in repr(known["Cleo"]), "she said nothing and was there"
    assert "brass key" in repr(known["Bram"])
    assert "brass key" not in repr(known["Dov"])
    assert not any("brass key" in asked.user for asked in model.requests if about(asked) == "Dov")
    await memory.close()


def told_in(request: ModelRequest) -> list[str]:
    """What the new events give away."""
    return ["The brass key is under the stair"] if SECRET in part(request, "new_events") else []


async def test_told_later_is_known_later() -> None:
    memory, story, _ = await opened(lambda asked: learnt(asked, *told_in(asked)))
    for name in ("Bram", "Dov"):
        await story.add("assistant", f"{name} comes in.", name=name, witnesses=["Bram", "Dov"])
    await story.add("assistant", SECRET, name="Bram", witnesses=["Bram"])
    await story.fold()
    assert "brass key" not in repr((await knows(story))["Dov"])
    await story.add("assistant", SECRET, name="Bram", witnesses=["Bram", "Dov"])
    await story.fold()
    (fact,) = (await knows(story))["Dov"].facts
    assert "brass key" in fact.text
    assert (fact.since, fact.source) == (3, "witnessed")
    rows = {row.name: row for row in await story.who_knows("the brass key")}
    assert set(rows) == {"Bram", "Dov"}
    await memory.close()


async def test_in_a_game_everybody_is_updated_every_turn() -> None:
    memory, story, model = await opened(learnt)
    await story.add("assistant", "Bram and Cleo come in.", witnesses=["Bram", "Cleo", "Anna"])
    await story.fold()
    model.requests.clear()
    for turn in range(1, 4):
        await story.add("user", f"Turn {turn}: look around.", name="Anna")
        assert (await story.fold()).folds == (), "a turn that is not over changes nobody"
        await story.add("assistant", "The lamp goes out.")
        await story.add("assistant", "I saw that.", name="Bram", witnesses=["Bram", "Cleo", "Anna"])
        report = await story.fold()
        assert sorted(done.scope for done in report.folds if done.kind is Kind.CAST) == ["@bram", "@cleo"]
        asked = [one for one in model.requests if kind_of(one) == "cast"]
        assert len(asked) == 2 * turn
        assert f"Turn {turn}" in asked[-1].user
        assert f"Turn {turn - 1}" not in asked[-1].user, "only what is new is read"
    await memory.close()


async def test_in_a_role_play_for_two_nobody_is_asked_about() -> None:
    memory, story, model = await opened(learnt, GROUP)
    for number in range(12):
        await story.add("user" if number % 2 else "assistant", f"{number}. Rain.", name=("Bram", "Anna")[number % 2])
    await story.end_scene(8)
    await story.fold()
    assert await story.cast() == [] or not await knows(story)
    assert {kind_of(asked) for asked in model.requests} == {"scene"}
    await memory.close()


@pytest.mark.parametrize("given", [True, False])
async def test_in_a_group_each_is_asked_about_only_where_witnesses_are_given(given: bool) -> None:
    memory, story, model = await opened(learnt, GROUP)
    people = ("Bram", "Cleo", "Dov")
    for number in range(30):
        there = [name for at, name in enumerate(people) if at != number % 2] if given else None
        await story.add("assistant", f"{number}. Rain.", name=people[2], witnesses=there)
        await story.add("assistant", f"{number}. More rain.", name=people[number % 2 - 1], witnesses=there)
    await story.fold()
    asked = sum(kind_of(one) == "cast" for one in model.requests)
    assert (asked >= 2) is given, "else the update says what they learnt"
    await memory.close()


async def test_memories_of_a_character_are_held_for_approval_one_by_one() -> None:
    memory, story, _ = await opened(lambda asked: learnt(asked, "The tide turns"), replace(GAME, review=True))
    await gather_all(story)
    await story.fold()
    assert await knows(story) == {}
    waiting = await story.pending()
    assert len(waiting) == len(NAMES)
    assert {one.made.status for one in waiting} == {Status.PENDING}
    await story.approve(waiting[3].id)
    assert len(await knows(story)) == 1
    assert (await story.fold()).folds == (), "what waits is not asked again"
    await memory.close()


async def test_an_answer_that_rested_on_other_presence_is_not_shown_and_asked_for_again() -> None:
    memory, story, model = await opened(learnt)
    people = ["Bram", "Cleo", "Anna"]
    await story.add("user", "I look around.", name="Anna", witnesses=people)
    await story.add("assistant", "The lamp goes out.", name="Bram", witnesses=people)
    await story.fold()
    assert {"Bram", "Cleo"} <= {one.name for one in await story.cast() if one.knowledge.summary}
    model.requests.clear()
    await story.set_presence(1, 1, ["Bram"])
    assert not {one.name: one for one in await story.cast()}["Cleo"].knowledge.summary
    await story.fold()
    asked = [about(one) for one in model.requests if kind_of(one) == "cast"]
    assert asked == ["Cleo"], "nobody else's presence has changed"
    assert "The lamp goes out" not in model.requests[-1].user
    model.requests.clear()
    await story.fold()
    assert not [one for one in model.requests if kind_of(one) == "cast"], "once is enough"
    await memory.close()
