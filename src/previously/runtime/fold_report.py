"""The report of a call to fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.path import Span
from previously.core.versions import Cost, Kind, Status, Version
from previously.folds.boundary import Boundary
from previously.runtime.writer import Attempt


@dataclass(frozen=True, slots=True)
class FoldDone:
    """One fold: what became of it and what it took."""

    kind: Kind
    scope: str
    status: str
    made_by: str
    reason: str
    span: Span
    cost: Cost
    beside: tuple[str, ...] = ()
    """The kinds of what else the same answer gave."""


@dataclass(frozen=True, slots=True)
class FoldReport:
    """All that a call to fold did, and why it stopped."""

    folds: tuple[FoldDone, ...]
    stopped: str
    closed: tuple[Boundary, ...] = ()
    """Chapters that were closed on the way."""

    @property
    def made(self) -> tuple[FoldDone, ...]:
        """Return the folds that something came of."""
        return tuple(fold for fold in self.folds if fold.status != Status.REFUSED.value)

    @property
    def calls(self) -> int:
        """Return the number of model calls."""
        return sum(fold.cost.calls for fold in self.folds)


def done_of(version: Version, attempts: tuple[Attempt, ...], beside: tuple[str, ...] = ()) -> FoldDone:
    """Return a fold for a report, the attempts on the way included in what it took."""
    made = version.made
    cost = sum((attempt.cost for attempt in attempts), made.cost)
    return FoldDone(made.kind, made.scope, made.status.value, made.made_by, made.reason, made.span, cost, beside)


def failed_of(folds: Sequence[FoldDone]) -> str:
    """Return in words how many of the folds that were asked for nothing came of; empty if something came of all."""
    failed = sum(fold.status == Status.REFUSED.value for fold in folds)
    some = f"{failed} of {len(folds)} that were asked for" if len(folds) > 1 else "what was asked for"
    return f"{some} could not be made, and what was there stays" if failed else ""
