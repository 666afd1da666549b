"""The compaction benchmark, small: its truth is in its conversations, it is the same every time, and ours is valid."""

from __future__ import annotations

import pytest

from benchmarks.compaction.__main__ import measured
from benchmarks.compaction.cases import generated_cases
from benchmarks.compaction.contenders import Ours, all_contenders, whole
from benchmarks.compaction.facts import KINDS, LATER, Case, held, holds, told
from benchmarks.compaction.running import fold_on, fold_once
from benchmarks.compaction.sessions import generated, headless, truth_holds
from benchmarks.compaction.validity import anthropic_faults, faults, openai_faults
from benchmarks.compaction.weak_model import MOST_TOKENS, summary_of, weak_model
from previously.core.messages import Message, Role, Text, ToolCall, ToolResult
from previously.core.model_io import ModelRequest
from previously.core.pairing import mend
from previously.core.tokens import estimate_tokens
from tests.effort import mark_slow

CASES = generated_cases(3)
MODEL = MOST_TOKENS
OURS = [Ours("ours", MODEL), Ours("ours, no model", 0)]


def test_every_fact_stands_in_its_conversation_and_a_seed_gives_the_same() -> None:
    for case in CASES:
        assert truth_holds(case)
        assert held(case.facts, told(case.messages)) == list(case.facts)
        assert {fact.kind for fact in case.facts} == set(KINDS)
        assert case.budgets
    assert generated(1) == generated(1)
    assert generated(1).messages != generated(2).messages


def test_the_sessions_have_what_real_ones_have() -> None:
    several = generated(3)
    assert any(sum(isinstance(part, ToolCall) for part in one.parts) > 1 for one in several.messages)
    assert mend(several.messages).interrupted == 1
    assert faults(several.messages)
    run = headless(9)
    assert sum(one.role is Role.USER for one in run.messages) == 2  # the rules and the one request
    assert sum(isinstance(part, ToolCall) for one in run.messages for part in one.parts) >= 150


def test_a_string_inside_a_longer_one_is_not_found() -> None:
    assert holds("see src/a.py: edited", "src/a.py")
    assert not holds("exit 12345", "1234")
    assert holds("12345, then 1234", "1234")


@pytest.mark.parametrize("contender", OURS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "case",
    [CASES[0], CASES[-1], *mark_slow(*CASES[1:-1], reason="more of the first kind")],
    ids=lambda one: one.name,
)
async def test_ours_is_valid_fits_and_keeps_what_is_pinned(contender: Ours, case: Case) -> None:
    for _, budget in case.budgets[:2]:
        figures = await fold_once(contender, case, budget)
        assert not figures["faults"]
        for name in ("valid", "fits", "rules", "request", "again"):
            assert figures[name] == 100, (name, budget)
        assert figures["constraints"] > 60
        assert figures["files edited"] > 60


async def test_ours_keeps_more_than_the_others_at_the_same_budget() -> None:
    rows = await measured(CASES[:1], all_contenders(MODEL))
    shares = {(row["budget"], row["contender"]): row["all"] for row in rows}
    for budget in {budget for budget, _ in shares}:
        ours = shares[budget, "ours"]
        assert ours > max(share for (at, name), share in shares.items() if at == budget and name not in _OURS)


_OURS = ("ours", "ours, no model")


async def test_a_session_that_goes_on_keeps_its_beginning() -> None:
    ours = await fold_on(Ours("ours, no model", 0), 7, folds=3)
    assert ours["valid"] == ours["fits"] == ours["rules"] == ours["request"] == 100
    assert ours["first"] > 40


def test_the_model_knows_no_contender() -> None:
    lines = "\n".join(f"line {number} of the output" for number in range(400))
    material = f"## User\nFix the build. It is red.\n\n## Tool\n{lines}"
    request = ModelRequest("Write.\n## Goal\n## Critical Context", material, 400)
    answer = summary_of(request)
    assert answer == summary_of(request)
    assert answer.startswith("## Goal\n- Fix the build.\n## Critical Context\n- ")
    assert estimate_tokens(answer) <= 440
    again = summary_of(
        ModelRequest("Write.\n## Goal", f"<prior-summary>\n{answer}\n</prior-summary>\n[User]: Go on.", 400)
    )
    assert "Fix the build." in again
    assert "Go on." in again
    assert weak_model().name == "weak"


def _said(role: Role, *parts: Text | ToolCall | ToolResult) -> Message:
    return Message(role, parts)


def test_what_the_apis_refuse_is_a_fault() -> None:
    user = _said(Role.USER, Text("Go."))
    call = _said(Role.ASSISTANT, ToolCall("1", "bash", "{}"))
    result = _said(Role.TOOL, ToolResult("1", "ok"))
    assert faults([user, call, result]) == []
    assert openai_faults([user, call]) == ["the end: 1 calls have no result"]
    assert openai_faults([user, result]) == ["message 1: a result without its call"]
    assert openai_faults([user, call, user, result])
    assert openai_faults([call, result]) == []
    assert anthropic_faults([call, result]) == ["the first message is the assistant's"]
    assert anthropic_faults([user, _said(Role.ASSISTANT, Text(" "))]) == ["message 1 is empty"]


def test_later_needs_are_of_the_past() -> None:
    for case in CASES:
        assert all(fact.needle in told(case.messages) for fact in case.facts if fact.kind == LATER)
        assert whole(case.messages) > 2 * max(budget for _, budget in case.budgets)
