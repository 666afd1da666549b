"""Thousands of conversations: the five proofs hold, or it says that there is nothing to fold; no fold goes round."""

from __future__ import annotations

from collections import Counter as Tally
from functools import lru_cache
from math import ceil, log

import pytest

from previously.core.messages import Message, Role, ToolResult
from previously.core.pairing import find_units, find_unpaired, mend
from previously.core.tokens import ESTIMATE, message_tokens
from previously.folds.conversation.compaction import (
    Proved,
    compose_conversation,
    plan_compaction,
    prove,
    read_brief_text,
)
from previously.folds.conversation.pins import ENVIRONMENT, find_newest_request, find_rules, name_rules
from previously.folds.conversation.rules import CompactedConversation, CompactPlan, CompactRules, NothingToFold
from tests.effort import cases
from tests.unit.folds.conversation.conversations import conversation, rules, stand_in_brief

CONVERSATIONS = cases(5_000)
IN_ONE_TEST = 500


class Remembering:
    """The estimate, which counts a large text once: the generated conversations share theirs."""

    name = ESTIMATE.name
    exact = False
    message_overhead_tokens = ESTIMATE.message_overhead_tokens
    request_overhead_tokens = 3

    def __init__(self) -> None:
        self._count = lru_cache(maxsize=None)(ESTIMATE.tokens)

    def tokens(self, text: str) -> int:
        return self._count(text)


COUNTER = Remembering()
_brief = lru_cache(maxsize=None)(stand_in_brief)


def size(messages: tuple[Message, ...], kept: CompactRules) -> int:
    """The whole, counted here once more."""
    return kept.overhead_tokens + 3 + sum(message_tokens(one, COUNTER) for one in messages)


def folded(
    messages: tuple[Message, ...],
    kept: CompactRules,
    brief_at: int | None = None,
    extra: frozenset[int] = frozenset(),
) -> tuple[CompactPlan, CompactedConversation, str | None] | NothingToFold:
    planned = plan_compaction(messages, kept, COUNTER, brief_at=brief_at, extra_pins=extra)
    if isinstance(planned, NothingToFold):
        return planned
    brief = _brief(planned.brief_tokens) if planned.head else None
    return planned, compose_conversation(messages, planned, brief), brief


def check(messages: tuple[Message, ...], kept: CompactRules, extra: frozenset[int] = frozenset()) -> str:
    """Folds, checks every promise without the code that made it, and tells what was done."""
    found = folded(messages, kept, extra=extra)
    if isinstance(found, NothingToFold):
        assert found.reason.endswith(".")
        return "nothing"
    planned, after, brief = found
    proved = prove(messages, after, planned, kept, COUNTER, brief)
    assert isinstance(proved, Proved), proved
    # 1: every call has its result.
    assert find_unpaired(after.messages) == []
    # 2 and 3: it fits or nothing more can go, and a tenth was freed, of what can be folded where it did not fit.
    before_tokens, after_tokens = size(messages, kept), size(after.messages, kept)
    assert (proved.before_tokens, proved.after_tokens) == (before_tokens, after_tokens)
    pinned = {*planned.pins, *(at for unit in find_units(messages) if {*unit} & {*planned.pins} for at in unit)}
    stays = size(tuple(messages[at] for at in sorted(pinned)), kept)
    too_large = kept.budget_tokens is not None and before_tokens > kept.budget_tokens
    if kept.budget_tokens is not None and after_tokens > kept.budget_tokens:
        assert planned.is_least and {at for at in after.origin if at is not None} <= pinned
        assert planned.brief_tokens <= 200
        outputs = [part for at in pinned for part in messages[at].parts if isinstance(part, ToolResult)]
        assert stays + 300 > kept.budget_tokens or outputs
    assert before_tokens - after_tokens >= 0.1 * (before_tokens - (stays if too_large else 0))
    # 4: pins are there and the same; so is all that was not folded but for outputs.
    places = [at for at in after.origin if at is not None]
    assert places == sorted(set(places))
    request = find_newest_request(messages)
    system = [at for at, one in enumerate(messages) if one.role is Role.SYSTEM]
    for at in {*system, *find_rules(messages), *extra}:
        assert at in places
        assert at == request or at not in planned.pruned
    assert request is None or request in places
    for said, origin in zip(after.messages, after.origin, strict=True):
        if origin is None:
            continue
        original = messages[origin]
        if origin not in planned.pruned:
            assert said is original
        else:
            assert original.role is not Role.SYSTEM and not set(name_rules(original)) - {ENVIRONMENT}
            other = [part for part in original.parts if not isinstance(part, ToolResult)]
            assert [part for part in said.parts if not isinstance(part, ToolResult)] == other
    # 5: the brief is within its cap and can be read back.
    if brief is not None:
        assert after.brief_at is not None and after.origin[after.brief_at] is None
        assert COUNTER.tokens(brief) <= planned.brief_tokens <= kept.brief_tokens
        assert read_brief_text(after.messages[after.brief_at]) == brief
        assert sorted({*planned.kept, *planned.head}) == list(range(len(messages)))
    # And again: there is nothing to fold.
    again = folded(after.messages, kept, after.brief_at, frozenset(after.origin.index(at) for at in extra))
    assert isinstance(again, NothingToFold), again
    return "folded" if planned.head else "pruned"


