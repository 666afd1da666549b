"""From what a server reported to a better count: the estimate, corrected for one model and one story.

A `Sample` holds what the estimate weighed in a request, script by script, beside the prompt tokens that the server
reported: numbers, no words. Five of them make a `Calibration`: a factor per script, so that a story that mixes English
and Japanese comes right as well; what the chat template takes per message; and what every request carries unseen
(a system prompt of the server's own) where it shows.

The same samples give the same calibration; where many agree with the one there is, that one stays. An odd report (a cut
prompt, cached tokens left out, a picture, another model behind the same name) moves it little: the fit is one of least
squares, with a prior for every number and less and less trust in samples that stay far off. Everything stays within
bounds. Fewer samples than five, or reports that do not hang together, give none, and the plain estimate with its margin
stays. Reading a sample back never fails, and one of an older rule, or beyond belief, is not used. Nothing here changes
by itself: whoever counts decides when to fit anew.

A calibrated counter is centred: it has no margin, and is as often a little high as a little low.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Any, Final

from previously.core.messages import Image, Message
from previously.core.patterns import lazy_pattern
from previously.core.recent_values import RecentValues
from previously.core.tokens import (
    COUNTER,
    ESTIMATE,
    LONGEST_KNOWN,
    MARGINS,
    MESSAGE_OVERHEAD_TOKENS,
    SCRIPTS,
    Counter,
    list_texts,
    weigh,
)

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


def make_sample(messages: Iterable[Message], reported: int, tools: str = "") -> Sample | None:
    """Return the sample that a request with these messages makes, and with the schemas of its tools, which the server
    counts too; None where pictures blur it."""
    texts = [tools] if tools else []
    count = fixed = 0
    for message in messages:
        if any(isinstance(part, Image) for part in message.parts):
            return None
        said, besides = list_texts(message)
        texts += said
        fixed += besides
        count += 1
    return make_text_sample(texts, reported, messages=count, fixed=fixed)


def make_text_sample(texts: Iterable[str], reported: int, *, messages: int, fixed: int = 0) -> Sample:
    """Return the sample of a request that is not made of our messages, or of more; `fixed`: tokens besides its
    texts."""
    sums = [0] * len(SCRIPTS)
    for text in texts:
        for script, weight in enumerate(weigh(text)):
            sums[script] += weight
    return Sample(tuple(sums), messages, fixed, reported)


def add_sample(samples: Iterable[Sample], new: Sample | None) -> tuple[Sample, ...]:
    """Return the samples worth keeping once a new one is there: the newest of today's rule."""
    return tuple(sample for sample in (*samples, new) if sample is not None and sample.usable)[-KEPT_SAMPLES:]


def read_samples(value: object) -> tuple[Sample, ...]:
    """Return the samples that were stored as a list; whatever is no sample is passed over."""
    samples: tuple[Sample, ...] = ()
    for item in value if isinstance(value, list) else ():
        samples = add_sample(samples, Sample.from_json(item))
    return samples


_MOST_ROUNDS = 15
"""Trust in the observations settles in fewer where they agree; where they do not, more rounds change the third digit no
more."""

_SETTLED = 1e-6
"""A change too small to show in any digit that is kept."""

_LEAST_MISS = 0.005
"""Below this, observations are as good as any: no model fits closer than by chance."""


@dataclass(frozen=True, slots=True)
class Prior:
    """The value that a number is taken to have, and its standard deviation from that; zero for a number that is
    certain."""

    mean: float
    spread: float


