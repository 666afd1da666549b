"""From what a server reported to a better count: the estimate, corrected for one model and one story.

Five samples (requests, and the prompt tokens that the server reported for each) make a `Calibration`: a factor per
script, so that a story that mixes English and Japanese comes right as well; what the chat template takes per message;
and what every request carries unseen (schemas of tools, a system prompt of the server's own) where it shows. What must
stay true: the same samples give the same calibration; an odd report (a cut prompt, cached tokens left out, a picture,
another model behind the same name) moves it little; everything stays within bounds; fewer samples than five, or reports
that do not hang together, give none, and the plain estimate with its margin stays. Nothing here changes by itself:
whoever counts decides when to calibrate anew.

A calibrated counter is centred: it has no margin, and is as often a little high as a little low.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from previously.core.fitting import Prior, fit_numbers
from previously.core.samples import (
    GREATEST_FACTOR,
    KEPT_SAMPLES,
    LEAST_FACTORS,
    MOST_MESSAGE_TOKENS,
    MOST_REQUEST_TOKENS,
    Sample,
)
from previously.core.tokens import (
    COUNTER,
    ESTIMATE,
    MARGINS,
    MESSAGE_OVERHEAD_TOKENS,
    SCRIPTS,
    Counter,
    kept_for_a_while,
    weigh,
)

VERSION: Final = 1
"""Of the rule by which a calibration is found and of the form in which it is stored."""

FEWEST_SAMPLES = 5

_NOISE = 0.015
"""The distance of one request's share of tokens from what all factors make of it, in an ordinary story."""

_COMMON = Prior(1.0, 0.5)
_SPREAD = 0.2
"""The usual distance of the factor of one script from the common one."""

_MESSAGE = Prior(MESSAGE_OVERHEAD_TOKENS, 4)
_REQUEST = Prior(0, 2_000)
_CERTAIN = 0
"""The spread of what is not asked about."""

_ENOUGH_TO_TELL = 0.03
"""A script with a smaller share in the samples keeps its margin."""

_GREATEST_TYPICAL_MISS = 0.15
"""Samples that still differ by more than this, as a share, do not come from one tokenizer."""

_WORTH_EXPLAINING = 0.02
"""Only samples that differ by more than this are asked whether every request carries something unseen: in requests of
one size, that cannot be told from a larger factor."""

_UNLIKE = 1.4
"""By how much the second largest of them must be larger than the second smallest."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Factors for the estimate of each script, and tokens that come on top."""

    factors: tuple[float, ...]
    message_tokens: int = MESSAGE_OVERHEAD_TOKENS
    request_tokens: int = 0

    @property
    def name(self) -> str:
        """Return the calibrated counter's name, from which `counter_named` makes it again: `estimate-2
        x1.083/1/1.02/1/1/1/1`, or `estimate-2 x1.083` where all factors are one; `m6` and `r120` where overheads are
        not the usual ones."""
        shown = [f"{factor:g}" for factor in self.factors]
        name = f"{COUNTER} x{shown[0] if len(set(shown)) == 1 else '/'.join(shown)}"
        name += f" m{self.message_tokens}" if self.message_tokens != MESSAGE_OVERHEAD_TOKENS else ""
        return name + (f" r{self.request_tokens}" if self.request_tokens else "")

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as JSON can hold it."""
        return {
            "version": VERSION,
            "counter": COUNTER,
            "factors": dict(zip(SCRIPTS, self.factors, strict=True)),
            "message_tokens": self.message_tokens,
            "request_tokens": self.request_tokens,
        }

    @classmethod
    def from_json(cls, value: object) -> Calibration | None:
        """Return the calibration that `to_json` gave; None for anything else, one of another rule included."""
        match value:
            case {"version": 1, "counter": str(counter), "factors": Mapping() as given, **rest}:
                if counter == COUNTER and set(given) == set(SCRIPTS):
                    values = [given[script] for script in SCRIPTS]
                    return _checked(values, rest.get("message_tokens"), rest.get("request_tokens"))
        return None


class Calibrated:
    """The estimate, corrected. Rounded to the nearest, since sums of many texts are what matters."""

    exact: Final = False

    def __init__(self, calibration: Calibration) -> None:
        self.name: Final = calibration.name
        self.message_overhead_tokens: Final = calibration.message_tokens
        self.request_overhead_tokens: Final = calibration.request_tokens
        # Whole numbers, so that every machine counts the same.
        factors = [round(1_000 * factor) for factor in calibration.factors]

        def count(text: str) -> int:
            total = sum(factor * weight for factor, weight in zip(factors, weigh(text), strict=True))
            return max(1, (total + 500_000) // 1_000_000) if text else 0

        self._count = kept_for_a_while(count)

    def __repr__(self) -> str:
        return f"Calibrated({self.name!r})"

    def tokens(self, text: str) -> int:
        """Return the tokens of a text, as the samples' model counts them."""
        return self._count(text)


