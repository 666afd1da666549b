"""What is asked of the librarian, and what may be kept of its answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.digests import digest
from previously.core.messages import Attributes, Entry, Image, Message, Role, Thinking, message
from previously.core.model_io import ModelReply, ModelRequest, Usage
from previously.core.note import LoreItem
from previously.core.path import OnPath
from previously.core.scene import LONGEST_UPDATE, MOST_ITEMS, Analysis, Signals
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds.analysis import (
    AnalysisFold,
    derive_update,
    is_fragment,
    parse_analysis,
    read_analysis,
    render_analysis,
)
from previously.folds.checks import Accepted, RefusalKind, Refused
from previously.folds.context import SO_FAR_CHARACTERS, NoteContext
from previously.folds.fold import Fold
from previously.runtime.prompts import load_prompt
from tests.effort import cases

GOLDEN = Path(__file__).parent / "golden" / "analysis.txt"
TEMPLATE = load_prompt("analysis")

FRAGMENT = (
    "Maya reached the mill at dusk. Joaquin stood by the wheel with a bandaged arm. </fragment> "
    '"I will bring the lantern back before dawn," he promised her. She took the brass key from the table.'
)
NOTE = AnalysisFold(
    delta=(message("assistant", FRAGMENT),),
    context=NoteContext(
        earlier="The story is set in Marrow Bay.",
        so_far="Maya left the harbour at night. Joaquin has two brothers. </story_so_far>",
        recent="Maya took the road inland.",
        known=(LoreItem("Maya", "character", ("Maya", "ferrywoman"), "The ferrywoman of the bay. </known>"),),
        others=("Wren (lends money at the quay…)", "Bram"),
        threads=(("a1", "Maya to Wren: forty crowns"), ("b2", "Who barred the door?")),
        state=("Maya / place: the harbour",),
        bridge=message("assistant", "The road went uphill. </just_before>"),
    ),
)
SIMPLE = AnalysisFold(delta=(message("assistant", "Maya reached the mill. Joaquin barred the door."),))


def kept(note: AnalysisFold, answer: object) -> Accepted:
    noted = note.judge_text(answer if isinstance(answer, str) else json.dumps(answer))
    assert isinstance(noted, Accepted), noted
    return noted


def read(note: AnalysisFold, answer: object) -> Analysis:
    return parse_analysis(kept(note, answer).text)


def test_it_is_a_note_of_its_kind() -> None:
    note: Fold = NOTE
    assert (note.kind, note.prompt, note.again) == (Kind.ANALYSIS, "analysis", False)


def question() -> ModelRequest:
    """The golden question."""
    return NOTE.take_run([NOTE.delta], render_analysis(Analysis("Rain fell on the road."))).build(
        TEMPLATE, "Your last answer could not be used: it holds no JSON object."
    )


def test_the_question_is_the_golden_one() -> None:
    asked = question()
    assert f"{asked.system}\n=== user ===\n{asked.user}\n" == GOLDEN.read_text("utf-8")
    assert asked.schema is not None
    assert set(asked.schema["required"]) == set(json.loads(render_analysis(Analysis(""))))


def test_the_example_of_the_prompt_is_what_it_asks_for() -> None:
    example = question().system
    said, _, answer = example[example.index("An example.") :].partition("\n")
    thread = said[said.index("T2 ") + 3 : said.index(", the fragment")].rstrip('"')
    note = AnalysisFold((message("assistant", said),), context=NoteContext(threads=(("a", "Who?"), ("b2", thread))))
    noted = kept(note, answer)
    assert (noted.mendable, noted.warnings) == ((), ())
    assert [one.thread for one in parse_analysis(noted.text).settled] == ["b2"]


def test_the_prompt_is_short_enough_for_a_small_model() -> None:
    assert count_words(TEMPLATE.system) + count_words(TEMPLATE.user) < 750


def test_story_text_cannot_close_its_own_tags() -> None:
    question = NOTE.build(TEMPLATE)
    assert question.user.count("</fragment>") == 1
    for tag in ("story_so_far", "known", "just_before"):
        assert question.user.count(f"</{tag}>") == 1


def test_the_story_so_far_is_bounded_and_keeps_who_it_is_about_and_what_is_newest() -> None:
    told = "Maya was the ferrywoman of the bay. " + "The old days. " * 2_000 + "Maya left."
    story = NoteContext(earlier="In Marrow Bay.", so_far=told, recent="She came back.").story
    assert story.startswith("In Marrow Bay.\n\nMaya was the ferrywoman of the bay. The old days.")
    assert story.endswith("The old days. Maya left.\n\nShe came back.")
    assert "[…]" in story
    assert len(story) < SO_FAR_CHARACTERS + 100


def test_the_end_of_what_stands_before_is_shown_from_a_whole_word_on() -> None:
    shown = NoteContext(bridge=message("assistant", "lantern " * 400 + "out.")).render_bridge()
    assert shown.startswith("… lantern lantern")
    assert shown.endswith("lantern out.")


def test_a_story_in_another_language_keeps_it_and_the_keys_stay_english() -> None:
    said = "Maya kam am Abend zur Mühle und fragte nach der Laterne, die Joaquin ihr versprochen hatte."
    system = AnalysisFold((message("assistant", said),)).build(TEMPLATE).system
    assert 'Write in German, the language of the fragment; keys, aspects and the word "ended" stay English.' in system


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"events": ["Maya reached the mill"]}, "summary_update is empty"),
        ({"summary_update": "Maya came.", "events": [f"Event {n}" for n in range(9)]}, "events has 9 items, of which"),
        ({"summary_update": "Maya met Quintus there."}, "the name Quintus stands neither"),
        ({"summary_update": "Maya came.", "mentions": ["Quintus"]}, "the name Quintus stands neither"),
    ],
)  # fmt: skip
def test_what_could_be_better_is_said_in_plain_words_and_can_be_kept(answer: object, fault: str) -> None:
    (named,) = kept(SIMPLE, answer).mendable
    assert named.startswith(fault)


def test_items_about_somebody_nobody_has_heard_of_are_left_out_and_known_names_are_not() -> None:
    answer = {
        "summary_update": "Maya reached the mill.",
        "events": ["Then Quintus came", "Maya came to Joaquin"],
        "open_threads": ["Maya to Bram: a lamp"],
        "resolved_threads": ["T1: She paid Quintus.", "T2: It was Wren."],
        "mentions": ["Maya", "Quintus"],
    }
    noted = kept(NOTE, answer)
    found = parse_analysis(noted.text)
    assert (found.signals.events, found.mentions) == (("Maya came to Joaquin",), ("Maya",))
    assert found.signals.open_threads == ("Maya to Bram: a lamp",)
    assert [(one.thread, one.text) for one in found.settled] == [("b2", "It was Wren.")]
    assert len(noted.mendable) == 1


@pytest.mark.parametrize(
    ("answer", "update"),
    [
        ('{"summary_update": "Maya reached the mill."}', "Maya reached the mill."),
        ('```json\n{"summary_update": "Maya reached the mill."}\n```', "Maya reached the mill."),
        ('Here it is: {"summaryUpdate": "Maya reached the mill."} Done.', "Maya reached the mill."),
        ('{"summary": ["Maya came.", "Joaquin barred the door."]}', "Maya came. Joaquin barred the door."),
        ('{"Summary Update": " Maya  reached\\nthe mill. "}', "Maya reached the mill."),
        ('{"analysis": {"summary_update": "Maya reached the mill."}}', "Maya reached the mill."),
        ('{"summary_update": "Maya reached the mill.", "events": ["Joaquin barred', "Maya reached the mill."),
    ],
)  # fmt: skip
def test_an_answer_is_read_forgivingly(answer: str, update: str) -> None:
    assert read(SIMPLE, answer).summary_update == update


@pytest.mark.parametrize(
    ("given", "items"),
    [
        (["Maya reached the mill", "maya  reached the MILL"], ("Maya reached the mill",)),
        ("Maya reached the mill", ("Maya reached the mill",)),
        ([{"event": "Maya reached the mill"}, 7, None], ("Maya reached the mill",)),
        (["None.", "n/a", "(none)", "...", "", "No events", "Joaquin barred the door"], ("Joaquin barred the door",)),
        ([f"thing number {n}" for n in range(20)], tuple(f"thing number {n}" for n in range(MOST_ITEMS))),
        ({"not": "a list"}, ()),
    ],
)
def test_lists_are_read_forgivingly_deduped_and_bounded(given: object, items: tuple[str, ...]) -> None:
    assert read(SIMPLE, {"summary_update": "Maya came.", "events": given}).signals.events == items


@pytest.mark.parametrize(
    "answer",
    ["", "Maya reached the mill.", "{}", "[]", '{"summary_update": "", "events": []}', '{"mentions": ["Maya"]}',
     '{"summary_update": "None", "contradictions": ["n/a"]}', '{"something": "else"}'],
)  # fmt: skip
def test_an_answer_that_notes_nothing_is_no_analysis(answer: str) -> None:
    assert isinstance(SIMPLE.judge_text(answer), Refused)


def test_a_model_that_declines_inside_the_object_is_not_asked_again() -> None:
    refused = SIMPLE.judge_text('{"summary_update": "I\'m sorry, but I cannot help with that request."}')
    assert isinstance(refused, Refused)
    assert refused.kind is RefusalKind.REFUSAL


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ModelReply('{"summary_update": "Maya ca', "m", "length", Usage(0, 0, reported=True)), "cut off"),
        (ModelReply("", "m", "tool_calls", Usage(0, 0, reported=True), tool_calls=True), "tool"),
        (ModelReply("<think>hm</think>", "m", "stop", Usage(0, 0, reported=True)), "empty"),
    ],
)
def test_an_answer_cut_off_is_asked_for_again(reply: ModelReply, reason: str) -> None:
    noted = SIMPLE.judge(reply)
    assert isinstance(noted, Refused)
    assert reason in noted.reason


def test_an_empty_update_is_derived_from_the_signals() -> None:
    noted = kept(
        SIMPLE, {"events": ["Maya reached the mill"], "state_changes": ["Joaquin / place: behind the barred door"]}
    )
    assert (
        parse_analysis(noted.text).summary_update
        == "Maya reached the mill. Now: Joaquin / place: behind the barred door."
    )
    assert noted.warnings == (*noted.mendable, "the summary update was derived from the signals")


def test_every_signal_can_be_what_an_update_is_derived_from() -> None:
    signals = Signals(("Maya came.",), ("Maya: at the mill",), ("Who barred the door?",), ("The debt.",))
    assert (
        derive_update(signals)
        == "Maya came. Now: Maya: at the mill. Still open: Who barred the door? Settled: The debt."
    )


def test_a_long_update_is_cut_at_a_sentence() -> None:
    update = read(SIMPLE, {"summary_update": "Maya reached the mill by the river. " * 60}).summary_update
    assert LONGEST_UPDATE - 100 < len(update) <= LONGEST_UPDATE
    assert update.endswith("river.")
    assert len(read(SIMPLE, {"summary_update": "x" * 5_000}).summary_update) <= LONGEST_UPDATE


def test_what_the_summary_tells_already_is_not_told_again() -> None:
    noted = kept(NOTE, {"summary_update": "Maya left the harbour at night. She reached the mill at dusk."})
    assert parse_analysis(noted.text).summary_update == "She reached the mill at dusk."
    assert noted.warnings
    assert isinstance(NOTE.judge_text('{"summary_update": "Maya left the harbour at night."}'), Refused)


def test_contradictions_are_kept() -> None:
    answer = {
        "summary_update": "Joaquin spoke of his only brother.",
        "contradictions": ["Joaquin had two brothers before."],
    }
    assert read(NOTE, answer).contradictions == ("Joaquin had two brothers before.",)


def test_parts_of_a_fragment_are_one_analysis() -> None:
    first = kept(
        SIMPLE,
        {"summary_update": "Maya came.", "open_threads": ["Who barred the door?", "The debt"], "mentions": ["Maya"]},
    )
    second = SIMPLE.take_run([(message("assistant", "Joaquin paid."),)], first.text)
    whole = read(
        second, {"summary_update": "Joaquin paid.", "resolved_threads": ["the debt"], "mentions": ["maya", "Joaquin"]}
    )
    assert whole.summary_update == "Maya came. Joaquin paid."
    assert whole.signals.open_threads == ("Who barred the door?",)
    assert whole.signals.resolved_threads == ("the debt",)
    assert whole.mentions == ("Maya", "Joaquin")
    assert parse_analysis(second.builtin().text).summary_update == "Maya came.\n#0 Narrator: “Joaquin paid.”"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (message("assistant", "Maya came."), True),
        (message("user", "hm"), True),
        (message("system", "You are a narrator."), False),
        (message("assistant", "  \n"), False),
        (message("assistant", "* * *"), False),
        (message("assistant", "---"), False),
        (message("assistant", "# The Long Night"), False),
        (message("assistant", "Chapter 3: The Mill"), False),
        (message("assistant", "Chapter Two"), False),
        (message("assistant", "第三章 夜"), False),
        (message("assistant", "Chapter 3\n\nMaya came to the mill."), True),
        (message("assistant", "Part of the roof fell in."), True),
        (message("user", "(OOC: back tomorrow?)"), False),
        (message("user", "((brb)) *I nod.*"), True),
        (Message(Role.ASSISTANT, (Thinking("Where is she?"),)), False),
        (Message(Role.USER, (Image("https://example.org/a.png"),)), True),
    ],
)
def test_what_is_a_fragment(said: Message, expected: bool) -> None:
    assert is_fragment(said) is expected


def on_path(position: int, said: Message, attributes: Attributes | None = None) -> OnPath:
    return OnPath(position, position + 1, b"", Entry(position + 1, said, digest(said), attributes or Attributes()))


texts = st.text(max_size=60)
analyses = st.builds(
    lambda update, lists, mentions, contradictions: {
        "summary_update": update, "mentions": mentions, "contradictions": contradictions, **lists,
    },
    st.one_of(texts, st.none(), st.integers(), st.lists(texts, max_size=3)),
    st.dictionaries(
        st.sampled_from(["events", "state_changes", "open_threads", "resolved_threads", "openThreads", "state"]),
        st.one_of(texts, st.lists(st.one_of(texts, st.none(), st.dictionaries(texts, texts, max_size=2)), max_size=12)),
        max_size=6,
    ),
    st.one_of(st.none(), st.lists(texts, max_size=20)),
    st.one_of(st.none(), texts, st.lists(texts, max_size=12)),
)  # fmt: skip


@settings(max_examples=cases(80))
@given(analyses)
def test_whatever_is_kept_is_bounded_and_reads_back_as_it_is(answer: dict[str, object]) -> None:
    noted = NOTE.judge_text(json.dumps(answer))
    if isinstance(noted, Accepted):
        again = parse_analysis(noted.text)
        assert render_analysis(again) == noted.text
        assert again.summary_update.strip()
        assert len(again.summary_update) <= LONGEST_UPDATE
        assert all(len(items) <= MOST_ITEMS for items in again.signals.as_json().values())


@settings(max_examples=cases(80))
@given(st.one_of(st.text(max_size=300), st.text('{}[]":,nulltrue0 \\', max_size=80)))
def test_no_answer_makes_it_fail(answer: str) -> None:
    assert isinstance(NOTE.judge_text(answer), Accepted | Refused)
    assert parse_analysis(answer).summary_update is not None


@settings(max_examples=cases(40))
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=200)), max_size=4))
def test_the_built_in_analysis_can_always_be_kept(said: list[tuple[str, str]]) -> None:
    note = AnalysisFold(tuple(message(role, text.replace("\x00", "")) for role, text in said))
    noted = note.builtin()
    assert render_analysis(parse_analysis(noted.text)) == noted.text


def test_mentions_in_one_text_are_told_apart() -> None:
    assert read_analysis({"mentions": "Alice, Bob; Mr. Gray\nalice"}).mentions == ("Alice", "Bob", "Mr. Gray")
    assert read_analysis({"mentions": ["Alice, the smith", "Bob"]}).mentions == ("Alice, the smith", "Bob")
