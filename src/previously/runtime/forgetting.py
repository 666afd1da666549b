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
from pathlib import Path

from previously.core.errors import BadInput, PreviouslyError, StoreProblem, UnknownStory
from previously.core.marks import MarkKind
from previously.core.path import Span, Splice, find_position
from previously.runtime.backups import Backups
from previously.runtime.reading import persistently
from previously.runtime.times import time_at
from previously.storage.copy import THIS_FILE, Backup, WholeStories
from previously.storage.store import BranchInfo, Store, StoryInfo, StoryKey, Traces

Wanted = Traces | str
"""Messages by their traces; a story by the time it was begun."""

Deed = Callable[[Store, WholeStories, Wanted], Awaitable[bool]]

HELD_BY_HAND = frozenset(
    {MarkKind.RECAP, MarkKind.CHAPTER_RECAP, MarkKind.BACKBONE, MarkKind.PIN}
    | {MarkKind.LORE, MarkKind.THREAD, MarkKind.HELD, MarkKind.WISH}
)


@dataclass(frozen=True, slots=True)
class ToForget:
    """What would go."""

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


@dataclass(frozen=True, slots=True)
class Destroyed:
    """What went."""

    story: str
    messages: int
    others: int
    texts: int
    backups: tuple[str, ...]
    """In which it was forgotten too."""
    still_in: tuple[str, ...]
    """In which it was not."""
    cleared: bool
    """Whether no log beside the store holds it any more; otherwise somebody was reading."""


