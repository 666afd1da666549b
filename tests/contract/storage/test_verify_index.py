"""`verify` and the index of recall: clean whatever is written and forgotten; every planted damage is found."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from previously.storage import verify_index
from previously.storage.tables import recall_index
from tests.contract.storage.letters import Letters
from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.rich_story import NEVER, OWNER, OnFile, OnServer, Place
from tests.contract.storage.verbs import VerbStore

FIRST = "(SELECT min(story) FROM recall_state)"

DAMAGES: dict[str, tuple[str, str]] = {
    "a posting gone": (
        "DELETE FROM recall_posting WHERE term = 'bell' OR term = 'crown'",
        r"block 0: its postings are",
    ),
    "a posting's term": (
        "UPDATE recall_posting SET term = 'odd' WHERE term = 'mill'",
        r"block 0: its postings are not",
    ),
    "a posting's records": (
        "UPDATE recall_posting SET data = (SELECT data FROM recall_posting WHERE term = 'mill' AND story = 1) "
        "WHERE term = 'crown' AND story = 1",
        r"story 'tale', index, block 0: its postings are not those of its entries' words",
    ),
    "an entry's time": ("UPDATE entry SET at = '2020-01-01' WHERE id = 7", r"block 0: its facts are not"),
    "facts gone": ("DELETE FROM recall_fact", r"block 0: its facts are not those of its entries"),
    "a block of nobody": (
        f"INSERT INTO recall_fact (owner, story, block, data) SELECT owner, story, -3, data FROM recall_fact "
        f"WHERE story = {FIRST}",
        r"index, block -3: it is of entries that are not there",
    ),
    "a vector of nobody": (
        "UPDATE recall_vector SET entry = -3 WHERE entry = 7",
        r"vector of entry -3: the entry is not there, or was forgotten",
    ),
    "a vector's size": (
        "UPDATE recall_vector SET data = (SELECT digest FROM entry WHERE id = 7) WHERE entry = 7",
        r"vector of entry 7: it has \d+ bytes",
    ),
    "a speaker gone": ("DELETE FROM recall_speaker", r"index: that 'Maya' speaks is not kept"),
    "a speaker of nobody": (
        f"INSERT INTO recall_speaker (owner, story, name) SELECT owner, {FIRST}, 'Nobody' FROM recall_state "
        f"WHERE story = {FIRST}",
        r"index: 'Nobody' is said to speak, and does not",
    ),
    "an index of no story": (
        "UPDATE recall_state SET story = 9999 WHERE story = 1",
        r"index 9999: it is of story 9999",
    ),
    "postings of no story": (
        "UPDATE recall_posting SET story = 9999 WHERE story = 1",
        r"postings 9999: it is of story 9999",
    ),
    "vectors of no story": (
        "UPDATE recall_vector SET story = 9999 WHERE story = 1",
        r"vectors 9999: it is of story 9999",
    ),
}


@pytest.fixture(scope="module", params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "file":
        yield OnFile(tmp_path_factory.mktemp("indexed"))
        return
    on_server = OnServer(shared_server())
    yield on_server
    on_server.close(shared_server())


async def indexed(store: VerbStore) -> None:
    for story in await store.stories(OWNER):
        while await store.index(story.key, Letters(), most=20):
            pass


def told(store: VerbStore) -> list[str]:
    found = asyncio.run(store.verify(OWNER, before=NEVER))
    assert found.checked["index blocks"] or found.faults
    return [f"{fault.where}: {fault.reason}" for fault in found.faults]


def test_what_is_indexed_is_clean(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_index, "ROWS_AT_ONCE", 7)
    with place.anew() as (store, _):
        asyncio.run(indexed(store))
        assert told(store) == []


def test_what_is_half_indexed_or_of_another_version_is_clean(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.anew() as (store, asked):
        asyncio.run(indexed(store))
        monkeypatch.setattr(recall_index, "INDEX_VERSION", 99)
        asyncio.run(store.verify(OWNER, before=NEVER))
        (tale,) = [story for story in asyncio.run(store.stories(OWNER)) if story.name == "tale"]
        asyncio.run(store.index(tale.key, None, most=5))
        monkeypatch.setattr(verify_index, "INDEX_VERSION", 99)
        assert told(store) == []
        assert asked("SELECT through < 9 FROM recall_state WHERE version = 99")[0][0]


def test_what_is_left_after_forgetting_is_clean(place: Place) -> None:
    async def forget(store: VerbStore) -> None:
        (tale,) = [story for story in await store.stories(OWNER) if story.name == "tale"]
        await store.forget_entries(tale.key, await store.standing_at(tale.key, "main", 3, 9))

    with place.anew() as (store, _):
        asyncio.run(indexed(store))
        asyncio.run(forget(store))
        assert told(store) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_planted_damage_is_found_and_named(place: Place, damage: str) -> None:
    statement, words = DAMAGES[damage]
    with place.anew() as (store, asked):
        asyncio.run(indexed(store))
        asked(statement)
        faults: Any = told(store)
        assert re.search(words, "\n".join(faults)), faults
