"""What every test may use: the stores, each under the same contract, and a fixed Hypothesis profile."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore
from tests.effort import mark_slow, register_profiles

os.environ["PREVIOUSLY_CONFIG"] = ""  # nobody's own settings file counts

collect_ignore = [name for name in ("clients", "page") if not os.environ.get(f"TEST_{name.upper()}")]
"""They need a browser and node: only `make test-clients` and `make test-page` run them; `make test` needs neither."""

register_profiles()

IN_MEMORY_DISK = Path("/dev/shm")
MOST_FILES = 4_000_000_000
"""Bytes that must be free there: six times what the files of a whole run take, so that no run fills it."""


def _keep_files_in_memory() -> None:
    """Put the files of tests where no disk has to keep them: tests commit tens of thousands of times, and each commit
    waits for the disk. Whoever sets TMPDIR has chosen another place."""
    if "TMPDIR" not in os.environ and IN_MEMORY_DISK.is_dir() and shutil.disk_usage(IN_MEMORY_DISK).free > MOST_FILES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY_DISK)


_keep_files_in_memory()

COLLECT_EVERY = 20_000
"""Objects between two rounds of the garbage collector, instead of 700: what tests make lives as long as they do."""


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make, not again and again at ten thousand tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY)


IN_MEMORY = mark_slow("in_memory", reason="the tables of a file once more; nearly all other tests use them in memory")


@pytest.fixture(params=["sqlite", "postgres", *IN_MEMORY])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VerbStore]:
    """Each store in turn, empty."""
    opened = _opened(request.param, tmp_path)
    yield opened
    await opened.close()


def _opened(name: str, folder: Path) -> VerbStore:
    match name:
        case "in_memory":
            return SqliteVerbs(":memory:")
        case "sqlite":
            return SqliteVerbs(str(folder / "stories.db"))
        case _:
            return PostgresVerbs(shared_server().emptied())
