"""The JSON object in a model's answer, read forgivingly, and the canonical JSON that is kept.

Nothing here raises, whatever a model wrote. The same value is the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean, clean_json
from previously.core.model_io import ModelReply
from previously.folds.checks import Accepted, RefusalKind, Refused, clip_words, strip_reasoning
from previously.text.voice import is_refusal

LONGEST_ANSWER = 100_000
"""Characters of an answer that are looked at: what is longer ran away."""

MOST_BRACKETS = 300
"""Lists and objects that an answer may open and still be mended: far more than any note has, and mending takes time
with the square of them."""

MOST_FAULTS_TOLD, LONGEST_FAULT = 6, 140
"""The most faults that a model is told at once, and the characters of each: a longer list is not worked off."""


def refuse_shape(reason: str) -> Refused:
    """Return the refusal of an answer that is not in the form that was asked for."""
    return Refused(RefusalKind.SHAPE, reason)


def accept_note(text: str, warnings: Sequence[str], faults: Sequence[str]) -> Accepted:
    """Return a note that may be kept. For its faults the model is asked once more, and then they only warn."""
    return Accepted(text, warnings=(*faults, *warnings), mendable=tuple(faults))


DECLINED = Refused(RefusalKind.REFUSAL, "the model declined")
"""The refusal of a model that will not answer: it is not asked again."""


def list_faults(faults: Sequence[object]) -> str:
    """Return faults in one short sentence, which is what the model is told."""
    named = [clip_words(str(one), LONGEST_FAULT) for one in faults[:MOST_FAULTS_TOLD]]
    more = len(faults) - len(named)
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def read_answer(reply: ModelReply) -> str | Refused:
    """Return the text of an answer that is to be one note, or why it cannot be."""
    if reply.tool_calls:
        return refuse_shape("it called a tool instead of answering")
    text = strip_reasoning(reply.text).strip()
    if not text:
        return refuse_shape("it is empty")
    if reply.finish_reason == "length":
        return refuse_shape("it was cut off; answer more briefly")
    if reply.finish_reason == "content_filter" or ("{" not in text and is_refusal(text)):
        return DECLINED
    return text


def find_object(answer: str) -> dict[str, Any] | Refused:
    """The JSON object in an answer, mended where it is nearly one: fences, talk around it, a missing bracket."""
    begin = answer.find("{")
    if begin < 0:
        return refuse_shape("it holds no JSON object")
    if len(answer) > LONGEST_ANSWER:
        return refuse_shape("it is far too long")
    text = answer[begin:]
    try:
        value = json.loads(text[: text.rfind("}") + 1], parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        value = _mended(text)
    if isinstance(value, list):
        value = next((one for one in value if isinstance(one, dict)), None)
    fields = _clean_fields(value) if isinstance(value, dict) else {}
    return fields or refuse_shape("it holds no JSON object that can be read")


def _clean_fields(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that can be stored. What is escaped in JSON came past the cleaning of the answer."""
    fields: dict[str, Any] = {}
    for name, value in given.items():
        with suppress(BadInput):
            fields[clean(str(name))[0]] = clean_json(value)[0]
    return fields


def _mended(text: str) -> object:
    if sum(map(text.count, "[{")) > MOST_BRACKETS:
        return None  # mending takes the square of them
    try:
        from json_repair import repair_json  # not for who only reads what is kept

        return repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError):
        return None


def dump_canonical(value: object) -> str:
    """JSON that is the same bytes for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read_text_value(value: object) -> str:
    """A text where a model gave one, or a list of them; empty for all else."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Sequence):
        return " ".join(one.strip() for one in value if isinstance(one, str) and one.strip())
    return ""
