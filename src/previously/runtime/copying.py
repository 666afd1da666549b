"""Backing up, restoring and moving: whole stories from one place to another, each verified by its digest.

A story is copied whole or not at all, and those that were copied stay if a later one fails: what was interrupted is
simply done again, and finds them there. Nothing is ever overwritten. A story whose name is taken, by one with another
digest, is refused before anything is written; with `replace` the one that has the name keeps all it has under another
name. Nobody is kept from writing meanwhile: each story is copied as it was at one moment, and `move` says afterwards
which have changed since.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as changed
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from previously.core.errors import BadInput, PreviouslyError, StoreProblem, UnknownStory
from previously.core.json_values import clean
from previously.runtime.times import time_at
from previously.storage.copy import THIS_FILE, Backup, NameTaken, Whole, WholeStories
from previously.storage.spool import Spool
from previously.storage.store import StoryInfo

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""How much is done, and of how much."""

PASSES = 3
"""A story that is copied is read, written, and read again where it was written."""


class Outcome(StrEnum):
    """What became of a story."""

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


class Watch:
    """Passes on how far the work of other threads has got, and has them stop when nobody waits for it any more."""

    def __init__(self, stories: Sequence[StoryInfo], passes: int, progress: Progress | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._progress = progress
        self._total = passes * sum(info.active.messages for info in stories)
        self._done = 0
        self._stopped = False

    def step(self, messages: int) -> None:
        """So many more are done. Called by any thread."""
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


def backup_path(given: str | Path | None) -> Path:
    """Where a backup goes: the file; in a folder, or where none is given, one named after the time."""
    now = time_at()[:19].translate({ord("-"): None, ord(":"): None, ord("T"): "-"})
    place = Path(given) if given is not None else Path()
    path = (place / f"previously-{now}.db" if place.is_dir() else place).absolute()
    if clean(str(path))[1]:
        raise BadInput("The name of the file holds characters that cannot be stored.")
    return path


async def chosen(source: WholeStories, names: Collection[str] | None) -> list[StoryInfo]:
    """The stories of those names, or all."""
    found = {info.name: info for info in await source.all()}
    if not found:
        raise BadInput(f"There are no stories in {source.place}.")
    for name in names or ():
        if name not in found:
            raise UnknownStory(name)
    return [found[name] for name in dict.fromkeys(names or found)]


async def backup(
    source: WholeStories, target: WholeStories, stories: Sequence[StoryInfo], progress: Progress | None
) -> list[Whole]:
    """Copy stories into an empty store, which notes by itself what it holds."""
    watch = Watch(stories, PASSES, progress)
    copied = [await _copy(source, target, info.name, info.name, watch) for info in stories]
    await target.note(Backup(THIS_FILE, time_at(), tuple(copied)))
    return copied


async def copy_books(source: WholeStories, target: WholeStories) -> None:
    """Copy every book of the owner, those included that no story has attached. One that is there, the same, stays."""
    for name in await source.books():
        if book := await source.book(name):
            await target.take_in_book(book)


async def restore(
    source: WholeStories,
    target: WholeStories,
    stories: Sequence[StoryInfo],
    *,
    name: str | None = None,
    replace: bool = False,
    progress: Progress | None = None,
) -> list[Copied]:
    """Put stories of a backup into a store, under their own names or, a single one, under another. If one of them is
    not what was backed up, nothing is written."""
    if name is not None and len(stories) != 1:
        raise BadInput("Another name can be given to one story only: say with --story which.")
    watch = Watch(stories, PASSES + 1, progress)
    looked = {info.name: await watch.during(source.look(info.name, watch.step)) for info in stories}
    await _check_undamaged(source, looked.values())
    names = {info.name: name or info.name for info in stories}
    advice = "give another name with --as, set that one aside with --replace, or choose another place with --db"
    there = await _there(source, target, names, looked, advice if not replace else None, watch)
    return await _all(source, target, names, there, Outcome.RESTORED, replace, watch)


async def move(
    source: WholeStories,
    target: WholeStories,
    stories: Sequence[StoryInfo],
    *,
    replace: bool = False,
    progress: Progress | None = None,
) -> list[Copied]:
    """Copy stories to another store; the source is left as it is. Of a story that somebody wrote to meanwhile, the copy
    is older, and it is said to have changed. To move it again takes `replace`, since its name is taken by then: that
    sets the older copy aside and destroys nothing."""
    watch = Watch(stories, PASSES + 1, progress)
    names = {info.name: info.name for info in stories}
    advice = "set that one aside with --replace, or choose another place"
    there = await _there(source, target, names, {}, advice if not replace else None, watch)
    done = await _all(source, target, names, there, Outcome.MOVED, replace, watch)
    for number, one in enumerate(done):
        if (await watch.during(source.look(one.story, watch.step))).digest != one.digest:
            done[number] = changed(one, status=Outcome.CHANGED)
    return done


async def _all(
    source: WholeStories,
    target: WholeStories,
    names: Mapping[str, str],
    there: Mapping[str, Whole],
    outcome: Outcome,
    replace: bool,
    watch: Watch,
) -> list[Copied]:
    """Copy those stories that are not there, each under the name that stands beside its own."""
    done: list[Copied] = []
    for name, new in names.items():
        whole = there.get(name)
        status = outcome if whole is None else Outcome.THERE
        if whole is None:
            aside = f"{new} (until {time_at()[:19]})" if replace else ""
            whole = await _copy(source, target, name, new, watch, aside=aside)
        done.append(Copied(new, whole.messages, whole.digest, status))
    return done


async def _copy(
    source: WholeStories, target: WholeStories, name: str, new: str, watch: Watch, *, aside: str = ""
) -> Whole:
    with Spool() as spool:
        whole = await watch.during(source.hand_over(name, spool, watch.step))
        await watch.during(target.take_in(new, spool, watch.step, aside=aside))
    return whole


async def _there(
    source: WholeStories,
    target: WholeStories,
    names: Mapping[str, str],
    looked: Mapping[str, Whole],
    advice: str | None,
    watch: Watch,
) -> dict[str, Whole]:
    """Those stories that the target has already, the same to the last message. Others of the same name are refused with
    advice, if any is given."""
    taken = {info.name for info in await target.all()}
    there: dict[str, Whole] = {}
    others: list[str] = []
    for name, new in names.items():
        if new in taken:
            whole = looked[name] if name in looked else await watch.during(source.look(name, watch.step))
            if whole.digest == (await watch.during(target.look(new, watch.step))).digest:
                there[name] = whole
            else:
                others.append(new)
    if others and advice:
        first = f"{others[0]!r}" if len(others) == 1 else f"{others[0]!r} and {len(others) - 1} more"
        raise NameTaken(f"{target.place} has another story named {first}; nothing was written: {advice}.")
    return there


async def _check_undamaged(source: WholeStories, stories: Collection[Whole]) -> None:
    """Refuse what is not as it was when the backup was made, as far as the file can tell."""
    own = [made for made in await source.backups() if made.path == THIS_FILE]
    if not own:  # a store that was never a backup
        if damage := await source.damage():
            raise StoreProblem(f"{source.place} is damaged: {damage[0]}.")
        return
    noted = {one.story: one.digest for one in own[-1].stories}
    lost = noted.keys() - {info.name for info in await source.all()}
    wrong = sorted(lost.union(one.story for one in stories if noted.get(one.story, one.digest) != one.digest))
    if wrong:
        raise StoreProblem(
            f"Story {wrong[0]!r} in {source.place} is not what was backed up, so nothing was restored: the file is "
            "damaged, or was written to since; then it is a store like any other, and `move` takes it as it is."
        )
