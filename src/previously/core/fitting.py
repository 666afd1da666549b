"""Fitting a few numbers to a few observations of which some may be wrong.

Linear least squares with a prior for every number (what it is where the observations cannot tell, and how far it may be
from that), and with less and less trust in observations that stay far off. The same input gives the same numbers; a
minority of wild observations moves the result no further than an ordinary one could; priors of non-zero width make
every problem solvable, however few or alike the observations are. No library: the problems are tiny.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul

_MOST_ROUNDS = 15
"""Trust in the observations settles in fewer where they agree; where they do not, more rounds change the third digit no
more."""

_SETTLED = 1e-9
"""A change too small to show in any digit that is kept."""

_LEAST_MISS = 0.005
"""Below this, observations are as good as any: no model fits closer than by chance."""


@dataclass(frozen=True, slots=True)
class Prior:
    """The value that a number is taken to have, and its standard deviation from that; zero for a number that is
    certain."""

    mean: float
    spread: float


def median(values: Iterable[float]) -> float:
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
    left = [one - _product(row, certain) for row, one in zip(rows, seen, strict=True)]
    columns = [[row[place] for row in rows] for place in asked]
    open_priors = [priors[place] for place in asked]
    usual = median(seen)
    misses = [abs(one - usual) for one in seen]
    for _ in range(_MOST_ROUNDS):
        # An observation counts the less the further it is off: what most of them say wins, not what the oddest says.
        scale = 2 * max(median(misses), _LEAST_MISS)
        trust = [1 / (1 + (miss / scale) ** 2) / noise**2 for miss in misses]
        solved = _least_squares(columns, left, trust, open_priors)
        change = max((abs(number - numbers[place]) for place, number in zip(asked, solved, strict=True)), default=0.0)
        for place, number in zip(asked, solved, strict=True):
            numbers[place] = number
        misses = [abs(_product(row, numbers) - one) for row, one in zip(rows, seen, strict=True)]
        if change < _SETTLED:
            break
    return numbers, median(misses)


def _product(row: Sequence[float], numbers: Sequence[float]) -> float:
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
            matrix[i][j] = matrix[j][i] = _product(column, columns[j])
        matrix[i][-1] = _product(column, seen)
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
