"""Turns that could not be brought into the store in time: kept on disk until they can.

A file of JSON lines: requests, their answers, and those that are done. A request to which `add` has given a number is
on disk. The file never grows beyond its bound, and is emptied when nothing is pending any more. It holds what users
said, so only its owner can read it.
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
    request: ChatRequest
    replies: tuple[Message, ...] = ()
    partial: bool = False


class PendingTurns:
    """Keeps pending turns on disk. One process uses one file."""

    def __init__(self, path: Path | None, most_bytes: int) -> None:
        """`path` None keeps nothing: stories in memory are gone with the process anyway."""
        self._path = path
        self._most_bytes = most_bytes
        self._lock = asyncio.Lock()
        self._lines: dict[int, dict[str, Any]] = {}
        self._next = 1
        self._bytes = 0
        if path is not None and path.exists():
            try:
                self._load(path)
            except OSError as error:
                raise StoreProblem(f"{path} cannot be read: {error.strerror}.") from error

    @property
    def count(self) -> int:
        return len(self._lines)

    async def add(self, owner: str, request: ChatRequest) -> int | None:
        """Keep a request; return its number, or None if there is no room or no disk."""
        async with self._lock:
            number = self._next
            line = {
                "id": number,
                "owner": owner,
                "dialect": request.interface.name,
                "body": request.body,
                "story": request.story,
                "named": request.named,
                "kind": str(request.ask) if request.ask else "",
                "names": [
                    request.client_list.names.character,
                    request.client_list.names.user,
                    list(request.client_list.names.members),
                ],
            }
            if not await self._write(line):
                return None
            self._next += 1
            self._lines[number] = line
            return number

    async def keep_answer(self, number: int, replies: Sequence[Message], *, partial: bool) -> None:
        async with self._lock:
            if number not in self._lines:
                return
            line = {"answers": number, "replies": [to_openai(reply) for reply in replies], "partial": partial}
            if await self._write(line):
                self._lines[number] |= {"replies": line["replies"], "partial": partial}

    async def remove(self, number: int) -> None:
        async with self._lock:
            if self._lines.pop(number, None) is None:
                return
            if self._lines:
                await self._write({"done": number})
            elif self._path is not None:
                self._bytes = 0
                await asyncio.to_thread(_empty, self._path)

    async def read_all(self) -> list[PendingTurn]:
        """Return the pending turns, the oldest first; one that cannot be read is logged and removed."""
        async with self._lock:
            lines = list(self._lines.values())
        turns = []
        for line in lines:
            try:
                turns.append(_parse_line(line))
            except (BadInput, KeyError, TypeError, ValueError) as error:
                log.warning("A request in the spool cannot be read: %s", type(error).__name__)
                await self.remove(line["id"])
        return turns

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
        """Read what a process before this one left; a last line that was cut off is none."""
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # else the next line would be glued to what was cut off
            os.truncate(path, len(whole))
        self._bytes = len(whole)
        for line in whole.splitlines():
            try:
                parsed = json.loads(line)
            except ValueError:
                continue
            match parsed:
                case {"id": int() as number}:
                    self._lines[number] = parsed
                    self._next = max(self._next, number + 1)
                case {"answers": int() as number} if number in self._lines:
                    self._lines[number] |= {"replies": parsed.get("replies"), "partial": parsed.get("partial")}
                case {"done": int() as number}:
                    self._lines.pop(number, None)
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


def _parse_line(line: dict[str, Any]) -> PendingTurn:
    character, user, members = line["names"]
    meta = {"char": character, "user": user, "group": ",".join(members) if len(members) > 1 else ""}
    naming = "x-previously-story" if line.get("named", True) else "x-session-id"
    headers = {naming: quote(line.get("story") or ""), "x-previously-kind": line.get("kind") or ""}
    interface = INTERFACES[line.get("dialect", CHAT.name)]
    request = parse_chat_request(json.dumps({**line["body"], "chat_meta": meta}).encode(), headers, interface)
    replies = tuple(parse_chat_message(item).message for items in line.get("replies") or [] for item in items)
    return PendingTurn(line["id"], line["owner"], request, replies, bool(line.get("partial")))
