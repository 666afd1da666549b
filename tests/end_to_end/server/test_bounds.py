"""How much a request may be: the head, the body, its time, the rate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from previously.server.guard import (
    MOST_OWNERS,
    Bounds,
    ClientGone,
    Rates,
    check_body,
    check_head,
    read_body,
    replay_body,
)
from previously.server.refusals import Header, Refusal

JSON = (b"content-type", b"application/json")
SMALL = Bounds(body_bytes=10, body_s=0.05)


def status(check: Callable[[], object]) -> int:
    """200, or what it is refused with."""
    try:
        check()
    except Refusal as refusal:
        return refusal.status
    return 200


def receiving(*messages: Message, then: Message | None = None) -> Callable[[], Awaitable[Message]]:
    waiting = list(messages)

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        if then is None:
            await asyncio.Event().wait()
        assert then is not None
        return then

    return receive


def piece(body: bytes, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("headers", "path", "expected"),
    [
        ([(b"a", b"b")] * 100, b"/", 200),
        ([(b"a", b"b")] * 101, b"/", 431),
        ([(b"a", b"b" * 32_000)], b"/", 200),
        ([(b"a", b"b" * 33_000)], b"/", 431),
        ([(b"a" * 33_000, b"")], b"/", 431),
        ([], b"/" * 8_192, 200),
        ([], b"/" * 8_193, 414),
    ],
)
def test_the_head(headers: list[Header], path: bytes, expected: int) -> None:
    assert status(lambda: check_head(path, headers, Bounds())) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (b"application/json", 200),
        (b"application/json; charset=utf-8", 200),
        (b"Application/JSON ;charset=UTF-8", 200),
        (b"text/plain", 415),
        (b"application/x-www-form-urlencoded", 415),
        (b"multipart/form-data; boundary=x", 415),
        (b"text/plain; application/json", 415),
        (b"application/jsonp", 415),
        (b"application/json, text/plain", 415),
        (b"", 415),
        (None, 415),
    ],
)
def test_bodies_are_json(kind: bytes | None, expected: int) -> None:
    headers = [] if kind is None else [(b"content-type", kind)]
    for method in ("POST", "PUT", "PATCH"):
        assert status(lambda method=method: check_body(method, headers, Bounds())) == expected  # type: ignore[misc]
    assert status(lambda: check_body("GET", headers, Bounds())) == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([JSON, JSON], 415),
        ([JSON, (b"content-length", b"67108864")], 200),
        ([JSON, (b"content-length", b"67108865")], 413),
        ([JSON, (b"content-length", b"1073741824")], 413),
        ([JSON, (b"content-length", b"9" * 4_000)], 413),
        ([JSON, (b"content-length", b"-1")], 400),
        ([JSON, (b"content-length", b"0x10")], 400),
        ([JSON, (b"content-length", b"1 ")], 400),
        ([JSON, (b"content-length", "١".encode())], 400),
        ([JSON, (b"content-length", b"1"), (b"content-length", b"1")], 400),
        ([JSON, (b"content-length", b"1"), (b"transfer-encoding", b"chunked")], 400),
        ([JSON, (b"transfer-encoding", b"chunked")], 200),
        ([JSON, (b"transfer-encoding", b"xchunked")], 400),
        ([JSON, (b"transfer-encoding", b"gzip, chunked")], 400),
        ([JSON, (b"content-encoding", b"gzip")], 415),
        ([JSON, (b"content-encoding", b"identity")], 200),
    ],
)
def test_what_a_body_says_of_itself(headers: list[Header], expected: int) -> None:
    assert status(lambda: check_body("POST", headers, Bounds())) == expected


def test_where_no_body_belongs_none_may_come() -> None:
    for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
        for header, expected in (
            ((b"content-length", b"0"), 200),
            ((b"content-length", b"1"), 400),
            ((b"transfer-encoding", b"chunked"), 400),
        ):
            assert status(lambda m=method, h=header: check_body(m, [h], Bounds())) == expected  # type: ignore[misc]


async def test_a_body_is_counted_while_it_comes() -> None:
    held: list[int] = []
    body = await read_body(receiving(piece(b"12345"), piece(b""), piece(b"67890", False)), SMALL, held.append)
    assert (body, held) == (b"1234567890", [5, 0, 5])
    endless = receiving(then=piece(b"123"))
    with pytest.raises(Refusal) as refused:
        await read_body(endless, SMALL, held.append)
    assert refused.value.status == 413


async def test_a_body_that_does_not_come_is_given_up() -> None:
    with pytest.raises(Refusal) as refused:
        await read_body(receiving(piece(b"1")), SMALL, lambda count: None)
    assert refused.value.status == 408


async def test_a_client_that_goes_is_not_answered() -> None:
    with pytest.raises(ClientGone):
        await read_body(receiving(piece(b"1"), then={"type": "http.disconnect"}), SMALL, lambda count: None)


async def test_what_was_read_is_given_once_and_then_what_comes() -> None:
    receive = replay_body(b"body", receiving(then={"type": "http.disconnect"}))
    assert await receive() == piece(b"body", False)
    assert await receive() == {"type": "http.disconnect"}


def test_a_burst_and_the_long_run() -> None:
    now = [0.0]
    rates = Rates(Bounds(per_s=2, burst=3), lambda: now[0])
    assert [status(lambda: rates.take("ann")) for _ in range(4)] == [200, 200, 200, 429]
    assert status(lambda: rates.take("bob")) == 200, "one owner's haste is not another's"
    now[0] += 0.5
    assert [status(lambda: rates.take("ann")) for _ in range(2)] == [200, 429]
    with pytest.raises(Refusal) as refused:
        rates.take("ann")
    assert dict(refused.value.headers) == {b"retry-after": b"1"}


@given(st.lists(st.floats(min_value=0, max_value=2), max_size=60))
def test_never_more_than_the_bucket_gives(waits: list[float]) -> None:
    now, let_in = 0.0, 0
    rates = Rates(Bounds(per_s=3, burst=5), lambda: now)
    for wait in waits:
        now += wait
        let_in += status(lambda: rates.take("ann")) == 200
    assert let_in <= 5 + 3 * now + 1e-6


def test_buckets_are_bounded() -> None:
    rates = Rates(Bounds())
    for number in range(MOST_OWNERS + 10):
        rates.take(str(number))
    assert len(rates._buckets) == MOST_OWNERS
