"""The contract of `storage.tables.keys`, kept by every store: keys are found by their hash alone, and see no story."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from previously.app import Memory
from previously.core.errors import BadInput
from previously.core.exact_names import LONGEST_NAME
from previously.core.messages import Draft, message
from previously.runtime.keys import Keys
from previously.storage.queries import load_migrations
from previously.storage.sqlite.page_checksums import connect
from previously.storage.tables.keys import HASH_BYTES, KEY_PREFIX, NOBODY, AccessKey, hash_key
from tests.contract.storage.postgres_server import database, shared_server
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore

AT = "2026-03-02T19:04:00+00:00"


def kept(name: str, owner: str = "me", key: str = "") -> AccessKey:
    return AccessKey(name, owner, hash_key(key or f"{KEY_PREFIX}{name}"), "abcd", AT)


async def test_a_key_is_found_by_its_hash_until_it_is_removed(store: VerbStore) -> None:
    await store.add_key(kept("phone"))
    await store.add_key(kept("guest", "they"))
    assert await store.owner_of(hash_key("pk-phone")) == "me"
    assert await store.owner_of(hash_key("pk-guest")) == "they"
    assert await store.remove_key("phone") == kept("phone")
    assert await store.owner_of(hash_key("pk-phone")) is None
    assert await store.keys() == [kept("guest", "they")]


async def test_keys_are_listed_by_name_whoever_they_are_of(store: VerbStore) -> None:
    names = ["Zoë", "ann", "a b", "Éva", "zz", "日本", "B"]
    for number, name in enumerate(names):
        await store.add_key(kept(name, f"owner {number % 3}"))
    assert [key.name for key in await store.keys()] == sorted(names)
    assert {key.owner for key in await store.keys()} == {"owner 0", "owner 1", "owner 2"}


async def test_a_name_is_given_once(store: VerbStore) -> None:
    await store.add_key(kept("phone"))
    for again in (kept("phone"), kept("phone", "they"), kept("phone", key="pk-other")):
        with pytest.raises(BadInput, match="'phone' already"):
            await store.add_key(again)
    assert await store.keys() == [kept("phone")]
    await store.remove_key("phone")
    await store.add_key(kept("phone", "they", "pk-other"))
    assert await store.owner_of(hash_key("pk-other")) == "they"


async def test_of_several_that_give_one_name_at_once_one_does(store: VerbStore) -> None:
    new = [kept("phone", f"owner {number}", f"pk-{number}") for number in range(8)]
    done = await asyncio.gather(*(store.add_key(key) for key in new), return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["BadInput"] * 7 + ["NoneType"]
    assert len(await store.keys()) == 1


@pytest.mark.parametrize(
    "name", ["", "nobody's", "'; DROP TABLE access_key; --", "phon", "phonee", "PHONE", "phone\x00"]
)
async def test_what_is_no_name_removes_nothing(store: VerbStore, name: str) -> None:
    await store.add_key(kept("phone"))
    with pytest.raises(BadInput, match="no key named"):
        await store.remove_key(name)
    assert await store.keys() == [kept("phone")]


@pytest.mark.parametrize(
    "key", ["", "pk-", "pk-phon", "pk-phonee", "PK-PHONE", " pk-phone", "pk-phone\n", "' OR 1=1 --", "pk-%", "\ud800"]
)
async def test_near_misses_are_nobodys(store: VerbStore, key: str) -> None:
    await store.add_key(kept("phone"))
    assert await store.owner_of(hash_key(key)) is None
    for hashed in (hash_key("pk-phone")[:16], hash_key("pk-phone") + b"\x00", b"", b"pk-phone"):
        assert await store.owner_of(hashed) is None


async def test_keys_and_stories_do_not_see_each_other(store: VerbStore) -> None:
    story = await store.create_story("me", "tale", at=AT)
    await store.append(story.key, None, [Draft(message("user", "hello"))], at=AT)
    await store.add_key(kept("phone"))
    assert [info.name for info in await store.stories("me")] == ["tale"]
    assert await store.stories(NOBODY) == []
    await store.forget_story(story.key)
    assert await store.keys() == [kept("phone")]


async def test_a_hash_says_nothing_of_its_key() -> None:
    assert len(hash_key("pk-phone")) == HASH_BYTES
    assert hash_key("pk-phone") != hash_key("pk-phone ")


@pytest.fixture
async def memory() -> Memory:
    return await Memory.open(":memory:")


async def test_a_new_key_is_long_random_and_said_once(memory: Memory) -> None:
    made = [await memory.add_key(f"key {number}") for number in range(20)]
    assert len({key for key, _ in made}) == 20
    for key, one in made:
        assert key.startswith(KEY_PREFIX)
        assert len(key) == len(KEY_PREFIX) + 43, "256 bits"
        assert one.ending == key[-4:]
        assert key[:-4] not in repr(one)
        assert await memory.owner_of_key(hash_key(key)) == "local"
    assert await memory.keys() == sorted((one for _, one in made), key=lambda one: one.name)


@pytest.mark.parametrize("name", ["", "  ", "\x00", "a\nb", "\x1b[31m", "\ud800", "x" * (LONGEST_NAME + 1)])
async def test_names_and_owners_are_such_that_they_can_be_listed(memory: Memory, name: str) -> None:
    with pytest.raises(BadInput, match="needs a name"):
        await memory.add_key(name)
    with pytest.raises(BadInput, match="needs a name"):
        await memory.add_key("phone", owner=name)
    assert await memory.keys() == []


async def test_nobody_is_no_owner(memory: Memory) -> None:
    with pytest.raises(BadInput, match="nobody"):
        await memory.add_key("phone", owner=NOBODY)
    with pytest.raises(BadInput, match="nobody"):
        await Memory.open(":memory:", owner=NOBODY)


async def test_the_longest_name_fits_every_store(store: VerbStore) -> None:
    class Here(Keys):
        _store = store

    key, _ = await Here().add_key("日" * LONGEST_NAME, owner="本" * LONGEST_NAME)
    assert await Here().owner_of_key(hash_key(key)) == "本" * LONGEST_NAME


async def test_the_file_holds_no_key(tmp_path: Path) -> None:
    path = tmp_path / "stories.db"
    async with await Memory.open(path) as memory:
        key, _ = await memory.add_key("phone")
        await memory.remove_key("phone")
        kept_key, _ = await memory.add_key("laptop")
    for file in list(Path.iterdir(tmp_path)):
        for secret in (key, kept_key):
            assert secret[3:20].encode() not in file.read_bytes()


async def test_a_file_of_before_there_were_keys_gets_them(tmp_path: Path) -> None:
    path = str(tmp_path / "old.db")
    store = SqliteVerbs(path)
    await store.create_story("me", "tale", at=AT)
    await store.close()
    connection = connect(path)
    connection.execute("DROP TABLE access_key; DELETE FROM migration WHERE name = '0008_keys'")
    connection.close()
    store = SqliteVerbs(path)
    assert await store.keys() == []
    await store.add_key(kept("phone"))
    assert [info.name for info in await store.stories("me")] == ["tale"]
    await store.close()
    assert [name for name, _ in load_migrations("sqlite")][7] == "0008_keys"


async def test_on_a_server_only_a_transaction_of_nobody_sees_keys() -> None:
    server = shared_server()
    url = server.emptied()
    store = PostgresVerbs(url, connections=2)
    await store.add_key(kept("phone"))
    await store.create_story("me", "tale", at=AT)
    for owner, seen in ((NOBODY, 1), ("me", 0), ("they", 0), ("", 0)):
        found = await store.database.reading(owner, lambda tables: tables.session.rows("access_keys", {}))
        assert len(found) == seen, owner
    await store.close()
    rows = server.admin("SELECT name FROM previously.access_key", database(url))
    assert rows == [("phone",)]
