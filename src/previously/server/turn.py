"""A turn: the user's message kept, the view made, and in the end the answer kept, each within its time.

The user's message is on disk before the upstream is asked: in the store or, where that is slow or down, among the
pending turns. Memory may be missing from a turn; the turn may not. Whatever happens to the client, an answer that came
in is kept once, a broken one marked.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from previously.app import Memory
from previously.core.errors import BadInput, BudgetTooSmall, PreviouslyError, StoreProblem
from previously.core.messages import Draft, Message, Part, Role, Text, Thinking, clean_draft
from previously.core.tokens import ESTIMATE
from previously.recognition.client_list import ClientList
from previously.runtime.find_story import ClientPlace
from previously.runtime.follow_client import Also, ClientFollower
from previously.runtime.late_turns import bring_in, shows_newest_only
from previously.server.absences import Absences
from previously.server.admission import Admission, Place
from previously.server.chat_request import ChatRequest
from previously.server.overflow import Overflow, compute_window, remove_media, shrink_budget
from previously.server.pending_turns import PendingKey, PendingTurns
from previously.server.upstream import UNKNOWN_WINDOW_TOKENS
from previously.server.upstream_messages import (
    UpstreamViews,
    count_sent_tokens,
    cut_client_list,
    find_budget,
    fit_client_list,
    list_client_messages,
    write_tools,
)
from previously.story.story import Story
from previously.view.turn import remove_echoes
from previously.view.view import View
from previously.wire.interface import Raw
from previously.wire.reasoning import split_reasoning
from previously.wire.reply import Reply, ReplyChoice

log: logging.Logger = logging.getLogger("previously.server")

Done = TypeVar("Done")

LARGE_CHARS = 64 * 1024
"""An answer beyond this is read in a thread: it takes some milliseconds, and others would wait for it."""

DOWN_S = 5.0
"""Seconds that a store that failed is left alone: nobody waits for it meanwhile, and a restart takes about that
long."""

MOST_BROUGHT_IN = 64
"""Pending turns that are brought in at a time, before it is looked anew for what is there."""

TRUNCATED_SHARE = 0.5
"""A server that counts less than this part of what was sent has cut it: no estimate is wrong by half."""

LEAST_JUDGED_TOKENS = 1_000
"""Below this an estimate may be wrong by half: the overhead of a chat template counts for much."""


@dataclass
class ChatTurn:
    """One chat request, from its arrival to the end of its answer."""

    owner: str
    request: ChatRequest
    messages: list[Raw]
    """The list that goes upstream."""
    place: ClientPlace | None = None
    story: Story | None = None
    view: View | None = None
    degraded: bool = False
    without_room: bool = False
    """True if tools and prompts leave no room for memory."""
    folding_off: bool = False
    """True if nothing may be left out of what the client sends, also where that is too long for the model."""
    unsaved: bool = False
    """True if nothing has kept what the user said: neither the store nor the pending turns."""
    pending: PendingKey | None = None
    """Its key among the pending turns."""
    aside: asyncio.Task[None] | None = field(default=None, repr=False)
    """Putting it among the pending turns, which may take longer than the client waits."""
    window_tokens: int | None = None
    """The most that the model was found to read."""
    answer_waits: bool = False
    """True if its answer is among the pending turns too."""
    late: asyncio.Task[ClientPlace | None] | None = field(default=None, repr=False)
    """Still finding out where the turn belongs, after its time was up."""


class _LeftAlone(StoreProblem):
    """A store that was not asked; that says nothing of whether it is down."""


class ChatTurns:
    """Begins and ends turns."""

    def __init__(
        self,
        memory_of: Callable[[str], Memory],
        recognising: ClientFollower,
        pending: PendingTurns,
        *,
        deadline_s: float,
        window_of: Callable[[str, str | None], Awaitable[int | None]],
    ) -> None:
        self._recognising = recognising
        self._pending = pending
        self._deadline_s = deadline_s
        self._window_of = window_of
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unanswered: set[PendingKey] = set()
        """The pending turns that have no answer yet."""
        self._failures: Counter[PendingKey] = Counter()
        """The number of times that each of the pending turns could not be brought in."""
        self._down_until = 0.0
        self._admission = Admission()
        self.step: asyncio.Lock = asyncio.Lock()
        """Held for the longer steps of a turn that has no place at memory: where many come at once, those who have one
        go on after each step, not after all."""
        self.views: UpstreamViews = UpstreamViews(memory_of)
        self.absences: Absences = Absences()
        self.unsaved: bool = False
        """True from a turn that nothing has kept until one can be kept again."""

    async def begin(
        self, owner: str, request: ChatRequest, key: str | None = None, arrived: float | None = None
    ) -> ChatTurn:
        """Keep what the user said and make the view; without memory where that takes too long or fails. `key` is the
        client's own, for asking the upstream about its window; `arrived` is when the request was whole, if not now."""
        request.client_request(owner)  # a name that is another's is refused before anything is kept
        turn = ChatTurn(owner, request, request.messages)
        known = await self._window_of(request.model, key)
        budget = find_budget(request, known or UNKNOWN_WINDOW_TOKENS)
        end = (time.monotonic() if arrived is None else arrived) + self._deadline_s
        place = await self._admission.enter(end)
        if place is None:
            turn.degraded = True
            log.warning("A turn goes on without memory: too many begin at once")
        else:
            await self._begin(turn, known, end, place)
        turn.folding_off = turn.folding_off or request.folding == "off"
        if turn.folding_off:
            turn.messages = list_client_messages(request)
        if turn.degraded:
            async with self.step:
                if not turn.folding_off:
                    turn.messages = cut_client_list(request, budget)
                if turn.place is None:
                    turn.aside = self._start(self._set_aside(turn))
                await asyncio.sleep(0)
        elif turn.without_room:
            turn.messages = fit_client_list(request, known, budget)
        if turn.aside is not None:
            await asyncio.wait({turn.aside}, timeout=self._deadline_s)
            turn.unsaved = turn.pending is None
        if turn.degraded or turn.place:
            self.unsaved = turn.unsaved
        return turn

    async def _begin(self, turn: ChatTurn, known: int | None, end: float, place: Place) -> None:
        """Follow a turn and make its view until that time. Its place is given back when both have ended: the first goes
        on behind the time of the turn."""
        owner, request, window = turn.owner, turn.request, known or UNKNOWN_WINDOW_TOKENS
        budget = find_budget(request, window)
        following = self._start(self._follow(owner, request))
        try:
            async with asyncio.timeout_at(end - time.monotonic() + asyncio.get_running_loop().time()):
                turn.place = await asyncio.shield(following)
                if turn.place:
                    if request.is_work and not request.client_list.names.all:
                        await self.views.set_agent_preset(owner, turn.place.name)
                    turn.story = await self.views.open_story(owner, turn.place.name, window)
                    turn.folding_off = (request.folding or turn.story.folding) == "off"
                    if not turn.folding_off:
                        turn.without_room = not await self._show(turn, turn.place, window, budget)
                elif request.folding != "off":
                    beside = await self._recognising.find(request.client_request(owner))
                    turn.messages = await self.views.make_view_beside(owner, request, beside, known, budget)
        except BadInput:
            raise
        except TimeoutError:
            turn.degraded = True
            turn.late = following if turn.place is None else None
            log.warning("A turn goes on without memory: it took longer than %g seconds", self._deadline_s)
        except Exception as error:
            turn.degraded = True
            if type(error) is StoreProblem:  # its kinds (damage, a store left alone) are no sign that it is down
                self._down_until = time.monotonic() + DOWN_S
            log.warning("A turn goes on without memory: %s", _describe(error))
        finally:
            following.add_done_callback(lambda _: place.leave())

    async def shrink(self, turn: ChatTurn, overflow: Overflow) -> bool:
        """Make what goes upstream anew and smaller, since it was too long for the model; return whether it is smaller
        now. The window that this comes to is the model's from now on."""
        if turn.folding_off:
            return False
        request = turn.request
        sent = turn.view.tokens if turn.view else count_sent_tokens(request, turn.messages)
        budget = shrink_budget(request, overflow, sent)
        before = turn.messages
        shown = False
        if turn.place and turn.view:
            with suppress(Exception):
                async with asyncio.timeout(self._deadline_s):
                    window = compute_window(request, budget)
                    shown = await self._show(turn, turn.place, window, budget, recalled=False)
        if not shown:
            turn.without_room = turn.without_room or turn.place is not None
            turn.messages = cut_client_list(request, budget)
        turn.view = None  # what goes out is less than that
        turn.messages = remove_media(turn.messages, request.interface)
        turn.window_tokens = compute_window(request, budget)
        return count_sent_tokens(request, turn.messages) < count_sent_tokens(request, before)

    async def _show(
        self, turn: ChatTurn, place: ClientPlace, window: int, budget: int, *, recalled: bool = True
    ) -> bool:
        """Put the view of a story into a turn; False if there is no room for one."""
        turn.story = await self.views.open_story(turn.owner, place.name, window)
        try:
            shown = await self.views.make_view(turn.story, turn.owner, turn.request, place, budget, recalled=recalled)
        except BudgetTooSmall as error:
            if self.absences.get(turn.owner, place.name) is None:
                log.warning("Turns of a story go on without memory: %s", error)
            self.absences.keep(turn.owner, place.name, error)
            return False
        self.absences.forget(turn.owner, place.name)
        turn.view, turn.messages = shown.view, shown.messages
        self._start(shown.afterwards())
        return True

    async def end(self, turn: ChatTurn, reply: Reply, *, whole: bool) -> bool:
        """Keep the answer, and learn from what the server counted; False if nothing could keep it. Takes as long as it
        takes."""
        try:
            return await self._end(turn, reply, whole=whole)
        finally:
            if turn.pending is not None:
                self._unanswered.discard(turn.pending)

    async def _end(self, turn: ChatTurn, reply: Reply, *, whole: bool) -> bool:
        begins = turn.place.prefill.begins if turn.place else ""
        mark = turn.story.memory_mark if turn.story else ""
        if sum(len(choice.text) for choice in reply.choices) > LARGE_CHARS:
            replies = await asyncio.to_thread(make_replies, reply, turn.request.client_list, begins, mark)
        else:
            replies = make_replies(reply, turn.request.client_list, begins, mark)
        if turn.aside is not None:
            await turn.aside
        if turn.pending is not None:
            await self._let_wait(turn, replies, partial=not whole)
        if turn.late is not None:
            turn.place = await self._await_place(turn.late)
        if turn.place is None:
            if turn.degraded and not turn.answer_waits:
                await self._let_wait(turn, replies, partial=not whole)
            return turn.answer_waits or not turn.degraded
        answered = await self._answer(turn, turn.place, replies, self._learn(turn, reply), partial=not whole)
        if answered and turn.pending is not None:
            await self._pending.remove(turn.pending)
        return answered or turn.answer_waits

    async def _await_place(self, late: asyncio.Task[ClientPlace | None]) -> ClientPlace | None:
        """Return where a turn belongs that was late."""
        try:
            return await late
        except Exception as error:
            log.warning("A turn waits to be remembered: %s", _describe(error))
            return None

    async def _answer(
        self, turn: ChatTurn, place: ClientPlace, replies: Sequence[Message], usage: Also | None, *, partial: bool
    ) -> bool:
        """Put the answer into the story, with what was learnt of its usage; where that takes long, it waits on disk
        meanwhile, and False where it fails."""
        if not replies:
            await self._recognising.unanswered(place, usage)
            return True
        answering = self._start(self._recognising.answer(place, replies, partial=partial, also=usage))
        await asyncio.wait({answering}, timeout=self._deadline_s)
        if turn.pending is None and (not answering.done() or answering.exception()):
            await self._let_wait(turn, replies, partial=partial)
        try:
            await answering
        except Exception as error:
            log.warning("An answer is not in its story yet: %s", _describe(error))
            return False
        return True

    async def _let_wait(self, turn: ChatTurn, replies: Sequence[Message], *, partial: bool) -> None:
        """Keep a turn and its answer among the pending ones, if that can be done."""
        if turn.pending is None:
            await self._set_aside(turn)
        if turn.pending is not None:
            kept = not replies or await self._pending.keep_answer(turn.pending, replies, partial=partial)
            turn.answer_waits = kept

    async def _set_aside(self, turn: ChatTurn) -> None:
        """Keep a turn among the pending ones until its answer is there."""
        turn.pending = await self._pending.add(turn.owner, turn.request)
        if turn.pending is not None:
            self._unanswered.add(turn.pending)

    def _learn(self, turn: ChatTurn, reply: Reply) -> Also | None:
        """Learn from what the server counted; return the write that keeps it."""
        counted = (reply.usage or {}).get("prompt_tokens")
        if turn.story is None or turn.view is None or type(counted) is not int or counted <= 0:
            return None
        said = turn.view.tokens - ESTIMATE.tokens(write_tools(turn.request))  # some servers count no tools
        if counted < said * TRUNCATED_SHARE and said > LEAST_JUDGED_TOKENS:
            log.warning(
                "The upstream read %d tokens of about %d: it seems to cut prompts; give it a larger window, or tell "
                "its real one with --window.",
                counted,
                turn.view.tokens,
            )
            return None
        return turn.story.learn_usage(turn.view, counted, turn.request.model)

    async def _follow(self, owner: str, request: ChatRequest) -> ClientPlace | None:
        if time.monotonic() < self._down_until:
            raise _LeftAlone("the stories could not be reached a moment ago")
        listed = request.client_request(owner)
        if shows_newest_only(listed) and self._pending.holds_story(owner, request.story):
            raise _LeftAlone("what was said before in this story still waits")
        return await self._recognising.follow(listed, request.make_story_name())

    async def catch_up(self) -> bool:
        """Bring in pending turns beside the traffic, some at a time, and find out whether turns can be kept again. What
        was said after them may be in its story already: the order makes no difference. Return whether more are
        ready."""
        await self._pending.take_over()
        if self.unsaved and await self._pending.has_room():
            self.unsaved = False
        keys = sorted(self._pending.list_keys(), key=self._failures.__getitem__)  # one that fails holds up no other
        open_turns = [key.turn for key in keys if key in self._unanswered]
        open_stories = {(turn.owner, turn.story) for turn in open_turns if turn.story}
        ready = [key for key in keys if key not in self._unanswered]
        ready = [key for key in ready if (key.turn.owner, key.turn.story) not in open_stories]
        for key in ready[:MOST_BROUGHT_IN]:
            began = time.monotonic()
            if not self._admission.has_room:
                return False  # those who wait for an answer go first
            await self._bring_in(key)
            self._down_until = 0.0
            await asyncio.sleep(time.monotonic() - began)  # so that at least half of the time is left for others
        return len(ready) > MOST_BROUGHT_IN

    async def _bring_in(self, key: PendingKey) -> None:
        turn = await self._pending.read(key)
        if turn is None:
            return
        name = turn.request.make_story_name()
        try:
            listed = replace(turn.request.client_request(turn.owner), said_at=turn.said_at)
            await bring_in(
                self._recognising, listed, name, turn.replies, partial=turn.partial, answered_at=turn.answered_at
            )
        except BadInput as error:
            log.warning("A turn that waited cannot be remembered: %s", error)
            await self._pending.put_aside(key)
        except Exception:
            self._failures[key] += 1
            raise
        else:
            await self._pending.remove(key)
        self._failures.pop(key, None)

    def _start(self, work: Coroutine[Any, Any, Done]) -> asyncio.Task[Done]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it was told where it was waited for; nobody else needs to hear of it


