"""What could not be brought into the store in time: kept on disk until it can.

A file of JSON lines: requests, their answers, and what is done. What must stay true: what `add` has given a number is
on disk; the file never grows beyond its bound; when nothing waits any more it is emptied. It holds what users said, so
only its owner can read it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Message
from previously.server.chat_request import ChatRequest, parse_chat_request
from previously.wire.chat import parse_chat_message, to_openai
from previously.wire.interface import CHAT, INTERFACES

log = logging.getLogger("previously.server")


@dataclass(frozen=True, slots=True)
class PendingTurn:
    """A request that is still to be followed."""

    id: int
    owner: str
    asked: ChatRequest
    replies: tuple[Message, ...] = ()
    partial: bool = False


class PendingTurns:
    """Keeps requests on disk. One process uses one file."""

    def __init__(self, path: Path | None, most_bytes: int) -> None:
        """`path` None keeps nothing: stories in memory are gone with the process anyway."""
        self._path = path
        self._most_bytes = most_bytes
        self._lock = asyncio.Lock()
        self._waiting: dict[int, dict[str, Any]] = {}
        self._next = 1
        self._bytes = 0
        if path is not None and path.exists():
            try:
                self._load(path)
            except OSError as error:
                raise StoreProblem(f"{path} cannot be read: {error.strerror}.") from error

    @property
    def waits(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    async def add(self, owner: str, asked: ChatRequest) -> int | None:
        """Keep a request; its number, or None if there is no room or no disk."""
        async with self._lock:
            number = self._next
            line = {
                "id": number,
                "owner": owner,
                "dialect": asked.dialect.name,
                "body": asked.body,
                "story": asked.story,
                "named": asked.named,
                "kind": str(asked.ask) if asked.ask else "",
                "names": [asked.heard.names.character, asked.heard.names.user, list(asked.heard.names.members)],
            }
            if not await self._write(line):
                return None
            self._next += 1
            self._waiting[number] = line
            return number

    async def answered(self, number: int, replies: Sequence[Message], *, partial: bool) -> None:
        """Keep the answer to a request that waits."""
        async with self._lock:
            if number not in self._waiting:
                return
            found = {"answers": number, "replies": [to_openai(reply) for reply in replies], "partial": partial}
            if await self._write(found):
                self._waiting[number] |= {"replies": found["replies"], "partial": partial}

    async def done(self, number: int) -> None:
        """A request was followed."""
        async with self._lock:
            if self._waiting.pop(number, None) is None:
                return
            if self._waiting:
                await self._write({"done": number})
            elif self._path is not None:
                self._bytes = 0
                await asyncio.to_thread(_empty, self._path)

    async def waiting(self) -> list[PendingTurn]:
        """What waits, the oldest first; what cannot be read is left out and said."""
        async with self._lock:
            lines = list(self._waiting.values())
        found = []
        for line in lines:
            try:
                found.append(_waiting(line))
            except (BadInput, KeyError, TypeError, ValueError) as error:
                log.warning("A request in the spool cannot be read: %s", type(error).__name__)
                await self.done(line["id"])
        return found

    async def _write(self, line: dict[str, Any]) -> bool:
        encoded = json.dumps(line, ensure_ascii=True).encode() + b"\n"
        if self._path is None:
            return True
        if self._bytes + len(encoded) > self._most_bytes:
            log.warning("The spool is full: a request is answered, and not remembered.")
            return False
        try:
            await asyncio.to_thread(_append, self._path, encoded)
        except OSError as error:
            log.warning("The spool cannot be written: %s", error.strerror or type(error).__name__)
            return False
        self._bytes += len(encoded)
        return True

    def _load(self, path: Path) -> None:
        """What a process before this one left; a last line that was cut off is none."""
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # else the next line would be glued to what was cut off
            os.truncate(path, len(whole))
        self._bytes = len(whole)
        for line in whole.splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                continue
            match found:
                case {"id": int() as number}:
                    self._waiting[number] = found
                    self._next = max(self._next, number + 1)
                case {"answers": int() as number} if number in self._waiting:
                    self._waiting[number] |= {"replies": found.get("replies"), "partial": found.get("partial")}
                case {"done": int() as number}:
                    self._waiting.pop(number, None)
                case _:
                    continue


def _append(path: Path, line: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        while line:
            line = line[os.write(handle, line) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _empty(path: Path) -> None:
    if path.exists():
        os.truncate(path, 0)


def _waiting(line: dict[str, Any]) -> PendingTurn:
    character, user, members = line["names"]
    meta = {"char": character, "user": user, "group": ",".join(members) if len(members) > 1 else ""}
    naming = "x-previously-story" if line.get("named", True) else "x-session-id"
    headers = {naming: quote(line.get("story") or ""), "x-previously-kind": line.get("kind") or ""}
    dialect = INTERFACES[line.get("dialect", CHAT.name)]
    asked = parse_chat_request(json.dumps({**line["body"], "chat_meta": meta}).encode(), headers, dialect)
    replies = tuple(parse_chat_message(item).message for items in line.get("replies") or [] for item in items)
    return PendingTurn(line["id"], line["owner"], asked, replies, bool(line.get("partial")))
