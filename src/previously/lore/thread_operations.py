"""From the signals of a span to operations on threads, each with the words of the story that support it.

What must stay true: a quote really stands in the messages; what has none is not verified, and not left out for it;
within a span time passes first, then things happen, are settled, and are opened: what is opened and settled at once
stays open, since a settled promise told again costs a line and a lost one costs the story.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.messages import Message
from previously.core.signals import LONGEST_ITEM, Signals
from previously.core.story_time import hours_told
from previously.lore.thread_wording import quote_for, sentences_of
from previously.lore.threads import Op, Operation


def operations_of(
    signals: Signals, position: int, quote_in: Sequence[Message], *, names: Sequence[str] = (), by: str = "model"
) -> tuple[Operation, ...]:
    """What a span does to the threads. `quote_in` are its messages, `names` those its analysis mentions."""
    speakers = [one.speaker for one in quote_in if one.speaker]
    known = tuple(dict.fromkeys([*names, *speakers]))
    sentences = sentences_of(one.text for one in quote_in)

    def operation(op: Op, text: str) -> Operation:
        quote = quote_for(text, sentences, known)[:LONGEST_ITEM] if op is not Op.TOUCH else ""
        return Operation(op, text, position, quote, by, known)

    passed = _time_passed(signals, sentences)
    return (
        *([Operation(Op.PASS, passed, position, passed, by)] if passed else []),
        *(operation(Op.TOUCH, text) for text in (*signals.events, *signals.state_changes)),
        *(operation(Op.RESOLVE, text) for text in signals.resolved_threads),
        *(operation(Op.OPEN, text) for text in signals.open_threads),
    )


def _time_passed(signals: Signals, sentences: Sequence[str]) -> str:
    """The sentences that let time pass: those of the messages, or where they tell of none, of the signals, in which
    the same jump may stand twice."""
    told = [one for one in sentences if hours_told(one)]
    if told:
        return " ".join(told)
    noted = [one for one in (*signals.state_changes, *signals.events) if hours_told(one)]
    return max(noted, key=hours_told, default="")
