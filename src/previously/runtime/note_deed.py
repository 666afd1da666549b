"""Note what a person did to a story, so that `undo` takes it back or says why it cannot."""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.deed import Deed
from previously.core.marks import Mark
from previously.runtime.clock import time_at
from previously.storage.store import StoryKey
from previously.storage.tables import Tables


def add_deed(
    tables: Tables,
    key: StoryKey,
    deed: Deed,
    position: int | None = None,
    *,
    seen: bytes = b"",
    branch: str | None = None,
    instead_of: Sequence[Mark] = (),
) -> None:
    """Note a deed on a branch, the active one if None, at a position, its last if None; with it the marks that it took
    the place of."""
    row = tables.branch(key, branch)
    mark = deed.make_mark(row.messages - 1 if position is None else position, time_at(), seen=seen)
    tables.marks.add(key, row, mark, [other.id for other in instead_of])
