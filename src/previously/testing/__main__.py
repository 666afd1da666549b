"""A scripted server by itself, for benchmarks: every answer has as many chunks, at the same pace.

`python -m previously.testing --port 8901 --delay-ms 20 --chunks 50` writes its address to stdout and serves
until it is interrupted. Uses uvloop where it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from previously.testing.answer import ScriptedAnswer
from previously.testing.server import ScriptedServer


async def serve(server: ScriptedServer) -> None:
    """Write the address to stdout, and serve until cancelled."""
    async with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a server by itself."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server that answers from a script.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=20.0, help="before each further chunk")
    parser.add_argument("--first-delay-ms", type=float, default=0.0, help="before the head")
    parser.add_argument("--chunks", type=int, default=50)
    parser.add_argument("--window", type=int, default=None, help="in tokens, told as llama.cpp tells it")
    given = parser.parse_args(arguments)
    answer = ScriptedAnswer(
        chunks=given.chunks,
        choices=1,
        usage=False,
        model="scripted",
        wait_s=given.first_delay_ms / 1000,
        chunk_wait_s=given.delay_ms / 1000,
    )
    server = ScriptedServer(
        answer, kind="llama.cpp", window_tokens=given.window, host=given.host, port=given.port, keep=100
    )
    try:
        runner: Any = importlib.import_module("uvloop").run
    except ImportError:
        runner = asyncio.run
    with contextlib.suppress(KeyboardInterrupt):
        runner(serve(server))


if __name__ == "__main__":
    main()
