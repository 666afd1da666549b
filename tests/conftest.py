"""What every test may use: the stores, each under the same contract, and a fixed Hypothesis profile."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from previously.storage.postgres import PostgresStore
from previously.storage.sqlite import SqliteStore
from previously.storage.store import Store
from tests.effort import register_profiles
from tests.storage.postgres_server import shared_server

os.environ["PREVIOUSLY_CONFIG"] = ""  # nobody's own settings file counts

collect_ignore = [] if os.environ.get("TEST_CLIENTS") else ["clients"]
"""Real front ends need a browser and node: only `make test-clients` runs them, and `make test` needs neither."""

register_profiles()


@pytest.fixture(params=["in_memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Each store in turn, empty."""
    opened = _opened(request.param, tmp_path)
    yield opened
    await opened.close()


def _opened(name: str, folder: Path) -> Store:
    match name:
        case "in_memory":
            return SqliteStore(":memory:")
        case "sqlite":
            return SqliteStore(str(folder / "stories.db"))
        case _:
            return PostgresStore(shared_server().emptied())
