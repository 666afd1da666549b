"""The stories of the proxy benchmark, and the clients that go on telling them.

Each story is its own: generated from its own seed, imported through the library, folded by the built-in writer, and
indexed, as a story is that was told through the proxy all along. The first one is long, to show that the length of a
story does not count; the others are short, so that all of them are made within a minute. A file that was made before
can be used again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from typing import Any

from previously import BlockingMemory, Draft, message
from previously.demo.long_story import generate_story

SYSTEM = (
    "You are the narrator of a long story. Write the next message of one of its people, in the present tense, in a few "
    "sentences. Never speak for the reader."
)
SENT = 200
"""How many of its newest messages a client sends that does not send all."""

LONG, SHORT = 10_000, 300
"""Messages of the first story, and of the others: enough for folds, chapters and recall."""

MOST_TURNS = 400
FIRST_SEED = 1_000

_CONTENT = re.compile(rb'"content": ?("(?:[^"\\]|\\.)*")')


def lines_of(number: int, length: int) -> list[dict[str, object]]:
    """A story of so many messages, the user's first and an answer last, and behind it what its user will say."""
    return list(islice(generate_story(1 + length + 2 * MOST_TURNS, FIRST_SEED + number), 1, None))


def name_of(number: int) -> str:
    """What a story is called."""
    return f"story {number}"


def length_of(number: int) -> int:
    """The messages of a story before anybody goes on with it."""
    return SHORT if number else LONG


def make(path: str, number: int) -> None:
    """Import one story, fold and index it."""
    length = length_of(number)
    drafts = [
        Draft(message(str(line["role"]), str(line["content"]), speaker=str(line["name"])))
        for line in lines_of(number, length)[:length]
    ]
    with BlockingMemory(path) as memory:
        story = memory.story(name_of(number))
        story.follow(drafts)
        story.fold()
        story.search("the bell of the old mill")


def make_stories(path: Path, count: int) -> None:
    """As many stories as are wanted, in a file; those that are there already stay."""
    with BlockingMemory(path) as memory:
        there = {info.name for info in memory.stories()}
    missing = [number for number in range(count) if name_of(number) not in there]
    if not missing:
        return
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as workers:
        work = [workers.submit(make, str(path), number) for number in missing]
        for done, _ in enumerate(as_completed(work), 1):
            print(f"\rmaking stories: {done} of {len(missing)}", end="", file=sys.stderr, flush=True)
    for one in work:
        one.result()
    print(file=sys.stderr)


def copy_of(path: Path, folder: Path) -> Path:
    """The same file in another folder, for one proxy to write to."""
    target = folder / "stories.db"
    for ending in ("", "-wal"):
        if Path(f"{path}{ending}").exists():
            shutil.copyfile(f"{path}{ending}", f"{target}{ending}")
    return target


class Client:
    """One client with its chat: it sends what it has, and takes in what it is answered."""

    def __init__(self, number: int, length: int) -> None:
        lines = lines_of(number, length)
        self._chat = [{"role": str(line["role"]), "content": str(line["content"])} for line in lines[:length]]
        self._sayings = [str(line["content"]) for line in lines[length:] if line["role"] == "user"]
        self._turn = 0

    def says(self, own: str = "") -> None:
        """The user says the next thing; with `own`, one that no other client of the same story says."""
        self._chat.append({"role": "user", "content": own + self._sayings[self._turn % len(self._sayings)]})
        self._turn += 1

    def unsaid(self) -> None:
        """What the user said last is taken back."""
        self._chat.pop()

    def is_answered(self, stream: bytes) -> None:
        """The words of an answer, from its stream."""
        self._chat.append({"role": "assistant", "content": text_of(stream)})

    def request(self, port: int, model: str, sent: int | None = SENT) -> bytes:
        """The request for the next answer, as it goes over the wire, with so many messages or all."""
        messages: Sequence[dict[str, str]] = self._chat if sent is None else self._chat[-sent:]
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "system", "content": SYSTEM}, *messages],
            "stream": True,
            "temperature": 0.8,
        }
        return _post(port, json.dumps(body).encode())


def text_of(stream: bytes) -> str:
    """What a stream says: framing may stand between two events, never inside one."""
    return "".join(json.loads(found) for found in _CONTENT.findall(stream))


def _post(port: int, body: bytes) -> bytes:
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer sk-benchmark\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
