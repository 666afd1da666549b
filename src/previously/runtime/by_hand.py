"""What people write: where chapters end, texts in place of folded ones, locks and pins.

People win: what a person writes is kept at a mark of the branch and no fold touches it; memory goes on behind it. Each
text by hand is also a version, so that the log, `diff` and `undo` know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.marks import STORY_SCOPE, Chapter, Mark, MarkKind
from previously.core.messages import Draft, Message, Role, Text, cleaned
from previously.core.paths import OnPath
from previously.core.spans import Span, position_on
from previously.core.versions import IN_FORCE, Kind, NewVersion, Status
from previously.folds.rendering import told
from previously.runtime.handle import PERSON, StoryHandle, carried_by
from previously.runtime.reading import with_tail
from previously.runtime.remembering import ChapterText, MemoryText, Remembering, joined
from previously.runtime.times import time_at
from previously.storage.store import BranchInfo

_MARK_KINDS = {Kind.RECAP: MarkKind.RECAP, Kind.CHAPTER: MarkKind.CHAPTER_RECAP, Kind.BACKBONE: MarkKind.BACKBONE}


@dataclass(frozen=True, slots=True)
class Which:
    """A text that a person means: the recap, the backbone, or the recap of a chapter."""

    kind: Kind
    chapter: int = 0
    """The number of the chapter; 0 where it is none."""

    def __str__(self) -> str:
        return f"the recap of chapter {self.chapter}" if self.chapter else f"the {self.kind.value}"


def which(name: str) -> Which:
    """The text that `recap`, `backbone` or `chapter:N` means; `BadInput` for anything else."""
    kind, _, number = name.strip().partition(":")
    if kind in (Kind.RECAP, Kind.BACKBONE) and not number:
        return Which(Kind(kind))
    if kind == Kind.CHAPTER and number.isascii() and number.isdecimal() and int(number) > 0:
        return Which(Kind.CHAPTER, int(number))
    raise BadInput(f"There is no text called {name!r}: say recap, backbone, or chapter:N with the chapter's number.")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a text by hand stands, what it speaks for, and the marks that hold earlier words of the same."""

    scope: str
    first: int
    last: int
    marks: Sequence[Mark]


