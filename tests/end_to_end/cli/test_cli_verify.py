"""`verify` and `gc` on the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from previously.cli import verify
from previously.core.messages import Draft, message
from previously.core.path import Put, Splice
from previously.storage.sqlite.page_checksums import connect
from previously.storage.tables import Tables, path_writer
from tests.contract.storage.verbs import SqliteVerbs
from tests.end_to_end.cli.running import Cli


def damage(path: Path, statement: str) -> None:
    connection = connect(str(path))
    connection.execute(statement)
    connection.close()


def interrupt_an_import(path: Path, at: str) -> None:
    """Leave behind what an import of ten messages leaves that is killed after four."""

    async def run() -> None:
        store = SqliteVerbs(str(path))
        (info,) = await store.stories("local")
        script = [Splice(info.active.messages, 0, tuple(Put(Draft(message("user", f"new {n}"))) for n in range(10)))]

        def work(tables: Tables) -> Generator[None, None, None]:
            next(tables.writer.apply(info.key, tables.branch(info.key, None), script, at, None))
            return
            yield

        await store.database.destroying(info.key, work)
        await store.close()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(path_writer, "ROWS_PER_STAGE", 4)
        asyncio.run(run())


def test_a_sound_store_is_told_to_be_so(tale: Cli) -> None:
    tale("fold", "tale")
    ran = tale("verify")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Everything is as it must be: 1 story, 4 messages, ")
    found: Any = tale("verify", "--json").json
    assert (found["clean"], found["stories"], found["messages"]) == (True, 1, 4)
    assert (found["faults"], found["more_faults"]) == ([], 0)
    assert found["checked"]["entries"] == found["checked"]["path rows"] == 4
    assert set(found["garbage"]) == {"lines", "nodes", "entries", "path_rows", "cover_rows", "leases"}


def test_a_fault_is_named_and_fails(tale: Cli) -> None:
    damage(tale.db, "UPDATE entry SET text = 'Other words.' WHERE id = 2")
    ran = tale("verify")
    assert ran.code == 1
    assert "story 'tale', entry 2: its digest is not that of its words." in ran.out
    assert "2 faults in 1 story, 4 messages" in ran.out
    ran = tale("verify", "--json")
    assert ran.code == 1
    assert '"clean": false' in ran.out
    assert '"where": "story \'tale\', entry 2"' in ran.out


def test_of_many_faults_the_rest_are_counted(cli: Cli) -> None:
    cli.tell("tale", 60)
    damage(cli.db, "UPDATE entry SET text = 'Other words.'")
    ran = cli("verify")
    assert ran.code == 1
    assert "… and 20 more." in ran.out
    assert "120 faults in" in ran.out


def test_a_long_check_says_where_it_is(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "NOTE_EVERY_S", 0.0)
    ran = tale("verify", "--json")
    assert "Checking tale: 4 rows so far." in ran.err
    assert ran.json["clean"]


def test_a_store_without_stories_is_sound(cli: Cli) -> None:
    assert cli("verify", "--json").json["stories"] == 0


def test_what_an_interrupted_import_left_is_told_of_and_taken(tale: Cli) -> None:
    interrupt_an_import(tale.db, "2020-01-01T00:00:00.000+00:00")
    ran = tale("verify")
    assert ran.code == 0
    assert "`previously gc` would take away what no story needs: 4 entries, 4 nodes, 1 line, 4 path rows." in ran.out
    taken = tale("gc", "--json").json
    assert (taken["entries"], taken["nodes"], taken["lines"], taken["path_rows"]) == (4, 4, 1, 4)
    assert taken["freed_bytes"] >= 0
    assert taken["shrunk"] is False
    spared = "what was begun in the last hour and is not finished is left alone"
    assert tale("gc").out == f"There was nothing to take away; {spared}.\n"
    assert tale("gc", "--older-than", "0").out == "There was nothing to take away.\n"
    assert len(tale.texts("tale")) == 4


def test_what_was_begun_since_is_left_alone(tale: Cli) -> None:
    from previously.runtime.clock import time_at

    interrupt_an_import(tale.db, time_at(-90.0))
    assert tale("gc", "--json").json["lines"] == 0
    assert tale("gc", "--older-than", "2", "--json").json["lines"] == 0
    ran = tale("gc", "--older-than", "1")
    assert ran.out.startswith("Taken away: 4 entries, 4 nodes, 1 line, 4 path rows.")


def test_shrinking_says_that_others_wait(tale: Cli) -> None:
    ran = tale("gc", "--shrink")
    assert ran.code == 0
    assert "nobody else can write meanwhile" in ran.err
    assert "The disk has" in ran.out
    assert tale("gc", "--shrink", "--json").json["shrunk"] is True


def test_stories_in_memory_give_no_disk_anything_back(tale: Cli) -> None:
    ran = tale.bare("--db", ":memory:", "gc", "--shrink")
    assert ran.out.endswith("Stories in memory take no room on a disk.\n")
    assert not ran.err


@pytest.mark.parametrize("minutes", ["x", "-1", "1.5", "", "9" * 30])
def test_a_time_that_is_none_is_refused(tale: Cli, minutes: str) -> None:
    assert tale.fails(2, "gc", "--older-than", minutes).endswith("give a whole number of minutes.")


@pytest.mark.parametrize("command", ["verify", "gc"])
def test_stories_in_memory_are_checked_like_any(cli: Cli, command: str) -> None:
    ran = cli.bare("--db", ":memory:", command)
    assert (ran.code, ran.err) == (0, "")
