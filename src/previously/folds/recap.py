"""The recap: the rolling summary of the story, link after link.

Each link reads the text before it and a delta, never the history, so the cost of a fold follows the delta. What must
stay true: the tail is never folded, not even in a short story; a delta is worth at least twice the recap it is folded
into (unless there is no room left for it), so that all folds together read at most one and a half times the story;
what is not due yet is a value with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.messages import Message, Role
from previously.core.paths import OnPath
from previously.core.spans import Span
from previously.core.tokens import message_tokens
from previously.core.versions import LiveVersion
from previously.core.words import count_words

CEILING = 2
"""An answer may be this many times the target: the target is soft, a recap that ran away is not one."""


@dataclass(frozen=True, slots=True)
class RecapRules:
    """When a recap is due and how long it should be."""

    tail_messages: int
    due_messages: int
    due_words: int
    due_tokens: int
    target_words: int
    """0 = no target."""


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


def first_waiting(live: LiveVersion | None) -> int:
    """The position of the first message that no recap has read."""
    return live.span.last + 1 if live else 0


def plan(
    recap_words: int,
    first: int,
    path_length: int,
    waiting: Sequence[OnPath],
    rules: RecapRules,
    *,
    pressure: bool = False,
) -> Due | NotDue | NeedMore:
    """Whether to fold, and what. `waiting` are messages from `first` on, in order, as many as have been read so far.

    `pressure` says that a view had to leave out one of them: then whatever waits outside the tail is due.
    """
    end = path_length - rules.tail_messages
    if end <= 0:
        return NotDue(f"{path_length} messages; the newest {rules.tail_messages} are never folded")
    if first >= end:
        return NotDue(f"all but the newest {rules.tail_messages} messages are folded")
    words = tokens = 0
    outside = [item for item in waiting if item.position < end]
    for count, item in enumerate(outside, 1):
        words += count_words(item.entry.message.text)
        tokens += message_tokens(item.entry.message)
        if words >= 2 * recap_words and (reason := _reached(count, words, tokens, rules)):
            return Due(tuple(outside[:count]), reason)
    if first + len(outside) < end:
        return NeedMore(first + len(outside))
    if pressure:
        return Due(tuple(outside), "no room for it in the view")
    if words < 2 * recap_words and _reached(len(outside), words, tokens, rules):
        return NotDue(f"{words} words wait; a fold is worth it from {2 * recap_words}, twice the recap")
    return NotDue(
        f"{len(outside)} of {rules.due_messages} messages, {words} of {rules.due_words} words, "
        f"{tokens} of {rules.due_tokens} tokens"
    )


def _reached(messages: int, words: int, tokens: int, rules: RecapRules) -> str:
    if messages >= rules.due_messages:
        return f"{messages} messages"
    if words >= rules.due_words:
        return f"{words} words"
    return f"{tokens} tokens" if tokens >= rules.due_tokens else ""


@dataclass(frozen=True, slots=True)
class RecapRequest:
    """What the folder is given. The bridge is the last message already folded: shown, so that the first new one has
    its question, and not to be told again."""

    previous: str
    carry: str
    bridge: Message | None
    delta: tuple[Message, ...]
    target_words: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer may not be kept, and why."""

    reason: str


def request(live: LiveVersion | None, bridge: OnPath | None, due: Due, rules: RecapRules) -> RecapRequest:
    """What to ask for this delta."""
    return RecapRequest(
        previous=live.version.made.text if live else "",
        carry=live.version.made.carry if live else "",
        bridge=bridge.entry.message if bridge else None,
        delta=tuple(item.entry.message for item in due.delta),
        target_words=rules.target_words,
    )


def words_read(asked: RecapRequest) -> int:
    """How many words the folder is given to read."""
    bridge = count_words(asked.bridge.text) if asked.bridge else 0
    return count_words(asked.previous) + bridge + sum(count_words(message.text) for message in asked.delta)


def check(asked: RecapRequest, text: str) -> Refused | None:
    """None when the text may be kept as the recap."""
    told = [message for message in asked.delta if message.role is not Role.SYSTEM and message.text.strip()]
    if not text.strip() and (asked.previous.strip() or told):
        return Refused("the recap is empty")
    if asked.target_words and count_words(text) > CEILING * asked.target_words:
        return Refused(f"the recap has {count_words(text)} words, over {CEILING} times its target")
    return None
