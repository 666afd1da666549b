"""What a memory does with whole stories: back them up, restore them, move them elsewhere.

Which files and databases these are is for `app` to say; what may be copied where is decided in `runtime.copying`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from previously.core.errors import BadInput, StoreProblem
from previously.core.json_values import clean
from previously.runtime import copying
from previously.runtime.copying import Copied, Progress, backup_path, chosen
from previously.runtime.times import time_at
from previously.storage.copy import THIS_FILE, Backup, WholeStories


@dataclass(frozen=True, slots=True)
class Copies:
    """What was restored or moved, and the places."""

    source: str
    target: str
    stories: tuple[Copied, ...]


class Backups(ABC):
    """The stories of one owner, as far as they are copied whole."""

    @abstractmethod
    def _whole(self) -> WholeStories:
        """The stories here; `BadInput` if they are of a kind that cannot be copied."""

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
        progress: Progress | None = None,
    ) -> Backup:
        """Copy stories, or all and every book, to a new file, which is a store itself. In a folder, and without a path
        in the current one, it is named after the time. It is there whole or not at all, and no other file is ever
        overwritten."""
        source, file = self._whole(), backup_path(path)
        found = await chosen(source, stories)
        async with self._new_file(file) as target:
            made = Backup(str(file), time_at(), tuple(await copying.backup(source, target, found, progress)))
            if stories is None:
                await copying.copy_books(source, target)
        try:
            await source.note(made)
        except StoreProblem as problem:
            raise StoreProblem(f"{file} was made and is whole, but could not be noted. {problem}") from problem
        return made

    async def backups(self) -> list[Backup]:
        """The backups that were made of these stories, the oldest first. Their files may be gone by now."""
        return [made for made in await self._whole().backups() if made.path != THIS_FILE]

    async def restore(
        self,
        path: str | Path,
        *,
        stories: Collection[str] | None = None,
        name: str | None = None,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> Copies:
        """Put stories, or all, of a backup here; a single one may be given another name. The file stays as it is. A
        story that is here already, the same, is left alone. Another of the same name is refused (`BadInput`), or with
        `replace` kept under another name. If anything is refused, nothing is written."""
        if name is not None:
            check_name(name)
        target = self._whole()
        async with self._file_at(Path(path)) as source:
            found = await chosen(source, stories)
            done = await copying.restore(source, target, found, name=name, replace=replace, progress=progress)
            if stories is None:
                await copying.copy_books(source, target)
        return Copies(source.place, target.place, tuple(done))

    async def move(
        self,
        to: str | Path,
        *,
        stories: Collection[str] | None = None,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> Copies:
        """Copy stories, or all, to another place: a file or `postgresql://…`. What is here stays. The rules are those
        of `restore`, and what was interrupted can be done again. A story that was written to meanwhile is said to have
        changed; it is moved again with `replace`, which keeps the older copy under another name."""
        source = self._whole()
        found = await chosen(source, stories)
        async with self._elsewhere(str(to)) as target:
            done = await copying.move(source, target, found, replace=replace, progress=progress)
            if stories is None:
                await copying.copy_books(source, target)
            known = {made.path for made in await target.backups()}
            for made in await self.backups():  # what is forgotten there is to be forgotten in these too
                if made.path not in known:
                    await target.note(made)
        return Copies(source.place, target.place, tuple(done))


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a story."""
    if not name.strip() or clean(name)[1]:
        raise BadInput("A story needs a name, of characters that can be stored.")
