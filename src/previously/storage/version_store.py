"""What folding asks of a store about versions as such, valid on a path or not.

Versions are of two sorts. Links of a chain are valid where the cover of a branch says so. Notes of a span
(`core.marks.SPAN_SCOPE`) are valid wherever the run of messages stands that they read, and found by its first message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from previously.core.versions import Kind, NewVersion, Status, Version

if TYPE_CHECKING:
    from previously.storage.store import StoryKey


class VersionStore(Protocol):
    """Keeps versions."""

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        """Keep a version. If one of the same kind and scope that read the same, went on from the same and replaces
        the same is there already, that one is given back and the new one discarded, unless the new one
        `core.versions.supersedes` it. `HeadMoved` if it has an anchor and its key is not that of the run that ends
        there, or `first` not that of its first message: it read what has been forgotten since. `BadInput` for what no
        store could keep (`core.versions.checked`).

        To make a fold again of what has not changed, name the one there is as what the new one `replaces`: both are
        kept, and of several that replace the same the first counts."""

    async def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]:
        """Keep several versions in one step, each as `commit` does; what became of each, in their order. If one of them
        raises, none is kept. None may go on from another of the same call: it has no id yet."""

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        """Give a version another status, its reason added to the one it has (`core.versions.restated`). Only versions
        `IN_FORCE` are ever covered, and only while all they were built on are. `BadInput` if the story has no such
        version, if it was forgotten or shall be, or if it was never in force and another was made in its place: the two
        would be the same fold."""

    async def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        """Make versions, and all that were built on them, firm no more: they stay in force until made anew. Versions
        of other stories are left alone."""

    async def versions(self, key: StoryKey) -> list[Version]:
        """Every version, the oldest first."""

    async def version(self, key: StoryKey, version: int) -> Version | None:
        """One version of the story; None if it has no such version."""

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]:
        """The newest versions of a kind, scope and status that stand for more than `beyond` messages, valid here or
        not, newest first."""

    async def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        """Every version `IN_FORCE` of a kind and scope whose first message has one of these digests, whatever path it
        was made on, the oldest first. Of several that read the same the newest counts; whether the messages behind the
        first stand on a path is for the caller to see, by their span key."""
