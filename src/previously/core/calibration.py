"""From what a server reported to a better count: the estimate, corrected for one model and one story.

A `Sample` is one request: what the estimate weighed in it, script by script, and the prompt tokens that the server
reported. Five of them make a `Calibration`: a factor per script, so that a story that mixes English and Japanese comes
right as well. What must stay true: the same samples give the same calibration; one odd report (a cut prompt, another
model behind the same name) does not spoil it; factors stay within bounds; fewer samples than five, or reports that do
not hang together, give none, and the plain estimate with its margin stays. A calibrated counter is centred: it has no
margin, and is as often a little high as a little low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from previously.core.messages import Image, Message
from previously.core.tokens import COUNTER, ESTIMATE, MARGINS, SCRIPTS, Counter, kept_for_a_while, message_texts, weigh

VERSION: Final = 1
"""Of the rule by which factors are found and of the form in which they are stored."""

FEWEST_SAMPLES = 5
KEPT_SAMPLES = 20
"""A model's tokenizer does not change, but what a story is written in does."""

SMALLEST_SAMPLE_TOKENS = 100
"""In a smaller request, what the server adds by itself weighs too much."""

LEAST_FACTOR, GREATEST_FACTOR = 0.15, 4.0

_PULL = 0.004
"""How strongly a factor is drawn to the common one: enough to settle what five samples cannot tell apart, too little to
matter where they can."""

_ENOUGH_TO_TELL = 0.03
"""A script with a smaller share in the samples keeps its margin."""

_GREATEST_TYPICAL_MISS = 0.15
"""Samples that still differ by more than this, as a share, do not come from one tokenizer."""

_SMALLEST_MISS = 0.002
_ROUNDS, _SWEEPS, _STILL = 12, 200, 1e-6


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: what was weighed in it (thousandths of a token per script), and what the server reported."""

    weights: tuple[int, ...]
    fixed: int
    """Tokens that come with the messages whatever they say."""
    reported: int
    counter: str = COUNTER

    def to_json(self) -> dict[str, Any]:
        """The sample as JSON can hold it."""
        return {
            "counter": self.counter,
            "weights": list(self.weights),
            "fixed": self.fixed,
            "reported": self.reported,
        }

    @classmethod
    def from_json(cls, value: object) -> Sample | None:
        """The sample that `to_json` gave; None for anything else."""
        match value:
            case {"counter": str(counter), "weights": list(weights), "fixed": int(fixed), "reported": int(reported)}:
                if len(weights) == len(SCRIPTS) and all(type(weight) is int and weight >= 0 for weight in weights):
                    return cls(tuple(weights), fixed, reported, counter)
        return None


def sample_of(messages: Iterable[Message], reported: int) -> Sample | None:
    """The sample that a request with these messages makes; None where pictures blur it."""
    texts: list[str] = []
    fixed = 0
    for message in messages:
        if any(isinstance(part, Image) for part in message.parts):
            return None
        said, besides = message_texts(message)
        texts += said
        fixed += besides
    return sample_of_texts(texts, fixed, reported)


def sample_of_texts(texts: Iterable[str], fixed: int, reported: int) -> Sample:
    """The sample of a request that is not made of our messages; `fixed`: tokens it takes besides its texts."""
    sums = [0] * len(SCRIPTS)
    for text in texts:
        for script, weight in enumerate(weigh(text)):
            sums[script] += weight
    return Sample(tuple(sums), fixed, reported)


def with_sample(samples: Iterable[Sample], new: Sample | None) -> tuple[Sample, ...]:
    """The samples worth keeping once a new one is there: the newest of today's rule."""
    return tuple(sample for sample in (*samples, new) if sample is not None and _usable(sample))[-KEPT_SAMPLES:]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What to multiply the estimate of each script with."""

    factors: tuple[float, ...]
    samples: int
    """How many it was made from."""

    @property
    def name(self) -> str:
        """The calibrated counter's name, from which `counter_named` makes it again: `estimate-2×1.083/1/1.02/1/1/1/1`,
        or `estimate-2×1.083` where all factors are one."""
        shown = [f"{factor:g}" for factor in self.factors]
        return f"{COUNTER}×{shown[0] if len(set(shown)) == 1 else '/'.join(shown)}"

    def to_json(self) -> dict[str, Any]:
        """The calibration as JSON can hold it."""
        return {
            "version": VERSION,
            "counter": COUNTER,
            "factors": dict(zip(SCRIPTS, self.factors, strict=True)),
            "samples": self.samples,
        }

    @classmethod
    def from_json(cls, value: object) -> Calibration | None:
        """The calibration that `to_json` gave; None for anything else, one of another rule included."""
        match value:
            case {
                "version": int(version),
                "counter": str(counter),
                "factors": Mapping() as given,
                "samples": int(made),
            }:
                if version == VERSION and counter == COUNTER and set(given) == set(SCRIPTS):
                    factors = tuple(_as_factor(given[script]) for script in SCRIPTS)
                    if None not in factors:
                        return cls(tuple(factor for factor in factors if factor is not None), made)
        return None


class Calibrated:
    """The estimate, corrected. Rounded to the nearest, since sums of many texts are what matters."""

    def __init__(self, calibration: Calibration) -> None:
        self.name: Final = calibration.name
        # Whole numbers, so that every machine counts the same.
        factors = [round(1_000 * factor) for factor in calibration.factors]

        def count(text: str) -> int:
            total = sum(factor * weight for factor, weight in zip(factors, weigh(text), strict=True))
            return max(1, (total + 500_000) // 1_000_000) if text else 0

        self._count = kept_for_a_while(count)

    def __repr__(self) -> str:
        return f"Calibrated({self.name!r})"

    def text(self, text: str) -> int:
        """The tokens of a text, as the samples' model counts them."""
        return self._count(text)


