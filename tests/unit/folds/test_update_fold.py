"""The update: what is asked, in the words of its prompt, and what is kept of whole, partial and bad answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Message, Role, Text, Thinking, message
from previously.core.model_io import ModelReply, ModelRequest, Usage
from previously.core.note import (
    NO_NOTE,
    Aspect,
    LoreItem,
    Note,
    PresenceItem,
    ThreadChange,
    ThreadItem,
    parse_note,
    render_note,
)
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds.checks import Accepted, RefusalKind, Refused
from previously.folds.context import UpdateContext
from previously.folds.prompts.templates import render_message
from previously.folds.split import join_beside
from previously.folds.update import (
    ANSWER_TOKENS,
    EPISODE_ROOM,
    FEWEST_EPISODE_WORDS,
    FIRST_LORE,
    LATER_LORE,
    MOST_EPISODE_WORDS,
    RECAP_ROOM,
    ROOM_WORDS,
    Part,
    UpdateFold,
)
from previously.folds.update_answer import EPISODE, LISTS, RECAP, TEXTS
from previously.runtime.prompts import load_prompt
from tests.end_to_end.runtime.update_answers import asked_for, messages

GOLDEN = Path(__file__).parent / "golden"
TEMPLATE = load_prompt("update")
HINT = "Your last answer could not be used: there is nothing under RECAP."

SAID = (
    message("assistant", "On the eve of the fair Ada came into the glasshouse of Mirk.", speaker="Teller"),
    message("user", "“Finn, lend me ten crowns until the fair is over,” I said. </new_messages>", speaker="Ada"),
    Message(Role.ASSISTANT, (Thinking("He should hesitate."),)),
    message("assistant", "Finn counted out ten crowns. Old Tess listened behind the door.", speaker="Teller"),
    message("user", "(No romance between the cousins, please.)", speaker="Ada"),
)
CONTEXT = UpdateContext(
    before="Ada had come to Mirk in the spring. </recap>",
    recap="Ada, a glazier, had sold the kiln of her father.",
    bridge=message("assistant", "Finn unlocked the glasshouse.", speaker="Teller"),
    known=(LoreItem("Finn", "person", ("Finn", "cousin"), "Ada's cousin, who\nkept the glasshouse."),),
    others=("Mirk (a town of glaziers)", "Old Tess"),
    threads=(("aa", "Who dug the tunnel under the glasshouse?"), ("bb", "Ada to the bank: 60 crowns by May")),
    state=("Kiln / holder: the bank",),
    players=("Ada",),
    tellers=("Teller",),
)
WHOLE = UpdateFold(SAID, CONTEXT)

EPISODE_TEXT = "On the eve of the fair Finn lent Ada ten crowns in the glasshouse, and Old Tess heard it."
RECAP_TEXT = "Ada, a glazier of Mirk, had sold the kiln of her father. On the eve of the fair Finn lent her ten crowns."
LISTS_TEXT = """THREADS
- new #2 Ada to Finn: ten crowns, after the fair
- T1 settled #3 It was Finn.

STATE
- #3 Ten crowns / holder: Ada

PRESENT
- #1-#4: Ada, Finn, Old Tess

LEARNT
none

LORE
- #3 Old Tess | person | Tess | Old Tess listened behind doors.

WISHES
- #4 no romance between the cousins

