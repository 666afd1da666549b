"""An upstream that tells a story: OpenAI-compatible, no two replies alike, in a stream or at once."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from tests.clients.sillytavern import MODEL
from tests.unit.models.http_server import Received, ScriptedServer, answer

_SIGHTS = ("A lantern swung twice", "The buffet shutters rattled", "Steam crept under the door", "A label came loose")
_ENDS = ("and nobody looked up.", "while the kettle sang.", "as if it had been told to.", "and the dust settled again.")


class Storyteller(ScriptedServer):
    """Serves while it is entered. `asked` holds the bodies of all chat requests, in the order of arrival."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(self._play, port)
        self.told: list[str] = []
        self.pause_s = 0.0
        """Waited between two chunks of a stream, so that a test can stop it midway."""
        self.folds_fail = False
        """Whether requests that do not stream, which a proxy makes for its memory, are refused."""
        self._ordered: deque[str] = deque()

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [request.json for request in self.requests if request.path.endswith("/chat/completions")]

    @property
    def streamed(self) -> list[dict[str, Any]]:
        """What was asked for a stream: with streaming on, the turns of a chat and nothing else."""
        return [body for body in self.asked if body.get("stream")]

    def begin_anew(self) -> None:
        """Forget what was asked; what was told stays told, so that no reply comes twice."""
        self.requests.clear()
        self._ordered.clear()
        self.pause_s, self.folds_fail = 0.0, False

    def say_next(self, *texts: str) -> None:
        """Use these replies first."""
        self._ordered.extend(texts)

    def _next(self) -> str:
        number = len(self.told) + 1
        made = f"{_SIGHTS[number % 4]} {_ENDS[number // 4 % 4]} That was thing {number} to happen that night."
        self.told.append(self._ordered.popleft() if self._ordered else made)
        return self.told[-1]

    async def _play(self, request: Received, writer: asyncio.StreamWriter) -> None:
        if request.path.endswith("/models"):
            await answer(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})(request, writer)
        elif not request.path.endswith("/chat/completions"):
            await answer(404, {"error": {"message": "There is nothing here."}})(request, writer)
        elif request.json.get("stream"):
            await self._stream(self._next(), writer)
        elif self.folds_fail:
            await answer(503, {"error": {"message": "Only chats are served tonight."}})(request, writer)
        else:
            await answer(200, _whole(self._next()))(request, writer)

    async def _stream(self, text: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        words = text.split(" ")
        for number, word in enumerate(words):
            delta = {"content": word if number == len(words) - 1 else f"{word} "}
            writer.write(_event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))
            await writer.drain()
            await asyncio.sleep(self.pause_s)
        writer.write(_event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}))
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()


def _event(more: dict[str, Any]) -> bytes:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": MODEL, **more}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _whole(text: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 0, "completion_tokens": len(text.split()), "total_tokens": len(text.split())}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}
