"""Turns that could not be brought into the store in time: kept on disk until they can.

Each server process has a file of its own in the folder of its database, and takes over those of processes that died. A
request to which `add` has given a number is on disk. Lines that are added at the same time share one wait for the
disk. The file never grows beyond its bound.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Message
from previously.runtime.clock import time_at
from previously.server.chat_request import ChatRequest, parse_chat_request
from previously.server.pending_file import (
    WaitingFile,
    WaitingTurn,
    make_file,
    make_line,
    put_aside,
    read_line,
    take_left_file,
)
from previously.wire.chat import parse_chat_message, to_openai
from previously.wire.interface import CHAT, INTERFACES

log: logging.Logger = logging.getLogger("previously.server")

WORN_SHARE = 0.5
"""A file of which less than this part still waits is written anew when it has grown to this part of its bound: that is
cheap, and no turn is refused for the sake of lines that are done."""

CLOSE_S = 5.0
"""Seconds that the end of a process waits for the disk: far longer than a write takes, far shorter than a host waits
before it kills."""


@dataclass(frozen=True, slots=True)
class PendingTurn:
    """A request that is still to be followed."""

    owner: str
    said_at: str
    """The time at which it came in; empty where that was not written down."""
    request: ChatRequest
    replies: tuple[Message, ...] = ()
    partial: bool = False
    answered_at: str | None = None


@dataclass(frozen=True, slots=True)
class PendingKey:
    """A turn among those that wait: its file, and its number there."""

    file: WaitingFile
    number: int

    @property
    def turn(self) -> WaitingTurn:
        return self.file.turns[self.number]


@dataclass(frozen=True, slots=True)
class _Write:
    """Lines on their way to disk, and what is kept in mind once they are there."""

    data: bytes
    sync: bool
    keep: Callable[[], None]
    done: asyncio.Future[bool]


class PendingTurns:
    """Keeps pending turns on disk, and takes over those that others left."""

    def __init__(self, folder: Path | None, most_bytes: int) -> None:
        """`folder` None keeps nothing on disk: stories in memory are gone with the process anyway."""
        self._folder = folder
        self._most_bytes = most_bytes
        self._left: list[WaitingFile] = []
        self._unreadable: set[Path] = set()
        self._next = 1
        self._queue: list[_Write] = []
        self._writer: asyncio.Task[None] | None = None
        self._refused_bytes = 0
        try:
            self._own = make_file(folder) if folder else WaitingFile(None, None)
            self._take_over()
        except OSError as error:
            raise StoreProblem(f"{folder} cannot be used for turns that wait: {error.strerror}.") from error

    @property
    def count(self) -> int:
        return sum(len(file.turns) for file in self._files)

    def list_keys(self) -> list[PendingKey]:
        """Return all that waits, the oldest of each process first."""
        return [PendingKey(file, number) for file in self._files for number in file.turns]

    def holds_story(self, owner: str, story: str | None) -> bool:
        """Return whether a turn waits that belongs to a story of that name."""
        turns = (turn for file in self._files for turn in file.turns.values())
        return any((turn.owner, turn.story) == (owner, story) for turn in turns)

    async def add(self, owner: str, request: ChatRequest) -> PendingKey | None:
        """Keep a request; return its key, or None if there is no room or no disk."""
        number, names = self._next, request.client_list.names
        self._next += 1
        fields = {
            "id": number,
            "owner": owner,
            "at": time_at(),
            "dialect": request.interface.name,
            "body": request.body,
            "story": request.story,
            "named": request.named,
            "kind": str(request.ask) if request.ask else "",
            "names": [names.character, names.user, list(names.members)],
        }
        turn = WaitingTurn(owner, request.story, make_line(fields))
        kept = await self._write(turn.request, lambda: self._own.turns.update({number: turn}))
        return PendingKey(self._own, number) if kept else None

    async def keep_answer(self, key: PendingKey, replies: Sequence[Message], *, partial: bool) -> bool:
        """Keep the answer to a request; False if there is no room or no disk."""
        replied = [to_openai(reply) for reply in replies]
        line = make_line({"answers": key.number, "at": time_at(), "replies": replied, "partial": partial})

        def keep() -> None:
            if turn := self._own.turns.get(key.number):
                self._own.turns[key.number] = replace(turn, answer=line)

        return await self._write(line, keep)

    async def read(self, key: PendingKey) -> PendingTurn | None:
        """Return a turn that waits; None for one that cannot be read, which is put aside."""
        try:
            return await asyncio.to_thread(_parse_turn, key.turn)
        except (BadInput, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            log.warning("A turn that waits cannot be read: %s", type(error).__name__)
            await self.put_aside(key)
            return None

    async def put_aside(self, key: PendingKey) -> None:
        """Keep a turn that no story can take where a person finds it, and have done with it."""
        if key.file.path:
            await asyncio.to_thread(put_aside, key.file.path, key.turn.lines)
        await self.remove(key)

    async def remove(self, key: PendingKey) -> None:
        """Have done with a turn. If that cannot be written, it is brought in once more after a restart, which changes
        nothing."""
        del key.file.turns[key.number]
        line = make_line({"done": key.number}) if key.file.turns else b""
        if key.file is self._own:
            await self._write(line, lambda: None, sync=False)
        elif line:
            with suppress(OSError):
                await asyncio.to_thread(key.file.add, line, sync=False)
        else:
            self._left.remove(key.file)
            await asyncio.to_thread(key.file.close)

    async def take_over(self) -> None:
        """Take over what processes that died have left, as much at a time as one process may keep."""
        with suppress(OSError):
            await asyncio.to_thread(self._take_over)

    async def has_room(self) -> bool:
        """Return whether a turn could be kept that is as large as the last one that could not."""
        return await self._write(b"\n" * self._refused_bytes, lambda: None)

    async def close(self) -> None:
        """Leave what waits to whoever comes next."""
        if self._writer is not None and not (await asyncio.wait({self._writer}, timeout=CLOSE_S))[0]:
            return  # the disk hangs; the files are free when the process is gone
        for file in self._files:
            with suppress(OSError):
                file.close()

    @property
    def _files(self) -> tuple[WaitingFile, ...]:
        return (*self._left, self._own)

    def _take_over(self) -> None:
        while self._folder and (not self._left or sum(file.size for file in self._left) < self._most_bytes):
            file = take_left_file(self._folder, self._unreadable)
            if file is None:
                return
            if file.turns:
                self._left.append(file)
            else:
                file.close()

    async def _write(self, data: bytes, keep: Callable[[], None], *, sync: bool = True) -> bool:
        """Write lines, and `keep` them once they are on disk; False if there is no room or no disk."""
        write = _Write(data, sync, keep, asyncio.get_running_loop().create_future())
        self._queue.append(write)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_queue())
        return await write.done

    async def _write_queue(self) -> None:
        while self._queue:
            writes, self._queue = self._queue, []
            if not await self._write_together(writes) and len(writes) > 1:
                for write in writes:  # what is to blame fails alone
                    await self._write_together([write])

    async def _write_together(self, writes: Sequence[_Write]) -> bool:
        try:
            data = b"".join(write.data for write in writes)
            await asyncio.to_thread(self._add, data, sync=any(write.sync for write in writes))
        except OSError as error:
            if len(writes) > 1:
                return False
            if writes[0].sync:
                self._refused_bytes = len(data)
                log.warning("A turn or its answer cannot be kept among those that wait: %s", error.strerror)
            kept = False
        else:
            kept = True
        for write in writes:
            if kept:
                write.keep()
            if not write.done.done():
                write.done.set_result(kept)
        return kept

    def _add(self, data: bytes, *, sync: bool) -> None:
        own = self._own
        if own.is_gone:
            own.shrink()
        elif own.size > self._most_bytes * WORN_SHARE or not own.turns:
            waiting = sum(len(turn.lines) for turn in list(own.turns.values()))
            if waiting < own.size * WORN_SHARE:
                own.shrink()
        if own.size + len(data) > self._most_bytes:
            raise OSError(errno.ENOSPC, f"{self._most_bytes} bytes wait already")
        own.add(data, sync=sync)


def _parse_turn(turn: WaitingTurn) -> PendingTurn:
    asked = read_line(turn.request)
    character, user, members = asked["names"]
    meta = {"char": character, "user": user, "group": ",".join(members) if len(members) > 1 else ""}
    naming = "x-previously-story" if asked.get("named", True) else "x-session-id"
    headers = {naming: quote(asked.get("story") or ""), "x-previously-kind": asked.get("kind") or ""}
    interface = INTERFACES[asked.get("dialect", CHAT.name)]
    request = parse_chat_request(json.dumps({**asked["body"], "chat_meta": meta}).encode(), headers, interface)
    answer = read_line(turn.answer) if turn.answer else {"replies": []}
    replies = tuple(parse_chat_message(item).message for items in answer["replies"] for item in items)
    said_at, partial = str(asked.get("at") or ""), bool(answer.get("partial"))
    return PendingTurn(asked["owner"], said_at, request, replies, partial, answer.get("at"))
