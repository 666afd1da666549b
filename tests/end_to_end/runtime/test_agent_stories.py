"""Stories of agents: a brief in place of the recap, old outputs as notes, the newest request there, pairs whole."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BlockingMemory, Draft, Message, ScriptedModel, Settings, View, message
from previously.blocking import BlockingStory
from previously.core.messages import Role, Text, ToolCall, ToolResult
from previously.core.model_io import ModelRequest
from previously.core.pairing import find_unpaired
from previously.testing.model import Scripted
from previously.view.view import Section
from tests.effort import ON_DISK, cases

AGENT = Settings.of("agent", window_tokens=8_192, recap_words=300)
BUDGET = 5_000
RULES = "You are a careful engineer. Never touch db/migrations."


def step(number: int, words: int = 60) -> list[Draft]:
    """A call with its result."""
    call = ToolCall(f"call_{number}", "read_file", json.dumps({"path": f"src/part_{number}.py"}))
    result = ToolResult(call.id, f"part {number}: " + "def same(): pass " * words)
    return [
        Draft(Message(Role.ASSISTANT, (Text(f"I read part {number}."), call))),
        Draft(Message(Role.TOOL, (result,))),
    ]


def tell(story: BlockingStory, turns: int, calls: int, first: int = 0) -> None:
    for turn in range(first, first + turns):
        story.add("user", f"Request {turn}: mend src/part_{turn}.py, but never rename it.")
        for number in range(calls):
            story.add_drafts(step(turn * 1_000 + number))
        story.add("assistant", f"Request {turn} is done.")
        story.fold()


@pytest.fixture(params=["in_memory", ON_DISK])
def story(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlockingStory]:
    place = ":memory:" if request.param == "in_memory" else str(tmp_path / "stories.db")
    with BlockingMemory(place, settings=AGENT) as memory:
        found = memory.story("work")
        found.add("system", RULES)
        yield found


def check(view: View, newest: str, budget: int = BUDGET) -> None:
    assert view.tokens <= budget
    assert [one for one in find_unpaired(view.messages) if "waits" not in one] == []
    assert view.messages[0].text.startswith(RULES)
    assert any(newest in one.text for one in view.messages if one.role is Role.USER), "the newest request is there"


def test_the_brief_takes_the_place_of_the_recap(story: BlockingStory) -> None:
    tell(story, 12, 4)
    brief, view = story.brief(), story.view(BUDGET)
    assert brief is not None
    assert brief == story.recap()
    assert brief.text.startswith("## Goal\n")
    assert "src/part_0.py" in brief.text
    assert "never rename it" in brief.text
    assert Section.BRIEF in {item.section for item in view.items}
    assert "# Earlier in this conversation\n\n## Goal" in view.messages[0].text
    check(view, "Request 11")
    assert story.fold().folds == (), "folding twice does nothing"


def test_other_stories_have_no_brief() -> None:
    with BlockingMemory(":memory:", settings=Settings(tail_messages=2, fold_messages=3)) as memory:
        tale = memory.story("tale")
        for number in range(12):
            tale.add("user", f"Orla walked {number} miles.")
        tale.fold()
        assert tale.recap() is not None
        assert tale.brief() is None


@pytest.mark.random
def test_a_run_of_one_turn_keeps_its_request_however_long_it_is(story: BlockingStory) -> None:
    story.add("user", "Request 7: find the leak, and do not restart the server.")
    notes = 0
    steps = cases(120, quick=50)
    for number in range(steps):
        story.add_drafts(step(number))
        story.fold()
        view = story.view(BUDGET)
        check(view, "do not restart the server")
        notes += any("characters, left out; " in str(one.parts) for one in view.messages)
    assert notes > steps // 6, "outputs become notes before messages go"
    brief = story.brief()
    assert brief is not None
    assert "find the leak" in brief.text


@pytest.mark.random
def test_the_front_stays_the_same_while_the_agent_works(story: BlockingStory) -> None:
    story.add("user", "Request 7: find the leak.")
    same = changed = 0
    before: tuple[Message, ...] = ()
    for number in range(cases(80, quick=40)):
        story.add_drafts(step(number, 20))
        story.fold()
        view = story.view(BUDGET)
        if before and view.messages[: len(before)] == before:
            same += 1
        elif before:
            changed += 1
            assert view.epoch, "a front that changes says why"
        before = tuple(view.messages)
    assert same > 4 * changed


def test_an_output_that_would_fill_the_view_loses_its_middle_and_nothing_is_lost(story: BlockingStory) -> None:
    story.add("user", "Request 1: look at the log.")
    huge = "first line\n" + "x" * 600_000 + "\nlast line"
    call = ToolCall("call_log", "cat", "{}")
    story.add_drafts([Draft(Message(Role.ASSISTANT, (call,))), Draft(Message(Role.TOOL, (ToolResult(call.id, huge),)))])
    view = story.view(BUDGET)
    check(view, "look at the log")
    (shown,) = [part.text for one in view.messages for part in one.parts if isinstance(part, ToolResult)]
    assert shown.startswith("first line")
    assert shown.endswith("last line")
    assert "characters left out" in shown
    kept = story.messages()[-1].entry.message.parts[0]
    assert isinstance(kept, ToolResult)
    assert kept.text == huge


@pytest.mark.random
def test_what_the_model_saw_can_be_shown_again(story: BlockingStory) -> None:
    story.add("user", "Request 7: find the leak.")
    views = []
    for number in range(cases(60, quick=30)):
        story.add_drafts(step(number))
        story.fold()
        views.append(story.view(BUDGET))
    again = story.why(-1)
    assert again.as_shown
    assert again.messages == views[-2].messages


@pytest.mark.random
def test_files_read_again_and_again_are_shown_once_and_so_they_are_later(story: BlockingStory) -> None:
    story.add("user", "Mend the parts, and do not restart the server.")
    for number in range(30):
        read, result = step(number % 3, 100)
        story.add_drafts([read, result])
    view = story.view(BUDGET)
    check(view, "do not restart the server")
    outputs = [part.text for said in view.messages for part in said.parts if isinstance(part, ToolResult)]
    assert [text[:7] for text in outputs[-3:]] == ["part 0:", "part 1:", "part 2:"]
    assert len(outputs) == 30
    assert all(text.endswith("left out; it was read again later]") for text in outputs[:-3])
    last = story.last_view()
    assert last is not None and last.as_shown
    assert last.messages == view.messages


def test_a_fold_never_ends_between_a_call_and_its_result(story: BlockingStory) -> None:
    chance = random.Random(3)
    story.add("user", "Request 0.")
    for number in range(cases(150, quick=50)):
        story.add_drafts(step(number, chance.randint(1, 120)))
        for done in story.fold().folds:
            last = story.messages(done.span.last, done.span.last)[0].entry.message
            assert not any(isinstance(part, ToolCall) for part in last.parts)


def test_a_model_writes_and_updates_the_brief() -> None:
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Scripted:
        asked.append(request)
        return f"## Goal\n- Mend the parts\n\n## Progress\n### Done\n- Fold {len(asked)} was made\n"

    roomy = Settings.of("agent", window_tokens=8_192)
    with BlockingMemory(":memory:", settings=roomy, model=ScriptedModel(answer)) as memory:
        work = memory.story("work")
        work.add("system", RULES)
        tell(work, 25, 4)
        brief = work.brief()
        assert brief is not None
        assert f"- Fold {len(asked)} was made" in brief.text
        assert 1 < len(asked) <= 25
        assert "- Mend the parts" in asked[-1].user, "it goes on from the brief before"
        versions = [one for one in work.log() if one.made.made_by == "model"]
        assert versions, "and the log has every version"


def test_an_edit_far_back_is_folded_again_and_leaves_nothing_behind(story: BlockingStory) -> None:
    tell(story, 12, 4)
    story.edit(1, "Request 0: mend src/other_name.py instead.")
    story.fold()
    brief = story.brief()
    assert brief is not None
    assert "src/other_name.py" in brief.text


def test_a_story_can_become_an_agents(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=Settings(tail_messages=2, fold_messages=4)) as memory:
        work = memory.story("work")
        for number in range(10):
            work.add("user", f"Mend src/part_{number}.py.")
        work.fold()
        work.set(["preset=agent", "window_tokens=2048"])
        work = memory.story("work")
        work.add_drafts(
            [Draft(message("user", f"And src/more_{number}.py. " + "Take care of it. " * 30)) for number in range(40)]
        )
        work.fold()
        assert work.brief() is not None
        assert work.view(1_500).tokens <= 1_500
