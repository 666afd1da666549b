"""A turn: the user's message kept, the view made, and in the end the answer kept, each within its time.

What must stay true: the user's message is on disk before the upstream is asked, in the store or, where that is slow or
down, in the spool. Memory may be missing from a turn; the turn may not. Whatever happens to the client, an answer that
came in is kept once, a broken one marked.

An answer as messages of the story.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

from previously.app import Memory
from previously.core.errors import BadInput, PreviouslyError, StoreProblem
from previously.core.messages import Draft, Message, Part, Role, Text, Thinking, clean_draft
from previously.recognition.choose_story import ClientRequest
from previously.recognition.client_list import ClientList
from previously.runtime.follow_client import ClientFollower, ClientPlace
from previously.server.chat_request import ChatRequest, make_story_name
from previously.server.options import UNKNOWN_WINDOW_TOKENS
from previously.server.overflow import Overflow, find_window, remove_media, shrink_budget
from previously.server.pending_turns import PendingTurns
from previously.server.upstream_messages import Showing, count_sent_tokens, cut_client_list, find_budget
from previously.story.story import Story
from previously.view.turn import remove_echoes
from previously.view.view import View
from previously.wire.interface import Raw
from previously.wire.reasoning import split_reasoning
from previously.wire.reply import Reply, ReplyChoice

log = logging.getLogger("previously.server")

Done = TypeVar("Done")

LARGE_CHARS = 64 * 1024
"""An answer beyond this is read beside the others, which must not wait for it."""

DOWN_S = 5.0
"""How long a store that failed is left alone: nobody waits for it meanwhile."""

TRUNCATED_SHARE = 0.5
"""A server that counts less than this part of what was sent has cut it."""


@dataclass
class ChatTurn:
    """One request on its way."""

    owner: str
    asked: ChatRequest
    messages: list[Raw]
    """What goes upstream."""
    place: ClientPlace | None = None
    story: Story | None = None
    view: View | None = None
    degraded: bool = False
    spooled: int | None = None
    window_tokens: int | None = None
    """What the model was found to read at most."""
    late: asyncio.Task[ClientPlace | None] | None = field(default=None, repr=False)
    """Still finding out where the turn belongs, after its time was up."""


class ChatTurns:
    """Begins and ends turns."""

    def __init__(
        self,
        memory_of: Callable[[str], Memory],
        recognising: ClientFollower,
        spool: PendingTurns,
        *,
        deadline_s: float,
        window_of: Callable[[str, str | None], Awaitable[int | None]],
    ) -> None:
        self._recognising = recognising
        self._spool = spool
        self._deadline_s = deadline_s
        self._window_of = window_of
        self._tasks: set[asyncio.Task[Any]] = set()
        self._catching_up = asyncio.Lock()
        self._unanswered: set[int] = set()
        """What waits in the spool and has no answer yet."""
        self._down_until = 0.0
        self._showing = Showing(memory_of)

    async def begin(self, owner: str, asked: ChatRequest, key: str | None = None) -> ChatTurn:
        """Keep what the user said and make the view; without memory where that takes too long or fails. `key` is the
        client's own, for asking the upstream about its window."""
        turn = ChatTurn(owner, asked, asked.messages)
        window = await self._window_of(asked.model, key) or UNKNOWN_WINDOW_TOKENS
        budget = find_budget(asked, window)
        following = self._start(self._follow(owner, asked))
        try:
            async with asyncio.timeout(self._deadline_s):
                turn.place = await asyncio.shield(following)
                if turn.place:
                    if turn.place.created and asked.body.get("tools") and not asked.heard.names.all:
                        await self._showing.is_agents(owner, turn.place.name)
                    turn.degraded = not await self._show(turn, turn.place, window, budget)
                else:
                    place = await self._recognising.find(make_listed(owner, asked))
                    turn.messages = await self._showing.beside(owner, asked, place, budget)
        except BadInput:
            raise
        except TimeoutError:
            turn.degraded = True
            turn.late = following if turn.place is None else None
            log.warning("A turn goes on without memory: it took longer than %g seconds", self._deadline_s)
        except Exception as error:
            turn.degraded = True
            self._down_until = time.monotonic() + DOWN_S
            log.warning("A turn goes on without memory: %s", _named(error))
        if turn.degraded and turn.place is None:
            turn.spooled = await self._spool.add(owner, asked)
            if turn.spooled is not None:
                self._unanswered.add(turn.spooled)
        if turn.degraded:
            turn.messages = cut_client_list(asked, budget)
        return turn

    async def again(self, turn: ChatTurn, overflow: Overflow) -> bool:
        """Make what goes upstream anew and smaller, since it was too long for the model; whether it is smaller now. The
        window that this comes to is the model's from now on."""
        asked = turn.asked
        sent = turn.view.tokens if turn.view else count_sent_tokens(asked, turn.messages)
        budget = shrink_budget(asked, overflow, sent)
        before = turn.messages
        shown = False
        if turn.place and turn.view:
            with suppress(Exception):
                async with asyncio.timeout(self._deadline_s):
                    window = find_window(asked, budget)
                    shown = await self._show(turn, turn.place, window, budget, recalled=False)
        if not shown:
            turn.degraded = turn.degraded or turn.place is not None
            turn.messages = cut_client_list(asked, budget)
        turn.view = None  # what goes out is less than that
        turn.messages = remove_media(turn.messages, asked.dialect)
        turn.window_tokens = find_window(asked, budget)
        return count_sent_tokens(asked, turn.messages) < count_sent_tokens(asked, before)

    async def _show(
        self, turn: ChatTurn, place: ClientPlace, window: int, budget: int, *, recalled: bool = True
    ) -> bool:
        """Put the view of a story into a turn; False if there is none to be had."""
        turn.story = await self._showing.story(turn.owner, place.name, window)
        shown = await self._showing.of_story(turn.story, turn.owner, turn.asked, place, budget, recalled=recalled)
        if shown is None:
            return False
        turn.view, turn.messages = shown.view, shown.messages
        self._start(shown.afterwards())
        return True

    async def end(self, turn: ChatTurn, reply: Reply, *, whole: bool) -> None:
        """Keep the answer, and learn from what the server counted. Takes as long as it takes."""
        try:
            await self._end(turn, reply, whole=whole)
        finally:
            if turn.spooled is not None:
                self._unanswered.discard(turn.spooled)

    async def _end(self, turn: ChatTurn, reply: Reply, *, whole: bool) -> None:
        begins = turn.place.prefill.begins if turn.place else ""
        if sum(len(choice.text) for choice in reply.choices) > LARGE_CHARS:
            replies = await asyncio.to_thread(make_replies, reply, turn.asked.heard, begins)
        else:
            replies = make_replies(reply, turn.asked.heard, begins)
        if turn.spooled is not None and replies:
            await self._spool.answered(turn.spooled, replies, partial=not whole)
        if turn.late is not None:
            turn.place = await self._caught_up(turn)
        if turn.place is None:
            return
        await self._answer(turn, turn.place, replies, partial=not whole)
        if turn.spooled is not None:
            await self._spool.done(turn.spooled)
        await self._learn(turn, reply)

    async def _caught_up(self, turn: ChatTurn) -> ClientPlace | None:
        """Where a turn belongs that was late."""
        assert turn.late is not None
        try:
            return await turn.late
        except Exception as error:
            log.warning("A turn waits in the spool: %s", _named(error))
            return None

    async def _answer(self, turn: ChatTurn, place: ClientPlace, replies: Sequence[Message], *, partial: bool) -> None:
        """Put the answer into the story; where that takes long or fails, it waits on disk meanwhile."""
        if not replies:
            await self._recognising.unanswered(place)
            return
        answering = self._start(self._recognising.answer(place, replies, partial=partial))
        await asyncio.wait({answering}, timeout=self._deadline_s)
        if turn.spooled is None and (not answering.done() or answering.exception()):
            turn.spooled = await self._spool.add(turn.owner, turn.asked)
            if turn.spooled is not None:
                self._unanswered.add(turn.spooled)
                await self._spool.answered(turn.spooled, replies, partial=partial)
        await answering

    async def _learn(self, turn: ChatTurn, reply: Reply) -> None:
        counted = (reply.usage or {}).get("prompt_tokens")
        if turn.story is None or turn.view is None or type(counted) is not int or counted <= 0:
            return
        if counted < turn.view.tokens * TRUNCATED_SHARE and turn.view.tokens > 1_000:
            log.warning(
                "The upstream read %d tokens of about %d: it seems to cut prompts; give it a larger window, or tell "
                "its real one with --window.",
                counted,
                turn.view.tokens,
            )
            return
        await turn.story.report_usage(turn.view, counted, model=turn.asked.model)

    async def _follow(self, owner: str, asked: ChatRequest) -> ClientPlace | None:
        if time.monotonic() < self._down_until:
            raise StoreProblem("the stories could not be reached a moment ago")
        if self._spool.waits:
            await self.catch_up()  # what came before comes first
        return await self._recognising.follow(make_listed(owner, asked), make_story_name(asked))

    async def catch_up(self) -> None:
        """Follow what waits in the spool, oldest first, up to the first whose answer is still on its way."""
        async with self._catching_up:
            for waiting in await self._spool.waiting():
                if waiting.id in self._unanswered:
                    break
                listed = make_listed(waiting.owner, waiting.asked)
                place = await self._recognising.follow(listed, make_story_name(waiting.asked), only_adding=True)
                if place and waiting.replies:
                    await self._recognising.answer(place, waiting.replies, partial=waiting.partial)
                await self._spool.done(waiting.id)
            self._down_until = 0.0

    def _start(self, work: Coroutine[Any, Any, Done]) -> asyncio.Task[Done]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it was told where it was waited for; nobody else needs to hear of it


