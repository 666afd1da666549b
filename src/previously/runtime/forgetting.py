"""Forgetting: the one thing that destroys. Asked for by a person, told beforehand, done in the backups too.

What goes: the words of the messages with their earlier wordings and swipes, and all memory that was made where they
could be read, so that no recap still tells of them. What people wrote about them stays; it is theirs to change. The
words go first and the places afterwards: what is interrupted can be asked for again.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from previously.core.errors import BadInput, PreviouslyError, UnknownStory
from previously.core.marks import MarkKind
from previously.core.scripts import Splice
from previously.core.spans import Span, position_on
from previously.runtime.backups import Backups
from previously.runtime.reading import persistently
from previously.runtime.times import time_at
from previously.storage.store import BranchInfo, Store, StoryInfo, StoryKey
from previously.storage.whole_stories import THIS_FILE, Backup, WholeStories

HELD_BY_HAND = frozenset({MarkKind.RECAP, MarkKind.CHAPTER_RECAP, MarkKind.BACKBONE, MarkKind.PIN})


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
    """Files that hold the story."""
    out_of_reach: tuple[str, ...]
    """Files that hold it, or did, and are not where they were made."""


@dataclass(frozen=True, slots=True)
class Destroyed:
    """What went."""

    story: str
    messages: int
    others: int
    texts: int
    backups: tuple[str, ...]
    """In which it was forgotten too."""
    out_of_reach: tuple[str, ...]
    """In which it was not."""


class Forgetting(Backups):
    """The stories of one owner, as far as they can be forgotten."""

    _store: Store
    _owner: str

    @abstractmethod
    def _keeps_backups(self) -> bool:
        """Whether backups can be made of the stories here at all."""

    @abstractmethod
    def _backup_at(self, path: Path) -> AbstractAsyncContextManager[tuple[Store, WholeStories]]:
        """A backup, to be changed."""

    async def to_forget(self, story: str, first: int | None = None, last: int | None = None) -> ToForget:
        """What `forget` would destroy."""
        info = await self._story_named(story)
        branch = info.active
        span = _span(branch, first, last)
        there, gone = await self._copies_of(story)
        if span is None:
            versions = len(await self._store.versions(info.key))
            return ToForget(story, None, branch.messages, 0, versions, 0, there, gone)
        entries = await self._store.standing_at(info.key, branch.name, span.first, span.last)
        texts = [last for _, last, _ in await self._store.cover(info.key, branch.name) if last >= span.first]
        marks = await self._store.marks(info.key, branch.name, HELD_BY_HAND, since=span.first - 1)
        others = len(entries) - len(span)
        return ToForget(story, span, len(span), max(0, others), len(texts), len(marks), there, gone)

    async def forget(
        self, story: str, first: int | None = None, last: int | None = None, *, backups: bool = True
    ) -> Destroyed:
        """Destroy messages of the active branch, from `first` to `last` (or that one), wherever they stand; without
        positions the whole story. With `backups` also in every backup that can be reached. There is no way back."""
        info = await self._story_named(story)
        span = _span(info.active, first, last)
        there, gone = await self._copies_of(story)
        if span is None:
            texts = len(await self._store.versions(info.key))
            await self._store.forget_story(info.key)
            done, failed = await self._in_backups(story, None, there if backups else ())
            out_of_reach = (*gone, *failed, *(() if backups else there))
            return Destroyed(story, info.active.messages, 0, texts, done, out_of_reach)
        entries = await self._store.standing_at(info.key, info.active.name, span.first, span.last)
        forgotten = await self._store.forget_entries(info.key, entries)
        await take_off(self._store, info.key, entries)
        done, failed = await self._in_backups(story, forgotten.hashes, there if backups else ())
        others = max(0, forgotten.entries - len(span))
        out_of_reach = (*gone, *failed, *(() if backups else there))
        return Destroyed(story, len(span), others, forgotten.versions, done, out_of_reach)

    async def _story_named(self, name: str) -> StoryInfo:
        info = await self._store.story(self._owner, name)
        if info is None:
            raise UnknownStory(name)
        return info

    async def _copies_of(self, story: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The files of the backups that hold a story: those that are there, and those that are not."""
        if not self._keeps_backups():
            return (), ()
        held = [made.path for made in await self.backups() if any(one.story == story for one in made.stories)]
        there = await asyncio.to_thread(lambda: [path for path in held if Path(path).is_file()])
        return tuple(there), tuple(path for path in held if path not in there)

    async def _in_backups(
        self, story: str, hashes: Collection[bytes] | None, paths: Collection[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Forget in these files too; where that was done, and where it could not be."""
        done, failed = list[str](), list[str]()
        for path in paths:
            try:
                async with self._backup_at(Path(path)) as (store, whole):
                    await _forget_copy(store, self._owner, story, hashes)
                    noted = await _noted_anew(whole)
                here = [made for made in await self.backups() if made.path == path]
                await self._whole().note_again(replace(here[-1], stories=noted.stories))
                done.append(path)
            except (PreviouslyError, OSError):
                failed.append(path)
        return tuple(done), tuple(failed)


async def take_off(store: Store, key: StoryKey, entries: Collection[int]) -> None:
    """Take entries off every path they stand on."""

    async def change(branch: str) -> None:
        info = await store.branch(key, branch)
        known = await store.known(key, branch)
        script = [Splice(at, 1, ()) for at, one in enumerate(known) if one.entry in entries]
        if script:
            await store.apply(key, branch, script, at=time_at(), expected_head=info.head)

    for branch in await store.branches(key):
        await persistently(lambda name=branch.name: change(name))  # type: ignore[misc]


async def _forget_copy(store: Store, owner: str, story: str, hashes: Collection[bytes] | None) -> None:
    info = await store.story(owner, story)
    if info is None:
        return
    if hashes is None:
        await store.forget_story(info.key)
        return
    entries = await store.entries_with(info.key, hashes)
    await store.forget_entries(info.key, entries)
    await take_off(store, info.key, entries)


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
    begin = position_on(branch.messages, first)
    end = begin if last is None else position_on(branch.messages, last)
    if end < begin:
        raise BadInput(f"Message {end} comes before message {begin}.")
    return Span(begin, end)
