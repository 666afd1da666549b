"""`//ask` in a chat: answered by the proxy with the upstream's model, and no part of the story."""

from __future__ import annotations

import asyncio

import pytest

from previously import Memory, ModelRequest, ScriptedModel
from previously.server import commands
from tests.end_to_end.server.running import Rig, Talk

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "I hid the brass key of tale {} under the third stair."


async def test_a_question_is_answered_with_its_sources(rig: Rig) -> None:
    rig.upstream.new_plan(["Noted.", "The brass key is under the third stair [1]."])
    talk = Talk(rig, "asked")
    await talk.ask(KEY.format("asked"))
    answer = (await talk.ask("//ask Where is the brass key?")).json()["choices"][0]["message"]["content"]
    lines = answer.splitlines()
    assert lines[0] == "[Previously] The brass key is under the third stair [1]."
    assert lines[-1] == f"- [1] message 0: {KEY.format('asked')}"
    question = (await rig.upstream.request(1)).messages[-1]["content"]
    assert f"[1] message 0: {KEY.format('asked')}" in question
    await rig.keeps("of tale asked", ("user", KEY.format("asked")), ("assistant", "Noted."))


async def test_an_answer_that_cannot_be_shown_leaves_the_sources(rig: Rig) -> None:
    rig.upstream.new_plan(["Noted.", "It is under the stair.", "It is under the stair."])
    talk = Talk(rig, "refused")
    await talk.ask(KEY.format("refused"))
    answer = (await talk.ask("//ask Where is the brass key?")).json()["choices"][0]["message"]["content"]
    assert "could not be shown: wrong shape: it names no source.\n" in answer, "no word about how to write it"
    assert f"- [1] message 0: {KEY.format('refused')}" in answer


async def test_a_question_needs_words_and_a_story(rig: Rig) -> None:
    rig.upstream.new_plan(["Noted."])
    assert "There is no story yet" in (await Talk(rig).ask("//ask Where is it?")).text
    talk = Talk(rig, "wordless")
    await talk.ask(KEY.format("wordless"))
    assert "Ask something" in (await talk.ask("//ask")).text
    assert "nothing to search for" in (await talk.ask("//ask ?")).text
    assert "Nothing in the story speaks of that" in (await talk.ask("//ask Who won the regatta?")).text


async def test_a_model_that_takes_too_long_leaves_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(_: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(commands, "ASK_S", 0.05)
    async with await Memory.open(":memory:", model=ScriptedModel(never)) as memory:
        story = await memory.story("slow")
        await story.add("user", KEY.format("slow"))
        words = await commands._ask(story, "Where is the brass key?")
    assert words.startswith("The model's answer could not be shown: it took longer than 0 seconds.")
    assert f"- [1] message 0: {KEY.format('slow')}" in words