def make_listed(owner: str, asked: ChatRequest) -> ClientRequest:
    """What recognising needs to know of a request."""
    story = asked.story
    if asked.user and story:  # two people may have given the same name to theirs
        story = f"{asked.user}/{story} {blake2b(json.dumps([asked.user, story]).encode(), digest_size=4).hexdigest()}"
    adopts = story is not None and not asked.named
    return ClientRequest(owner, asked.heard, asked.streams, story, asked.ask, asked.history, asked.user, adopts=adopts)


def _named(error: Exception) -> str:
    """What may be logged of an error: our own sentences, of others only the kind."""
    return str(error) if isinstance(error, PreviouslyError) else type(error).__name__


def make_replies(reply: Reply, heard: ClientList, begins: str = "") -> list[Message]:
    """The choices of an answer as messages, those without anything left out. `begins`: what the client has put before
    the answer, and shows before it."""
    speaker = heard.speaker or (heard.names.character if not heard.names.members else None)
    return [
        clean_draft(Draft(_message(choice, speaker, begins)))[0].message for choice in reply.choices if not choice.empty
    ]


def _message(choice: ReplyChoice, speaker: str | None, begins: str) -> Message:
    thought, text = split_reasoning(choice.text)
    if not text.strip():
        thought, text = "", choice.text  # words that only look like reasoning are all there is
    text = remove_echoes(text)
    if speaker and text.lstrip().startswith(f"{speaker}:"):
        text = text.lstrip()[len(speaker) + 1 :].lstrip()  # as clients do: a name is no part of what is said
    parts: list[Part] = [Thinking(part) for part in (choice.reasoning, thought) if part.strip()]
    said = begins + (text or choice.refusal)
    if said or not choice.tool_calls:
        parts.append(Text(said))
    return Message(Role.ASSISTANT, (*parts, *choice.tool_calls), speaker)
