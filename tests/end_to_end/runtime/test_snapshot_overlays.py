"""Notes on a branch as it would be with what is planned, and as it was before."""

from __future__ import annotations

from dataclasses import replace

from previously.core.snapshot import before, with_planned
from previously.core.versions import Kind, Version
from previously.storage.tables import Tables
from tests.contract.storage.test_notes import firsts, found, noting
from tests.contract.storage.test_store_contract import a_story
from tests.contract.storage.verbs import SqliteVerbs


async def test_a_plan_finds_what_is_there_and_what_is_planned() -> None:
    store = SqliteVerbs(":memory:")
    key = await a_story(store, list("abcdef"))
    there = await store.commit(key, await noting(store, key, 0, 2))
    new = await noting(store, key, 3, 5)
    planned = [Version(-1, new, True), Version(-2, replace(new, kind=Kind.CAST, scope="@Maya", first=b""), True)]
    asked = await firsts(store, key)

    def check(tables: Tables) -> None:
        snapshot = with_planned(tables.snapshot(key), planned, [])
        assert [note.id for note in snapshot.notes(Kind.SCENE, "*", asked)] == [there.id, -1]
        assert [note.id for note in snapshot.notes(Kind.SCENE, "*", asked[3:])] == [-1]
        assert snapshot.notes(Kind.SCENE, "*", [*asked[1:3], b""]) == []
        assert snapshot.notes(Kind.CAST, "@Maya", [b""]) == []
        without = with_planned(tables.snapshot(key), planned, [], gone={there.id}, loose=True)
        assert [note.id for note in without.notes(Kind.SCENE, "*", asked)] == [-1]

    await store.read(key.owner, check)
    assert await found(store, key, asked) == [there.id], "nothing was written"


async def test_a_story_as_it_was_passes_notes_on() -> None:
    store = SqliteVerbs(":memory:")
    key = await a_story(store, list("abcdef"))
    there = await store.commit(key, await noting(store, key, 3, 5))

    def check(tables: Tables) -> None:
        earlier = before(tables.snapshot(key), 4)
        path = earlier.path(0, 9)
        assert (len(path), earlier.messages, earlier.head) == (4, 4, path[-1].node)
        seen = [item.entry.digest for item in path]
        assert earlier.notes(Kind.SCENE, "*", seen) == [there], "whether its run is seen whole, the caller sees"
        assert earlier.notes(Kind.SCENE, "*", seen[:3]) == []

    await store.read(key.owner, check)
