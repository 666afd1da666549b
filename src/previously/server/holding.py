"""Looking at the beginning of a stream before the client sees any of it, and reading all of it as it passes by.

Some servers say only in their stream that a request was too long. What must stay true: nothing is held back once a part
of an answer is there, nor for longer than `HOLD_S`; what was held goes out unchanged and in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from previously.wire.reply import Reply
from previously.wire.sse import ReplyReader

HOLD_S = 2.0
"""How long the beginning of a stream in which nothing is said yet may be held back."""

MOST_HELD_BYTES = 256 * 1024


class Hearing:
    """Reads an answer as it passes by, and begins anew where it is asked for once more."""

    def __init__(self, reader: Callable[[], ReplyReader]) -> None:
        self._make = reader
        self._reader = reader()

    def feed(self, piece: bytes) -> None:
        """The next bytes."""
        self._reader.feed(piece)

    @property
    def begun(self) -> bool:
        """Whether anything came that a client could show, or an error."""
        return self._reader.begun or self._reader.reply().error is not None

    @property
    def failed(self) -> object:
        """What the server said in place of an answer; None if it has said nothing, or a part of an answer."""
        reply = self._reader.reply()
        return reply.error if all(choice.empty and not choice.reasoning for choice in reply.choices) else None

    def again(self) -> None:
        """Forget what was heard."""
        self._reader = self._make()

    def finish(self) -> Reply:
        """What the client got, now that no more comes."""
        return self._reader.finish()


class Held:
    """The chunks of a stream, the first of which can be looked at."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._next: asyncio.Task[bytes | None] | None = None
        self._looked_at: list[bytes] = []

    async def look(self, hearing: Hearing) -> None:
        """Take what comes until something is said, or for a while, and have it heard. What breaks off before its
        first byte is no answer at all."""
        loop = asyncio.get_running_loop()
        end, size = loop.time() + HOLD_S, 0
        while size < MOST_HELD_BYTES and not hearing.begun:
            self._next = self._next or asyncio.create_task(self._one())
            await asyncio.wait({self._next}, timeout=max(0.0, end - loop.time()))
            if not self._next.done() or (self._looked_at and self._next.exception()):
                return
            if (chunk := self._next.result()) is None:
                return
            self._next = None
            self._looked_at.append(chunk)
            hearing.feed(chunk)
            size += len(chunk)

    async def _one(self) -> bytes | None:
        return await anext(self._chunks, None)

    async def all(self) -> AsyncIterator[tuple[bytes, bool]]:
        """All chunks, each with whether it was heard when it was looked at."""
        for chunk in self._looked_at:
            yield chunk, True
        while True:
            waiting, self._next = self._next, None
            following = await (waiting or self._one())
            if following is None:
                return
            yield following, False

    def let_go(self) -> None:
        """Nobody waits for more."""
        if self._next is not None:
            self._next.cancel()
