"""The synchronous front: the same methods, without `await`.

Each method is the async one, run to its end on an event loop that the front owns. Nothing is written twice: what a
method does, takes and gives back is said in `Memory` and `Story`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from previously.app import Memory
from previously.core.errors import PreviouslyError
from previously.models.client import Model
from previously.runtime.compacting import fold_conversation_async
from previously.runtime.keys import LOCAL_OWNER
from previously.runtime.story import Story
from previously.runtime.writer import MemoryWriter
from previously.settings import Settings
from previously.storage.store import StoryInfo

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[Story, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingStory, P], T]:
    def run(front: BlockingStory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = front._run(method(front._story, *args, **kwargs))
        return result

    run.__name__, run.__doc__ = method.__name__, method.__doc__
    return run


def _blocking_memory(
    method: Callable[Concatenate[Memory, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingMemory, P], T]:
    def run(front: BlockingMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = front._run(method(front._memory, *args, **kwargs))
        return result

    run.__name__, run.__doc__ = method.__name__, method.__doc__
    return run


def _to_its_end(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        _no_loop_here(f"await {work.__name__}(...)")
        return asyncio.run(work(*args, **kwargs))

    run.__name__, run.__doc__ = work.__name__.removesuffix("_async"), work.__doc__
    return run


def _no_loop_here(instead: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise PreviouslyError(f"An event loop is running here: use `{instead}` instead.")


fold_conversation = _to_its_end(fold_conversation_async)


class BlockingStory:
    """A `Story` whose methods block."""

    def __init__(self, story: Story, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._story = story
        self._run = run

    @property
    def name(self) -> str:
        """The story's name."""
        return self._story.name

    add = _blocking(Story.add)
    add_drafts = _blocking(Story.add_drafts)
    insert = _blocking(Story.insert)
    edit = _blocking(Story.edit)
    delete = _blocking(Story.delete)
    hide = _blocking(Story.hide)
    unhide = _blocking(Story.unhide)
    regenerate = _blocking(Story.regenerate)
    swipes = _blocking(Story.swipes)
    choose = _blocking(Story.choose)
    branch = _blocking(Story.branch)
    switch = _blocking(Story.switch)
    branches = _blocking(Story.branches)
    branch_info = _blocking(Story.branch_info)
    moves = _blocking(Story.moves)
    messages = _blocking(Story.messages)
    follow = _blocking(Story.follow)
    follow_branch = _blocking(Story.follow_branch)
    header = _blocking(Story.header)
    keep_header = _blocking(Story.keep_header)
    settings = _blocking(Story.settings)
    set = _blocking(Story.set)
    fold = _blocking(Story.fold)
    plan = _blocking(Story.plan)
    view = _blocking(Story.view)
    why = _blocking(Story.why)
    last_view = _blocking(Story.last_view)
    search = _blocking(Story.search)
    report_usage = _blocking(Story.report_usage)
    recap = _blocking(Story.recap)
    brief = _blocking(Story.brief)
    chapters = _blocking(Story.chapters)
    backbone = _blocking(Story.backbone)
    episodes = _blocking(Story.episodes)
    notes_in_force = _blocking(Story.notes_in_force)
    rebuild = _blocking(Story.rebuild)
    close_chapter = _blocking(Story.close_chapter)
    write = _blocking(Story.write)
    lock = _blocking(Story.lock)
    unlock = _blocking(Story.unlock)
    flagged = _blocking(Story.flagged)
    pin = _blocking(Story.pin)
    pins = _blocking(Story.pins)
    unpin = _blocking(Story.unpin)
    log = _blocking(Story.log)
    telling = _blocking(Story.telling)
    undo = _blocking(Story.undo)
    restore = _blocking(Story.restore)
    pending = _blocking(Story.pending)
    approve = _blocking(Story.approve)
    reject = _blocking(Story.reject)
    info = _blocking(Story.info)
    leave = _blocking(Story.leave)
    enter = _blocking(Story.enter)
    absent = _blocking(Story.absent)
    presence = _blocking(Story.presence)
    set_presence = _blocking(Story.set_presence)
    unset_presence = _blocking(Story.unset_presence)
    lore = _blocking(Story.lore)
    write_lore = _blocking(Story.write_lore)
    lock_lore = _blocking(Story.lock_lore)
    unlock_lore = _blocking(Story.unlock_lore)
    accept_lore = _blocking(Story.accept_lore)
    remove_lore = _blocking(Story.remove_lore)
    explain_lore = _blocking(Story.explain_lore)
    attach_book = _blocking(Story.attach_book)
    detach_book = _blocking(Story.detach_book)
    attached_books = _blocking(Story.attached_books)
    threads = _blocking(Story.threads)
    open_thread = _blocking(Story.open_thread)
    resolve_thread = _blocking(Story.resolve_thread)
    reword_thread = _blocking(Story.reword_thread)
    reopen_thread = _blocking(Story.reopen_thread)
    state = _blocking(Story.state)
    hold = _blocking(Story.hold)
    end_held = _blocking(Story.end_held)
    players = _blocking(Story.players)
    wishes = _blocking(Story.wishes)
    reword_wish = _blocking(Story.reword_wish)
    withdraw_wish = _blocking(Story.withdraw_wish)
    people = _blocking(Story.people)
    cast = _blocking(Story.cast)
    who_knows = _blocking(Story.who_knows)
    end_scene = _blocking(Story.end_scene)
    scenes = _blocking(Story.scenes)
    analyze = _blocking(Story.analyze)
    analyses = _blocking(Story.analyses)
    gaps = _blocking(Story.gaps)