class ByHand(StoryHandle):
    """The hands of people on the memory of one story."""

    async def close_chapter(self, title: str = "", at: int = -1) -> ChapterText:
        """Close the chapter with the message at `at`. A chapter that ends there already gets the title."""
        branch, reading = await self._reading()
        position = position_on(branch.messages, at)
        words = _words(title.strip()) if title.strip() else ""
        marks = await self._store.marks(self._key, branch.name, {MarkKind.CHAPTER}, since=position)
        if marks and marks[0].position == position:
            await self._store.set_mark_text(self._key, branch.name, marks[-1].id, words, seen=b"")
        else:
            await self._add_mark(branch, MarkKind.CHAPTER, position, words)
        closed = [one for one in await reading.timeline() if one.last == position]
        return await reading.chapter(closed[-1])

    async def write(self, what: str, text: str) -> None:
        """Put a person's words in place of the recap, the backbone or `chapter:N`. No fold ever changes them."""
        words = _words(text)
        branch, reading = await self._reading()
        wanted = which(what)
        place = await self._place(branch, reading, wanted)
        run = await self._store.path(self._key, branch.name, place.first, place.last)
        seen = span_key(item.entry.digest for item in run)
        kind = _MARK_KINDS[wanted.kind]
        there = [mark for mark in place.marks if mark.kind is kind and mark.position == place.last]
        if there:
            await self._store.set_mark_text(self._key, branch.name, there[-1].id, words, seen=seen)
            mark = there[-1]
        else:
            mark = await self._add_mark(branch, kind, place.last, words, seen)
        for old in place.marks:
            if old.id != mark.id:
                await self._store.remove_mark(self._key, branch.name, old.id)
        await self._store.commit(self._key, _by_hand(wanted.kind, place, run, mark, words))

    async def lock(self, what: str) -> None:
        """Keep a text as it stands, as if a person had written it."""
        found = await self._text(which(what))
        if found is None or not found.text:
            raise BadInput(f"There is nothing to lock: {which(what)} has no text yet.")
        await self.write(what, found.text)

    async def unlock(self, what: str) -> None:
        """Take back what a person wrote or locked: the text is folded again."""
        branch, reading = await self._reading()
        wanted = which(what)
        place = await self._place(branch, reading, wanted)
        if not place.marks:
            raise BadInput(f"Nobody wrote or locked {wanted}.")
        for mark in place.marks:
            await self._store.remove_mark(self._key, branch.name, mark.id)
        for version in await self._store.versions(self._key):
            if version.made.carry in {carried_by(mark) for mark in place.marks} and version.made.status in IN_FORCE:
                await self._store.set_status(self._key, version.id, Status.UNDONE, reason="unlocked by a person")

    async def pin(self, text: str | None = None, *, at: int = -1) -> Mark:
        """Show words in every view: these, or those of the message at `at`."""
        branch = await self.branch_info()
        position = position_on(branch.messages, at)
        if text is None:
            found = await self._store.path(self._key, branch.name, position, position)
            text = told(found[0].entry.message) if found else ""
        return await self._add_mark(branch, MarkKind.PIN, position, _words(text))

    async def pins(self) -> list[Mark]:
        """What is pinned, in path order."""
        _, reading = await self._reading()
        return await reading.pins()

    async def unpin(self, pin: int) -> None:
        """Show a pin no more."""
        branch = await self.branch_info()
        if pin not in [mark.id for mark in await self.pins()]:
            raise BadInput(f"There is no pin {pin} on branch {branch.name!r}; `pins` lists them.")
        await self._store.remove_mark(self._key, branch.name, pin)

    async def _place(self, branch: BranchInfo, reading: Remembering, wanted: Which) -> _Place:
        """Where a person's words for a text stand."""
        *closed, current = await reading.timeline()
        if wanted.kind is Kind.CHAPTER:
            one = next((one for one in closed if one.number == wanted.chapter), None)
            if one is None or one.last is None:
                raise BadInput(f"There is no closed chapter {wanted.chapter}; there are {len(closed)}.")
            return _Place(one.scope, one.first, one.last, one.by_hand)
        if wanted.kind is Kind.BACKBONE:
            marks = await self._store.marks(self._key, branch.name, {MarkKind.BACKBONE})
            if not closed or closed[-1].last is None:
                raise BadInput("There is no backbone before the first chapter is closed.")
            return _Place(STORY_SCOPE, 0, closed[-1].last, marks)
        return await self._recap_place(branch, reading, current)

    async def _recap_place(self, branch: BranchInfo, reading: Remembering, current: Chapter) -> _Place:
        told_of = await reading.recap(current)
        tail = (await with_tail(self._store, self._key, branch, self._rules)).recap.tail_messages
        last = told_of[-1].span.last if told_of else branch.messages - tail - 1
        if last < current.first:
            raise BadInput(
                f"This chapter has no message outside the newest {tail} yet, which every view shows as they are; "
                "pin what should be kept in mind."
            )
        return _Place(current.scope, current.first, last, current.by_hand)

    async def _text(self, wanted: Which) -> MemoryText | None:
        branch, reading = await self._reading()
        *closed, current = await reading.timeline()
        if wanted.kind is Kind.RECAP:
            return joined(await reading.recap(current))
        if wanted.kind is Kind.BACKBONE:
            return joined(await reading.backbone(branch.messages - 1))
        one = next((one for one in closed if one.number == wanted.chapter), None)
        return (await reading.chapter(one)).recap if one else None


def _by_hand(kind: Kind, place: _Place, run: Sequence[OnPath], mark: Mark, text: str) -> NewVersion:
    return NewVersion(
        kind=kind,
        scope=place.scope,
        span=Span(place.first, place.last),
        key=span_key(item.entry.digest for item in run),
        before=None,
        text=text,
        carry=carried_by(mark),
        status=Status.COMMITTED,
        made_by=PERSON,
        reason="written by a person",
        at=time_at(),
        anchor=run[-1].node,
        reach=len(run),
    )


def _words(text: str) -> str:
    """A person's words as they can be stored; `BadInput` when there are none."""
    draft, _ = cleaned(Draft(Message(Role.USER, (Text(text),))))
    if not text.strip():
        raise BadInput("There are no words to keep.")
    return draft.message.text
