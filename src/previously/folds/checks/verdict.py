"""What is judged and what comes of it: plain values, no rules.

Owns the words in which an answer is refused. What must stay true: a reason is one sentence for the log, and it holds no
more than a few words of the answer or the story.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from previously.core.messages import Message
from previously.core.versions import Kind


@dataclass(frozen=True, slots=True)
class Asked:
    """What a text was asked from."""

    previous: str
    """The earlier text (recap, backbone, …), "" if there is none."""
    delta: tuple[Message, ...]
    """The messages newly read."""
    prompt: str = ""
    """The whole prompt as it was sent, "" if there was none."""
    target_words: int = 0
    """0 = no target."""
    locked: tuple[str, ...] = ()
    """Passages a person wrote: they stand in the text byte for byte."""
    commitments: tuple[str, ...] = ()
    """Open threads and live commitments, a short sentence each, that may not vanish."""
    prose: bool = True
    """False where headings and lists are the shape that was asked for, as in a brief."""
    retells: bool = False
    """What is new is itself such a text, not messages: it may be told in the same words."""
    amends: bool = False
    """The earlier text was to be set right: it may stand as it is, and need not speak of everybody in the delta."""
    ceiling_words: int = 0
    sources: tuple[str, ...] = ()


class Refusal(StrEnum):
    """Why an answer may not become memory."""

    EMPTY = "empty"
    REFUSAL = "refusal"
    REASONING = "reasoning"
    TRUNCATED = "truncated"
    TOOL_CALL = "tool call"
    ECHO = "echo"
    TOO_LONG = "too long"
    GROWING = "growing"
    WRONG_LANGUAGE = "wrong language"
    NOT_PROSE = "not prose"
    PEOPLE_MISSING = "people missing"
    SPEAKERS_INVENTED = "speakers invented"
    THREAD_DROPPED = "thread dropped"
    HAND_TEXT_TOUCHED = "hand text touched"
    RESIDUE = "residue"
    SHAPE = "wrong shape"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The text may be kept."""

    text: str
    """The answer after harmless tidying."""
    shed: tuple[str, ...]
    """Names and numbers of the earlier text that are gone: a recap must shed, and the log says what."""
    unverified: tuple[str, ...]
    """Sentences for which no support was found in what was read."""
    warnings: tuple[str, ...] = ()
    """What is not as it should be in a note that can be kept."""
    beside: tuple[tuple[Kind, str], ...] = ()
    """Texts of other kinds that the same answer gave."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The text may not be kept, and why in one sentence."""

    kind: Refusal
    reason: str
    lost: tuple[str, ...] = ()
    """The commitments that are gone, where that is the reason."""


def brief(text: str, longest: int = 60) -> str:
    """A few words of a text for a reason, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
