"""The history of memory: taking back, restoring, approving.

Versions are never deleted. What is undone stays in the log and can be restored; what is rejected says why. Folds belong
to the messages they read, so undoing or restoring one concerns every branch that holds those; what a person wrote
belongs to the branch, and so does taking it back.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import Mark, MarkKind, find_starts, is_of_a_span
from previously.core.path import Span, find_position
from previously.core.versions import IN_FORCE, REJECTED, TAKEN_BACK, Kind, Status, Version, has_read
from previously.runtime.by_hand import ByHand, Which
from previously.runtime.handle import PERSON
from previously.runtime.noted import notes_on
from previously.storage.store import BranchInfo

_RESTORABLE = IN_FORCE | {Status.UNDONE}

_DEEDS = {
    MarkKind.CHAPTER: "the end of the chapter",
    MarkKind.RECAP: "the recap by hand",
    MarkKind.CHAPTER_RECAP: "a chapter's recap by hand",
    MarkKind.BACKBONE: "the backbone by hand",
    MarkKind.PIN: "the pin",
    MarkKind.UNLOCKED: "the unlocking",
    MarkKind.SCENE: "the end of the scene",
    MarkKind.LORE: "what was written of an entry",
    MarkKind.THREAD: "what was said of a thread",
    MarkKind.HELD: "what was said of how things stand",
    MarkKind.WISH: "what was said of a wish",
    MarkKind.LEFT: "the leaving",
    MarkKind.ENTERED: "the entering",
    MarkKind.PRESENCE: "what was said of who was present",
}
"""What can be undone, in words."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A memory in force that stands, or stood, for a message."""

    kind: Kind
    version: int | None
    """None for what a person wrote."""
    span: Span
    cut: Span | None = None
    """The messages around this one that it tells no more, because it had grown too long; None where it tells it."""


