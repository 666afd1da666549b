"""Chat requests answered: a turn begun, passed on, and ended, in whatever interface it was asked for.

A request that was too long for the model is sent once more, smaller, as long as the client was not told anything; if
that is refused too, the client hears what the upstream says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from previously.core.errors import BadInput
from previously.server.background_folds import BackgroundFolds
from previously.server.chat_request import ChatRequest, parse_fields, read_fields, write_body
from previously.server.commands import ASKS_MODEL, Commands
from previously.server.guard import get_caller, read_whole_body
from previously.server.logs import RequestNote, get_note
from previously.server.metrics import Metrics
from previously.server.overflow import find_overflow
from previously.server.passthrough import Passthrough
from previously.server.refusals import Header, Refusal
from previously.server.relay import Outgoing, RelayOutcome, ReplyListener, relay
from previously.server.turn import ChatTurn, ChatTurns
from previously.server.upstream import Upstream
from previously.wire.interface import Interface

log: logging.Logger = logging.getLogger("previously.server")

LARGE_BODY = 256 * 1024
"""A body beyond this is read in a thread: it takes some milliseconds, and others would wait for it."""

WITHOUT_MEMORY: Header = (b"x-previously-memory", b"off")

KEEP_S = 2.0
"""Seconds that the end of an answer waits for it to be kept: a client that asks again at once then finds it, and one on
a slow disk does not wait for good."""


class Chat:
    """Answers chat requests."""

    def __init__(
        self,
        upstream: Upstream,
        turns: ChatTurns,
        folds: BackgroundFolds,
        commands: Commands,
        metrics: Metrics,
        passthrough: Passthrough,
    ) -> None:
        self._upstream = upstream
        self._turns = turns
        self._folds = folds
        self._commands = commands
        self._metrics = metrics
        self._passthrough = passthrough
        self._keeping: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[Any]] = set()

    def answer_in(self, interface: Interface) -> ASGIApp:
        """Return the application that answers requests of one interface."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await self._answer(interface, scope, receive, send)

        return answer

    async def _answer(self, interface: Interface, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        caller, note = get_caller(scope), get_note(scope)
        given = dict(scope["headers"])
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in given.items()}
        content = await read_whole_body(receive)
        arrived = time.monotonic()
        request = await self._read(content, headers, interface)
        if request is None:
            await self._passthrough.pass_on(scope, content, receive, send, [WITHOUT_MEMORY])
            return
        del content  # it would be held until the answer is at its end
        with self._under_way():
            command = request.command
            asks_model = command is not None and command.name in ASKS_MODEL
            with self._folds.pause_for(caller.owner, request.model, caller.key) if asks_model else nullcontext():
                words = await self._commands.answer(caller.owner, request, caller.key)
            if words:
                await _say(words, request, send)
                return
            with self._folds.pause_for(caller.owner, request.model, caller.key):
                turn = await self._begin(caller.owner, request, caller.upstream_key, arrived)
                note.story = turn.place.key.story if turn.place else None

                def make_outgoing() -> Outgoing:
                    body = write_body(request, turn.messages)
                    sent = self._upstream.build_headers(given, caller)
                    asks = turn.place is not None and self._folds.is_asking(caller.owner, turn.place.name)
                    told, query = make_memory_headers(turn, asks=asks), scope["query_string"]
                    return Outgoing("POST", interface.path, sent, body, query, request.streams, told, interface.errors)

                first = make_outgoing()
                self._metrics.added_ms.observe((time.perf_counter() - begun) * 1_000)
                await self._relay(turn, first, make_outgoing, note, receive, send)

    async def _read(self, body: bytes, headers: dict[str, str], interface: Interface) -> ChatRequest | None:
        """Return the request; None for one that goes on without memory, since its history does not lie in it."""

        def read() -> ChatRequest | None:
            fields = parse_fields(body)
            return None if interface.is_partial(fields) else read_fields(fields, headers, interface)

        try:
            if len(body) > LARGE_BODY:
                return await asyncio.to_thread(read)
            async with self._turns.step:
                await asyncio.sleep(0)  # those who were here before go on first
                return read()
        except BadInput as error:
            raise Refusal(400, "bad_request", str(error)) from None

    async def _begin(self, owner: str, request: ChatRequest, key: str | None, arrived: float) -> ChatTurn:
        try:
            turn = await self._turns.begin(owner, request, key, arrived)
        except BadInput as error:
            raise Refusal(400, "bad_request", str(error)) from None
        self._metrics.turns.add()
        if turn.unsaved:
            self._metrics.unsaved.add()
        elif turn.degraded:
            self._metrics.degraded.add()
        return turn

    async def _relay(
        self,
        turn: ChatTurn,
        first: Outgoing,
        make_outgoing: Callable[[], Outgoing],
        note: RequestNote,
        receive: Receive,
        send: Send,
    ) -> None:
        """Ask the upstream, and keep what comes, whatever becomes of it. `make_outgoing` gives what is asked once the
        turn has changed."""
        listener = ReplyListener(turn.request.interface.open_reader)
        kept = False

        async def again(status: int, body: bytes) -> Outgoing | None:
            overflow = find_overflow(status, body)
            if overflow is None or not await self._turns.shrink(turn, overflow):
                return None
            log.warning("A request was too long for the model and is sent once more, smaller")
            return make_outgoing()

        def keep(outcome: RelayOutcome) -> asyncio.Task[None]:
            nonlocal kept
            kept = True
            reply = listener.finish()
            if outcome.answered and reply.error is None and turn.window_tokens is not None:
                self._upstream.learn(turn.request.model, turn.window_tokens)
            note.read = reply.done
            # Many clients leave once they have read the end.
            ended = (reply.done and reply.error is None) or (reply.whole and not outcome.broken)
            whole = ended and not reply.truncated  # a message has bounds; the client may have got more than is kept
            return self._keep(self._turns.end(turn, reply, whole=whole), turn)

        def keep_before_end(outcome: RelayOutcome) -> asyncio.Future[Any]:
            kept_soon = {keep(outcome)}
            return asyncio.ensure_future(asyncio.wait(kept_soon, timeout=0 if turn.degraded else KEEP_S))

        outcome = RelayOutcome(broken=True)
        try:
            outcome = await relay(
                self._upstream, first, receive, send,
                hearing=listener, before_end=keep_before_end, again=again,
            )  # fmt: skip
        finally:
            if not kept:
                keep(outcome)

    def _keep(self, work: Coroutine[Any, Any, bool], turn: ChatTurn) -> asyncio.Task[None]:
        """Keep an answer whatever becomes of the client."""

        async def keep() -> None:
            try:
                kept = await work
            except Exception as error:
                kept = False
                log.warning("The end of a turn failed: %s", type(error).__name__)
            if not kept:
                self._metrics.unsaved_answers.add()
                log.warning("An answer could not be kept")
            if turn.place:
                self._folds.add_story(turn.place.key.owner, turn.place.name, turn.request.folding)

        task = asyncio.create_task(keep())
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)
        return task

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """Mark a turn that `finish` waits for."""
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            yield
        finally:
            self._answering.discard(task)

    @property
    def is_idle(self) -> bool:
        return not self._answering and not self._keeping

    async def finish(self, most_s: float) -> None:
        """Wait until every turn under way has ended, and every answer that came in is kept; no longer than that."""
        end = time.monotonic() + most_s
        while (waiting := self._answering | self._keeping) and time.monotonic() < end:
            await asyncio.wait(waiting, timeout=max(0.0, end - time.monotonic()))


def make_memory_headers(turn: ChatTurn, *, asks: bool = False) -> list[Header]:
    """Return what a response says of memory; `asks`: a fold is due and waits for a person."""
    if turn.unsaved or turn.degraded:
        state = b"unsaved" if turn.unsaved else b"degraded"
    elif turn.folding_off and turn.place:
        state = b"off; reason=folding-off"
    elif turn.without_room:
        state = b"off; reason=no-room"
    elif turn.place:
        state = b"on; fold=waiting" if asks else b"on"
    else:
        state = b"off"
    story = [(b"x-previously-story", quote(turn.place.name).encode())] if turn.place else []
    return [(b"x-previously-memory", state), *story]


async def _say(words: str, request: ChatRequest, send: Send) -> None:
    """Send an answer of our own words, in place of one from the upstream."""
    now = int(time.time())
    if request.streams:
        head: list[Header] = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for chunk in request.interface.stream_reply(words, request.model, created=now):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return
    body = json.dumps(request.interface.write_reply(words, request.model, created=now)).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body, "more_body": False})
