"""The guard as a whole: every rule on every request, in the right order, answered in the right shape."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from previously.core.errors import BadInput
from previously.server import refusals
from previously.server.callers import FRESH_S
from previously.server.guard import Guard, GuardRules, get_caller, is_page
from tests.end_to_end.server.asking import JSON, Application, asked
from tests.end_to_end.server.test_callers import KEY, Doors, bearer

BEARER = {"authorization": f"Bearer {KEY}"}
FRIEND = "http://localhost:3000"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "LINGER_S", 0.01)


def guarded(app: Any = None, doors: Doors | None = None, **rules: Any) -> tuple[Guard, Application]:
    application = app or Application()
    doors = doors or Doors()
    made = GuardRules.of("127.0.0.1", allow_origins=rules.pop("allow_origins", ()), **rules)
    return Guard(application, made, doors.callers(), clock=lambda: doors.now), application


async def test_what_is_allowed_reaches_the_application_whole() -> None:
    guard, app = guarded()
    answer = await asked(guard, "POST", "/v1/chat/completions", JSON, [b'{"a"', b":1}"])
    assert (answer.status, answer.body, answer.complete) == (200, b"ok", True)
    assert app.bodies == [b'{"a":1}']
    assert get_caller(app.scopes[0]).owner == "local"
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert (guard.requests, guard.held_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": None}, 421),
        ({"headers": {**JSON, "host": "127.0.0.1"}}, 421),
        ({"headers": {**JSON, "origin": "http://evil.example"}}, 403),
        ({"headers": {**JSON, "sec-fetch-site": "cross-site"}}, 403),
        ({"headers": {"content-type": "text/plain"}, "path": "/v1/chat/completions"}, 415),
        ({"headers": {**JSON, "content-length": "1073741824"}}, 413),
        ({"headers": [*JSON.items(), *[("x-a", "b")] * 100]}, 431),
        ({"headers": {**JSON, "x-a": "b" * 40_000}}, 431),
        ({"path": "/" + "a" * 9_000}, 414),
        ({"body": [b"12345678901"]}, 413),
        ({"method": "GET", "headers": {"content-length": "5"}}, 400),
    ],
)
async def test_what_is_not_never_does(how: dict[str, Any], status: int) -> None:
    guard, app = guarded(body_bytes=10)
    request: dict[str, Any] = {"method": "POST", "headers": JSON, "body": b"{}"} | how
    answer = await asked(guard, **request)
    assert answer.status == status
    assert answer.error["message"].endswith(".")
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-length"] == str(len(answer.body))
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert app.scopes == []
    assert (guard.requests, guard.held_bytes) == (0, 0)


async def test_with_keys_whoever_has_none_is_told_so() -> None:
    guard, app = guarded(doors=Doors(**{KEY: "ann"}))
    answer = await asked(guard)
    assert (answer.status, answer.error["type"]) == (401, "authentication_error")
    assert app.scopes == []
    assert (await asked(guard, headers=BEARER)).status == 200
    assert get_caller(app.scopes[0]).owner == "ann"
    for path in ("/healthz", "/readyz"):
        assert (await asked(guard, path=path)).status == 200, "probes have no keys"
    for path in ("/", "/page/app.js"):
        assert (await asked(guard, path=path)).status == 200, "the page holds no story, and lets people sign in"
    for path in ("/metrics", "/page", "/stories/3", "/v1/models", "/healthz/", "//", "/Healthz"):
        assert (await asked(guard, path=path)).status == 401
    assert (await asked(guard, path=f"/v1/models?key={KEY}")).status == 401


async def test_even_probes_know_their_name() -> None:
    guard, _ = guarded()
    assert (await asked(guard, path="/healthz", host="evil.example")).status == 421


async def test_too_many_at_once() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/healthz":
            begun.set()
            await go_on.wait()
        await Application()(scope, receive, send)

    guard, _ = guarded(slow, requests=1)
    first = asyncio.create_task(asked(guard))
    await begun.wait()
    second = await asked(guard)
    assert (second.status, second.error["type"], second.headers["retry-after"]) == (503, "server_error", "1")
    assert (await asked(guard, path="/healthz")).status == 200, "also when there is no room"
    go_on.set()
    assert (await first).status == 200
    assert (await asked(guard)).status == 200


async def test_bodies_together_are_bounded_too() -> None:
    guard, app = guarded(held_bytes=8)
    assert (await asked(guard, "POST", headers=JSON, body=b"12345678")).status == 200
    answer = await asked(guard, "POST", headers=JSON, body=[b"12345678", b"9"])
    assert (answer.status, answer.error["code"]) == (503, "no_room")
    assert guard.held_bytes == 0
    assert len(app.scopes) == 1


async def test_too_often() -> None:
    doors = Doors(**{KEY: "ann", "bobs": "bob"})
    guard, _ = guarded(doors=doors, per_s=1, burst=2)
    answers = [(await asked(guard, headers=BEARER)).status for _ in range(3)]
    assert answers == [200, 200, 429]
    assert (await asked(guard, headers={"authorization": "Bearer bobs"})).status == 200
    refused = await asked(guard, headers=BEARER)
    assert (refused.error["type"], refused.headers["retry-after"]) == ("rate_limit_error", "1")
    doors.now += 1
    assert (await asked(guard, headers=BEARER)).status == 200


async def test_a_body_that_takes_too_long() -> None:
    guard, app = guarded(body_s=0.02)

    async def stalls() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": headers}
    await guard(scope, stalls, send)
    assert sent[0]["status"] == 408
    assert app.scopes == []


async def test_a_client_that_goes_meanwhile_is_not_answered() -> None:
    guard, app = guarded()

    async def goes() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    await guard({"type": "http", "method": "POST", "path": "/v1/models", "headers": headers}, goes, send)
    assert app.scopes == []
    assert guard.requests == 0


async def test_a_named_origin_may_ask_and_read_also_why_it_was_refused() -> None:
    guard, app = guarded(allow_origins=[FRIEND])
    wishes = {
        "origin": FRIEND,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type, x-stainless-os",
    }
    answer = await asked(guard, "OPTIONS", "/v1/chat/completions", wishes)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == FRIEND
    assert answer.headers["access-control-allow-headers"] == "authorization,content-type, x-stainless-os"
    assert "access-control-allow-credentials" not in answer.headers
    assert app.scopes == []
    allowed = await asked(guard, "POST", headers={**JSON, "origin": FRIEND})
    assert (allowed.status, allowed.headers["access-control-allow-origin"]) == (200, FRIEND)
    assert allowed.headers["vary"] == "Origin"
    refused = await asked(guard, "POST", "/v1/chat/completions", headers={"origin": FRIEND})
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (415, FRIEND)
    other = await asked(guard, "OPTIONS", headers={**wishes, "origin": "http://localhost:3001"})
    assert (other.status, "access-control-allow-origin" in other.headers) == (403, False)
    odd = await asked(guard, "OPTIONS", headers={**wishes, "access-control-request-headers": "a b; c"})
    assert "access-control-allow-headers" not in odd.headers


async def test_a_stream_ends_soon_after_its_key_was_removed() -> None:
    doors = Doors(**{KEY: "ann"})

    async def words(request: Request) -> StreamingResponse:
        async def chunks() -> Any:
            for number in range(10):
                doors.now += FRESH_S
                if number == 5:
                    doors.keys.clear()
                yield f"{number} "

        return StreamingResponse(chunks())

    guard, _ = guarded(Starlette(routes=[Route("/v1/words", words)]), doors)
    answer = await asked(guard, path="/v1/words", headers=BEARER)
    assert (answer.body, answer.complete) == (b"0 1 2 3 4 ", False)
    assert guard.requests == 0


async def test_a_key_removed_before_the_answer_begins() -> None:
    doors = Doors(**{KEY: "ann"})

    async def thinks(scope: Scope, receive: Receive, send: Send) -> None:
        doors.now += FRESH_S
        doors.keys.clear()
        await Application()(scope, receive, send)

    guard, _ = guarded(thinks, doors)
    answer = await asked(guard, headers=BEARER)
    assert (answer.status, answer.complete) == (401, True)


async def test_faults_of_the_application_stay_its_own() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    for doors in (Doors(), Doors(**{KEY: "ann"})):
        guard, _ = guarded(broken, doors)
        with pytest.raises(ZeroDivisionError):
            await asked(guard, headers=BEARER if doors.keys else {})
        assert guard.requests == 0


async def test_an_application_refuses_in_the_same_shape() -> None:
    async def refuses(request: Request) -> StreamingResponse:
        raise refusals.Refusal(504, "upstream_timeout", "It did not answer in time.", [refusals.make_retry_header(3)])

    handlers: dict[Any, Any] = {refusals.Refusal: refusals.answer_refusal}
    guard, _ = guarded(Starlette(routes=[Route("/v1/models", refuses)], exception_handlers=handlers))
    answer = await asked(guard)
    assert (answer.status, answer.error["type"], answer.headers["retry-after"]) == (504, "server_error", "3")
    assert answer.headers["content-type"] == "application/json"
    assert "connection" not in answer.headers


async def test_websockets_are_closed_and_the_life_of_the_server_goes_through() -> None:
    guard, _ = guarded()
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "lifespan.shutdown"}

    await guard({"type": "websocket", "headers": []}, receive, send)
    await guard({"type": "lifespan"}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close", "lifespan.shutdown.complete"]


def test_pages() -> None:
    paths = ("/", "/page/app.js", "/page", "/stories/1", "/v1/models", "/metrics", "/api/v1/stories")
    assert [path for path in paths if is_page(path)] == ["/", "/page/app.js"]


def test_bad_rules_are_named() -> None:
    for options in ({"allow_hosts": ["http://x"]}, {"allow_origins": ["*"]}):
        with pytest.raises(BadInput):
            GuardRules.of("127.0.0.1", **options)  # type: ignore[arg-type]


async def test_no_canary_comes_back() -> None:
    """What was sent stands in no refusal: not the key, not the host, not the origin, not the path."""
    canary = "canary-7f3a"
    for headers in (bearer(canary), [], [(b"origin", b"http://" + canary.encode())]):
        named = {name.decode(): value.decode() for name, value in headers}
        for host in ("localhost", canary):
            guard, _ = guarded(doors=Doors(**{KEY: "ann"}))
            answer = await asked(guard, "POST", f"/{canary}", {**JSON, **named}, host=host)
            assert answer.status in (401, 403, 421)
            assert canary not in f"{answer.body!r}{answer.headers}"
