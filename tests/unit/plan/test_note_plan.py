"""Notes: which fragments, scenes and characters are due, several at a time or one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.core.fold_rules import Timeline
from previously.core.marks import SPAN_SCOPE
from previously.core.messages import message
from previously.core.path import Span
from previously.core.versions import Kind, Status
from previously.folds.recap import NotDue
from previously.plan.notes import ASKED_AGAIN, FRAGMENT, SCENE_OVER, plan_analyses
from tests.unit.plan.branch import BUILTIN, MODEL, RULES, Branch, find_step, lines, look_for

LIBRARIAN = replace(RULES, timeline=Timeline.LIBRARIAN)
SCENES = replace(RULES, timeline=Timeline.SCENES, scene_messages=4)


def spans_of(branch: Branch, look: Any) -> list[tuple[Kind, str, Span]]:
    due = look_for(branch, look)
    assert isinstance(due, tuple), due
    return [(prepared.step.kind, prepared.step.reason, prepared.step.span) for prepared in due]


def test_fragments_are_quoted_together_and_asked_of_a_model_one_by_one() -> None:
    branch = Branch(lines(4))
    branch.keep(Kind.ANALYSIS, 1, 1, scope=SPAN_SCOPE, text="{}")
    missing = [(Kind.ANALYSIS, FRAGMENT, Span(at, at)) for at in (0, 2, 3)]
    assert spans_of(branch, replace(BUILTIN, rules=LIBRARIAN)) == missing
    assert spans_of(branch, replace(MODEL, rules=LIBRARIAN)) == missing[:1]


def test_a_fragment_whose_analysis_waits_for_approval_is_passed_over() -> None:
    branch = Branch(lines(3))
    branch.keep(Kind.ANALYSIS, 0, 0, scope=SPAN_SCOPE, text="{}", status=Status.PENDING)
    assert spans_of(branch, replace(MODEL, rules=LIBRARIAN)) == [(Kind.ANALYSIS, FRAGMENT, Span(1, 1))]


def test_analyses_that_are_asked_for_are_those_missing_or_with_again_all() -> None:
    branch: Any = Branch([*lines(2), message("user", "")])
    there = branch.keep(Kind.ANALYSIS, 0, 0, scope=SPAN_SCOPE, text="{}")
    assert [step.span for step in plan_analyses(branch, LIBRARIAN, None, again=False)] == [Span(1, 1)]
    anew, first = plan_analyses(branch, LIBRARIAN, None, again=True)
    assert (anew.span, anew.reason, anew.replaces, anew.by_request) == (Span(0, 0), ASKED_AGAIN, there.id, True)
    assert (first.reason, first.replaces, first.by_request) == (FRAGMENT, None, False)
    with pytest.raises(BadInput, match="Message 2 holds nothing to analyse"):
        plan_analyses(branch, LIBRARIAN, -1, again=False)


def test_a_scene_is_noted_when_it_is_over_outside_the_tail() -> None:
    look = replace(MODEL, rules=SCENES)
    assert isinstance(look_for(Branch(lines(6)), look), NotDue)
    assert spans_of(Branch(lines(7)), look) == [(Kind.SCENE, SCENE_OVER, Span(0, 3))]


def test_with_scenes_the_recap_is_put_together_from_their_notes() -> None:
    branch = Branch(lines(7))
    branch.keep(Kind.SCENE, 0, 3, scope=SPAN_SCOPE, text='{"summary": "They crossed four times."}')
    step = find_step(branch, replace(MODEL, rules=SCENES)).step
    assert (step.kind, step.span, step.reason) == (Kind.RECAP, Span(0, 3), "1 scene told")


def witnessed() -> Branch:
    names = ("Ana", "Bo")
    said = [
        message("assistant", f"{text} Go on.", speaker=names[at % 2], witnesses=names)
        for at, text in enumerate(lines(4))
    ]
    return Branch([*said, message("assistant", "Alone at last.", speaker="Ana", witnesses=["Ana"])])


def test_each_character_is_told_of_what_they_witnessed_alone() -> None:
    look = replace(MODEL, rules=replace(RULES, cast="turn"))
    due: Any = look_for(witnessed(), look)
    told = {prepared.step.scope: [said.text for said in prepared.step.asked.delta] for prepared in due}
    assert {scope: len(texts) for scope, texts in told.items()} == {"@ana": 5, "@bo": 4}
    assert "Alone at last." in told["@ana"]


@pytest.mark.parametrize("cast", ["off", "group"])
def test_nobody_is_asked_about_apart_where_all_know_the_same_or_nobody_wants_it(cast: str) -> None:
    names = ("Ana", "Bo", "Cy")
    branch = Branch([message("assistant", text, speaker=names[at % 3]) for at, text in enumerate(lines(6))])
    assert isinstance(look_for(branch, replace(MODEL, rules=replace(RULES, cast=cast))), NotDue)
