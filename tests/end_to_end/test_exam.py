"""The exam: what counts as answered, which recorded answer belongs to a request; every row keeps its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.exam import rolling
from benchmarks.exam.__main__ import BUILTIN, NEWEST, Row, run, run_row
from benchmarks.exam.exams import (
    CHARACTERS,
    Exam,
    Present,
    Question,
    load_exams,
    newest_messages,
    read_question,
    render,
)
from benchmarks.exam.invented import find_invented, find_names, find_numbers
from benchmarks.exam.presence import score_presence
from benchmarks.exam.record import record
from benchmarks.exam.recordings import (
    Answer,
    Exchange,
    OnceAskedModel,
    RecordedModel,
    RecordingModel,
    read_answers,
    write_answer,
)
from benchmarks.exam.requests import find_kind, find_span, hash_request
from benchmarks.exam.scores import STRETCH, is_answered, is_answered_together, mark, tally
from benchmarks.exam.settled import contradicted, may_tell
from benchmarks.exam.sittings import prompts, sit_engine, sit_newest, without_question
from previously import Draft, Settings
from previously.core.messages import message
from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.core.note import Aspect
from previously.core.path import Span
from previously.core.tokens import message_tokens
from previously.lore.current_state import StateValue
from previously.lore.threads import Thread
from previously.testing.model import ScriptedModel
from previously.text.compare import find_terms


def question(*answers: str, trap: str | None = None, importance: int = 2, id: str = "q") -> Question:
    return read_question(
        {"id": id, "question": "Where is the key?", "answers": answers, "trap": trap, "importance": importance}
    )


def small_exam(count: int = 60, **settings: object) -> Exam:
    drafts = [
        Draft(
            message("user" if number % 2 else "assistant", f"Line {number} tells of stone {number * 7}.", speaker="Ann")
        )
        for number in range(count)
    ]
    asked = (question("stone 399"), question("stone 0\\b", id="first"))
    return Exam("small", tuple(drafts), asked, (), Settings.of("roleplay", fold_messages=20, **settings))


def texts_of(exam: Exam) -> list[str]:
    return [one.text for one in exam.messages]


def request_for(
    texts: Sequence[str], *, bridge: str = "", recap: str = "", heading: str = "# New messages"
) -> ModelRequest:
    told = "\n\n".join(f"#{number} Ann: {text}" for number, text in enumerate(texts, 1))
    user = (
        f"# Recap so far\n{recap}\n\n# Bridge: told already\nAnn: {bridge}\n\n{heading}\n{told}\n\n# Your answer\nEND"
    )
    return ModelRequest("You keep the memory.", user, 500)


# Scores


def test_all_words_of_an_answer_must_be_there_and_the_trap_must_not() -> None:
    asked = question("silver key", "under.*stone", trap="in the well")
    assert is_answered(asked, "The SILVER key lay under\nthe third stone.")
    assert not is_answered(asked, "The silver key was gone.")
    assert not is_answered(asked, "The silver key lay under the stone; no, it was in the well.")


def test_words_far_apart_count_anywhere_but_not_together() -> None:
    asked = question("silver", "stone")
    near, far = "silver" + "x" * 400 + "stone", "silver" + "x" * STRETCH + "stone"
    assert is_answered(asked, far)
    assert not is_answered_together(asked, far)
    for offset in range(0, 2 * STRETCH, 50):
        assert is_answered_together(asked, "x" * offset + near + "x" * offset)


def test_a_trap_counts_wherever_it_stands() -> None:
    asked = question("silver", "stone", trap="in the well")
    assert not is_answered_together(asked, "silver stone" + "x" * 5 * STRETCH + "in the well")


def test_both_numbers_are_summed_by_importance() -> None:
    far = "silver" + "x" * STRETCH + "stone"
    marks = [mark(question("silver", "stone", importance=3), far), mark(question("silver", importance=1), far)]
    sums = tally(marks)
    assert (sums["anywhere"], sums["together"], sums["of"]) == (2, 1, 2)
    assert sums["importance"]["3"] == {"anywhere": 1, "together": 0, "of": 1}
    assert sums["importance"]["1"] == {"anywhere": 1, "together": 1, "of": 1}
    assert sums["importance"]["2"]["of"] == 0


def test_the_stories_are_whole() -> None:
    exams = {exam.name: exam for exam in load_exams()}
    assert {name: len(exam.drafts) for name, exam in exams.items()} == {
        "saltworks-duet": 160,
        "table-of-four": 200,
        "glasshouse-novel": 74,
    }
    assert all(len(exam.questions) == 30 for exam in exams.values())
    assert all(one.speaker is None and one.role == "assistant" for one in exams["glasshouse-novel"].messages)
    assert all(one.speaker for one in exams["table-of-four"].messages)
    for exam in exams.values():
        whole = render(exam.messages)
        assert all(answer.search(whole) for asked in exam.questions for answer in asked.answers)


# Rows and budgets


def test_the_newest_messages_are_whole_and_within_the_budget() -> None:
    exam = small_exam()
    shown = newest_messages(exam.messages, 100)
    assert exam.messages[-len(shown) :] == shown
    cost = sum(message_tokens(one, CHARACTERS) for one in shown)
    assert cost <= 100 < cost + message_tokens(exam.messages[-len(shown) - 1], CHARACTERS)
    assert abs(len(render(shown)) / 4 - cost) <= len(shown)


async def test_every_row_keeps_its_budget_with_and_without_a_question() -> None:
    exam = small_exam(150)
    for budget in (400, 900):
        for sitting in (
            sit_newest(exam, budget),
            sit_newest(exam, budget, "A summary."),
            await sit_engine(exam, budget, None),
        ):
            assert 0 < sitting.tokens <= budget
            for text in (sitting.end, *sitting.asked):
                assert len(text) / 4 <= budget * 1.02  # blank lines between messages are not counted
                assert exam.messages[-1].text in text


async def test_questions_do_not_see_each_other() -> None:
    exam = small_exam(150)
    sitting = await sit_engine(exam, 600, None)
    alone = await sit_engine(replace(exam, questions=exam.questions[1:]), 600, None)
    assert sitting.asked[1:] == alone.asked
    assert all(one.text not in text for one in exam.questions for text in sitting.asked)


def test_only_the_question_is_taken_out() -> None:
    view = [
        message("assistant", "Where is the key?", speaker="Ann"),
        message("user", "(found: stone)\n\nWhere is the key?"),
    ]
    assert without_question(view, "Where is the key?") == "Ann: Where is the key?\n\n(found: stone)\n\n"


async def test_the_report_has_every_figure() -> None:
    result = await run([Row(NEWEST), Row(BUILTIN)], [small_exam()], [500])
    row = result["rows"][BUILTIN]
    assert row["sum"]["500"]["asked"]["of"] == 2
    figures = row["stories"]["small"]["budgets"]["500"]
    assert figures["cost"] == {"calls": 0, "input_per_story_token": 0, "output_per_story_token": 0}
    assert figures["presence"] is None
    newest = result["rows"][NEWEST]["stories"]["small"]["budgets"]["500"]
    assert (newest["end"]["anywhere"], newest["end"]["missed"]) == (1, ["first"])


def test_presence_is_scored_apart_for_folded_part_and_tail() -> None:
    labels = [Present(1, ("Ann", "Jory Teague")), Present(2, ("Ann",)), Present(9, ("Ann", "Bo")), Present(3, ())]
    scored = score_presence(labels, {1: ["Ann", "Teague"], 2: ["Ann", "Bo"], 3: []}, folded_through=5)
    assert scored == {
        "folded": {"messages": 3, "exact": 2, "precision": 0.75, "recall": 1.0},
        "tail": {"messages": 1, "exact": 0, "precision": None, "recall": 0.0},
    }
    assert score_presence(labels, None, 5) is None


# Spans and kinds


def test_the_span_is_the_run_of_new_messages_without_the_bridge() -> None:
    texts = texts_of(small_exam(30))
    assert find_span(request_for(texts[10:20], bridge=texts[9]), texts) == Span(10, 19)
    assert find_span(request_for(texts[0:3]), texts) == Span(0, 2)
    tagged = request_for(texts[4:8], bridge=texts[3], heading="<new_events>")
    assert find_span(tagged, texts) == Span(4, 7)


def test_what_a_recap_quotes_and_what_is_said_twice_do_not_mislead() -> None:
    texts = ["Aye.", "The gate stands open tonight.", "Aye.", "Then we go in by the river.", "Aye.", "Now."]
    quoted = request_for(texts[2:5], bridge=texts[1], recap="Ann: Aye.\n\nAnn: The gate stands open tonight.")
    assert find_span(quoted, texts) == Span(2, 4)


def test_space_and_defused_tags_do_not_matter_and_headings_may_be_messages() -> None:
    texts = ["# One", "A line\nand   another <recap>", "# Two", "The end."]
    request = replace(request_for([]), user="# New messages\n# One\n\nA line and another ‹recap>\n\n# Two\n\nThe end.")
    assert find_span(request, texts) == Span(0, 3)
    assert find_span(replace(request, user="Nothing of it."), texts) is None


def test_the_kind_is_that_of_the_prompt() -> None:
    known = prompts()
    request = ModelRequest(
        rolling.TEMPLATE.system,
        rolling.TEMPLATE.user.replace("{{summary}}", "A {{b}} c").replace("{{messages}}", "x"),
        9,
    )
    assert find_kind(request, known) == "rolling"
    assert find_kind(ModelRequest("Be brief.", "Say it.", 9), known) == "other"


# Recordings


async def test_an_answer_is_found_by_hash_else_by_span_and_is_then_stale(tmp_path: Path) -> None:
    texts = texts_of(small_exam(30))
    request = request_for(texts[5:9], bridge=texts[4])
    write_answer(tmp_path, "5-8.other", Answer(hash_request(request), "First line.\nSecond line.\n"))
    model = RecordedModel(tmp_path, texts, prompts())
    reply = await model.ask(request)
    assert isinstance(reply, ModelReply)
    assert reply.text.strip() == "First line.\nSecond line."
    assert reply.usage.input_tokens == CHARACTERS.tokens(request.system + request.user)
    assert (model.stale, model.missing) == ([], [])
    changed = RecordedModel(tmp_path, texts, prompts())
    assert isinstance(await changed.ask(replace(request, system="You keep it all.")), ModelReply)
    assert (changed.stale, changed.missing) == (["5-8.other"], [])


async def test_a_request_without_a_recording_is_missing_and_fails(tmp_path: Path) -> None:
    texts = texts_of(small_exam(30))
    model = RecordedModel(tmp_path, texts, prompts())
    for _ in range(2):
        assert isinstance(await model.ask(request_for(texts[5:9])), ModelFailure)
    assert (model.stale, model.missing) == ([], ["5-8.other"])


async def test_a_question_asked_again_has_an_answer_of_its_own(tmp_path: Path) -> None:
    texts = texts_of(small_exam(30))
    first = request_for(texts[5:9])
    second = replace(first, user=f"{first.user}\nYour last answer could not be used.")
    recording = RecordingModel(ScriptedModel(["one", "two"]), RecordedModel(tmp_path, texts, prompts()), say=_silent)
    for request in (first, second, first):
        await recording.ask(request)
    assert {name: one.text for name, one in read_answers(tmp_path).items()} == {
        "5-8.other": "one",
        "5-8.other-2": "two",
    }
    again = RecordedModel(tmp_path, texts, prompts())
    replies = [await again.ask(request) for request in (first, second)]
    assert [reply.text for reply in replies if isinstance(reply, ModelReply)] == ["one", "two"]
    assert not again.stale


async def test_an_interrupted_recording_goes_on_and_anew_asks_what_is_stale(tmp_path: Path) -> None:
    texts = texts_of(small_exam(30))
    one, other = request_for(texts[0:4]), request_for(texts[4:8])

    def recording(model: ScriptedModel, *, anew: bool = False) -> RecordingModel:
        return RecordingModel(model, RecordedModel(tmp_path, texts, prompts()), anew=anew, say=_silent)

    begun = ScriptedModel(["one"])
    interrupted = recording(begun)
    await interrupted.ask(one)
    assert isinstance(await interrupted.ask(other), ModelFailure)
    resumed = ScriptedModel(["other"])
    going_on = recording(resumed)
    await going_on.ask(one)
    await going_on.ask(other)
    assert resumed.requests == [other]
    changed = replace(one, system="You keep it all.")
    unasked, asked = ScriptedModel("new"), ScriptedModel("new")
    await recording(unasked).ask(changed)
    await recording(asked, anew=True).ask(changed)
    assert (unasked.requests, asked.requests) == ([], [changed])
    assert read_answers(tmp_path)["0-3.other"] == Answer(hash_request(changed), "new")


async def test_an_answer_that_was_cut_off_is_not_recorded(tmp_path: Path) -> None:
    texts = texts_of(small_exam(30))
    whole = await ScriptedModel("half an ans").ask(request_for(texts[:2]))
    assert isinstance(whole, ModelReply)
    model = ScriptedModel([replace(whole, finish_reason="length")])
    await RecordingModel(model, RecordedModel(tmp_path, texts, prompts()), say=_silent).ask(request_for(texts[:2]))
    assert read_answers(tmp_path) == {}


async def test_a_recorded_summary_is_a_row_with_its_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exam = small_exam(100)
    model = ScriptedModel(lambda request: f"A summary of {len(request.user)} characters, and stone 0.")
    await record(exam, model, tmp_path / "small", [500], summary=True)
    assert sorted(read_answers(tmp_path / "small")) == ["0-39.rolling", "40-79.rolling", "80-87.rolling"]
    assert "asked" in capsys.readouterr().out
    row = Row("rolling a", answers=tmp_path)
    figures = (await run_row(row, [exam], [500]))["stories"]["small"]
    assert figures["stale"] == figures["missing"] == []
    assert figures["budgets"]["500"]["cost"]["calls"] == 3
    assert figures["budgets"]["500"]["cost"]["input_per_story_token"] > 1
    assert figures["budgets"]["500"]["end"]["anywhere"] == 2
    assert not Row("recorded a", answers=tmp_path).takes(exam)


async def test_folds_of_the_engine_can_be_recorded_and_replayed(tmp_path: Path) -> None:
    exam = small_exam(60, scene_messages=0, cast="off", lore="off")
    answer = "Ann told of stone 7 and of stone 14. She told of stone 21, of stone 28 and of stone 35 as well."
    model = ScriptedModel(answer)
    await record(exam, model, tmp_path / "small", [900])
    names = read_answers(tmp_path / "small")
    assert names
    assert all(name.split(".")[0].partition("-")[0].isdigit() for name in names)
    row = await run_row(Row("recorded a", answers=tmp_path), [exam], [900])
    assert row["stories"]["small"]["stale"] == row["stories"]["small"]["missing"] == []
    assert row["stories"]["small"]["budgets"]["900"]["cost"]["calls"] >= 1


async def test_an_endpoint_is_asked_the_same_only_once() -> None:
    model = ScriptedModel("Yes.")
    once = OnceAskedModel(model)
    replies = [await once.ask(request_for(["One."])) for _ in range(3)]
    assert len(model.requests) == 1
    assert replies[0] == replies[2]


def _silent(_text: str) -> None:
    return


# Invented names and numbers


def test_names_and_numbers_that_the_request_does_not_hold_are_listed() -> None:
    request = request_for(["Ketta paid Jory twelve pence.", "The well-keeper owed 1,144 crowns at Tern Hall."])
    good = "On that day Ketta's 12 pence went to Jory. Meanwhile Tern Hall was owed 1144 crowns."
    assert find_invented(Exchange("0-1.update", request, good)).names == ()
    assert find_invented(Exchange("0-1.update", request, good)).numbers == ()
    bad = "Ketta paid Jory thirteen pence, and Corin saw it.\n- #1 Linnet owed 1,145 crowns"
    found = find_invented(Exchange("0-1.update", request, bad))
    assert (found.names, found.numbers) == (("Corin", "Linnet"), (13, 1145))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("three hundred and fifty pounds", {350}),
        ("four thousand two hundred and seven", {4207}),
        ("the twenty-third of May, the 23rd", {23}),
        ("two and twenty; one thing; #12 and T3", {2, 20}),
        ("1,144 panes", {1144}),
    ],
)
def test_numbers_count_by_their_value(text: str, numbers: set[int]) -> None:
    assert find_numbers(text) == numbers


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert list(find_names('Then Ann went. Nobody saw: "Never" was all. (Old) Bo’s boat')) == ["Ann", "Bo"]


def test_what_is_settled_and_shown_as_open_is_listed() -> None:
    """The words of a matter without its names; only what was open before it was settled."""
    debt = {"text": "Ketta owed Jory ninepence. Paid.", "settled_at": 86}
    names = set(find_terms("Ketta Varrow, Jory Teague"))
    told = Thread("a", "Ketta to Jory: the ninepence", 3, 3)
    later = Thread("b", "Jory to Ketta: another ninepence", 90, 90)
    other = Thread("c", "Ketta to Jory: a letter for the reeve", 3, 3)
    assert may_tell(debt, [told, later, other], names) == [told.text]


def test_states_that_share_no_word_with_the_end_are_listed() -> None:
    truth = {
        "people": [{"name": "Ketta Varrow", "where": "on the ferry", "condition": "well"}],
        "objects": [
            {
                "object": "green ledger",
                "place": "strongbox",
                "holder": "Dunmore",
                "path": "mattress (13) > strongbox (55)",
            },
            {"object": "iron key", "place": "round Pim's neck", "holder": "Pim", "path": "Corin (122) > Pim (150)"},
        ],
    }
    held = [
        StateValue("Ketta", Aspect.PLACE, "weigh house", 1),
        StateValue("Ketta", Aspect.CONDITION, "well again", 1),
        StateValue("Green ledger", Aspect.HOLDER, "Osmund", 1),
        StateValue("Iron key", Aspect.HOLDER, "Corin", 1),
    ]
    found = [one["line"] for one in contradicted(held, truth, end=147)]
    assert found == ["Ketta / place: weigh house", "Green ledger / holder: Osmund"], "the key moved behind the end"
