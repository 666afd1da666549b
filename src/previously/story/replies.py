"""Replies of a model: a story written on, its newest reply asked for again or gone on with, and the setup for it.

What a person says is kept before the model is asked. What a model said is kept however it ended: stopped by a person,
broken off, or cut by its length. A reply that is asked for again stands beside the one before, as a swipe; so does a
longer one beside the shorter. A direction is told to the model once and is no message of the story.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import Event
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from previously.core.errors import BadInput, HeadMoved
from previously.core.marks import MarkPlace
from previously.core.messages import Attributes, Draft, Role, message
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.core.path import OnPath, Put, Splice
from previously.models.client import Model, ask_aloud
from previously.recognition.choose_story import WRITING, parse_header
from previously.recognition.client_list import Ask
from previously.recognition.follow import continue_message
from previously.recognition.undo_postprocessing import NO_PREFILL
from previously.runtime.clock import time_at
from previously.runtime.find_story import ClientPlace
from previously.runtime.follow_client import PARTIAL, ClientFollower
from previously.runtime.story_moment import StoryMoment
from previously.runtime.story_setup import parse_own_setup, parse_setup
from previously.runtime.view_lore import read_outlets
from previously.storage.store import BranchInfo
from previously.storage.tables import Tables
from previously.story.access import StoryAccess
from previously.story.deeds import add_reply_deed, list_marks_in
from previously.story.presence import PresenceEdits
from previously.story.transcript import Transcript
from previously.story.views import StoryViews, choose_reader, cut_moment
from previously.view.setup import WritingSetup, change_setup
from previously.view.view import View
from previously.view.write_request import WantedPassage, build_furniture, build_write_request, clean_reply, make_reply

NO_MODEL = (
    "No model is configured to write on: set PREVIOUSLY_ENDPOINT and PREVIOUSLY_MODEL, or endpoint and model in "
    "previously.toml."
)
NOTHING_SAID = "The model answered with nothing; try again."

RETRIES = 3
"""Times that a request is sent once more: without an option that the server turned down (there are three), or shorter
because it was too long."""

SMALLER = 4
"""A server that does not tell its window is sent a view that is smaller by one in so many."""

RECENT = 8
"""Newest messages that are looked at for who speaks for the model: a few turns."""

WordsTold = Callable[[str], None]
"""Hears the words of a reply as they come, all of them each time."""


@dataclass(frozen=True, slots=True)
class StoryReply:
    """A reply, and what became of it. Where it has no text, the story is as it was, but for what the user said."""

    text: str
    branch: BranchInfo
    finish: str
    """`stop` (it is whole), `length` (it was cut at its longest), `stopped` (by a person) or `failed`."""
    failure: str = ""
    """The reason it failed, in one sentence."""
    usage: Usage | None = None

    @property
    def position(self) -> int | None:
        """Its position on the path; None if there is none."""
        return self.branch.messages - 1 if self.text else None


@dataclass(frozen=True, slots=True)
class _Wish:
    """A reply that is wanted."""

    direction: str
    speaker: str
    told: WordsTold | None
    stop: Event | None
    model: Model


class Replies:
    """Writes one story on with a model."""

    def __init__(
        self,
        access: StoryAccess,
        name: str,
        transcript: Transcript,
        views: StoryViews,
        presence: PresenceEdits,
        model: Model | None,
    ) -> None:
        self._access, self._name = access, name
        self._transcript, self._views, self._presence = transcript, views, presence
        self._model = model
        self._follower = ClientFollower(access.store)

    @property
    def model_name(self) -> str:
        """The name of the model that is asked where no other is given; empty if there is none."""
        return self._model.name if self._model else ""

    async def setup(self) -> WritingSetup:
        """Return how the story's model is asked to write on: what was set with `change_setup`, over the card and the
        names that the story's file brought along.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.change_setup({"name": "Odalys", "temperature": 0.9})
        ...     story.setup().name
        'Odalys'
        """
        key = self._access.key
        kept = await self._access.store.read(key.owner, lambda tables: tables.stories.kept(key, "header"))
        return parse_setup(kept)

    async def change_setup(self, changes: Mapping[str, Any]) -> WritingSetup:
        """Change how the story's model is asked, all of it or nothing; None takes a value back. Return what holds."""
        key = self._access.key

        def change(kept: str) -> str:
            header = parse_header(kept)
            return json.dumps({**header, WRITING: change_setup(parse_own_setup(header), changes)}, ensure_ascii=False)

        def write(tables: Tables) -> WritingSetup:
            return parse_setup(tables.stories.change_kept(key, "header", change))

        return await self._access.store.write(key, write)

    async def reply(
        self,
        text: str = "",
        *,
        direction: str = "",
        speaker: str = "",
        told: WordsTold | None = None,
        stop: Event | None = None,
        model: Model | None = None,
        expected_head: int | None = None,
        idempotency_key: str | None = None,
    ) -> StoryReply:
        """Add what the user says, and the model's reply to it. Without `text`, the model writes on from where the story
        stands: the next passage, or a reply that is missing.

        `direction` is told to the model and kept nowhere. `speaker` answers, where several could. `told` hears the
        words as they come; `stop` ends the reply, and what came is kept. `model` is asked in place of the one that the
        stories were opened with. `expected_head` and `idempotency_key` as for `add`.

        >>> from previously import BlockingMemory
        >>> from previously.testing import ScriptedModel
        >>> with BlockingMemory(":memory:", model=ScriptedModel("It is late.")) as memory:
        ...     story = memory.story("ferry")
        ...     reply = story.reply("Is the ferry in?", direction="Be brief.")
        ...     reply.text, reply.position, [item.entry.message.text for item in story.messages()]
        ('It is late.', 1, ['Is the ferry in?', 'It is late.'])
        """
        wish = self._wish(direction, speaker, told, stop, model)
        branch = before = await self._access.read_branch()
        if text.strip():
            said = message("user", text, speaker=(await self.setup()).user_name or None)
            branch = await self._transcript.add_drafts(
                [Draft(said, Attributes(at=time_at()))],
                expected_head=expected_head,
                idempotency_key=idempotency_key,
                undoable=True,
            )
            newest = await self._read_newest(branch)
            if newest and newest.entry.message.role is not Role.USER:  # it was said before, and answered
                return StoryReply(newest.entry.message.text, branch, "stop")
        elif not branch.messages and not (direction or (await self.setup()).scenario):
            raise BadInput("There is nothing to go on from yet: say something, or give a direction.")
        return await self._write(branch, wish, before=before)

    async def reply_again(
        self,
        *,
        direction: str = "",
        speaker: str = "",
        told: WordsTold | None = None,
        stop: Event | None = None,
        model: Model | None = None,
    ) -> StoryReply:
        """Ask for another reply in place of the newest one, which stays beside it as a swipe, and where it is until the
        other is there.

        >>> from previously import BlockingMemory
        >>> from previously.testing import ScriptedModel
        >>> with BlockingMemory(":memory:", model=ScriptedModel(["It is late.", "It is in."])) as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.reply("Is the ferry in?")
        ...     _ = story.reply_again()
        ...     [swipe.message.text for swipe in story.swipes()]
        ['It is late.', 'It is in.']
        """
        branch = await self._access.read_branch()
        newest = await self._read_newest(branch)
        wish = self._wish(direction, speaker, told, stop, model)
        if newest is None:
            raise BadInput("There is no reply yet that another could stand beside.")
        is_reply = newest.entry.message.role is not Role.USER
        return await self._write(branch, wish, replaced=newest if is_reply else None)

    async def reply_longer(
        self,
        *,
        direction: str = "",
        told: WordsTold | None = None,
        stop: Event | None = None,
        model: Model | None = None,
    ) -> StoryReply:
        """Ask for more of the newest reply. The longer one takes its place; the shorter stays beside it as a swipe.

        >>> from previously import BlockingMemory
        >>> from previously.testing import ScriptedModel
        >>> with BlockingMemory(":memory:", model=ScriptedModel(["It is late.", "It always is."])) as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.reply("Is the ferry in?")
        ...     story.reply_longer().text
        'It is late. It always is.'
        """
        branch = await self._access.read_branch()
        newest = await self._read_newest(branch)
        if newest is None or newest.entry.message.role is not Role.ASSISTANT:
            raise BadInput("Only a reply can be gone on with, and the newest message is none.")
        return await self._write(branch, self._wish(direction, "", told, stop, model), longer=newest)

    def _wish(
        self, direction: str, speaker: str, told: WordsTold | None, stop: Event | None, model: Model | None
    ) -> _Wish:
        asked = model or self._model
        if asked is None:
            raise BadInput(NO_MODEL)
        return _Wish(direction, speaker, told, stop, asked)

    async def _read_newest(self, branch: BranchInfo) -> OnPath | None:
        items = await self._transcript.messages(-1, -1) if branch.messages else []
        return items[0] if items else None

    async def _write(
        self,
        branch: BranchInfo,
        wish: _Wish,
        *,
        replaced: OnPath | None = None,
        longer: OnPath | None = None,
        before: BranchInfo | None = None,
    ) -> StoryReply:
        """Ask for a passage behind a branch, or in place of its newest message (`replaced`), and put it where it
        belongs. `before` is the branch before the user said what is answered."""
        until = replaced.position if replaced else None
        head = (
            await self._access.read(lambda moment: cut_moment(moment, until).snapshot.head) if replaced else branch.head
        )
        place = ClientPlace(
            self._access.key, self._name, branch.name, head, branch.messages if until is None else until,
            Ask.CONTINUE if longer else Ask.TURN, (), (longer.position,) if longer else (), (), NO_PREFILL,
            replaced=replaced.entry.id if replaced else None,
        )  # fmt: skip
        passage = _Streamed(wish, longer, place.triggers, until)
        if before and before.head != branch.head:
            passage.said_after = before.head
        earlier = longer or replaced
        passage.speaker = wish.speaker or (earlier.entry.message.speaker if earlier else None) or ""
        try:
            view, reply = await self._ask(wish, passage)
        except BaseException:  # the process ends, or there is no room: what came is kept all the same
            await asyncio.shield(self._keep(place, branch, passage, partial=True))
            raise
        usage = reply.usage if isinstance(reply, ModelReply) else None
        also = None
        # A server that counted less than half of it has cut it, and is nothing to learn from.
        if usage and usage.reported and usage.input_tokens * 2 >= view.tokens:
            also = self._views.learn_usage(view, usage.input_tokens, wish.model.name)
        finish, failure = passage.judge(reply)
        now = await self._keep(place, branch, passage, partial=finish in ("stopped", "failed"), also=also)
        text = passage.whole if passage.text.strip() else ""
        return StoryReply(text, now, finish, failure, usage)

    async def _ask(self, wish: _Wish, passage: _Streamed) -> tuple[View, ModelReply | ModelFailure | None]:
        """Return the view that the model saw, and its answer; None if a person stopped it."""
        settings, setup = self._access.settings.in_force, await self.setup()
        form = setup.form or ("prose" if settings.preset == "novel" else "chat")
        if form == "chat":
            passage.speaker = passage.speaker or setup.name or await self._find_speaker()
        kind = WantedPassage.MORE if passage.longer else WantedPassage.NEXT
        triggers, outlets = passage.triggers, setup.outlets
        in_outlets: tuple[str, ...] = ()
        if outlets:
            told, in_outlets = await self._read_outlets(outlets, wish.speaker, passage)
            setup = setup.with_outlets(told)
        furniture = build_furniture(setup, form, kind, wish.direction, wish.speaker)
        window = settings.window_tokens
        if not self._access.settings.has_window and (find := getattr(wish.model, "find_window", None)):
            window = await find() or window
        for _ in range(RETRIES + 1):
            budget = settings.budget_tokens(window, setup.max_tokens or settings.answer_tokens)
            view, afterwards = await self._views.view_at_once(
                budget,
                furniture=furniture,
                speaker=wish.speaker,
                triggers=triggers,
                outlets=outlets,
                in_outlets=in_outlets,
                until=passage.until,
            )
            passage.mark = self._views.memory_mark
            keeping = asyncio.create_task(afterwards())
            try:
                reply = await passage.listen(build_write_request(view, setup, form, window - budget))
            finally:
                with suppress(Exception):  # a recipe that cannot be kept is no reason to lose a reply
                    await keeping
            match reply:
                case ModelFailure(kind=FailureKind.OVERFLOW) if not passage.text:
                    window = min(reply.window_tokens or window, window - window // SMALLER)
                case ModelFailure(retry_after_s=0.0) if not passage.text:
                    pass  # asked otherwise from now on
                case _:
                    break
        return view, reply

    async def _read_outlets(
        self, outlets: frozenset[str], speaker: str, passage: _Streamed
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return what lore has for the outlets that the setup names, and the entries that say so, by uid."""
        settings, counter = self._access.settings.in_force, self._access.settings.counter

        def read(moment: StoryMoment) -> tuple[dict[str, str], tuple[str, ...]]:
            moment = cut_moment(moment, passage.until)
            reader = choose_reader(moment.snapshot, speaker)
            return read_outlets(moment, outlets, reader, settings, counter, passage.triggers)

        return await self._access.read(read)

    async def _find_speaker(self) -> str:
        """Return who spoke last for the model; empty if nobody with a name did."""
        newest = await self._access.read(
            lambda moment: moment.snapshot.path(moment.snapshot.messages - RECENT, moment.snapshot.messages - 1)
        )
        spoke = (item.entry.message for item in reversed(newest))
        return next((said.speaker for said in spoke if said.role is Role.ASSISTANT and said.speaker), "")

    async def _keep(
        self,
        place: ClientPlace,
        branch: BranchInfo,
        passage: _Streamed,
        *,
        partial: bool,
        also: Callable[[Tables], object] | None = None,
    ) -> BranchInfo:
        """Put what came where it belongs, as something that `undo` takes back; return the branch then."""
        if passage.text.strip():
            draft = Draft(make_reply(passage.text, passage.speaker, passage.reasoning))
            (witnessed,) = (await self._presence.add_witnesses([draft])).drafts
            note = await self._plan_deed(branch, passage, also)
            if not await self._put_instead(witnessed, branch, passage, partial=partial, also=note):
                kept = replace(place, witnesses=witnessed.message.witnesses)
                await self._follower.answer(kept, [draft.message], partial=partial, also=note)
        elif also:
            await self._access.store.write(place.key, also)
        return await self._access.read_branch(place.branch)

    async def _plan_deed(
        self, branch: BranchInfo, passage: _Streamed, also: Callable[[Tables], object] | None
    ) -> Callable[[Tables], None]:
        """Return what notes a reply together with the change that puts it in."""
        key, marks = self._access.key, tuple[MarkPlace, ...]()
        heads = [head for head in (passage.said_after, branch.head) if head is not None]
        if passage.longer or passage.until is not None:
            script = [Splice(branch.messages - 1, 1, ())]
            marks = await self._access.store.read(
                key.owner, lambda tables: list_marks_in(tables, key, branch.name, script)
            )

        def note(tables: Tables) -> None:
            if also:
                also(tables)
            add_reply_deed(tables, key, branch.name, heads, passage.whole, marks)

        return note

    async def _put_instead(
        self,
        draft: Draft,
        branch: BranchInfo,
        passage: _Streamed,
        *,
        partial: bool,
        also: Callable[[Tables], object] | None,
    ) -> bool:
        """Put a reply in place of the one it was asked for again; False if there is none, or the branch has gone on."""
        if passage.until is None:
            return False
        given = replace(draft, attributes=Attributes(at=time_at(), extra=PARTIAL if partial else {}))
        swap, key = [Splice(passage.until, 1, (Put(given),))], self._access.key
        try:
            await self._access.store.apply(
                key, branch.name, swap, at=time_at(), expected_head=branch.head, also=also
            )  # fmt: skip
        except HeadMoved:
            return False
        return True


class _Streamed:
    """A reply on its way."""

    def __init__(self, wish: _Wish, longer: OnPath | None, triggers: frozenset[str], until: int | None) -> None:
        self.longer = longer
        self.until = until
        """The messages that it comes behind; None if these are all of the branch."""
        self.triggers = triggers
        """The kinds of answers that it is, as entries of lore name them."""
        self.said_after: int | None = None
        """The head of the branch before the user said what this answers; None if they said nothing with it."""
        self.mark = ""
        self.speaker = ""
        self.text = ""
        self.reasoning = ""
        self._wish = wish
        self._before = longer.entry.message.text if longer else None

    @property
    def whole(self) -> str:
        """The message as the story keeps it."""
        return continue_message(self.longer.entry.message, self.text).text if self.longer else self.text

    async def listen(self, request: ModelRequest) -> ModelReply | ModelFailure | None:
        """Ask, and hear the words as they come, until the reply is whole or a person stops it (None)."""
        asking = asyncio.create_task(ask_aloud(self._wish.model, request, self._hear))
        stopping = [asyncio.create_task(self._wish.stop.wait())] if self._wish.stop else []
        try:
            await asyncio.wait([asking, *stopping], return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            reply = asking.result()
        finally:
            for task in (asking, *stopping):
                task.cancel()
            await asyncio.wait([asking, *stopping])
        if isinstance(reply, ModelReply):
            self._hear(reply.text)
            self.reasoning = reply.reasoning
        return reply

    def judge(self, reply: ModelReply | ModelFailure | None) -> tuple[str, str]:
        """Return how the reply ended, and why it failed."""
        match reply:
            case None:
                return "stopped", ""
            case ModelFailure(reason=reason):
                return "failed", reason
            case ModelReply() if not self.text.strip():
                return "failed", NOTHING_SAID
            case ModelReply(finish_reason="length"):
                return "length", ""
        return "stop", ""

    def _hear(self, words: str) -> None:
        self.text = clean_reply(words, self.speaker, self.mark, self._before)
        if self._wish.told and self.text:
            self._wish.told(self.text)
