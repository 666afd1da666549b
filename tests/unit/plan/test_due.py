"""The order of folds: what is due, of which messages, and why nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously.core.marks import SPAN_SCOPE, MarkKind
from previously.core.path import Span
from previously.core.versions import REJECTED, TAKEN_BACK, Kind, Status
from previously.folds.amend import AMENDED
from previously.folds.boundary import Boundary
from previously.folds.recap import AGAIN, NotDue
from previously.folds.update import UPDATED
from previously.plan.step import Look
from tests.unit.plan.branch import BUILTIN, MODEL, RULES, Branch, find_step, lines, look_for


def reason_of(branch: Branch, look: Look = BUILTIN) -> str:
    due = look_for(branch, look)
    assert isinstance(due, NotDue), due
    return due.reason


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (0, "0 messages; the newest 3 are never folded"),
        (3, "3 messages; the newest 3 are never folded"),
        (4, "1 message with 9 words and 17 tokens waits for the next fold, which comes at 5 messages"),
        (7, "4 messages with 36 words and 68 tokens wait for the next fold, which comes at 5 messages"),
    ],
)
def test_nothing_is_due_before_enough_waits_outside_the_tail(count: int, reason: str) -> None:
    assert reason_of(Branch(lines(count))).startswith(reason)


def test_what_is_one_is_told_as_one() -> None:
    rules = replace(RULES, recap=replace(RULES.recap, tail_messages=1, due_messages=1, chosen=True))
    step = find_step(Branch(lines(2)), replace(BUILTIN, rules=rules)).step
    assert (step.span, step.reason) == (Span(0, 0), "1 message")
    assert reason_of(Branch(lines(1)), replace(BUILTIN, rules=rules)) == "1 message; the newest is never folded"


def test_a_recap_is_due_of_as_many_messages_as_the_rules_ask_for() -> None:
    step = find_step(Branch(lines(12))).step
    assert (step.kind, step.scope, step.span, step.before) == (Kind.RECAP, "", Span(0, 4), None)


def test_a_recap_goes_on_from_the_one_in_force() -> None:
    branch = Branch(lines(13))
    first = branch.keep(Kind.RECAP, 0, 4)
    step = find_step(branch).step
    assert (step.span, step.before) == (Span(5, 9), first)


def test_all_but_the_tail_is_folded() -> None:
    branch = Branch(lines(8))
    branch.keep(Kind.RECAP, 0, 4)
    assert reason_of(branch) == "all but the newest 3 messages are folded"


def test_a_view_without_room_makes_due_whatever_waits_outside_the_tail() -> None:
    branch = Branch(lines(5))
    assert reason_of(branch).startswith("2 messages with")
    step = find_step(branch, replace(BUILTIN, pressed=True)).step
    assert (step.span, step.reason) == (Span(0, 1), "no room for it in the view")


def test_a_tail_of_turns_is_counted_in_messages() -> None:
    turns = replace(BUILTIN, rules=replace(RULES, tail_turns=6, tail_tokens=10_000))
    branch = Branch(lines(12))  # each of a user, so each a turn
    assert find_step(branch, turns).step.span == Span(0, 4)
    assert reason_of(Branch(lines(10)), turns).startswith("4 messages with")


def test_a_fold_that_waits_for_approval_is_not_made_again() -> None:
    branch = Branch(lines(12))
    pending = branch.keep(Kind.RECAP, 0, 4, status=Status.PENDING)
    assert reason_of(branch) == f"version {pending.id} waits to be approved or rejected"
    branch.edit(2, "Another line.")
    assert find_step(branch).step.span == Span(0, 4), "it read other messages than those there now"


def test_memory_that_stands_in_is_made_anew_only_where_that_is_asked_for() -> None:
    branch = Branch(lines(8))
    standing = branch.keep(Kind.RECAP, 0, 4, status=Status.PROVISIONAL, made_by="builtin", firm=False)
    assert reason_of(branch) == "all but the newest 3 messages are folded"
    prepared = find_step(branch, replace(MODEL, anew=True))
    assert (prepared.step.span, prepared.step.reason, prepared.step.before) == (Span(0, 4), AGAIN, None)
    assert prepared.loose == {Kind.RECAP: standing}


@pytest.mark.parametrize(
    ("status", "reason", "taken_back"),
    [
        (Status.REFUSED, REJECTED, True),
        (Status.UNDONE, TAKEN_BACK, True),
        (Status.REFUSED, "invented people: Anna", False),
    ],
)
def test_what_a_person_took_back_is_told_from_what_was_refused(status: Status, reason: str, taken_back: bool) -> None:
    branch = Branch(lines(8))
    branch.keep(Kind.RECAP, 0, 4, status=status, reason=reason)
    assert find_step(branch).taken_back is taken_back


def test_an_edit_of_an_old_message_amends_the_recap_where_the_writer_can() -> None:
    branch = Branch(lines(17))
    branch.keep(Kind.RECAP, 0, 4)
    branch.keep(Kind.RECAP, 5, 9)
    branch.edit(2, "Line 2: the ferry stays at the pier.")
    amended = find_step(branch, MODEL).step
    assert (amended.kind, amended.span, amended.reason) == (Kind.RECAP, Span(0, 9), AMENDED)
    for look in (replace(MODEL, failed={(Kind.RECAP, "")}), BUILTIN):
        again = find_step(branch, look).step
        assert (again.span, again.reason) == (Span(0, 4), AGAIN), "all that it stood for is folded again"


def test_a_chapter_closes_at_a_heading_before_more_is_folded() -> None:
    said = lines(12)
    said[8] = "# Chapter Two\n\nThe other bank."
    long = replace(BUILTIN, rules=replace(RULES, chapter_messages=4))
    branch = Branch(said)
    branch.keep(Kind.RECAP, 0, 4)
    due = look_for(branch, long)
    assert isinstance(due, Boundary)
    assert due.position == 7


def test_a_chapter_without_a_scene_end_closes_at_twice_its_length_if_it_closes_by_itself() -> None:
    branch = Branch(lines(30))
    assert not isinstance(look_for(branch), Boundary)
    for last in (4, 9, 14):
        branch.keep(Kind.RECAP, last - 4, last)
    due = look_for(branch, replace(BUILTIN, rules=replace(RULES, chapter_messages=8)))
    assert isinstance(due, Boundary)
    assert due.position == 15
    assert find_step(branch).step.span == Span(15, 19)


def test_a_chapter_that_was_kept_open_closes_only_behind_that() -> None:
    said = lines(16)
    said[8] = "# Chapter Two\n\nThe other bank."
    branch = Branch(said)
    branch.keep(Kind.RECAP, 0, 4)
    branch.mark(MarkKind.KEPT_OPEN, 8)
    assert not isinstance(look_for(branch, replace(BUILTIN, rules=replace(RULES, chapter_messages=4))), Boundary)


def test_what_an_update_left_unnoted_comes_before_the_next_recap() -> None:
    branch = Branch(lines(13))
    branch.keep(Kind.RECAP, 0, 4, carry=UPDATED)
    missing = find_step(branch, MODEL).step
    assert (missing.scope, missing.span) == (SPAN_SCOPE, Span(0, 4))
    branch.keep(Kind.NOTE, 0, 4, scope=SPAN_SCOPE, text="{}")
    branch.keep(Kind.EPISODE, 0, 4, scope=SPAN_SCOPE)
    step = find_step(branch, MODEL).step
    assert (step.kind, step.span) == (Kind.RECAP, Span(5, 9))


def test_the_built_in_writer_notes_nothing_beside_a_recap() -> None:
    branch = Branch(lines(8))
    branch.keep(Kind.RECAP, 0, 4, carry=UPDATED)
    assert isinstance(look_for(branch, BUILTIN), NotDue)