class Forgetting(Backups):
    """The stories of one owner, as far as they can be forgotten."""

    _store: Store
    _owner: str

    @abstractmethod
    def _keeps_backups(self) -> bool:
        """Whether backups can be made of the stories here at all."""

    @abstractmethod
    def _backup_at(self, path: Path, *, to_change: bool) -> AbstractAsyncContextManager[tuple[Store, WholeStories]]:
        """A backup; unless it is to be changed, a copy to look into."""

    async def to_forget(self, story: str, first: int | None = None, last: int | None = None) -> ToForget:
        """What `forget` would destroy."""
        info, span, entries = await self._asked_for(story, first, last)
        wanted = await self._wanted(info, span, entries)
        held, missing = await self._in_backups(info.name, wanted, _holds)
        copies = await self._copies(info.name)
        if span is None:
            versions = len(await self._store.versions(info.key))
            return ToForget(story, None, info.active.messages, 0, versions, 0, held, missing, copies)
        texts = [last for _, last, _ in await self._store.cover(info.key, info.active.name) if last >= span.first]
        marks = await self._store.marks(info.key, info.active.name, HELD_BY_HAND, since=span.first - 1)
        others = max(0, len(entries) - len(span))
        return ToForget(story, span, len(span), others, len(texts), len(marks), held, missing, copies)

    async def forget(
        self, story: str, first: int | None = None, last: int | None = None, *, backups: bool = True
    ) -> Destroyed:
        """Destroy messages of the active branch, from `first` to `last` (or that one), wherever they stand; without
        positions the whole story. With `backups` also in every backup that can be reached, and there first: what was
        interrupted can then be asked for again. There is no way back."""
        info, span, entries = await self._asked_for(story, first, last)
        wanted = await self._wanted(info, span, entries)
        done, still_in = await self._in_backups(info.name, wanted, _forget_in if backups else _holds)
        if not backups:
            done, still_in = (), (*done, *still_in)
        if span is None:
            texts = len(await self._store.versions(info.key))
            cleared = await self._store.forget_story(info.key)
            return Destroyed(story, info.active.messages, 0, texts, done, still_in, cleared)
        said = {
            one.entry.message.text for one in await self._store.path(info.key, info.active.name, span.first, span.last)
        }
        forgotten = await self._store.forget_entries(info.key, entries)
        await take_off(self._store, info.key, entries, said)
        others = max(0, forgotten.entries - len(span))
        return Destroyed(story, len(span), others, forgotten.versions, done, still_in, forgotten.cleared)

    async def _asked_for(
        self, name: str, first: int | None, last: int | None
    ) -> tuple[StoryInfo, Span | None, set[int]]:
        info = await self._store.story(self._owner, name)
        if info is None:
            raise UnknownStory(name)
        span = _span(info.active, first, last)
        if span is None:
            return info, None, set()
        return info, span, await self._store.standing_at(info.key, info.active.name, span.first, span.last)

    async def _wanted(self, info: StoryInfo, span: Span | None, entries: set[int]) -> Wanted:
        """What is looked for in copies: messages by their traces, a story by the time it was begun."""
        if span is not None:
            return await self._store.traces(info.key, entries)
        return await self._whole().begun(info.name) if self._keeps_backups() else ""

    async def _copies(self, name: str) -> tuple[str, ...]:
        if not self._keeps_backups():
            return ()
        whole = self._whole()
        return tuple(other for _, other in await whole.begun_at(await whole.begun(name)) if other != name)

    async def _in_backups(self, story: str, wanted: Wanted, deed: Deed) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Do it in every backup: the files in which there was something to do and it was done, and those in which it
        could not be."""
        done, failed = list[str](), list[str]()
        for made in await self.backups() if self._keeps_backups() else ():
            if made.path in (*done, *failed):
                continue
            try:
                if not await asyncio.to_thread(Path(made.path).is_file):
                    raise StoreProblem(f"{made.path} is not there.")
                async with self._backup_at(Path(made.path), to_change=deed is _forget_in) as (store, whole):
                    found = await deed(store, whole, wanted)
                    noted = await _noted_anew(whole) if found and deed is _forget_in else None
                if noted:
                    await self._whole().note_again(replace(made, stories=noted.stories))
                if found:
                    done.append(made.path)
            except (PreviouslyError, OSError):
                if any(one.story == story for one in made.stories):
                    failed.append(made.path)
        return tuple(done), tuple(failed)


async def _holds(store: Store, whole: WholeStories, wanted: Wanted) -> bool:
    """Whether a backup holds it."""
    if isinstance(wanted, str):
        return bool(await whole.begun_at(wanted))
    return any([(await store.entries_like(info.key, wanted)) != (set(), True) for info in await whole.all()])


async def _forget_in(store: Store, whole: WholeStories, wanted: Wanted) -> bool:
    """Forget it in a backup; whether there was anything. `StoreProblem` where it is not certain what is meant."""
    if isinstance(wanted, str):
        alike = await whole.begun_at(wanted)
        for key, _ in alike:
            await store.forget_story(key)
        return bool(alike)
    found = False
    for info in await whole.all():
        entries, certain = await store.entries_like(info.key, wanted)
        if entries:
            await store.forget_entries(info.key, entries)
            await take_off(store, info.key, entries)
            found = True
        if not certain:
            raise StoreProblem("Several messages say the same, and none stands in that place.")
    return found


async def take_off(store: Store, key: StoryKey, entries: Collection[int], said: Collection[str] = ()) -> None:
    """Take entries off every path they stand on, and pins that only repeat what they said."""

    async def change(branch: str) -> None:
        info = await store.branch(key, branch)
        known = await store.known(key, branch)
        script = [Splice(at, 1, ()) for at, one in enumerate(known) if one.entry in entries]
        if script:
            await store.apply(key, branch, script, at=time_at(), expected_head=info.head)

    for branch in await store.branches(key):
        for pin in await store.marks(key, branch.name, {MarkKind.PIN}):
            if pin.text in said:
                await store.take_back_mark(key, branch.name, pin.id)
        await persistently(lambda name=branch.name: change(name))  # type: ignore[misc]


async def _noted_anew(whole: WholeStories) -> Backup:
    """What the backup says of itself, set right."""
    (old,) = [made for made in await whole.backups() if made.path == THIS_FILE]
    stories = [await whole.look(info.name, lambda _: None) for info in await whole.all()]
    new = replace(old, stories=tuple(stories))
    await whole.note_again(new)
    return new


def _span(branch: BranchInfo, first: int | None, last: int | None) -> Span | None:
    if first is None:
        if last is not None:
            raise BadInput("A last message needs a first one.")
        return None
    begin = find_position(branch.messages, first)
    end = begin if last is None else find_position(branch.messages, last)
    if end < begin:
        raise BadInput(f"Message {end} comes before message {begin}.")
    return Span(begin, end)
