"""Forgetting: the one thing that destroys. Asked for by a person, told beforehand, done in the backups too.

What goes: the words of the messages with their earlier wordings and swipes, and all memory that was made where they
could be read, so that no recap still tells of them. What people wrote about them stays; it is theirs to change. The
words go first and the places afterwards: what is interrupted can be asked for again.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from previously.core.deed import Deed, DeedKind
from previously.core.errors import BadInput, PreviouslyError, StoreProblem, UnknownStory
from previously.core.marks import MarkKind
from previously.core.path import Span, Splice, Splices, find_position
from previously.runtime.backup import CopiedStories
from previously.runtime.clock import time_at
from previously.runtime.note_deed import add_deed
from previously.runtime.retry import retry_when_moved
from previously.runtime.whole_stories import Whole, WholeStories
from previously.storage.copy import THIS_FILE
from previously.storage.store import BranchInfo, Store, StoryInfo, StoryKey, Traces
from previously.storage.tables import Tables

Wanted = Traces | str
"""Messages by their traces; a story by the time it was begun."""

BackupWork = Callable[[Store, WholeStories, Wanted], Awaitable[bool]]

HELD_BY_HAND = frozenset(
    {MarkKind.RECAP, MarkKind.CHAPTER_RECAP, MarkKind.BACKBONE, MarkKind.PIN}
    | {MarkKind.LORE, MarkKind.THREAD, MarkKind.HELD, MarkKind.WISH}
)


@dataclass(frozen=True, slots=True)
class ToForget:
    """The messages and texts that would go."""

    story: str
    span: Span | None
    """On the active branch; None = the whole story."""
    messages: int
    others: int
    """Earlier wordings and swipes of these."""
    texts: int
    """Memory texts in force that go with them, to be made anew."""
    by_hand: int
    """Texts of a person that may speak of them. They stay, unless all goes."""
    backups: tuple[str, ...]
    """Files that hold it."""
    missing: tuple[str, ...]
    """Files that held the story when they were made and cannot be opened now."""
    copies: tuple[str, ...]
    """The same story under other names here, restored or set aside. They stay."""
    continued_by: tuple[str, ...] = ()
    """The stories that continue it. They stay, without the memory that they had from here."""


@dataclass(frozen=True, slots=True)
class Destroyed:
    """The messages and texts that went."""

    story: str
    messages: int
    others: int
    texts: int
    backups: tuple[str, ...]
    """In which it was forgotten too."""
    still_in: tuple[str, ...]
    """In which it was not."""
    cleared: bool
    """True if no log beside the store holds it any more; otherwise somebody was reading."""


class ForgettableStories(CopiedStories):
    """The stories of one owner, as far as they can be forgotten."""

    _store: Store
    _owner: str

    @abstractmethod
    def _keeps_backups(self) -> bool:
        """Return whether backups can be made of the stories here at all."""

    @abstractmethod
    def _backup_at(self, path: Path, *, to_change: bool) -> AbstractAsyncContextManager[tuple[Store, WholeStories]]:
        """A backup; unless it is to be changed, a copy to look into."""

    async def to_forget(self, story: str, first: int | None = None, last: int | None = None) -> ToForget:
        """Return what `forget` would destroy."""
        info, span, entries = await self._asked_for(story, first, last)
        wanted = await self._wanted(info, span, entries)
        held, missing = await self._in_backups(info.name, wanted, _is_held)
        copies = await self._copies(info.name)
        later = await self._store.read(self._owner, lambda tables: _list_continuing(tables, info.key))
        if span is None:
            versions = await self._count_versions(info.key)
            return ToForget(story, None, info.active.messages, 0, versions, 0, held, missing, copies, later)

        def count(tables: Tables) -> tuple[int, int]:
            snapshot = tables.snapshot(info.key, info.active.name)
            texts = [last for _, last, _ in snapshot.cover() if last >= span.first]
            return len(texts), len(snapshot.marks(HELD_BY_HAND, since=span.first - 1))

        texts, marks = await self._store.read(self._owner, count)
        others = max(0, len(entries) - len(span))
        return ToForget(story, span, len(span), others, texts, marks, held, missing, copies, later)

    async def forget(
        self, story: str, first: int | None = None, last: int | None = None, *, backups: bool = True
    ) -> Destroyed:
        """Destroy messages of the active branch, from `first` to `last` (or that one), wherever they stand; without
        positions the whole story. With `backups` also in every backup that can be reached, and there first: what was
        interrupted can then be asked for again. There is no way back."""
        info, span, entries = await self._asked_for(story, first, last)
        wanted = await self._wanted(info, span, entries)
        done, still_in = await self._in_backups(info.name, wanted, _forget_in if backups else _is_held)
        if not backups:
            done, still_in = (), (*done, *still_in)
        if span is None:
            texts = await self._count_versions(info.key)
            cleared = await self._store.forget_story(info.key)
            return Destroyed(story, info.active.messages, 0, texts, done, still_in, cleared)
        path = await self._store.read(
            self._owner, lambda tables: tables.snapshot(info.key, info.active.name).path(span.first, span.last)
        )
        said = {item.entry.message.text for item in path}
        forgotten = await self._store.forget_entries(info.key, entries)
        await take_off(self._store, info.key, entries, said)
        told = f"message {span.first}" if len(span) == 1 else f"messages {span.first} to {span.last}"
        deed = Deed(DeedKind.FORGOT, what=told)
        await self._store.write(info.key, lambda tables: add_deed(tables, info.key, deed))
        others = max(0, forgotten.entries - len(span))
        return Destroyed(story, len(span), others, forgotten.versions, done, still_in, forgotten.cleared)

    async def _asked_for(
        self, name: str, first: int | None, last: int | None
    ) -> tuple[StoryInfo, Span | None, set[int]]:
        def read(tables: Tables) -> tuple[StoryInfo, Span | None, set[int]]:
            info = tables.stories.named(self._owner, name)
            if info is None:
                raise UnknownStory(name)
            span = _find_span(info.active, first, last)
            if span is None:
                return info, None, set()
            branch = tables.branch(info.key, info.active.name)
            return info, span, tables.forgetting.standing_at(info.key, branch, span.first, span.last)

        return await self._store.read(self._owner, read)

    async def _count_versions(self, key: StoryKey) -> int:
        return len(await self._store.read(self._owner, lambda tables: tables.versions.all(key)))

    async def _wanted(self, info: StoryInfo, span: Span | None, entries: set[int]) -> Wanted:
        """Return what is looked for in copies: messages by their traces, a story by the time it was begun."""
        if span is not None:
            return await self._store.read(self._owner, lambda tables: tables.forgetting.traces(info.key, entries))
        return await self._whole().begun(info.name) if self._keeps_backups() else ""

    async def _copies(self, name: str) -> tuple[str, ...]:
        if not self._keeps_backups():
            return ()
        whole = self._whole()
        return tuple(other for _, other in await whole.begun_at(await whole.begun(name)) if other != name)

    async def _in_backups(
        self, story: str, wanted: Wanted, work: BackupWork
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Do it in every backup: the files in which there was something to do and it was done, and those in which it
        could not be."""
        done, failed = list[str](), list[str]()
        for made in await self.backups() if self._keeps_backups() else ():
            if made.path in (*done, *failed):
                continue
            try:
                if not await asyncio.to_thread(Path(made.path).is_file):
                    raise StoreProblem(f"{made.path} is not there.")
                async with self._backup_at(Path(made.path), to_change=work is _forget_in) as (store, whole):
                    is_there = await work(store, whole, wanted)
                    noted = await _note_anew(whole) if is_there and work is _forget_in else None
                if noted is not None:
                    await self._whole().note_again(replace(made, stories=noted))
                if is_there:
                    done.append(made.path)
            except (PreviouslyError, OSError):
                if any(copy.story == story for copy in made.stories):
                    failed.append(made.path)
        return tuple(done), tuple(failed)


