"""What can go wrong with the machines: the store is down or slow, the process is stopped or killed, answers are far too
large, and hostile clients hold on to connections. Each has a proxy of its own."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from previously import ScriptedAnswer, ScriptedServer
from previously.storage.sqlite.page_checksums import connect
from previously.testing import gzip_bomb, long_line
from tests.effort import mark_slow
from tests.end_to_end.server.running import (
    PARTIAL,
    Rig,
    Talk,
    running_proxy,
    running_rig,
    settled,
    stories_with,
)
from tests.ports import find_port

MANY_BYTES = 5 * 1024 * 1024
DEGRADED = "x-previously-memory"


@contextmanager
def locked(db: Path) -> Iterator[None]:
    """Nobody else can write into the store meanwhile, as when a disk hangs."""
    holder = connect(str(db))
    holder.set_busy_timeout(5_000)
    try:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")
    finally:
        holder.close()


# C2: many clients go away in the middle of large answers


@pytest.mark.slow(reason="moves many megabytes")
async def test_c2_large_partials_do_not_block_others(tmp_path: Path) -> None:
    piece = "x" * 65_536
    count = MANY_BYTES // len(piece)
    plan = ScriptedAnswer(text=[piece] * (count + 1), choices=1, usage=False, model="m", hold={count: asyncio.Event()})
    async with running_rig(tmp_path) as rig:
        rig.upstream.new_plan(plan)

        async def go_away(number: int) -> None:
            heard = 0
            async with Talk(rig, f"c2 {number}").hearing(f"C2 {number:02}") as hearing:
                async for part in hearing.response.aiter_raw():
                    heard += len(part)
                    if heard > MANY_BYTES:
                        break

        before = rig.proxy.loop_cpu_s()
        done = threading.Event()
        watching = asyncio.create_task(asyncio.to_thread(slowest_health_s, rig.proxy.origin, done))
        await asyncio.gather(*(go_away(number) for number in range(6)))
        await rig.upstream.idle()
        for number in range(6):
            words = f"C2 {number:02}"
            await rig.keeps(words, ("user", words), ("assistant", PARTIAL + piece * count))
        done.set()
        assert await watching < 10.0
        assert rig.proxy.loop_cpu_s() - before < 1.2  # passing so much on takes half a second, looking at it far longer
        await rig.check_after_stopping()


def slowest_health_s(origin: str, done: threading.Event) -> float:
    """The longest that the proxy took to say that it is alive. Runs beside the test, which has work of its own."""
    slowest = 0.0
    with httpx.Client(trust_env=False, timeout=30.0) as client:
        while not done.wait(0.01):
            before = time.monotonic()
            assert client.get(f"{origin}/healthz").status_code == 200
            slowest = max(slowest, time.monotonic() - before)
    return slowest


# C6: nobody is there


@pytest.mark.parametrize(
    "which", ["nobody listens", *mark_slow("no such name", "no TLS", reason="a proxy of its own for each")]
)
async def test_c6_an_upstream_that_cannot_be_reached(tmp_path: Path, which: str) -> None:
    async with ScriptedServer() as upstream:
        address = {
            "nobody listens": f"http://127.0.0.1:{find_port()}/v1",
            "no such name": "http://upstream.invalid/v1",
            "no TLS": f"https://127.0.0.1:{upstream.port}/v1",
        }[which]
        async with running_proxy(address, db=tmp_path / "stories.db") as proxy:
            talk = Talk(Rig(upstream, proxy), "c6")
            for streamed in (False, True):
                response = await talk.ask("C6: hello?" if not streamed else None, stream=streamed)
                assert response.status_code == 502, response.text
                assert response.json()["error"]["message"]
            await settled(proxy.db, "C6:", [("user", "C6: hello?")])
            assert (await proxy.client.get(f"{proxy.origin}/healthz")).status_code == 200


@pytest.mark.slow(reason="waits, with a proxy of its own")
async def test_c6_an_upstream_that_falls_silent(tmp_path: Path) -> None:
    async with running_rig(tmp_path, timeout_s=1) as rig:
        rig.upstream.new_plan(
            [ScriptedAnswer(never=True), ScriptedAnswer(text=["One ", "two"], hold={1: asyncio.Event()})]
        )
        response = await Talk(rig, "c6 a").ask("C6 silent")
        assert response.status_code == 504
        assert response.json()["error"]["message"]
        reply = await Talk(rig, "c6 b").hear("C6 stalled")
        assert reply.choice().text == "One " and reply.error is not None
        await rig.upstream.idle()
        await rig.keeps("C6 silent", ("user", "C6 silent"))
        await rig.keeps("C6 stalled", ("user", "C6 stalled"), ("assistant", f"{PARTIAL}One "))
        await rig.check_after_stopping()


# C7: answers that are far too large


@pytest.mark.slow(reason="moves many megabytes")
async def test_c7_large_answers_do_not_fill_the_memory(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        await Talk(rig, "warm").hear("C7 warm")
        before = rig.proxy.rss_bytes()
        rig.upstream.new_plan([gzip_bomb(300_000_000), gzip_bomb(300_000_000), long_line(), long_line(prefix=b"{")])
        for number, streamed in enumerate((False, True, True, True)):
            async with Talk(rig, f"c7 {number}").hearing(f"C7 large {number}", stream_options=None) as hearing:
                async for _ in hearing.response.aiter_raw():
                    pass
            assert streamed or hearing.response.status_code
        await rig.upstream.idle()
        assert rig.proxy.peak_rss_bytes() - before < 150_000_000
        for number in range(4):
            await rig.keeps(f"C7 large {number}", ("user", f"C7 large {number}"))
        await rig.check_after_stopping()


@pytest.mark.slow(reason="moves many megabytes")
async def test_c7_an_endless_stream_ends_with_its_client(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        rig.upstream.new_plan(ScriptedAnswer(text=["more "] * 100, endless=True))
        before = rig.proxy.rss_bytes()
        heard = 0
        async with Talk(rig, "c7").hearing("C7 endless") as hearing:
            async for piece in hearing.response.aiter_raw():
                heard += len(piece)
                if heard > 10_000_000:
                    break
        assert await rig.upstream.requests[0].ended() == "gone"
        assert rig.proxy.peak_rss_bytes() - before < 100_000_000
        (path,) = (await _eventually(rig, "C7 endless", 2)).values()
        assert path[1][1].startswith(f"{PARTIAL}more more ")


async def _eventually(rig: Rig, words: str, count: int) -> dict[str, list[tuple[str, str]]]:
    for _ in range(200):
        found = await stories_with(rig.proxy.db, words)
        if sum(map(len, found.values())) >= count:
            break
        await asyncio.sleep(0.05)
    return found


# C11, C12: the store


async def test_c12_a_store_that_hangs_does_not_keep_the_answer(tmp_path: Path) -> None:
    async with running_rig(tmp_path, deadline_s=0.3) as rig:
        talk = Talk(rig, "c12")
        await talk.ask("C12: one.")
        with locked(rig.proxy.db):
            async with talk.hearing("C12: two.") as hearing:
                await hearing.all()
            assert hearing.response.headers.get(DEGRADED) == "degraded"
            assert hearing.reader.finish().whole
            assert (await rig.client.get(f"{rig.proxy.origin}/readyz")).status_code == 200
        talk.messages.append({"role": "assistant", "content": hearing.text})
        said = [(message["role"], message["content"]) for message in talk.messages]
        await rig.keeps("C12:", *said)
        for number in range(100):
            response = await talk.ask(f"C12: on we go, {number}.")
            if response.headers.get(DEGRADED) != "degraded":
                break
        assert response.headers.get(DEGRADED) == "on"
        await rig.keeps("C12:", *[(message["role"], message["content"]) for message in talk.messages])
        await rig.check_after_stopping()


@pytest.mark.slow(reason="starts two proxies of its own")
async def test_c11_what_was_said_while_the_store_was_down_outlives_a_kill(tmp_path: Path) -> None:
    async with ScriptedServer() as upstream:
        async with running_proxy(upstream.base_url, db=tmp_path / "stories.db", deadline_s=0.3) as proxy:
            talk = Talk(Rig(upstream, proxy), "c11")
            await talk.ask("C11: one.")
            await settled(proxy.db, "C11:", [(message["role"], message["content"]) for message in talk.messages])
            with locked(proxy.db):
                for words in ("C11: two.", "C11: three."):
                    response = await talk.ask(words)
                    assert (response.status_code, response.headers.get(DEGRADED)) == (200, "degraded")
                await proxy.stop(signal.SIGKILL)
        async with running_proxy(upstream.base_url, db=tmp_path / "stories.db") as proxy:
            said = [(message["role"], message["content"]) for message in talk.messages]
            await settled(proxy.db, "C11:", said, said[:-1])  # what was heard last comes back with the next turn
            talk.rig = Rig(upstream, proxy)
            assert (await talk.ask("C11: four.")).headers.get(DEGRADED) != "degraded"
            await settled(proxy.db, "C11:", [(message["role"], message["content"]) for message in talk.messages])


async def test_c11_many_turns_while_the_store_is_down(tmp_path: Path) -> None:
    async with running_rig(tmp_path, deadline_s=1.0) as rig:
        talks = [Talk(rig, f"c11 {number}") for number in range(8)]
        with locked(rig.proxy.db):
            for turn in range(3):
                answers = await asyncio.gather(
                    *(talk.ask(f"C11 story {number} turn {turn}") for number, talk in enumerate(talks))
                )
                assert {answer.status_code for answer in answers} == {200}
                assert {answer.headers.get(DEGRADED) for answer in answers} == {"degraded"}
        for number, talk in enumerate(talks):
            said = [(message["role"], message["content"]) for message in talk.messages]
            await rig.keeps(f"C11 story {number} ", *said)
        await rig.check_after_stopping()


# C15: hostile clients


def raw_request(head: bytes, body: bytes = b"") -> bytes:
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        + head
        + b"\r\n"
        + body
    )


BODY = json.dumps({"model": "x", "messages": [{"role": "user", "content": "C15 smuggled"}]}).encode()
HOSTILE = {
    "many headers": raw_request(b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"Content-Length: 0\r\n"),
    "a long header": raw_request(b"X-Long: " + b"y" * 1_000_000 + b"\r\nContent-Length: 0\r\n"),
    "a body of a gigabyte": raw_request(b"Content-Length: 1073741824\r\n", b"{"),
    "a length that is none": raw_request(b"Content-Length: -5\r\n", BODY),
    "two lengths": raw_request(b"Content-Length: 5\r\nContent-Length: 60\r\n", BODY),
    "length and chunks": raw_request(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + BODY),
    "chunks of no size": raw_request(b"Transfer-Encoding: chunked\r\n", b"zz\r\n" + BODY),
    "odd coding": raw_request(b"Transfer-Encoding: xchunked\r\n", BODY),
    "a long address": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "another host": b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "no host": b"GET /v1/models HTTP/1.1\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    "a form": b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
    + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
}  # fmt: skip


async def test_c15_hostile_requests_are_refused_and_reach_nobody(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        before = rig.proxy.rss_bytes()
        for name, request in HOSTILE.items():
            reader, writer = await asyncio.open_connection("127.0.0.1", rig.proxy.port)
            try:
                writer.write(request)
                await writer.drain()
                async with asyncio.timeout(15):
                    answer = await reader.read(4_096)
            except ConnectionError:
                answer = b""
            finally:
                writer.transport.abort()
            assert answer == b"" or 400 <= int(answer.split(b" ")[1]) < 500, (name, answer[:200])
            assert (await rig.client.get(f"{rig.proxy.origin}/healthz")).status_code == 200, name
        assert rig.upstream.requests == []
        assert await stories_with(rig.proxy.db, "C15") == {}
        assert rig.proxy.peak_rss_bytes() - before < 100_000_000
        await rig.check_after_stopping()


@pytest.mark.slow(reason="moves many megabytes")
async def test_c15_bodies_without_an_end_are_not_kept_in_memory(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        before = rig.proxy.rss_bytes()
        _, writer = await asyncio.open_connection("127.0.0.1", rig.proxy.port)
        writer.write(raw_request(b"Transfer-Encoding: chunked\r\n"))
        piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        try:
            for _ in range(400):
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        writer.transport.abort()
        assert rig.proxy.peak_rss_bytes() - before < 300_000_000
        assert (await rig.client.get(f"{rig.proxy.origin}/healthz")).status_code == 200
        assert rig.upstream.requests == []


@pytest.mark.slow(reason="waits, with a proxy of its own")
async def test_c15_half_requests_do_not_keep_others_waiting(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        held = []
        for number in range(200):
            _, writer = await asyncio.open_connection("127.0.0.1", rig.proxy.port)
            head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            writer.write(head if number % 2 else raw_request(b"Content-Length: 1000\r\n", b"{"))
            held.append(writer)
        talk = Talk(rig, "c15")
        assert (await talk.ask("C15 slow: hello?")).status_code == 200
        await rig.keeps("C15 slow", *[(message["role"], message["content"]) for message in talk.messages])
        for writer in held:
            writer.transport.abort()
        await rig.check_after_stopping()


# C16: stopped with streams open


async def test_c16_streams_are_heard_to_their_end(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        holds = [asyncio.Event() for _ in range(5)]
        rig.upstream.new_plan([ScriptedAnswer(text=["One ", "two."], hold={1: hold}) for hold in holds])
        talks = [Talk(rig, f"c16 {number}") for number in range(5)]
        hearing = [asyncio.create_task(talk.hear(f"C16 {number}")) for number, talk in enumerate(talks)]
        for number in range(5):
            await (await rig.upstream.request(number)).sent(1)
        rig.proxy.process.send_signal(signal.SIGTERM)
        await _until_refused(rig)
        for hold in holds:
            hold.set()
        replies = await asyncio.gather(*hearing)
        assert [reply.choice().text for reply in replies] == ["One two."] * 5
        assert all(reply.whole for reply in replies)
        await rig.proxy.stopped()
        for number in range(5):
            await settled(rig.proxy.db, f"C16 {number}", [("user", f"C16 {number}"), ("assistant", "One two.")])


async def _until_refused(rig: Rig) -> None:
    """Wait until nobody new is let in."""
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(400):
            try:
                if (await client.get(f"{rig.proxy.origin}/readyz")).status_code == 503:
                    return
            except httpx.TransportError:
                return
            await asyncio.sleep(0.02)
    raise AssertionError("it still lets everybody in")


@pytest.mark.slow(reason="waits, with a proxy of its own")
async def test_c16_a_stream_that_does_not_end_is_broken_off_and_kept(tmp_path: Path) -> None:
    async with running_rig(tmp_path, drain_s=1) as rig:
        rig.upstream.new_plan(ScriptedAnswer(text=["One ", "two."], hold={1: asyncio.Event()}))
        async with Talk(rig, "c16").hearing("C16 endless") as hearing:
            await hearing.until("One ")
            rig.proxy.process.send_signal(signal.SIGTERM)
            await hearing.all()
        async with asyncio.timeout(30):
            await rig.proxy.stopped()
        assert await rig.upstream.requests[0].ended() == "gone"
        await settled(rig.proxy.db, "C16 endless", [("user", "C16 endless"), ("assistant", f"{PARTIAL}One ")])


async def test_a2_killed_mid_stream_the_users_message_is_there_and_nothing_comes_twice(tmp_path: Path) -> None:
    async with ScriptedServer() as upstream:
        async with running_proxy(upstream.base_url, db=tmp_path / "stories.db") as proxy:
            rig = Rig(upstream, proxy)
            upstream.new_plan(ScriptedAnswer(text=["One ", "two."], hold={1: asyncio.Event()}))
            talk = Talk(rig, "a2")
            async with talk.hearing("A2: count.") as hearing:
                await hearing.until("One ")
                await proxy.stop(signal.SIGKILL)
                await hearing.all()
            assert await upstream.requests[0].ended() == "gone"
        (path,) = (await stories_with(tmp_path / "stories.db", "A2:")).values()
        assert path in ([("user", "A2: count.")], [("user", "A2: count."), ("assistant", f"{PARTIAL}One ")])
        async with running_proxy(upstream.base_url, db=tmp_path / "stories.db") as proxy:
            talk.rig = Rig(upstream, proxy)
            upstream.new_plan("One two.")
            assert (await talk.hear()).choice().text == "One two."
            await settled(proxy.db, "A2:", [("user", "A2: count."), ("assistant", "One two.")])


# C17: a long run


@pytest.mark.slow(reason="sends a thousand requests")
async def test_c17_memory_does_not_grow_with_requests(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:

        async def turns(count: int) -> None:
            for _ in range(count // 10):
                talks = [Talk(rig) for _ in range(10)]
                await asyncio.gather(*(talk.hear(f"C17 {id(talk)}: {'word ' * 200}") for talk in talks))
            rig.upstream.new_plan()

        await turns(200)
        before = rig.proxy.rss_bytes()
        await turns(200)
        assert rig.proxy.rss_bytes() - before < 25_000_000