def calibrate(samples: Iterable[Sample]) -> Calibration | None:
    """Return what the samples teach; None when they are too few or do not hang together."""
    usable = [one for one in samples if one.usable][-KEPT_SAMPLES:]
    if len(usable) < FEWEST_SAMPLES:
        return None
    message, request = _MESSAGE, Prior(0, _CERTAIN)
    numbers, miss = _fit(usable, message, request)
    if miss > _WORTH_EXPLAINING and _sizes_differ(usable):
        other, missed = _fit(usable, message, _REQUEST)
        if missed < min(miss / 2, _WORTH_EXPLAINING) and other[-1] > 0:
            numbers, miss = other, missed
    if miss > _GREATEST_TYPICAL_MISS * numbers[0] or numbers[0] > GREATEST_FACTOR:
        return None
    # Overheads are whole tokens; what rounding takes off, the factors make up for.
    per_message = min(max(round(numbers[-2]), 0), MOST_MESSAGE_TOKENS)
    per_request = min(max(round(numbers[-1]), 0), MOST_REQUEST_TOKENS)
    numbers, _ = _fit(usable, Prior(per_message, _CERTAIN), Prior(per_request, _CERTAIN))
    told = _told(usable)
    factors = [
        numbers[0] + own if known else max(numbers[0], margin)
        for own, known, margin in zip(numbers[1:-2], told, MARGINS, strict=True)
    ]
    return Calibration(tuple(map(_bounded, factors, LEAST_FACTORS)), per_message, per_request)


def make_counter(calibration: Calibration | None) -> Counter:
    """Return the calibrated counter, or the plain estimate as long as there is no calibration."""
    return Calibrated(calibration) if calibration else ESTIMATE


_NAME = re.compile(rf"{COUNTER} x([\d./e-]+)(?: m(\d{{1,2}}))?(?: r(\d{{1,5}}))?", re.ASCII)


def counter_named(name: str) -> Counter | None:
    """Return the counter with the name of an estimate, plain or calibrated; None for another name or an older rule."""
    if name == COUNTER:
        return ESTIMATE
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        values = [float(value) for value in found[1].split("/")]
    except ValueError:
        return None
    calibration = _checked(
        values * (len(SCRIPTS) if len(values) == 1 else 1), int(found[2] or MESSAGE_OVERHEAD_TOKENS), int(found[3] or 0)
    )
    return Calibrated(calibration) if calibration else None


def _sizes_differ(samples: Sequence[Sample]) -> bool:
    ordered = sorted(one.weighed for one in samples)
    return ordered[-2] >= _UNLIKE * ordered[1]


def _told(samples: Sequence[Sample]) -> list[bool]:
    """Return of each script, whether there is enough of it to tell its factor."""
    shares = zip(*([weight / (1_000 * one.weighed) for weight in one.weights] for one in samples), strict=True)
    return [sum(column) / len(samples) >= _ENOUGH_TO_TELL for column in shares]


def _fit(samples: Sequence[Sample], message: Prior, request: Prior) -> tuple[list[float], float]:
    """Return the common factor, what each script's adds to it (or, of those too rare to tell, its margin), and
    overheads."""
    told = _told(samples)
    own = [Prior(0, _SPREAD) if known else Prior(margin, _CERTAIN) for known, margin in zip(told, MARGINS, strict=True)]
    rows, ratios = [], []
    for one in samples:
        shares = [weight / (1_000 * one.weighed) for weight in one.weights]
        common = sum(share for share, known in zip(shares, told, strict=True) if known)
        rows.append([common, *shares, one.messages / one.weighed, 1 / one.weighed])
        ratios.append((one.reported - one.fixed) / one.weighed)
    return fit_numbers(rows, ratios, [_COMMON, *own, message, request], _NOISE)


def _checked(values: Sequence[object], message_tokens: object, request_tokens: object) -> Calibration | None:
    factors = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not len(factors) == len(values) == len(SCRIPTS):
        return None
    if any(factor != _bounded(factor, least) for factor, least in zip(factors, LEAST_FACTORS, strict=True)):
        return None
    if type(message_tokens) is not int or not 0 <= message_tokens <= MOST_MESSAGE_TOKENS:
        return None
    if type(request_tokens) is not int or not 0 <= request_tokens <= MOST_REQUEST_TOKENS:
        return None
    return Calibration(tuple(factors), message_tokens, request_tokens)


def _bounded(factor: float, least: float) -> float:
    return round(min(max(factor, least), GREATEST_FACTOR), 3)
