"""Stale memory: a text whose earlier messages were changed. It still speaks for the path until it is set right.

What must stay true: the newest text that reaches further than the exact one is taken, if its last message is still on
the path; where only one fold separates the two there is none, since that fold is simply made again.
"""

from __future__ import annotations

from previously.core.path import Span
from previously.core.versions import Kind, LiveVersion, Status
from previously.runtime.fold_store import PathStore
from previously.storage.store import BranchInfo, StoryKey

LOOKED_AT = 8
"""How many of the newest texts are looked at."""


async def stale_version(
    store: PathStore,
    key: StoryKey,
    branch: BranchInfo,
    kind: Kind,
    scope: str,
    *,
    start: int,
    exact: LiveVersion | None,
    through: int | None = None,
) -> LiveVersion | None:
    """The stale text that reaches furthest (to `through` at most), with what it stands for: all from `start`, where
    the chains of its scope begin. None where the exact text reaches as far."""
    reached = exact_through = exact.span.last if exact else start - 1
    stands_for = exact.version.made.reach if exact else 0
    furthest: LiveVersion | None = None
    for version in await store.newest_versions(key, kind, scope, Status.COMMITTED, LOOKED_AT, beyond=stands_for):
        if not version.made.anchor:
            continue
        position = await store.position_of(key, branch.name, version.made.anchor)
        if position is None or position <= reached or (through is not None and position > through):
            continue
        if kind not in (Kind.CHAPTER, Kind.SHORT) and position - len(version.made.span) <= exact_through:
            continue
        furthest, reached = LiveVersion(version, Span(start, position)), position
    return furthest
