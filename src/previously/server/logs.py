"""The log of a server: one line for each request, and what went wrong.

No line holds a word of a prompt, of an answer or of a story's name, and no key. A line about a request is made of its
route, not its path; an error is written as its kind and where it happened, without what it says; and whatever looks
like a key is blotted out wherever it stands. A line is one line.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from previously.core.patterns import lazy_pattern
from previously.server.callers import Caller
from previously.server.guard import CALLER
from previously.server.metrics import OTHER, Metrics, find_route

NOTED = "previously.noted"
REQUEST_HEADER = b"x-previously-request"
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})

requests_log: logging.Logger = logging.getLogger("previously.requests")

_SECRET = lazy_pattern(
    r"(?i)\bbearer\s+\S+|\bbasic\s+[A-Za-z0-9+/=]{8,}|\b(?:sk|pk|rk|key|hf|gsk|xai)[-_][A-Za-z0-9_-]{8,}"
)
_UNCLEAR = lazy_pattern(r'[\s"=]')
_CONTROLS = lazy_pattern(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(slots=True)
class RequestNote:
    """The facts about one request for its line in the log, as far as somebody has noted them."""

    id: str
    story: int | None = None
    read: bool = False
    """True if the client had all of the answer when it went."""


def get_note(scope: Scope) -> RequestNote:
    """Return the note of a request: its id, and the number of its story once that is known."""
    note = scope.get(NOTED)
    return note if isinstance(note, RequestNote) else RequestNote("")


class RequestLog:
    """Writes down and counts every request, those that a guard refuses too. Stands outside everything else."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics | None = None, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._app = app
        self._metrics = metrics or Metrics()
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        note = scope[NOTED] = RequestNote(secrets.token_hex(8))
        seen = _Response(send, note.id, self._metrics)
        began = self._clock()
        try:
            await self._app(scope, receive, seen.send)
        finally:
            seen.end()
            self._write(scope, note, seen, (self._clock() - began) * 1_000)

    def _write(self, scope: Scope, note: RequestNote, seen: _Response, ms: float) -> None:
        route = find_route(scope["path"])
        self._metrics.requests.add(route=route, status=seen.status)
        caller = scope.get(CALLER)
        fields = {
            "id": note.id,
            "method": scope["method"] if scope["method"] in METHODS else OTHER,
            "route": route,
            "status": seen.status,
            "owner": caller.owner if isinstance(caller, Caller) else None,
            "story": note.story,
            "ms": round(ms, 1),
            "bytes": seen.bytes,
        }
        if not seen.complete and not note.read:
            fields["cut"] = True  # the client went, or the answer could not be finished
        requests_log.info("request", extra={"told": fields})


class _Response:
    """Watches what goes back to a client."""

    def __init__(self, send: Send, ident: str, metrics: Metrics) -> None:
        self._send = send
        self._id = ident.encode()
        self._metrics = metrics
        self._streams = False
        self.status = 0
        self.bytes = 0
        self.complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (REQUEST_HEADER, self._id)]
            kinds = [value for name, value in headers if name.lower() == b"content-type"]
            if any(kind.startswith(b"text/event-stream") for kind in kinds):
                self._streams = True
                self._metrics.open_streams.add(1)
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            self.bytes += len(message.get("body", b""))
            self.complete = not message.get("more_body", False)
        await self._send(message)

    def end(self) -> None:
        if self._streams:
            self._metrics.open_streams.add(-1)
            self._streams = False


class LineFormatter(logging.Formatter):
    """One line for a record: words, or with `as_json` an object."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = getattr(record, "told", None)
        if isinstance(told, dict):
            fields = {"time": at, **told}
        else:
            fields = {"time": at, "level": record.levelname.lower(), "message": hide_secrets(record.getMessage())}
            if record.exc_info and record.exc_info[0] is not None:
                fields["error"] = describe_error(record.exc_info[1], record.exc_info[2])
        if self._as_json:
            return json.dumps({name: value for name, value in fields.items() if value is not None})
        return _escape_controls(
            " ".join(_render_field(name, value) for name, value in fields.items() if value is not None)
        )


def hide_secrets(text: str) -> str:
    """Return the text with all that looks like a key blotted out."""
    return _SECRET.sub("[key]", text)


def describe_error(error: BaseException | None, trace: TracebackType | None) -> str:
    """Return what kind of error it is and where it happened; what it says may be somebody's story."""
    places = [f"{frame.f_code.co_name}:{line}" for frame, line in traceback.walk_tb(trace)]
    return f"{type(error).__name__} in {' > '.join(places[-8:]) or 'nowhere'}"


def start_log(stream: TextIO | None = None, *, as_json: bool = False, requests: bool = True) -> logging.Handler:
    """Write the lines of this package and of the listener to a stream (stderr), and nothing of them anywhere else.
    Without `requests` there is no line for each of them."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(as_json=as_json))
    for name, level in (("previously", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)
    requests_log.setLevel(logging.INFO if requests else logging.WARNING)
    return handler


_BARE = ("time", "level", "message", "id", "method", "route", "status")


def _render_field(name: str, value: object) -> str:
    text = str(value)
    if name in _BARE:
        return text
    return f"{name}={json.dumps(text, ensure_ascii=False) if _UNCLEAR.search(text) else text}"


def _escape_controls(line: str) -> str:
    return _CONTROLS.sub(lambda found: f"\\x{ord(found.group()):02x}", line)
