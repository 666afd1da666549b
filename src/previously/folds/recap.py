"""The recap: the rolling summary of the current chapter, link after link.

Each link reads the text before it and a delta, never the history, so the cost of a fold follows the delta. The tail is
never folded, not even in a short story. A delta is worth at least twice the recap it is folded into (unless there is no
room left for it), so that all folds together read at most one and a half times the story. What is not due yet is a
value with a reason.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from previously.core.count_nouns import count_nouns
from previously.core.fold_rules import FoldRules, RecapRules
from previously.core.messages import Message, ToolCall
from previously.core.pairing import find_units
from previously.core.path import OnPath, Span, find_opening
from previously.core.scripts import count_words
from previously.core.tokens import message_tokens
from previously.core.versions import LiveVersion
from previously.folds.boundary import LAST_QUARTER, is_scene_end
from previously.folds.brief import MOST_TOKENS, BriefFold
from previously.folds.builtin.quotes import renumber_live
from previously.folds.prompts.templates import render_message

AGAIN = "made anew"

WORTH_IT = 2
"""A fold of our own accord takes in at least twice the words of the recap, so that all folds together read at most one
and a half times the story."""


@dataclass(frozen=True, slots=True)
class Due:
    """These messages are to be folded now."""

    delta: tuple[OnPath, ...]
    reason: str

    @property
    def span(self) -> Span:
        return Span(self.delta[0].position, self.delta[-1].position)


@dataclass(frozen=True, slots=True)
class NotDue:
    """Nothing is to be folded, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class NeedMore:
    """It cannot be said yet: read on from this position."""

    position: int


def plan(
    recap_words: int,
    first: int,
    path_length: int,
    waiting: Sequence[OnPath],
    rules: RecapRules,
    *,
    pressure: bool = False,
    again_through: int = -1,
) -> Due | NotDue | NeedMore:
    """Return whether to fold, and what. `waiting` are messages from `first` on, in order, as many as have been read so
    far.

    `pressure` says that a view had to leave out one of them: then whatever waits outside the tail is due. So is all up
    to `again_through`, which provisional memory covers that is to be made anew."""
    end = path_length - rules.tail_messages
    if end <= 0:
        newest = f"the newest {rules.tail_messages:,} are" if rules.tail_messages != 1 else "the newest is"
        return NotDue(f"{count_nouns(path_length, 'message')}; {newest} never folded")
    if first >= end:
        newest = f"{rules.tail_messages:,} messages" if rules.tail_messages != 1 else "message"
        return NotDue(f"all but the newest {newest} are folded" if rules.tail_messages else "all messages are folded")
    words = tokens = 0
    outside = [item for item in waiting if item.position < end]
    parting = _find_seams(outside)
    for count, item in enumerate(outside, 1):
        words += count_words(render_message(item.entry.message))
        tokens += message_tokens(item.entry.message)
        if item.position == again_through:
            return Due(tuple(outside[:count]), AGAIN)
        worth_it = rules.chosen or words >= WORTH_IT * recap_words
        if worth_it and count in parting and (reason := _describe_due(count, words, tokens, rules)):
            if item.position < again_through:
                return Due(tuple(outside[:count]), AGAIN)
            end_at = count if rules.chosen else _find_scene_end(outside, count, parting)
            return Due(tuple(outside[:end_at]), reason)
    if first + len(outside) < end:
        return NeedMore(first + len(outside))
    if pressure:
        return Due(tuple(outside), "no room for it in the view")
    said = count_nouns(words, "word")
    if reached := _describe_due(len(outside), words, tokens, rules):
        wait = "waits" if reached.startswith("1 ") else "wait"
        return NotDue(
            f"{reached} {wait}, as many as fold_messages, fold_words or fold_tokens asks for, but {said} is less than "
            f"twice the recap of {recap_words}; set one of the three to fold them all the same"
        )
    there = f"{count_nouns(len(outside), 'message')} with {said} and {count_nouns(tokens, 'token')}"
    wait = "waits" if len(outside) == 1 else "wait"
    return NotDue(
        f"{there} {wait} for the next fold, which comes at {count_nouns(rules.due_messages, 'message')}, "
        f"{count_nouns(rules.due_words, 'word')} or {count_nouns(rules.due_tokens, 'token')}"
    )


def _find_scene_end(items: Sequence[OnPath], count: int, parting: Collection[int]) -> int:
    """Return after how many messages a fold of `count` should end: with a scene that ends in its last quarter, if the
    text shows one by a rule or a heading."""
    for end in range(count, int(LAST_QUARTER * count), -1):
        if end in parting and end < len(items) and is_scene_end(items[end - 1].entry.message, items[end].entry.message):
            return end
    return count


def _find_seams(items: Sequence[OnPath]) -> Collection[int]:
    """After how many of the messages a fold may end: no call is parted from its result."""
    messages = [item.entry.message for item in items]
    if not any(isinstance(part, ToolCall) for message in messages for part in message.parts):
        return range(len(messages) + 1)
    return {unit.stop for unit in find_units(messages)}


def _describe_due(messages: int, words: int, tokens: int, rules: RecapRules) -> str:
    if messages >= rules.due_messages:
        return count_nouns(messages, "message")
    if words >= rules.due_words:
        return count_nouns(words, "word")
    return count_nouns(tokens, "token") if tokens >= rules.due_tokens else ""


def skip_opening(items: Sequence[OnPath]) -> tuple[Message, ...]:
    """The messages, without the opening, which is no event."""
    opening = len(find_opening(items)) if items and items[0].position == 0 else 0
    return tuple(item.entry.message for item in items[opening:])


def find_first_position(items: Sequence[OnPath]) -> int:
    """The position of the first of them that `skip_opening` keeps."""
    return items[0].position + len(items) - len(skip_opening(items)) if items else 0


BRIEF_TOKENS_PER_WORD = 1.5
"""A brief is full of paths and names, which take more than words do."""


def plan_brief(live: LiveVersion | None, due: Due, rules: FoldRules, *, again: bool = False) -> BriefFold:
    """Return what to ask for this delta of an agent's conversation; `again` where something provisional stands in its
    place."""
    most = int(rules.recap.target_words * BRIEF_TOKENS_PER_WORD) or MOST_TOKENS
    again = again and due.reason == AGAIN
    return BriefFold(skip_opening(due.delta), renumber_live(live) if live else "", again, most)
