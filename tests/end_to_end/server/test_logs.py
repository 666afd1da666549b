"""What a server writes down: one line for each request, and never a prompt, an answer, a name of a story or a key."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from previously.server import refusals
from previously.server.guard import Guard, GuardRules
from previously.server.logs import LineFormatter, RequestLog, get_note, hide_secrets, start_log
from previously.server.metrics import Metrics
from tests.end_to_end.server.asking import JSON, Application, asked, listening, talk
from tests.end_to_end.server.test_callers import KEY, Doors

CANARIES = {
    "path": "canary-in-the-path",
    "query": "canary-in-the-query",
    "header": "canary-in-a-header",
    "prompt": "canary-in-the-prompt",
    "answer": "canary-in-the-answer",
    "story": "canary-in-the-name-of-a-story",
    "error": "canary-in-an-error",
    "key": KEY,
    "upstream key": "sk-canary0123456789",
}


@pytest.fixture(params=[False, True], ids=["words", "json"])
def written(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """All that the loggers of a server write."""
    monkeypatch.setattr(refusals, "LINGER_S", 0.01)
    stream = io.StringIO()
    before = {name: (log.handlers, log.propagate, log.level) for name, log in _logs()}
    start_log(stream, as_json=request.param)
    yield stream
    for name, log in _logs():
        log.handlers, log.propagate, level = before[name]
        log.setLevel(level)


def _logs() -> list[tuple[str, logging.Logger]]:
    return [(name, logging.getLogger(name)) for name in ("previously", "uvicorn.error")]


async def chat(request: Request) -> Any:
    body = await request.body()
    get_note(request.scope).story = 12
    logging.getLogger("previously.server").warning("The upstream refused Bearer %s and %s", KEY, "sk-canary0123456789")
    if b"break" in body:
        raise ValueError(CANARIES["error"])

    async def words() -> Any:
        yield f"data: {CANARIES['answer']}\n\n"

    if b"stream" in body:
        return StreamingResponse(words(), media_type="text/event-stream")
    return JSONResponse({"content": CANARIES["answer"], "story": CANARIES["story"]})


def server(metrics: Metrics | None = None) -> ASGIApp:
    app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
    return RequestLog(Guard(app, GuardRules.of("127.0.0.1"), Doors(**{KEY: "ann"}).callers()), metrics)


async def ask(app: ASGIApp, body: str = "", path: str = "/v1/chat/completions", key: str = KEY) -> Any:
    headers = {**JSON, "authorization": f"Bearer {key}", "x-note": CANARIES["header"], "x-request-id": "canary-id"}
    return await asked(app, "POST", path, headers, f'{{"{CANARIES["prompt"]}": "{body}"}}'.encode())


async def test_nothing_of_a_story_and_no_key_is_written(written: io.StringIO) -> None:
    app = server()
    await ask(app)
    await ask(app, "stream")
    await ask(app, key="sk-canary0123456789")
    await ask(app, path=f"/{CANARIES['path']}?{CANARIES['query']}")
    with pytest.raises(ValueError, match="canary"):
        await ask(app, "break")
    try:
        raise ValueError(CANARIES["error"]) from KeyError(CANARIES["prompt"])
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    text = written.getvalue()
    assert len(text.splitlines()) == 5 + 3 + 1
    assert "canary" not in text
    assert KEY not in text
    assert "ValueError in " in text
    assert "test_nothing_of_a_story" in text, "where it happened is said"


async def test_a_line_says_what_an_operator_needs(written: io.StringIO) -> None:
    app = server()
    answer = await ask(app)
    line = written.getvalue().splitlines()[-1]
    if line.startswith("{"):
        told = json.loads(line)
        assert set(told) == {"time", "id", "method", "route", "status", "owner", "story", "ms", "bytes"}
        assert (told["method"], told["route"], told["status"]) == ("POST", "/v1/chat/completions", 200)
        assert (told["owner"], told["story"], told["bytes"]) == ("ann", 12, len(answer.body))
        ident = told["id"]
    else:
        words = line.split(" ")
        ident = words[1]
        assert words[2:5] == ["POST", "/v1/chat/completions", "200"]
        assert words[5:7] == ["owner=ann", "story=12"]
        assert words[8] == f"bytes={len(answer.body)}"
    assert answer.headers["x-previously-request"] == ident


async def test_what_a_guard_refuses_is_written_and_counted_too(written: io.StringIO) -> None:
    metrics = Metrics()
    app = server(metrics)
    answer = await ask(app, key="sk-other")
    assert answer.status == 401
    assert "401" in written.getvalue()
    assert "ann" not in written.getvalue()
    assert metrics.requests.value(route="/v1/chat/completions", status=401) == 1


async def test_streams_are_counted_while_they_are_open(written: io.StringIO) -> None:
    metrics = Metrics()
    open_then: list[float] = []

    async def streams(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"Content-Type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        open_then.append(metrics.open_streams.value())
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await asked(RequestLog(streams, metrics))
    assert (open_then, metrics.open_streams.value()) == ([1], 0)
    assert "cut" in written.getvalue()
    assert metrics.requests.value(route="/v1/models", status=200) == 1


async def test_ids_are_ours_and_never_the_same(written: io.StringIO) -> None:
    app = RequestLog(Application())
    answers = [await asked(app, headers={"x-previously-request": "theirs"}) for _ in range(50)]
    assert len({answer.headers["x-previously-request"] for answer in answers} - {"theirs"}) == 50


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    "hostile", ["a\nb", "a\r\nINFO forged", "\x1b[31mred", "\u202etxt", "a b", 'a" x="y', "\u2028", "\x00", "\x85"]
)
def test_a_line_is_one_line(hostile: str, as_json: bool) -> None:
    told = {"id": "1", "method": "GET", "route": "/", "status": 200, "owner": hostile, "story": None, "ms": 1.0}
    for extra, message in (({"told": told}, "request"), ({}, hostile)):
        record = logging.makeLogRecord({"msg": message, "levelname": "INFO", **extra})
        line = LineFormatter(as_json=as_json).format(record)
        assert len(line.splitlines()) == 1
        assert all(ord(char) >= 32 and char not in "\u202e\u2028\x85" for char in line)
        if as_json:
            assert json.loads(line)["owner" if extra else "message"] == hostile


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abc.def",
        "authorization: bearer  x",
        f"key {KEY}",
        "sk-proj-abcdefgh1234",
        "hf_abcdefgh1234",
        "Basic YW5uOnBrLWFiY2Q=",
    ],
)
def test_keys_are_blotted_out_wherever_they_stand(secret: str) -> None:
    blotted = hide_secrets(f"It said {secret!r}, again: {secret}.")
    assert "[key]" in blotted
    assert secret.split()[-1] not in blotted


def test_words_are_left_alone() -> None:
    for words in ("A fold failed: TimeoutError", "the keyhole, a skeleton", "monkey-like things", "The basic idea"):
        assert hide_secrets(words) == words


async def test_over_a_socket_nothing_but_our_lines_is_written(
    written: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raise ValueError(CANARIES["error"])
        await Application()(scope, receive, send)

    async with listening(RequestLog(broken)) as port:
        await talk(port, b"GET /canary HTTP/1.1\r\nHost: localhost\r\nX: canary\r\nConnection: close\r\n\r\n")
        await talk(port, b"canary nonsense\r\n\r\n")
    text = written.getvalue() + "".join(capfd.readouterr())
    assert "canary" not in text
    has_no_status = re.search(r'other"?,? (?:"status": )?0\b', text)
    assert has_no_status, "the listener answers, and the log says that nothing was finished"
    assert "ValueError in " in text
