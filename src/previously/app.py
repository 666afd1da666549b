"""Where the pieces are chosen: the only module that names a concrete store and folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from previously.core.errors import BadInput, StoreProblem, UnknownStory
from previously.runtime.folder import BuiltinFolder, Folder
from previously.runtime.story import Story, now
from previously.settings import Settings, settings_from
from previously.storage.in_memory import InMemoryStore
from previously.storage.store import Store, StoryInfo

IN_MEMORY = ":memory:"
"""Where to open a memory that is gone with the process."""

LOCAL_OWNER = "local"
"""Who owns the stories of a person's own machine."""


class Memory:
    """All stories of one owner, and the way to them."""

    def __init__(self, store: Store, *, owner: str, settings: Settings, folder: Folder) -> None:
        self._store = store
        self._owner = owner
        self._settings = settings
        self._folder = folder

    @classmethod
    async def open(
        cls,
        where: str | Path | None = None,
        *,
        owner: str = LOCAL_OWNER,
        settings: Settings | None = None,
        folder: Folder | None = None,
    ) -> Memory:
        """Open the stories at `where`: a file, made if it is not there, or `":memory:"`.

        Without it, `PREVIOUSLY_DB` decides, else the place where this system keeps a user's data.
        """
        store = _open_store(where)
        return cls(
            store,
            owner=owner,
            settings=settings or settings_from(os.environ),
            folder=folder or BuiltinFolder(),
        )

    async def story(self, name: str, *, create: bool = True) -> Story:
        """The story of that name. With `create=False` one that does not exist is `UnknownStory`."""
        if not name.strip():
            raise BadInput("A story needs a name.")
        info = await self._store.story(self._owner, name)
        if info is None:
            if not create:
                raise UnknownStory(name)
            info = await self._store.create_story(self._owner, name, at=now())
        return Story(self._store, info, self._folder, self._settings.recap_rules, self._settings.window_tokens)

    async def stories(self) -> list[StoryInfo]:
        """Every story, by name."""
        return await self._store.stories(self._owner)

    async def close(self) -> None:
        """Give back what is held open."""
        await self._store.close()

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _open_store(where: str | Path | None) -> Store:
    place = where if where is not None else os.environ.get("PREVIOUSLY_DB") or default_place()
    if str(place) == IN_MEMORY:
        return InMemoryStore()
    if "://" in str(place):
        raise BadInput(f"{place} is not a place for stories: give a file, or {IN_MEMORY}.")
    from previously.storage.sqlite import SqliteStore  # loads SQLite's library: only when a file is opened

    return SqliteStore(str(place))


def default_place(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The file for a user's stories where no other is named; its folder is made."""
    known = os.environ if environment is None else environment
    if platform == "win32":
        base = Path(known.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(known.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    folder = base / "previously"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreProblem(f"{folder} cannot be made: {error.strerror}; name a file with --db.") from error
    return folder / "stories.db"
