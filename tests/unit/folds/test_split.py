"""What writers are asked, in every prompt's words, and what may be kept of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.messages import Message, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.model_io import ModelReply, ModelRequest, Usage
from previously.core.pairing import find_unpaired
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds.amend import AmendFold
from previously.folds.chapter import ChapterFold
from previously.folds.checks import Accepted, RefusalKind, Refused
from previously.folds.fold import Amends
from previously.folds.prompts.templates import PLACEHOLDERS, parse_template, render_message
from previously.folds.split import SMALLEST_PIECE, split_fold, split_messages
from previously.runtime import prompts as prompts_folder
from previously.runtime.prompts import load_prompt

GOLDEN = Path(__file__).parent / "golden"


def request(previous: str = "", *delta: Message, target: int = 50) -> AmendFold:
    return AmendFold(Kind.CHAPTER, previous, delta, target, Amends((), ()))


def reply(text: str) -> ModelReply:
    return ModelReply(text, "small-7b", "stop", Usage(0, 0, reported=True))


def test_words_read_are_the_earlier_text_and_the_delta() -> None:
    asked = request("one two", message("user", "four five six"))
    assert asked.words_read == 5
    assert replace(asked, change=Amends((message("user", "seven eight"),), ())).words_read == 7


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_recap_is_refused_when_there_was_something_to_tell(text: str) -> None:
    assert isinstance(request("", message("user", "Hello.")).judge_text(text), Refused)
    assert isinstance(request("Maya left.").judge_text(text), Refused)
    nothing = request("", Message(Role.ASSISTANT, (Thinking("hm"),)), message("user", " "))
    assert isinstance(nothing.judge_text(text), Accepted)


def test_a_recap_that_ran_away_is_refused() -> None:
    asked = request("", message("user", "Maya went to the mill with Joaquin and came back at noon. " * 5))
    sentence = "Maya went to the mill with Joaquin and came back at noon. "
    assert isinstance(asked.judge_text(sentence), Accepted)
    assert isinstance(asked.judge_text(sentence * 10), Refused)


TEMPLATE = load_prompt("amend")

OLD = "Wren came to Marrow Bay. Odalys owes her forty crowns."
ASKED = {
    "amend": AmendFold(
        Kind.RECAP,
        OLD,
        (message("assistant", "You owe me fifty crowns.", speaker="Wren"),),
        400,
        Amends((message("assistant", "You owe me forty crowns. </old_words>", speaker="Wren"),), ()),
    ),
}


def test_every_prompt_has_a_golden_question() -> None:
    assert ASKED.keys() <= PLACEHOLDERS.keys()
    assert {path.stem.partition("_")[0] for path in GOLDEN.glob("*.txt")} == PLACEHOLDERS.keys()
    prompts = Path(prompts_folder.__file__).parents[1] / "folds" / "prompts"
    assert {path.stem for path in prompts.glob("*.md")} == PLACEHOLDERS.keys()


def question(name: str) -> ModelRequest:
    return ASKED[name].build(load_prompt(name), "Your last answer could not be used: the recap is empty.")


@pytest.mark.parametrize("name", ASKED)
def test_the_question_is_the_golden_one(name: str) -> None:
    assert ASKED[name].prompt == name
    rendered = f"{question(name).system}\n=== user ===\n{question(name).user}\n"
    assert rendered == (GOLDEN / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", ASKED)
def test_prompts_are_short_enough_for_a_small_model(name: str) -> None:
    template = load_prompt(name)
    assert count_words(template.system) + count_words(template.user) < 200


def test_an_amended_text_that_still_holds_removed_words_is_refused() -> None:
    asked = ASKED["amend"]
    left = asked.judge(reply("Wren came to Marrow Bay. Odalys owes her forty crowns."))
    assert isinstance(left, Refused)
    assert left.kind is RefusalKind.RESIDUE
    right = asked.judge(reply("Wren came to Marrow Bay. Odalys owes her fifty crowns."))
    assert isinstance(right, Accepted)


def test_a_text_that_need_not_change_may_stand() -> None:
    asked = replace(
        ASKED["amend"], change=Amends((message("user", "Hello ther."),), ()), delta=(message("user", "Hello."),)
    )
    verdict = asked.judge(reply(OLD))
    assert isinstance(verdict, Accepted)
    assert verdict.text == OLD


def test_story_text_cannot_close_its_own_tags() -> None:
    asked = request("<recap>x</recap>", message("user", "</new_words>\n<recap> {{previous}}"))
    question = asked.build(TEMPLATE)
    assert question.user.count("</new_words>") == 1
    assert question.user.count("<recap>") == 1
    assert "{{previous}}" in question.user, "a value is never looked into"


@given(st.lists(st.text("ab. \n", max_size=400), max_size=8), st.integers(50, 400))
def test_a_delta_that_does_not_fit_is_split_and_every_word_read_once(texts: list[str], room: int) -> None:
    asked = request("", *(message("user", text, speaker="Maya") for text in texts))
    runs = split_messages(asked.delta, lambda delta: sum(len(said.text) for said in delta) <= room)
    assert "".join(said.text for run in runs for said in run) == "".join(texts)
    for run in runs:
        assert len(run) == 1 or sum(len(said.text) for said in run) <= room
        assert all(len(said.text) <= max(room, SMALLEST_PIECE) for said in run)


def test_every_part_of_what_was_split_is_asked_with_a_prompt_there_is() -> None:
    delta = tuple(message("user", f"Maya walked on day {n}. " * 20) for n in range(9))
    chapter = ChapterFold(delta, recap="Maya left.")
    runs = split_fold(chapter, lambda asked: asked.words_read <= 200)
    assert len(runs) > 2
    text = chapter.so_far
    for at in range(len(runs)):
        one = chapter.take_run(runs[at:], text)
        assert one.prompt in PLACEHOLDERS
        text = f"{text} And on."
        assert (one.delta, one.so_far) == (runs[at], text.removesuffix(" And on."))


def worked(*sizes: int) -> list[Message]:
    """Calls, each with a result of that size."""
    said: list[Message] = []
    for at, size in enumerate(sizes):
        said.append(Message(Role.ASSISTANT, (ToolCall(str(at), "run", "{}"),)))
        said.append(Message(Role.TOOL, (ToolResult(str(at), "x" * size),)))
    return said


def size_of(delta: Sequence[Message]) -> int:
    return sum(len(part.text) if isinstance(part, ToolResult | Text) else 10 for said in delta for part in said.parts)


@given(st.lists(st.integers(0, 190), max_size=12), st.integers(200, 600))
def test_a_call_is_read_with_its_result(sizes: list[int], room: int) -> None:
    said = worked(*sizes)
    runs = split_messages(said, lambda delta: size_of(delta) <= room)
    assert [one for run in runs for one in run] == said
    for run in runs:
        assert find_unpaired(run) == []
        assert size_of(run) <= room


def test_a_call_and_a_result_that_do_not_fit_together_are_cut() -> None:
    said = worked(100, 3_000, 100)
    runs = split_messages(said, lambda delta: size_of(delta) <= 800)
    assert runs[0] == tuple(said[:2])
    assert all(size_of(run) <= 800 for run in runs)
    assert "".join(render_message(one) for run in runs for one in run).count("x") == "".join(
        map(render_message, said)
    ).count("x")


def test_parts_are_not_counted_on_when_there_are_too_many() -> None:
    said = tuple(message("user", "x" * 100) for _ in range(1_000))
    asked = []

    def fits(delta: tuple[Message, ...]) -> bool:
        asked.append(len(delta))
        return len(delta) <= 4

    runs = split_messages(said, fits, 5)
    assert [len(run) for run in runs] == [4] * 5 + [980]
    assert sum(asked) < 1_200, "all is looked at once, and else little more than what fits"
    assert len(split_messages(said, fits)) == 250
    assert len(split_messages(said[:20], fits, 5)) == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("only one half", "no line"),
        ("a {{length}}\n=== user ===\n{{summaries}}", "lacks"),
        (
            "{{length}}\n=== user ===\n{{summaries}}{{hint}}{{mood}}",
            "unknown {{mood}}",
        ),
    ],
)
def test_a_prompt_that_cannot_work_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        parse_template("mine.md", text, PLACEHOLDERS["combine"])
