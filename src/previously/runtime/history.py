"""The history of memory: taking back, restoring, approving.

Versions are never deleted. What is undone stays in the log and can be restored; what is rejected says why.
"""

from __future__ import annotations

from dataclasses import replace

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind, starts
from previously.core.spans import Span
from previously.core.text import clean
from previously.core.versions import IN_FORCE, Status, Version
from previously.runtime.handle import PERSON, StoryHandle, carried_by
from previously.runtime.times import time_at
from previously.storage.store import BranchInfo


class History(StoryHandle):
    """The versions of one story, as people decide about them."""

    async def log(self) -> list[Version]:
        """Every version of every memory, the oldest first."""
        return await self._store.versions(self._key)

    async def undo(self) -> str:
        """Take back the newest thing that was done to the memory of the active branch; what that was, in words."""
        branch = await self.branch_info()
        covered = {version for _, _, version in await self._store.cover(self._key, branch.name)}
        marks = await self._store.marks(self._key, branch.name)
        by_hand = {carried_by(mark) for mark in marks}
        in_force = [one for one in await self._store.versions(self._key) if one.made.status in IN_FORCE]
        versions = [one for one in in_force if one.id in covered or one.made.carry in by_hand]
        version = max(versions, key=lambda one: one.id, default=None)
        others = [one for one in marks if one.kind in (MarkKind.CHAPTER, MarkKind.PIN)]
        mark = max(others, key=lambda one: one.id, default=None)
        if mark and (version is None or mark.at > version.made.at):
            return await self._undo_mark(branch, mark)
        if version is None:
            raise BadInput("There is nothing to undo: nothing is remembered yet.")
        return await self._undo_version(branch, version)

    async def restore(self, version: int) -> Version:
        """Put an earlier version in force again, in place of what came after it."""
        branch = await self.branch_info()
        wanted = await self._version(version)
        span = await self._span_now(branch, wanted)
        if span is None:
            raise BadInput(
                f"Version {version} was made for messages that are not on branch {branch.name!r} as they were; "
                "write its words by hand to have them anyhow."
            )
        made = replace(
            wanted.made,
            span=span,
            status=Status.COMMITTED,
            made_by=PERSON,
            reason=f"version {version} restored by a person",
            at=time_at(),
            replaces=None,
        )
        restored = await self._store.commit(self._key, made)
        for _, last, other in await self._store.cover(self._key, branch.name, made.kind):
            found = await self._version(other)
            if found.made.scope == made.scope and last >= span.last and other not in (restored.id, wanted.id):
                await self._store.set_status(
                    self._key, other, Status.UNDONE, reason=f"undone when version {version} was restored"
                )
        return restored

    async def pending(self) -> list[Version]:
        """What waits for approval, the oldest first."""
        return [one for one in await self._store.versions(self._key) if one.made.status is Status.PENDING]

    async def approve(self, version: int) -> Version:
        """Put a version that waits in force."""
        return await self._decide(version, Status.COMMITTED, "approved by a person")

    async def reject(self, version: int, reason: str = "") -> Version:
        """Refuse a version that waits. The next fold makes another."""
        why = f": {clean(reason)[0]}" if reason.strip() else ""
        return await self._decide(version, Status.REFUSED, f"rejected by a person{why}")

    async def _decide(self, version: int, status: Status, reason: str) -> Version:
        found = await self._version(version)
        if found.made.status is not Status.PENDING:
            raise BadInput(f"Version {version} does not wait for approval: it is {found.made.status.value}.")
        return await self._store.set_status(self._key, version, status, reason=reason)

    async def _undo_mark(self, branch: BranchInfo, mark: Mark) -> str:
        await self._store.remove_mark(self._key, branch.name, mark.id)
        if mark.kind is MarkKind.PIN:
            return f"pin {mark.id}"
        if mark.made_by != PERSON:  # it would close there again by itself
            await self._add_mark(branch, MarkKind.KEPT_OPEN, mark.position, "")
        return f"the end of the chapter at message {mark.position}"

    async def _undo_version(self, branch: BranchInfo, version: Version) -> str:
        await self._store.set_status(self._key, version.id, Status.UNDONE, reason="undone by a person")
        marks = await self._store.marks(self._key, branch.name)
        held = next((mark for mark in marks if carried_by(mark) == version.made.carry), None)
        if held is not None:
            earlier = await self._version(version.made.replaces) if version.made.replaces else None
            if earlier and earlier.made.carry == version.made.carry:
                await self._store.set_mark_text(
                    self._key, branch.name, held.id, earlier.made.text, seen=earlier.made.key
                )
                await self._store.set_status(
                    self._key,
                    earlier.id,
                    Status.COMMITTED,
                    reason=f"back in force when version {version.id} was undone",
                )
            else:
                await self._store.remove_mark(self._key, branch.name, held.id)
        return f"version {version.id}, {version.made.kind.value} of {version.made.span}"

    async def _span_now(self, branch: BranchInfo, version: Version) -> Span | None:
        """Where the run of a version stands on the branch, if all it was built on is in force there."""
        made = version.made
        if made.before:
            ends = {one: last + 1 for _, last, one in await self._store.cover(self._key, branch.name, made.kind)}
            first = ends.get(made.before)
        else:
            first = starts(await self._store.marks(self._key, branch.name)).get(made.scope)
        if first is None or first + len(made.span) > branch.messages:
            return None
        span = Span(first, first + len(made.span) - 1)
        run = await self._store.path(self._key, branch.name, span.first, span.last)
        return span if span_key(item.entry.digest for item in run) == made.key else None
