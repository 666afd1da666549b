"""What each check looks at, and what it leaves alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.messages import Message, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.model_io import ModelReply
from previously.folds.checks import Accepted, RefusalKind, Refused, TextRequest, judge, judge_text
from tests.effort import cases
from tests.unit.folds.checks import corpus
from tests.unit.folds.checks.corpus import reply_of

DELTA = (
    message(
        "user", "I promise to bring you the lantern before the fair, Odile. It cost me 45 crowns.", speaker="Matthis"
    ),
    message(
        "assistant", '"Then hurry," Odile says. The mill is dark, and something scratches at the door.', speaker="Odile"
    ),
    message("user", "Matthis bars the door with the miller's bench and lights his last candle.", speaker="Matthis"),
    message("assistant", '"It\'s only Bruno, the dog," says Odile, but she does not open.', speaker="Odile"),
)
PREVIOUS = "Matthis came to the mill with Sister Agathe, who stayed behind in Vauclaire with 300 sheep."
ASKED = TextRequest(PREVIOUS, DELTA, 100)
GOOD = (
    "Matthis promised Odile the lantern, which cost him 45 crowns, before the fair. At the dark mill something "
    "scratched at "
    "the door; Odile said that it was only the dog Bruno, and did not open."
)


def verdict_on(text: str, asked: TextRequest = ASKED, finish: str | None = "stop") -> Accepted | Refused:
    return judge(asked, reply_of(text, finish))


def kind_of(text: str, asked: TextRequest = ASKED, finish: str | None = "stop") -> RefusalKind | None:
    verdict = verdict_on(text, asked, finish)
    return verdict.kind if isinstance(verdict, Refused) else None


def test_the_loss_audit_lists_names_and_numbers_that_are_gone() -> None:
    verdict = verdict_on(GOOD)
    assert isinstance(verdict, Accepted)
    assert {"Agathe", "Vauclaire", "300"} <= {word for shed in verdict.shed for word in shed.split()}
    assert "Matthis" not in verdict.shed


@pytest.mark.parametrize("finish", ["length", "max_tokens", "LENGTH", "error"])
def test_a_server_that_stopped_an_answer_is_believed(finish: str) -> None:
    assert kind_of(GOOD, finish=finish) is RefusalKind.TRUNCATED


@pytest.mark.parametrize("finish", [None, "stop", "eos", "end_turn", "stop_sequence", ""])
def test_other_words_for_finished_are_fine(finish: str | None) -> None:
    assert kind_of(GOOD, finish=finish) is None


@pytest.mark.parametrize(
    "ending", [".", "!", "…", '."', ".”", ".)", ' in what she called "the dark hour"', ".*", "?", " (see 45)", "。"]
)
def test_many_endings_are_endings(ending: str) -> None:
    assert kind_of(GOOD.rstrip(".") + ending) is None


@pytest.mark.parametrize("ending", [" and", ",", " –", ": the", ' and said, "', " („", "; then", " wi", "-"])
def test_a_broken_sentence_is_cut_off(ending: str) -> None:
    assert kind_of(GOOD.rstrip(".") + ending) is RefusalKind.TRUNCATED


def test_a_person_may_leave_out_the_full_stop() -> None:
    assert isinstance(judge_text(ASKED, GOOD.rstrip(".")), Accepted)


MARKED = "# MINE\n- the mill is *hers*\n- never sell it\n"


def test_names_and_numbers_of_other_sources_are_heard() -> None:
    text = f"{GOOD} They spoke of Queen Ysabeau and of the 62 steps."
    assert kind_of(text) is RefusalKind.UNKNOWN_PERSON
    assert kind_of(text, TextRequest(PREVIOUS, DELTA, 100, sources=("Ysabeau rules.", "Sixty-two steps."))) is None


@pytest.mark.parametrize(
    "text",
    [
        "Matthis’s lantern was Odile's, and the Matthises never came to Vauclaire.",
        "In March the French sold Sister Agathe’s 300 sheep, and Odile told Matthis on a Tuesday.",
        "Yesterday Odile barred the door. Bruno the dog slept, and Matthis lit the Candle.",
        "Odile of Vauclaire told the Sister that Matthis had paid forty-five crowns.",
    ],
)
def test_forms_of_known_names_and_everyday_capitals_are_no_strangers(text: str) -> None:
    assert kind_of(text) is None


def test_the_story_decides_whether_somebody_may_say_i() -> None:
    own = "I promised Odile the lantern before the fair; at the dark mill something scratched at the door."
    assert kind_of(own) is RefusalKind.FIRST_PERSON
    assert kind_of(own, TextRequest(PREVIOUS, DELTA, 100, third_person=False)) is None
    assert kind_of(own, TextRequest("I came to the mill with Odile.", DELTA, 100)) is None
    quoted = f"{GOOD} \"I am afraid of my own door,\" said Odile. 'We know,' said Matthis."
    assert kind_of(quoted, TextRequest(PREVIOUS, DELTA, 100, third_person=True)) is None


def test_words_in_italics_are_somebodys() -> None:
    asked = TextRequest(PREVIOUS, DELTA, 100, third_person=True)
    assert kind_of(f"{GOOD} The card said: *I have you, my dear Odile, and we both know it.*", asked) is None
    assert kind_of(f"{GOOD} The *dark* mill was where I promised it.", asked) is RefusalKind.FIRST_PERSON


def test_a_king_is_no_first_person() -> None:
    asked = TextRequest("Charles I, king of Vauclaire, slept.", DELTA, 100)
    assert kind_of(f"{GOOD} Charles I, the king, slept.", asked) is None


def test_a_ceiling_is_kept() -> None:
    assert kind_of(GOOD, TextRequest(PREVIOUS, DELTA, 10, ceiling_words=80)) is None
    assert kind_of(f"{GOOD} {PREVIOUS}", TextRequest(PREVIOUS, DELTA, 100, ceiling_words=40)) is RefusalKind.TOO_LONG


def test_what_was_to_be_shorter_may_be() -> None:
    long = " ".join(f"Matthis told Odile of the mill and the lantern on day {day}." for day in range(30))
    assert kind_of(GOOD, TextRequest(long, DELTA, 70)) is None
    assert kind_of(GOOD, TextRequest(long, DELTA, 400)) is RefusalKind.COLLAPSE
    assert kind_of(GOOD, TextRequest(long, DELTA, 400, amends=True)) is RefusalKind.COLLAPSE


def test_the_ceiling_is_twice_the_target() -> None:
    asked = TextRequest(PREVIOUS, DELTA, 18)
    assert kind_of(GOOD, asked) is None
    assert kind_of(f"{GOOD} {GOOD[:-1]} in the end.", asked) is RefusalKind.TOO_LONG


def test_a_model_may_not_hand_back_the_earlier_text() -> None:
    delta = tuple(
        message("assistant", "Odile told Matthis how the flood had come. " * 10, speaker="Odile") for _ in range(3)
    )
    asked = TextRequest(GOOD, delta, 100)
    assert kind_of(GOOD, asked) is RefusalKind.UNCHANGED
    assert isinstance(judge_text(asked, GOOD), Accepted)


def test_tool_results_are_part_of_the_story_and_thinking_is_not() -> None:
    told = Message(
        Role.ASSISTANT,
        (
            Thinking("secret plan 777"),
            ToolCall("1", "measure", '{"what": "mill"}'),
            ToolResult("1", "The mill measures 62 feet."),
        ),
        "Odile",
    )
    asked = TextRequest(PREVIOUS, (*DELTA, told), 100)
    verdict = verdict_on(GOOD + " The mill measures 62 feet.", asked)
    assert isinstance(verdict, Accepted)
    assert kind_of(GOOD + " Her secret plan was 777.", asked) is RefusalKind.UNKNOWN_NUMBER


@pytest.mark.parametrize(
    "text",
    [
        "<think>\nMatthis, Odile.\n</think>\n{}",
        "Matthis and Odile, keep the lantern.\n</think>\n\n{}",
        "<thinking>short</thinking>\n<reflection>fine</reflection>\n{}",
        "[THINK]x[/THINK]{}",
        "<|channel|>analysis<|message|>We need it.<|end|><|channel|>final<|message|>{}",
    ],
)
def test_closed_reasoning_before_the_answer_comes_off(text: str) -> None:
    verdict = verdict_on(text.format(GOOD))
    assert isinstance(verdict, Accepted), verdict
    assert verdict.text == GOOD


def test_tags_of_the_story_are_kept() -> None:
    line = "<System: Level up> the sky said to Matthis, and <System: Quest> to Odile."
    asked = TextRequest("", (*DELTA, message("assistant", line, speaker="Odile")), 100)
    text = f"{GOOD} The sky spoke: <System: Level up>, then <System: Quest>."
    verdict = verdict_on(text, asked)
    assert isinstance(verdict, Accepted), verdict
    assert verdict.text == text


pieces = st.one_of(
    st.text(max_size=60),
    st.text(alphabet='*_#-`<>|[]{}()"“”「」.:,;\n\t \ufeff\u200b\ud800\x00', max_size=60),
    st.sampled_from(
        [
            GOOD,
            PREVIOUS,
            MARKED,
            "<think>",
            "</think>",
            "```json\n",
            "Summary:",
            "I'm sorry, but",
            "Odile: ",
            "- ",
            "# ",
            "340",
            "約束。",
            "\n\n",
        ]
    ),
)
texts = st.lists(pieces, max_size=8).map("".join)
replies = st.builds(
    lambda text, finish, reasoning, tools: ModelReply(text, "m", finish, corpus.NO_USAGE, reasoning, tools),
    texts,
    st.one_of(st.none(), st.sampled_from(["stop", "length", "tool_calls", "content_filter"]), st.text(max_size=5)),
    texts,
    st.booleans(),
)
messages = st.builds(
    lambda role, parts, speaker: Message(role, tuple(parts), speaker),
    st.sampled_from(list(Role)),
    st.lists(st.one_of(texts.map(Text), texts.map(Thinking), st.builds(ToolResult, st.just("1"), texts)), max_size=2),
    st.one_of(st.none(), st.text(max_size=10), st.sampled_from(["Odile", "Matthis", "コハク", " "])),
)
askings = st.builds(
    lambda previous, delta, target, sources: TextRequest(previous, tuple(delta), target, sources=tuple(sources)),
    texts,
    st.lists(messages, max_size=4),
    st.sampled_from([0, 1, 20, 400]),
    st.lists(texts, max_size=2),
)


@settings(max_examples=cases(250), deadline=None)
@given(askings, replies)
def test_judging_is_total_and_deterministic(asked: TextRequest, reply: ModelReply) -> None:
    verdict = judge(asked, reply)
    assert verdict == judge(asked, reply)
    if isinstance(verdict, Accepted):
        assert verdict.text.strip()
    else:
        assert verdict.reason
    judge_text(asked, reply.text)


@settings(max_examples=cases(100), deadline=None)
@given(texts)
def test_any_text_around_a_good_one_is_judged_without_raising(text: str) -> None:
    for whole in (text + GOOD, GOOD + text):
        verdict = verdict_on(whole)
        if isinstance(verdict, Accepted):
            again = verdict_on(verdict.text)
            assert isinstance(again, Accepted)
            assert again.text == verdict.text


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a. ",
        "A ",
        "\n",
        "<",
        "<think>",
        "- x\n",
        '"',
        "*a*",
        "“",
        "A: b\n",
        "は",
        "1 ",
        "1,",
        "two ",
        "```\n",
        "カは",
        "hundred ",
        "'a ",
        "I ",
        "Mr. ",
        "---\n",
        "<|im_end|>",
        "as an ",
        "i can't ",
    ],
)
@pytest.mark.random
def test_long_strange_answers_are_judged_in_linear_time(unit: str) -> None:
    length = cases(100_000, quick=20_000)
    text = unit * (length // len(unit))
    started = time.process_time()
    judge(TextRequest(text, DELTA), reply_of(text))
    # A tenth of it in fact, half a second for the longer text; a square of that would be minutes.
    assert time.process_time() - started < 5 * length / 100_000
