"""The five proofs of a fold. Nothing is kept of a fold for which one of them fails.

After a fold every call has its result; the whole fits the budget, with all that a request takes besides; at least a
tenth was freed; every pin is there, byte for byte and in its order; the brief is within its cap. They are checked on
the messages themselves, not on what was planned. Each failure is one sentence for the user.

No loop is possible. The measure is the whole in tokens: a fold that is proved makes it smaller by `least_freed`, and by
one token at least, and it is never below zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from previously.core.messages import Message, Part, ToolResult
from previously.core.pairing import find_unpaired
from previously.core.tokens import Counter, message_tokens
from previously.folds.conversation.outputs import drop_outputs
from previously.folds.conversation.pins import find_newest_request
from previously.folds.conversation.rules import CompactedConversation, CompactPlan, CompactRules


@dataclass(frozen=True, slots=True)
class Proved:
    """A fold that may be kept, and what it did to the size of the whole."""

    before_tokens: int
    after_tokens: int

    @property
    def freed(self) -> float:
        """The share of the whole that was freed."""
        return 1 - self.after_tokens / self.before_tokens if self.before_tokens else 0.0


@dataclass(frozen=True, slots=True)
class Disproved:
    """A fold that may not be kept, and why in one sentence."""

    reason: str


def count_whole(messages: Sequence[Message], rules: CompactRules, counter: Counter) -> int:
    """Return what a request with these messages takes."""
    return count_fixed(rules, counter) + sum(message_tokens(message, counter) for message in messages)


def count_fixed(rules: CompactRules, counter: Counter) -> int:
    """Return what a request takes without any message."""
    return rules.overhead_tokens + counter.request_overhead_tokens


def count_most_after(before_tokens: int, rules: CompactRules) -> int:
    """The largest whole that is small enough after a fold: it fits, and enough was freed."""
    most = before_tokens - max(1, ceil(before_tokens * rules.least_freed))
    return most if rules.budget_tokens is None else min(most, rules.budget_tokens)


def prove(
    before: Sequence[Message],
    after: CompactedConversation,
    plan: CompactPlan,
    rules: CompactRules,
    counter: Counter,
    brief: str | None,
) -> Proved | Disproved:
    """Return whether the fold may be kept: the five proofs, the first that fails gives its reason."""
    faults = find_unpaired(after.messages)
    if faults:
        return Disproved(f"A call would be parted from its result: {faults[0]}")
    pins = _pins_fault(before, after, plan)
    if pins:
        return Disproved(pins)
    written = _brief_fault(after, plan, counter, brief)
    if written:
        return Disproved(written)
    size, now = count_whole(before, rules, counter), count_whole(after.messages, rules, counter)
    if rules.budget_tokens is not None and now > rules.budget_tokens:
        return Disproved(f"The folded conversation would take {now:,} tokens; the budget is {rules.budget_tokens:,}.")
    if now > count_most_after(size, rules):
        return Disproved(f"Folding would bring {size:,} tokens down to {now:,}, which is not enough to be worth it.")
    return Proved(size, now)


def _pins_fault(before: Sequence[Message], after: CompactedConversation, plan: CompactPlan) -> str:
    if len(after.origin) != len(after.messages):
        return "The folded conversation does not say where its messages come from."
    places = [at for at in after.origin if at is not None]
    if places != sorted(set(places)) or places != list(plan.kept):
        return "Messages that should stay are missing, doubled or out of order."
    pinned = set(plan.pins)
    if not pinned.issubset(places):
        return "A rule or the newest request would be lost."
    request = find_newest_request(before, plan.brief_at)
    expected = drop_outputs(before, plan.pruned)
    for said, at in zip(after.messages, after.origin, strict=True):
        if at is None:
            continue
        # Results that came with the request may be left out where all would be too large; its words never are.
        same = _words(said) == _words(before[at]) if at == request else said == before[at]
        if at in pinned and not same:
            return "A rule or the newest request would be changed."
        if said != expected[at]:
            return "A message that should stay as it was said would be changed."
    return ""


def _words(message: Message) -> tuple[object, ...]:
    """All of a message but what tools gave."""
    parts: list[Part] = [part for part in message.parts if not isinstance(part, ToolResult)]
    return (message.role, message.speaker, message.witnesses, *parts)


def _brief_fault(after: CompactedConversation, plan: CompactPlan, counter: Counter, brief: str | None) -> str:
    made = [at for at, origin in enumerate(after.origin) if origin is None]
    if not plan.head:
        return "A brief was written though nothing was folded." if made or brief is not None else ""
    if brief is None or not brief.strip():
        return "What was folded has no brief."
    if made != [after.brief_at] or brief not in after.messages[made[0]].text:
        return "The brief does not stand where it should."
    tokens = counter.tokens(brief)
    if tokens > plan.brief_tokens:
        return f"The brief takes {tokens:,} tokens, but there is room for {plan.brief_tokens:,}."
    return ""
