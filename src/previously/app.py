"""The place where the pieces are chosen: the only module that names a concrete store and writer of memory."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from previously import __version__
from previously.core.deed import Deed, DeedKind
from previously.core.errors import BadInput, StoreProblem, UnknownStory
from previously.core.exact_names import check_new_name, is_storable
from previously.runtime.books import Books
from previously.runtime.clock import time_at
from previously.runtime.combine_scenes import Combining
from previously.runtime.continue_story import Continuations
from previously.runtime.fold_tasks import FoldTasks
from previously.runtime.forget import ForgettableStories
from previously.runtime.keys import LOCAL_OWNER, Keys, check_owner
from previously.runtime.note_deed import add_deed
from previously.runtime.share_memory import SharedMemories
from previously.runtime.story_list import StoryList
from previously.runtime.writer import BuiltinWriter, MemoryWriter
from previously.settings import Layer, Origin, Settings, make_layer, resolve
from previously.settings_file import find_effective, find_user_folder
from previously.storage.store import Store, StoryInfo, StoryKey
from previously.storage.tables import Tables

if TYPE_CHECKING:
    from previously.folds.prompts.templates import Template
    from previously.models.client import Model
    from previously.runtime.whole_stories import WholeStories
    from previously.storage.findings import Collected, Told, Verified
    from previously.story.story import Story

IN_MEMORY = ":memory:"  # a memory that is gone with the process
GIVEN_UP_S = 3_600.0  # an import that was begun so long ago and is not done never will be


class Memory(Keys, StoryList, ForgettableStories, Continuations, SharedMemories, Books, Combining):
    """All stories and books of one owner, and the way to them; and the keys of the place they are at.

    >>> import asyncio
    >>> from previously import Memory
    >>> async def tell() -> list[str]:
    ...     async with await Memory.open(":memory:") as memory:
    ...         story = await memory.story("ferry")
    ...         await story.add("user", "Is the ferry in?")
    ...         return [info.name for info in await memory.stories()]
    >>> asyncio.run(tell())
    ['ferry']
    """

    def __init__(
        self,
        store: Store,
        *,
        owner: str,
        layers: Sequence[Layer],
        writer: MemoryWriter,
        model: Model | None = None,
        place: str = IN_MEMORY,
    ) -> None:
        self._store = store
        self._place = place
        self._owner = owner
        self._layers = layers
        self._writer = writer
        self._model = model
        self._speaks = model  # may be another's, who closes it
        self._is_shared = False  # whether the store is closed by somebody else
        self._tasks = FoldTasks()

    @property
    def model(self) -> Model | None:
        """Return the model that was given or configured; None if there is none."""
        return self._speaks

    @property
    def store(self) -> Store:
        """Return the store of the stories, for what is built on them."""
        return self._store

    @property
    def place(self) -> str:
        """Return where the stories are, as it may be shown."""
        return self._place if self._place == IN_MEMORY else _hide_login(self._place)

    @classmethod
    async def open(
        cls,
        where: str | Path | None = None,
        *,
        owner: str = LOCAL_OWNER,
        settings: Settings | None = None,
        model: Model | None = None,
        prompts: str | Path | None = None,
        writer: MemoryWriter | None = None,
    ) -> Memory:
        """Open the stories at `where`: a file, made if it is not there, `postgresql://…`, or `":memory:"`.

        Without it, `PREVIOUSLY_DB` decides, else the place where this system keeps a user's data. `model` writes
        memory; without one, `PREVIOUSLY_ENDPOINT` and `PREVIOUSLY_MODEL` name it, and if they do not, the built-in
        writer writes. `prompts` is a folder of prompts that stand in for the package's own. `writer` replaces all
        of that.
        """
        check_owner(owner)
        environment, layers = find_effective(os.environ)
        if settings is not None:
            layers = [make_layer(settings)]
        chosen = resolve(layers)
        asked = model or (model_from(environment, chosen.timeout_s) if writer is None else None)
        templates: Mapping[str, Template] = {}
        if asked:
            from previously.runtime.prompts import load_prompts

            chosen.check_memory_window()
            templates = load_prompts(_prompts(prompts, environment))
        place = str(where if where is not None else environment.get("PREVIOUSLY_DB") or default_place())
        store = _open_store(place)
        if writer is None:
            writer = _make_model_writer(store, owner, chosen, asked, templates) if asked else BuiltinWriter()
        return cls(store, owner=owner, layers=layers, writer=writer, model=asked, place=place)

    async def story(self, name: str, *, create: bool = True, window_tokens: int | None = None) -> Story:
        """Return the story of that name. With `create=False` one that does not exist is `UnknownStory`. `window_tokens`
        is the window of the model that reads it, for where nobody has set one.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     memory.story("ferry", window_tokens=32_768).name
        'ferry'
        """
        from previously.runtime.story_settings import StorySettings
        from previously.story.story import Story  # the whole engine: loaded with the first story, not to list them

        kept = await self._read_story(name)
        if kept is None:
            if not create:
                raise UnknownStory(name)
            check_new_name("A story", name)
            kept = await self._store.create_story(self._owner, name, at=time_at()), "{}", "{}"
        info, own, usage = kept
        given = [Layer(Origin.CODE, {"window_tokens": window_tokens})] if window_tokens else []
        settings = StorySettings([*given, *self._layers], own, usage)
        return Story(self._store, info, self._writer, settings, self._tasks, self._speaks)

    async def _read_story(self, name: str) -> tuple[StoryInfo, str, str] | None:
        """Return a story, its own settings and what was reported of its views; None if there is none."""

        def read(tables: Tables) -> tuple[StoryInfo, str, str] | None:
            info = tables.stories.named(self._owner, name) if is_storable(name) else None
            if info is None:
                return None
            return info, tables.stories.kept(info.key, "settings"), tables.stories.kept(info.key, "usage")

        return await self._store.read(self._owner, read)

    async def story_with(self, name: str, assignments: Sequence[str]) -> Story:
        """Return a story as it would be with these settings (see `Story.set`), which are kept nowhere."""
        from previously.runtime.story_settings import StorySettings
        from previously.story.story import Story

        kept = await self._read_story(name)
        if kept is None:
            raise UnknownStory(name)
        info, own, usage = kept
        changed = StorySettings(self._layers, own, usage).change(own, assignments)
        return Story(self._store, info, self._writer, StorySettings(self._layers, changed, usage), self._tasks)

    def has_set(self, key: str) -> bool:
        """Return whether a file, a variable or whoever opened the stories has set this for all of them."""
        return any(key in layer.values for layer in self._layers)

    def sharing(self, owner: str, model: Model | None = None) -> Memory:
        """The stories of another owner in the same place, or folded by another model; closing it closes only that."""
        writer = self._writer
        if model is not None:
            from previously.runtime.prompts import load_prompts

            settings = resolve(self._layers)
            settings.check_memory_window()
            writer = _make_model_writer(self._store, owner, settings, model, load_prompts(_prompts(None, os.environ)))
        shared = Memory(self._store, owner=owner, layers=self._layers, writer=writer, model=model, place=self._place)
        shared._is_shared, shared._speaks = True, model or self._speaks
        return shared

    async def stories(self) -> list[StoryInfo]:
        """Return every story, by name.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     [info.name for info in memory.stories()]
        ['ferry']
        """
        return await self._store.read(self._owner, lambda tables: tables.stories.all(self._owner))

    async def rename(self, name: str, new: str) -> None:
        """Give a story another name. A client that asks for it by its old name begins a new story."""
        check_new_name("A story", new)
        info = await self._store.read(self._owner, lambda tables: tables.stories.named(self._owner, name))
        if info is None:
            raise UnknownStory(name)

        def write(tables: Tables) -> None:
            tables.stories.rename(info.key, new)
            add_deed(tables, info.key, Deed(DeedKind.RENAMED, what=f"the story {name}"))

        await self._store.write(info.key, write)

    async def verify(self, progress: Told | None = None) -> Verified:
        """Derive every hash and cache of the stories anew, and say what differs. Nothing is changed.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Hello.")
        ...     memory.verify().clean
        True
        """
        return await self._store.verify(self._owner, before=time_at(-GIVEN_UP_S), told=progress)

    async def gc(self, *, older_than_s: float = GIVEN_UP_S, shrink: bool = False) -> Collected:
        """Take away what no story needs: what interrupted imports left that were begun at least so long ago, and caches
        no branch shows. `shrink` gives the disk free space back; whoever writes waits for that."""
        if older_than_s < 0:
            raise BadInput("What is to be cleaned away cannot have been begun in the future.")
        return await self._store.gc(self._owner, before=time_at(-older_than_s), shrink=shrink)

    async def _read_key_facts(self, story: str, name: str) -> tuple[StoryKey, list[str]]:
        opened = await self.story(story, create=False)
        return (await opened.info()).key, await opened.list_key_facts(name)

    def _keeps_backups(self) -> bool:
        return self._place != IN_MEMORY

    @asynccontextmanager
    async def _backup_at(self, path: Path, *, to_change: bool) -> AsyncIterator[tuple[Store, WholeStories]]:
        from previously.storage.sqlite import SqliteStore
        from previously.storage.sqlite.new_file import open_copied_store

        if not to_change:
            async with open_copied_store(path) as copy:
                yield copy, self._stories_of(copy, str(path))
            return
        store = SqliteStore(str(path))
        try:
            yield store, self._stories_of(store, str(path))
        finally:
            await store.close()

    def _whole(self) -> WholeStories:
        return self._stories_of(self._store, self._place)

    def _stories_of(self, store: Store, place: str) -> WholeStories:
        if place == IN_MEMORY:
            raise BadInput(f"Stories in {IN_MEMORY} are gone with the process: there is no way to keep or move them.")
        from previously.runtime.whole_stories import WholeStories

        return WholeStories(store.database, self._owner, _hide_login(place))

    @asynccontextmanager
    async def _new_file(self, path: Path) -> AsyncIterator[WholeStories]:
        from previously.storage.sqlite.new_file import open_new_store

        async with open_new_store(path) as store:
            yield self._stories_of(store, str(path))

    @asynccontextmanager
    async def _file_at(self, path: Path) -> AsyncIterator[WholeStories]:
        from previously.storage.sqlite.new_file import open_copied_store

        if _same_place(str(path), self._place):
            raise BadInput(f"{path} is the very store that its stories would be put into.")
        async with open_copied_store(path) as store:
            yield self._stories_of(store, str(path))

    @asynccontextmanager
    async def _elsewhere(self, place: str) -> AsyncIterator[WholeStories]:
        if _same_place(place, self._place):
            raise BadInput("Stories cannot be moved to where they are.")
        store = _open_store(place)
        try:
            yield self._stories_of(store, place)
        finally:
            await store.close()

    async def wait_for_folds(self) -> None:
        """Wait until the folds that `Story.fold_soon` began are done. If one of them failed, raise its error."""
        await self._tasks.wait()

    async def close(self, *, wait: bool = True) -> None:
        """Give back what is held open. Folds in the background are waited for; with `wait=False` they are given up,
        which loses nothing: they are due again. If one of them failed, its error is raised once all is closed."""
        try:
            if wait:
                await self._tasks.wait()
        finally:
            await self._tasks.close()
            if self._model is not None:
                await self._model.close()
            if not self._is_shared:
                await self._store.close()

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(wait=error is None)


def model_from(environment: Mapping[str, str], timeout_s: float) -> Model | None:
    """The model at an OpenAI-compatible endpoint that the environment names, or None when it names neither."""
    url, name = environment.get("PREVIOUSLY_ENDPOINT", ""), environment.get("PREVIOUSLY_MODEL", "")
    if not url and not name:
        return None
    if not url or not name:
        raise BadInput("A model needs both an endpoint and a name: --endpoint with --model, or both variables.")
    return model_at(url, name, environment.get("PREVIOUSLY_API_KEY", ""), timeout_s)


def model_at(url: str, name: str, key: str, timeout_s: float) -> Model:
    """The model of that name at an OpenAI-compatible endpoint."""
    from previously.models.http import OpenAICompatibleModel  # an extra: loaded when a model is named

    return OpenAICompatibleModel(url, name, key, timeout_s=timeout_s)


async def describe_model(model: Model, **how: Any) -> dict[str, Any]:
    """Return what a model's server says of itself, as far as the client can ask; close the model afterwards."""
    try:
        describe = getattr(model, "describe", None)
        return dict(await describe(**how)) if describe else {"model": model.name, "reachable": True}
    finally:
        await model.close()


