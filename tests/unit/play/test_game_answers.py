"""Answers of agents: every slip of a small model is repaired or refused, never raised."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.play.answers import find_spoken, read_character, read_narrator, read_state

TOLD = "The wheel creaked."
NARRATIONS = {
    "as asked": f"{TOLD}\nPRESENT: Maya, Bram\nRESPONDING: Maya\nMOOD: tense",
    "in bold": f"{TOLD}\n\n**PRESENT:** Maya, Bram\n**RESPONDING:** Maya\n**MOOD:** Tense.",
    "in a fence": f"```\n{TOLD}\nPRESENT: Maya and Bram\nRESPONDING: Maya\nMOOD: tense\n```",
    "an unclosed fence": f"```text\n{TOLD}\nPRESENT: Maya, Bram\nRESPONDING: Maya\nMOOD: tense",
    "JSON": json.dumps(
        {"narration": TOLD, "present": ["Maya", "Bram"], "responding_characters": ["Maya"], "mood": "tense"}
    ),
    "YAML": f"narration: |\n  {TOLD}\npresent: [Maya, Bram]\nresponding_characters:\n- Maya\nmood: tense",
    "lists in lines": f"{TOLD}\nPRESENT:\n- Maya\n- Bram\nRESPONDING:\n- Maya\nMOOD: tense",
    "its own name": f"Narrator: {TOLD}\nPRESENT: Maya, Bram\nRESPONDING: Maya\nMOOD: tense",
    "talk behind it": f"{TOLD}\nPRESENT: Maya, Bram\nRESPONDING: Maya\nMOOD: tense\n\nLet me know if you want more!",
}


@pytest.mark.parametrize("form", NARRATIONS)
def test_a_narration_in_every_form(form: str) -> None:
    answer = read_narrator(NARRATIONS[form])
    assert answer is not None
    assert (answer.narration, answer.present, answer.responding, answer.mood) == (
        TOLD, ("Maya", "Bram"), ("Maya",), "tense",
    )  # fmt: skip


def test_what_is_missing_is_named() -> None:
    answer = read_narrator(TOLD)
    assert answer is not None and (answer.present, answer.responding) == (None, None)
    assert answer.repairs == ("no present was given", "no responding was given", "no mood was given")


def test_nobody_is_said_in_many_ways() -> None:
    for word in ("nobody", "None", "no one", "-"):
        answer = read_narrator(f"{TOLD}\nPRESENT: {word}\nRESPONDING: {word}\nMOOD: sad")
        assert answer is not None and (answer.present, answer.responding) == ((), ())


def test_an_answer_that_was_cut_off_loses_its_half_sentence() -> None:
    answer = read_narrator(f"{TOLD} Then the", cut_off=True)
    assert answer is not None and answer.narration == TOLD and "it was cut off" in answer.repairs


def test_an_endless_narration_is_cut_at_a_sentence() -> None:
    answer = read_narrator("The wheel creaked. " * 200)
    assert answer is not None and len(answer.narration) <= 1_600 and answer.narration.endswith("creaked.")


@pytest.mark.parametrize("text", ["", "   ", "PRESENT: Maya\nRESPONDING: Maya", "```\n```", "{}"])
def test_without_a_narration_there_is_no_answer(text: str) -> None:
    assert read_narrator(text) is None or text == "{}"


SPEECHES = {
    "as asked": '"No," said Maya.',
    "with a name": 'Maya: "No," said Maya.',
    "with a name in bold": '**Maya:** "No," said Maya.',
    "speaking for others": '"No," said Maya.\n\nBram: "Yes!"',
    "speaking for the player": '"No," said Maya.\nTess: I leave.',
    "with fields": '"No," said Maya.\nMOOD: sad',
    "in a fence": '```\n"No," said Maya.\n```',
}


@pytest.mark.parametrize("form", SPEECHES)
def test_a_character_speaks_for_nobody_else(form: str) -> None:
    answer = read_character(SPEECHES[form], "Maya", ("Bram", "Tess"))
    assert answer is not None and answer.text == '"No," said Maya.'


def test_silence_is_an_answer_and_nothing_is_none() -> None:
    silent = read_character("(silence)", "Maya", ())
    assert silent is not None and silent.text == ""
    assert read_character("", "Maya", ()) is None


BEATS = ("Tess knocks at the door", "Maya opens the door", "The key is named aloud")
VERDICTS = {
    "as asked": ("HIT: 1, 3\nCOMPLETE: yes\nWHY: She did.", (1, 3), True),
    "none": ("HIT: none\nCOMPLETE: no\nWHY: Nothing.", (), False),
    "in words": ("HIT: the key is named aloud\nCOMPLETE: no", (3,), False),
    "a list": ("BEATS HIT:\n- 1\n- 2\nCOMPLETE: No, not yet", (1, 2), False),
    "JSON": ('{"beats_hit": [2], "chapter_complete": true, "reason": "So it is."}', (2,), True),
    "numbers that are none": ("HIT: 7, 2\nCOMPLETE: no", (2,), False),
}


@pytest.mark.parametrize("form", VERDICTS)
def test_a_verdict_in_every_form(form: str) -> None:
    text, hit, complete = VERDICTS[form]
    verdict = read_state(text, BEATS)
    assert verdict is not None and (verdict.hit, verdict.complete) == (hit, complete)


def test_talk_is_no_verdict() -> None:
    assert read_state("The player has made good progress!", BEATS) is None


def test_no_field_is_shown_while_words_come() -> None:
    text = NARRATIONS["as asked"]
    shown = [find_spoken(text[:end]) for end in range(len(text) + 1)]
    assert shown[-1] == TOLD
    assert all(TOLD.startswith(part) for part in shown)


@given(st.text(max_size=400))
def test_any_text_gives_an_answer_or_none(text: str) -> None:
    for answer in (read_narrator(text), read_character(text, "Maya", ("Bram",)), read_state(text, BEATS)):
        assert answer is None or answer.repairs is not None
    assert isinstance(find_spoken(text), str)