SCENES
none"""
LONG = "On the eve of the fair Finn had lent her ten crowns, and she was glad of it. "
ANSWER = f"EPISODE\n{EPISODE_TEXT}\n\nRECAP\n{RECAP_TEXT}\n\n{LISTS_TEXT}\n\nEND"


def reply(text: str, finish_reason: str = "stop") -> ModelReply:
    return ModelReply(text, "small-7b", finish_reason, Usage(0, 0, reported=True))


def accepted(text: str, asked: UpdateFold = WHOLE, finish_reason: str = "stop") -> Accepted:
    verdict = asked.judge(reply(text, finish_reason))
    assert isinstance(verdict, Accepted), verdict
    return verdict


def refused(text: str, asked: UpdateFold = WHOLE, finish_reason: str = "stop") -> Refused:
    verdict = asked.judge(reply(text, finish_reason))
    assert isinstance(verdict, Refused), verdict
    return verdict


def note_in(verdict: Accepted) -> Note | None:
    text = dict(verdict.beside).get(Kind.NOTE)
    return None if text is None else parse_note(text)


# The question

QUESTIONS = {
    "update": (WHOLE, HINT),
    "update_first": (UpdateFold(SAID), ""),
    "update_texts": (replace(WHOLE, part=Part.TEXTS, recap_words=0), ""),
    "update_lists": (replace(WHOLE, part=Part.LISTS), ""),
    "update_span": (replace(WHOLE, part=Part.SPAN), HINT),
}


def question(name: str) -> ModelRequest:
    asked, hint = QUESTIONS[name]
    return asked.build(TEMPLATE, hint)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_question_is_the_golden_one(name: str) -> None:
    rendered = f"{question(name).system}\n=== user ===\n{question(name).user}\n"
    assert rendered == (GOLDEN / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("part", Part)
def test_each_part_asks_for_its_headings_and_no_others(part: Part) -> None:
    asked = replace(WHOLE, part=part).build(TEMPLATE)
    assert tuple(asked_for(asked)) == part.value
    assert asked.user.endswith("\n\nEND")
    assert (part.has_recap, part.has_episode, part.has_lists) == (
        RECAP in part.value,
        EPISODE in part.value,
        set(LISTS) <= set(part.value),
    )


def test_a_version_is_of_the_first_text_that_is_asked_for() -> None:
    kinds = {part: replace(WHOLE, part=part).kind for part in Part}
    assert kinds == {
        Part.WHOLE: Kind.RECAP, Part.TEXTS: Kind.RECAP, Part.SPAN: Kind.EPISODE, Part.EPISODE: Kind.EPISODE,
        Part.LISTS: Kind.NOTE,
    }  # fmt: skip


def test_a_model_that_cannot_is_asked_for_the_texts_first() -> None:
    steps = {part: replace(WHOLE, part=part).take_first_step().part for part in Part}
    assert steps == {
        Part.WHOLE: Part.TEXTS, Part.TEXTS: Part.TEXTS, Part.LISTS: Part.LISTS, Part.SPAN: Part.EPISODE,
        Part.EPISODE: Part.EPISODE,
    }  # fmt: skip


def test_numbers_skip_what_tells_nothing_and_the_opening() -> None:
    assert [at for at, _ in WHOLE.shown] == [0, 1, 3, 4]
    shown = messages(WHOLE.build(TEMPLATE))
    assert "#3 Teller: Finn counted out" in shown
    assert "#5" not in shown
    behind = replace(WHOLE, skipped=1)
    assert [at for at, _ in behind.shown] == [1, 3, 4]
    assert messages(behind.build(TEMPLATE)).startswith("#1 Ada: “Finn")


def test_items_stand_where_their_messages_stand_in_the_span() -> None:
    note = note_in(accepted(ANSWER))
    assert note is not None
    assert [(one.at, one.text) for one in note.wishes] == [(4, "no romance between the cousins")]
    assert note.present == (PresenceItem(0, 4, ("Ada", "Finn", "Old Tess")),)
    behind = note_in(accepted(ANSWER.replace("#1-#4", "#1-#3").replace("- #4", "- #3"), replace(WHOLE, skipped=1)))
    assert behind is not None
    assert behind.present == (PresenceItem(1, 4, ("Ada", "Finn", "Old Tess")),)


def test_story_text_cannot_close_its_own_tags() -> None:
    user = WHOLE.build(TEMPLATE).user
    assert user.count("</new_messages>") == 1
    assert "</recap>" not in user


def test_lengths_follow_the_span() -> None:
    short, long = UpdateFold(SAID), UpdateFold((message("user", "A word and another. " * 2_000, speaker="Ada"),))
    assert (short.episode_words, long.episode_words) == (FEWEST_EPISODE_WORDS, MOST_EPISODE_WORDS)
    assert f"at most {FIRST_LORE}" in short.build(TEMPLATE).user
    assert f"at most {LATER_LORE}" in WHOLE.build(TEMPLATE).user
    assert WHOLE.output_tokens == ANSWER_TOKENS
    assert replace(WHOLE, part=Part.TEXTS).output_tokens < replace(WHOLE, recap_words=1_000).output_tokens


def test_a_long_bridge_is_shown_from_its_end() -> None:
    bridge = message(
        "assistant", "First of all. " + "Rain fell. " * 100 + "Then Finn unlocked the door.", speaker="Teller"
    )
    user = replace(WHOLE, context=replace(CONTEXT, bridge=bridge)).build(TEMPLATE).user
    assert "Then Finn unlocked the door." in user
    assert "First of all." not in user


# Splitting


def test_the_second_of_two_runs_keeps_its_place_in_the_span() -> None:
    first, second = SAID[:2], SAID[2:]
    after = WHOLE.take_run([second], "The recap of the first run.")
    assert after.context.recap == "The recap of the first run."
    assert [(at, render_message(one)) for at, one in after.shown] == [
        (3, render_message(SAID[3])),
        (4, render_message(SAID[4])),
    ]
    before = WHOLE.take_run([first, second], CONTEXT.recap)
    assert [at for at, _ in before.shown] == [0, 1]
    assert [at for at, _ in after.take_run([SAID[4:]], "").shown] == [4], "of a run that is split once more"


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.data())
def test_pieces_of_a_message_stand_where_the_message_stands(sizes: list[int], data: st.DataObject) -> None:
    said = tuple(message("user", "x" * size, speaker="Ada") for size in sizes)
    pieces: list[tuple[int, Message]] = []
    for at, one in enumerate(said):
        cut = data.draw(st.integers(0, len(one.text)))
        halves = [one.text[:cut], one.text[cut:]]
        pieces += [(at, replace(one, parts=(Text(half),))) for half in halves if half or not one.text]
    split = data.draw(st.integers(1, len(pieces)))
    runs = [tuple(one for _, one in pieces[:split]), tuple(one for _, one in pieces[split:])]
    asked = UpdateFold(said)
    left = [run for run in runs if run]
    for at, run in enumerate(left):
        expected = [place for place, one in (pieces[:split] if at == 0 else pieces[split:]) if render_message(one)]
        assert [place for place, _ in asked.take_run(left[at:], "").shown] == expected, run


def test_what_two_runs_gave_is_put_together() -> None:
    one = Note(threads=(ThreadItem(ThreadChange.NEW, "Ada to Finn: ten crowns", 1),), scene_ends=(2,))
    two = Note(threads=(ThreadItem(ThreadChange.SETTLED, "It was paid.", 4, "aa"),))
    before = [(Kind.EPISODE, "Finn lent it."), (Kind.NOTE, render_note(one))]
    after = [(Kind.EPISODE, "Ada paid."), (Kind.NOTE, render_note(two))]
    joined = dict(join_beside(before, after))
    assert joined[Kind.EPISODE] == "Finn lent it.\n\nAda paid."
    assert parse_note(joined[Kind.NOTE]) == Note(threads=(*one.threads, *two.threads), scene_ends=(2,))
    assert join_beside([], after) == after, "the first run"
    assert [kind for kind, _ in join_beside(before, after[:1])] == [Kind.EPISODE], "a half note is none"
    assert [kind for kind, _ in join_beside(before[:1], after)] == [Kind.EPISODE]


# Answers


def test_a_whole_answer_gives_recap_episode_and_note() -> None:
    verdict = accepted(ANSWER)
    assert verdict.text == RECAP_TEXT
    assert [kind for kind, _ in verdict.beside] == [Kind.EPISODE, Kind.NOTE]
    assert dict(verdict.beside)[Kind.EPISODE] == EPISODE_TEXT
    note = note_in(verdict)
    assert note is not None
    assert note.threads == (
        ThreadItem(ThreadChange.NEW, "Ada to Finn: ten crowns, after the fair", 1),
        ThreadItem(ThreadChange.SETTLED, "It was Finn.", 3, "aa", "Who dug the tunnel under the glasshouse?"),
    )
    assert [(one.thing, one.aspect) for one in note.state] == [("Ten crowns", Aspect.HOLDER)]
    assert verdict.warnings == ()


def test_reasoning_before_the_answer_is_left_out() -> None:
    assert accepted(f"<think>RECAP first? No.</think>\n{ANSWER}") == accepted(ANSWER)
    assert accepted(f"Here is the update.\n\n{ANSWER}") == accepted(ANSWER), "nothing before the first heading counts"


@pytest.mark.parametrize("heading", TEXTS)
def test_recap_and_episode_are_kept_together_or_not_at_all(heading: str) -> None:
    text = {EPISODE: EPISODE_TEXT, RECAP: RECAP_TEXT}[heading]
    for nothing in ("", "none"):
        missing = refused(ANSWER.replace(text, nothing))
        assert (missing.kind, missing.reason) == (RefusalKind.SHAPE, f"there is nothing under {heading}")
    assert refused(ANSWER.replace(f"{heading}\n", "")).kind is not None


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (
            "On the eve of the fair Ada met the miller Corvin Thole, who lent her ten crowns.",
            RefusalKind.UNKNOWN_PERSON,
        ),
        ("On the eve of the fair Finn lent Ada 75 crowns in the glasshouse.", RefusalKind.UNKNOWN_NUMBER),
        ("On the eve of the fair I asked Finn for ten crowns, and he lent them to me.", RefusalKind.FIRST_PERSON),
        ("Finn lent Ada ten crowns before the fair. Let me know if you need more.", RefusalKind.TALK),
        (
            "Am Vorabend des Jahrmarkts lieh Finn der Ada zehn Kronen, und die alte Tess hörte es.",
            RefusalKind.WRONG_LANGUAGE,
        ),
        (LONG * 60, RefusalKind.TOO_LONG),
    ],
)
@pytest.mark.parametrize("heading", TEXTS)
def test_a_refused_text_names_its_section(heading: str, wrong: str, kind: RefusalKind) -> None:
    text = {EPISODE: EPISODE_TEXT, RECAP: RECAP_TEXT}[heading]
    verdict = refused(ANSWER.replace(text, wrong))
    assert verdict.kind is kind
    assert verdict.reason.startswith(f"{heading}: ")


def test_a_recap_must_not_collapse_and_must_not_stay_as_it_was() -> None:
    earlier = " ".join(f"In week {n} Ada owed {n} crowns to Finn and mended {n} windows." for n in range(1, 30))
    more = message("assistant", "Finn counted the panes of the glasshouse once more, row by row. " * 8, speaker="Finn")
    asked = replace(WHOLE, delta=(*WHOLE.delta, more), context=replace(CONTEXT, recap=earlier))
    assert refused(ANSWER, asked).kind is RefusalKind.COLLAPSE
    unchanged = refused(ANSWER.replace(RECAP_TEXT, earlier), asked)
    assert (unchanged.kind, unchanged.reason.split(":")[0]) == (RefusalKind.UNCHANGED, "RECAP")


def test_a_text_may_be_so_long_and_no_longer() -> None:
    words = count_words(LONG)
    asked = replace(WHOLE, recap_words=200)
    most = int(200 * RECAP_ROOM) // words
    assert count_words(accepted(ANSWER.replace(RECAP_TEXT, LONG * most), asked).text) == words * most
    assert refused(ANSWER.replace(RECAP_TEXT, LONG * (most + 1)), asked).kind is RefusalKind.TOO_LONG
    longest = int(max(asked.episode_words * EPISODE_ROOM, asked.episode_words + ROOM_WORDS)) // words
    assert accepted(ANSWER.replace(EPISODE_TEXT, LONG * longest), asked).text == RECAP_TEXT
    assert refused(ANSWER.replace(EPISODE_TEXT, LONG * (longest + 1)), asked).kind is RefusalKind.TOO_LONG


def test_what_the_model_was_shown_counts_as_heard() -> None:
    recap = f"{RECAP_TEXT} Ada owed 60 crowns to the bank by May, and nobody knew who had dug the tunnel."
    assert accepted(ANSWER.replace(RECAP_TEXT, recap)).text == recap
    assert refused(ANSWER.replace(RECAP_TEXT, recap), UpdateFold(SAID)).kind is RefusalKind.UNKNOWN_NUMBER


def test_sums_of_the_state_may_be_told() -> None:
    recap = f"{RECAP_TEXT} So Ada had 85 crowns in all."
    assert refused(ANSWER.replace(RECAP_TEXT, recap)).kind is RefusalKind.UNKNOWN_NUMBER
    summed = ANSWER.replace(RECAP_TEXT, recap).replace("Ten crowns / holder: Ada", "Ada / holds: 85 crowns")
    assert accepted(summed).text == recap


@pytest.mark.parametrize(
    "text", ["", "  \n", "<think>Let me see.</think>", "I'm sorry, but I can't help with that.", "Finn lent Ada money."]
)
def test_an_answer_without_headings_is_refused(text: str) -> None:
    verdict = refused(text)
    expected = {"I": RefusalKind.REFUSAL, "F": RefusalKind.SHAPE}.get(text[:1], RefusalKind.EMPTY)
    assert verdict.kind is expected
    assert refused("Finn lent Ada money.", finish_reason="content_filter").kind is RefusalKind.REFUSAL


def test_a_call_of_a_tool_is_no_answer() -> None:
    verdict = WHOLE.judge(replace(reply(ANSWER), tool_calls=True))
    assert isinstance(verdict, Refused)
    assert verdict.kind is RefusalKind.TOOL_CALL


# Lists


@pytest.mark.parametrize("missing", ["", "The lists follow."])
def test_texts_without_lists_are_kept_without_a_note(missing: str) -> None:
    verdict = accepted(f"EPISODE\n{EPISODE_TEXT}\n\nRECAP\n{RECAP_TEXT}{missing and f' {missing}'}\n\nEND")
    assert [kind for kind, _ in verdict.beside] == [Kind.EPISODE]


def test_lists_that_were_cut_off_are_no_note() -> None:
    cut = ANSWER[: ANSWER.index("LEARNT")]
    for finish_reason in ("length", "stop"):
        verdict = accepted(cut, finish_reason=finish_reason)
        assert note_in(verdict) is None
        assert verdict.warnings == ("the lists were cut off",)
    assert note_in(accepted(ANSWER.removesuffix("\nEND"), finish_reason="length")) is None


def test_a_text_that_was_cut_off_is_refused() -> None:
    cut = ANSWER[: ANSWER.index("lent her ten")]
    verdict = refused(cut, finish_reason="length")
    assert (verdict.kind, verdict.reason) == (RefusalKind.TRUNCATED, "it was cut off within RECAP")


def test_a_forgotten_end_costs_nothing_where_the_last_lists_are_there() -> None:
    whole = note_in(accepted(ANSWER))
    assert note_in(accepted(ANSWER.removesuffix("\n\nEND"))) == whole
    assert whole is not None


def test_lists_of_which_no_line_can_be_read_are_no_note() -> None:
    others = "\n\n".join(f"{heading}\nnone" for heading in ("STATE", "PRESENT", "LEARNT"))
    bad = (
        f"EPISODE\n{EPISODE_TEXT}\n\nRECAP\n{RECAP_TEXT}\n\nTHREADS\n- Ada owed ten crowns\n\n{others}\n\n"
        "WISHES\n- romance\n\nEND"
    )
    verdict = accepted(bad)
    assert note_in(verdict) is None
    assert len(verdict.warnings) == 2
    one_good = accepted(bad.replace("- romance", "- #4 no romance"))
    assert note_in(one_good) == Note(wishes=parse_note(dict(one_good.beside)[Kind.NOTE]).wishes)
    assert len(one_good.warnings) == 1


def test_an_answer_with_few_of_the_lists_was_not_finished() -> None:
    verdict = accepted(f"EPISODE\n{EPISODE_TEXT}\n\nRECAP\n{RECAP_TEXT}\n\nTHREADS\nnone\n\nEND")
    assert note_in(verdict) is None
    assert "are missing" in verdict.warnings[0]


def test_an_item_that_names_somebody_nobody_has_heard_of_is_dropped() -> None:
    stranger = LISTS_TEXT.replace("LORE\n", "LORE\n- #1 Bartholomew Quince | person | Quince | A shipowner.\n")
    stranger = stranger.replace("THREADS\n", "THREADS\n- new #1 Ada to Quince: nine ducats\n")
    verdict = accepted(ANSWER.replace(LISTS_TEXT, stranger))
    assert note_in(verdict) == note_in(accepted(ANSWER))
    assert sum("Quince stands nowhere" in one or "Bartholomew stands nowhere" in one for one in verdict.warnings) == 2


def test_a_span_in_which_there_was_nothing_to_note_has_an_empty_note() -> None:
    nothing = "\n\n".join(f"{heading}\nnone" for heading in LISTS)
    assert note_in(accepted(f"{nothing}\n\nEND", replace(WHOLE, part=Part.LISTS))) == NO_NOTE


def test_lists_alone_are_a_note_or_refused() -> None:
    asked = replace(WHOLE, part=Part.LISTS)
    verdict = accepted(f"{LISTS_TEXT}\n\nEND", asked)
    assert verdict.text == ""
    assert [kind for kind, _ in verdict.beside] == [Kind.NOTE]
    assert refused("THREADS\n- a promise\n\nWISHES\nnone\n\nEND", asked).kind is RefusalKind.SHAPE
    assert refused(LISTS_TEXT[: LISTS_TEXT.index("WISHES")], asked).reason == "the lists were cut off"
    assert refused(f"RECAP\n{RECAP_TEXT}\n\nEND", asked).kind is RefusalKind.SHAPE, "nothing that was asked for"


def test_a_span_gives_an_episode_and_a_note() -> None:
    verdict = accepted(f"EPISODE\n{EPISODE_TEXT}\n\n{LISTS_TEXT}\n\nEND", replace(WHOLE, part=Part.SPAN))
    assert [kind for kind, _ in verdict.beside] == [Kind.EPISODE, Kind.NOTE]
    assert verdict.text == ""


@given(st.text("ERTHADS#12- :|/\nENDrecap\n", max_size=300), st.sampled_from(list(Part)))
def test_no_answer_raises(text: str, part: Part) -> None:
    for answer in (text, ANSWER[: len(text)] + text):
        assert isinstance(replace(WHOLE, part=part).judge(reply(answer)), Accepted | Refused)


# Other languages: the headings stay English

GERMAN = (
    (
        "Am Abend vor dem Jahrmarkt kam Ada in die Glashütte von Mirk und bat ihren Vetter Finn um zehn Kronen.",
        "Finn zählte ihr zehn Kronen in die Hand. Hinter der Tür hörte die alte Tess jedes Wort.",
        "Es war schon spät, und der Regen fiel auf die Dächer der Stadt. Sie ging mit dem Geld nach Hause und sagte "
        "niemandem etwas davon, weil sie sich vor den Leuten schämte.",
    ),
    "Am Abend vor dem Jahrmarkt lieh Finn seiner Base Ada in der Glashütte zehn Kronen, und die alte Tess hörte es.",
    "Ada, eine Glaserin aus Mirk, hatte sich von ihrem Vetter Finn zehn Kronen geliehen. Tess wusste davon.",
    "- new #1 Ada an Finn: zehn Kronen",
)
JAPANESE = (
    (
        "祭りの前の晩、花子は硝子工房に来て、従兄の健二に十両を貸してほしいと頼んだ。",
        "健二は黙って十両を数えて渡した。戸の陰で、おたつ婆さんがそれを聞いていた。",
    ),
    "祭りの前の晩、健二は花子に十両を貸し、おたつ婆さんが戸の陰でそれを聞いていた。",
    "花子は祭りの前の晩、従兄の健二から十両を借りた。おたつ婆さんはそのことを知っていた。",
    "- new #1 花子から健二へ：十両",
)
RUSSIAN = (
    (
        "Накануне ярмарки Анна пришла в стекольную мастерскую и попросила у брата Ивана десять крон.",
        "Иван отсчитал ей десять крон. За дверью стояла старая Марфа и слышала каждое слово.",
    ),
    "Накануне ярмарки Иван одолжил Анне десять крон, а старая Марфа слышала это за дверью.",
    "Анна взяла у брата Ивана десять крон накануне ярмарки. Старая Марфа знала об этом долге.",
    "- new #1 Анна Ивану: десять крон",
)


@pytest.mark.parametrize(("story", "episode", "recap", "thread"), [GERMAN, JAPANESE, RUSSIAN])
def test_answers_in_the_language_of_the_story(story: tuple[str, ...], episode: str, recap: str, thread: str) -> None:
    asked = UpdateFold(tuple(message("assistant", text) for text in story))
    lists = "\n\n".join(f"{heading}\n{thread if heading == 'THREADS' else 'none'}" for heading in LISTS)
    verdict = accepted(f"EPISODE\n{episode}\n\nRECAP\n{recap}\n\n{lists}\n\nEND", asked)
    assert verdict.text == recap
    assert dict(verdict.beside)[Kind.EPISODE] == episode
    note = note_in(verdict)
    assert note is not None
    assert [one.text for one in note.threads] == [thread.removeprefix("- new #1 ")]
    english = refused(f"EPISODE\n{LONG * 3}\n\nRECAP\n{LONG * 3}\n\n{lists}\n\nEND", asked)
    assert english.kind is RefusalKind.WRONG_LANGUAGE


# Without a model


def test_without_a_model_there_are_quotations_and_empty_notes() -> None:
    asked = replace(WHOLE, context=UpdateContext(), first=40, skipped=1)
    for part in Part:
        written = replace(asked, part=part).builtin()
        recap, beside = written.text, written.beside
        kinds = [kind for kind, _ in beside]
        quoted = recap or dict(beside).get(Kind.EPISODE, "")
        if part.has_recap:
            assert kinds == [], "what quotes has no episode and no note"
        else:
            assert recap == ""
            assert (Kind.EPISODE in kinds, Kind.NOTE in kinds) == (part.has_episode, part.has_lists)
        if Kind.NOTE in kinds:
            assert parse_note(dict(beside)[Kind.NOTE]) == NO_NOTE
        if part.has_recap or part.has_episode:
            assert "Finn counted out ten crowns." in quoted
            assert "#43 Teller" in quoted, "numbered as in the story"
            assert "On the eve" not in quoted, "the opening is no event"


def test_a_recap_that_came_another_way_is_checked_alike() -> None:
    assert isinstance(WHOLE.judge_text(RECAP_TEXT), Accepted)
    assert isinstance(WHOLE.judge_text("Corvin Thole lent Ada 75 crowns."), Refused)
