"""A story: its transcript, its memory, and the view.

`Story` decides nothing. Each of its methods is that of one of its parts; folding is `runtime.fold_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import getmembers, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from previously.memory.notes import list_note_ids
from previously.runtime.fold_loop import Progress, analyse, fold, fold_cast, plan_folds
from previously.runtime.fold_report import FoldReport
from previously.runtime.fold_tasks import FoldTasks
from previously.runtime.retry import retry_when_moved
from previously.runtime.story_settings import StorySettings
from previously.runtime.writer import MemoryWriter
from previously.settings import Settings
from previously.storage.store import Store, StoryInfo
from previously.storage.tables import Tables
from previously.story.access import StoryAccess, StoryChange
from previously.story.ask import Questions
from previously.story.export import StoryExport
from previously.story.history import History
from previously.story.lore_edits import LoreEdits
from previously.story.memory_edits import MemoryEdits
from previously.story.memory_texts import MemoryTexts
from previously.story.presence import PresenceEdits
from previously.story.sources import Sources
from previously.story.threads_state import ThreadsState
from previously.story.transcript import Transcript
from previously.story.turns import Turns
from previously.story.views import StoryViews
from previously.view.view import View

if TYPE_CHECKING:

    class _Parts(  # type: ignore[misc] # private members of different parts may share a name: each part has its own
        Transcript,
        StoryViews,
        Questions,
        MemoryTexts,
        MemoryEdits,
        History,
        Sources,
        PresenceEdits,
        LoreEdits,
        ThreadsState,
        Turns,
        StoryExport,
    ):
        """The parts as type checkers see them: a story has every public method of each."""

else:
    _Parts = object


class Story(_Parts):
    """One conversation with its memory.

    A story from `BlockingMemory` has the same methods without `await`:

    >>> from previously import BlockingMemory, Settings
    >>> memory = BlockingMemory(":memory:", settings=Settings(tail_messages=2, fold_messages=3))
    >>> story = memory.story("ferry")
    >>> for text in ("Odalys hid the ledger.", "Wren saw her.", "The ferry left.", "Rain.", "More rain."):
    ...     _ = story.add("assistant", text)
    >>> story.edit(2, "The ferry waited.").messages
    5
    >>> [fold.kind.value for fold in story.fold().folds]
    ['recap']
    >>> story.write("recap", "Odalys hid the ledger, and Wren saw it.")
    >>> story.recap().text
    'Odalys hid the ledger, and Wren saw it.'
    >>> story.branch("what-if", at=3).name
    'what-if'
    >>> memory.close()
    """

    def __init__(
        self,
        store: Store,
        info: StoryInfo,
        writer: MemoryWriter,
        settings: StorySettings,
        tasks: FoldTasks | None = None,
    ) -> None:
        self.name: str = info.name
        self._access = StoryAccess(store, info.key, settings)
        self._writer = writer
        self._tasks = tasks or FoldTasks()
        self._presence = PresenceEdits(self._access)
        self._transcript = Transcript(self._access, self._presence)
        self._views = StoryViews(self._access, info.name)
        self._texts = MemoryTexts(self._access)
        self._edits = MemoryEdits(self._access)
        self._history = History(self._access)
        self._sources = Sources(self._access)
        self._lore = LoreEdits(self._access)
        self._state = ThreadsState(self._access)
        self._turns = Turns(self._access)
        self._questions = Questions(self._access, writer)
        self._export = StoryExport(self._access, info.name, self._transcript, self._texts, self._lore, self._state)

    @property
    def memory_mark(self) -> str:  # type: ignore[override] # a part may write it
        """Return the letters that this story's memory of a turn is marked with in views; no text can have them."""
        return self._views.memory_mark

    def learn_usage(self, view: View, prompt_tokens: int, model: str) -> Callable[[Tables], None]:
        """Do as `report_usage` does, but leave the write to the caller."""
        return self._views.learn_usage(view, prompt_tokens, model)

    async def settings(self) -> dict[str, Any]:
        """Return the story's own settings, as `set` keeps them."""
        return dict(self._access.settings.own)

    async def set(self, assignments: Sequence[str]) -> Settings:
        """Give the story settings of its own, all or none (`key=value`; `key=` takes one back); return those in
        force."""
        key, settings = self._access.key, self._access.settings

        def write(tables: Tables) -> str:
            return tables.stories.change_kept(key, "settings", lambda own: settings.change(own, assignments))

        return settings.put_in_force(await self._access.store.write(key, write))

    async def fold(
        self,
        *,
        once: bool = False,
        progress: Progress | None = None,
        fresh: bool = False,
        cast: bool = True,
        pressed: bool = False,
    ) -> FoldReport:
        """Fold all that is due, or with `once` at most one span. With `fresh`, no answer that a model gave to the very
        same question before is taken again. With `cast` False, what characters know waits for `fold_cast`. With
        `pressed`, as if the chat's view had no room for what is not folded: say so where another reader's has none
        (`View.fold_due`).

        >>> from previously import BlockingMemory, Settings
        >>> with BlockingMemory(":memory:", settings=Settings(tail_messages=1, fold_messages=2)) as memory:
        ...     story = memory.story("ferry")
        ...     for text in ("Odalys hid the ledger.", "Wren saw her.", "Rain."):
        ...         _ = story.add("assistant", text)
        ...     report = story.fold()
        >>> [(fold.kind.value, fold.span.first, fold.span.last) for fold in report.folds], report.calls
        ([('recap', 0, 1)], 0)
        """
        rules = self._access.rules if cast else replace(self._access.rules, cast="off")
        return await fold(
            self._access.store, self._access.key, self._writer, rules,
            pressed=_is_pressed if pressed else self._views.is_pressed, once=once, progress=progress, fresh=fresh,
        )  # fmt: skip

    async def fold_cast(self) -> FoldReport:
        """Tell each character what they have witnessed since, all at the same time; all else that is due waits."""
        return await fold_cast(self._access.store, self._access.key, self._writer, self._access.rules)

    def fold_soon(self) -> None:
        """Fold all that is due in the background, while the program goes on. To call it again at any time is cheap: a
        story is folded by one task at a time, and once more if something came in meanwhile.

        `Memory.close` waits for what is under way, or gives it up, which loses nothing. What failed is raised there,
        and by `Memory.wait_for_folds`.

        >>> import asyncio
        >>> from previously import Memory, Settings
        >>> async def tell() -> int:
        ...     async with await Memory.open(":memory:", settings=Settings(tail_messages=2, fold_messages=3)) as memory:
        ...         story = await memory.story("ferry")
        ...         for number in range(8):
        ...             await story.add("user", f"The ferry made crossing number {number}.")
        ...             story.fold_soon()
        ...         await memory.wait_for_folds()
        ...         return len(await story.log())
        >>> asyncio.run(tell()) > 0
        True
        """
        self._tasks.start(self._access.key, self.fold)

    @property
    def folding(self) -> str:
        """Return who decides that a proxy folds: `automatic`, `ask` or `off`."""
        return self._access.settings.in_force.folding

    async def plan(self, *, anew: bool = False, once: bool = False) -> FoldReport:
        """Return what `fold` would do, or with `anew` what `rebuild` would, without doing it; with `once` the next span
        alone. Later folds assume texts of their target length."""
        return await retry_when_moved(
            lambda: plan_folds(
                self._access.store, self._access.key, self._writer, self._access.rules, pressed=self._views.is_pressed,
                anew=anew, once=once,
            )
        )  # fmt: skip

    async def rebuild(self, *, progress: Progress | None = None) -> FoldReport:
        """Fold everything on the active branch anew, with the model and prompts of now. What is there stays in force
        until better stands in its place; what people wrote stays for good."""

        def loosen(change: StoryChange) -> None:
            covered = [version for _, _, version in change.snapshot.cover()]
            change.tables.versions.loosen(change.key, [*covered, *list_note_ids(change.snapshot)])

        await self._access.change(loosen)
        return await self.fold(progress=progress, fresh=True)

    async def analyze(self, position: int | None = None, *, again: bool = False) -> FoldReport:
        """Analyse the fragment at a position, or all that have no analysis; with `again` also what has one."""
        return await analyse(
            self._access.store, self._access.key, self._writer, self._access.rules, position, again=again
        )


async def _is_pressed() -> bool:
    return True


PARTS: Mapping[str, type] = {
    "_transcript": Transcript,
    "_views": StoryViews,
    "_questions": Questions,
    "_texts": MemoryTexts,
    "_edits": MemoryEdits,
    "_history": History,
    "_sources": Sources,
    "_presence": PresenceEdits,
    "_lore": LoreEdits,
    "_state": ThreadsState,
    "_turns": Turns,
    "_export": StoryExport,
}
"""The parts of a story by the attributes that hold them. Their public async methods are the story's own."""

INNER = frozenset({"is_pressed", "add_witnesses"})
"""Methods that parts have for one another."""


def _pass_on(part: str, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(method)
    async def call(story: Story, /, *args: Any, **kwargs: Any) -> Any:
        return await method(getattr(story, part), *args, **kwargs)

    return call


for _part, _owner in PARTS.items():
    for _name, _method in getmembers(_owner, iscoroutinefunction):
        if not _name.startswith("_") and _name not in INNER:
            setattr(Story, _name, _pass_on(_part, _method))
