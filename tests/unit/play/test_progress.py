"""Decisions of a game: who is there, who answers, and when a chapter is over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from previously.play.answers import NarratorAnswer, StateAnswer
from previously.play.game import Game
from previously.play.progress import (
    TurnScene,
    begin_game,
    close_chapter,
    decide_scene,
    decide_step,
    overrule_beats,
    parse_state,
)
from tests.end_to_end.play.game_doubles import read_small_game

SCENES = {
    "as the narrator says": (("Maya", "Bram"), ("Bram",), ("maya", "bram"), ("bram",)),
    "whoever answers is there": (("Maya",), ("Bram",), ("maya", "bram"), ("bram",)),
    "nobody": ((), (), (), ()),
    "not said: as before": (None, ("Maya",), ("maya", "bram"), ("maya",)),
    "not said: whom the player names": (("Maya", "Bram"), None, ("maya", "bram"), ("bram",)),
    "nobody of the game: as before": (("Conrad",), ("Maya",), ("maya", "bram"), ("maya",)),
    "at most two answer": (
        ("Maya", "Bram", "Odalys"),
        ("Maya", "Bram", "Odalys"),
        ("maya", "bram", "odalys"),
        ("maya", "bram"),
    ),
}


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return read_small_game(tmp_path)


@pytest.mark.parametrize("what", SCENES)
def test_who_is_there_and_who_answers(what: str, game: Game) -> None:
    present, responding, there, answering = SCENES[what]
    scene = decide_scene(
        game, begin_game(game), "I ask Bram, of course.", NarratorAnswer("It rained.", present, responding)
    )
    assert (scene.present, scene.responding) == (there, answering)


def test_a_chapter_is_over_when_beats_and_agent_say_so(game: Game) -> None:
    scene, state = TurnScene(("maya",), ()), begin_game(game)
    early = decide_step(game, state, scene, StateAnswer((1,), complete=True))
    assert early.closed is None, "two beats are asked for"
    unsaid = decide_step(game, early.state, scene, StateAnswer((2,)))
    assert unsaid.closed is None, "the agent does not say so"
    over = decide_step(game, unsaid.state, scene, StateAnswer((), complete=True, why="It is open."))
    assert over.closed and over.opened and (over.closed.id, over.opened.id) == ("one", "two")
    assert (over.state.chapter, over.state.beats, over.state.closed, over.state.reason) == (
        "two",
        (),
        ("one",),
        "It is open.",
    )
    last = decide_step(game, over.state, scene, StateAnswer((1,)))
    assert last.closed and last.opened is None and last.state.complete, "beats alone decide here"
    assert decide_step(game, last.state, scene, StateAnswer((1,), complete=True)).closed is None, "it is over once"


def test_without_a_verdict_nothing_is_hit_and_the_turn_counts(game: Game) -> None:
    step = decide_step(game, begin_game(game), TurnScene(("bram",), ()), None)
    assert (step.state.turn, step.state.beats, step.state.present) == (1, (), ("bram",))


def test_a_person_has_the_last_word(game: Game) -> None:
    state = overrule_beats(game, begin_game(game), [1, 3], hit=True, reason="I saw it")
    assert state.beats == ("Tess knocks at the door", "The key is named") and state.reason == "I saw it"
    assert overrule_beats(game, state, [1], hit=False, reason="").beats == ("The key is named",)
    assert close_chapter(game, state).state.chapter == "two"


def test_a_record_survives_a_game_that_was_edited(game: Game) -> None:
    state = replace(begin_game(game), beats=("Tess knocks at the door", "A beat of old"), present=("maya", "gone"))
    again = parse_state(state.as_record(), game)
    assert again is not None and (again.beats, again.present) == (("Tess knocks at the door",), ("maya",))
    assert parse_state({"chapter": "nine"}, game) is None
