"""Files of stories are for their user alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import Memory
from previously.app import default_place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_the_database_and_all_beside_it_and_all_copies_are_their_users_alone(tmp_path: Path) -> None:
    memory = await Memory.open(tmp_path / "stories.db")
    await (await memory.story("tale")).add("user", "Private.")
    await memory.backup(tmp_path / "backup.db")
    await memory.move(tmp_path / "moved.db")
    assert modes(tmp_path) == dict.fromkeys(
        ("stories.db", "stories.db-wal", "stories.db-shm", "backup.db", "moved.db"), 0o600
    )
    await memory.close()


async def test_a_mode_that_somebody_chose_stays(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    await (await Memory.open(place)).close()
    place.chmod(0o640)
    memory = await Memory.open(place)
    await (await memory.story("tale")).add("user", "For the group too.")
    assert modes(tmp_path) == dict.fromkeys(("stories.db", "stories.db-wal", "stories.db-shm"), 0o640)
    await memory.close()


async def test_the_folder_of_a_users_data_is_his_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert stat.S_IMODE(default_place().parent.stat().st_mode) == 0o700
