"""A turn: the user's message kept, the view made, and in the end the answer kept, each within its time.

What must stay true: the user's message is on disk before the upstream is asked, in the store or, where that is slow or
down, in the spool. Memory may be missing from a turn; the turn may not. Whatever happens to the client, an answer that
came in is kept once, a broken one marked.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from previously.app import Memory
from previously.core.errors import BadInput, BudgetTooSmall, PreviouslyError
from previously.core.messages import Message
from previously.core.tokens import ESTIMATE, message_tokens
from previously.models.received import ReceivedReply
from previously.runtime.candidates import Listed
from previously.runtime.recognising import Place, Recognising
from previously.runtime.story import Story
from previously.server.asked import AskedChat
from previously.server.composing import compose, cut_to_fit, furniture_of
from previously.server.naming import new_name
from previously.server.replies import messages_of
from previously.server.serving import UNKNOWN_WINDOW_TOKENS
from previously.server.spool import Spool
from previously.view.view import View

log = logging.getLogger("previously.server")

ANSWER_TOKENS = 1_024
"""How much of the window is left for an answer where the client does not say."""

TRUNCATED_SHARE = 0.5
"""A server that counts less than this part of what was sent has cut it."""


@dataclass
class Turn:
    """One request on its way."""

    owner: str
    asked: AskedChat
    messages: list[dict[str, Any]]
    """What goes upstream."""
    place: Place | None = None
    story: Story | None = None
    view: View | None = None
    degraded: bool = False
    spooled: int | None = None
    late: asyncio.Task[Place | None] | None = field(default=None, repr=False)
    """Still finding out where the turn belongs, after its time was up."""


class Turns:
    """Begins and ends turns."""

    def __init__(
        self,
        memory_of: Callable[[str], Memory],
        recognising: Recognising,
        spool: Spool,
        *,
        deadline_s: float,
        window_of: Callable[[str], Awaitable[int | None]],
    ) -> None:
        self._memory_of = memory_of
        self._recognising = recognising
        self._spool = spool
        self._deadline_s = deadline_s
        self._window_of = window_of
        self._tasks: set[asyncio.Task[Any]] = set()

    async def begin(self, owner: str, asked: AskedChat) -> Turn:
        """Keep what the user said and make the view; without memory where that takes too long or fails."""
        turn = Turn(owner, asked, asked.messages)
        budget = self._budget(asked, await self._window_of(asked.model))
        following = self._start(self._follow(owner, asked))
        try:
            async with asyncio.timeout(self._deadline_s):
                turn.place = await asyncio.shield(following)
                if turn.place:
                    turn.story, turn.view = await self._view(owner, asked, turn.place, budget)
        except BadInput:
            raise
        except TimeoutError:
            turn.degraded = True
            turn.late = following if turn.place is None else None
        except Exception as error:
            turn.degraded = True
            log.warning("A turn goes on without memory: %s", _named(error))
        if turn.degraded and turn.place is None:
            turn.spooled = await self._spool.add(owner, asked)
        if turn.view and turn.place:
            turn.messages = compose(turn.view, turn.place, asked.heard, asked.messages)
        elif turn.degraded:
            turn.messages = _without_memory(asked, budget)
        return turn

    async def end(self, turn: Turn, reply: ReceivedReply, *, whole: bool) -> None:
        """Keep the answer, and learn from what the server counted. Takes as long as it takes."""
        replies = messages_of(reply, turn.asked.heard, turn.place.prefill.begins if turn.place else "")
        if turn.late is not None:
            turn.place = await self._caught_up(turn)
        if turn.place is None:
            if turn.spooled is not None and replies:
                await self._spool.answered(turn.spooled, replies, partial=not whole)
            return
        if replies:
            await self._recognising.answer(turn.place, replies, partial=not whole)
        else:
            await self._recognising.unanswered(turn.place)
        await self._learn(turn, reply)

    async def _caught_up(self, turn: Turn) -> Place | None:
        """Where a turn belongs that was late; what waited in the spool for it is done."""
        assert turn.late is not None
        try:
            place = await turn.late
        except Exception as error:
            log.warning("A turn waits in the spool: %s", _named(error))
            return None
        if turn.spooled is not None:
            await self._spool.done(turn.spooled)
        return place

    async def _learn(self, turn: Turn, reply: ReceivedReply) -> None:
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

    async def _follow(self, owner: str, asked: AskedChat) -> Place | None:
        if self._spool.waits:
            await self.catch_up()  # what came before comes first
        return await self._recognising.follow(listed_of(owner, asked), new_name(asked))

    async def _view(self, owner: str, asked: AskedChat, place: Place, budget: int) -> tuple[Story, View | None]:
        story = await self._memory_of(owner).story(place.name)
        tools = json.dumps(asked.body["tools"], ensure_ascii=False) if asked.body.get("tools") else ""
        try:
            return story, await story.view(budget, furniture=furniture_of(place, asked.heard, tools))
        except BudgetTooSmall as error:
            log.warning("A turn goes on without memory: %s", error)
            return story, None

    def _budget(self, asked: AskedChat, window: int | None) -> int:
        window = window or UNKNOWN_WINDOW_TOKENS
        answer = min(asked.answer_tokens or ANSWER_TOKENS, window // 2)
        return window - answer

    async def catch_up(self) -> int:
        """Follow what waits in the spool, oldest first; how many are done."""
        done = 0
        for waiting in await self._spool.waiting():
            listed = listed_of(waiting.owner, waiting.asked)
            place = await self._recognising.follow(listed, new_name(waiting.asked), only_adding=True)
            if place and waiting.replies:
                await self._recognising.answer(place, waiting.replies, partial=waiting.partial)
            await self._spool.done(waiting.id)
            done += 1
        return done

    def _start(self, work: Coroutine[Any, Any, Place | None]) -> asyncio.Task[Place | None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it was told where it was waited for; nobody else needs to hear of it


def listed_of(owner: str, asked: AskedChat) -> Listed:
    """What recognising needs to know of a request."""
    story = f"{asked.user}/{asked.story}" if asked.user and asked.story else asked.story
    return Listed(owner, asked.heard, asked.streams, story, asked.ask, asked.history, asked.user)


def _without_memory(asked: AskedChat, budget: int) -> list[dict[str, Any]]:
    pieces: Sequence[Message] = [draft.message for draft in asked.drafts]
    return cut_to_fit(asked.messages, [message_tokens(one, ESTIMATE) for one in pieces], budget)


def _named(error: Exception) -> str:
    """What may be logged of an error: our own sentences, of others only the kind."""
    return str(error) if isinstance(error, PreviouslyError) else type(error).__name__