class History(ByHand):
    """The versions of one story, as people decide about them."""

    async def log(self) -> list[Version]:
        """Every version of every memory, the oldest first."""
        return await self._store.versions(self._key)

    async def telling(self, position: int) -> list[Telling]:
        """Every memory in force that stands for the message at a position: notes of its span, then the texts."""
        branch, reading = await self._reading()
        at = find_position(branch.messages, position)
        notes = {(one.version.made.kind, one.span): one for one in await notes_on(self._store, self._key, branch)}
        found = [Telling(kind, one.version.id, span) for (kind, span), one in notes.items() if at in span]
        *closed, _ = await reading.timeline()
        texts = [(kind, await self._text(Which(kind))) for kind in (Kind.RECAP, Kind.BACKBONE)]
        around = [one for one in closed if one.last is not None and one.first <= at <= one.last]
        texts += [(Kind.CHAPTER, one.recap) for one in await reading.chapters(around)]
        for kind, text in texts:
            if text and at in text.span:
                cut = next((one for one in text.cuts if at in one), None)
                found.append(Telling(kind, text.version, text.span, cut))
        return found

    async def undo(self) -> str:
        """Take back the newest thing that was done to the memory of the active branch; what that was, in words."""
        branch = await self.branch_info()
        newest = 0
        for kind in (one for one in Kind if one is not Kind.STATE):  # which only follows from others
            covered = await self._store.cover(self._key, branch.name, kind)
            newest = max([newest, *(version for _, _, version in covered)])
        notes = await notes_on(self._store, self._key, branch)
        newest = max([newest, *(note.version.id for note in notes)])
        marks = await self._store.marks(self._key, branch.name)
        mark = max((one for one in marks if one.kind in _DEEDS), key=lambda one: one.id, default=None)
        if mark and newest <= mark.after:
            return await self._undo_mark(branch, mark)
        if not newest:
            raise BadInput("There is nothing to undo: nothing is remembered yet.")
        version = await self._store.set_status(self._key, newest, Status.UNDONE, reason=TAKEN_BACK)
        for note in notes:
            if note.version.id == newest:
                await self._without_snapshots(branch, note.span.first)
        return f"version {version.id}, {version.made.kind.value} of {version.made.span}"

    async def restore(self, version: int) -> Version:
        """Put an earlier version in force again, in place of what came after it and of what a person wrote since."""
        branch = await self.branch_info()
        wanted = await self._version(version)
        if wanted.made.status is Status.BY_HAND:
            what = await self._what(wanted)
            if not what:
                raise BadInput(f"Version {version} is about a chapter that is not on branch {branch.name!r} now.")
            await self.write(what, wanted.made.text)
            return wanted
        if wanted.made.status not in _RESTORABLE:
            raise BadInput(f"Version {version} was never in force: it is {wanted.made.status.value}.")
        chain = await self._chain(wanted)
        span = await self._span_now(branch, chain)
        if span is None:
            raise BadInput(
                f"Version {version} was made for messages that are not on branch {branch.name!r} as they were; "
                "write its words by hand to have them anyhow."
            )
        for one in chain:
            if one.made.status is Status.UNDONE:
                await self._store.set_status(self._key, one.id, Status.COMMITTED, reason="restored by a person")
        for _, last, other in await self._store.cover(self._key, branch.name, wanted.made.kind):
            found = await self._version(other)
            shadows = last > span.last or (last == span.last and other > version)
            if found.made.scope == wanted.made.scope and shadows:
                why = f"undone when version {version} was restored"
                await self._store.set_status(self._key, other, Status.UNDONE, reason=why)
        if is_of_a_span(wanted.made.scope):
            for note in await notes_on(self._store, self._key, branch):
                if note.version.made.key == wanted.made.key and note.version.id > version:
                    why = f"undone when version {version} was restored"
                    await self._store.set_status(self._key, note.version.id, Status.UNDONE, reason=why)
            await self._without_snapshots(branch, span.first)
        what = await self._what(wanted)
        if what and await self._is_by_hand(what):
            await self.unlock(what)
        return await self._version(version)

    async def pending(self) -> list[Version]:
        """What waits for approval, the oldest first; of texts that one answer gave, the first stands for all."""
        waiting = [one for one in await self._store.versions(self._key) if one.made.status is Status.PENDING]
        return [one for at, one in enumerate(waiting) if not any(_same_answer(one, other) for other in waiting[:at])]

    async def approve(self, version: int) -> Version:
        """Put a version that waits in force."""
        return await self._decide(version, Status.COMMITTED, "approved by a person")

    async def reject(self, version: int, reason: str = "") -> Version:
        """Refuse a version that waits. The next fold makes another."""
        why = f": {clean(reason)[0]}" if reason.strip() else ""
        return await self._decide(version, Status.REFUSED, f"{REJECTED}{why}")

    async def _decide(self, version: int, status: Status, reason: str) -> Version:
        found = await self._version(version)
        if found.made.status is not Status.PENDING:
            raise BadInput(f"Version {version} does not wait for approval: it is {found.made.status.value}.")
        for other in await self._store.versions(self._key):
            if other.id != version and other.made.status is Status.PENDING and _same_answer(other, found):
                await self._store.set_status(self._key, other.id, status, reason=reason)
        return await self._store.set_status(self._key, version, status, reason=reason)

    async def _undo_mark(self, branch: BranchInfo, mark: Mark) -> str:
        await self._store.take_back_mark(self._key, branch.name, mark.id)
        if mark.kind is MarkKind.CHAPTER and mark.made_by != PERSON:  # it would close there again by itself
            await self._add_mark(branch, MarkKind.KEPT_OPEN, mark.position)
        return f"{_DEEDS[mark.kind]} at message {mark.position}"

    async def _without_snapshots(self, branch: BranchInfo, first: int) -> None:
        """Take back snapshots, and loosen recaps, that may hold what was noted from a message on."""
        for _, last, version in await self._store.cover(self._key, branch.name, Kind.STATE):
            if last >= first:
                await self._store.set_status(self._key, version, Status.UNDONE, reason="a note in it was taken back")
        recaps = await self._store.cover(self._key, branch.name, Kind.RECAP)
        if self._rules.timeline.is_derived:
            await self._store.loosen(self._key, [version for _, last, version in recaps if last >= first])

    async def _what(self, version: Version) -> str:
        """The text that a version is a version of, as a person calls it; empty if the branch has no such text now."""
        if version.made.kind is Kind.BACKBONE:
            return Kind.BACKBONE.value
        if version.made.kind is Kind.SHORT:
            return ""  # a person writes the full form; this one follows
        _, reading = await self._reading()
        *closed, current = await reading.timeline()
        if version.made.kind is Kind.CHAPTER:
            found = [one.number for one in closed if version.made.scope in (one.scope, one.last_stretch.scope)]
            return f"{Kind.CHAPTER.value}:{found[-1]}" if found else ""
        scopes = [stretch.scope for stretch in current.stretches]
        return Kind.RECAP.value if version.made.scope in scopes else ""

    async def _chain(self, version: Version) -> list[Version]:
        """A version and all it was built on, the first link first."""
        chain = [version]
        while chain[0].made.before:
            chain.insert(0, await self._version(chain[0].made.before))
        return chain

    async def _span_now(self, branch: BranchInfo, chain: list[Version]) -> Span | None:
        """Where the run of the last of a chain stands on the branch, if all the runs of the chain stand there."""
        if is_of_a_span(chain[0].made.scope):
            return await self._run_of(branch, chain[0])
        marks = await self._store.marks(self._key, branch.name)
        scope = chain[0].made.scope
        first = find_starts(marks, [scope]).get(scope)
        span = None
        for one in chain:
            if first is None or first + len(one.made.span) > branch.messages:
                return None
            span = Span(first, first + len(one.made.span) - 1)
            run = await self._store.path(self._key, branch.name, span.first, span.last)
            if span_key(item.entry.digest for item in run) != one.made.key:
                return None
            first = span.last + 1
        return span

    async def _run_of(self, branch: BranchInfo, note: Version) -> Span | None:
        """Where the run that a note has read stands on the branch, the last time; None if it does not."""
        path = await self._store.path(self._key, branch.name, 0, branch.messages - 1) if branch.messages else []
        digests, length = [item.entry.digest for item in path], len(note.made.span)
        for at in range(len(digests) - length, -1, -1):
            if digests[at] == note.made.first and has_read(note.made, digests[at : at + length]):
                return Span(at, at + length - 1)
        return None


def _same_answer(one: Version, other: Version) -> bool:
    """Return whether two versions came of one answer: an update gives a recap, an episode and a note at once, and where
    a chapter ends with it the short form and the backbone; the question of a closed chapter gives these two and
    sometimes its full form. What is kept of a chapter reads more than the update did, and ends with it."""
    kinds = {one.made.kind, other.made.kind}
    of_chapters = {Kind.CHAPTER, Kind.SHORT, Kind.BACKBONE}
    if not kinds <= {Kind.RECAP, Kind.EPISODE, Kind.NOTE, *of_chapters} or (
        (one.made.at, one.made.anchor) != (other.made.at, other.made.anchor)
    ):
        return False
    return len(kinds) > 1 if kinds & of_chapters else one.made.key == other.made.key
