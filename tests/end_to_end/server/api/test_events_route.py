"""The stream of events: what changed, by whomever, since when; and which story is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from previously import Memory
from previously.server.api import watches
from previously.server.api.watches import Watches

Event = tuple[str, dict[str, Any], str]


class Listener:
    """Somebody who listens to one stream."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream

    async def hear(self) -> Event:
        """Return the next event, its data and its id."""
        async with asyncio.timeout(60):
            while (sent := (await anext(self._stream)).decode()).startswith(":"):
                pass
        fields = dict(line.split(": ", 1) for line in sent.strip().split("\n"))
        return fields["event"], json.loads(fields["data"]), fields["id"]


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "LOOK_S", 0.02)


@pytest_asyncio.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    opened = await Memory.open(tmp_path / "stories.db")
    await (await opened.story("ferry")).add("user", "Is the ferry in?")
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def all_watches() -> AsyncIterator[Watches]:
    made = Watches()
    yield made
    await made.close()


@asynccontextmanager
async def listen(made: Watches, memory: Memory, last_id: str = "") -> AsyncIterator[Listener]:
    stream = made.listen("local", memory, last_id)
    try:
        yield Listener(stream)
    finally:
        await stream.aclose()  # type: ignore[attr-defined]


async def test_a_change_is_told_whoever_made_it(memory: Memory, all_watches: Watches, tmp_path: Path) -> None:
    other = await Memory.open(tmp_path / "stories.db")
    async with listen(all_watches, memory) as listener:
        assert (await listener.hear())[0] == "hello"
        for count, place in ((2, memory), (3, other)):
            story = await place.story("ferry", create=False)
            added = await story.add("user", f"Line {count}.")
            name, data, _ = await listener.hear()
            assert (name, data["story"], data["messages"]) == ("story", "ferry", count)
            assert "messages" in data["what"] and "settings" not in data["what"], added
    await other.close()


async def test_who_comes_back_hears_what_they_missed(memory: Memory, all_watches: Watches) -> None:
    async with listen(all_watches, memory) as listener:
        _, hello, ident = await listener.hear()
        assert hello["id"] == ident
    async with listen(all_watches, memory) as witness:
        await witness.hear()
        await (await memory.story("mill")).add("user", "The mill burns.")
        while (await witness.hear())[1].get("messages") != 1:
            pass
    async with listen(all_watches, memory, ident) as listener:
        assert (await listener.hear())[0] == "hello"
        assert (await listener.hear())[1]["story"] == "mill"
    async with listen(all_watches, memory, "of-another-server-7") as listener:
        told = [await listener.hear() for _ in range(3)]
        assert {data["story"] for name, data, _ in told if name == "story"} == {"ferry", "mill"}
        assert told[-1][0] == "hello", "where nobody knows what was missed, every story is told once"


async def test_who_comes_during_the_last_look_is_watched(
    memory: Memory, all_watches: Watches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "IDLE_S", watches.LOOK_S)
    async with listen(all_watches, memory) as listener:
        await listener.hear()
    (watch,), look = all_watches._watches.values(), all_watches._look
    came = asyncio.Event()

    async def look_while_one_comes(*args: Any) -> None:
        await look(*args)
        if not came.is_set():
            watch.listeners += 1
            came.set()

    monkeypatch.setattr(all_watches, "_look", look_while_one_comes)
    await came.wait()
    await asyncio.sleep(5 * watches.LOOK_S)
    assert list(all_watches._watches.values()) == [watch]


async def test_a_renamed_story_is_gone_and_there(memory: Memory, all_watches: Watches) -> None:
    async with listen(all_watches, memory) as listener:
        await listener.hear()
        await memory.rename("ferry", "boat")
        gone, there = await listener.hear(), await listener.hear()
        assert (gone[:2], there[0], there[1]["story"]) == (("gone", {"story": "ferry"}), "story", "boat")


async def test_nobody_hears_of_a_story_of_another(memory: Memory, all_watches: Watches) -> None:
    async with listen(all_watches, memory) as listener:
        await listener.hear()
        await (await memory.sharing("odalys").story("secret")).add("user", "Hush.")
        await (await memory.story("ferry")).add("user", "Loud.")
        assert (await listener.hear())[1]["story"] == "ferry"
