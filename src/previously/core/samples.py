"""What is kept of a request whose prompt tokens a server reported: numbers, no words.

A `Sample` holds what the estimate weighed in the request, script by script, beside the report; `calibration` learns
from several. Reading one back never fails, whatever was stored; a sample of an older rule, or one beyond belief, is not
used; no more than `KEPT_SAMPLES` are kept, the newest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from previously.core.messages import Image, Message
from previously.core.tokens import COUNTER, SCRIPTS, message_texts, weigh

KEPT_SAMPLES = 20
"""A model's tokenizer does not change, but what a story is written in does."""

SMALLEST_SAMPLE_TOKENS = 100
"""In a smaller request, what the server adds by itself weighs too much."""

LEAST_FACTORS: Final = (0.65, 0.3, 0.4, 0.3, 0.3, 0.3, 0.3)
"""No tokenizer in use makes less of each of `SCRIPTS`. A server that reports less has left out what it had cached."""

GREATEST_FACTOR = 4.0
MOST_MESSAGE_TOKENS = 40
MOST_REQUEST_TOKENS = 20_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: what was weighed in it (thousandths of a token per script), and what the server reported."""

    weights: tuple[int, ...]
    messages: int
    fixed: int
    """Tokens that come with the messages whatever they say, besides what the template puts around each."""
    reported: int
    counter: str = COUNTER

    def to_json(self) -> dict[str, Any]:
        """Return the sample as JSON can hold it."""
        return {
            "counter": self.counter,
            "weights": list(self.weights),
            "messages": self.messages,
            "fixed": self.fixed,
            "reported": self.reported,
        }

    @classmethod
    def from_json(cls, value: object) -> Sample | None:
        """Return the sample that `to_json` gave; None for anything else."""
        match value:
            case {
                "counter": str(counter),
                "weights": list(weights),
                "messages": int(messages),
                "fixed": int(fixed),
                "reported": int(reported),
            } if len(weights) == len(SCRIPTS):
                numbers = (*weights, messages, fixed, reported)
                if all(type(number) is int and 0 <= number < 2**53 for number in numbers):
                    return cls(tuple(weights), messages, fixed, reported, counter)
        return None

    @property
    def weighed(self) -> float:
        """Return all that was weighed, in tokens."""
        return sum(self.weights) / 1_000

    @property
    def usable(self) -> bool:
        """Return whether the sample is of today's rule, large enough, and not beyond belief."""
        said = self.reported - self.fixed
        least = sum(factor * weight for factor, weight in zip(LEAST_FACTORS, self.weights, strict=True)) / 1_000
        return (
            self.counter == COUNTER
            and self.weighed >= SMALLEST_SAMPLE_TOKENS
            and least
            <= said
            <= GREATEST_FACTOR * self.weighed + MOST_MESSAGE_TOKENS * self.messages + MOST_REQUEST_TOKENS
        )


def sample_of(messages: Iterable[Message], reported: int) -> Sample | None:
    """Return the sample that a request with these messages makes; None where pictures blur it."""
    texts: list[str] = []
    count = fixed = 0
    for message in messages:
        if any(isinstance(part, Image) for part in message.parts):
            return None
        said, besides = message_texts(message)
        texts += said
        fixed += besides
        count += 1
    return sample_of_texts(texts, reported, messages=count, fixed=fixed)


def sample_of_texts(texts: Iterable[str], reported: int, *, messages: int, fixed: int = 0) -> Sample:
    """Return the sample of a request that is not made of our messages, or of more; `fixed`: tokens besides its
    texts."""
    sums = [0] * len(SCRIPTS)
    for text in texts:
        for script, weight in enumerate(weigh(text)):
            sums[script] += weight
    return Sample(tuple(sums), messages, fixed, reported)


def with_sample(samples: Iterable[Sample], new: Sample | None) -> tuple[Sample, ...]:
    """Return the samples worth keeping once a new one is there: the newest of today's rule."""
    return tuple(sample for sample in (*samples, new) if sample is not None and sample.usable)[-KEPT_SAMPLES:]


def samples_from_json(value: object) -> tuple[Sample, ...]:
    """Return the samples that were stored as a list; whatever is no sample is passed over."""
    found: tuple[Sample, ...] = ()
    for one in value if isinstance(value, list) else ():
        found = with_sample(found, Sample.from_json(one))
    return found
