"""Settings of a story are set one after another, and are in force once they are kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from previously import Memory, StoreProblem
from previously.core.errors import BadInput
from previously.storage.store import Store
from tests.contract.storage.postgres_server import shared_server


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "stories.db") if request.param == "file" else shared_server().emptied()


async def test_of_settings_that_are_set_at_once_none_is_lost(place: str) -> None:
    memory, another = await Memory.open(place), await Memory.open(place)
    stories = [await memory.story("tale"), await another.story("tale")]
    wanted = {"tail_messages": 7, "recap_words": 111, "fold_messages": 33, "chapter_words": 44}
    await asyncio.gather(
        *(stories[number % 2].set([f"{name}={value}"]) for number, (name, value) in enumerate(wanted.items()))
    )
    assert (await (await memory.story("tale")).settings()).items() >= wanted.items()
    await memory.close()
    await another.close()


async def test_settings_that_could_not_be_kept_are_not_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await Memory.open(tmp_path / "stories.db")
    story = await memory.story("tale")

    async def fail(*_: object) -> None:
        raise StoreProblem("The disk is full.")

    with monkeypatch.context() as full:
        full.setattr(Store, "write", fail)
        with pytest.raises(StoreProblem):
            await story.set(["recap_words=111"])
    assert "recap_words" not in await story.settings()
    assert (await story.set(["tail_messages=7"])).recap_words != 111
    await memory.close()


async def test_a_story_that_is_gone_takes_no_settings(place: str) -> None:
    memory = await Memory.open(place)
    story = await memory.story("tale")
    await memory.forget("tale")
    with pytest.raises(BadInput, match="gone"):
        await story.set(["recap_words=111"])
    await memory.close()
