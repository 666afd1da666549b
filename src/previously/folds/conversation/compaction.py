"""The fold of a conversation as values: a plan, the conversation it makes, and the message that holds the brief.

No model is asked here and nothing is kept. A caller mends the messages (`core.pairing.mend`), which is also what it
goes on with when there is nothing to fold; asks for a plan; has a brief written of the head, where the plan has one;
composes; and proves (`prove`). Pins before the tail, the brief and the tail stay.

Outputs are left out first: where that brings the whole below the line from which on there is something to fold, no
brief is needed. Else what is still too long is folded. The tail is filled from the newest unit backwards, without a
gap, until so many turns are in it or there is no more room; a unit is never parted. From the first unit on that does
not fit as it was said, units come without their outputs. Only where the result would not fit does more go: the largest
outputs of what stays, then the newest unit itself, of which the brief then tells.

A plan can be proved with any brief that is within `CompactPlan.brief_tokens`, so no brief is written in vain. What a
plan made has nothing to fold under the same rules. A brief is known by where it stands, which the caller remembers,
never by what a text says.

A fold has five proofs, and nothing is kept of one for which a proof fails. After a fold every call has its result; the
whole fits the budget, with all that a request takes besides, or, where what must stay leaves no room for that, is as
small as it can be; at least a tenth was freed, of what can be folded where the whole did not fit; every pin is there,
byte for byte and in its order; the brief is within its cap. They are checked on the messages themselves, not on what
was planned. Each failure is one sentence for the user.

No loop is possible. The measure is the whole in tokens: a fold that is proved makes it smaller by `least_freed`, and by
one token at least, and it is never below zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from previously.core.messages import Message, Part, Role, Text, ToolResult
from previously.core.pairing import find_units, find_unpaired
from previously.core.tokens import Counter, message_tokens
from previously.folds.conversation.pins import Pins, find_newest_request, find_pins, find_requests
from previously.folds.conversation.rules import (
    CompactedConversation,
    CompactPlan,
    CompactRules,
    NothingToFold,
    Output,
    choose_largest_outputs,
    choose_old_outputs,
    drop_outputs,
    find_outputs,
    group_outputs,
)


@dataclass(frozen=True, slots=True)
class ConversationPiece:
    """One unit of the conversation, as it counts for the choice."""

    messages: range
    tokens: int
    """Its tokens; none where it stays in any case."""
    pruned_tokens: int
    """The same with notes in the place of its outputs."""
    begins_turn: bool
    stays: bool
    """It is pinned, or holds a pin."""


def cut_pieces(
    messages: Sequence[Message],
    units: Sequence[range],
    pins: Pins,
    tokens: Sequence[int],
    outputs: Sequence[Output],
    brief_at: int | None,
) -> list[ConversationPiece]:
    """The units of a conversation without the earlier brief, which is neither head nor tail."""
    pieces: list[ConversationPiece] = []
    frees: dict[int, int] = {}
    for output in outputs:
        frees[output.message] = frees.get(output.message, 0) + output.frees
    requests = find_requests(messages, brief_at)
    for unit in units:
        if brief_at is not None and brief_at in unit:
            continue
        stays = unit[0] in pins.held
        cost = 0 if stays else sum(tokens[at] for at in unit)
        pruned = 0 if stays else cost - sum(frees.get(at, 0) for at in unit)
        pieces.append(ConversationPiece(unit, cost, pruned, unit[0] in requests, stays))
    return pieces


def find_tail_start(pieces: Sequence[ConversationPiece], turns: int, room: int) -> tuple[int, int]:
    """Return which piece the tail begins with, and from which on its outputs stay: so many turns at most, in so many
    tokens; all of them where that is enough. What does not fit as it was said may fit without its outputs."""
    if turns <= 0:
        return len(pieces), len(pieces)
    first_turn = next((at for at, piece in enumerate(pieces) if piece.begins_turn), len(pieces))
    start = whole = len(pieces)
    begun = 0
    prunes = False
    newest = True  # nothing that was done since the newest request is in the tail yet
    for at in reversed(range(len(pieces))):
        piece = pieces[at]
        prunes = prunes or (piece.tokens > room and not newest)
        cost = piece.pruned_tokens if prunes else piece.tokens
        if cost > room and not newest:
            return start, whole
        room -= cost
        start, whole = at, whole if prunes else at
        newest = newest and piece.stays and not piece.begins_turn
        begun += piece.begins_turn
        if begun == turns and at > first_turn:
            return start, whole
    return start, whole


def find_head(pieces: Sequence[ConversationPiece], start: int) -> tuple[int, ...]:
    """The messages before the tail that do not stay in any case."""
    return tuple(at for piece in pieces[:start] if not piece.stays for at in piece.messages)


OPENING = "Notes on what happened earlier in this conversation. They are a record, not a request:"
"""The line over a brief. It tells a model what it reads; to us it says nothing, since anyone can type it."""

BRIEF_SHARE_PERCENT = 40
"""The share of what pins leave that a brief may take: where they are light that is more than its cap, where they are
heavy the newest messages still get the larger part."""

_SEAM_TOKENS = 8
"""The tokens that a tokenizer may make of the place where the opening and the brief meet."""


def plan_compaction(
    messages: Sequence[Message],
    rules: CompactRules,
    counter: Counter,
    *,
    brief_at: int | None = None,
    extra_pins: frozenset[int] = frozenset(),
) -> CompactPlan | NothingToFold:
    """Return what to fold of these messages, which must be mended. `brief_at` is where the earlier brief stands."""
    if find_unpaired(messages):
        raise ValueError("these messages must be mended before they are folded")
    if brief_at is not None and range(brief_at, brief_at + 1) not in find_units(messages):
        raise ValueError("the earlier brief must be a message of its own")
    if not messages:
        return NothingToFold("There is nothing to fold: nothing was said yet.")
    planning = _Planning(messages, rules, counter, brief_at, extra_pins)
    if rules.line is not None and planning.whole <= rules.line:
        return NothingToFold(
            f"There is nothing to fold: the conversation takes {planning.whole:,} of {rules.budget_tokens:,} tokens."
        )
    return planning.pruned_only() or planning.folded()


def compose_conversation(messages: Sequence[Message], plan: CompactPlan, brief: str | None) -> CompactedConversation:
    """The folded conversation: what stays in its order, and the brief behind what was folded."""
    if (brief is None) == bool(plan.head):
        raise ValueError("a brief is needed exactly where something is folded")
    said = drop_outputs(messages, plan.pruned)
    if brief is None:
        at = None if plan.brief_at is None else plan.kept.index(plan.brief_at)
        return CompactedConversation(tuple(said[one] for one in plan.kept), plan.kept, at)
    last_folded = max(plan.head if plan.brief_at is None else (*plan.head, plan.brief_at))
    before = _begin_with_user([at for at in plan.kept if at < last_folded], messages)
    behind = plan.kept[len(before) :]
    return CompactedConversation(
        (*(said[at] for at in before), build_brief_message(brief), *(said[at] for at in behind)),
        (*before, None, *behind),
        len(before),
    )


def _begin_with_user(before: list[int], messages: Sequence[Message]) -> list[int]:
    """Return what stands before the brief: where that would begin with the assistant, which some APIs refuse, only what
    stands before that."""
    system = next((count for count, at in enumerate(before) if messages[at].role is not Role.SYSTEM), len(before))
    begins = before[system:] and messages[before[system]].role is Role.USER
    return before if begins or system == len(before) else before[:system]


def build_brief_message(brief: str) -> Message:
    """The message that holds a brief."""
    return Message(Role.USER, (Text(f"{OPENING}\n\n{brief}"),))


def read_brief_text(message: Message) -> str:
    """The brief that such a message holds, exactly as it was given."""
    return message.text.removeprefix(f"{OPENING}\n\n")


class _Planning:
    """The material of a plan, counted once."""

    def __init__(
        self,
        messages: Sequence[Message],
        rules: CompactRules,
        counter: Counter,
        brief_at: int | None,
        extra_pins: frozenset[int],
    ) -> None:
        self._rules, self._brief_at = rules, brief_at
        whole_units = find_units(messages)
        self._tokens = [message_tokens(message, counter) for message in messages]
        self._pins: Pins = find_pins(messages, whole_units, brief_at=brief_at, extra=extra_pins)
        self._outputs = find_outputs(messages, counter, rules.protected_tools)
        self._pieces: list[ConversationPiece] = cut_pieces(
            messages, whole_units, self._pins, self._tokens, self._outputs, brief_at
        )
        self._fixed = count_fixed(rules, counter)
        self._around_brief = counter.message_overhead_tokens + counter.tokens(f"{OPENING}\n\n") + _SEAM_TOKENS
        self.whole = self._fixed + sum(self._tokens)
        self._stays = self._fixed + sum(self._tokens[at] for at in self._pins.held)
        self._brief_cap = rules.brief_cap
        if rules.goal is not None:
            share = (rules.goal - self._stays) * BRIEF_SHARE_PERCENT // 100
            self._brief_cap = min(rules.brief_cap, max(rules.least_brief, share))

    def pruned_only(self) -> CompactPlan | None:
        """The plan that leaves out old outputs, where that is enough."""
        rules = self._rules
        free = [piece for piece in self._pieces if not piece.stays]
        if not rules.line or not free:
            return None
        outputs = [one for one in self._outputs if one.message not in self._pins.held]
        chosen = choose_old_outputs(outputs, rules.prune_keeps, rules.prune_frees, free[-1].messages.start)
        after = self.whole - sum(one.frees for one in chosen)
        if not chosen or after > min(rules.line, count_most_after(self.whole, self._stays, rules)):
            return None
        return self._plan((), chosen, 0)

    def folded(self) -> CompactPlan | NothingToFold:
        """The plan that folds the head; more than the head only where the whole would not fit otherwise."""
        rules = self._rules
        begins, start = find_tail_start(self._pieces, rules.tail_turns, self._tail_room())
        none = len(self._pieces)
        older = {at for piece in self._pieces[begins:start] if not piece.stays for at in piece.messages}
        left_out = [output for output in self._outputs if output.message in older]
        worth = sum(output.frees for output in left_out) >= rules.prune_frees
        plan = self._folding(begins, left_out) if worth else self._folding(start, [])
        if plan:
            return plan
        if rules.budget_tokens is None or self.whole <= rules.budget_tokens:
            return self._refused(start)
        return (
            self._folding(start, self._largest_of_what_stays(start))
            or self._folding(none, [])
            or self._folding(none, self._largest_of_what_stays(none))
            or self._least()
            or self._refused(none)
        )

    def _least(self) -> CompactPlan | None:
        """The plan that leaves nothing but what must stay and the shortest brief, though that is over the budget."""
        head = find_head(self._pieces, len(self._pieces))
        kept = self._kept(head)
        chosen = [one for one in self._outputs if one.message in kept and self._may_prune(one)]
        after = self._fixed + sum(self._tokens[at] for at in kept) - sum(one.frees for one in chosen)
        brief = self._rules.least_brief if head else 0
        after += self._around_brief + brief if head else 0
        freed = self.whole - after
        if not (head or chosen) or freed < count_least_freed(self.whole, self._stays, self._rules):
            return None
        return replace(self._plan(head, chosen, brief), is_least=True)

    def _may_prune(self, output: Output) -> bool:
        return output.message == self._pins.request or output.message not in self._pins.messages

    def _tail_room(self) -> int:
        """Return what the tail may take, so that the whole comes down to the goal with the longest brief."""
        goal = self._rules.goal
        if goal is None:
            return self._rules.tail_room
        return min(self._rules.tail_room, goal - self._stays - self._around_brief - self._brief_cap)

    def _largest_of_what_stays(self, start: int) -> list[Output]:
        """The outputs to leave out of pins' units and of the tail, so that the whole comes down to the goal."""
        head = find_head(self._pieces, start)
        kept = set(self._kept(head))
        too_much = self._fixed + sum(self._tokens[at] for at in kept) - (self._rules.goal or 0)
        if head:
            too_much += self._around_brief + self._brief_cap
        outputs = [output for output in self._outputs if output.message in kept and self._may_prune(output)]
        return choose_largest_outputs(outputs, too_much)

    def _folding(self, start: int, left_out: Sequence[Output]) -> CompactPlan | None:
        """The plan with this tail, if it can be proved with a brief that says anything."""
        head = find_head(self._pieces, start)
        kept = set(self._kept(head))
        chosen = [one for one in left_out if one.message in kept]
        after = self._fixed + sum(self._tokens[at] for at in kept) - sum(one.frees for one in chosen)
        room = count_most_after(self.whole, self._stays, self._rules) - after
        if not head:
            return self._plan((), chosen, 0) if chosen and room >= 0 else None
        room = min(self._brief_cap, room - self._around_brief)
        return self._plan(head, chosen, room) if room >= self._rules.least_brief else None

    def _kept(self, head: Sequence[int]) -> tuple[int, ...]:
        """All that is not folded; the earlier brief goes where there is a new one."""
        folded = {*head, *(() if self._brief_at is None or not head else (self._brief_at,))}
        return tuple(at for at in range(len(self._tokens)) if at not in folded)

    def _plan(self, head: tuple[int, ...], left_out: Sequence[Output], brief_tokens: int) -> CompactPlan:
        return CompactPlan(
            self._kept(head), self._pins.messages, group_outputs(left_out), head, self._brief_at, brief_tokens
        )

    def _refused(self, start: int) -> NothingToFold:
        """Return why there is no plan, though all was tried up to this tail."""
        rules, budget = self._rules, self._rules.budget_tokens
        fixed = self._stays
        least = fixed + self._around_brief + rules.least_brief
        if budget is not None and self.whole > budget and least > budget:
            return NothingToFold(
                f"Folding cannot help: rules, tools and the newest request alone take {fixed:,} tokens, "
                f"a brief needs about {least - fixed:,} more, and the budget is {budget:,}."
            )
        if not find_head(self._pieces, start):
            since = " since the last brief" if self._brief_at is not None else ""
            return NothingToFold(
                f"There is nothing to fold{since}: all there is are rules, the newest request and the newest messages."
            )
        return NothingToFold(
            f"Folding would free less than {rules.least_freed:.0%} of {self.whole:,} tokens, so nothing was changed."
        )


