"""Notes where something stands in for the store: a rehearsal, and a story as it was before."""

from __future__ import annotations

from dataclasses import replace

from previously.core.versions import Kind
from previously.runtime.earlier import Earlier
from previously.runtime.rehearsal import RehearsalStore
from previously.storage.sqlite import SqliteStore
from tests.storage.test_notes import firsts, found, noting
from tests.storage.test_store_contract import a_story


async def test_a_rehearsal_finds_what_is_there_and_what_it_made_itself() -> None:
    store = SqliteStore(":memory:")
    key = await a_story(store, list("abcdef"))
    there = await store.commit(key, await noting(store, key, 0, 2))
    rehearsal = RehearsalStore(store)
    new = await noting(store, key, 3, 5)
    made = await rehearsal.commit(key, new)
    await rehearsal.commit(key, replace(new, kind=Kind.CAST, scope="@Maya", first=b""))
    asked = await firsts(store, key)
    assert [one.id for one in await rehearsal.notes(key, Kind.SCENE, "*", asked)] == [there.id, made.id]
    assert [one.id for one in await rehearsal.notes(key, Kind.SCENE, "*", asked[3:])] == [made.id]
    assert await rehearsal.notes(key, Kind.SCENE, "*", [*asked[1:3], b""]) == []
    assert await rehearsal.notes(key, Kind.CAST, "@Maya", [b""]) == []
    assert await found(store, key, asked) == [there.id], "nothing was written"


async def test_a_story_as_it_was_passes_notes_on() -> None:
    store = SqliteStore(":memory:")
    key = await a_story(store, list("abcdef"))
    there = await store.commit(key, await noting(store, key, 3, 5))
    earlier = Earlier(store, 4)
    seen = [item.entry.digest for item in await earlier.path(key, "main", 0, 9)]
    assert await earlier.notes(key, Kind.SCENE, "*", seen) == [there], "whether its run is seen whole, the caller sees"
    assert await earlier.notes(key, Kind.SCENE, "*", seen[:3]) == []
