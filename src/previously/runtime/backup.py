"""Backing up, restoring and moving: whole stories from one place to another, each verified by its digest.

A story is copied whole or not at all, and those that were copied stay if a later one fails: what was interrupted is
simply done again, and finds them there. Nothing is ever overwritten. A story whose name is taken, by one with another
digest, is refused before anything is written; with `replace` the one that has the name keeps all it has under another
name. Nobody is kept from writing meanwhile: each story is copied as it was at one moment, and `move` says afterwards
which have changed since. Which files and databases these are is for `app` to say.
"""

from __future__ import annotations

import asyncio
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from dataclasses import replace as changed
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from previously.core.errors import BadInput, PreviouslyError, StoreProblem, UnknownStory
from previously.core.exact_names import check_new_name, is_storable, show_name
from previously.core.json_values import clean
from previously.runtime.clock import time_at
from previously.runtime.whole_stories import Backup, NameTaken, Whole, WholeStories
from previously.storage.copy import THIS_FILE
from previously.storage.spool import Spool
from previously.storage.store import Damaged, StoryInfo
from previously.storage.story_file import read_story_lines, write_story_lines

T = TypeVar("T")

CopyProgress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

PASSES = 3
"""A story that is copied is read, written, and read again where it was written."""


class Outcome(StrEnum):
    """The outcome of copying a story."""

    RESTORED = "restored"
    MOVED = "moved"
    THERE = "already there"
    CHANGED = "changed meanwhile"


@dataclass(frozen=True, slots=True)
class Copied:
    """One story that was restored or moved."""

    story: str
    """Its name where it is now."""
    messages: int
    digest: str
    status: Outcome


class CopyWatch:
    """Passes on how far the work of other threads has got, and has them stop when nobody waits for it any more."""

    def __init__(self, stories: Sequence[StoryInfo], passes: int, progress: CopyProgress | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._progress = progress
        self._total = passes * sum(info.active.messages for info in stories)
        self._done = 0
        self._stopped = False

    def step(self, messages: int) -> None:
        """Count so many more as done. Any thread may call it."""
        if self._stopped:
            raise PreviouslyError("Interrupted.")
        if messages and self._progress:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._add, messages)

    async def during(self, work: Awaitable[T]) -> T:
        """Wait for work that takes steps."""
        try:
            return await work
        except asyncio.CancelledError:
            self._stopped = True
            raise
        except OSError as error:
            place = tempfile.gettempdir()
            raise StoreProblem(f"A temporary file in {place} cannot be used: {error.strerror or error}.") from error

    def _add(self, messages: int) -> None:
        self._done = min(self._done + messages, self._total)
        if self._progress:
            self._progress(self._done, self._total)


def find_backup_path(given: str | Path | None) -> Path:
    """Return the file that a backup goes to; in a directory, or where none is given, one named after the time."""
    now = time_at()[:19].translate({ord("-"): None, ord(":"): None, ord("T"): "-"})
    place = Path(given) if given is not None else Path()
    path = (place / f"previously-{now}.db" if place.is_dir() else place).absolute()
    if clean(str(path))[1]:
        raise BadInput("The name of the file holds characters that cannot be stored.")
    return path


async def choose_stories(source: WholeStories, names: Collection[str] | None) -> list[StoryInfo]:
    """The stories of those names, or all."""
    infos = {info.name: info for info in await source.all()}
    if not infos:
        raise BadInput(f"There are no stories in {source.place}.")
    for name in names or ():
        if name not in infos:
            raise UnknownStory(name)
    return [infos[name] for name in dict.fromkeys(names or infos)]


async def copy_to_backup(
    source: WholeStories, target: WholeStories, stories: Sequence[StoryInfo], progress: CopyProgress | None
) -> list[Whole]:
    """Copy stories into an empty store, which notes by itself what it holds."""
    watch = CopyWatch(stories, PASSES, progress)
    copied = [await _copy_story(source, target, info.name, info.name, watch) for info in stories]
    await target.note(Backup(THIS_FILE, time_at(), tuple(copied)))
    return copied


async def copy_books(source: WholeStories, target: WholeStories) -> None:
    """Copy every book of the owner, those included that no story has attached. One that is there, the same, stays."""
    for name in await source.books():
        if book := await source.book(name):
            await target.take_in_book(book)


async def copy_from_backup(
    source: WholeStories,
    target: WholeStories,
    stories: Sequence[StoryInfo],
    *,
    name: str | None = None,
    replace: bool = False,
    progress: CopyProgress | None = None,
) -> list[Copied]:
    """Put stories of a backup into a store, under their own names or, a single one, under another. If one of them is
    not what was backed up, nothing is written."""
    if name is not None and len(stories) != 1:
        raise BadInput("Another name can be given to one story only: say with --story which.")
    watch = CopyWatch(stories, PASSES + 1, progress)
    looked = {info.name: await watch.during(source.look(info.name, watch.step)) for info in stories}
    await _check_undamaged(source, looked.values())
    names = {info.name: name or info.name for info in stories}
    advice = "give another name with --as, set that one aside with --replace, or choose another place with --db"
    there = await _find_there(source, target, names, looked, advice if not replace else None, watch)
    return await _copy_missing(source, target, names, there, Outcome.RESTORED, replace, watch)


