"""Kill -9 anywhere: nothing acknowledged is lost, nothing is half published, and the store goes on. A few points here,
all of them in `python -m tests.crash`."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from previously.core.messages import Draft, message
from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.verbs import PostgresVerbs
from tests.crash.small_run import small_run
from tests.effort import cases


@pytest.mark.random
def test_a_process_killed_at_a_write_to_a_file_loses_nothing() -> None:
    report = small_run("--only=sqlite", kills=cases(10))
    assert report["total"]["kills"] >= cases(10) // 2  # now and then there are fewer points than in the dry run
    assert report["total"]["acknowledged_verbs_checked"] > 0


@pytest.mark.slow(reason="starts and kills a server of its own")
def test_a_process_killed_at_a_statement_loses_nothing() -> None:
    report = small_run("--only=postgres", kills=2, crashes=1)
    assert report["total"]["kills"] >= 1
    assert report["total"]["acknowledged_verbs_checked"] > 0


async def test_a_commit_that_a_crashed_server_never_kept_is_not_taken_for_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that crashes gives the numbers of transactions that it never kept to others, who keep theirs."""
    server = shared_server()
    server.admin("ALTER SYSTEM SET wal_writer_delay = '10s'")  # nothing is written before somebody commits
    server.admin("SELECT pg_reload_conf()")
    url = server.fresh()
    store = PostgresVerbs(url, connections=1)
    ours = (await store.create_story("me", "ours", at="")).key
    theirs = (await store.create_story("me", "theirs", at="")).key
    drafts, crashed = [Draft(message("user", "precious"))], list[bool]()
    really = psycopg.Connection.execute

    async def others_go_first() -> None:
        other = PostgresVerbs(url, connections=1)
        for _ in range(3):
            await other.append(theirs, "main", drafts, at="")
        await other.close()

    def execute(connection: Any, query: Any, *args: Any, **options: Any) -> Any:
        if query == b"COMMIT" and not crashed:
            crashed.append(True)
            server.stop("immediate")
            server.start()
            asyncio.run(others_go_first())
        return really(connection, query, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    await store.append(ours, "main", drafts, at="")
    kept = await store.branch(ours)
    await store.close()
    server.drop(url)
    server.admin("ALTER SYSTEM RESET wal_writer_delay")
    server.admin("SELECT pg_reload_conf()")
    assert crashed and kept.messages == 1
