"""The rules of folding a conversation, the plan they lead to, and the tool outputs it leaves out, as values.

Rules that cannot be kept are refused here, with one sentence. Every number that is not given follows from the budget,
so that a small window is not folded by the numbers of a large one. Places in a plan are those of the messages it was
made for, and nothing holds a copy of a text, so that what was folded or left out can always be put back.

Before any model is asked for a brief, outputs are left out of messages that stay: old ones are mostly weight: a file
that was read long ago has been changed since. Each is replaced by a note that names the tool and the size, the newest
excepted. It does not matter how many turns there are, so a run of one turn is pruned like any other. A choice is a
value, message and call ids: the messages themselves are never changed, and what was left out can be put back.

A call keeps its result, of which only the text is replaced. What a protected tool gave is never left out. Pruning what
is pruned changes nothing, since a note is not worth replacing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from previously.core.errors import BadInput
from previously.core.messages import Message, ToolCall, ToolResult
from previously.core.pairing import find_answered_calls, find_repeated_reads, render_left_out, replace_outputs
from previously.core.tokens import Counter

TAIL_PERCENT, LEAST_TAIL_TOKENS, MOST_TAIL_TOKENS = 25, 2_000, 15_000
KEEP_PERCENT, MOST_KEPT_TOKENS = 40, 40_000
WORTH_PERCENT, MOST_WORTH_TOKENS = 10, 20_000
BRIEF_PERCENT, MOST_BRIEF_TOKENS = 30, 4_000

OUTPUT_CHARACTERS = 2_000
"""The characters of a tool's output that a writer is shown: beginning and end of a log say what it was and how it
went."""

LEAST_BRIEF_TOKENS = 200
"""The tokens of a brief that says little: its headings and a line or two."""


@dataclass(frozen=True, slots=True)
class CompactRules:
    """The rules of a compaction. Percentages of the budget hold where a number is not given."""

    budget_tokens: int | None = None
    """The tokens of the whole afterwards; None = as many as it comes out."""
    overhead_tokens: int = 0
    """The tokens of every request besides its messages: the schemas of tools, a system prompt kept elsewhere."""
    tail_turns: int = 2
    """The number of the newest turns that may stay as they were said; zero or less folds all."""
    tail_tokens: int | None = None
    """The tokens of them that may stay: a quarter of the budget, 2,000 to 15,000."""
    brief_tokens: int = MOST_BRIEF_TOKENS
    """The most a brief may take; less where the budget is small."""
    prune_keep_tokens: int | None = None
    """The tokens of the newest tool output that are never left out: 40 % of the budget, 40,000 at most."""
    prune_least_tokens: int | None = None
    """The tokens that must be gained before any output is left out: 10 % of the budget, 20,000 at most."""
    protected_tools: frozenset[str] = frozenset({"skill"})
    """Tools whose output is never left out, whatever the case of their name."""
    least_freed: float = 0.10
    """The share of the whole that a fold must free."""
    fold_at: float = 0.85
    """The share of the budget from which on there is something to fold; zero folds whatever the size."""
    output_characters: int = OUTPUT_CHARACTERS
    """The characters of one tool output that the writer of the brief is shown."""

    def __post_init__(self) -> None:
        if self.budget_tokens is not None and self.budget_tokens <= 0:
            raise BadInput(f"A budget must be at least one token, not {self.budget_tokens}.")
        if self.overhead_tokens < 0 or self.output_characters < 0:
            raise BadInput("Tokens besides the messages and characters of an output cannot be less than nothing.")
        if self.brief_tokens <= 0:
            raise BadInput(f"A brief must be allowed at least one token, not {self.brief_tokens}.")
        if not 0 <= self.least_freed < 1 or not 0 <= self.fold_at <= 1:
            raise BadInput("The share to be freed is from 0 to less than 1, the share to fold at from 0 to 1.")

    @property
    def tail_room(self) -> int:
        """The most tokens that stay as they were said."""
        return self._share(self.tail_tokens, TAIL_PERCENT, MOST_TAIL_TOKENS, LEAST_TAIL_TOKENS)

    @property
    def prune_keeps(self) -> int:
        """The tokens of the newest tool output that pruning leaves alone: all that could stay in a tail among them, so
        that what was folded is not pruned right afterwards."""
        return max(self.tail_room, self._share(self.prune_keep_tokens, KEEP_PERCENT, MOST_KEPT_TOKENS))

    @property
    def prune_frees(self) -> int:
        """The tokens that pruning must free to be worth it."""
        given = self.prune_least_tokens
        return self._share(None, WORTH_PERCENT, MOST_WORTH_TOKENS) if given is None else given

    @property
    def brief_cap(self) -> int:
        """The most tokens that a brief may have."""
        least = min(LEAST_BRIEF_TOKENS, self.brief_tokens)
        return (
            self.brief_tokens
            if self.budget_tokens is None
            else max(least, min(self.brief_tokens, self._percent(BRIEF_PERCENT)))
        )

    @property
    def least_brief(self) -> int:
        """The room below which no brief is asked for."""
        return min(LEAST_BRIEF_TOKENS, self.brief_cap)

    @property
    def line(self) -> int | None:
        """Return up to which size there is nothing to fold; None = there is no budget."""
        return None if self.budget_tokens is None else int(self.budget_tokens * self.fold_at)

    @property
    def goal(self) -> int | None:
        """Return what a fold tries to come down to, so that there is room to go on."""
        if self.budget_tokens is None:
            return None
        return min(self.line or self.budget_tokens, int(self.budget_tokens * (1 - self.least_freed)))

    def _percent(self, percent: int) -> int:
        return (self.budget_tokens or 0) * percent // 100

    def _share(self, given: int | None, percent: int, most: int, least: int = 0) -> int:
        if given is not None:
            return max(0, given if self.budget_tokens is None else min(given, self.budget_tokens))
        if self.budget_tokens is None:
            return most
        return min(self.budget_tokens, most, max(least, self._percent(percent)))


Pruned = Mapping[int, tuple[str, ...]]
"""For each message the ids of the calls whose output is left out."""


@dataclass(frozen=True, slots=True)
class CompactPlan:
    """A plan of a fold, by the places of the messages in the conversation."""

    kept: tuple[int, ...]
    """The messages that stay, in order, pins among them."""
    pins: tuple[int, ...]
    """The messages that stay byte for byte."""
    pruned: Pruned
    """The outputs of what stays that are left out."""
    head: tuple[int, ...]
    """The messages that the brief tells of; empty = leaving out outputs is enough, and no brief is needed."""
    brief_at: int | None
    """The place of the earlier brief."""
    brief_tokens: int
    """The most that the new brief may take for the proofs to hold."""
    is_least: bool = False
    """Nothing is left but what must stay and the shortest brief, since that alone fills the budget."""


@dataclass(frozen=True, slots=True)
class CompactedConversation:
    """A folded conversation."""

    messages: tuple[Message, ...]
    origin: tuple[int | None, ...]
    """The earlier place of each message; None = the new brief."""
    brief_at: int | None
    """The place of the brief now: the next fold is told it."""


@dataclass(frozen=True, slots=True)
class NothingToFold:
    """The reason why the conversation stays as it is, in one sentence."""

    reason: str


LEAST_WORTH_TOKENS = 50
"""The tokens an output must free to be left out: no note is written for a few words."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of the calls of one id in one message."""

    message: int
    call_id: str
    tokens: int
    frees: int
    """The tokens that leaving it out frees."""
    repeated: bool = False
    """True if it shows lines of a file that a later output shows again."""