async def copy_elsewhere(
    source: WholeStories,
    target: WholeStories,
    stories: Sequence[StoryInfo],
    *,
    replace: bool = False,
    progress: CopyProgress | None = None,
) -> list[Copied]:
    """Copy stories to another store; the source is left as it is. Of a story that somebody wrote to meanwhile, the copy
    is older, and it is said to have changed. To move it again takes `replace`, since its name is taken by then: that
    sets the older copy aside and destroys nothing."""
    watch = CopyWatch(stories, PASSES + 1, progress)
    names = {info.name: info.name for info in stories}
    advice = "set that one aside with --replace, or choose another place"
    there = await _find_there(source, target, names, {}, advice if not replace else None, watch)
    done = await _copy_missing(source, target, names, there, Outcome.MOVED, replace, watch)
    for number, copied in enumerate(done):
        if (await watch.during(source.look(copied.story, watch.step))).digest != copied.digest:
            done[number] = changed(copied, status=Outcome.CHANGED)
    return done


async def _copy_missing(
    source: WholeStories,
    target: WholeStories,
    names: Mapping[str, str],
    there: Mapping[str, Whole],
    outcome: Outcome,
    replace: bool,
    watch: CopyWatch,
) -> list[Copied]:
    """Copy those stories that are not there, each under the name that stands beside its own."""
    done: list[Copied] = []
    for name, new in names.items():
        whole = there.get(name)
        status = outcome if whole is None else Outcome.THERE
        if whole is None:
            aside = f"{new} (until {time_at()[:19]})" if replace else ""
            whole = await _copy_story(source, target, name, new, watch, aside=aside)
        done.append(Copied(new, whole.messages, whole.digest, status))
    return done


async def _copy_story(
    source: WholeStories, target: WholeStories, name: str, new: str, watch: CopyWatch, *, aside: str = ""
) -> Whole:
    with Spool() as spool:
        whole = await watch.during(source.hand_over(name, spool, watch.step))
        await watch.during(target.take_in(new, spool, watch.step, aside=aside))
    return whole


async def _find_there(
    source: WholeStories,
    target: WholeStories,
    names: Mapping[str, str],
    looked: Mapping[str, Whole],
    advice: str | None,
    watch: CopyWatch,
) -> dict[str, Whole]:
    """Those stories that the target has already, the same to the last message. Others of the same name are refused with
    advice, if any is given."""
    taken = {info.name for info in await target.all()}
    there: dict[str, Whole] = {}
    others: list[str] = []
    for name, new in names.items():
        if new in taken:
            whole = looked[name] if name in looked else await watch.during(source.look(name, watch.step))
            if whole.digest == await _find_digest(target, new, watch):
                there[name] = whole
            else:
                others.append(new)
    if others and advice:
        first = f"{others[0]!r}" if len(others) == 1 else f"{others[0]!r} and {len(others) - 1} more"
        raise NameTaken(f"{target.place} has another story named {first}; nothing was written: {advice}.")
    return there


async def _find_digest(stories: WholeStories, name: str, watch: CopyWatch) -> str:
    """The digest of a story; none if it is damaged: then it is not the same as any other, and may be set aside."""
    try:
        return (await watch.during(stories.look(name, watch.step))).digest
    except StoreProblem:
        return ""


async def _check_undamaged(source: WholeStories, stories: Collection[Whole]) -> None:
    """Refuse what is not as it was when the backup was made, as far as the file can tell."""
    own = [made for made in await source.backups() if made.path == THIS_FILE]
    if not own:  # a store that was never a backup
        if damage := await source.damage():
            raise StoreProblem(f"{source.place} is damaged: {damage[0]}.")
        return
    noted = {whole.story: whole.digest for whole in own[-1].stories}
    lost = noted.keys() - {info.name for info in await source.all()}
    wrong = sorted(lost.union(whole.story for whole in stories if noted.get(whole.story, whole.digest) != whole.digest))
    if wrong:
        raise StoreProblem(
            f"Story {wrong[0]!r} in {source.place} is not what was backed up, so nothing was restored: the file is "
            "damaged, or was written to since; then it is a store like any other, and `move` takes it as it is."
        )


@dataclass(frozen=True, slots=True)
class Copies:
    """The stories that were restored or moved, and the places."""

    source: str
    target: str
    stories: tuple[Copied, ...]


