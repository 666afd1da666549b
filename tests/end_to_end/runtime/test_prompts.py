"""Prompts of a user's own: written whole or not at all, in force from the next question on; and the next question."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel
from previously.core.errors import BadInput
from previously.runtime.prompts import Prompts, load_prompt, read_prompt, remove_prompt, write_prompt
from tests.end_to_end.runtime.test_episodes_in_views import RULES, reply, tell


def test_a_prompt_of_ones_own_counts_at_once_and_can_be_taken_back(tmp_path: Path) -> None:
    prompts = Prompts(tmp_path)
    before = prompts["cast"].hash
    write_prompt("cast", read_prompt("cast")[1] + "\nBe brief.", tmp_path)
    assert prompts["cast"].hash != before
    assert prompts["cast"].user.endswith("Be brief.")
    remove_prompt("cast", tmp_path)
    assert prompts["cast"].hash == before
    assert not list(tmp_path.iterdir())


def test_a_prompt_that_lost_its_input_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="lacks"):
        write_prompt("cast", "Do something.\n=== user ===\nNow.", tmp_path)
    with pytest.raises(BadInput, match="no prompt named"):
        write_prompt("../cast", "x", tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match="own already"):
        remove_prompt("cast", tmp_path)


def test_a_prompt_that_somebody_breaks_does_not_stop_the_folds(tmp_path: Path) -> None:
    write_prompt("cast", read_prompt("cast")[1] + "\nBe brief.", tmp_path)
    prompts = Prompts(tmp_path)
    (tmp_path / "cast.md").write_text("half a", "utf-8")
    os.utime(tmp_path / "cast.md", ns=(1, 1))
    assert prompts["cast"].user.endswith("Be brief.")
    with pytest.raises(BadInput):
        load_prompt("cast", tmp_path)


def test_the_next_question_is_the_one_that_the_fold_asks() -> None:
    model = ScriptedModel(reply)
    with BlockingMemory(":memory:", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        assert story.next_question() is None
        tell(story, 20)
        asked = story.next_question()
        assert asked and asked.due and asked.prompt == "update" and not model.requests
        story.fold(once=True)
        assert (model.requests[0].system, model.requests[0].user) == (asked.request.system, asked.request.user)


def test_where_nothing_is_due_it_is_the_first_question_of_all() -> None:
    with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(reply)) as memory:
        story = memory.story("tale")
        tell(story, 20)
        story.fold()
        asked = story.next_question()
    assert asked and not asked.due and asked.span.first == 0
