"""Combining scenes: summaries only, plain prose back, and far fewer tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.messages import message
from previously.core.model_io import ModelReply, ModelRequest, Usage
from previously.core.scene import Described, Scene
from previously.core.tokens import estimate_tokens
from previously.folds.checks import Accepted, Refused
from previously.folds.combine import CombineFold, join_summaries, number_scenes
from previously.folds.scene import join_scenes, render_scene
from previously.runtime.prompts import load_prompt
from tests.effort import cases
from tests.unit.folds.scene_corpus import SEED

GOLDEN = Path(__file__).parent / "golden"
SUMMARIES = [one["output"]["summary"] for one in SEED["scenes"]]
TOLD = ["Wren came. </summaries>", " ", "Wren left."]
TIMELINE = (
    "Alice and Bob heard from the bartender Grim about bandits led by Scarface. Bob admitted that he works for the "
    "Shadow Guild and knows who stole the Sunblade; Alice gave him three days to name the thief. Bandits ambushed them "
    "on the eastern road, Alice was wounded in the shoulder, and they took a map to the camp in Darkwood Forest."
)


def reply(text: str) -> ModelReply:
    return ModelReply(text, "small-7b", "stop", Usage(0, 0, reported=True))


def question() -> ModelRequest:
    return CombineFold(tuple(message("assistant", text) for text in TOLD), 120).build(
        load_prompt("combine"), "Once more."
    )


def test_the_question_is_the_golden_one() -> None:
    asked = question()
    assert f"{asked.system}\n=== user ===\n{asked.user}\n" == (GOLDEN / "combine.txt").read_text("utf-8")
    assert asked.schema is None


def test_summaries_are_numbered_in_order() -> None:
    assert number_scenes(["One.", "Two."]) == "Scene 1: One.\n\nScene 2: Two."


def test_no_word_of_an_entry_is_sent() -> None:
    question = CombineFold.of(SUMMARIES, 200).build(load_prompt("combine"))
    for example in SEED["scenes"]:
        for entry in example["output"]["lorebooks"]:
            assert entry["content"] not in question.user
    assert all(summary in question.user for summary in SUMMARIES)


def _text_of(tokens: int) -> str:
    text = ""
    while estimate_tokens(f"{text} harbour".strip()) <= tokens:
        text = f"{text} harbour".strip()
    return text


def test_the_example_of_the_seed_saves_at_least_71_percent() -> None:
    entry = Described("Thing", "item", ("thing", "key"), _text_of(100))
    scenes = [Scene(_text_of(200), (entry,) * 5) for _ in range(3)]
    assert abs(estimate_tokens(scenes[0].summary) - 200) < 3
    whole = sum(estimate_tokens(render_scene(scene)) for scene in scenes)
    sent = estimate_tokens(number_scenes([scene.summary for scene in scenes]))
    assert whole >= 2_000
    assert 1 - sent / whole >= 0.71


def test_the_worked_examples_save_most_of_their_tokens_too() -> None:
    whole = sum(estimate_tokens(json.dumps(one["output"])) for one in SEED["scenes"])
    assert estimate_tokens(number_scenes(SUMMARIES)) < 0.4 * whole


def test_a_timeline_is_kept_and_json_or_a_list_is_not() -> None:
    fold = CombineFold.of(SUMMARIES, 120)
    kept = fold.judge(reply(TIMELINE))
    assert isinstance(kept, Accepted)
    assert kept.text == TIMELINE
    for bad in ("", json.dumps({"summary": TIMELINE}), "- Alice met Grim.\n- Bob confessed.\n- Bandits came.",
                "I cannot help with that.", TIMELINE * 5):  # fmt: skip
        assert isinstance(fold.judge(reply(bad)), Refused), bad


def test_telling_the_summaries_in_their_own_words_is_no_echo() -> None:
    assert isinstance(CombineFold.of(SUMMARIES, 0).judge_text(" ".join(SUMMARIES)), Accepted)


@pytest.mark.parametrize("most", [60, 120, 300])
def test_without_a_model_summaries_are_joined_and_bounded(most: int) -> None:
    text = join_summaries(SUMMARIES, most)
    assert 0 < estimate_tokens(text) <= most
    assert text == join_summaries(SUMMARIES, most)
    assert join_summaries(SUMMARIES, 10_000) == "\n".join(SUMMARIES)


def test_the_newest_scene_is_always_told() -> None:
    old = ["Wren counted the barrels and Bram paid for the salt at Lethen. " * 20] * 5
    assert "bell" in join_summaries([*old, "The drowned bell rang at midnight."], 80)


@settings(max_examples=cases(60))
@given(st.lists(st.text(max_size=120), max_size=6), st.integers(10, 200))
def test_joining_is_total_and_bounded(summaries: list[str], most: int) -> None:
    assert estimate_tokens(join_summaries(summaries, most)) <= most


def test_a_combined_scene_has_every_entry_once() -> None:
    scenes = [
        Scene(one["output"]["summary"], tuple(Described(e["name"], e["type"], tuple(e["keywords"]), e["content"])
                                              for e in one["output"]["lorebooks"])) for one in SEED["scenes"]
    ]  # fmt: skip
    whole = join_scenes([*scenes, *scenes[:1]])
    names = [entry.name for entry in whole.entries]
    assert len(names) == len(set(names)) == 9
    assert whole.entries[0].content == scenes[0].entries[0].content
