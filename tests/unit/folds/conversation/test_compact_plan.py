"""Plans: how much stays where pins are heavy, what a caller pins, and the last resorts when nothing else fits."""

from __future__ import annotations

import pytest

from previously.core.messages import Message, Role, Text, ToolCall, ToolResult, message
from previously.core.pairing import find_units, mend
from previously.core.tokens import ESTIMATE, message_tokens
from previously.folds.conversation.compaction import (
    Proved,
    compose_conversation,
    count_whole,
    cut_pieces,
    plan_compaction,
    prove,
)
from previously.folds.conversation.pins import find_pins
from previously.folds.conversation.rules import CompactPlan, CompactRules, NothingToFold, find_outputs

LOG = "a line of a long log\n"
SYSTEM = message("system", "Be kind.")
GO = message("user", "Go.")


def worked(at: int, lines: int = 60, tool: str = "read") -> list[Message]:
    return [
        Message(Role.ASSISTANT, (ToolCall(f"c{at}", tool, "{}"),)),
        Message(Role.TOOL, (ToolResult(f"c{at}", LOG * lines),)),
    ]


def run(steps: int, lines: int = 60, first: Message = SYSTEM) -> list[Message]:
    return [first, GO, *(one for at in range(steps) for one in worked(at, lines))]


def planned(messages: list[Message], rules: CompactRules, extra: frozenset[int] = frozenset()) -> CompactPlan:
    found = plan_compaction(messages, rules, ESTIMATE, extra_pins=extra)
    assert isinstance(found, CompactPlan), found
    brief = "- noted" if found.head else None
    proved = prove(messages, compose_conversation(messages, found, brief), found, rules, ESTIMATE, brief)
    assert isinstance(proved, Proved), proved
    return found


def test_the_tail_makes_room_for_heavy_pins() -> None:
    """The whole comes down to the line, so that there is room to go on."""
    heavy = message("system", LOG * 650)
    rules = CompactRules(budget_tokens=8_000, prune_least_tokens=10**9)
    before = run(90, 10, heavy)
    after = compose_conversation(before, planned(before, rules), "- noted " * 100)
    assert rules.line is not None
    assert count_whole(after.messages, rules, ESTIMATE) <= rules.line
    light = planned(run(90, 10), rules)
    assert len(light.kept) > len(after.messages)


def test_a_fold_at_the_very_end_still_frees_a_tenth_with_its_tail() -> None:
    rules = CompactRules(budget_tokens=2_000, fold_at=1.0, tail_tokens=2_000, prune_least_tokens=10**9)
    before = run(1, 5)
    while count_whole(before, rules, ESTIMATE) <= 2_000:
        before += worked(len(before), 5)
    what = planned(before, rules)
    assert what.head and len(what.kept) > 6
    assert what.brief_tokens == rules.brief_cap, "and there is room for a whole brief"


def test_pins_take_nothing_of_the_tails_room() -> None:
    before = run(3)
    whole = find_units(before)
    tokens = [message_tokens(one) for one in before]
    pieces = cut_pieces(before, whole, find_pins(before, whole), tokens, [], None)
    assert [piece.tokens for piece in pieces] == [0, 0, *(tokens[at] + tokens[at + 1] for at in (2, 4, 6))]
    assert [piece.begins_turn for piece in pieces] == [False, True, False, False, False]


def test_older_steps_stay_without_their_outputs_before_they_are_told_in_the_brief() -> None:
    """A long turn of large outputs left one or two steps; the agent did not see what it had just done."""
    before = run(200, 100)
    rules = CompactRules(budget_tokens=8_000)
    what = planned(before, rules)
    stays = [at for at in what.kept if at > 1]
    assert what.head and stays == list(range(stays[0], len(before)))
    whole = [at for at in stays if at % 2 and at not in what.pruned]
    assert len(what.pruned) > len(whole) >= 1
    assert max(what.pruned) < min(whole), "the newest outputs are the ones that stay"
    after = compose_conversation(before, what, "- noted")
    assert count_whole(after.messages, rules, ESTIMATE) + what.brief_tokens <= 0.85 * 8_000
    few = planned(run(14, 100), rules)
    assert few.pruned and not few.head, "where that is enough, no brief is needed"
    assert not planned(before, CompactRules(budget_tokens=8_000, prune_least_tokens=10**9)).pruned


