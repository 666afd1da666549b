"""A file that is read as it goes, followed by a branch: what the branch holds is compared, what comes behind is added.

Never more than a thousand messages are held at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from previously.core.align import align
from previously.core.deed import DeedKind
from previously.core.digests import digest
from previously.core.messages import Draft
from previously.runtime.clock import time_at
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from previously.story.access import StoryAccess
from previously.story.deeds import add_path_deed
from previously.story.file_header import keep_file_header
from previously.story.transcript import Changes

COMPARED_AT_ONCE = 1_000
"""Messages of a file that are compared with the store at a time: some hundred kilobytes."""


async def follow_stream(
    access: StoryAccess,
    drafts: Iterable[Draft],
    on: str,
    *,
    behind: int = 0,
    undoable: bool = False,
    header: Mapping[str, Any] | None = None,
) -> Changes | None:
    """Bring a branch to what a file holds that is read as it goes, if it only adds to the branch; None, and nothing
    is changed, if it does anything else. The drafts are clean, and can be read again from their beginning; so many
    messages of the branch stand before them. `undoable` and `header` are as in `Transcript.follow`."""
    key, store = access.key, access.store
    branch = (await store.read(key.owner, lambda tables: tables.branch(key, on))).info
    incoming = iter(drafts)
    for first in range(behind, branch.messages, COMPARED_AT_ONCE):
        batch = list(islice(incoming, min(COMPARED_AT_ONCE, branch.messages - first)))
        if not await store.read(key.owner, partial(_is_held, key=key, on=on, first=first, drafts=batch)):
            return None
    known = branch.messages - behind
    keep = keep_file_header(key, header) if header else None
    if next(incoming, None) is None:
        if keep:
            await store.write(key, keep)
        return Changes(0, 0, 0, known)

    def begin() -> Iterator[Draft]:
        return islice(drafts, known, None) if known else iter(drafts)

    def write_beside(tables: Tables) -> None:
        if undoable:
            add_path_deed(tables, key, branch.name, DeedKind.IMPORTED, branch.messages, branch.head)
        if keep:
            keep(tables)

    after = await store.extend(key, branch.name, begin, at=time_at(), expected_head=branch.head, also=write_beside)
    return Changes(after.messages - branch.messages, 0, 0, known)


def _is_held(tables: Tables, key: StoryKey, on: str, first: int, drafts: Sequence[Draft]) -> bool:
    """Return whether a branch holds exactly these messages from a position on, with their alternatives."""
    row = tables.branch(key, on)
    known = tables.reader.known(key, row, first, first + COMPARED_AT_ONCE - 1)
    alignment = align(known, drafts, whole=True)
    if alignment.script or alignment.attributes:
        return False
    for position, alternatives in alignment.alternatives:
        siblings = {item.entry.digest for item in tables.reader.siblings(key, row, first + position)}
        if not siblings.issuperset(digest(draft.message) for draft in alternatives):
            return False
    return True