@pytest.mark.random
@pytest.mark.parametrize("start", range(0, CONVERSATIONS, IN_ONE_TEST))
def test_the_five_proofs_hold_or_there_is_nothing_to_fold(start: int) -> None:
    tally = Tally(check(mend(conversation(seed)).messages, rules(seed)) for seed in range(start, start + IN_ONE_TEST))
    assert tally["folded"] > IN_ONE_TEST // 8, "the generator asks for folds"
    assert tally["pruned"] > 0


@pytest.mark.random
def test_a_conversation_that_is_too_large_is_refused_only_for_what_cannot_be_folded() -> None:
    for seed in range(cases(600)):
        messages = mend(conversation(seed)).messages
        kept = CompactRules(budget_tokens=8_000)
        found = plan_compaction(messages, kept, COUNTER)
        if isinstance(found, NothingToFold) and size(messages, kept) > 8_000:
            assert "alone take" in found.reason, (seed, found)


@pytest.mark.random
@pytest.mark.parametrize("seed", range(cases(60)))
def test_folding_over_and_over_comes_to_an_end(seed: int) -> None:
    """Under rules that change each time, as a stubborn caller might; the whole falls by a tenth each time."""
    messages = mend(conversation(seed)).messages
    brief_at: int | None = None
    kept = CompactRules(fold_at=0.0, tail_turns=0)
    sizes = [size(messages, kept)]
    most_steps = ceil(log(sizes[0]) / log(1 / 0.9)) + 1
    for step in range(most_steps + 1):
        kept = CompactRules(
            budget_tokens=max(600, sizes[-1] * 3 // 4), tail_turns=step % 3, fold_at=0.0, brief_tokens=400
        )
        found = folded(messages, kept, brief_at)
        if isinstance(found, NothingToFold):
            break
        messages, brief_at = found[1].messages, found[1].brief_at
        sizes.append(size(messages, kept))
        assert sizes[-1] <= 0.9 * sizes[-2]
    else:
        pytest.fail("there was always something to fold")


@pytest.mark.random
@pytest.mark.parametrize("seed", range(cases(40)))
def test_a_conversation_that_goes_on_never_outgrows_its_budget(seed: int) -> None:
    """Turn after turn is added and folded: neither the brief nor the whole grows."""
    kept = CompactRules(budget_tokens=12_000, brief_tokens=800)
    messages: tuple[Message, ...] = (Message(Role.SYSTEM, ()),)
    brief_at: int | None = None
    folds = 0
    for more in range(seed * 10, seed * 10 + 10):
        added = [
            one
            for one in conversation(more)
            if one.role is not Role.SYSTEM and not set(name_rules(one)) - {ENVIRONMENT}
        ]
        messages = mend([*messages, *added]).messages
        found = folded(messages, kept, brief_at)
        if isinstance(found, NothingToFold):
            assert size(messages, kept) <= 12_000
            continue
        folds += 1
        messages, brief_at = found[1].messages, found[1].brief_at
        assert size(messages, kept) <= 12_000
    assert folds
