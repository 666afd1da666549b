"""Refusals: errors in the shape that the clients of an interface understand, and what becomes of the connection.

A refusal is answered at once, without waiting for a body that nobody will read, and the connection ends with it, so
that nothing can be hidden behind the part that was not read. No refusal says what it was sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Send

from previously.wire.errors import CHAT_ERRORS, ErrorFormat, find_error_format

Header = tuple[bytes, bytes]

LINGER_S = 1.0
"""Seconds in which what a client still sends is thrown away. A connection that is closed with unread bytes is reset,
and a client that was still sending would never see why."""

_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """A request that is not let in; the message is one sentence for whoever set up the client."""

    def __init__(self, status: int, code: str, message: str, headers: Sequence[Header] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers: tuple[Header, ...] = tuple(headers)

    def body(self, wording: ErrorFormat = CHAT_ERRORS) -> bytes:
        """Return the error as the clients of an interface expect it."""
        kind = "server_error" if self.status >= 500 else _KINDS.get(self.status, "invalid_request_error")
        return wording.write_body(self.message, kind, self.code)

    def write(self, path: str) -> tuple[bytes, str]:
        """Return the error as whoever asks at a path expects it, and what kind of a text that is."""
        if not path.startswith("/api/"):
            return self.body(find_error_format(path)), "application/json"
        title = HTTPStatus(self.status).phrase
        problem = {"type": "about:blank", "title": title, "status": self.status, "detail": self.message}
        return json.dumps({**problem, "code": self.code}).encode(), "application/problem+json"


def make_retry_header(seconds: float) -> Header:
    """Return the header that says when to come again: whole seconds, one at least."""
    return b"retry-after", str(max(1, int(seconds + 0.999))).encode()


async def answer_refusal(request: Request, error: Exception) -> Response:
    """Answer with a refusal of the application itself, whose request was read whole: the connection goes on. To be
    given to Starlette as the handler of `Refusal`; it would answer with a bare 500 otherwise."""
    assert isinstance(error, Refusal)
    headers = {name.decode(): value.decode("latin-1") for name, value in error.headers}
    body, kind = error.write(request.url.path)
    return Response(body, error.status, {"cache-control": "no-store", **headers}, kind)


async def refuse(refusal: Refusal, receive: Receive, send: Send, path: str = "") -> None:
    """Answer with a refusal and end the connection, giving the client a moment to read it. `path` is what it asked."""
    body, kind = refusal.write(path)
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})  # all of it, by its length
    try:
        async with asyncio.timeout(LINGER_S):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