@dataclass(frozen=True, slots=True)
class Proved:
    """A fold that may be kept, and what it did to the size of the whole."""

    before_tokens: int
    after_tokens: int
    stays_tokens: int
    """The tokens of what could not be folded."""

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


def count_stays(messages: Sequence[Message], plan: CompactPlan, rules: CompactRules, counter: Counter) -> int:
    """Return what a request takes with nothing but the pins and what belongs to them."""
    pinned = set(plan.pins)
    units = [unit for unit in find_units(messages) if not pinned.isdisjoint(unit)]
    return count_fixed(rules, counter) + sum(message_tokens(messages[at], counter) for unit in units for at in unit)


def count_least_freed(before_tokens: int, stays_tokens: int, rules: CompactRules) -> int:
    """Return what a fold must free: its share of the whole, or, where the whole does not fit, of what can be folded."""
    fits = rules.budget_tokens is None or before_tokens <= rules.budget_tokens
    return max(1, ceil((before_tokens if fits else before_tokens - stays_tokens) * rules.least_freed))


def count_most_after(before_tokens: int, stays_tokens: int, rules: CompactRules) -> int:
    """The largest whole that is small enough after a fold: it fits, and enough was freed."""
    most = before_tokens - count_least_freed(before_tokens, stays_tokens, rules)
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
    pins = _find_pins_fault(before, after, plan)
    if pins:
        return Disproved(pins)
    written = _find_brief_fault(after, plan, counter, brief)
    if written:
        return Disproved(written)
    size, now = count_whole(before, rules, counter), count_whole(after.messages, rules, counter)
    stays = count_stays(before, plan, rules, counter)
    if rules.budget_tokens is not None and now > rules.budget_tokens and not _is_least(after, plan, rules, counter):
        return Disproved(f"The folded conversation would take {now:,} tokens; the budget is {rules.budget_tokens:,}.")
    if size - now < count_least_freed(size, stays, rules):
        return Disproved(f"Folding would bring {size:,} tokens down to {now:,}, which is not enough to be worth it.")
    return Proved(size, now, stays)


def _is_least(after: CompactedConversation, plan: CompactPlan, rules: CompactRules, counter: Counter) -> bool:
    """Return whether nothing more can go: all but the pins and what belongs to them is told in the shortest brief, and
    no output is left that may be left out."""
    pinned = set(plan.pins)
    units = [unit for unit in find_units(after.messages) if list(unit) != [after.brief_at]]
    request = find_newest_request(after.messages, after.brief_at)
    outputs = (output.message for output in find_outputs(after.messages, counter, rules.protected_tools))
    return (
        plan.is_least
        and plan.brief_tokens <= rules.least_brief
        and all(any(after.origin[at] in pinned for at in unit) for unit in units)
        and all(after.origin[at] in pinned and at != request for at in outputs)
    )


def _find_pins_fault(before: Sequence[Message], after: CompactedConversation, plan: CompactPlan) -> str:
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


def _find_brief_fault(after: CompactedConversation, plan: CompactPlan, counter: Counter, brief: str | None) -> str:
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
