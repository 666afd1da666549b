"""The recap: the rolling summary of the story, link after link.

Each link reads the text before it and a delta, never the history, so the cost of a fold follows the delta. What must
stay true: the tail is never folded, not even in a short story; a delta is worth at least twice the recap it is folded
into (unless there is no room left for it), so that all folds together read at most one and a half times the story;
what is not due yet is a value with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from previously.core.asking import ModelReply, ModelRequest
from previously.core.messages import Message, Text
from previously.core.paths import OnPath, opening_of
from previously.core.spans import Span
from previously.core.tokens import message_tokens
from previously.core.versions import LiveVersion
from previously.core.words import count_words
from previously.folds.checks import Accepted, Asked, Refusal, Refused, judge, judge_text
from previously.folds.rendering import Template, as_data, fill, told, transcript

AGAIN = "made anew: what stood here was provisional"


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
    again_through: int = -1,
) -> Due | NotDue | NeedMore:
    """Whether to fold, and what. `waiting` are messages from `first` on, in order, as many as have been read so far.

    `pressure` says that a view had to leave out one of them: then whatever waits outside the tail is due. So is all
    up to `again_through`, which provisional memory covers that is to be made anew.
    """
    end = path_length - rules.tail_messages
    if end <= 0:
        return NotDue(f"{path_length} messages; the newest {rules.tail_messages} are never folded")
    if first >= end:
        return NotDue(f"all but the newest {rules.tail_messages} messages are folded")
    words = tokens = 0
    outside = [item for item in waiting if item.position < end]
    for count, item in enumerate(outside, 1):
        words += count_words(told(item.entry.message))
        tokens += message_tokens(item.entry.message)
        if item.position == again_through:
            return Due(tuple(outside[:count]), AGAIN)
        if words >= 2 * recap_words and (reason := _reached(count, words, tokens, rules)):
            return Due(tuple(outside[:count]), AGAIN if item.position < again_through else reason)
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
    again: bool = False
    """It was asked before, and what stands there is provisional."""


def request(live: LiveVersion | None, bridge: OnPath | None, due: Due, rules: RecapRules) -> RecapRequest:
    """What to ask for this delta. The opening is no event."""
    opening = len(opening_of(due.delta)) if due.span.first == 0 else 0
    return RecapRequest(
        previous=live.version.made.text if live else "",
        carry=live.version.made.carry if live else "",
        bridge=bridge.entry.message if bridge else None,
        delta=tuple(item.entry.message for item in due.delta[opening:]),
        target_words=rules.target_words,
        again=due.reason == AGAIN,
    )


def words_read(asked: RecapRequest) -> int:
    """How many words the folder is given to read."""
    bridge = count_words(told(asked.bridge)) if asked.bridge else 0
    return count_words(asked.previous) + bridge + sum(count_words(told(message)) for message in asked.delta)


PLACEHOLDERS = ("length", "previous", "bridge", "events", "hint")
"""What the prompt `recap.md` is filled with."""


def build(template: Template, asked: RecapRequest, hint: str = "") -> ModelRequest:
    """The question for a model. `hint` says why its last answer could not be kept."""
    bridge = f"\n<already_told>\n{_end_of(transcript([asked.bridge]))}\n</already_told>\n" if asked.bridge else ""
    system, user = fill(
        template,
        {
            "length": f"about {asked.target_words} words" if asked.target_words else "as long as it needs to be",
            "previous": as_data(asked.previous.strip()) or "(none yet)",
            "bridge": bridge,
            "events": transcript(asked.delta) or "(nothing was said)",
            "hint": f" {hint}" if hint else "",
        },
    )
    return ModelRequest(system, user, max_output_tokens=output_room(asked))


BRIDGE_CHARACTERS = 600
"""How much of the end of the bridge is shown: it is where the new events pick up."""


def _end_of(text: str) -> str:
    return text if len(text) <= BRIDGE_CHARACTERS else f"…{text[-BRIDGE_CHARACTERS:]}"


def output_room(asked: RecapRequest) -> int:
    """How many tokens an answer may take: well over its target, so that cutting it off means that it ran away."""
    return 2 * (asked.target_words or words_read(asked)) + 100


def check(asked: RecapRequest, text: str, *, made_by: str) -> Accepted | Refused:
    """Whether a text may be kept as the recap. Where nothing was said, there may be nothing to tell.

    The built-in folder's text is made of what it read and bounded by its own rules; it can only be empty.
    """
    something = asked.previous.strip() or transcript(asked.delta)
    if not text.strip():
        return Refused(Refusal.EMPTY, "the recap is empty") if something else Accepted("", (), ())
    return Accepted(text, (), ()) if made_by == "builtin" else judge_text(_asked(asked), text)


def check_reply(asked: RecapRequest, question: ModelRequest, reply: ModelReply) -> Accepted | Refused:
    """Whether a model's answer may be kept as the recap."""
    return judge(_asked(asked, f"{question.system}\n{question.user}"), reply)


def _asked(asked: RecapRequest, prompt: str = "") -> Asked:
    return Asked(asked.previous, asked.delta, prompt, asked.target_words)


def parts(asked: RecapRequest, fits: Callable[[RecapRequest], bool]) -> list[tuple[Message, ...]]:
    """The delta in runs that each fit beside the recap, in order. A message that does not fit by itself is cut at a
    paragraph, a sentence or, failing that, anywhere: every word of it is read, none twice."""
    found: list[tuple[Message, ...]] = []
    run: list[Message] = []
    waiting = list(reversed(asked.delta))
    while waiting:
        message = waiting.pop()
        if fits(replace(asked, delta=(*run, message))):
            run.append(message)
        elif run:
            found.append(tuple(run))
            run = []
            waiting.append(message)
        elif len(told(message)) <= SMALLEST_PIECE:
            run.append(message)  # no room even for this: the model's own limit will say so
        else:
            waiting += [replace(message, parts=(Text(half),)) for half in reversed(_halves(told(message)))]
    return [*found, tuple(run)] if run or not found else found


SMALLEST_PIECE = 200
"""Characters below which a message is not cut any further."""

_CUTS = tuple(re.compile(cut) for cut in (r"\n\s*\n", r"(?<=[.!?。！？])\s+|(?<=[。！？])", r"\s+"))
"""Where a long message may be cut, the best place first."""

_REACH = 2_000
"""How far from the middle a better place is looked for."""


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    reach = min(_REACH, middle - 1)
    for cut in _CUTS:
        ends = [found.end() for found in cut.finditer(text, middle - reach, middle + reach)]
        if ends:
            at = min(ends, key=lambda end: abs(end - middle))
            return text[:at], text[at:]
    return text[:middle], text[middle:]
