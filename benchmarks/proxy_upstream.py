"""The scripted upstream of the proxy benchmark: the pace of an answer is in the name of the model asked for.

`scripted-20-50` answers in 50 chunks, 20 ms apart, at once and whatever is asked. With `stamped-20-50` each chunk also
tells when the one before it was written, so that the time each chunk was under way can be told from when it was due.
With `counted-20-50` the answer ends with its usage.
The clock is the monotonic one, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import re
import time
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from previously.testing import ScriptedAnswer, ScriptedServer, ServedRequest
from previously.testing.__main__ import serve

_MODEL = re.compile(rb'"model": ?"(scripted|stamped|counted)-(\d+)-(\d+)"')
WINDOW_TOKENS = 8_192


def model_name(delay_ms: int, chunks: int, *, kind: str = "scripted") -> str:
    """The model that answers at that pace."""
    return f"{kind}-{delay_ms}-{chunks}"


def plan(request: ServedRequest) -> ScriptedAnswer:
    """The answer to a request."""
    found = _MODEL.search(request.body)
    if found is None:
        return answer("scripted", 20, 50)
    return answer(found[1].decode(), int(found[2]), int(found[3]))


@cache
def answer(kind: str, delay_ms: int, chunks: int) -> ScriptedAnswer:
    """An answer at that pace. Nothing is counted and nothing of the request is read: it must cost little."""
    if kind == "stamped":
        told = partial(_stamped, chunks)
        return ScriptedAnswer(content_type="text/event-stream", body=told, chunk_wait_s=delay_ms / 1000)
    usage = _count if kind == "counted" else False
    return ScriptedAnswer(chunks=chunks, choices=1, usage=usage, model="scripted", chunk_wait_s=delay_ms / 1000)


def _count(request: ServedRequest, text: str) -> dict[str, int]:
    """Return a usage in the way of a tokenizer: four characters to a token."""
    prompt, answer = len(request.body) // 4, len(text) // 4
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _stamped(chunks: int) -> Iterator[bytes]:
    """A server takes the next chunk when it has written the one before, and then waits: so the time is that of the
    chunk before."""
    yield _event({"role": "assistant", "content": "Answer"})
    for _ in range(chunks - 1):
        yield _event({"content": f" @{time.perf_counter():.6f}"})
    yield _event({}, "stop")
    yield b"data: [DONE]\n\n"


def _event(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    chunk = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "scripted"}
    return b"data: %b\n\n" % json.dumps({**chunk, "choices": [choice]}).encode()


def main() -> None:
    """Serve until interrupted; the address is told on stdout."""
    server = ScriptedServer(plan, kind="llama.cpp", window_tokens=WINDOW_TOKENS, keep=100)
    try:
        runner: Any = importlib.import_module("uvloop").run
    except ImportError:
        runner = asyncio.run
    with contextlib.suppress(KeyboardInterrupt):
        runner(serve(server))


if __name__ == "__main__":
    main()