def test_what_a_caller_pins_stays_whole_in_every_resort() -> None:
    before = run(6, 400)
    pinned = frozenset({5})
    rules = CompactRules(budget_tokens=6_000)
    what = planned(before, rules, pinned)
    assert {4, 5} <= set(what.kept) and 5 not in what.pruned
    least = planned(before, CompactRules(budget_tokens=2_000), pinned)
    assert (least.is_least, least.kept, least.pruned) == (True, (0, 1, 4, 5), {})


def test_results_that_came_with_the_request_are_left_out_only_as_a_last_resort() -> None:
    mixed = Message(Role.USER, (ToolResult("m", LOG * 400), Text("And now the reader.")))
    call = Message(Role.ASSISTANT, (ToolCall("m", "read", "{}"),))
    before = [SYSTEM, GO, *(one for at in range(8) for one in worked(at, 200)), call, mixed, *worked(9, 5)]
    roomy = planned(before, CompactRules(budget_tokens=10_000, prune_keep_tokens=0, tail_tokens=0))
    assert roomy.pruned and 19 not in roomy.pruned
    tight = CompactRules(budget_tokens=2_500)
    what = planned(before, tight)
    assert what.pruned == {19: ("m",)}
    after = compose_conversation(before, what, "- noted")
    assert Text("And now the reader.") in after.messages[after.origin.index(19)].parts


def test_a_protected_output_is_folded_rather_than_left_out() -> None:
    before = [SYSTEM, GO, *worked(0, 3_000, "skill")]
    what = planned(before, CompactRules(budget_tokens=4_000))
    assert (what.head, what.pruned) == ((2, 3), {})
    assert compose_conversation(before, what, "- noted").origin == (0, 1, None)


def test_an_output_that_is_little_longer_than_its_note_is_not_worth_it() -> None:
    assert find_outputs(run(1, 9), ESTIMATE) == []
    assert len(find_outputs(run(1, 20), ESTIMATE)) == 1


def test_every_fold_frees_something_though_nothing_is_asked_for() -> None:
    """A caller may ask for no share at all; a fold that frees nothing is refused all the same."""
    rules = CompactRules(least_freed=0.0, tail_turns=0, brief_tokens=5)
    before = [SYSTEM, GO, message("assistant", "Done.")]
    found = plan_compaction(before, rules, ESTIMATE)
    assert isinstance(found, NothingToFold)
    everything = CompactPlan(tuple(range(3)), (0, 1), {}, (), None, 0)
    assert not isinstance(
        prove(before, compose_conversation(before, everything, None), everything, rules, ESTIMATE, None), Proved
    )


def test_the_room_for_a_brief_follows_from_what_must_be_freed() -> None:
    before = run(12, 20)
    what = planned(before, CompactRules(tail_tokens=1_300))
    after = compose_conversation(before, what, "x")
    size = count_whole(before, CompactRules(), ESTIMATE)
    assert 200 <= what.brief_tokens < 1_500
    assert count_whole(after.messages, CompactRules(), ESTIMATE) + what.brief_tokens <= 0.9 * size + 20


@pytest.mark.parametrize("brief_at", [2, 3, 99, -1])
def test_the_earlier_brief_must_be_a_message_of_its_own(brief_at: int) -> None:
    with pytest.raises(ValueError, match="of its own"):
        plan_compaction(run(3), CompactRules(), ESTIMATE, brief_at=brief_at)


@pytest.mark.parametrize("brief", [None, "- noted"])
def test_a_brief_is_given_exactly_where_it_is_needed(brief: str | None) -> None:
    before = run(30)
    rules = CompactRules(budget_tokens=16_000, prune_keep_tokens=4_000, fold_at=0.85 if brief else 0.0)
    with pytest.raises(ValueError, match="exactly where"):
        compose_conversation(before, planned(before, rules), brief)


def test_where_a_brief_stands_is_found_again_after_mending() -> None:
    lost = Message(Role.TOOL, (ToolResult("lost", "x"),))
    found = mend([SYSTEM, lost, message("user", "Notes."), *worked(0)[:1], GO])
    assert [found.now_at(at) for at in range(5)] == [0, None, 1, 2, 4]
