"""A real server for the page: `previously serve` in its own process, before a model that answers from a script."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from previously.testing.connection import ServedRequest
from previously.testing.server import Plan, ScriptedServer
from tests.ports import find_port

PATIENCE_S = 120.0
"""Seconds that a server may take to come up: two cores may be busy with other tests."""


@dataclass
class Served:
    """A server that can be killed and started again on its port and its database."""

    database: Path
    upstream: str
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        shown = ["serve", "--upstream", self.upstream] if self.upstream else ["open", "--no-browser"]
        command = [sys.executable, "-m", "previously", "--db", str(self.database), *shown]
        with self.database.with_suffix(".log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), *self.options], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PREVIOUSLY_CONFIG": "", **self.settings},
            )  # fmt: skip
        until = time.monotonic() + PATIENCE_S
        while not self._is_up():
            assert self.process.poll() is None, self.database.with_suffix(".log").read_text()
            assert time.monotonic() < until, "the server does not come up"
            time.sleep(0.1)

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}healthz", timeout=PATIENCE_S):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def ask(self, path: str, body: Any = None, method: str = "") -> Any:
        """Ask the API, as another program would."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path.lstrip('/')}", data, {"content-type": "application/json"})
        request.method = method or ("GET" if body is None else "POST")
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read() or b"null")

    def chat(self, story: str, *messages: tuple[str, str]) -> Any:
        """Send a chat through the proxy, as a client does."""
        body = {"model": "scripted", "messages": [{"role": role, "content": text} for role, text in messages]}
        request = urllib.request.Request(
            f"{self.url}v1/chat/completions", json.dumps(body).encode(),
            {"content-type": "application/json", "x-previously-story": urllib.parse.quote(story)},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())


@contextmanager
def serve(database: Path, upstream: str, *options: str, settings: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run a server until it is left."""
    served = Served(database, upstream, find_port(), settings or {}, options)
    try:
        served.start()
        yield served
    finally:
        served.kill()


class Upstream:
    """A scripted server in a thread of its own."""

    def __init__(self, plan: Plan) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.server = self._run(lambda: ScriptedServer(plan).__aenter__())

    def _run(self, make: Callable[[], Any]) -> Any:
        async def call() -> Any:
            return await make()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(PATIENCE_S)

    @property
    def url(self) -> str:
        url: str = self.server.base_url
        return url

    @property
    def requests(self) -> list[ServedRequest]:
        requests: list[ServedRequest] = self.server.requests
        return requests

    def close(self) -> None:
        self._run(self.server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()
