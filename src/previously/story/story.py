"""A story: its transcript, its memory, and the view.

`Story` decides nothing. Each of its methods is that of one of its parts; folding is `runtime.fold_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from previously.core.deed import Deed, DeedKind
from previously.runtime.fold_tasks import FoldTasks
from previously.runtime.note_deed import add_deed
from previously.runtime.retry import retry_when_moved
from previously.story.access import StoryAccess, StoryChange
from previously.story.on_demand import MethodOnDemand
from previously.story.parts import PARTS, StoryParts

if TYPE_CHECKING:
    from previously.core.fold_rules import FoldRules
    from previously.folds.prompts.templates import Template
    from previously.models.client import Model
    from previously.runtime.fold_loop import Progress
    from previously.runtime.fold_report import FoldReport
    from previously.runtime.preview_question import NextQuestion
    from previously.runtime.story_moment import StoryMoment
    from previously.runtime.story_settings import StorySettings
    from previously.runtime.writer import MemoryWriter
    from previously.settings import Settings
    from previously.storage.store import Store, StoryInfo, StoryKey
    from previously.storage.tables import Tables
    from previously.story.apply_directory import DirectoryEdits
    from previously.story.ask import Questions
    from previously.story.export import StoryExport
    from previously.story.history import History
    from previously.story.intake import StoryIntake
    from previously.story.lore_edits import LoreEdits
    from previously.story.memory_edits import MemoryEdits
    from previously.story.memory_texts import MemoryTexts
    from previously.story.presence import PresenceEdits
    from previously.story.replies import Replies
    from previously.story.searches import Searches
    from previously.story.sources import Sources
    from previously.story.things import Things
    from previously.story.threads_state import ThreadsState
    from previously.story.transcript import Transcript
    from previously.story.tree import StoryTree
    from previously.story.turns import Turns
    from previously.story.views import StoryViews
    from previously.view.view import View

    class _Parts(  # type: ignore[misc] # private members of different parts may share a name: each part has its own
        Transcript,
        StoryViews,
        Searches,
        Questions,
        MemoryTexts,
        MemoryEdits,
        History,
        Sources,
        PresenceEdits,
        LoreEdits,
        ThreadsState,
        Turns,
        Things,
        Replies,
        StoryTree,
        StoryExport,
        DirectoryEdits,
        StoryIntake,
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
        model: Model | None = None,
    ) -> None:
        self.name: str = info.name
        self._access = StoryAccess(store, info.key, settings)
        self._parts = StoryParts(self._access, info.name, writer, model)
        self._writer = writer
        self._tasks = tasks or FoldTasks()

    @property
    def memory_mark(self) -> str:  # type: ignore[override] # a part may write it
        """Return the letters that this story's memory of a turn is marked with in views; no text can have them."""
        return self._parts.views.memory_mark

    @property
    def writes_with(self) -> str:
        """Return the name of the model that `reply` asks; empty if there is none."""
        return self._parts.replies.model_name

    def learn_usage(self, view: View, prompt_tokens: int, model: str) -> Callable[[Tables], None]:
        """Do as `report_usage` does, but leave the write to the caller."""
        return self._parts.views.learn_usage(view, prompt_tokens, model)

    async def settings(self) -> dict[str, Any]:
        """Return the story's own settings, as `set` keeps them."""
        return dict(self._access.settings.own)

    async def set(self, assignments: Sequence[str]) -> Settings:
        """Give the story settings of its own, all or none (`key=value`; `key=` takes one back); return those in
        force."""
        key, settings = self._access.key, self._access.settings

        def write(tables: Tables) -> str:
            before = tables.stories.kept(key, "settings")
            own = tables.stories.change_kept(key, "settings", lambda own: settings.change(own, assignments))
            if own != before:
                names = ", ".join(assignment.partition("=")[0].strip() for assignment in assignments)
                add_deed(tables, key, Deed(DeedKind.SET, what=names))
            return own

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
        from previously.runtime.continue_story import fold_link
        from previously.runtime.fold_loop import fold

        rules = self._access.rules if cast else replace(self._access.rules, cast="off")
        for key, branch, theirs in await self._access.read(_list_links):
            await fold_link(self._access.store, key, branch, self._writer, theirs)
        return await fold(
            self._access.store, self._access.key, self._writer, rules,
            pressed=_is_pressed if pressed else self._parts.views.is_pressed, once=once, progress=progress, fresh=fresh,
        )  # fmt: skip

    async def fold_cast(self) -> FoldReport:
        """Tell each character what they have witnessed since, all at the same time; all else that is due waits."""
        from previously.runtime.fold_loop import fold_cast

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

    def compute_price(self, report: FoldReport) -> float:
        """Return the price of folds by the story's settings."""
        return self._access.settings.in_force.compute_price(done.cost for done in report.folds)

    @property
    def folding(self) -> str:
        """Return who decides that a proxy folds: `automatic`, `ask` or `off`."""
        return self._access.settings.in_force.folding

    @property
    def preset(self) -> str:
        """Return the kind of story whose defaults are in force."""
        return self._access.settings.in_force.preset

    async def plan(self, *, anew: bool = False, once: bool = False) -> FoldReport:
        """Return what `fold` would do, or with `anew` what `rebuild` would, without doing it; with `once` the next span
        alone. Later folds assume texts of their target length."""
        from previously.runtime.fold_loop import plan_folds

        return await retry_when_moved(
            lambda: plan_folds(
                self._access.store, self._access.key, self._writer, self._access.rules,
                pressed=self._parts.views.is_pressed, anew=anew, once=once,
            )
        )  # fmt: skip

    async def next_question(self, prompts: Mapping[str, Template] | None = None) -> NextQuestion | None:
        """Return what a model would be asked next, word for word, with the package's prompts or others; nothing is
        sent. Where nothing is due, the first question of all; None where there is nothing to ask about.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     memory.story("ferry").next_question() is None
        True
        """
        from previously.runtime.preview_question import preview_question
        from previously.runtime.prompts import load_prompts

        templates = load_prompts() if prompts is None else prompts
        return await preview_question(
            self._access.store, self._access.key, templates, self._access.rules, self._parts.views.is_pressed
        )

    async def rebuild(self, *, progress: Progress | None = None) -> FoldReport:
        """Fold everything on the active branch anew, with the model and prompts of now. What is there stays in force
        until better stands in its place; what people wrote stays for good."""

        from previously.memory.notes import list_note_ids

        def loosen(change: StoryChange) -> None:
            covered = [version for _, _, version in change.snapshot.cover()]
            change.tables.versions.loosen(change.key, [*covered, *list_note_ids(change.snapshot)])

        await self._access.change(loosen)
        return await self.fold(progress=progress, fresh=True)

    async def analyze(self, position: int | None = None, *, again: bool = False) -> FoldReport:
        """Analyse the fragment at a position, or all that have no analysis; with `again` also what has one."""
        from previously.runtime.fold_loop import analyse

        return await analyse(
            self._access.store, self._access.key, self._writer, self._access.rules, position, again=again
        )


def _list_links(moment: StoryMoment) -> list[tuple[StoryKey, str, FoldRules]]:
    """Return the branches of the stories before this one: what is forgotten there has to be folded anew."""
    earlier = moment.find_earlier()
    return [*_list_links(earlier), (earlier.key, earlier.snapshot.branch, earlier.rules)] if earlier else []


async def _is_pressed() -> bool:
    return True


def _pass_on(part: str, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    method = getattr(PARTS[part].load(), name)

    @wraps(method)
    async def call(story: Story, /, *args: Any, **kwargs: Any) -> Any:
        return await method(getattr(story._parts, part), *args, **kwargs)

    return call


for _attribute, _part in PARTS.items():
    for _name in _part.methods.split():
        setattr(Story, _name, MethodOnDemand(Story, _name, partial(_pass_on, _attribute, _name)))
