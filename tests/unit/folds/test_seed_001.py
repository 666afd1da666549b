"""Seed 001, sentence by sentence, and what was noted to be broken in the project it came from.

What needs the engine (that a saved fragment is analysed at all, settings by interface) is tested there.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from previously.core.messages import message
from previously.core.quote_lines import PREFIX
from previously.core.scene import Analysis, Fragment, Signals
from previously.folds.analysis import AnalysisFold, parse_analysis
from previously.folds.checks import Accepted, Refused
from previously.folds.context import NoteContext
from previously.folds.summary import (
    BETWEEN,
    MAX_CHARACTERS,
    TARGET_CHARACTERS,
    THRESHOLD,
    Gap,
    append_text,
    apply_updates,
    compact_summary,
    find_gaps,
)
from previously.runtime.prompts import load_prompt


def told(*updates: str | None) -> list[Fragment]:
    """Fragments by their updates; None for one without analysis, "#" for a chapter marker."""
    return [
        Fragment(position, update != "#", None if update in (None, "#") else Analysis(str(update)))
        for position, update in enumerate(updates)
    ]


NOTE = AnalysisFold((message("assistant", "Maya reached the mill. Joaquin barred the door."),))
TEN = told(*"abcdefghij")


def noted(answer: str) -> Analysis:
    found = NOTE.judge_text(answer)
    assert isinstance(found, Accepted)
    return parse_analysis(found.text)


BEHAVIOUR: dict[str, Callable[[], bool]] = {
    "an analysis gives a summary update and may give structured signals": lambda: (
        noted('{"summary_update": "Maya came."}').signals == Signals()
        and noted('{"summary_update": "Maya came.", "events": ["Maya reached the mill"]}').signals.events != ()
    ),
    "deferred application appends eligible updates to the summary": lambda: (
        append_text("Before.", apply_updates(told("a", "b", "c"), 0, 1).text) == f"Before.{BETWEEN}a{BETWEEN}b"
    ),
    "compaction runs when needed": lambda: compact_summary("x" * MAX_CHARACTERS) == "x" * MAX_CHARACTERS,
    "maxCharacters is 12000 by default": lambda: MAX_CHARACTERS == 12_000,
    "targetCharacters is 9000 by default": lambda: TARGET_CHARACTERS == 9_000,
    "the threshold says how many of the newest positions are not folded yet": lambda: (
        apply_updates(TEN).applied == tuple(range(10 - THRESHOLD))
    ),
    "the cutoff is never below zero": lambda: (
        apply_updates(told("a", "b")).applied == () and apply_updates([]).applied == ()
    ),
    "only what lies from the start to the cutoff is a candidate": lambda: (
        apply_updates(TEN, 3, 2).applied == (3, 4, 5, 6, 7)
    ),
    "it stops at a missing analysis": lambda: apply_updates(told("a", None, "c"), 0, 0).applied == (0,),
    "it stops at an empty or blank update": lambda: apply_updates(told("a", " \n", "c"), 0, 0).applied == (0,),
    "the anchor does not leap over missing data": lambda: apply_updates(told("a", None, "c"), 0, 0).through == 0,
    "a stop names the fragment": lambda: apply_updates(told("a", None, "c"), 0, 0).gap == Gap(1, "missing_analysis"),
    "a stop names the reason": lambda: apply_updates(told("", "c"), 0, 0).gap == Gap(0, "empty_summary_update"),
    "joined updates are appended": lambda: apply_updates(told("a", "b"), 0, 0).text == f"a{BETWEEN}b",
    "the anchor advances to the last applied": lambda: apply_updates(TEN).through == 10 - THRESHOLD - 1,
    "where none is applicable nothing is appended": lambda: apply_updates(told(None, "b"), 0, 0).text == "",
    "where none is applicable the anchor stays": lambda: apply_updates(told("a", None, "b"), 1, 0).through == 0,
    "a summary within the maximum is kept as it is": lambda: (
        compact_summary("Maya came. " * 20, 300, 200) == "Maya came. " * 20
    ),
    "a longer one is compacted towards the target": lambda: len(compact_summary("Maya came. " * 40, 300, 200)) <= 200,
    "the newest tail is kept, with its prefix": lambda: (
        compact_summary("Old. " * 100 + "Newest.", 300, 200).startswith(PREFIX)
        and compact_summary("Old. " * 100 + "Newest.", 300, 200).endswith("Newest.")
    ),
    "older detail is discarded first": lambda: "First" not in compact_summary("First. " + "Then. " * 100, 300, 200),
    "both values are at least 100": lambda: (
        compact_summary("x" * 100, 1, 1) == "x" * 100 and len(compact_summary("x" * 101, 1, 1)) == 100
    ),
    "the target is at most the maximum": lambda: len(compact_summary("x" * 500, 200, 400)) <= 200,
    "the summary before a fragment uses the latest analyses": lambda: (
        apply_updates(told("new", "b", "c")[:2], threshold=0).text == f"new{BETWEEN}b"
    ),
    "an update is derived from the signals when the text is empty": lambda: (
        noted('{"summary_update": " ", "events": ["Maya reached the mill"]}').summary_update == "Maya reached the mill."
    ),
    "an answer with neither text nor signals is rejected": lambda: isinstance(
        NOTE.judge_text('{"summary_update": "", "events": []}'), Refused
    ),
    "gaps can be looked up when summaries stall": lambda: (
        find_gaps(told("a", None, "", "d"), 0) == (Gap(1, "missing_analysis"), Gap(2, "empty_summary_update"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("sentence", BEHAVIOUR)
def test_behaviour(sentence: str) -> None:
    assert BEHAVIOUR[sentence]()


def test_defect_1_the_whole_summary_stays_bounded_however_long_the_story_gets() -> None:
    summary = ""
    for number in range(400):
        summary = compact_summary(
            append_text(summary, f"Maya came to the mill for the {number}th time and left again.")
        )
        assert len(summary) <= MAX_CHARACTERS
    assert "399th" in summary


def test_defect_2_nothing_vanishes_from_the_summary_when_a_fragment_is_regenerated() -> None:
    fragments = told(*(f"update {number}." for number in range(300)))
    assert apply_updates(fragments[:250], threshold=0).text.splitlines() == [
        f"update {number}." for number in range(250)
    ]


def test_defect_3_contradictions_are_looked_for_against_the_summary_that_is_there() -> None:
    context = NoteContext(so_far="Joaquin drowned in the storm.")
    question = AnalysisFold(NOTE.delta, context=context).build(load_prompt("analysis"))
    assert "Joaquin drowned in the storm." in question.user
    assert "(nothing yet)" not in question.user


def test_defect_3_what_a_person_wrote_is_gone_on_from() -> None:
    written = "Words of mine.\n\nThey stay."
    assert append_text(written, apply_updates(told("a", "b", "c"), 2, 0).text) == f"{written}{BETWEEN}c"


def test_defect_4_nothing_is_applied_twice_when_the_anchor_is_deleted() -> None:
    before = told("a", "b", "c", "d")
    first = apply_updates(before, 0, 1)
    assert first.text == f"a{BETWEEN}b{BETWEEN}c"
    # The last applied fragment is deleted: what stood for the others is found by its span, two positions long.
    after = told("a", "b", "d")
    assert apply_updates(after, 2, 0).text == "d"
    assert apply_updates(after, 0, 0).text == f"a{BETWEEN}b{BETWEEN}d", "and a recompute has every update once"


def test_defect_5_an_analysis_made_anew_behind_the_anchor_changes_the_summary() -> None:
    fragments = told("wrong", *"bcdefg")
    assert apply_updates(fragments).text.startswith("wrong")
    fragments[0] = Fragment(0, True, Analysis("right"))
    assert apply_updates(fragments).text == f"right{BETWEEN}b{BETWEEN}c"


def test_defect_6_passing_over_markers_alone_still_advances() -> None:
    found = apply_updates(told("#", "#", "c", "d"), 0, 2)
    assert (found.applied, found.text, found.through, found.gap) == ((), "", 1, None)
    assert apply_updates(told("#", "#", "c", "d"), found.through + 1, 0).text == f"c{BETWEEN}d"