class CopiedStories(ABC):
    """The stories of one owner, as far as they are copied whole."""

    @abstractmethod
    def _whole(self) -> WholeStories:
        """The stories here; `BadInput` if they are of a kind that cannot be copied."""

    @abstractmethod
    def _keeps_backups(self) -> bool:
        """Return whether backups are made here at all."""

    @abstractmethod
    def _new_file(self, path: Path) -> AbstractAsyncContextManager[WholeStories]:
        """A new store in a file, which is there, whole, after the block."""

    @abstractmethod
    def _file_at(self, path: Path) -> AbstractAsyncContextManager[WholeStories]:
        """The stories in a file, to be read."""

    @abstractmethod
    def _elsewhere(self, place: str) -> AbstractAsyncContextManager[WholeStories]:
        """The stories of the same owner at another place; `BadInput` if it is this one."""

    async def backup(
        self,
        path: str | Path | None = None,
        *,
        stories: Collection[str] | None = None,
        progress: CopyProgress | None = None,
    ) -> Backup:
        """Copy stories, or all and every book, to a new file, which is a store itself. In a directory, and without a
        path in the current one, it is named after the time. It is there whole or not at all, and no other file is ever
        overwritten."""
        source, file = self._whole(), find_backup_path(path)
        chosen = await choose_stories(source, stories)
        async with self._new_file(file) as target:
            made = Backup(str(file), time_at(), tuple(await copy_to_backup(source, target, chosen, progress)))
            if stories is None:
                await copy_books(source, target)
        try:
            await source.note(made)
        except StoreProblem as problem:
            raise StoreProblem(f"{file} was made and is whole, but could not be noted. {problem}") from problem
        return made

    async def backups(self) -> list[Backup]:
        """The backups that were made of these stories, the oldest first. Their files may be gone by now."""
        if not self._keeps_backups():
            return []
        return [made for made in await self._whole().backups() if made.path != THIS_FILE]

    async def restore(
        self,
        path: str | Path,
        *,
        stories: Collection[str] | None = None,
        name: str | None = None,
        replace: bool = False,
        progress: CopyProgress | None = None,
    ) -> Copies:
        """Put stories, or all, of a backup here; a single one may be given another name. The file stays as it is. A
        story that is here already, the same, is left alone. Another of the same name is refused (`BadInput`), or with
        `replace` kept under another name. If anything is refused, nothing is written."""
        if name is not None:
            check_new_name("A story", name)
        target = self._whole()
        async with self._file_at(Path(path)) as source:
            chosen = await choose_stories(source, stories)
            done = await copy_from_backup(source, target, chosen, name=name, replace=replace, progress=progress)
            if stories is None:
                await copy_books(source, target)
        return Copies(source.place, target.place, tuple(done))

    async def move(
        self,
        to: str | Path,
        *,
        stories: Collection[str] | None = None,
        replace: bool = False,
        progress: CopyProgress | None = None,
    ) -> Copies:
        """Copy stories, or all, to another place: a file or `postgresql://…`. What is here stays. The rules are those
        of `restore`, and what was interrupted can be done again. A story that was written to meanwhile is said to have
        changed; it is moved again with `replace`, which keeps the older copy under another name."""
        source = self._whole()
        chosen = await choose_stories(source, stories)
        async with self._elsewhere(str(to)) as target:
            done = await copy_elsewhere(source, target, chosen, replace=replace, progress=progress)
            if stories is None:
                await copy_books(source, target)
            known = {made.path for made in await target.backups()}
            for made in await self.backups():  # what is forgotten there is to be forgotten in these too
                if made.path not in known:
                    await target.note(made)
        return Copies(source.place, target.place, tuple(done))

    async def write_story_file(self, story: str, path: str | Path) -> Whole:
        """Write a story whole to a text file (see `storage.story_file`), in place of a file that is there."""
        from previously.formats.write_file import write_atomically  # formats load much that other commands do without

        source, target = self._whole(), Path(path)
        watch = CopyWatch([], 1, None)
        with Spool() as spool:
            whole = await watch.during(source.hand_over(story, spool, watch.step))
            lines = write_story_lines(story, whole.messages, spool)
            await watch.during(asyncio.to_thread(write_atomically, target, (line.encode() for line in lines)))
        return whole

    async def read_story_file(self, path: str | Path, *, name: str | None = None) -> Copied:
        """Take in the story of such a file, under its own name or another. The same story again changes nothing;
        another one of that name is refused."""
        if name is not None:
            check_new_name("A story", name)
        target, watch = self._whole(), CopyWatch([], 1, None)
        with Spool() as spool:
            about = await watch.during(asyncio.to_thread(read_story_lines, Path(path), spool))
            new = name or about.story
            if not is_storable(new):
                raise BadInput(f"{path}: a story cannot be called {show_name(new)!r}: give it another name.")
            if new in {info.name for info in await target.all()}:
                if await _find_digest(target, new, watch) != about.digest:
                    raise NameTaken(f"{target.place} has another story named {new!r}: give this one another name.")
                return Copied(new, about.messages, about.digest, Outcome.THERE)
            try:
                await watch.during(target.take_in(new, spool, watch.step))
            except StoreProblem as problem:
                if not isinstance(problem.__cause__, Damaged):
                    raise
                fault = f"{problem.__cause__.what} {problem.__cause__.why}"
                raise BadInput(f"{path}: the rows do not make a story: {fault}.") from None
        return Copied(new, about.messages, about.digest, Outcome.RESTORED)
