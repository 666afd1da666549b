"""The views of one story: what a model should see, and what it saw."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import replace
from secrets import choice
from string import ascii_lowercase
from typing import Any

from previously.core.calibration import make_sample
from previously.core.continuation import Continuation
from previously.core.errors import BadInput, BudgetTooSmall, StoreProblem, StoryGone
from previously.core.fold_rules import Timeline
from previously.core.marks import MarkKind
from previously.core.snapshot import Snapshot, before
from previously.lore.entry import NORMAL
from previously.recognition.choose_story import MEMORY_MARK, parse_header
from previously.runtime.clock import time_at
from previously.runtime.search import try_to_catch_up
from previously.runtime.story_moment import StoryMoment
from previously.runtime.view_recipes import MadeView, remake_last_view, remake_view
from previously.runtime.views import is_pressed, make_view, make_view_before
from previously.storage.store import StoryInfo
from previously.storage.tables import Tables
from previously.story.access import StoryAccess, read_continuation
from previously.view.build import ViewRequest
from previously.view.reader import ReaderKind, parse_reader
from previously.view.turn import MARK_LETTERS
from previously.view.view import NO_FURNITURE, Furniture, View, parse_sections


class StoryViews:
    """Makes the views of one story."""

    def __init__(self, access: StoryAccess, name: str) -> None:
        self._access = access
        self._name = name
        self.memory_mark: str = "".join(choice(ascii_lowercase) for _ in range(MARK_LETTERS))
        """The letters that this story's memory of a turn is marked with. Those that were kept count, once they are."""
        self._is_mark_kept = False

    async def view(
        self,
        budget_tokens: int | None = None,
        *,
        reader: str = "chat",
        before: int | None = None,
        exclude: Iterable[str] = (),
        furniture: Furniture = NO_FURNITURE,
        aside: bool = False,
    ) -> View:
        """Return what the model should see, in at most that many tokens (if None, what the window leaves beside the
        answer).

        `reader`: for whom: `chat`, `narrator`, `character:NAME`, `memory:NAME`, `state` or `agent`. `before`: as it
        would have been before the message at that position. `exclude`: sections of memory to leave out (`pins`,
        `backbone`, `chapters`, `recap`, `threads`, `state`, `cast`, `lore`, `recall`); what only they tell of is
        listed as left out. `furniture`: what the client adds of its own, which counts. `aside`: for a question beside
        the story; nothing is kept of it.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the ferry in?", name="Wren")
        ...     view = story.view(1_000)
        >>> view.tokens < view.budget_tokens, [message.text for message in view.messages]
        (True, ['Is the ferry in?'])
        """
        asked = self._ask(budget_tokens, reader, exclude, furniture)
        if before is not None:
            return await self._make_before(asked, before)
        if asked.recall_tokens:
            await try_to_catch_up(self._access.store, self._access.key, writes=not aside)
        made = await self._make(lambda moment: _with_reader(asked, moment))
        if not aside:
            await self._keep(made)
        return made.view

    async def view_at_once(
        self,
        budget_tokens: int,
        *,
        furniture: Furniture = NO_FURNITURE,
        speaker: str = "",
        shown_from: int = 0,
        triggers: frozenset[str] = frozenset({NORMAL}),
        outlets: frozenset[str] = frozenset(),
        in_outlets: tuple[str, ...] = (),
        until: int | None = None,
    ) -> tuple[View, Callable[[], Coroutine[Any, Any, None]]]:
        """Return a view for a chat whose user waits, and what is to be done once it is on its way: keeping how it was
        made, and indexing what is new for the next one. Where not everyone witnessed everything, a `speaker` who
        answers is shown what they know and nothing else. `shown_from`: where the client's own list begins. `triggers`,
        `outlets` and `in_outlets`: the kind of answer, the outlets of lore that the furniture fills, and with which
        entries, by uid. `until`: the messages of the branch that there are for it; all if None."""

        def ask(moment: StoryMoment) -> ViewRequest:
            asked = self._ask(budget_tokens, choose_reader(moment.snapshot, speaker), (), furniture)
            asked = replace(asked, shown_from=shown_from, triggers=triggers, outlets=outlets, in_outlets=in_outlets)
            return _with_reader(asked, moment, answers=True)

        made = await self._make(ask, until)

        async def afterwards() -> None:
            await try_to_catch_up(self._access.store, self._access.key, also=lambda tables: self._write(tables, made))

        return made.view, afterwards

    async def why(self, position: int, *, reader: str = "chat") -> View:
        """Return what the model saw at a turn: before the answer at that position, or at the user's message there."""
        asked = self._ask(None, reader, (), NO_FURNITURE)
        return await self._access.read(lambda moment: remake_view(moment.snapshot, asked, position))

    async def last_view(self, *, reader: str = "chat") -> View | None:
        """Return what the model saw last of what is on the active branch now, made once more; None if that is not
        known."""
        asked = self._ask(None, reader, (), NO_FURNITURE)
        return await self._access.read(lambda moment: remake_last_view(moment.snapshot, asked))

    async def report_usage(self, view: View, prompt_tokens: int, *, model: str = "") -> None:
        """Say how many tokens a server counted in a view. After a few reports the estimate is calibrated; views count
        by it from the next epoch on. Reports of another model begin anew."""
        if prompt_tokens <= 0:
            raise BadInput(f"A prompt of {prompt_tokens} tokens is none; give what the server reported.")
        await self._access.store.write(self._access.key, self.learn_usage(view, prompt_tokens, model))

    def learn_usage(self, view: View, prompt_tokens: int, model: str) -> Callable[[Tables], None]:
        """Calibrate by the tokens that a server counted; return the write that keeps it."""
        sample = make_sample(view.messages, prompt_tokens, view.parts.furniture.tools)
        key, learnt = self._access.key, self._access.settings.learn(sample, model)
        return lambda tables: tables.stories.keep(key, "usage", learnt)

    async def continues(self) -> Continuation | None:
        """Return the link to the story that this one continues; None if it continues none. Its `story` is the name that
        story has now, and empty if it is not here any more."""

        def read(moment: StoryMoment) -> Continuation | None:
            link, earlier = read_continuation(moment.snapshot), moment.find_earlier()
            return replace(link, story=earlier.name if earlier else "") if link else None

        return await self._access.read(read)

    async def info(self) -> StoryInfo:
        """Return the story as it is now."""
        info = await self._access.store.read(self._access.key.owner, self._read_info)
        if info is None:
            raise StoryGone
        return info

    async def is_pressed(self) -> bool:
        """Return whether the view that was last asked for has no room for a message outside the tail, or soon will
        not."""

        def read(tables: Tables) -> bool:
            asked = self._ask(self._read_budget(tables) or None, "chat", (), NO_FURNITURE)
            return is_pressed(self._access.make_moment(tables), asked)

        try:
            return await self._access.store.read(self._access.key.owner, read)
        except BudgetTooSmall:
            return False  # no fold makes room for a message that is too long by itself

    def _read_info(self, tables: Tables) -> StoryInfo | None:
        return tables.stories.named(self._access.key.owner, self._name)

    def _read_budget(self, tables: Tables) -> int | None:
        info = self._read_info(tables)
        return info.budget_tokens if info else None

    async def _make(self, ask: Callable[[StoryMoment], ViewRequest], until: int | None = None) -> MadeView:
        """Make a view with its recipe. Only the views of a chat note their budget, where it is another."""
        at = time_at()

        def read(tables: Tables) -> MadeView:
            moment = cut_moment(self._access.make_moment(tables), until)
            asked = replace(ask(moment), mark=self._find_mark(tables))
            made = make_view(moment, asked, at)
            is_noted = asked.reader.kind is not ReaderKind.CHAT or self._read_budget(tables) == asked.budget_tokens
            return made if is_noted else replace(made, budget_tokens=asked.budget_tokens)

        return await self._access.store.read(self._access.key.owner, read)

    async def _make_before(self, asked: ViewRequest, position: int) -> View:
        def read(tables: Tables) -> View:
            moment = self._access.make_moment(tables)
            marked = replace(asked, mark=self._find_mark(tables))
            return make_view_before(moment, _with_reader(marked, moment), position)

        return await self._access.store.read(self._access.key.owner, read)

    def _find_mark(self, tables: Tables) -> str:
        """Return the story's mark: the one that is kept, so that what a server has cached stays of use, else the one
        that was drawn."""
        if not self._is_mark_kept:
            kept = parse_header(tables.stories.kept(self._access.key, "header")).get(MEMORY_MARK)
            if kept:
                self.memory_mark, self._is_mark_kept = str(kept), True
        return self.memory_mark

    def _keep_mark(self, tables: Tables) -> None:
        """Keep the mark that was drawn, unless another process was first."""
        mark = self._find_mark(tables)
        if not self._is_mark_kept:
            header = parse_header(tables.stories.kept(self._access.key, "header"))
            tables.stories.keep(self._access.key, "header", json.dumps({**header, MEMORY_MARK: mark}))

    async def _keep(self, made: MadeView) -> None:
        """Keep how a view was made, and the budget it was asked for. The view goes out in any case."""
        if made.recipe or made.budget_tokens is not None:
            with suppress(StoreProblem):
                await self._access.store.write(self._access.key, lambda tables: self._write(tables, made))

    def _write(self, tables: Tables, made: MadeView) -> None:
        if made.recipe:
            tables.recipes.keep(self._access.key, made.recipe, made.seen)
            if made.view.parts.turn_memory and not self._is_mark_kept:
                self._keep_mark(tables)
        if made.budget_tokens is not None:
            tables.stories.keep(self._access.key, "budget_tokens", made.budget_tokens)

    def _ask(self, budget_tokens: int | None, reader: str, exclude: Iterable[str], furniture: Furniture) -> ViewRequest:
        settings = self._access.settings.in_force
        who = parse_reader(reader, settings.preset)
        budget = (
            settings.budget_tokens(who.window_tokens, who.answer_tokens) if budget_tokens is None else budget_tokens
        )
        if budget <= 0:
            raise BadInput(f"A budget of {budget} tokens is no budget; give a positive number.")
        return ViewRequest(
            budget,
            who,
            parse_sections(exclude),
            furniture,
            self._access.settings.counter,
            settings.tail_percent,
            settings.recall_percent,
            settings.lore_percent,
            settings.lore_depth,
            for_agent=self._access.rules.timeline is Timeline.BRIEF,
            dated=settings.clock == "chat",
        )


def cut_moment(moment: StoryMoment, until: int | None) -> StoryMoment:
    """Return a branch as if it had only so many messages; all of it if None."""
    return moment if until is None else replace(moment, snapshot=before(moment.snapshot, until))


def _with_reader(asked: ViewRequest, moment: StoryMoment, *, answers: bool = False) -> ViewRequest:
    return replace(asked, reader=moment.find_reader(asked.reader, answers=answers))


def choose_reader(snapshot: Snapshot, speaker: str) -> str:
    """Return who reads the view for an answer of a speaker: they alone, where not everyone witnessed everything."""
    return f"character:{speaker}" if speaker and _keeps_apart(snapshot) else "chat"


def _keeps_apart(snapshot: Snapshot) -> bool:
    """Return whether somebody said who witnessed what: with the messages, or by hand. What was only noted or inferred
    takes nothing out of a client's own chat."""
    return not snapshot.all_witnessed() or bool(snapshot.marks({MarkKind.PRESENCE}))
