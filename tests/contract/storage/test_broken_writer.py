"""A writer whose connection cannot be mended for a while fails each write, and writes again as soon as it can."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from previously import Memory, StoreProblem
from previously.storage.sqlite.file import SqliteFile


async def test_writes_fail_while_no_connection_can_be_had_and_go_on_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await Memory.open(tmp_path / "stories.db")
    story = await memory.story("tale")

    def fail(_: SqliteFile) -> None:
        raise apsw.IOError("the disk is away")

    def refuse(_: SqliteFile) -> None:
        raise StoreProblem("The file cannot be opened.")

    with monkeypatch.context() as broken:
        for name in ("commit", "rollback"):
            broken.setattr(SqliteFile, name, fail)
        broken.setattr(SqliteFile, "reopen", refuse)
        for _ in range(2):
            with pytest.raises(StoreProblem):
                await asyncio.wait_for(story.add("user", "Lost."), 30)
        with pytest.raises(StoreProblem, match="cannot be opened"):
            await asyncio.wait_for(story.add("user", "Lost."), 30)
    await asyncio.wait_for(story.add("user", "Kept."), 30)
    assert [item.entry.message.text for item in await story.messages()] == ["Kept."]
    await memory.close()
