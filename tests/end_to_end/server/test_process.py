"""The server process on real sockets: what is bounded before there is a request (faults C15, E6)."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from previously.server import refusals
from previously.server.guard import Guard, GuardRules
from previously.server.process import FIRST_SCREEN, MOST_LOOSE_BYTES, allow_many_files, make_server
from tests.end_to_end.server.asking import Application, listening, live, talk
from tests.end_to_end.server.test_callers import Doors

POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "LINGER_S", 0.3)


def guarded(**bounds: Any) -> tuple[Guard, Application]:
    app = Application()
    return Guard(app, GuardRules.of("127.0.0.1", **bounds), Doors().callers()), app


def statuses(answer: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3})", answer)]


def error(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"]


async def test_an_honest_request_is_answered_and_nothing_is_said_of_the_server() -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        answer = await talk(port, POST + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}")
    assert statuses(answer) == [200]
    assert app.bodies == [b"{}"]
    assert b"uvicorn" not in answer.lower()
    assert b"\r\nserver:" not in answer.lower()


@pytest.mark.parametrize(
    "pieces",
    [
        (b"GET / HTTP/1.1\r\n", 0.05, b"Host: lo", 0.05, b"calhost\r\n", 0.05, b"X-A: b"),
        (b"G",),
        (b"\r\n\r\n\r\n",),
        (b"GET /" + b"a" * 100,),
        (POST[:-2],),
    ],
)
async def test_a_head_that_does_not_come_is_given_up(pieces: tuple[bytes | float, ...]) -> None:
    guard, app = guarded()
    async with listening(guard, head_s=0.3) as port:
        answer = await talk(port, *pieces)
    assert statuses(answer) == [408]
    assert error(answer) == "too_slow"
    assert app.scopes == []


async def test_slow_bytes_do_not_buy_time() -> None:
    guard, _ = guarded()
    async with listening(guard, head_s=0.3) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET)
        sent = 0
        while not reader.at_eof() and sent < 100 and not reader._buffer:  # type: ignore[attr-defined]
            writer.write(b"X-A: b\r\n")
            sent += 1
            await asyncio.sleep(0.02)
        try:
            answer = await reader.read()
        except ConnectionResetError:  # what is sent to a closed connection resets it, and may take the answer along
            answer = b""
        writer.transport.abort()
    assert statuses(answer) in ([408], [])
    assert sent < 100


async def test_a_connection_that_says_nothing_is_closed_without_a_word() -> None:
    guard, _ = guarded()
    async with listening(guard, head_s=0.1) as port:
        assert await talk(port) == b""


async def test_a_second_request_on_a_connection_has_its_time_too() -> None:
    guard, app = guarded()
    async with listening(guard, head_s=0.3) as port:
        answer = await talk(port, GET + b"\r\n", 0.1, GET + b"\r\n", 0.1, GET)
    assert statuses(answer) == [200, 200, 408]
    assert len(app.scopes) == 2


async def test_empty_lines_do_not_keep_a_connection_open() -> None:
    guard, _ = guarded()
    lines: list[bytes | float] = [b"\r\n", 0.05] * 8
    async with listening(guard, head_s=0.3) as port:
        answer = await talk(port, GET + b"\r\n", *lines, most_s=3)
    assert statuses(answer)[0] == 200


async def test_an_answer_under_way_is_not_cut_by_a_late_head_behind_it() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(6):
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})
            await asyncio.sleep(0.1)
        await send({"type": "http.response.body", "body": b"end"})

    async with listening(slow, head_s=0.2) as port:
        answer = await talk(port, GET + b"\r\n", 0.05, b"\r\n")
    assert b"end" in answer
    assert statuses(answer) == [200]


async def test_ten_thousand_headers() -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        for count in (101, 1_000, 10_000):
            answer = await talk(port, GET + b"".join(b"X-%d: b\r\n" % n for n in range(count)) + b"\r\n")
            assert statuses(answer) == [431], count
            assert error(answer) == "headers_too_large"
    assert app.scopes == []


@pytest.mark.parametrize(
    "endless", [b"GET /" + b"a" * 10_000, GET + b"X: " + b"a" * 10_000, GET + b"a" * 10_000, GET + b"X: b\r\n" * 2_000]
)
async def test_a_head_without_end(endless: bytes) -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sent = len(endless)
        writer.write(endless)
        while sent < 50_000_000 and not reader._buffer:  # type: ignore[attr-defined]
            piece = b"a" * 10_000 if not endless.endswith(b"\n") else b"X: b\r\n" * 2_000
            writer.write(piece)
            sent += len(piece)
            await asyncio.sleep(0.001)
        answer = await reader.read()
        writer.transport.abort()
    assert statuses(answer)[0] in (400, 414, 431)
    assert sent < 10 * MOST_LOOSE_BYTES
    assert app.scopes == []


async def test_a_gigabyte_is_refused_before_any_of_it_is_read() -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        answer = await talk(port, POST + b"Content-Length: 1073741824\r\n\r\n")
        assert statuses(answer) == [413]
        assert error(answer) == "body_too_large"
        asked_first = await talk(port, POST + b"Content-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n")
        assert statuses(asked_first) == [413], "and whoever asks first is not told to go on"
    assert app.scopes == []


async def test_a_client_that_is_still_sending_sees_why() -> None:
    guard, _ = guarded(body_bytes=1_000_000)
    async with listening(guard) as port:
        answer = await talk(port, POST + b"Content-Length: 8000000\r\n\r\n", *[b"x" * 1_000_000] * 8)
    assert statuses(answer) == [413]


async def test_chunks_without_end() -> None:
    guard, app = guarded(body_bytes=200_000)
    async with listening(guard) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        while sent < 50_000_000 and not reader._buffer:  # type: ignore[attr-defined]
            writer.write(b"1000\r\n" + b"x" * 4_096 + b"\r\n")
            sent += 4_096
            await asyncio.sleep(0)
        answer = await reader.read()
        writer.transport.abort()
    assert statuses(answer) == [413]
    assert app.scopes == []


@pytest.mark.parametrize("noise", [b"0\r\n" + b"X: ", b"1;", b"0\r\nX: b\r\n"])
async def test_framing_without_end(noise: bytes) -> None:
    """Trailers and extensions of chunks are no body: nobody counts them but the server."""
    guard, app = guarded()
    async with listening(guard) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST + b"Transfer-Encoding: chunked\r\n\r\n" + noise)
        sent = 0
        while sent < 50_000_000 and not reader._buffer:  # type: ignore[attr-defined]
            piece = b"X: b\r\n" * 1_000 if noise.endswith(b"\r\n") else b"a" * 10_000
            writer.write(piece)
            sent += len(piece)
            await asyncio.sleep(0.001)
            if reader.at_eof():
                break
        await reader.read()
        writer.transport.abort()
    assert sent < 10 * MOST_LOOSE_BYTES
    assert app.scopes == []


async def test_trailers_are_no_headers() -> None:
    guard, app = guarded()
    body = b"2\r\n{}\r\n0\r\nHost: evil.example\r\nAuthorization: Bearer pk-x\r\n\r\n"
    async with listening(guard) as port:
        answer = await talk(port, POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + body)
    assert statuses(answer) == [200]
    assert [name for name, _ in app.scopes[0]["headers"]].count(b"host") == 1
    assert b"authorization" not in [name for name, _ in app.scopes[0]["headers"]]


async def test_a_length_that_promises_too_much_is_waited_for_a_while() -> None:
    guard, app = guarded(body_s=0.2)
    async with listening(guard) as port:
        answer = await talk(port, POST + b"Content-Length: 100\r\n\r\n{}")
    assert statuses(answer) == [408]
    assert app.scopes == []


async def test_a_length_that_promises_too_little_begins_no_second_request_of_its_own() -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        answer = await talk(port, POST + b"Content-Length: 2\r\n\r\n{}garbage that is no request\r\n\r\n")
    assert statuses(answer)[-1] == 400
    assert [scope["method"] for scope in app.scopes] in ([], ["POST"])


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 2\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nContent-Length: 40\r\n",
        b"Content-Length: 2, 2\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Transfer-Encoding: identity, chunked\r\nContent-Length: 2\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding : chunked\r\nContent-Length: 2\r\n",
        b"Transfer-Encoding:\x0bchunked\r\nContent-Length: 2\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: -2\r\n",
        b"Content-Length: 0x2\r\n",
        b"Content-Length: 2\r\n Content-Length: 40\r\n",
        b"Content-Length : 2\r\n",
        b"X: a\nContent-Length: 40\r\nContent-Length: 2\r\n",
    ],
)
async def test_nothing_is_smuggled(lengths: bytes) -> None:
    hidden = b"{}GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
    guard, app = guarded(body_s=0.3)
    async with listening(guard, head_s=0.3) as port:
        answer = await talk(port, POST + lengths + b"\r\n" + hidden)
    assert statuses(answer)[0] == 400, answer
    assert "/hidden" not in [scope["path"] for scope in app.scopes]


@pytest.mark.parametrize(
    "chunks",
    [
        b"2 \r\n{}\r\n0\r\n\r\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"2\n{}\n0\n\n",
        b"+2\r\n{}\r\n0\r\n\r\n",
        b"FFFFFFFFFFFFFFFFF\r\n{}",
    ],
)
async def test_chunks_that_two_readers_would_read_differently(chunks: bytes) -> None:
    guard, app = guarded(body_s=0.3)
    async with listening(guard, head_s=0.3) as port:
        answer = await talk(port, POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert app.bodies == [] or app.bodies == [b"{}"]
    if app.bodies == []:
        assert statuses(answer)[0] in (400, 408)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 421),
        (b"GET / HTTP/1.0\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n", 403),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", 400),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
    ],
)
async def test_hostile_heads(head: bytes, status: int) -> None:
    guard, app = guarded()
    async with listening(guard, head_s=1.0) as port:
        answer = await talk(port, head)
    assert statuses(answer) == [status]
    assert error(answer)
    assert app.scopes == []


async def test_an_upgrade_is_no_way_in() -> None:
    guard, app = guarded()
    websocket = (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    async with listening(guard) as port:
        assert statuses(await talk(port, GET + websocket, until_close=False)) == [200]
        assert statuses(await talk(port, GET + b"Origin: http://evil.example\r\n" + websocket)) == [403]
    assert [scope["type"] for scope in app.scopes] == ["http"]


async def test_connections_are_bounded() -> None:
    guard, _ = guarded()
    async with listening(guard, most_connections=3) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await asyncio.sleep(0.05)
        with suppress(ConnectionError):
            assert await talk(port, GET + b"\r\n") == b""
        held[0][1].transport.abort()
        await asyncio.sleep(0.05)
        assert statuses(await talk(port, GET + b"Connection: close\r\n\r\n")) == [200]
        for _, writer in held:
            writer.transport.abort()


async def test_a_forwarded_address_is_not_believed() -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        await talk(port, GET + b"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n")
    assert (app.scopes[0]["client"][0], app.scopes[0]["scheme"]) == ("127.0.0.1", "http")


def test_many_files_may_be_open() -> None:
    allow_many_files()
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == resource.RLIM_INFINITY or soft >= min(hard if hard > 0 else 65_536, 65_536)


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"GET /v1/models", b"localhost:1", 200),
        (b"GET http://localhost/v1/models", b"localhost", 200),
        (b"GET HTTP://LocalHost:8642/v1/models?a=b", b"localhost:8642", 200),
        (b"GET http://evil.example/v1/models", b"localhost", 421),
        (b"GET http://localhost/v1/models", b"evil.example", 421),
        (b"GET http://evil.example/v1/models", b"evil.example", 421),
        (b"GET http://127.0.0.1/v1/models", b"localhost", 421),
        (b"GET http://localhost:80/v1/models", b"localhost", 421),
        (b"GET http://localhost:8642/v1/models", b"localhost:8643", 421),
        (b"GET http://localhost./v1/models", b"localhost", 421),
        (b"GET http://localhost/v1/models", b"localhost.", 421),
        (b"GET http://eve@localhost/v1/models", b"localhost", 421),
        (b"GET http://eve@localhost/v1/models", b"eve@localhost", 421),
        (b"GET http://localhost@evil.example/v1/models", b"localhost", 421),
        (b"GET ws://localhost/v1/models", b"localhost", 421),
        (b"GET ftp://localhost/v1/models", b"localhost", 421),
        (b"GET http://localhost#@evil.example/v1/models", b"localhost", 400),
        (b"GET http://localhost\\@evil.example/v1/models", b"localhost", 400),
        (b"GET http:///v1/models", b"localhost", 400),
        (b"GET http:/v1/models", b"localhost", 400),
        (b"GET localhost/v1/models", b"localhost", 400),
        (b"GET *", b"localhost", 421),
        (b"OPTIONS *", b"localhost", 421),
        (b"CONNECT localhost:80", b"localhost:80", 400),
        (b"CONNECT evil.example:80", b"localhost", 400),
        (b"GET /v1/models", b"local\r\n host", 400),
        (b"GET /v1/models", b"localhost\r\n .evil.example", 400),
        (b"GET /v1/models", b"\r\n localhost", 400),
        (b"GET /v1/models", b"localhost\r\nHost: evil.example", 421),
        (b"GET /v1/models", b"localhost\rHost: evil.example", 400),
    ],
)
async def test_a_request_names_one_host_and_it_is_ours(target: bytes, host: bytes, status: int) -> None:
    guard, app = guarded()
    async with listening(guard) as port:
        answer = await talk(port, target + b" HTTP/1.1\r\nConnection: close\r\nHost: " + host + b"\r\n\r\n")
    assert statuses(answer) == [status]
    assert len(app.scopes) == (status == 200)
    assert b"evil" not in answer


async def test_the_address_is_told_at_once_and_the_page_is_shown_when_its_first_screen_was_made_once() -> None:
    done: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        done.append(scope["path"])
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def show() -> None:
        done.append("shown")
        server.should_exit = True

    server = make_server(app, "127.0.0.1", 0)
    server.listening, server.ready, server.first_screen = lambda: done.append("told"), show, "http://127.0.0.1"
    await server.serve()
    assert done == ["told", *FIRST_SCREEN, "shown"]
