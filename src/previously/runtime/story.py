"""A story: its transcript, what people do to its memory, folding, and the view.

Nothing here decides: folding is `runtime.folding`, the view `view.build`, what is in force `runtime.remembering`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from previously.core.calibration import make_sample
from previously.core.errors import BadInput, BudgetTooSmall, StoreProblem
from previously.core.marks import MarkKind
from previously.core.messages import Draft
from previously.core.versions import Kind
from previously.folds.recap import Timeline
from previously.runtime.analysing import analyse
from previously.runtime.by_hand import Which
from previously.runtime.fold_report import FoldReport
from previously.runtime.folding import Progress, fold, plan_folds
from previously.runtime.history import History
from previously.runtime.lore_edits import LoreEdits
from previously.runtime.noted import every_note
from previously.runtime.presence import PresenceByHand
from previously.runtime.reading import persistently
from previously.runtime.recalling import SearchHit, catch_up, search, try_to_catch_up
from previously.runtime.remembering import ChapterText, MemoryText
from previously.runtime.replaying import last_view, view_again
from previously.runtime.standing import Standing
from previously.runtime.transcript import Transcript
from previously.runtime.tuning import Tuning
from previously.runtime.view_recipes import Made, keep
from previously.runtime.viewing import is_pressed, view_before, view_of
from previously.runtime.writer import MemoryWriter
from previously.settings import Settings
from previously.storage.store import BranchInfo, Store, StoryInfo
from previously.view.build import ViewRequest
from previously.view.reader import Reader, ReaderKind, parse_reader
from previously.view.view import NO_FURNITURE, Furniture, View, parse_sections


class Story(Transcript, History, PresenceByHand, LoreEdits, Standing):
    """One conversation with its memory."""

    def __init__(self, store: Store, info: StoryInfo, folder: MemoryWriter, tuning: Tuning) -> None:
        super().__init__(store, info.key, tuning)
        self._folder = folder
        self.name = info.name

    async def add_drafts(
        self, drafts: Sequence[Draft], *, expected_head: int | None = None, idempotency_key: str | None = None
    ) -> BranchInfo:
        """Add several messages at the end, all or none. Who is not there does not witness them."""
        told, before = await self._with_witnesses(drafts)
        branch = await super().add_drafts(told, expected_head=expected_head, idempotency_key=idempotency_key)
        if branch.messages == before.messages + len(told):  # else it had been added before, or others were there first
            self._meet(before.head, branch, told)
        return branch

    async def settings(self) -> dict[str, Any]:
        """The story's own settings, as `set` keeps them."""
        return dict(self._tuning.own)

    async def set(self, assignments: Sequence[str]) -> Settings:
        """Give the story settings of its own, all or none (`key=value`; `key=` takes one back); those in force."""
        kept = self._tuning.change(await self._store.settings(self._key), assignments)
        await self._store.keep_settings(self._key, kept)
        return self._tuning.in_force

    async def fold(self, *, once: bool = False, progress: Progress | None = None, fresh: bool = False) -> FoldReport:
        """Fold all that is due, or with `once` at most one span. With `fresh`, no answer that a model gave to the very
        same question before is taken again."""
        return await fold(
            self._store, self._key, self._folder, self._rules, pressed=self._pressed, once=once,
            progress=progress, fresh=fresh,
        )  # fmt: skip

    async def plan(self, *, anew: bool = False) -> FoldReport:
        """What `fold` would do, or with `anew` what `rebuild` would, without doing it. Later folds assume texts of
        their target length."""
        return await persistently(
            lambda: plan_folds(self._store, self._key, self._folder, self._rules, pressed=self._pressed, anew=anew)
        )

    async def rebuild(self, *, progress: Progress | None = None) -> FoldReport:
        """Fold everything on the active branch anew, with the model and prompts of now. What is there stays in force
        until better stands in its place; what people wrote stays for good."""
        branch = await self.branch_info()
        covered = await self._store.cover(self._key, branch.name)
        notes = await every_note(self._store, self._key, branch)
        await self._store.loosen(self._key, [*(version for _, _, version in covered), *notes])
        return await self.fold(progress=progress, fresh=True)

    async def analyze(self, position: int | None = None, *, again: bool = False) -> FoldReport:
        """Analyse the fragment at a position, or all that have no analysis; with `again` also what has one."""
        return await analyse(self._store, self._key, self._folder, self._rules, position, again=again)

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
        """What the model should see, in at most that many tokens (if None, what the window leaves beside the answer).

        `reader`: for whom: `chat`, `narrator`, `character:NAME`, `memory:NAME`, `state` or `agent`. `before`: as it
        would have been before the message at that position. `exclude`: sections of memory to leave out (`pins`,
        `backbone`, `chapters`, `recap`, `threads`, `state`, `cast`, `lore`, `recall`); what only they tell of is
        listed as left out. `furniture`: what the client adds of its own, which counts. `aside`: for a question beside
        the story; nothing is kept of it."""
        asked = self._asked(budget_tokens, reader, exclude, furniture)
        if asked.recall_tokens and before is None:
            await try_to_catch_up(self._store, self._key)
        noted, made = await self._made(asked, before)
        if before is None and not aside:
            await self._keep(asked, made, noted)
        return made.view

    async def view_at_once(
        self, budget_tokens: int, *, furniture: Furniture = NO_FURNITURE, speaker: str = ""
    ) -> tuple[View, Callable[[], Coroutine[Any, Any, None]]]:
        """A view for a chat whose user waits, and what is to be done once it is on its way: keeping how it was made,
        and indexing what is new for the next one. Where not everyone witnessed everything, a `speaker` who answers is
        shown what they know and nothing else."""
        keeps_apart = bool(speaker) and await self._keeps_apart()
        asked = self._asked(budget_tokens, f"character:{speaker}" if keeps_apart else "chat", (), furniture)
        noted, made = await self._made(asked, None, answers=True)

        async def afterwards() -> None:
            await self._keep(asked, made, noted)
            await try_to_catch_up(self._store, self._key)

        return made.view, afterwards

    async def _keeps_apart(self) -> bool:
        """Whether somebody said who witnessed what: with the messages, or by hand. What was only noted or inferred
        takes nothing out of a client's own chat."""
        if not await self._store.all_witnessed(self._key):
            return True
        branch = await self.branch_info()
        return bool(await self._store.marks(self._key, branch.name, {MarkKind.PRESENCE}))

    async def _made(self, asked: ViewRequest, before: int | None, *, answers: bool = False) -> tuple[int | None, Made]:
        """A view with its recipe, and the budget that was noted before. Whoever `answers` is there, heard of or not."""

        async def read(store: Store) -> tuple[int | None, Made]:
            reader = await self._reader(store, asked.reader, answers=answers)
            told = replace(asked, reader=reader)
            if before is not None:
                return None, await view_before(store, self._key, self._rules, told, before, self._knowing)
            info = await store.story(self._key.owner, self.name)
            return info.budget_tokens if info else None, await view_of(
                store, self._key, self._rules, told, self._knowing
            )

        return await self._store.at_one_moment(self._key.owner, read)

    async def _keep(self, asked: ViewRequest, made: Made, noted: int | None) -> None:
        await keep(self._store, self._key, made)
        if noted != asked.budget_tokens and asked.reader.kind is ReaderKind.CHAT:
            with suppress(StoreProblem):  # the view goes out in any case
                await self._store.note_budget(self._key, asked.budget_tokens)

    async def report_usage(self, view: View, prompt_tokens: int, *, model: str = "") -> None:
        """Say how many tokens a server counted in a view. After a few reports the estimate is calibrated; views count
        by it from the next epoch on. Reports of another model begin anew."""
        if prompt_tokens <= 0:
            raise BadInput(f"A prompt of {prompt_tokens} tokens is none; give what the server reported.")
        learnt = self._tuning.learn(make_sample(view.messages, prompt_tokens), model)
        await self._store.keep_usage(self._key, learnt)

    async def search(
        self, query: str, *, top: int | None = None, budget_tokens: int | None = None, witness: str | None = None
    ) -> list[SearchHit]:
        """The messages that say most about a query, best first; only what `witness` witnessed. At most `top`, ten if
        that is not said, or as many as a budget holds: each is charged what it would take in a view."""
        await catch_up(self._store, self._key)
        counter, dated = self._tuning.counter, self._tuning.in_force.clock == "chat"
        who = Reader() if witness is None else parse_reader(f"{ReaderKind.CHARACTER}:{witness}")

        async def read(store: Store) -> list[SearchHit]:
            reader = await self._reader(store, who)
            return await search(store, self._key, query, top, budget_tokens, reader, counter, dated=dated)

        return await self._store.at_one_moment(self._key.owner, read)

    async def why(self, position: int, *, reader: str = "chat") -> View:
        """What the model saw at a turn: before the answer at that position, or at the user's message there."""
        asked = self._asked(None, reader, (), NO_FURNITURE)
        return await self._store.at_one_moment(
            self._key.owner, lambda store: view_again(store, self._key, asked, position)
        )

    async def last_view(self, *, reader: str = "chat") -> View | None:
        """What the model saw last of what is on the active branch now, made once more; None if that is not known."""
        asked = self._asked(None, reader, (), NO_FURNITURE)
        return await self._store.at_one_moment(self._key.owner, lambda store: last_view(store, self._key, asked))

    def _asked(
        self, budget_tokens: int | None, reader: str, exclude: Iterable[str], furniture: Furniture
    ) -> ViewRequest:
        settings = self._tuning.in_force
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
            self._tuning.counter,
            settings.tail_percent,
            settings.recall_percent,
            settings.lore_percent,
            settings.lore_depth,
            for_agent=self._rules.timeline is Timeline.BRIEF,
            dated=settings.clock == "chat",
        )

    async def recap(self) -> MemoryText | None:
        """The recap of the open chapter, what a person wrote of it included."""
        return await self._text(Which(Kind.RECAP))

    async def brief(self) -> MemoryText | None:
        """The same where it is an agent's brief (`timeline = "brief"`); None where it is not."""
        return await self.recap() if self._rules.timeline is Timeline.BRIEF else None

    async def chapters(self) -> list[ChapterText]:
        """Every closed chapter with its recap, the oldest first."""
        _, reading = await self._reading()
        return await reading.chapters((await reading.timeline())[:-1])

    async def backbone(self) -> MemoryText | None:
        """The summary of all closed chapters, as far as it has got."""
        return await self._text(Which(Kind.BACKBONE))

    async def info(self) -> StoryInfo:
        """The story as it is now."""
        info = await self._store.story(self._key.owner, self.name)
        assert info is not None, "stories are never deleted"
        return info

    async def _pressed(self) -> bool:
        """Whether the view that was last asked for has no room for a message outside the tail, or soon will not."""

        async def read(store: Store) -> bool:
            info = await store.story(self._key.owner, self.name)
            asked = self._asked((info and info.budget_tokens) or None, "chat", (), NO_FURNITURE)
            return await is_pressed(store, self._key, self._rules, asked, self._knowing)

        try:
            return await self._store.at_one_moment(self._key.owner, read)
        except BudgetTooSmall:
            return False  # no fold makes room for a message that is too long by itself
