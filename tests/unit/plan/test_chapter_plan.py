"""Closed chapters: which of their forms is due next, in which order, and what is skipped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously.core.marks import MarkKind
from previously.core.path import Span
from previously.core.versions import TAKEN_BACK, Kind, Status
from previously.folds.chapter import BACKBONE, CHAPTER, CLOSED, SHORT, TITLE, ChapterFold
from previously.folds.checks import RefusalKind
from previously.folds.recap import NotDue
from previously.plan.chapters import MOST_REFUSED, NO_SHORT_YET
from previously.plan.step import Written
from tests.unit.plan.branch import BUILTIN, MODEL, RULES, Branch, find_step, lines, look_for

ANEW = replace(MODEL, anew=True)


def closed_chapter(title: str = "", messages: int = 12) -> Branch:
    """A chapter of eight messages that is closed behind its recap; others follow."""
    branch = Branch(lines(messages))
    branch.keep(Kind.RECAP, 0, 7)
    branch.mark(MarkKind.CHAPTER, 7, title)
    return branch


def parts_of(asked: object) -> tuple[str, ...]:
    assert isinstance(asked, ChapterFold)
    return asked.parts


def test_the_recap_of_a_closed_chapter_is_its_full_form_as_it_stands() -> None:
    step = find_step(closed_chapter(), MODEL).step
    assert (step.kind, step.span) == (Kind.CHAPTER, Span(0, 7))
    assert isinstance(step.asked, Written)
    assert step.asked.text == "recap of 0-7"


def test_a_full_form_that_a_person_took_back_is_asked_for() -> None:
    branch = closed_chapter()
    branch.keep(Kind.CHAPTER, 0, 7, status=Status.UNDONE, reason=TAKEN_BACK)
    prepared = find_step(branch, MODEL)
    assert CHAPTER in parts_of(prepared.step.asked)
    assert prepared.taken_back


def test_quotations_are_written_out_where_there_is_a_model() -> None:
    branch = Branch(lines(12))
    branch.keep(Kind.RECAP, 0, 7, made_by="builtin")
    branch.mark(MarkKind.CHAPTER, 7, "The Ferry")
    assert parts_of(find_step(branch, MODEL).step.asked) == (CHAPTER, SHORT, BACKBONE)


def test_what_no_recap_has_read_of_a_closed_chapter_is_read_first() -> None:
    branch = Branch(lines(12))
    branch.keep(Kind.RECAP, 0, 3)
    branch.mark(MarkKind.CHAPTER, 7)
    step = find_step(branch, MODEL).step
    assert (step.kind, step.span) == (Kind.RECAP, Span(4, 7))
    assert set(step.others) == {Kind.SHORT, Kind.BACKBONE}, "the same answer gives what else is kept of the chapter"


@pytest.mark.parametrize(("title", "parts"), [("", (TITLE, SHORT)), ("The Ferry", (SHORT,))])
def test_a_short_form_is_missed_where_a_full_form_closed_the_chapter(title: str, parts: tuple[str, ...]) -> None:
    branch = closed_chapter(title)
    branch.keep(Kind.CHAPTER, 0, 7, carry=CLOSED)
    branch.keep(Kind.BACKBONE, 0, 7)
    step = find_step(branch, ANEW).step
    assert (step.kind, step.reason) == (Kind.SHORT, NO_SHORT_YET)
    assert set(parts_of(step.asked)) == set(parts)


def test_a_short_form_and_the_backbone_are_asked_for_in_one_question() -> None:
    branch = closed_chapter("The Ferry")
    branch.keep(Kind.CHAPTER, 0, 7, carry=CLOSED)
    step = find_step(branch, ANEW).step
    assert (step.kind, parts_of(step.asked), set(step.others)) == (Kind.SHORT, (SHORT, BACKBONE), {Kind.BACKBONE})


def test_a_chapter_that_waits_does_not_hold_back_the_next() -> None:
    branch = Branch(lines(20))
    branch.keep(Kind.CHAPTER, 0, 7, status=Status.PENDING)
    first = branch.mark(MarkKind.CHAPTER, 7)
    branch.keep(Kind.RECAP, 8, 15, scope=first.scope)
    branch.mark(MarkKind.CHAPTER, 15)
    step = find_step(branch, MODEL).step
    assert (step.kind, step.span) == (Kind.CHAPTER, Span(8, 15))


def test_a_short_form_that_a_model_cannot_give_is_given_up() -> None:
    branch = closed_chapter()
    branch.keep(Kind.CHAPTER, 0, 7, carry=CLOSED)
    branch.keep(Kind.BACKBONE, 0, 7)
    refusal = f"{next(iter(RefusalKind)).value}: nothing there"
    for _ in range(MOST_REFUSED - 1):
        branch.keep(Kind.SHORT, 0, 7, status=Status.REFUSED, reason=refusal)
    assert find_step(branch, ANEW).step.kind is Kind.SHORT
    branch.keep(Kind.SHORT, 0, 7, status=Status.REFUSED, reason=refusal)
    assert isinstance(look_for(branch, ANEW), NotDue)


def test_a_short_form_that_failed_waits_for_the_next_call() -> None:
    branch = closed_chapter()
    branch.keep(Kind.CHAPTER, 0, 7, carry=CLOSED)
    branch.keep(Kind.BACKBONE, 0, 7)
    assert isinstance(look_for(branch, replace(ANEW, failed={(Kind.SHORT, "")})), NotDue)


def test_the_backbone_takes_in_chapters_one_by_one() -> None:
    branch = Branch(lines(20))
    branch.keep(Kind.RECAP, 0, 7)
    first = branch.mark(MarkKind.CHAPTER, 7)
    branch.mark(MarkKind.CHAPTER, 15)
    branch.keep(Kind.CHAPTER, 0, 7)
    branch.keep(Kind.CHAPTER, 8, 15, scope=first.scope)
    step = find_step(branch).step
    assert (step.kind, step.span, step.before) == (Kind.BACKBONE, Span(0, 7), None)
    spine = branch.keep(Kind.BACKBONE, 0, 7)
    step = find_step(branch).step
    assert (step.kind, step.span, step.before) == (Kind.BACKBONE, Span(8, 15), spine)


def test_there_is_no_backbone_where_the_rules_give_it_no_words() -> None:
    branch = closed_chapter()
    branch.keep(Kind.CHAPTER, 0, 7)
    assert find_step(branch).step.kind is Kind.BACKBONE
    assert isinstance(look_for(branch, replace(BUILTIN, rules=replace(RULES, backbone_words=0))), NotDue)


def test_a_chapter_told_by_hand_is_skipped_and_taken_in_as_it_was_told() -> None:
    branch = Branch(lines(12))
    end = branch.mark(MarkKind.CHAPTER, 7)
    branch.mark(MarkKind.CHAPTER_RECAP, 7, "They crossed eight times.", of=end.origin)
    step = find_step(branch).step
    assert step.kind is Kind.BACKBONE, "no full form is made of it"
    assert isinstance(step.asked, ChapterFold)
    assert step.asked.recap == "They crossed eight times."


def test_a_closed_chapter_whose_form_waits_for_approval_holds_back_the_backbone_alone() -> None:
    branch = closed_chapter(messages=18)
    branch.keep(Kind.CHAPTER, 0, 7, status=Status.PENDING)
    step = find_step(branch).step
    assert (step.kind, step.span) == (Kind.RECAP, Span(8, 12)), "the open chapter goes on"
