"""Idempotency: a change that is sent twice with one key is made once, and both get the same answer.

Answers are kept here while the server runs. Those to a POST about a story are kept with the story too, for a client
that asks again after a restart.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from previously.app import Memory
from previously.runtime.request_answers import RequestAnswers
from previously.server.api.problems import Problem, write_problem
from previously.server.guard import get_caller, read_whole_body, replay_body
from previously.server.hosts import values

KEPT_S = 86_400.0
"""A day: a client that tries for longer has given up."""

MOST_KEPT = 2_000
MOST_BYTES = 64 * 1024
"""Of an answer that is kept: changes answer in a few kilobytes."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass
class KeptAnswer:
    """The answer to a change, as it was sent."""

    fingerprint: bytes
    at: float
    messages: list[Message] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Idempotency:
    """An application that is asked once for each key."""

    def __init__(self, app: ASGIApp, memory_of: Callable[[str], Memory]) -> None:
        self._app = app
        self._memory_of = memory_of
        self._answers: OrderedDict[tuple[str, str], KeptAnswer] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = values(scope["headers"], b"idempotency-key") if scope["type"] == "http" else []
        if len(given) != 1 or scope["method"] in _SAFE or not given[0] or len(given[0]) > 200:
            await self._app(scope, receive, send)
            return
        body = await read_whole_body(receive) if scope["method"] != "DELETE" else b""
        asked = [scope["method"].encode(), scope["path"].encode(), scope.get("query_string", b""), body]
        fingerprint = sha256(b"\0".join(asked)).digest()
        name = get_caller(scope).owner, given[0]
        # One that came to nothing is gone when it is done; of those that waited for it, one tries anew.
        while (known := self._answers.get(name)) is not None and time.monotonic() - known.at < KEPT_S:
            await known.done.wait()
            if known.messages:
                await self._answer_again(known, fingerprint, send)
                return
        story, answers = find_story(scope), RequestAnswers(self._memory_of(name[0]).store, name[0])
        answer = self._answers[name] = KeptAnswer(fingerprint, time.monotonic())  # before anything is waited for
        self._answers.move_to_end(name)
        while len(self._answers) > MOST_KEPT:
            self._answers.popitem(last=False)
        try:
            kept = await _find_kept(answers, given[0]) if story else None
            if kept is not None:
                answer.fingerprint, answer.messages = kept.fingerprint, kept.messages
                await self._answer_again(answer, fingerprint, send)
                return
            await self._app(scope, replay_body(body, receive), _Recorder(answer, send).send)
            if story and answer.messages:
                await answers.keep(story, given[0], _write_answer(answer))
        finally:
            if not answer.messages and self._answers.get(name) is answer:
                del self._answers[name]
            answer.done.set()

    @staticmethod
    async def _answer_again(answer: KeptAnswer, fingerprint: bytes, send: Send) -> None:
        if answer.fingerprint != fingerprint:
            problem = Problem(409, "key_reused", "This `Idempotency-Key` was used for something else.")
            response = write_problem(problem.status, problem.code, problem.detail)
            await send({"type": "http.response.start", "status": 409, "headers": response.raw_headers})
            await send({"type": "http.response.body", "body": bytes(response.body)})
            return
        for message in answer.messages:
            await send(message)


def find_story(scope: Scope) -> str:
    """Return the story that a POST is about; none for one that forgets, of which nothing is kept."""
    segments = (scope.get("raw_path") or b"").partition(b"?")[0].decode("latin-1").split("/")
    if scope["method"] != "POST" or segments[-1] == "forget" or "stories" not in segments[:-1]:
        return ""
    return unquote(segments[segments.index("stories") + 1])


def _write_answer(answer: KeptAnswer) -> str:
    start, *bodies = answer.messages
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in start.get("headers", ())]
    body = b"".join(message.get("body", b"") for message in bodies).decode("latin-1")
    return json.dumps([time.time(), answer.fingerprint.hex(), start["status"], headers, body])


async def _find_kept(answers: RequestAnswers, key: str) -> KeptAnswer | None:
    text = await answers.find(key)
    if text is None:
        return None
    at, fingerprint, status, headers, body = json.loads(text)
    if time.time() - at > KEPT_S:
        return None
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    start = {"type": "http.response.start", "status": status, "headers": raw}
    return KeptAnswer(
        bytes.fromhex(fingerprint),
        time.monotonic(),
        [start, {"type": "http.response.body", "body": body.encode("latin-1")}],
    )


class _Recorder:
    """Keeps an answer while it is sent: one that is whole, short, and not the fault of a moment."""

    def __init__(self, answer: KeptAnswer, send: Send) -> None:
        self._answer = answer
        self._send = send
        self._messages: list[Message] | None = []
        self._bytes = 0

    async def send(self, message: Message) -> None:
        await self._send(message)
        if self._messages is None:
            return
        if message["type"] == "http.response.start":
            kinds = values(message.get("headers", ()), b"content-type")
            if message["status"] >= 500 or message["status"] in (401, 409, 429) or "text/event-stream" in str(kinds):
                self._messages = None
                return
        self._bytes += len(message.get("body", b""))
        if self._bytes > MOST_BYTES:
            self._messages = None
            return
        self._messages.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._answer.messages = self._messages
