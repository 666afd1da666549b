"""What people write: where chapters end, texts in place of folded ones, locks and pins.

People win: what a person writes is kept at a mark of the branch and no fold touches it; memory goes on behind it. Each
text by hand is also a version, so that the log, `diff` and `undo` know it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.marks import STORY_SCOPE, Chapter, Mark, MarkKind
from previously.core.messages import Draft, Message, Role, Text, clean_draft
from previously.core.path import OnPath, Span, find_position
from previously.core.versions import Kind, NewVersion, Status
from previously.folds.boundary import OPENING_MESSAGES, find_opening
from previously.folds.prompts.templates import render_message
from previously.runtime.handle import PERSON, StoryHandle
from previously.runtime.reading import with_tail
from previously.runtime.remembering import ChapterText, MemoryText, Remembering, joined
from previously.runtime.times import time_at
from previously.storage.store import BranchInfo, Store

LONGEST_TITLE = 200
"""Characters: a title stands in views and prompts."""

FOLDED_ANEW = 3
"""The backbone takes in a chapter's new words if so few folds are enough; otherwise a person may `rebuild`."""

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
    if name in (Kind.RECAP, Kind.BACKBONE):
        return Which(Kind(name))
    if found := re.fullmatch(r"chapter:0*([1-9][0-9]{0,8})", name):
        return Which(Kind.CHAPTER, int(found[1]))
    raise BadInput(f"There is no text called {name!r}: say recap, backbone, or chapter:N with the chapter's number.")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a text by hand stands, what it speaks for, and the marks that hold earlier words of the same."""

    scope: str
    first: int
    last: int
    marks: Sequence[Mark]
    of: int = 0
    """The origin of the mark that closes the chapter it is about."""


class ByHand(StoryHandle):
    """The hands of people on the memory of one story."""

    async def close_chapter(self, title: str = "", at: int = -1) -> ChapterText:
        """Close the chapter with the message at `at`. A chapter that ends there already gets the title."""
        branch, reading = await self._reading()
        position = find_position(branch.messages, at)
        words = _words(title.strip()) if title.strip() else ""
        if len(words) > LONGEST_TITLE:
            raise BadInput(f"A title has at most {LONGEST_TITLE} characters; this one has {len(words)}.")
        marks = await self._store.marks(self._key, branch.name, {MarkKind.CHAPTER}, since=position)
        there = [mark for mark in marks if mark.position == position]
        if there and not words:
            raise BadInput(f"A chapter ends with message {position} already; give a title to name it.")
        words = words or await self._heading(branch, reading, position)
        await self._add_mark(branch, MarkKind.CHAPTER, position, words, instead_of=there[:1])
        closed = [one for one in await reading.timeline() if one.last == position]
        return (await reading.chapters(closed[-1:]))[0]

    async def _heading(self, branch: BranchInfo, reading: Remembering, position: int) -> str:
        """What the chapter that a message stands in is called by its own first messages; empty if they do not say."""
        first = max(one.first for one in await reading.timeline() if one.first <= position)
        last = min(first + OPENING_MESSAGES - 1, position)
        return find_opening(await self._store.path(self._key, branch.name, first, last)).title[:LONGEST_TITLE]

    async def write(self, what: str, text: str) -> None:
        """Put a person's words in place of the recap, the backbone or `chapter:N`. No fold ever changes them."""
        await self._write(what, text)

    async def _write(self, what: str, text: str, *, flagged: bool = False) -> None:
        words, wanted = _words(text), which(what)

        async def look(store: Store) -> tuple[BranchInfo, _Place, list[OnPath]]:
            handle = ByHand(store, self._key, self._tuning)
            branch, reading = await handle._reading()
            place = await handle._place(branch, reading, wanted)
            return branch, place, await store.path(self._key, branch.name, place.first, place.last)

        branch, place, run = await self._store.at_one_moment(self._key.owner, look)
        seen = b"" if flagged else span_key(item.entry.digest for item in run)
        kind = _MARK_KINDS[wanted.kind]
        await self._add_mark(branch, kind, place.last, words, seen=seen, of=place.of, instead_of=place.marks)
        await self._store.commit(self._key, _version(wanted.kind, place, run, words))
        if wanted.kind is Kind.CHAPTER:
            covers = await self._store.cover(self._key, branch.name, Kind.BACKBONE)
            later = [version for _, last, version in covers if last >= place.last]
            if len(later) <= FOLDED_ANEW:
                await self._store.loosen(self._key, later)

    async def lock(self, what: str) -> None:
        """Keep a text as it stands, as if a person had written it."""
        found = await self._text(which(what))
        if found is None or not found.text:
            raise BadInput(f"There is nothing to lock: {which(what)} has no text yet.")
        await self._write(what, found.text, flagged=found.stale)

    async def unlock(self, what: str) -> None:
        """Give up what a person wrote or locked: the text is folded again."""
        branch, reading = await self._reading()
        wanted = which(what)
        marks = await self._marks_of(branch, await reading.timeline(), wanted)
        if not marks:
            raise BadInput(f"Nobody wrote or locked {wanted}.")
        await self._add_mark(branch, MarkKind.UNLOCKED, marks[-1].position, instead_of=marks)

    async def flagged(self) -> list[str]:
        """The texts by hand under which messages have changed since: `recap`, `backbone`, `chapter:N`."""
        branch, reading = await self._reading()
        *closed, current = await reading.timeline()
        held = [(f"chapter:{one.number}", one.first, mark) for one in closed for mark in one.by_hand]
        held += [("recap", current.first, mark) for mark in current.by_hand]
        held += [("backbone", 0, mark) for mark in await self._store.marks(self._key, branch.name, {MarkKind.BACKBONE})]
        found = []
        for what, first, mark in held:
            run = await self._store.path(self._key, branch.name, first, mark.position)
            if mark.seen != span_key(item.entry.digest for item in run):
                found.append(what)
        return list(dict.fromkeys(found))

    async def pin(self, text: str | None = None, *, at: int = -1) -> Mark:
        """Show words in every view: these, or those of the message at `at`."""
        branch = await self.branch_info()
        position = find_position(branch.messages, at) if text is None or branch.messages else -1
        if text is None:
            found = await self._store.path(self._key, branch.name, position, position)
            text = render_message(found[0].entry.message) if found else ""
        return await self._add_mark(branch, MarkKind.PIN, position, _words(text))

    async def pins(self) -> list[Mark]:
        """What is pinned, in path order."""
        _, reading = await self._reading()
        return (await reading.standing())[0]

    async def unpin(self, pin: int) -> None:
        """Show a pin no more."""
        branch = await self.branch_info()
        if pin not in [mark.id for mark in await self.pins()]:
            raise BadInput(f"There is no pin {pin} on branch {branch.name!r}; `show` lists them.")
        await self._store.take_back_mark(self._key, branch.name, pin)

    async def _place(self, branch: BranchInfo, reading: Remembering, wanted: Which) -> _Place:
        """Where a person's words for a text stand."""
        chapters = await reading.timeline()
        marks = await self._marks_of(branch, chapters, wanted)
        *closed, current = chapters
        if wanted.kind is Kind.RECAP:
            return await self._recap_place(branch, reading, current, marks)
        if wanted.kind is Kind.CHAPTER:
            one = _numbered(closed, wanted.chapter)
            assert one.last is not None and one.mark is not None, "it is closed"
            return _Place(one.scope, one.first, one.last, marks, one.mark.origin)
        if not closed or closed[-1].last is None:
            raise BadInput("There is no backbone before the first chapter is closed.")
        told_of = await reading.backbone(closed[-1].last)
        reached = told_of[-1].span.last if told_of else -1
        last = reached if reached in [one.last for one in closed] else closed[-1].last
        return _Place(STORY_SCOPE, 0, last, marks)

    async def _is_by_hand(self, what: str) -> bool:
        branch, reading = await self._reading()
        return bool(await self._marks_of(branch, await reading.timeline(), which(what)))

    async def _marks_of(self, branch: BranchInfo, chapters: Sequence[Chapter], wanted: Which) -> Sequence[Mark]:
        """The marks that hold a person's words for a text."""
        if wanted.kind is Kind.BACKBONE:
            return await self._store.marks(self._key, branch.name, {MarkKind.BACKBONE})
        return (chapters[-1] if wanted.kind is Kind.RECAP else _numbered(chapters[:-1], wanted.chapter)).by_hand

    async def _recap_place(
        self, branch: BranchInfo, reading: Remembering, current: Chapter, marks: Sequence[Mark]
    ) -> _Place:
        tail = await self._tail(branch)
        told_of = await reading.recap(current, tail)
        last = told_of[-1].span.last if told_of else branch.messages - tail - 1
        if last < current.first:
            raise BadInput(
                f"This chapter has no message outside the newest {tail} yet, which every view shows as they are; "
                "pin what should be kept in mind."
            )
        return _Place(current.scope, current.first, last, marks)

    async def _tail(self, branch: BranchInfo) -> int:
        return (await with_tail(self._store, self._key, branch, self._rules)).recap.tail_messages

    async def _text(self, wanted: Which) -> MemoryText | None:
        branch, reading = await self._reading()
        *closed, current = await reading.timeline()
        if wanted.kind is Kind.RECAP:
            return joined(await reading.recap(current, await self._tail(branch)))
        if wanted.kind is Kind.BACKBONE:
            last = closed[-1].last if closed else None
            return joined(await reading.backbone(-1 if last is None else last))
        return (await reading.chapters([_numbered(closed, wanted.chapter)]))[0].recap


def _numbered(closed: Sequence[Chapter], number: int) -> Chapter:
    for one in closed:
        if one.number == number:
            return one
    raise BadInput(f"There is no closed chapter {number}; there are {len(closed)}.")


def _version(kind: Kind, place: _Place, run: Sequence[OnPath], text: str) -> NewVersion:
    """What the log keeps of a person's words."""
    return NewVersion(
        kind=kind,
        scope=place.scope,
        span=Span(place.first, place.last),
        key=span_key(item.entry.digest for item in run),
        before=None,
        text=text,
        carry="",
        status=Status.BY_HAND,
        made_by=PERSON,
        reason="written by a person",
        at=time_at(),
        anchor=run[-1].node,
        reach=len(run),
    )


def _words(text: str) -> str:
    """A person's words as they can be stored; `BadInput` when there are none."""
    if not text.strip():
        raise BadInput("There are no words to keep.")
    return clean_draft(Draft(Message(Role.USER, (Text(text),))))[0].message.text
