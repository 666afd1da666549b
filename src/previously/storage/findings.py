"""Results of a check of the store and of a cleaning.

Faults are listed one by one up to a number, the rest are counted: a file that is broken all through must not fill the
memory of the process that checks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MOST_FAULTS = 100
"""More than anybody reads: a file with so many faults is restored, not mended."""

ROWS_AT_ONCE = 2_000
"""Rows read and held at a time: messages of some megabytes, so that the memory of a check is flat."""

Told = Callable[[str, int], None]
"""Called on the way with the story that is being looked at and how many rows were looked at until now, in all; by the
thread that reads."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it must be."""

    where: str
    """The story and the row."""
    reason: str


@dataclass(frozen=True, slots=True)
class Garbage:
    """Rows that no story needs, by what they are."""

    lines: int = 0
    nodes: int = 0
    entries: int = 0
    path_rows: int = 0
    cover_rows: int = 0
    leases: int = 0

    def __add__(self, other: Garbage) -> Garbage:
        return Garbage(
            self.lines + other.lines,
            self.nodes + other.nodes,
            self.entries + other.entries,
            self.path_rows + other.path_rows,
            self.cover_rows + other.cover_rows,
            self.leases + other.leases,
        )


@dataclass(frozen=True, slots=True)
class Collected(Garbage):
    """Rows that `gc` took away."""

    freed_bytes: int | None = None
    """The bytes of the file that became free, or with `shrink`, that the disk got back. None where a server sees to its
    own space."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The rows that `verify` compared, and the faults it found."""

    stories: int
    messages: int
    checked: Mapping[str, int]
    """The number of compared rows, by kind."""
    faults: tuple[Fault, ...]
    more_faults: int
    """The number of faults beside those listed."""
    garbage: Garbage
    """Rows that `gc` would take; they are no fault."""

    @property
    def clean(self) -> bool:
        return not self.faults


class Findings:
    """Gathers faults and counts, story by story."""

    def __init__(self, most: int = MOST_FAULTS, told: Told | None = None) -> None:
        self._most = most
        self._told = told
        self._story = ""
        self.faults: list[Fault] = []
        self.more_faults: int = 0
        self.checked: Counter[str] = Counter()
        self.garbage: Garbage = Garbage()

    def begin(self, story: str) -> None:
        """Take all faults that follow to be about this story."""
        self._story = story

    def fault(self, what: str, reason: str) -> None:
        """Add a fault; beyond the most that are told, only count it."""
        if len(self.faults) < self._most:
            self.faults.append(Fault(f"story {self._story!r}, {what}" if self._story else what, reason))
        else:
            self.more_faults += 1

    def looked_at(self, kind: str, rows: int) -> None:
        """Count so many rows more as compared."""
        self.checked[kind] += rows
        if self._told:
            self._told(self._story, self.checked.total())

    def begin_part(self) -> Findings:
        """Findings that count when they are joined: what finds them may be run again."""
        known = self.checked.total()

        def tell(story: str, rows: int) -> None:
            if self._told:
                self._told(story, known + rows)

        return Findings(self._most - len(self.faults), tell)

    def join(self, part: Findings) -> None:
        """Add the findings of a part."""
        self.faults += part.faults
        self.more_faults += part.more_faults
        self.checked.update(part.checked)  # also with what there was none of
        self.garbage += part.garbage

    def verified(self, stories: int) -> Verified:
        """Return the result of the whole check."""
        return Verified(
            stories, self.checked["entries"], dict(self.checked), tuple(self.faults), self.more_faults, self.garbage
        )
