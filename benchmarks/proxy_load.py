"""The load of the proxy benchmark: many streams at once from a process of their own, over bare sockets.

It does as little as can be done between two chunks: note the time and keep the bytes. Connections are open before the
clock starts, requests are ready as bytes, and what came is looked at when all of it is there.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from benchmarks.proxy_stories import Client, length_of

T = TypeVar("T")

END = b"0\r\n\r\n"
EVENT = b"data: "
LONGEST_S = 300.0
"""How long a stream may take before it counts as an error."""

OPENS_S = 0.5
"""How long before its request a connection is opened: a server may close one that says nothing for long."""

FEW, FEW_OPEN_S = 4, 0.05
"""Few connections are open sooner."""


@dataclass
class Streamed:
    """What came of one request."""

    first_s: float = 0.0
    """From the request to its first event."""
    arrivals: list[float] = field(default_factory=list)
    """When each event arrived; the clock is that of all processes of this machine."""
    raw: bytes = b""
    """All that came."""
    error: str = ""

    @property
    def memory(self) -> str:
        """What the answer's head says of memory."""
        head = self.raw.partition(b"\r\n\r\n")[0].lower()
        return head.partition(b"x-previously-memory: ")[2].partition(b"\r\n")[0].decode()


class Stream(asyncio.Protocol):
    """One connection, and the answer that comes on it."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._parts: list[tuple[float, bytes]] = []
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment] # that of uvloop is none by its type

    def data_received(self, data: bytes) -> None:
        self._parts.append((time.perf_counter(), data))
        if data.endswith(END):
            self._end("")
        elif len(self._parts) == 1 and data[9:12] != b"200":
            self._end(data[:200].decode("latin-1"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(f"the connection was closed: {exc}")

    def ask(self, request: bytes) -> None:
        """Send the request; the clock starts."""
        assert self._transport is not None
        self._began = time.perf_counter()
        self._transport.write(request)

    def close(self) -> None:
        """Leave."""
        if self._transport is not None:
            self._transport.close()

    def streamed(self) -> Streamed:
        """What came, looked at."""
        arrivals: list[float] = []
        for at, data in self._parts:
            arrivals += [at] * data.count(EVENT)
        error = self.ended.result() if self.ended.done() else "it did not end in time"
        raw = b"".join(data for _, data in self._parts)
        if not error and (b"data: [DONE]" not in raw or b'"error"' in raw):
            error = "the stream is not whole"
        first_s = arrivals[0] - self._began if arrivals else float("nan")
        return Streamed(first_s, arrivals, raw, error)

    def _end(self, error: str) -> None:
        if not self.ended.done():
            self.ended.set_result(error)


async def _open(port: int) -> Stream:
    _, stream = await asyncio.get_running_loop().create_connection(Stream, "127.0.0.1", port)
    return stream


async def _ask_all(port: int, requests: Sequence[bytes], over_s: float) -> list[Streamed]:
    opens_s = OPENS_S if len(requests) > FEW else FEW_OPEN_S
    began = time.perf_counter() + opens_s

    async def one(number: int) -> Stream:
        at = began + over_s * number / len(requests)
        await asyncio.sleep(at - opens_s - time.perf_counter())
        stream = await _open(port)
        await asyncio.sleep(at - time.perf_counter())
        stream.ask(requests[number])
        await asyncio.wait([stream.ended], timeout=LONGEST_S)
        stream.close()
        return stream

    return [stream.streamed() for stream in await asyncio.gather(*map(one, range(len(requests))))]


def ask_all(port: int, requests: Sequence[bytes], over_s: float = 0.0) -> list[Streamed]:
    """Ask for all of these streams, at once or begun evenly over so many seconds. Runs in its own process."""
    return _run(_ask_all(port, requests, over_s))


@dataclass
class Kept:
    """What came of steady load."""

    turns: int = 0
    errors: list[str] = field(default_factory=list)
    memory: dict[str, int] = field(default_factory=dict)


async def _keep_asking(port: int, numbers: Sequence[int], model: str, seconds: float) -> Kept:
    kept = Kept()
    ends = time.perf_counter() + seconds

    async def tell(number: int, client: Client, pause_s: float) -> None:
        await asyncio.sleep(pause_s)  # not all in step
        while time.perf_counter() < ends:
            client.says()
            stream = await _open(port)
            stream.ask(client.request(port, model))
            await asyncio.wait([stream.ended], timeout=LONGEST_S)
            stream.close()
            came = stream.streamed()
            kept.memory[came.memory] = kept.memory.get(came.memory, 0) + 1
            if came.error:
                kept.errors.append(f"story {number}: {came.error}")
                return
            client.is_answered(came.raw)
            kept.turns += 1

    clients = [Client(number, length_of(number)) for number in numbers]
    pauses = [at * 1.0 / len(clients) for at in range(len(clients))]
    await asyncio.gather(*map(tell, numbers, clients, pauses))
    return kept


def keep_asking(port: int, numbers: Sequence[int], model: str, seconds: float) -> Kept:
    """Clients that go on with their stories, turn after turn, for so long. Runs in its own process."""
    return _run(_keep_asking(port, numbers, model, seconds))


def _run(work: Coroutine[Any, Any, T]) -> T:
    gc.collect()
    gc.disable()
    try:
        runner: Any = importlib.import_module("uvloop").run
    except ImportError:
        runner = asyncio.run
    try:
        result: T = runner(work)
        return result
    finally:
        gc.enable()


def delays_of(came: Streamed) -> list[float]:
    """How long each event was under way: the one behind it tells when it was written (`benchmarks.proxy_upstream`)."""
    found = [line for line in came.raw.split(b"\n") if line.startswith(EVENT)]
    delays: list[float] = []
    for at, line in enumerate(found):
        if at and b" @" in line:
            written = json.loads(line[len(EVENT) :])["choices"][0]["delta"]["content"].rpartition("@")[2]
            delays.append(came.arrivals[at - 1] - float(written))
    return delays