class BlockingMemory:
    """A `Memory` whose methods block. For scripts and notebooks; where a loop already runs, use `Memory`."""

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        owner: str = LOCAL_OWNER,
        settings: Settings | None = None,
        model: Model | None = None,
        prompts: str | Path | None = None,
        folder: MemoryWriter | None = None,
    ) -> None:
        """Open the stories at `where`, as `Memory.open` does."""
        _no_loop_here("await Memory.open(...)")
        self._runner = asyncio.Runner()
        try:
            opening = Memory.open(where, owner=owner, settings=settings, model=model, prompts=prompts, folder=folder)
            self._memory = self._runner.run(opening)
        except BaseException:
            self._runner.close()
            raise

    def story(self, name: str, *, create: bool = True) -> BlockingStory:
        """The story of that name, as `Memory.story` gives it."""
        return BlockingStory(self._run(self._memory.story(name, create=create)), self._run)

    def stories(self) -> list[StoryInfo]:
        """Every story, by name."""
        return self._run(self._memory.stories())

    backup = _blocking_memory(Memory.backup)
    backups = _blocking_memory(Memory.backups)
    restore = _blocking_memory(Memory.restore)
    move = _blocking_memory(Memory.move)
    to_forget = _blocking_memory(Memory.to_forget)
    keep_book = _blocking_memory(Memory.keep_book)
    books = _blocking_memory(Memory.books)
    book = _blocking_memory(Memory.book)
    forget_book = _blocking_memory(Memory.forget_book)
    combine = _blocking_memory(Memory.combine)
    forget = _blocking_memory(Memory.forget)
    verify = _blocking_memory(Memory.verify)
    gc = _blocking_memory(Memory.gc)
    add_key = _blocking_memory(Memory.add_key)
    keys = _blocking_memory(Memory.keys)
    remove_key = _blocking_memory(Memory.remove_key)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end. The runner is given nothing back: it would write out what it is given at every call."""
        results: list[T] = []

        async def run() -> None:
            results.append(await work)

        self._runner.run(run())
        return results[0]

    def close(self) -> None:
        """Give back what is held open."""
        try:
            self._runner.run(self._memory.close())
        finally:
            self._runner.close()

    def __enter__(self) -> BlockingMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
