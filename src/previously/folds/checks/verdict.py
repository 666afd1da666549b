"""The values of judging: what is judged, and the verdict. They hold no rules.

A reason is one sentence, which is told to the model, and it holds no more than a few words of the answer or the story.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from previously.core.messages import Message
from previously.core.versions import Kind


@dataclass(frozen=True, slots=True)
class TextRequest:
    """The sources and bounds that a text was asked with."""

    previous: str
    """The earlier text (recap, backbone, …), "" if there is none."""
    delta: tuple[Message, ...]
    """The messages newly read."""
    target_words: int = 0
    """0 = no target."""
    retells: bool = False
    """True if the delta is itself such a text, not messages: it may be told in the same words."""
    amends: bool = False
    """The earlier text was to be set right: it may stand as it is, and need not speak of everybody in the delta."""
    may_stand: bool = False
    """The earlier text may stand as it is: it may have told all already."""
    ceiling_words: int = 0
    """The most words; 0 = derived from the target."""
    sources: tuple[str, ...] = ()
    """All texts that were shown beside the earlier text and the delta: what they name counts as heard."""
    third_person: bool | None = None
    """True if the story is told in the third person; None = as the earlier text is, or the messages are."""


class RefusalKind(StrEnum):
    """The reasons why an answer may not become memory."""

    EMPTY = "empty"
    REFUSAL = "refusal"
    REASONING = "reasoning"
    TALK = "assistant's talk"
    TRUNCATED = "truncated"
    TOOL_CALL = "tool call"
    NOT_PROSE = "not prose"
    ECHO = "echo"
    UNCHANGED = "unchanged"
    WRONG_LANGUAGE = "wrong language"
    FIRST_PERSON = "first person"
    TOO_LONG = "too long"
    COLLAPSE = "collapse"
    UNKNOWN_PERSON = "unknown person"
    UNKNOWN_NUMBER = "unknown number"
    PEOPLE_MISSING = "people missing"
    RESIDUE = "residue"
    SHAPE = "wrong shape"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The text may be kept."""

    text: str
    """The answer after harmless tidying."""
    carry: str = ""
    """A mark or numbers that the version keeps beside its text; never shown."""
    beside: tuple[tuple[Kind, str], ...] = ()
    """Texts of other kinds that the same answer gave."""
    warnings: tuple[str, ...] = ()
    """Faults of a text that can be kept all the same."""
    shed: tuple[str, ...] = ()
    """Names and numbers of the earlier text that are gone: a recap must shed, and the log says what."""
    unverified: tuple[str, ...] = ()
    """Sentences without support in what was read; no check of ours finds any."""
    mendable: tuple[str, ...] = ()
    """Those of the warnings for which the model is asked once more."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The text may not be kept, and why in one sentence."""

    kind: RefusalKind
    reason: str


def clip_words(text: str, longest: int = 60) -> str:
    """A few words of a text for a reason, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
