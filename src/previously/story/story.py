"""A story: its transcript, its memory, and the view.

`Story` decides nothing. Each of its methods is that of one of its parts; folding is `runtime.fold_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from previously.memory.notes import list_note_ids
from previously.runtime.fold_loop import Progress, analyse, fold, fold_cast, plan_folds
from previously.runtime.fold_report import FoldReport
from previously.runtime.retry import retry_when_moved
from previously.runtime.story_settings import StorySettings
from previously.runtime.writer import MemoryWriter
from previously.settings import Settings
from previously.storage.store import Store, StoryInfo
from previously.storage.tables import Tables
from previously.story.access import StoryAccess, StoryChange
from previously.story.export import StoryExport
from previously.story.history import History
from previously.story.lore_edits import LoreEdits
from previously.story.memory_edits import MemoryEdits
from previously.story.memory_texts import MemoryTexts
from previously.story.presence import PresenceEdits
from previously.story.threads_state import ThreadsState
from previously.story.transcript import Transcript
from previously.story.turns import Turns
from previously.story.views import StoryViews
from previously.view.view import View

P = ParamSpec("P")
T = TypeVar("T")
Part = TypeVar("Part")


class _From(Generic[Part]):
    """Makes methods of a story out of those of one of its parts."""

    def __init__(self, part: Callable[[Story], Part]) -> None:
        self._part = part

    def __call__(
        self, method: Callable[Concatenate[Part, P], Coroutine[Any, Any, T]]
    ) -> Callable[Concatenate[Story, P], Coroutine[Any, Any, T]]:
        part = self._part

        @wraps(method)
        async def call(story: Story, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await method(part(story), *args, **kwargs)

        return call


class Story:
    """One conversation with its memory."""

    def __init__(self, store: Store, info: StoryInfo, writer: MemoryWriter, settings: StorySettings) -> None:
        self.name = info.name
        self._access = StoryAccess(store, info.key, settings)
        self._writer = writer
        self._presence = PresenceEdits(self._access)
        self._transcript = Transcript(self._access, self._presence)
        self._views = StoryViews(self._access, info.name)
        self._texts = MemoryTexts(self._access)
        self._edits = MemoryEdits(self._access)
        self._history = History(self._access)
        self._lore = LoreEdits(self._access)
        self._state = ThreadsState(self._access)
        self._turns = Turns(self._access)
        self._export = StoryExport(self._access, info.name, self._transcript, self._texts, self._lore, self._state)

    @property
    def memory_mark(self) -> str:
        """Return the letters that this story's memory of a turn is marked with in views; no text can have them."""
        return self._views.memory_mark

    _of_transcript = _From[Transcript](lambda story: story._transcript)
    add = _of_transcript(Transcript.add)
    add_drafts = _of_transcript(Transcript.add_drafts)
    insert = _of_transcript(Transcript.insert)
    edit = _of_transcript(Transcript.edit)
    delete = _of_transcript(Transcript.delete)
    hide = _of_transcript(Transcript.hide)
    unhide = _of_transcript(Transcript.unhide)
    regenerate = _of_transcript(Transcript.regenerate)
    swipes = _of_transcript(Transcript.swipes)
    choose = _of_transcript(Transcript.choose)
    branch = _of_transcript(Transcript.branch)
    switch = _of_transcript(Transcript.switch)
    branches = _of_transcript(Transcript.branches)
    branch_info = _of_transcript(Transcript.branch_info)
    moves = _of_transcript(Transcript.moves)
    messages = _of_transcript(Transcript.messages)
    follow = _of_transcript(Transcript.follow)
    follow_branch = _of_transcript(Transcript.follow_branch)
    header = _of_transcript(Transcript.header)
    keep_header = _of_transcript(Transcript.keep_header)

    _of_views = _From[StoryViews](lambda story: story._views)
    view = _of_views(StoryViews.view)
    view_at_once = _of_views(StoryViews.view_at_once)
    why = _of_views(StoryViews.why)
    last_view = _of_views(StoryViews.last_view)
    search = _of_views(StoryViews.search)
    report_usage = _of_views(StoryViews.report_usage)
    info = _of_views(StoryViews.info)

    def learn_usage(self, view: View, prompt_tokens: int, model: str) -> Callable[[Tables], None]:
        """Do as `report_usage` does, but leave the write to the caller."""
        return self._views.learn_usage(view, prompt_tokens, model)

    _of_texts = _From[MemoryTexts](lambda story: story._texts)
    recap = _of_texts(MemoryTexts.recap)
    brief = _of_texts(MemoryTexts.brief)
    chapters = _of_texts(MemoryTexts.chapters)
    backbone = _of_texts(MemoryTexts.backbone)
    episodes = _of_texts(MemoryTexts.episodes)
    notes = _of_texts(MemoryTexts.notes)
    notes_in_force = _of_texts(MemoryTexts.notes_in_force)
    cast = _of_texts(MemoryTexts.cast)
    who_knows = _of_texts(MemoryTexts.who_knows)
    end_scene = _of_texts(MemoryTexts.end_scene)
    scenes = _of_texts(MemoryTexts.scenes)
    analyses = _of_texts(MemoryTexts.analyses)
    gaps = _of_texts(MemoryTexts.gaps)

    _of_edits = _From[MemoryEdits](lambda story: story._edits)
    close_chapter = _of_edits(MemoryEdits.close_chapter)
    write = _of_edits(MemoryEdits.write)
    write_knowledge = _of_edits(MemoryEdits.write_knowledge)
    lock = _of_edits(MemoryEdits.lock)
    unlock = _of_edits(MemoryEdits.unlock)
    flagged = _of_edits(MemoryEdits.flagged)
    pin = _of_edits(MemoryEdits.pin)
    pins = _of_edits(MemoryEdits.pins)
    unpin = _of_edits(MemoryEdits.unpin)

    _of_turns = _From[Turns](lambda story: story._turns)
    newest_version = _of_turns(Turns.newest_version)
    turn_record = _of_turns(Turns.turn_record)
    finish_turn = _of_turns(Turns.finish_turn)
    overrule_turn = _of_turns(Turns.overrule_turn)
    replace_end = _of_turns(Turns.replace_end)
    rewind = _of_turns(Turns.rewind)

    _of_history = _From[History](lambda story: story._history)
    log = _of_history(History.log)
    telling = _of_history(History.telling)
    undo = _of_history(History.undo)
    restore = _of_history(History.restore)
    pending = _of_history(History.pending)
    approve = _of_history(History.approve)
    reject = _of_history(History.reject)

    _of_presence = _From[PresenceEdits](lambda story: story._presence)
    leave = _of_presence(PresenceEdits.leave)
    enter = _of_presence(PresenceEdits.enter)
    absent = _of_presence(PresenceEdits.absent)
    presence = _of_presence(PresenceEdits.presence)
    set_presence = _of_presence(PresenceEdits.set_presence)
    unset_presence = _of_presence(PresenceEdits.unset_presence)

    _of_lore = _From[LoreEdits](lambda story: story._lore)
    lore = _of_lore(LoreEdits.lore)
    write_lore = _of_lore(LoreEdits.write_lore)
    lock_lore = _of_lore(LoreEdits.lock_lore)
    unlock_lore = _of_lore(LoreEdits.unlock_lore)
    accept_lore = _of_lore(LoreEdits.accept_lore)
    remove_lore = _of_lore(LoreEdits.remove_lore)
    explain_lore = _of_lore(LoreEdits.explain_lore)
    attach_book = _of_lore(LoreEdits.attach_book)
    detach_book = _of_lore(LoreEdits.detach_book)
    attached_books = _of_lore(LoreEdits.attached_books)

    _of_state = _From[ThreadsState](lambda story: story._state)
    threads = _of_state(ThreadsState.threads)
    open_thread = _of_state(ThreadsState.open_thread)
    resolve_thread = _of_state(ThreadsState.resolve_thread)
    reword_thread = _of_state(ThreadsState.reword_thread)
    reopen_thread = _of_state(ThreadsState.reopen_thread)
    state = _of_state(ThreadsState.state)
    hold = _of_state(ThreadsState.hold)
    end_held = _of_state(ThreadsState.end_held)
    players = _of_state(ThreadsState.players)
    wishes = _of_state(ThreadsState.wishes)
    reword_wish = _of_state(ThreadsState.reword_wish)
    withdraw_wish = _of_state(ThreadsState.withdraw_wish)
    people = _of_state(ThreadsState.people)

    _of_export = _From[StoryExport](lambda story: story._export)
    export = _of_export(StoryExport.export)

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
        same question before is taken again. With `cast` False, what characters know waits for `fold_cast`.
        With `pressed`, as if the chat's view had no room for what is not folded: say so where another reader's has
        none (`View.fold_due`)."""
        rules = self._access.rules if cast else replace(self._access.rules, cast="off")
        return await fold(
            self._access.store, self._access.key, self._writer, rules,
            pressed=_is_pressed if pressed else self._views.is_pressed, once=once, progress=progress, fresh=fresh,
        )  # fmt: skip

    async def fold_cast(self) -> FoldReport:
        """Tell each character what they have witnessed since, all at the same time; all else that is due waits."""
        return await fold_cast(self._access.store, self._access.key, self._writer, self._access.rules)

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
