"""Two processes with many writers on one SQLite file: no error reaches a caller, and nothing is lost.

For a minute, with a hundred writers: `python -m benchmarks.durability --seconds 60`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.contract.storage.verbs import SqliteVerbs

WRITERS, MESSAGES = 20, 25
WRITE = """
import asyncio, sys
from previously.core.messages import Draft, message
from previously.storage.sqlite import SqliteStore

async def main(path, who, writers, messages):
    store = SqliteStore(path)
    shared = (await store.create_story("me", "shared", at="")).key

    async def write(number):
        own = (await store.create_story("me", f"{who} {number}", at="")).key
        for count in range(messages):
            await store.append(own, None, [Draft(message("user", str(count)))], at="")
            await store.append(shared, None, [Draft(message("user", f"{who} {number} {count}"))], at="")

    await asyncio.gather(*(write(number) for number in range(writers)))
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


def test_two_processes_and_many_writers(tmp_path: Path) -> None:
    path = str(tmp_path / "stories.db")
    command = [sys.executable, "-c", WRITE, path]
    started = [
        subprocess.Popen([*command, who, str(WRITERS), str(MESSAGES)], stderr=subprocess.PIPE, text=True)
        for who in "ab"
    ]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    asyncio.run(check(path))


async def check(path: str) -> None:
    store = SqliteVerbs(path)
    for info in await store.stories("me"):
        texts = [item.entry.message.text for item in await store.path(info.key, "main", 0, 99_999)]
        if info.name != "shared":
            assert texts == [str(count) for count in range(MESSAGES)], info.name
            continue
        assert len(texts) == len(set(texts)) == 2 * WRITERS * MESSAGES
        for writer in {text.rpartition(" ")[0] for text in texts}:
            own = [text for text in texts if text.startswith(f"{writer} ")]
            assert own == [f"{writer} {count}" for count in range(MESSAGES)], "each one's in order"
    assert len(await store.stories("me")) == 2 * WRITERS + 1
    assert (await store.verify("me", before="")).faults == ()
    await store.close()
