"""The store's verbs for versions, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.errors import BadInput, HeadMoved
from previously.core.versions import (
    IN_FORCE,
    NEVER_IN_FORCE,
    Kind,
    NewVersion,
    Status,
    Version,
    check_version,
    has_read,
    is_firm,
    restate,
    supersedes,
)
from previously.storage.store import StoryKey
from tests.oracle.story_tree import StoryTree


class InMemoryVersions:
    """The part of `InMemoryStore` that keeps versions."""

    _stories: dict[StoryKey, StoryTree]

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        return (await self.commit_all(key, [version]))[0]

    async def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]:
        story = self._stories[key]
        befores = [_found_before(story, version) for version in versions]  # all, before the first is kept
        return [_kept(story, version, before) for version, before in zip(versions, befores, strict=True)]

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        versions = self._stories[key].versions
        if version not in versions:
            raise BadInput(f"This story has no version {version}.")
        old = versions[version]
        if Status.FORGOTTEN in (status, old.made.status):
            raise BadInput(f"Version {version} was forgotten, or is to be: that is no status to give.")
        if old.made.status in NEVER_IN_FORCE and status not in NEVER_IN_FORCE:
            other = _same_fold(self._stories[key], old.made)
            if other is not None:
                raise BadInput(f"Version {version} was not in force, and version {other.id} made in its place.")
        versions[version] = restate(old, status, reason)
        return versions[version]

    async def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        loose, every = set(versions), self._stories[key].versions
        for ident, version in every.items():  # what a version is built on comes before it
            if ident in loose or version.made.before in loose:
                loose.add(ident)
                every[ident] = replace(version, firm=False)

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


def _found_before(story: StoryTree, version: NewVersion) -> Version | None:
    """Return what a new version goes on from; refuse it if it cannot be kept."""
    before = story.versions.get(version.before) if version.before else None
    if check_version(version, before).anchor:
        run = story.chain(version.anchor)[-len(version.span) :] if version.anchor in story.nodes else []
        if not has_read(version, [story.entries[node.entry].digest for node in run]):
            raise HeadMoved("What was read has been forgotten meanwhile, or was never there.")
    return before


def _kept(story: StoryTree, version: NewVersion, before: Version | None) -> Version:
    """Keep a version, or give back the one that is the same fold."""
    firm = is_firm(version, before)
    while version.status not in NEVER_IN_FORCE:
        existing = _same_fold(story, version)
        if existing is None:
            break
        if not supersedes(existing, firm=firm):
            return existing
        version = replace(version, replaces=existing.id)
    new = Version(story.next_id("version"), version, firm)
    story.versions[new.id] = new
    return new


def _same_fold(story: StoryTree, version: NewVersion) -> Version | None:
    """Return the version that read the same, went on from the same and replaces the same; refused ones do not count."""
    read = ("kind", "scope", "key", "before", "replaces")
    counting = (one for one in story.versions.values() if one.made.status not in NEVER_IN_FORCE)
    same = (one for one in counting if all(getattr(one.made, name) == getattr(version, name) for name in read))
    return next(same, None)
