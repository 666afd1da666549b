"""The recap: the rolling summary of the current chapter, link after link.

Each link reads the text before it and a delta, never the history, so the cost of a fold follows the delta. The tail is
never folded, not even in a short story. A delta is worth at least twice the recap it is folded into (unless there is no
room left for it), so that all folds together read at most one and a half times the story. What is not due yet is a
value with a reason.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

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


class Timeline(StrEnum):
    """The kind of memory that tells of the open chapter."""

    RECAP = "recap"
    LIBRARIAN = "librarian"
    SCENES = "scenes"
    BRIEF = "brief"

    @property
    def is_derived(self) -> bool:
        """Return whether it is put together from notes, not written from the messages."""
        return self in (Timeline.LIBRARIAN, Timeline.SCENES)


@dataclass(frozen=True, slots=True)
class RecapRules:
    """The numbers that say when a recap is due and how long it should be."""

    tail_messages: int
    due_messages: int
    due_words: int
    due_tokens: int
    target_words: int
    """0 = no target."""
    chosen: bool = False
    """True if a person set one of the numbers by which a fold is due: then they hold as they are."""


@dataclass(frozen=True, slots=True)
class FoldRules:
    """All that decides about folding a story."""

    recap: RecapRules
    tail_turns: int
    """If it is not 0, the tail is so many turns instead of messages,"""
    tail_tokens: int
    """but no more than so many tokens."""
    chapter_messages: int
    """From this length on a chapter closes at a scene end; 0 = never by itself."""
    chapter_words: int
    backbone_words: int
    review: bool
    """True if a person approves every fold."""
    timeline: Timeline = Timeline.RECAP
    apply_after: int = 4
    """The number of the newest fragments that a librarian has not applied yet."""
    summary_characters: int = 12_000
    summary_target_characters: int = 9_000
    scene_messages: int = 0
    """From half of this on a scene is noted where it ends, here in any case; 0 = only where a person ended it."""
    lore: str = "off"
    cast: str = "off"
    dormant_messages: int = 200


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
        there = f"{path_length} message{'s' if path_length != 1 else ''}"
        return NotDue(f"{there}; the newest {rules.tail_messages} are never folded")
    if first >= end:
        return NotDue(f"all but the newest {rules.tail_messages} messages are folded")
    words = tokens = 0
    outside = [item for item in waiting if item.position < end]
    parting = _between_units(outside)
    for count, item in enumerate(outside, 1):
        words += count_words(render_message(item.entry.message))
        tokens += message_tokens(item.entry.message)
        if item.position == again_through:
            return Due(tuple(outside[:count]), AGAIN)
        worth_it = rules.chosen or words >= WORTH_IT * recap_words
        if worth_it and count in parting and (reason := _reached(count, words, tokens, rules)):
            if item.position < again_through:
                return Due(tuple(outside[:count]), AGAIN)
            end_at = count if rules.chosen else _scene_end(outside, count, parting)
            return Due(tuple(outside[:end_at]), reason)
    if first + len(outside) < end:
        return NeedMore(first + len(outside))
    if pressure:
        return Due(tuple(outside), "no room for it in the view")
    if reached := _reached(len(outside), words, tokens, rules):
        return NotDue(
            f"{reached} wait, as many as fold_messages, fold_words or fold_tokens asks for, but their {words} words "
            f"are less than twice the recap of {recap_words}; set one of the three to fold them all the same"
        )
    return NotDue(
        f"{len(outside)} of {rules.due_messages} messages, {words} of {rules.due_words} words, "
        f"{tokens} of {rules.due_tokens} tokens"
    )


def _scene_end(items: Sequence[OnPath], count: int, parting: Collection[int]) -> int:
    """Return after how many messages a fold of `count` should end: with a scene that ends in its last quarter, if the
    text shows one by a rule or a heading."""
    for end in range(count, int(LAST_QUARTER * count), -1):
        if end in parting and end < len(items) and is_scene_end(items[end - 1], items[end]):
            return end
    return count


def _between_units(items: Sequence[OnPath]) -> Collection[int]:
    """After how many of the messages a fold may end: no call is parted from its result."""
    messages = [item.entry.message for item in items]
    if not any(isinstance(part, ToolCall) for message in messages for part in message.parts):
        return range(len(messages) + 1)
    return {unit.stop for unit in find_units(messages)}


def _reached(messages: int, words: int, tokens: int, rules: RecapRules) -> str:
    if messages >= rules.due_messages:
        return f"{messages} messages"
    if words >= rules.due_words:
        return f"{words} words"
    return f"{tokens} tokens" if tokens >= rules.due_tokens else ""


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
