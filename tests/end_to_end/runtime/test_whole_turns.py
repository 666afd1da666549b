"""Turns of a story as a whole: their record, taking them back with their memory, and what a person says of people."""

from __future__ import annotations

import json

import pytest

from previously import Memory, ScriptedModel, Settings
from previously.core.errors import BadInput
from previously.core.messages import Draft, message
from previously.core.model_io import ModelRequest
from previously.core.versions import Kind
from previously.story.story import Story


def remember(request: ModelRequest) -> str:
    new = request.user.partition("<new_events>")[2].partition("</new_events>")[0].split()
    return json.dumps({"summary": f"It was so: {' '.join(new[:6])}.", "add": [" ".join(new[-5:])]})


async def open_story(memory: Memory) -> Story:
    story = await memory.story("tale")
    await say(story, "Tess", "user", "Is the key safe?")
    await say(story, "Maya", "assistant", "It is under the stair.")
    return story


async def say(story: Story, name: str, role: str, text: str) -> None:
    await story.add(role, text, name=name, witnesses=["Maya", "Bram", "Tess"])


async def test_only_what_characters_know_is_folded() -> None:
    async with await Memory.open(":memory:", settings=Settings.of("game"), model=ScriptedModel(remember)) as memory:
        story = await open_story(memory)
        report = await story.fold_cast()
        assert {(done.kind, done.status) for done in report.folds} == {(Kind.CAST, "committed")}
        assert sorted(item.name for item in await story.cast()) == ["Bram", "Maya"]
        assert (await story.fold_cast()).folds == (), "nothing more was witnessed"
        await say(story, "Maya", "assistant", "Ask nobody.")
        assert (await story.fold(cast=False)).folds == (), "that waits"
        assert len((await story.fold_cast()).folds) == 2


async def test_a_record_stands_with_the_last_message_and_a_person_has_the_last_word() -> None:
    async with await Memory.open(":memory:") as memory:
        story = await open_story(memory)
        assert await story.turn_record() is None
        await story.finish_turn({"turn": 1}, closes="The Key")
        assert await story.turn_record() == {"turn": 1}
        assert [chapter.title for chapter in await story.chapters()] == ["The Key"]
        await story.overrule_turn({"turn": 1, "beats": ["so"]})
        assert await story.turn_record() == {"turn": 1, "beats": ["so"]}
        assert "how the game stands" in await story.undo()
        assert await story.turn_record() == {"turn": 1}
        await say(story, "Tess", "user", "And now?")
        assert await story.turn_record() is None, "a turn is under way"
        opening = Draft(message("assistant", "Morning came.", speaker="Narrator"))
        await story.finish_turn({"turn": 2}, opening=opening)
        assert (await story.messages(-1, -1))[0].entry.message.text == "Morning came."
        assert await story.turn_record() == {"turn": 2}


async def test_a_rewind_takes_words_marks_and_memory() -> None:
    async with await Memory.open(":memory:", settings=Settings.of("game"), model=ScriptedModel(remember)) as memory:
        story = await open_story(memory)
        await story.fold_cast()
        before, after = await story.cast(), await story.newest_version()
        await say(story, "Tess", "user", "The bridge is mined.")
        await say(story, "Maya", "assistant", "I know.")
        await story.fold_cast()
        await story.finish_turn({"turn": 2}, closes="The Bridge")
        await story.write_knowledge("Bram", "Bram dreamt.", ["He fell"])
        await story.rewind(2, after=after)
        assert await story.cast() == before and await story.chapters() == []
        assert (await story.branch_info()).messages == 2
        assert (await memory.verify()).faults == ()
        with pytest.raises(BadInput, match="cannot stay"):
            await story.rewind(7, after=after)


async def test_what_a_person_says_that_somebody_knows_is_the_base_of_the_next_update() -> None:
    model = ScriptedModel(remember)
    async with await Memory.open(":memory:", settings=Settings.of("game"), model=model) as memory:
        story = await open_story(memory)
        await story.write_knowledge("Bram", "Bram is blind.", ["Maya owes him nine crowns"])
        await story.fold_cast()
        known = {item.name: item.knowledge for item in await story.cast()}
        assert known["Bram"].summary == "Bram is blind.", "it stands for all that was said before"
        await story.write_knowledge("Maya", "Maya waits.", [])
        await say(story, "Maya", "assistant", "Ask nobody.")
        await story.fold_cast()
        [asked] = [request for request in model.requests[-2:] if "story: Bram" in request.system]
        assert "Bram is blind." in asked.user and "1. Maya owes him nine crowns" in asked.user
        assert (await memory.verify()).faults == ()
        with pytest.raises(BadInput, match="Nobody has heard of"):
            await story.write_knowledge("Conrad", "He is new.", [])
        with pytest.raises(BadInput, match="at most 10 facts"):
            await story.write_knowledge("Bram", "Much.", [str(number) for number in range(11)])


async def test_the_end_of_a_path_is_replaced() -> None:
    async with await Memory.open(":memory:") as memory:
        story = await open_story(memory)
        await story.replace_end(1, [Draft(message("assistant", "It is gone.", speaker="Maya"))])
        assert [item.entry.message.text for item in await story.messages(0, -1)] == ["Is the key safe?", "It is gone."]
