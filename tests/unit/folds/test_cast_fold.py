"""The note of what one character knows: what it asks, what it keeps of an answer, and what never gets into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.cast import MOST_FACTS, Fact, Knowledge, parse_knowledge
from previously.core.messages import Message, message
from previously.core.model_io import ModelReply, Usage
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds.cast import MOST_SENTENCES, MOST_WORDS, CastFold, bound_summary
from previously.folds.checks import Accepted, Refused
from previously.folds.fold import Fold
from previously.folds.json_answer import dump_canonical
from previously.runtime.prompts import load_prompt
from previously.text.sentences import split_sentences
from tests.effort import cases

GOLDEN = Path(__file__).parent / "golden"
TEMPLATE = load_prompt("cast")

MILL = (
    message("assistant", "Rain beats on the mill. Maya and Bram sit by the fire."),
    message("assistant", '*Bram leans closer.* "I hid the brass key under the third stair."', speaker="Bram"),
    message("user", '"Why there?" *I put another log on the fire.*', speaker="Maya"),
    message("assistant", "Joaquin burned the ledger.", witnesses=["Joaquin"]),
    message("assistant", "Bram told Maya that Joaquin owes the harbour master forty crowns."),
)
BEFORE = Knowledge(
    "Maya came to the mill to find her brother. She trusts Bram. </memory> She is tired.",
    (Fact("Maya's brother is missing", 2), Fact("Bram owns the mill", 3, "told by Bram")),
)
GOOD = "Maya sits in the mill with Bram. She knows where the brass key is. She wants to find her brother."


def noted(answer: dict[str, object] | str, note: CastFold | None = None) -> Accepted:
    note = note or CastFold.of("Maya", MILL, so_far=dump_canonical(BEFORE.as_json()), at=14)
    found = note.judge_text(answer if isinstance(answer, str) else json.dumps(answer))
    assert isinstance(found, Accepted), found
    return found


def test_the_question_is_the_golden_one() -> None:
    note: Fold = CastFold.of("Maya", MILL, so_far=dump_canonical(BEFORE.as_json()), at=14)
    assert (note.kind, note.prompt, note.again) == (Kind.CAST, "cast", False)
    question = note.build(TEMPLATE, "Your last answer could not be used: it holds no JSON object.")
    assert f"{question.system}\n=== user ===\n{question.user}\n" == (GOLDEN / "cast.txt").read_text("utf-8")
    assert question.schema is not None
    assert question.schema["required"] == ["summary", "add", "remove", "update"]


def test_the_prompt_is_short_enough_for_a_small_model() -> None:
    assert count_words(TEMPLATE.system) + count_words(TEMPLATE.user) < 220


def test_a_first_note_says_that_nothing_is_known() -> None:
    question = CastFold.of("Maya", ()).build(TEMPLATE)
    assert "(nothing yet)" in question.user
    assert "(no facts yet)" in question.user


def test_a_note_can_only_hold_what_was_witnessed_however_it_is_made() -> None:
    assert MILL[3] not in CastFold("Maya", MILL).delta
    assert MILL[3] not in CastFold.of("Maya", MILL).take_run([MILL], "").delta
    assert MILL[3] in CastFold.of(" joaquin", MILL).delta
    assert CastFold.of("", MILL).delta == CastFold.of("  ", MILL).delta == ()


def test_a_part_goes_on_from_what_the_parts_before_noted() -> None:
    note = CastFold.of("Maya", MILL, so_far=dump_canonical(BEFORE.as_json()), at=14)
    first = noted(
        {"summary": GOOD, "add": ["Bram hid the brass key under the third stair"]},
        note.take_run([MILL[:2]], note.so_far),
    )
    second = noted({"summary": "", "add": ["Joaquin owes forty crowns"]}, note.take_run([MILL[2:]], first.text))
    assert parse_knowledge(second.text).summary == GOOD
    assert [fact.text for fact in parse_knowledge(second.text).facts][-2:] == [
        "Bram hid the brass key under the third stair", "Joaquin owes forty crowns",
    ]  # fmt: skip


def test_an_answer_changes_summary_and_facts() -> None:
    found = noted(
        {
            "summary": GOOD,
            "add": ["Bram hid the brass key under the third stair"],
            "remove": [],
            "update": [{"old": "Bram owns a mill", "new": "Bram and Joaquin own the mill"}],
        }
    )
    assert parse_knowledge(found.text) == Knowledge(
        GOOD,
        (
            Fact("Maya's brother is missing", 2),
            Fact("Bram and Joaquin own the mill", 14),
            Fact("Bram hid the brass key under the third stair", 14),
        ),
    )
    assert found.warnings == ()
    assert found.text == dump_canonical(json.loads(found.text))


@pytest.mark.parametrize("about", ["Bram", "Joaquin Reyes"])
def test_an_answer_about_somebody_else_is_not_kept(about: str) -> None:
    found = CastFold.of("Maya", MILL).judge_text(json.dumps({"character": about, "summary": GOOD}))
    assert isinstance(found, Refused)
    assert about in found.reason


@pytest.mark.parametrize("about", ["Maya", " MAYA", "Maya Ortiz", ""])
def test_an_answer_may_say_whose_it_is(about: str) -> None:
    assert GOOD in noted({"character": about, "summary": GOOD}).text


def test_an_empty_summary_leaves_the_earlier_one() -> None:
    found = noted({"summary": " ", "add": ["Bram hid the brass key"]})
    assert parse_knowledge(found.text).summary == " ".join(BEFORE.summary.split())
    assert found.warnings == ("there was no summary; the earlier one stays",)


def test_an_answer_that_tells_nothing_at_first_is_asked_for_again() -> None:
    assert isinstance(CastFold.of("Maya", MILL).judge_text('{"summary": "", "add": []}'), Refused)
    assert isinstance(CastFold.of("Maya", ()).judge_text('{"summary": "", "add": []}'), Accepted)


def test_a_long_summary_is_cut_at_a_sentence() -> None:
    found = noted({"summary": f"{GOOD} {GOOD} {GOOD}"})
    kept = parse_knowledge(found.text).summary
    assert len(split_sentences(kept)) == MOST_SENTENCES
    assert kept.endswith(".")
    assert found.warnings == (f"the summary was cut to {MOST_SENTENCES} sentences and {MOST_WORDS} words",)
    assert noted({"summary": "She waits."}).warnings == ("the summary has fewer than 3 sentences",)


@pytest.mark.parametrize(
    "endless", ["word " * 500, "x" * 9_000, "雨" * 3_000, "雨 " * 900, "word, " * 60 + "end. More."]
)
def test_an_endless_sentence_is_cut_too(endless: str) -> None:
    text, cut = bound_summary(endless)
    assert cut is (len(endless) > 1_000)
    assert text
    assert len(text) <= 12 * MOST_WORDS + 1
    assert count_words(text) <= MOST_WORDS + 1


@given(st.text(max_size=1_500))
def test_every_summary_is_bounded(text: str) -> None:
    kept, cut = bound_summary(text)
    assert len(split_sentences(kept)) <= MOST_SENTENCES
    assert count_words(kept) <= MOST_WORDS + 1
    assert cut or kept == " ".join(kept.split())
    kept.encode()


NAMES = ("Maya", "Bram", "Joaquin", "Odalys")
SAYINGS = (
    "{who} promised Bram to bring the {canary} before dawn.",
    "Maya found the {canary} in the loft and hid it.",
    '"I owe you the {canary}, Maya," said Joaquin.',
    "I swear the {canary} is ours. Tell no one.",
    '*I give {who} the {canary} and nod.* "Keep it secret."',
    "{who} told Maya that the {canary} is gone.",
)


@st.composite
def stories(draw: st.DrawFn) -> list[tuple[str, Message]]:
    """Messages, each with a word of its own that stands nowhere else."""
    found: list[tuple[str, Message]] = []
    for number in range(draw(st.integers(1, 7))):
        canary = f"zorb{'abcdefghij'[number]}ent"
        text = draw(st.sampled_from(SAYINGS)).format(who=draw(st.sampled_from(NAMES)), canary=canary)
        witnesses = draw(st.none() | st.lists(st.sampled_from(NAMES), unique=True))
        speaker = draw(st.none() | st.sampled_from(NAMES))
        found.append(
            (canary, message(draw(st.sampled_from(["user", "assistant"])), text, speaker=speaker, witnesses=witnesses))
        )
    return found


@settings(max_examples=cases(60))
@given(stories(), st.sampled_from(NAMES))
def test_nothing_that_was_not_witnessed_gets_into_a_note(story: list[tuple[str, Message]], name: str) -> None:
    so_far = ""
    half = len(story) // 2
    for at, run in ((half, story[:half]), (len(story), story[half:])):
        note = CastFold.of(name, [said for _, said in run], so_far=so_far, at=at)
        question, made = note.build(TEMPLATE), note.builtin()
        echoed = note.judge_text(json.dumps({"summary": question.user[:400], "add": question.user.splitlines()[:9]}))
        for canary, said in story:
            own = said.speaker == name
            if said.witnesses is not None and name not in said.witnesses and not own:
                assert canary not in f"{question.system}{question.user}{made.text}"
                assert canary not in (echoed.text if isinstance(echoed, Accepted) else "")
        so_far = made.text


@settings(max_examples=cases(80))
@given(
    st.one_of(
        st.text(max_size=400),
        st.integers(0, 120).map(lambda end: json.dumps({"summary": GOOD, "add": ["Bram left"], "update": [{}]})[:end]),
        st.lists(st.text(max_size=30), max_size=30).map(lambda texts: json.dumps({"summary": texts, "add": texts})),
    ),
    st.text(max_size=60),
)
def test_whatever_a_model_wrote_is_judged(answer: str, so_far: str) -> None:
    found = CastFold.of("Maya", MILL, so_far=so_far, at=3).judge_text(answer)
    if isinstance(found, Accepted):
        known = parse_knowledge(found.text)
        assert found.text == dump_canonical(known.as_json())
        assert len(known.facts) <= MOST_FACTS
        assert len(split_sentences(known.summary)) <= MOST_SENTENCES
        found.text.encode()


def test_a_megabyte_of_noise_is_unusable() -> None:
    note = CastFold.of("Maya", MILL)
    for noise in ("x" * 1_000_000, '{"add": [' * 100_000, "summary: x\n" * 100_000):
        assert isinstance(note.judge_text(noise), Refused)


def test_a_reply_is_judged_as_every_note_is() -> None:
    note = CastFold.of("Maya", MILL)
    usage = Usage(0, 0, reported=True)
    thought = f'<think>{{"summary": "no"}}</think>{json.dumps({"summary": GOOD})}'
    kept = note.judge(ModelReply(thought, "small-7b", "stop", usage))
    assert isinstance(kept, Accepted)
    assert GOOD in kept.text
    assert isinstance(note.judge(ModelReply("I cannot help with that.", "m", "stop", usage)), Refused)
    assert isinstance(note.judge(ModelReply('{"summary": "Ma', "m", "length", usage)), Refused)
