"""The store's verbs for versions, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.versions import IN_FORCE, Kind, NewVersion, Status, Version
from previously.storage.store import StoryKey
from previously.storage.story_tree import StoryTree


class InMemoryVersions:
    """The part of `InMemoryStore` that keeps versions."""

    _stories: dict[StoryKey, StoryTree]

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        return self._stories[key].commit(version)

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        return self._stories[key].set_status(version, status, reason)

    async def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        self._stories[key].loosen(versions)

    async def versions(self, key: StoryKey) -> list[Version]:
        return list(self._stories[key].versions.values())

    async def version(self, key: StoryKey, version: int) -> Version | None:
        return self._stories[key].versions.get(version)

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]:
        newest_first = reversed(self._stories[key].versions.values())
        asked = (kind, scope, status)
        found = [one for one in newest_first if (one.made.kind, one.made.scope, one.made.status) == asked]
        return [one for one in found if one.made.reach > beyond][:most]

    async def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        made = [one for one in self._stories[key].versions.values() if one.made.status in IN_FORCE and one.made.first]
        of_kind = [one for one in made if (one.made.kind, one.made.scope) == (kind, scope)]
        return [one for one in of_kind if one.made.first in firsts]