def find_outputs(
    messages: Sequence[Message], counter: Counter, protected: Collection[str] = frozenset()
) -> list[Output]:
    """Every tool output that is worth leaving out, oldest first; those of protected tools are not."""
    calls = find_answered_calls(messages)
    repeated = find_repeated_reads(messages)
    kept_tools = {name.casefold() for name in protected}
    outputs: list[Output] = []
    for at, message in enumerate(messages):
        by_id: dict[str, list[tuple[ToolCall | None, ToolResult]]] = {}
        again: set[str] = set()
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                by_id.setdefault(part.id, []).append((calls.get((at, place)), part))
                again |= {part.id} if (at, place) in repeated else set()
        for call_id, given in by_id.items():
            tokens = sum(counter.tokens(result.text) for _, result in given)
            if tokens < LEAST_WORTH_TOKENS or any(call and call.name.casefold() in kept_tools for call, _ in given):
                continue
            frees = tokens - sum(counter.tokens(render_left_out(call, result)) for call, result in given)
            if frees >= LEAST_WORTH_TOKENS:
                outputs.append(Output(at, call_id, tokens, frees, repeated=call_id in again))
    return outputs


def choose_old_outputs(
    outputs: Sequence[Output], keep_tokens: int, least_tokens: int, newest_from: int
) -> list[Output]:
    """The outputs older than the newest so many tokens, and those that a later one shows again; none where that frees
    too little. Messages from `newest_from` on are the newest unit, which is left alone."""
    seen = 0
    chosen: list[Output] = []
    for output in reversed(outputs):
        goes_first = output.repeated and output.message < newest_from
        seen += 0 if goes_first else output.tokens
        if goes_first or (seen > keep_tokens and output.message < newest_from):
            chosen.append(output)
    return chosen[::-1] if chosen and sum(one.frees for one in chosen) >= least_tokens else []


def choose_largest_outputs(outputs: Sequence[Output], too_much: int) -> list[Output]:
    """The fewest outputs that free so many tokens, or all of them where that is not enough."""
    chosen: list[Output] = []
    for output in sorted(outputs, key=lambda one: (-one.frees, one.message)):
        if too_much <= 0:
            break
        chosen.append(output)
        too_much -= output.frees
    return chosen


def group_outputs(outputs: Sequence[Output]) -> dict[int, tuple[str, ...]]:
    """Return the outputs that are dropped, by message: the ids of their calls."""
    groups: dict[int, tuple[str, ...]] = {}
    for output in sorted(outputs, key=lambda one: one.message):
        groups[output.message] = (*groups.get(output.message, ()), output.call_id)
    return groups


def drop_outputs(messages: Sequence[Message], pruned: Pruned) -> list[Message]:
    """The messages with a note in the place of each output that is left out; all others are the same objects."""
    if not pruned:
        return list(messages)
    calls, repeated = find_answered_calls(messages), find_repeated_reads(messages)
    return [
        replace_outputs(
            message,
            {
                place: render_left_out(calls.get((at, place)), part, repeated=(at, place) in repeated)
                for place, part in enumerate(message.parts)
                if isinstance(part, ToolResult) and part.id in pruned.get(at, ())
            },
        )
        for at, message in enumerate(messages)
    ]
