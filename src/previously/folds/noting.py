"""Notes: memory with a shape. A note is asked for like any fold, but its answer is JSON and is read before it is kept.

A fold that makes notes is one module with a dataclass that keeps the protocol `Note`, and one prompt. What must stay
true: `judge` is total, whatever a model wrote; what it gives back is canonical JSON, so that the same note is the same
bytes; a note that is made in several parts is given what was noted of the parts before as `so_far`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from json_repair import repair_json

from previously.core.messages import Message
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.versions import Kind
from previously.folds.checks import brief, is_refusal, without_reasoning
from previously.folds.rendering import Template

LONGEST_ANSWER = 100_000
"""Characters of an answer that are looked at: what is longer ran away."""


MOST_BRACKETS = 300
"""Lists and objects that an answer may open and still be mended."""

MOST_FAULTS_TOLD, LONGEST_FAULT = 6, 140
"""How many faults a model is told at once, and in how many characters each: a longer list is not worked off."""

MOST_PARTS = 24
"""More calls than this for one fold are mostly a waste."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note that may be kept."""

    text: str
    """Canonical JSON."""
    warnings: tuple[str, ...] = ()
    """What is not as it should be, though it can be kept."""
    faults: tuple[str, ...] = ()
    """What a model could do better, in words it is told: it is asked for that once, and then it only warns."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that cannot be kept, and why in one sentence, which the model is told."""

    reason: str
    raw: str
    final: bool = False
    """Whether asking again is of no use: the model will not answer."""


class Note(Protocol):
    """What is asked for, with all that is needed to ask it and to judge the answer. A frozen dataclass."""

    @property
    def kind(self) -> Kind:
        """What kind of memory it is."""

    @property
    def prompt(self) -> str:
        """The name of its prompt."""

    @property
    def delta(self) -> tuple[Message, ...]:
        """What is read."""

    @property
    def so_far(self) -> str:
        """What was noted before and is gone on from: of the parts before, or of a character; empty at first."""

    @property
    def again(self) -> bool:
        """It was asked before, and what stands there is provisional."""

    @property
    def most_parts(self) -> int:
        """In how many parts a model may be asked."""

    def part(self, delta: tuple[Message, ...], so_far: str) -> Self:
        """The same for a run of the messages, when they do not fit a model together."""

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """The question for a model. `hint` says why its last answer could not be kept."""

    def judge(self, answer: str) -> Noted | Unusable:
        """What a model's answer notes, what was noted so far included."""

    def builtin(self) -> Noted:
        """What is noted without a model, by rules; always something that can be kept."""


def faults_told(faults: Sequence[object]) -> str:
    """Return faults in one short sentence, which is what the model is told."""
    named = [brief(str(one), LONGEST_FAULT) for one in faults[:MOST_FAULTS_TOLD]]
    more = len(faults) - len(named)
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def judge_reply(note: Note, reply: ModelReply) -> Noted | Unusable:
    """Whether a model's answer can be kept as that note."""
    if reply.tool_calls:
        return Unusable("it called a tool instead of answering", reply.text)
    text = without_reasoning(reply.text).strip()
    if not text:
        return Unusable("it is empty", reply.text)
    if reply.finish_reason == "length":
        return Unusable("it was cut off; answer more briefly", reply.text)
    if reply.finish_reason == "content_filter" or ("{" not in text and is_refusal(text)):
        return Unusable("the model declined", reply.text, final=True)
    return note.judge(text)


def object_in(answer: str) -> dict[str, Any] | Unusable:
    """The JSON object in an answer, mended where it is nearly one: fences, talk around it, a missing bracket."""
    begin = answer.find("{")
    if begin < 0:
        return Unusable("it holds no JSON object", answer)
    if len(answer) > LONGEST_ANSWER:
        return Unusable("it is far too long", answer[:LONGEST_ANSWER])
    text = answer[begin:]
    try:
        found = json.loads(text[: text.rfind("}") + 1])
    except (ValueError, RecursionError):
        found = _mended(text)
    if isinstance(found, list):
        found = next((one for one in found if isinstance(one, dict)), None)
    return found if isinstance(found, dict) and found else Unusable("it holds no JSON object that can be read", answer)


def _mended(text: str) -> object:
    if sum(map(text.count, "[{")) > MOST_BRACKETS:
        return None  # mending takes the square of them
    try:
        return repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError):
        return None


def canonical(value: object) -> str:
    """JSON that is the same bytes for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def text_in(value: object) -> str:
    """A text where a model gave one, or a list of them; empty for all else."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Sequence):
        return " ".join(one.strip() for one in value if isinstance(one, str) and one.strip())
    return ""