def calibrate(samples: Iterable[Sample]) -> Calibration | None:
    """What the samples teach; None when they are too few or do not hang together."""
    usable = [one for one in samples if _usable(one)][-KEPT_SAMPLES:]
    if len(usable) < FEWEST_SAMPLES:
        return None
    totals = [sum(one.weights) for one in usable]
    shares = [[weight / total for weight in one.weights] for one, total in zip(usable, totals, strict=True)]
    ratios = [1_000 * (one.reported - one.fixed) / total for one, total in zip(usable, totals, strict=True)]
    common = _median(ratios)
    told = [sum(column) / len(shares) >= _ENOUGH_TO_TELL for column in zip(*shares, strict=True)]
    start = [common if known else margin for known, margin in zip(told, MARGINS, strict=True)]
    factors = start
    for _ in range(_ROUNDS):
        # A sample counts the less the further it is off: what most of them say wins, not what the oddest says.
        misses = [abs(_mixed(factors, row) - ratio) for row, ratio in zip(shares, ratios, strict=True)]
        usual = 1.5 * max(_median(misses), _SMALLEST_MISS)
        trust = [usual / max(miss, usual) for miss in misses]
        factors = _fitted(shares, ratios, trust, start, told)
    if _median(misses) > _GREATEST_TYPICAL_MISS * common:
        return None
    return Calibration(tuple(_bounded(factor) for factor in factors), len(usable))


def calibrated_counter(samples: Iterable[Sample]) -> Counter:
    """The calibrated counter, or the plain estimate as long as there is none."""
    found = calibrate(samples)
    return Calibrated(found) if found else ESTIMATE


def counter_named(name: str) -> Counter | None:
    """The counter with the name of an estimate, plain or calibrated; None for another name or an older rule."""
    if name == COUNTER:
        return ESTIMATE
    rule, _, written = name.partition("×")
    values = written.split("/")
    if rule != COUNTER or len(values) not in (1, len(SCRIPTS)):
        return None
    factors = [_as_factor(value) for value in values] * (len(SCRIPTS) if len(values) == 1 else 1)
    if None in factors:
        return None
    return Calibrated(Calibration(tuple(factor for factor in factors if factor is not None), 0))


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return (ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2


def _usable(sample: Sample) -> bool:
    """Whether the sample is of today's rule, large enough, and not beyond belief."""
    weighed, said = sum(sample.weights), 1_000 * (sample.reported - sample.fixed)
    return (
        sample.counter == COUNTER
        and weighed >= 1_000 * SMALLEST_SAMPLE_TOKENS
        and LEAST_FACTOR * weighed <= said <= GREATEST_FACTOR * weighed
    )


def _as_factor(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        factor = float(value)
    except ValueError:
        return None
    return factor if factor == _bounded(factor) else None


def _bounded(factor: float) -> float:
    return round(min(max(factor, LEAST_FACTOR), GREATEST_FACTOR), 3)


def _mixed(factors: Sequence[float], shares: Sequence[float]) -> float:
    return sum(factor * share for factor, share in zip(factors, shares, strict=True))


def _fitted(
    shares: Sequence[Sequence[float]],
    ratios: Sequence[float],
    trust: Sequence[float],
    start: Sequence[float],
    told: Sequence[bool],
) -> list[float]:
    """The factors whose mix comes closest to each sample's ratio, drawn to where they start (ridge regression).

    Solved one factor at a time, over and over: with so few of them that is quick, and needs no library.
    """
    factors = list(start)
    for _ in range(_SWEEPS):
        moved = 0.0
        for script in (script for script, known in enumerate(told) if known):
            above, below = _PULL * start[script], _PULL
            for row, ratio, weight in zip(shares, ratios, trust, strict=True):
                others = _mixed(factors, row) - factors[script] * row[script]
                above += weight * row[script] * (ratio - others)
                below += weight * row[script] ** 2
            moved = max(moved, abs(above / below - factors[script]))
            factors[script] = above / below
        if moved < _STILL:
            break
    return factors
