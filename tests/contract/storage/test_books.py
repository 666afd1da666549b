"""Books: they belong to an owner, attach to stories, and come along when a story is copied."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from previously.core.errors import BadInput, StoreProblem
from previously.runtime.backup import copy_books
from previously.runtime.whole_stories import Whole, WholeStories
from previously.storage.spool import Spool
from previously.storage.store import StoryKey
from previously.storage.tables.books import Book, BookInfo, number_name
from tests.contract.storage.postgres_server import shared_server
from tests.contract.storage.test_store_contract import AT, ME, a_story
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore
from tests.effort import cases
from tests.oracle.in_memory import oracle

NEVER = "9999"
LATER = "2027-01-01T00:00:00+00:00"
BODY = '{"entries":[{"name":"Mill","content":"Ünï 漢字"}]}'


async def test_a_book_is_kept_and_kept_again(store: VerbStore) -> None:
    assert await store.books(ME) == []
    assert await store.book(ME, "places") is None
    await store.keep_book(ME, "places", BODY, at=AT)
    await store.keep_book(ME, "Zoë's people", "{}", at=AT)
    assert await store.book(ME, "places") == Book("places", BODY, AT)
    size = len(BODY.encode())
    assert await store.books(ME) == [BookInfo("Zoë's people", AT, 2), BookInfo("places", AT, size)]
    await store.keep_book(ME, "places", "[]", at=LATER)
    assert await store.book(ME, "places") == Book("places", "[]", LATER)
    assert [info.size for info in await store.books(ME)] == [2, 2]


async def test_books_are_attached_in_order(store: VerbStore) -> None:
    key, other = await a_story(store), await a_story(store, name="other")
    for name in "cab":
        await store.keep_book(ME, name, "{}", at=AT)
        await store.attach_book(key, name)
    await store.attach_book(key, "c")
    assert await store.attached(key) == ["c", "a", "b"]
    assert await store.detach_book(key, "a")
    assert not await store.detach_book(key, "a")
    assert not await store.detach_book(key, "unheard of")
    await store.attach_book(key, "a")
    assert await store.attached(key) == ["c", "b", "a"]
    assert await store.attached(other) == []
    assert len(await store.books(ME)) == 3, "what is detached stays"
    with pytest.raises(BadInput, match="no book named 'd'"):
        await store.attach_book(key, "d")
    with pytest.raises(KeyError):
        await store.attach_book(StoryKey(ME, 999), "a")
    assert await store.attached(key) == ["c", "b", "a"]


async def test_a_book_that_is_forgotten_is_detached_everywhere(store: VerbStore) -> None:
    key, other = await a_story(store), await a_story(store, name="other")
    for name in ("one", "two"):
        await store.keep_book(ME, name, "{}", at=AT)
        await store.attach_book(key, name)
        await store.attach_book(other, name)
    assert await store.forget_book(ME, "one")
    assert not await store.forget_book(ME, "one")
    assert await store.attached(key) == await store.attached(other) == ["two"]
    assert [info.name for info in await store.books(ME)] == ["two"]
    await store.keep_book(ME, "one", "[]", at=AT)
    assert await store.attached(key) == ["two"], "a new book of that name is another book"


async def test_a_story_that_is_forgotten_leaves_its_books(store: VerbStore) -> None:
    key = await a_story(store, ["a"])
    await store.keep_book(ME, "one", "{}", at=AT)
    await store.attach_book(key, "one")
    await store.forget_story(key)
    assert [info.name for info in await store.books(ME)] == ["one"]
    again = await a_story(store, ["a"])
    assert await store.attached(again) == []
    await store.gc(ME, before=NEVER, shrink=True)
    assert await store.book(ME, "one") == Book("one", "{}", AT), "gc takes no book"
    assert (await store.verify(ME, before=NEVER)).clean


async def test_names_and_texts_of_any_length(store: VerbStore) -> None:
    key = await a_story(store)
    name, body = "Ünï 漢字 " * 2_000, f'"{"x" * 3_000_000}"'
    await store.keep_book(ME, name, body, at=AT)
    await store.attach_book(key, name)
    assert await store.attached(key) == [name]
    assert await store.book(ME, name) == Book(name, body, AT)
    assert await store.forget_book(ME, name)
    assert await store.attached(key) == []


async def test_of_many_that_attach_while_one_forgets_none_has_what_is_gone(store: VerbStore) -> None:
    keys = [await a_story(store, name=str(number)) for number in range(6)]
    for number in range(10):
        await store.keep_book(ME, "one", str(number), at=AT)
        verbs = [store.attach_book(key, "one") for key in keys]
        done = await asyncio.gather(*verbs[:3], store.forget_book(ME, "one"), *verbs[3:], return_exceptions=True)
        assert all(one is None or isinstance(one, BadInput) for index, one in enumerate(done) if index != 3), done
        assert done[3] is True
        for key in keys:
            assert await store.attached(key) == []


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[dict[str, VerbStore]]:
    """One of each kind, and another file."""
    opened: dict[str, VerbStore] = {
        "sqlite": SqliteVerbs(str(tmp_path / "one.db")),
        "sqlite too": SqliteVerbs(str(tmp_path / "two.db")),
        "postgres": PostgresVerbs(shared_server().emptied(), connections=2),
    }
    yield opened
    for store in opened.values():
        await store.close()


async def copy(source: VerbStore, target: VerbStore, name: str = "tale") -> Whole:
    with Spool() as spool:
        read = await WholeStories(source.database, ME, "here").hand_over("tale", spool, lambda _: None)
        await WholeStories(target.database, ME, "there").take_in(name, spool, lambda _: None)
    return read


async def digest(store: VerbStore, name: str = "tale") -> str:
    return (await WholeStories(store.database, ME, "here").look(name, lambda _: None)).digest


async def with_books(store: VerbStore) -> StoryKey:
    key = await a_story(store, ["a", "b"])
    for name in ("people", "places", "apart"):
        await store.keep_book(ME, name, f'"{name}"', at=AT)
    await store.attach_book(key, "places")
    await store.attach_book(key, "people")
    return key


async def key_of(store: VerbStore, name: str = "tale") -> StoryKey:
    found = await store.story(ME, name)
    assert found is not None
    return found.key


async def texts(store: VerbStore, name: str = "tale") -> list[tuple[str, str]]:
    """Name and text of all that a story has attached."""
    books = [await store.book(ME, one) for one in await store.attached(await key_of(store, name))]
    return [(one.name, one.body) for one in books if one]


PAIRS = [("sqlite", "sqlite too"), ("sqlite", "postgres"), ("postgres", "sqlite")]


@pytest.mark.parametrize(("source", "target"), PAIRS)
async def test_a_copy_brings_what_is_attached(stores: dict[str, VerbStore], source: str, target: str) -> None:
    await with_books(stores[source])
    whole = await copy(stores[source], stores[target])
    assert await texts(stores[target]) == [("places", '"places"'), ("people", '"people"')]
    assert await stores[target].book(ME, "places") == Book("places", '"places"', AT)
    assert await stores[target].book(ME, "apart") is None, "what is not attached is no part of a story"
    assert await digest(stores[target]) == whole.digest
    assert (await stores[target].verify(ME, before=NEVER)).clean


@pytest.mark.parametrize(("source", "target"), PAIRS)
async def test_a_book_whose_name_is_taken_is_set_aside(stores: dict[str, VerbStore], source: str, target: str) -> None:
    await with_books(stores[source])
    there = stores[target]
    await there.keep_book(ME, "people", '"others"', at=LATER)
    await there.keep_book(ME, "places", '"places"', at=LATER)
    whole = await copy(stores[source], there)
    assert await texts(there) == [("places", '"places"'), ("people (2)", '"people"')]
    assert await there.book(ME, "people") == Book("people", '"others"', LATER), "what is there stays"
    assert await digest(there) == whole.digest, "a book is known by what it says"
    await copy(stores[source], there, "again")
    assert await texts(there, "again") == await texts(there)
    assert len(await there.books(ME)) == 3, "what was set aside once is found again"
    await there.keep_book(ME, "people (2)", '"changed"', at=LATER)
    await copy(stores[source], there, "once more")
    assert await texts(there, "once more") == [("places", '"places"'), ("people (3)", '"people"')]


@pytest.mark.parametrize(("source", "target"), PAIRS)
async def test_books_that_nobody_has_attached_are_copied_too_once(
    stores: dict[str, VerbStore], source: str, target: str
) -> None:
    await with_books(stores[source])
    await stores[target].keep_book(ME, "apart", '"another"', at=AT)
    here, there = (WholeStories(stores[name].database, ME, name) for name in (source, target))
    await copy(stores[source], stores[target])
    for _ in range(2):
        await copy_books(here, there)
    bodies = {name: (await stores[target].book(ME, name)) for name in await there.books()}
    assert {name: book and book.body for name, book in bodies.items()} == {
        "apart": '"another"', number_name("apart", 2): '"apart"', "people": '"people"', "places": '"places"'
    }  # fmt: skip


async def test_two_books_that_say_the_same_stay_two(stores: dict[str, VerbStore]) -> None:
    source, target = stores["sqlite"], stores["postgres"]
    key = await a_story(source)
    for name in ("a", "a (2)"):
        await source.keep_book(ME, name, "{}", at=AT)
        await source.attach_book(key, name)
    await target.keep_book(ME, "a", "[]", at=AT)
    await copy(source, target)
    assert await texts(target) == [("a (2)", "{}"), ("a (2) (2)", "{}")]
    assert await digest(target) == await digest(source)


async def test_the_digest_sees_what_is_attached_and_in_which_order(stores: dict[str, VerbStore]) -> None:
    store = stores["sqlite"]
    key = await a_story(store, ["a"])
    bare = await digest(store)
    for name in ("one", "two"):
        await store.keep_book(ME, name, f'"{name}"', at=AT)
    assert await digest(store) == bare, "a book beside it is no part of a story"
    seen = [bare]
    await store.attach_book(key, "one")
    seen.append(await digest(store))
    await store.attach_book(key, "two")
    seen.append(await digest(store))
    await store.detach_book(key, "one")
    seen.append(await digest(store))
    await store.attach_book(key, "one")
    seen.append(await digest(store))
    await store.keep_book(ME, "one", '"other"', at=AT)
    seen.append(await digest(store))
    assert len(set(seen)) == len(seen)
    await store.keep_book(ME, "one", '"one"', at=LATER)
    assert await digest(store) == seen[4], "when it was kept says nothing"
    for name in ("one", "two"):
        await store.detach_book(key, name)
    assert await digest(store) == bare


async def test_a_story_with_a_book_that_is_gone_is_not_copied(stores: dict[str, VerbStore]) -> None:
    source = stores["sqlite"]
    await with_books(source)
    await source.database.writing(
        StoryKey(ME, 0), lambda tables: tables.session.run("delete_book", {"owner": ME, "name": "people"})
    )
    with pytest.raises(StoreProblem, match="book 'people'"):
        await copy(source, stores["sqlite too"])
    assert await stores["sqlite too"].stories(ME) == []
    assert await stores["sqlite too"].books(ME) == []


OWNERS = st.sampled_from(["me", "you"])
NAMES = st.sampled_from(["one", "two", "one (2)", "Zoë"])


class BooksAgree(RuleBasedStateMachine):
    """Random verbs about the books of two owners, the same on three stores; all answers compared."""

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        path = str(Path(self.folder.name) / "stories.db")
        server = PostgresVerbs(shared_server().emptied(), connections=2)
        self.stores: list[VerbStore] = [oracle(), SqliteVerbs(path), server]
        self.keys: list[StoryKey] = []
        for owner in ("me", "you", "me"):
            name = str(len(self.keys))
            self.keys.append(self.each(lambda store, o=owner, n=name: store.create_story(o, n, at="now")).key)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            for store in self.stores:
                self.runner.run(store.close())
            self.runner.close()
            self.folder.cleanup()

    def each(self, act: Callable[..., Awaitable[Any]]) -> Any:
        """Do the same on all stores; what they answer, or refuse, must be the same."""
        first, *others = (self.runner.run(self._tried(act(store))) for store in self.stores)
        assert all(other == first for other in others)
        return first

    async def _tried(self, verb: Awaitable[Any]) -> Any:
        try:
            return await verb
        except BadInput as error:
            return str(error)

    @rule(owner=OWNERS, name=NAMES, body=st.sampled_from(["{}", "[]", '"Zoë"']), at=st.sampled_from("12"))
    def keep(self, owner: str, name: str, body: str, at: str) -> None:
        self.each(lambda store: store.keep_book(owner, name, body, at=at))
        assert self.each(lambda store: store.book(owner, name)) == Book(name, body, at)

    @rule(number=st.integers(0, 2), name=NAMES)
    def attach(self, number: int, name: str) -> None:
        key = self.keys[number]
        answer = self.each(lambda store: store.attach_book(key, name))
        there = self.each(lambda store: store.book(key.owner, name))
        assert (answer is None) is (there is not None)
        assert (name in self.each(lambda store: store.attached(key))) is (there is not None)

    @rule(number=st.integers(0, 2), name=NAMES)
    def detach(self, number: int, name: str) -> None:
        self.each(lambda store: store.detach_book(self.keys[number], name))
        assert name not in self.each(lambda store: store.attached(self.keys[number]))

    @rule(owner=OWNERS, name=NAMES)
    def forget(self, owner: str, name: str) -> None:
        self.each(lambda store: store.forget_book(owner, name))
        assert self.each(lambda store: store.book(owner, name)) is None

    @invariant()
    def what_is_attached_is_there(self) -> None:
        if hasattr(self, "keys"):
            for key in self.keys:
                names = {info.name for info in self.each(lambda store, k=key: store.books(k.owner))}
                assert names.issuperset(self.each(lambda store, k=key: store.attached(k)))


TestBooksAgree = BooksAgree.TestCase
TestBooksAgree.settings = hypothesis_settings(
    max_examples=cases(15, soak=200), stateful_step_count=cases(25, quick=20, soak=60)
)