def _list_continuing(tables: Tables, key: StoryKey) -> tuple[str, ...]:
    stories = tables.forgetting.continuing(key)
    return tuple(info.name for info in tables.stories.all(key.owner) if info.key.story in stories)


async def _is_held(store: Store, whole: WholeStories, wanted: Wanted) -> bool:
    """Return whether a backup holds it."""
    if isinstance(wanted, str):
        return bool(await whole.begun_at(wanted))
    return any([(await _find_alike(store, info.key, wanted)) != (set(), True) for info in await whole.all()])


async def _forget_in(store: Store, whole: WholeStories, wanted: Wanted) -> bool:
    """Forget it in a backup; return whether there was anything. `StoreProblem` where it is uncertain what is meant."""
    if isinstance(wanted, str):
        alike = await whole.begun_at(wanted)
        for key, _ in alike:
            await store.forget_story(key)
        return bool(alike)
    was_there = False
    for info in await whole.all():
        entries, certain = await _find_alike(store, info.key, wanted)
        if entries:
            await store.forget_entries(info.key, entries)
            await take_off(store, info.key, entries)
            was_there = True
        if not certain:
            raise StoreProblem("Several messages say the same, and none stands in that place.")
    return was_there


async def _find_alike(store: Store, key: StoryKey, traces: Traces) -> tuple[set[int], bool]:
    """Return the entries of a story that have these traces, and whether that is certain."""
    return await store.read(key.owner, lambda tables: tables.forgetting.entries_like(key, traces))


async def take_off(store: Store, key: StoryKey, entries: Collection[int], said: Collection[str] = ()) -> None:
    """Take entries off every path they stand on, and pins that only repeat what they said."""

    def read(tables: Tables, branch: str) -> tuple[int, Splices]:
        snapshot = tables.snapshot(key, branch)
        return snapshot.head, [Splice(at, 1, ()) for at, known in enumerate(snapshot.known()) if known.entry in entries]

    def unpin(tables: Tables) -> list[BranchInfo]:
        for branch in tables.stories.branches(key):
            for pin in tables.snapshot(key, branch.name).marks({MarkKind.PIN}):
                if pin.text in said:
                    tables.marks.take_back(key, tables.branch(key, branch.name), pin.id)
        return tables.stories.branches(key)

    async def change(branch: str) -> None:
        head, script = await store.read(key.owner, lambda tables: read(tables, branch))
        if script:
            await store.apply(key, branch, script, at=time_at(), expected_head=head)

    for branch in await store.write(key, unpin):
        await retry_when_moved(partial(change, branch.name))


async def _note_anew(whole: WholeStories) -> tuple[Whole, ...]:
    """Set right what the backup says of itself, and return it. A file kept from an earlier version says nothing."""
    stories = tuple([await whole.look(info.name, lambda _: None) for info in await whole.all()])
    for old in await whole.backups():
        if old.path == THIS_FILE:
            await whole.note_again(replace(old, stories=stories))
    return stories


def _find_span(branch: BranchInfo, first: int | None, last: int | None) -> Span | None:
    if first is None:
        if last is not None:
            raise BadInput("A last message needs a first one.")
        return None
    begin = find_position(branch.messages, first)
    end = begin if last is None else find_position(branch.messages, last)
    if end < begin:
        raise BadInput(f"Message {end} comes before message {begin}.")
    return Span(begin, end)