def find_median(values: Iterable[float]) -> float:
    """Return the middle one, or the mean of the two in the middle. There must be one."""
    ordered = sorted(values)
    return (ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2


def fit_numbers(
    rows: Sequence[Sequence[float]], seen: Sequence[float], priors: Sequence[Prior], noise: float
) -> tuple[list[float], float]:
    """Return the numbers that, multiplied with each row, come closest to what was seen; and how far most still are off.

    `noise` is the standard deviation of an ordinary observation, in the same unit as `seen`.
    """
    numbers = [prior.mean for prior in priors]
    asked = [place for place, prior in enumerate(priors) if prior.spread]
    # What is certain is taken off what was seen: fewer numbers are solved for.
    certain = [0.0 if prior.spread else prior.mean for prior in priors]
    left = [one - _multiply(row, certain) for row, one in zip(rows, seen, strict=True)]
    columns = [[row[place] for row in rows] for place in asked]
    open_priors = [priors[place] for place in asked]
    usual = find_median(seen)
    misses = [abs(one - usual) for one in seen]
    for _ in range(_MOST_ROUNDS):
        # An observation counts the less the further it is off: what most of them say wins, not what the oddest says.
        scale = 2 * max(find_median(misses), _LEAST_MISS)
        trust = [1 / (1 + (miss / scale) ** 2) / noise**2 for miss in misses]
        solved = _least_squares(columns, left, trust, open_priors)
        change = max((abs(number - numbers[place]) for place, number in zip(asked, solved, strict=True)), default=0.0)
        for place, number in zip(asked, solved, strict=True):
            numbers[place] = number
        misses = [abs(_multiply(row, numbers) - one) for row, one in zip(rows, seen, strict=True)]
        if change < _SETTLED:
            break
    return numbers, find_median(misses)


def _multiply(row: Sequence[float], numbers: Sequence[float]) -> float:
    total: float = sum(map(mul, row, numbers))
    return total


def _least_squares(
    columns: Sequence[Sequence[float]], seen: Sequence[float], trust: Sequence[float], priors: Sequence[Prior]
) -> list[float]:
    """Solve the normal equations, with each prior as one more observation, of one number alone."""
    weighted = [list(map(mul, column, trust)) for column in columns]
    matrix = [[0.0] * (len(priors) + 1) for _ in priors]
    for i, column in enumerate(weighted):
        for j in range(i, len(columns)):
            matrix[i][j] = matrix[j][i] = _multiply(column, columns[j])
        matrix[i][-1] = _multiply(column, seen)
    for i, prior in enumerate(priors):
        matrix[i][i] += prior.spread**-2
        matrix[i][-1] += prior.mean * prior.spread**-2
    return _solve(matrix)


def _solve(matrix: list[list[float]]) -> list[float]:
    """Return the solution by Gaussian elimination with pivots; the last column is the right-hand side."""
    size = len(matrix)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        for row in range(column + 1, size):
            share = matrix[row][column] / matrix[column][column]
            matrix[row] = [value - share * above for value, above in zip(matrix[row], matrix[column], strict=True)]
    numbers = [0.0] * size
    for row in reversed(range(size)):
        known = sum(matrix[row][later] * numbers[later] for later in range(row + 1, size))
        numbers[row] = (matrix[row][-1] - known) / matrix[row][row]
    return numbers


VERSION: Final = 1
"""Of the rule by which a calibration is found and of the form in which it is stored."""

FEWEST_SAMPLES = 3
"""So few that the estimate's margin, which is a fifth of a window full of code, goes before an agent has filled it; of
three, two agree where one is odd."""

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
        """Return the calibrated counter's name, from which `find_estimate` makes it again: `estimate-2
        x1.083/1/1.02/1/1/1/1`, or `estimate-2 x1.083` where all factors are one; `m6` and `r120` where overheads are
        not the usual ones."""
        shown = [f"{factor:g}" for factor in self.factors]
        name = f"{COUNTER} x{shown[0] if len(set(shown)) == 1 else '/'.join(shown)}"
        name += f" m{self.message_tokens}" if self.message_tokens != MESSAGE_OVERHEAD_TOKENS else ""
        return name + (f" r{self.request_tokens}" if self.request_tokens else "")

    def to_json(self) -> dict[str, Any]:
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
                    return _check_factors(values, rest.get("message_tokens"), rest.get("request_tokens"))
        return None


KNOWN_BYTES, COUNT_BYTES = 1024 * 1024, 100
"""Bytes of texts whose tokens a calibrated counter keeps: those of a few views; and what each takes besides its
words."""

MOST_COUNTERS = 32
"""Calibrated counters that are kept for whoever has the same calibration: those of the stories that are told now."""


class Calibrated:
    """The estimate, corrected. Rounded to the nearest, since sums of many texts are what matters."""

    exact: Final = False

    def __init__(self, calibration: Calibration) -> None:
        self.name: Final = calibration.name
        self.message_overhead_tokens: Final = calibration.message_tokens
        self.request_overhead_tokens: Final = calibration.request_tokens
        # Whole numbers, so that every machine counts the same.
        self._factors: Final = tuple(round(1_000 * factor) for factor in calibration.factors)
        self._known: Final = RecentValues[str, int](KNOWN_BYTES)

    def __repr__(self) -> str:
        return f"Calibrated({self.name!r})"

    def tokens(self, text: str) -> int:
        """Return the tokens of a text, as the samples' model counts them."""
        size = len(text) + COUNT_BYTES
        tokens = self._known.get(text, size)
        if tokens is None:
            tokens = max(1, (sum(map(mul, self._factors, weigh(text))) + 500_000) // 1_000_000) if text else 0
            if len(text) <= LONGEST_KNOWN:
                self._known.keep(text, tokens, size)
        return tokens


def calibrate(samples: Iterable[Sample], before: Calibration | None = None) -> Calibration | None:
    """Return what the samples teach; None when they are too few or do not hang together. Where there are as many as are
    kept, the calibration `before` stays as long as it foretells the newest: a fit would move nothing but noise, and
    takes milliseconds of each turn."""
    usable = [one for one in samples if one.usable][-KEPT_SAMPLES:]
    if len(usable) < FEWEST_SAMPLES:
        return None
    if before and len(usable) == KEPT_SAMPLES and _measure_miss(before, usable[-1]) < _LEAST_MISS:
        return before
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
    enough = _find_enough(usable)
    factors = [
        numbers[0] + own if known else max(numbers[0], margin)
        for own, known, margin in zip(numbers[1:-2], enough, MARGINS, strict=True)
    ]
    return Calibration(tuple(map(_bound_factor, factors, LEAST_FACTORS)), per_message, per_request)


def make_counter(calibration: Calibration | None) -> Counter:
    """Return the calibrated counter, or the plain estimate as long as there is no calibration."""
    return _find_calibrated(calibration) if calibration else ESTIMATE


_find_calibrated = lru_cache(MOST_COUNTERS)(Calibrated)


_NAME = lazy_pattern(rf"{COUNTER} x([\d./e-]+)(?: m(\d{{1,2}}))?(?: r(\d{{1,5}}))?", re.ASCII)


def find_estimate(name: str) -> Counter | None:
    """Return the counter with the name of an estimate, plain or calibrated; None for another name or an older rule."""
    if name == COUNTER:
        return ESTIMATE
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        values = [float(value) for value in match[1].split("/")]
    except ValueError:
        return None
    calibration = _check_factors(
        values * (len(SCRIPTS) if len(values) == 1 else 1), int(match[2] or MESSAGE_OVERHEAD_TOKENS), int(match[3] or 0)
    )
    return _find_calibrated(calibration) if calibration else None


def _measure_miss(calibration: Calibration, sample: Sample) -> float:
    """Return by which share of what was weighed a calibration is off."""
    counted = _multiply(calibration.factors, sample.weights) / 1_000
    counted += calibration.message_tokens * sample.messages + calibration.request_tokens + sample.fixed
    return abs(sample.reported - counted) / sample.weighed


def _sizes_differ(samples: Sequence[Sample]) -> bool:
    ordered = sorted(one.weighed for one in samples)
    return ordered[-2] >= _UNLIKE * ordered[1]


def _find_enough(samples: Sequence[Sample]) -> list[bool]:
    """Return of each script, whether there is enough of it to tell its factor."""
    shares = zip(*map(_find_shares, samples), strict=True)
    return [sum(column) / len(samples) >= _ENOUGH_TO_TELL for column in shares]


def _find_shares(sample: Sample) -> list[float]:
    whole = 1_000 * sample.weighed
    return [weight / whole for weight in sample.weights]


def _fit(samples: Sequence[Sample], message: Prior, request: Prior) -> tuple[list[float], float]:
    """Return the common factor, what each script's adds to it (or, of those too rare to tell, its margin), and
    overheads."""
    enough = _find_enough(samples)
    own = [
        Prior(0, _SPREAD) if known else Prior(margin, _CERTAIN) for known, margin in zip(enough, MARGINS, strict=True)
    ]
    rows, ratios = [], []
    for sample in samples:
        shares, weighed = _find_shares(sample), sample.weighed
        common = sum(share for share, known in zip(shares, enough, strict=True) if known)
        rows.append([common, *shares, sample.messages / weighed, 1 / weighed])
        ratios.append((sample.reported - sample.fixed) / weighed)
    return fit_numbers(rows, ratios, [_COMMON, *own, message, request], _NOISE)


def _check_factors(values: Sequence[object], message_tokens: object, request_tokens: object) -> Calibration | None:
    factors = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not len(factors) == len(values) == len(SCRIPTS):
        return None
    if any(factor != _bound_factor(factor, least) for factor, least in zip(factors, LEAST_FACTORS, strict=True)):
        return None
    if type(message_tokens) is not int or not 0 <= message_tokens <= MOST_MESSAGE_TOKENS:
        return None
    if type(request_tokens) is not int or not 0 <= request_tokens <= MOST_REQUEST_TOKENS:
        return None
    return Calibration(tuple(factors), message_tokens, request_tokens)


def _bound_factor(factor: float, least: float) -> float:
    return round(min(max(factor, least), GREATEST_FACTOR), 3)
