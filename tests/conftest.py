"""What every test may use: the stores, each under the same contract, and a fixed Hypothesis profile."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from previously.storage.postgres import PostgresStore
from previously.storage.sqlite import SqliteStore
from previously.storage.store import Store
from tests.storage.postgres_server import shared_server

os.environ["PREVIOUSLY_CONFIG"] = ""  # nobody's own settings file counts

collect_ignore = [] if os.environ.get("TEST_CLIENTS") else ["clients"]
"""Real front ends need a browser and node: only `make test-clients` runs them, and `make test` needs neither."""

settings.register_profile(
    "previously",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("soak", settings.get_profile("previously"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "previously"))


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
