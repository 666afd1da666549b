"""Answers of the scripted server: their words, and all that can go wrong on the way.

A `ScriptedAnswer` is a plain value; `plan_steps` turns it into what a connection does, one step after the other: bytes
to write, seconds to wait, an event to wait for, an end. The same answer to the same request gives the same steps.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from previously.core.messages import ToolCall
from previously.testing.bodies import ScriptedReply, write_error

if TYPE_CHECKING:
    from previously.testing.connection import ServedRequest

Body = bytes | str | dict[str, Any] | list[Any] | Callable[[], Iterable[bytes]]


class End(Enum):
    """The ways in which a connection may end an answer."""

    KEPT = "whole; the connection stays open for the next request"
    CLOSED = "the connection is closed"
    RESET = "the connection is reset, as by a crash"
    NEVER = "nothing more comes, and the connection stays open"


Step = bytes | float | asyncio.Event | End


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """One answer. Everything has a default: `ScriptedAnswer()` is a good server's, with words of its own."""

    text: str | Sequence[str] | None = None
    """The words: in one text, streamed word by word, or in the pieces given. None: words that no other request
    gets, the same in every run."""
    chunks: int = 12
    """The number of pieces that the words of its own have."""
    reasoning: str = ""
    tool_calls: Sequence[ToolCall] = ()
    choices: int | None = None
    """None: as many as were asked for."""
    finish_reason: str | None = None
    """None: `tool_calls` where there are any, else `stop`."""
    usage: Mapping[str, Any] | Callable[[ServedRequest, str], Mapping[str, Any]] | bool = True
    """True: as the server counts; streamed only when asked for. False: never. Given: always that."""
    model: str | None = None

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = None
    body: Body | None = None
    """In place of all that is said: bytes as they are, text as UTF-8, JSON, or what a function yields."""

    wait_s: float = 0.0
    """Before the head."""
    chunk_wait_s: float = 0.0
    """Before each further chunk."""
    hold: Mapping[int, asyncio.Event] = field(default_factory=dict)
    """Wait for the event before that chunk; -1 is the head. So that a test decides when, and no clock does."""
    piece_bytes: int | Sequence[int] | None = None
    """Write the body in pieces of this size, or split at these bytes, wherever they fall."""
    done: bool = True
    """Say `[DONE]`."""
    error_after: int | None = None
    """After so many chunks say `error` and end."""
    error: object = field(default_factory=lambda: {"message": "The model ran out of memory.", "code": 500})
    error_event: bool = False
    """Say it as an event called `error`."""
    cut_chunks: int | None = None
    """End the connection after so many chunks; -1: before the head."""
    cut_bytes: int | None = None
    """End the connection after so many bytes of the body."""
    reset: bool = False
    """Cut it by RST, not FIN."""
    endless: bool = False
    """Never come to an end."""
    never: bool = False
    """Take the request and never answer."""


def plan_steps(answer: ScriptedAnswer, request: ServedRequest, composed: ScriptedReply) -> Iterator[Step]:
    """Plan what the connection does. Counts in `request` what has been sent when a step is taken."""
    if (event := answer.hold.get(-1)) is not None:
        yield event
    if answer.wait_s:
        yield answer.wait_s
    if answer.never:
        yield End.NEVER
    ending = End.RESET if answer.reset else End.CLOSED
    if answer.cut_chunks == -1:
        yield ending
        return
    parts, size = _split_body(answer, composed)
    chunked = size is None
    yield _write_head(answer, composed, size)
    for at, part in enumerate(_cut_pieces(parts, answer.piece_bytes)):
        if (event := answer.hold.get(at)) is not None:
            yield event
        elif at and answer.chunk_wait_s:
            yield answer.chunk_wait_s
        if answer.cut_chunks is not None and at >= answer.cut_chunks:
            yield ending
            return
        if answer.cut_bytes is not None and request.sent_bytes + len(part) > answer.cut_bytes:
            rest = part[: answer.cut_bytes - request.sent_bytes]
            request.sent_bytes += len(rest)
            yield b"%x\r\n%b\r\n" % (len(rest), rest) if chunked and rest else rest
            yield ending
            return
        request.sent_chunks += 1
        request.sent_bytes += len(part)
        yield b"%x\r\n%b\r\n" % (len(part), part) if chunked else part
    if answer.cut_chunks is not None or answer.cut_bytes is not None:
        yield ending
        return
    if chunked:
        yield b"0\r\n\r\n"
    yield End.KEPT


def _split_body(answer: ScriptedAnswer, composed: ScriptedReply) -> tuple[Iterable[bytes], int | None]:
    """Return the body in chunks, and its size where that is told beforehand."""
    match answer.body:
        case None if answer.status >= 400:
            whole = write_error(answer.status)
        case None if composed.streamed:
            return composed.events(), None
        case None:
            whole = composed.whole()
        case bytes() as whole:
            pass
        case str() as text:
            whole = text.encode()
        case dict() | list() as value:
            whole = json.dumps(value).encode()
        case function:
            return function(), None
    return [whole], len(whole)


def _cut_pieces(parts: Iterable[bytes], pieces: int | Sequence[int] | None) -> Iterable[bytes]:
    if pieces is None:
        return parts
    whole = b"".join(parts)
    splits = list(range(0, len(whole), pieces)) if isinstance(pieces, int) else [0, *pieces]
    cuts = zip(splits, [*splits[1:], len(whole)], strict=True)
    return [whole[first:last] for first, last in cuts if first < last]


def _write_head(answer: ScriptedAnswer, composed: ScriptedReply, size: int | None) -> bytes:
    streamed = composed.streamed and answer.body is None and answer.status < 400
    kind = answer.content_type or ("text/event-stream; charset=utf-8" if streamed else "application/json")
    fields = {"Content-Type": kind, "Cache-Control": "no-cache"} if streamed else {"Content-Type": kind}
    fields |= {"Transfer-Encoding": "chunked"} if size is None else {"Content-Length": str(size)}
    fields |= answer.headers
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Odd"
    lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


# Answers that tests often want


def refused(status: int, message: str = "", *, retry_after: str | None = None, code: str = "") -> ScriptedAnswer:
    """An error as OpenAI-compatible servers send it: 400, 401, 429 with `Retry-After`, 500, 503, …"""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return ScriptedAnswer(status=status, headers=headers, body=write_error(status, message, code))


def web_page(status: int = 200) -> ScriptedAnswer:
    """A page for people, as some other server on that port has it."""
    page = "<!DOCTYPE html><html><body><h1>It works!</h1></body></html>"
    return ScriptedAnswer(status=status, content_type="text/html", body=page)


def redirect(location: str, status: int = 307) -> ScriptedAnswer:
    """An answer that sends the request elsewhere."""
    return ScriptedAnswer(status=status, headers={"Location": location}, body=b"")


def long_line(size: int = 100_000_000, *, prefix: bytes = b"data: ") -> ScriptedAnswer:
    """A stream of one line without an end."""

    def line() -> Iterator[bytes]:
        yield prefix
        for at in range(0, size, 65_536):
            yield b"x" * min(65_536, size - at)

    return ScriptedAnswer(content_type="text/event-stream", body=line)


def gzip_bomb(unpacked_bytes: int = 100_000_000) -> ScriptedAnswer:
    """A small packed body that becomes a large one."""
    return ScriptedAnswer(headers={"Content-Encoding": "gzip"}, body=_packed_blanks(unpacked_bytes))


@cache
def _packed_blanks(size: int) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = [packer.compress(b" " * min(1_000_000, size - at)) for at in range(0, size, 1_000_000)]
    return b"".join([*packed, packer.flush()])