def _make_model_writer(
    store: Store, owner: str, settings: Settings, model: Model, templates: Mapping[str, Template]
) -> MemoryWriter:
    from previously.runtime.answer_cache import AnswerCache
    from previously.runtime.model_writer import ModelWriter
    from previously.runtime.spend_limits import build_spending

    return ModelWriter(
        model,
        templates,
        window_tokens=settings.memory_window_tokens,
        spending=build_spending(store, owner, settings),
        kept=AnswerCache(store, owner),
    )


def find_prompts(environment: Mapping[str, str]) -> Path | None:
    """Return the directory of a user's own prompts: the one that is named, else `prompts` beside their settings file,
    whether it is there or not; None for a user without a home."""
    named = environment.get("PREVIOUSLY_PROMPTS")
    if named is not None:
        return Path(named) if named else None
    folder = find_user_folder(environment)
    return folder / "prompts" if folder else None


def _prompts(folder: str | Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return a user's own prompts, checked. Those in the usual place may come later."""
    named = folder or environment.get("PREVIOUSLY_PROMPTS")
    place = Path(named) if named else find_prompts(environment)
    if named or (place and place.is_dir()):
        from previously.runtime.prompts import check_prompts

        assert place is not None, "a place that is named is one"
        check_prompts(place)
    return place


def _hide_login(place: str) -> str:
    """A place as it may be printed: without user, password and options."""
    kind, separator, rest = place.partition("://")
    return f"{kind}://{rest.partition('?')[0].rpartition('@')[2]}" if separator else str(Path(place).absolute())


def _same_place(one: str, other: str) -> bool:
    if "://" in one or "://" in other:
        return one == other
    return Path(one).resolve() == Path(other).resolve()


def _open_store(place: str) -> Store:
    if place.startswith(("postgresql://", "postgres://")):
        try:
            from previously.storage.postgres import PostgresStore  # an extra: loaded when a server is named
        except ImportError as error:
            raise BadInput("PostgreSQL needs an extra: pip install 'previously[postgres]'.") from error
        return PostgresStore(place)
    if "://" in place:
        kind = place.partition("://")[0]
        raise BadInput(f"{kind}:// is no place for stories: give a file, postgresql://…, or {IN_MEMORY}.")
    from previously.storage.sqlite import SqliteStore  # loads SQLite's library: only when a file is opened

    return SqliteStore(place, version=__version__)


def mend_file(where: str | Path | None = None) -> str:
    """Take a SQLite file as it is, after another program wrote to it; return where it is kept as it was."""
    from previously.storage.sqlite.page_checksums import accept_pages

    place = str(where or find_effective(os.environ)[0].get("PREVIOUSLY_DB") or default_place())
    if not Path(place).is_file():
        raise BadInput(f"{place} is no SQLite file: only the pages of one can be mended.")
    return accept_pages(place)


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
        folder.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreProblem(f"{folder} cannot be made: {error.strerror}; name a file with --db.") from error
    return folder / "stories.db"