def _describe(error: Exception) -> str:
    """Return what may be logged of an error: our own sentences, of others only the kind."""
    return str(error) if isinstance(error, PreviouslyError) else type(error).__name__


def make_replies(reply: Reply, client_list: ClientList, begins: str = "", mark: str = "") -> list[Message]:
    """Return the choices of an answer as messages, without empty ones. `begins`: what the client has put before the
    answer, and shows before it; `mark`: that of the story's memory, which is no part of what is said."""
    speaker = client_list.speaker or (client_list.names.character if not client_list.names.members else None)
    return [
        clean_draft(Draft(_make_reply(choice, speaker, begins, mark)))[0].message
        for choice in reply.choices
        if not choice.empty
    ]


def _make_reply(choice: ReplyChoice, speaker: str | None, begins: str, mark: str) -> Message:
    thought, text = split_reasoning(choice.text)
    if not text.strip():
        thought, text = "", choice.text  # words that only look like reasoning are all there is
    text = remove_echoes(text, mark)
    if speaker and text.lstrip().startswith(f"{speaker}:"):
        text = text.lstrip()[len(speaker) + 1 :].lstrip()  # as clients do: a name is no part of what is said
    parts: list[Part] = [Thinking(part) for part in (choice.reasoning, thought) if part.strip()]
    said = begins + (text or choice.refusal)
    if said or not choice.tool_calls:
        parts.append(Text(said))
    return Message(Role.ASSISTANT, (*parts, *choice.tool_calls), speaker)
