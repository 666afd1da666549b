"""Answers of models that are kept, and what is known of models."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from previously.core.messages import Draft, message
from previously.runtime.whole_stories import WholeStories
from previously.storage.queries import load_migrations
from previously.storage.spool import Spool
from previously.storage.sqlite.page_checksums import connect
from previously.storage.store import StoryKey
from previously.storage.tables import answers
from tests.contract.storage.postgres_server import database, shared_server
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore

AT = "2026-03-02T19:04:00+00:00"
ME = "me"


def request(number: int) -> bytes:
    return bytes([number]) * 32


async def a_story(store: VerbStore, name: str = "tale", owner: str = ME) -> StoryKey:
    key = (await store.create_story(owner, name, at=AT)).key
    await store.append(key, None, [Draft(message("user", text)) for text in "abcd"], at=AT)
    return key


async def keep(store: VerbStore, key: StoryKey, number: int, text: str = "", at: str = AT) -> None:
    await store.keep_answer(key, request(number), text or f"answer {number}", model="m", at=at)


async def kept(store: VerbStore, owner: str = ME) -> list[int]:
    return [number for number in range(20) if await store.answer(owner, request(number)) is not None]


async def test_an_answer_is_found_by_its_request(store: VerbStore) -> None:
    key = await a_story(store)
    assert await store.answer(ME, request(1)) is None
    text = "### Recap\n\nZoë said: \N{LEFT DOUBLE QUOTATION MARK}日本\N{RIGHT DOUBLE QUOTATION MARK} 🜂\r\n"
    await keep(store, key, 1, text)
    assert await store.answer(ME, request(1)) == text
    await keep(store, key, 2, " ")
    assert await store.answer(ME, request(2)) == " "
    for other in (b"", request(1)[:-1], request(1) + b"\x01", request(3)):
        assert await store.answer(ME, other) is None


async def test_the_same_request_again_is_replaced(store: VerbStore) -> None:
    key = await a_story(store)
    await keep(store, key, 1, "first")
    await keep(store, key, 1, "second")
    assert await store.answer(ME, request(1)) == "second"


async def test_an_answer_serves_every_story_of_its_owner_and_nobody_else(store: VerbStore) -> None:
    key, theirs = await a_story(store), await a_story(store, owner="they")
    await keep(store, key, 1, "mine")
    assert await store.answer("they", request(1)) is None
    await keep(store, theirs, 1, "theirs")
    assert await store.answer(ME, request(1)) == "mine"
    await store.forget_story(theirs)
    assert (await store.answer(ME, request(1)), await store.answer("they", request(1))) == ("mine", None)


async def test_the_newest_answers_of_each_owner_stay(store: VerbStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_ANSWERS", 3)
    one, other, theirs = await a_story(store), await a_story(store, "other"), await a_story(store, owner="they")
    await keep(store, theirs, 9)
    for number in (1, 2, 3):
        await keep(store, one, number)
    await keep(store, one, 1)  # is the newest now
    assert await kept(store) == [1, 2, 3]
    await keep(store, other, 4, at="1999")  # by when it was kept, whatever the clock says
    assert await kept(store) == [1, 3, 4]
    await keep(store, other, 5)
    await keep(store, other, 6)
    assert await kept(store) == [4, 5, 6]
    assert await kept(store, "they") == [9]


async def test_of_many_that_keep_at_once_none_is_refused(store: VerbStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_ANSWERS", 3)
    keys = [await a_story(store, f"tale {number}") for number in range(4)]
    await asyncio.gather(*(keep(store, keys[n % 4], n % 5, str(n)) for n in range(40)))
    await keep(store, keys[0], 7)  # those written at the very same time did not see each other
    assert len(await kept(store)) == 3


async def test_answers_go_with_their_story(store: VerbStore) -> None:
    key, other = await a_story(store), await a_story(store, "other")
    for number, of in ((1, key), (2, other), (3, key)):
        await keep(store, of, number)
    await keep(store, other, 3, "asked by the other one last")
    await store.forget_story(key)
    assert await kept(store) == [2, 3]
    with pytest.raises(KeyError):
        await keep(store, key, 4)
    assert await kept(store) == [2, 3]


async def test_answers_go_with_any_message_of_their_story(store: VerbStore) -> None:
    key, other = await a_story(store), await a_story(store, "other")
    for number, of in ((1, key), (2, other), (3, key)):
        await keep(store, of, number)
    await store.forget_entries(key, await store.standing_at(key, "main", 2, 2))
    assert await kept(store) == [2]


async def test_what_answers_words_that_were_forgotten_meanwhile_is_not_kept(store: VerbStore) -> None:
    key = await a_story(store)
    path = await store.path(key, "main", 0, 9)

    async def keep_at(number: int, position: int) -> None:
        read = path[position]
        await store.keep_answer(key, request(number), "t", model="m", at=AT, node=read.node, seen=read.hash)

    await keep_at(1, 3)
    assert await kept(store) == [1]
    await store.forget_entries(key, await store.standing_at(key, "main", 2, 2))
    for number, position in enumerate(range(4)):
        await keep_at(number, position)
    assert await kept(store) == [0, 1], "what was read before the forgotten message is as it was"
    await store.keep_answer(key, request(5), "t", model="m", at=AT, node=10_000, seen=path[0].hash)
    assert await kept(store) == [0, 1]


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
async def test_a_text_that_not_every_store_holds_is_not_kept(store: VerbStore, text: str) -> None:
    key = await a_story(store)
    await keep(store, key, 1, text)
    assert await kept(store) == []


async def test_what_is_known_of_a_model(store: VerbStore) -> None:
    assert await store.model_fact(ME, "m") == ""
    await store.set_model_fact(ME, "m", "two steps", AT)
    await store.set_model_fact(ME, "n" * 5_000, "long name", AT)
    await store.set_model_fact("they", "m", "theirs", AT)
    assert await store.model_fact(ME, "m") == "two steps"
    assert await store.model_fact(ME, "n" * 5_000) == "long name"
    assert [await store.model_fact(ME, other) for other in ("M", "", "m\x00")] == ["", "", ""]
    await store.set_model_fact(ME, "m", "one step", AT)
    assert (await store.model_fact(ME, "m"), await store.model_fact("they", "m")) == ("one step", "theirs")


async def test_the_facts_set_last_stay(store: VerbStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_MODEL_FACTS", 2)
    await store.set_model_fact("they", "a", "theirs", AT)
    for model in ("a", "b", "a", "c"):
        await store.set_model_fact(ME, model, f"of {model}", AT)
    assert [await store.model_fact(ME, model) for model in "abc"] == ["of a", "", "of c"]
    assert await store.model_fact("they", "a") == "theirs"


async def test_facts_outlive_stories(store: VerbStore) -> None:
    key = await a_story(store)
    await store.set_model_fact(ME, "m", "two steps", AT)
    await store.forget_story(key)
    assert await store.model_fact(ME, "m") == "two steps"


async def test_a_copy_holds_no_answers_and_has_the_same_digest(tmp_path: Path) -> None:
    source, target = (SqliteVerbs(str(tmp_path / f"{name}.db")) for name in ("source", "target"))
    key = await a_story(source)
    before = (await WholeStories(source.database, ME, "").look("tale", lambda _: None)).digest
    await keep(source, key, 1)
    await source.set_model_fact(ME, "m", "two steps", AT)
    with Spool() as spool:
        whole = await WholeStories(source.database, ME, "").hand_over("tale", spool, lambda _: None)
        await WholeStories(target.database, ME, "").take_in("tale", spool, lambda _: None)
    assert whole.digest == before == (await WholeStories(target.database, ME, "").look("tale", lambda _: None)).digest
    assert (await kept(target), await target.model_fact(ME, "m")) == ([], "")
    for store in (source, target):
        assert (await store.verify(ME, before="9999")).clean
        await store.close()


async def test_a_file_of_before_there_were_answers_gets_them(tmp_path: Path) -> None:
    path = str(tmp_path / "old.db")
    store = SqliteVerbs(path)
    await a_story(store)
    await store.close()
    connection = connect(path)
    connection.execute("DROP TABLE answer; DROP TABLE model_fact; DELETE FROM migration WHERE name = '0012_answers'")
    connection.close()
    store = SqliteVerbs(path)
    info = await store.story(ME, "tale")
    assert info is not None and info.active.messages == 4
    await keep(store, info.key, 1)
    assert await kept(store) == [1]
    await store.close()
    assert [name for name, _ in load_migrations("sqlite")][11] == "0012_answers"


async def test_a_database_of_before_there_were_answers_gets_them() -> None:
    server = shared_server()
    url = server.fresh()
    try:
        server.admin(
            "DROP TABLE previously.answer; DROP TABLE previously.model_fact; "
            "DELETE FROM previously.migration WHERE name = '0011_answers'",
            database(url),
        )
        store = PostgresVerbs(url, connections=2)
        await keep(store, await a_story(store), 1)
        await store.set_model_fact(ME, "m", "two steps", AT)
        assert (await kept(store), await store.model_fact(ME, "m")) == ([1], "two steps")
        await store.close()
    finally:
        server.drop(url)


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_no_byte_of_an_answer_is_left_in_the_file(tmp_path: Path) -> None:
    store = SqliteVerbs(str(tmp_path / "stories.db"))
    key = await a_story(store)
    await keep(store, key, 1, "Wilhelmina keeps the key")
    await keep(store, key, 2, "Wilhelmina " * 5_000)
    assert b"Wilhelmina" in bytes_in(tmp_path)
    await keep(store, key, 2, "replaced")
    await store.forget_entries(key, await store.standing_at(key, "main", 0, 0))
    assert b"Wilhelmina" not in bytes_in(tmp_path)
    await store.close()
