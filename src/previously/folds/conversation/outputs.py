"""Pruning: what is left out of messages that stay, before any model is asked for a brief.

Old tool outputs are mostly weight: a file that was read long ago has been changed since. Each is replaced by a note
that names the tool and the size, the newest excepted. It does not matter how many turns there are, so a run of one turn
is pruned like any other. A choice is a value, message and call ids: the messages themselves are never changed, and what
was left out can be put back.

A call keeps its result, of which only the text is replaced. What a protected tool gave is never left out. Pruning what
is pruned changes nothing, since a note is not worth replacing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from previously.core.messages import Message, ToolResult
from previously.core.pairing import find_answered_calls, render_left_out, replace_outputs
from previously.core.tokens import Counter
from previously.folds.conversation.rules import Pruned

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


def find_outputs(
    messages: Sequence[Message], counter: Counter, protected: Collection[str] = frozenset()
) -> list[Output]:
    """Every tool output that is worth leaving out, oldest first; those of protected tools are not."""
    names = {place: call.name for place, call in find_answered_calls(messages).items()}
    kept_tools = {name.casefold() for name in protected}
    found: list[Output] = []
    for at, message in enumerate(messages):
        by_id: dict[str, list[tuple[str, ToolResult]]] = {}
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                by_id.setdefault(part.id, []).append((names.get((at, place), ""), part))
        for call_id, given in by_id.items():
            tokens = sum(counter.tokens(result.text) for _, result in given)
            if tokens < LEAST_WORTH_TOKENS or any(name.casefold() in kept_tools for name, _ in given):
                continue
            frees = tokens - sum(counter.tokens(render_left_out(name, result)) for name, result in given)
            if frees >= LEAST_WORTH_TOKENS:
                found.append(Output(at, call_id, tokens, frees))
    return found


def choose_old_outputs(
    outputs: Sequence[Output], keep_tokens: int, least_tokens: int, newest_from: int
) -> list[Output]:
    """The outputs older than the newest so many tokens; none where that frees too little. Messages from `newest_from`
    on are the newest unit, which is left alone."""
    seen = 0
    chosen: list[Output] = []
    for output in reversed(outputs):
        seen += output.tokens
        if seen > keep_tokens and output.message < newest_from:
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
    """The choice as a value."""
    found: dict[int, tuple[str, ...]] = {}
    for output in sorted(outputs, key=lambda one: one.message):
        found[output.message] = (*found.get(output.message, ()), output.call_id)
    return found


def drop_outputs(messages: Sequence[Message], pruned: Pruned) -> list[Message]:
    """The messages with a note in the place of each output that is left out; all others are the same objects."""
    if not pruned:
        return list(messages)
    names = {place: call.name for place, call in find_answered_calls(messages).items()}
    return [
        replace_outputs(
            message,
            {
                place: render_left_out(names.get((at, place), ""), part)
                for place, part in enumerate(message.parts)
                if isinstance(part, ToolResult) and part.id in pruned.get(at, ())
            },
        )
        for at, message in enumerate(messages)
    ]
