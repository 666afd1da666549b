"""Each of the five proofs fails for what it is there for, with its own sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously.core.errors import BadInput
from previously.core.messages import Message, Role, ToolCall, ToolResult, message
from previously.core.tokens import ESTIMATE
from previously.folds.conversation.compaction import (
    Disproved,
    Proved,
    build_brief_message,
    compose_conversation,
    count_whole,
    plan_compaction,
    prove,
)
from previously.folds.conversation.rules import CompactedConversation, CompactPlan, CompactRules

LOG = "a line of a long log\n" * 300


def work(at: int) -> list[Message]:
    return [
        Message(Role.ASSISTANT, (ToolCall(f"c{at}", "read", "{}"),)),
        Message(Role.TOOL, (ToolResult(f"c{at}", LOG),)),
    ]


SAID = [message("system", "Be kind."), message("user", "Go."), *(one for at in range(8) for one in work(at))]
RULES = CompactRules(budget_tokens=16_000, fold_at=0.0, prune_least_tokens=10**9, tail_tokens=4_000)
BRIEF = "## Goal\n- Go."


def planned() -> CompactPlan:
    found = plan_compaction(SAID, RULES, ESTIMATE)
    assert isinstance(found, CompactPlan) and found.head
    return found


def proof(
    after: CompactedConversation,
    *,
    rules: CompactRules = RULES,
    what: CompactPlan | None = None,
    brief: str | None = BRIEF,
) -> str:
    found = prove(SAID, after, what or planned(), rules, ESTIMATE, brief)
    return found.reason if isinstance(found, Disproved) else ""


def test_what_was_planned_is_proved() -> None:
    after = compose_conversation(SAID, planned(), BRIEF)
    proved = prove(SAID, after, planned(), RULES, ESTIMATE, BRIEF)
    assert isinstance(proved, Proved)
    assert proved.before_tokens == count_whole(SAID, RULES, ESTIMATE)
    assert proved.after_tokens == count_whole(after.messages, RULES, ESTIMATE)
    assert 0.1 < proved.freed < 1


def test_a_call_without_its_result_is_a_fault() -> None:
    after = compose_conversation(SAID, planned(), BRIEF)
    cut = CompactedConversation(after.messages[:-1], after.origin[:-1], after.brief_at)
    assert proof(cut).startswith("A call would be parted from its result: Message")


def test_a_whole_that_does_not_fit_is_a_fault() -> None:
    after = compose_conversation(SAID, planned(), BRIEF)
    tools = replace(RULES, overhead_tokens=14_000)
    assert "the budget is 16,000" in proof(after, rules=tools)


def test_a_whole_that_does_not_fit_is_a_fault_unless_nothing_more_can_go() -> None:
    """A plan that only says so is not believed."""
    tools = replace(RULES, overhead_tokens=14_000)
    said_so = replace(planned(), is_least=True, brief_tokens=200)
    after = compose_conversation(SAID, said_so, BRIEF)
    told = prove(SAID, after, said_so, tools, ESTIMATE, BRIEF)
    assert isinstance(told, Disproved) and "the budget is 16,000" in told.reason
    least = plan_compaction(SAID, replace(tools, overhead_tokens=15_900), ESTIMATE)
    assert isinstance(least, CompactPlan) and least.is_least
    proved = prove(SAID, compose_conversation(SAID, least, BRIEF), least, tools, ESTIMATE, BRIEF)
    assert isinstance(proved, Proved)


def test_a_fold_that_frees_too_little_is_a_fault() -> None:
    after = compose_conversation(SAID, planned(), BRIEF)
    much = replace(RULES, budget_tokens=None, overhead_tokens=500_000)
    assert "not enough to be worth it" in proof(after, rules=much)
    assert "not enough to be worth it" in proof(after, rules=replace(RULES, budget_tokens=None, least_freed=0.99))


@pytest.mark.parametrize(
    ("at", "said", "reason"),
    [
        (0, message("system", "Be kind. "), "A rule or the newest request would be changed."),
        (1, message("user", "Go!"), "A rule or the newest request would be changed."),
        (
            -1,
            Message(Role.TOOL, (ToolResult("c7", "other"),)),
            "A message that should stay as it was said would be changed.",
        ),
    ],
)
def test_a_changed_message_is_a_fault(at: int, said: Message, reason: str) -> None:
    after = compose_conversation(SAID, planned(), BRIEF)
    messages = list(after.messages)
    messages[at] = said
    assert proof(CompactedConversation(tuple(messages), after.origin, after.brief_at)) == reason


def test_lost_and_moved_messages_are_a_fault() -> None:
    what = planned()
    after = compose_conversation(SAID, what, BRIEF)
    lost = CompactedConversation(after.messages[1:], after.origin[1:], 1)
    assert proof(lost).startswith("Messages that should stay are missing")
    without = replace(what, kept=what.kept[1:])
    assert proof(lost, what=without) == "A rule or the newest request would be lost."
    swapped = CompactedConversation(
        (after.messages[1], after.messages[0], *after.messages[2:]), (1, 0, *after.origin[2:]), after.brief_at
    )
    assert proof(swapped).startswith("Messages that should stay are missing")


def test_a_brief_over_its_cap_or_none_at_all_is_a_fault() -> None:
    what = planned()
    long = "- a line of notes\n" * 1_500
    assert f"there is room for {what.brief_tokens:,}" in proof(compose_conversation(SAID, what, long), brief=long)
    assert proof(compose_conversation(SAID, what, " \n"), brief=" \n") == "What was folded has no brief."
    other = compose_conversation(SAID, what, "## Goal\n- Stay.")
    assert proof(other) == "The brief does not stand where it should."


def test_a_brief_of_nothing_is_a_fault() -> None:
    everything = CompactPlan(
        tuple(range(len(SAID))), (0, 1), {2 * one + 3: (f"c{one}",) for one in range(7)}, (), None, 0
    )
    after = compose_conversation(SAID, everything, None)
    assert proof(after, what=everything, brief=None) == ""
    assert proof(after, what=everything) == "A brief was written though nothing was folded."
    more = CompactedConversation((*after.messages, build_brief_message(BRIEF)), (*after.origin, None), len(SAID))
    assert proof(more, what=everything, brief=None) == "A brief was written though nothing was folded."


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget_tokens": 0},
        {"budget_tokens": -5},
        {"overhead_tokens": -1},
        {"brief_tokens": 0},
        {"least_freed": 1.0},
        {"fold_at": 1.5},
    ],
)
def test_rules_that_cannot_be_kept_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        CompactRules(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budget", "tail", "keeps", "frees", "brief"),
    [
        (None, 15_000, 40_000, 20_000, 4_000),
        (1_000, 1_000, 1_000, 100, 300),
        (4_000, 2_000, 2_000, 400, 1_200),
        (20_000, 5_000, 8_000, 2_000, 4_000),
        (200_000, 15_000, 40_000, 20_000, 4_000),
    ],
)
def test_numbers_that_are_not_given_follow_the_budget(
    budget: int | None, tail: int, keeps: int, frees: int, brief: int
) -> None:
    rules = CompactRules(budget_tokens=budget)
    assert (rules.tail_room, rules.prune_keeps, rules.prune_frees, rules.brief_cap) == (tail, keeps, frees, brief)
