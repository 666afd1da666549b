"""The synchronous front: the same methods, without `await`.

Each method is the async one, run to its end on an event loop that the front owns. Nothing is written twice: the fronts
take over every public method of `Story` and `Memory`. `blocking.pyi` says their types; a test keeps it true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import partial, wraps
from inspect import getmembers, iscoroutinefunction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from previously.app import Memory
from previously.core.errors import PreviouslyError
from previously.runtime.keys import LOCAL_OWNER

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.models.client import Model
    from previously.runtime.writer import MemoryWriter
    from previously.settings import Settings
    from previously.story.story import Story

T = TypeVar("T")

NOT_BLOCKING = frozenset({"close", "story", "story_with", "view_at_once", "wait_for_folds"})
"""Methods that the fronts have in their own way, or not at all: what goes on after a view, or in the background, needs
a loop that runs."""


def find_async_methods(owner: type) -> Iterator[tuple[str, Callable[..., Coroutine[Any, Any, Any]]]]:
    """Yield the public async methods of a class that have a blocking twin, with their names."""
    for name, method in getmembers(owner, iscoroutinefunction):
        if not name.startswith("_") and name not in NOT_BLOCKING and not hasattr(method, "__self__"):
            yield name, method


def _block(method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    @wraps(method)
    def run(front: Any, /, *args: Any, **kwargs: Any) -> Any:
        return front._run(method(front._inner, *args, **kwargs))

    return run


def _no_loop_here(instead: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise PreviouslyError(f"An event loop is running here: use `{instead}` instead.")


class _StoryFront:
    """A `Story` whose methods block."""

    def __init__(self, story: Story, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._inner = story
        self._run = run

    @property
    def name(self) -> str:
        """The story's name."""
        return self._inner.name


def _make_blocking_story() -> type:
    from previously.story.on_demand import MethodOnDemand
    from previously.story.story import Story

    front = type("BlockingStory", (_StoryFront,), {"__doc__": _StoryFront.__doc__, "__module__": __name__})
    for name, method in vars(Story).items():
        is_async = isinstance(method, MethodOnDemand) or iscoroutinefunction(method)
        if is_async and not name.startswith("_") and name not in NOT_BLOCKING:
            setattr(front, name, MethodOnDemand(front, name, partial(_block_of_story, name)))
    return front


def _block_of_story(name: str) -> Callable[..., Any]:
    from previously.story.story import Story

    return _block(getattr(Story, name))


def _make_fold_conversation() -> Callable[..., Any]:
    from previously.runtime.conversation import fold_conversation_async

    @wraps(fold_conversation_async)
    def fold_conversation(*args: Any, **kwargs: Any) -> Any:
        _no_loop_here("await fold_conversation_async(...)")
        return asyncio.run(fold_conversation_async(*args, **kwargs))

    fold_conversation.__name__ = "fold_conversation"
    return fold_conversation


_MADE_ON_DEMAND = {"BlockingStory": _make_blocking_story, "fold_conversation": _make_fold_conversation}
"""Names that need the whole engine: made when they are first asked for, so that listing stories loads none of it."""


def __getattr__(name: str) -> Any:
    if name not in _MADE_ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _MADE_ON_DEMAND[name]()
    return value


class BlockingMemory:
    """A `Memory` whose methods block. For scripts and notebooks; where a loop already runs, use `Memory`.

    >>> from previously import BlockingMemory
    >>> with BlockingMemory(":memory:") as memory:
    ...     story = memory.story("ferry")
    ...     story.add("user", "Is the ferry in?").messages
    1
    """

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        owner: str = LOCAL_OWNER,
        settings: Settings | None = None,
        model: Model | None = None,
        prompts: str | Path | None = None,
        writer: MemoryWriter | None = None,
    ) -> None:
        """Open the stories at `where`, as `Memory.open` does."""
        _no_loop_here("await Memory.open(...)")
        self._is_closed = False
        self._runner = asyncio.Runner()
        try:
            opening = Memory.open(where, owner=owner, settings=settings, model=model, prompts=prompts, writer=writer)
            self._inner = self._runner.run(opening)
        except BaseException:
            self._runner.close()
            raise

    def story(self, name: str, *, create: bool = True, window_tokens: int | None = None) -> BlockingStory:
        """Return the story of that name, as `Memory.story` gives it."""
        from previously.blocking import BlockingStory  # made on demand

        return BlockingStory(self._run(self._inner.story(name, create=create, window_tokens=window_tokens)), self._run)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it to its end. The runner is given nothing back: it would write out what it is given at every call."""
        try:
            _no_loop_here("Memory")
            if self._is_closed:
                raise PreviouslyError("These stories are closed: open them again.")
        except PreviouslyError:
            work.close()  # or Python warns that nobody waited for it
            raise
        results: list[T] = []

        async def run() -> None:
            results.append(await work)

        self._runner.run(run())
        return results[0]

    def close(self) -> None:
        """Give back what is held open. A second time there is nothing to give back."""
        if self._is_closed:
            return
        _no_loop_here("Memory")
        self._is_closed = True
        try:
            self._runner.run(self._inner.close())
        finally:
            self._runner.close()

    def __enter__(self) -> BlockingMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


for _name, _method in find_async_methods(Memory):
    setattr(BlockingMemory, _name, _block(_method))
