"""The index of a store: it catches up in batches, follows forgetting and new attributes, and answers of one path."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from previously.core.errors import UnknownBranch
from previously.core.messages import Attributes, Draft, message
from previously.core.path import Put, Splice
from previously.recall import index as recall_index
from previously.recall.index import BLOCK
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex, find
from previously.storage.store import StoryKey
from previously.storage.tables import recall_cuts
from previously.storage.tables import recall_index as index_reading
from previously.storage.tables import recall_index as indexing
from tests.contract.storage.letters import Letters
from tests.contract.storage.verbs import SqliteVerbs, VerbStore

AT = "2026-03-02T19:04:00+00:00"


async def begun(store: VerbStore, *texts: str, name: str = "tale") -> StoryKey:
    key = (await store.create_story("me", name, at=AT)).key
    await said(store, key, *texts)
    return key


async def said(store: VerbStore, key: StoryKey, *texts: str, branch: str | None = None) -> None:
    drafts = [Draft(message("user", text, speaker="Mara" if at % 2 else "Tess")) for at, text in enumerate(texts)]
    await store.append(key, branch, drafts, at=AT)


async def caught_up(store: VerbStore, key: StoryKey, table: Letters | None = None, *, most: int = 7) -> None:
    while await store.index(key, table, most=most):
        pass


async def hits(store: VerbStore, key: StoryKey, text: str, branch: str = "main", **how: Any) -> list[int]:
    """Where what is asked for is said, the best first."""

    def work(index: StoryIndex, path: PathEntries) -> list[int]:
        return [hit.position for hit in find(index, path, text, **how).hits if hit.why.terms]

    return await store.recall(key, branch, work)


async def kept(store: VerbStore, key: StoryKey, terms: Sequence[str]) -> dict[str, Any]:
    """All that is kept of a story, in an order that says nothing."""

    def work(index: StoryIndex, path: PathEntries) -> dict[str, Any]:
        entries = path.ids.tolist()
        return {
            "postings": {term: _sorted(blocks, 5) for term, blocks in index.postings(terms).items()},
            "facts": _sorted(index.facts(), 20),
            "vectors": dict(index.vectors(entries)),
            "speakers": sorted(index.speakers()),
            "path": entries,
        }

    return await store.recall(key, "main", work)


def _sorted(blocks: Any, size: int) -> list[Any]:
    found = [(number, bytes(data[at : at + size])) for number, data in blocks for at in range(0, len(data), size)]
    return sorted(found)


async def test_what_is_new_is_indexed_in_batches_and_found(store: VerbStore) -> None:
    key = await begun(store, *(f"the lantern number {n}" for n in range(9)), "a brass key")
    assert await hits(store, key, "key") == []
    assert await store.index(key, None, most=4) == 6
    assert await hits(store, key, "key") == []
    assert await store.index(key, None, most=4) == 2
    assert await store.index(key, None, most=4) == 0
    assert await hits(store, key, "brass key") == [9]
    assert await store.index(key, None) == 0
    await said(store, key, "another key")
    await caught_up(store, key)
    assert sorted(await hits(store, key, "key")) == [9, 10]


async def test_a_batch_that_ends_exactly_leaves_nothing_waiting(store: VerbStore) -> None:
    key = await begun(store, "one", "two", "three", "four")
    assert await store.index(key, None, most=4) == 0
    assert await store.index(key, None, most=4) == 0


async def test_nothing_of_another_branch_is_found(store: VerbStore) -> None:
    key = await begun(store, "a brass key", "a silver comb", "a lantern")
    await store.fork(key, "main", "other", 1, at=AT)
    await said(store, key, "a wooden spoon", branch="other")
    await caught_up(store, key)
    assert await hits(store, key, "spoon") == []
    assert await hits(store, key, "comb", "other") == []
    assert await hits(store, key, "spoon", "other") == [1]
    await store.apply(key, "main", [Splice(1, 1, (Put(Draft(message("user", "an iron nail"))),))], at=AT)
    assert await hits(store, key, "comb") == []
    await caught_up(store, key)
    assert await hits(store, key, "nail") == [1]
    assert await hits(store, key, "lantern") == [2]
    with pytest.raises(UnknownBranch):
        await hits(store, key, "comb", "nowhere")


async def test_a_path_that_was_kept_is_what_the_path_is(store: VerbStore) -> None:
    """Grown, cut, replaced at any depth, switched and back: each time the ids of the path are those of the path."""
    key = await begun(store, *(f"word{n}" for n in range(40)))

    async def compare(branch: str) -> None:
        ids = await store.recall(key, branch, lambda _, path: path.ids.tolist())
        assert ids == [item.entry.id for item in await store.path(key, branch, 0, 99)]

    await compare("main")
    for at, remove, put in [
        (40, 0, 3),
        (42, 1, 1),
        (30, 2, 0),
        (0, 1, 2),
        (41, 0, 0),
        (5, 30, 1),
        (11, 0, 9),
        (0, 20, 0),
    ]:
        pieces = tuple(Put(Draft(message("user", f"put {at} {n}"))) for n in range(put))
        await store.apply(key, "main", [Splice(at, remove, pieces)], at=AT)
        await compare("main")
    await store.fork(key, "main", "short", 0, at=AT)
    await compare("short")
    await said(store, key, "x", "y", branch="short")
    await compare("short")
    await compare("main")


async def test_a_story_forgotten_and_begun_again_is_another(store: VerbStore) -> None:
    key = await begun(store, "a brass key", "a comb")
    await caught_up(store, key)
    assert await hits(store, key, "key") == [0]
    await store.forget_story(key)
    again = await begun(store, "rain", "snow", "hail")
    assert await hits(store, again, "key") == []
    await caught_up(store, again)
    assert await hits(store, again, "hail") == [2]
    assert await hits(store, again, "key") == []


async def test_vectors_come_when_there_is_a_table(store: VerbStore) -> None:
    texts = [f"{a}{b} {b}{a}" for a in "rstuv" for b in "klmno"]
    key = await begun(store, *texts)
    await caught_up(store, key)
    assert not (await kept(store, key, ()))["vectors"]
    await caught_up(store, key, Letters())
    with_vectors = await kept(store, key, ["rk", "vo"])
    assert len(with_vectors["vectors"]) == len(texts)
    await said(store, key, "more words")
    await caught_up(store, key)  # by somebody who has no table
    assert len((await kept(store, key, ()))["vectors"]) == len(texts)
    await caught_up(store, key, Letters())
    assert len((await kept(store, key, ()))["vectors"]) == len(texts) + 1
    other = await begun(store, *texts, "more words", name="at once")
    await caught_up(store, other, Letters(), most=1_000)
    assert list((await kept(store, other, ()))["vectors"].values()) == list(
        (await kept(store, key, ()))["vectors"].values()
    )


async def test_vectors_of_another_table_are_made_anew(store: VerbStore) -> None:
    key = await begun(store, *(f"{letter} word of {letter * 3}" for letter in "abcdefghijkl"))
    await caught_up(store, key, Letters(1))
    before = await kept(store, key, ["word"])
    assert await store.index(key, Letters(2), most=5) == 7
    between = await kept(store, key, ["word"])
    assert len(between["vectors"]) == 5
    assert between | {"vectors": 0} == before | {"vectors": 0}
    await caught_up(store, key, Letters(2))
    after = await kept(store, key, ["word"])
    assert set(after["vectors"]) == set(before["vectors"])
    assert all(after["vectors"][entry] != data for entry, data in before["vectors"].items())


async def test_another_version_of_the_index_is_made_anew(store: VerbStore, monkeypatch: pytest.MonkeyPatch) -> None:
    key = await begun(store, *(f"message {n} says word{n % 7}" for n in range(3 * BLOCK)))
    await caught_up(store, key, Letters(), most=700)
    terms = ["word1", "message", "1000"]
    before = await kept(store, key, terms)
    for module in (recall_index, indexing, index_reading, recall_cuts):
        monkeypatch.setattr(module, "INDEX_VERSION", 99)
    assert await hits(store, key, "word1") == []
    waiting = await store.index(key, Letters(), most=700)
    assert waiting == 3 * BLOCK - 700
    assert len((await kept(store, key, terms))["facts"]) == 700
    (gone,) = await store.path(key, "main", 1_400, 1_400)
    await store.forget_entries(key, [gone.entry.id])
    await caught_up(store, key, Letters(), most=700)
    after = await kept(store, key, terms)
    assert len(after["facts"]) == len(before["facts"]) - 1
    assert set(after["facts"]) < set(before["facts"])
    assert len(after["vectors"]) == len(before["vectors"]) - 1


async def test_what_a_process_keeps_of_an_index_is_what_the_store_has(store: VerbStore) -> None:
    """Asked again and again, across blocks, after a change to an old one, and of an earlier moment."""
    key = await begun(store, *(f"message {n} says word{n % 7}" for n in range(2 * BLOCK + 9)))
    terms = ["word1", "messag", "lantern"]
    await caught_up(store, key, Letters(), most=700)
    await kept(store, key, terms)
    await said(store, key, *(f"lantern {n} says word{n % 7}" for n in range(BLOCK)))

    async def earlier(moment: VerbStore) -> dict[str, Any]:
        return await kept(moment, key, terms)

    before = await store.at_one_moment("me", earlier)
    await caught_up(store, key, Letters(), most=700)
    grown = await kept(store, key, terms)
    assert grown == await _fresh(store, key, terms)
    assert len(grown["facts"]) == len(before["facts"]) + BLOCK and "lantern" not in before["postings"]
    path = await store.path(key, "main", 0, 2)
    await store.forget_entries(key, [path[1].entry.id])
    after = await kept(store, key, terms)
    assert after == await _fresh(store, key, terms)
    assert len(after["facts"]) == len(grown["facts"]) - 1 and path[1].entry.id not in after["vectors"]


async def _fresh(store: VerbStore, key: StoryKey, terms: Sequence[str]) -> dict[str, Any]:
    """The same, as a process sees it that was never asked."""
    store.paths.forget(key)
    return await kept(store, key, terms)


async def test_a_block_that_is_complete_is_read_once(tmp_path: Path) -> None:
    store = SqliteVerbs(str(tmp_path / "s.db"))
    try:
        key = await begun(store, *(f"message {n}" for n in range(2 * BLOCK)))
        await caught_up(store, key, most=700)
        read: list[int] = []

        def work(index: StoryIndex, path: PathEntries) -> None:
            session = index._session  # type: ignore[attr-defined]
            real = session.rows

            class Counted:
                def rows(self, name: str, values: Any) -> Any:
                    found = real(name, values)
                    read.append(len(found))
                    return found

            index._session = Counted()  # type: ignore[attr-defined]
            index.facts()
            index.postings(["messag"])

        await store.recall(key, "main", work)
        await store.recall(key, "main", work)
    finally:
        await store.close()
    assert read == [3, 3, 1, 1]


async def test_new_attributes_reach_the_index(store: VerbStore) -> None:
    key = await begun(store, "we met at the harbour", "rain", "we met at the harbour", "hail")
    await caught_up(store, key)
    path = await store.path(key, "main", 0, 9)
    await store.set_attributes(
        key, [(path[2].entry.id, Attributes("2024-05-07T10:00:00+00:00", None, {"session": 7}, hidden=True))]
    )
    facts = (await kept(store, key, ()))["facts"]
    other = await begun(store, name="other")
    await store.append(
        other,
        None,
        [
            replace(Draft(item.entry.message), attributes=item.entry.attributes)
            for item in await store.path(key, "main", 0, 9)
        ],
        at=AT,
    )
    await caught_up(store, other)
    assert [data[2:] for _, data in (await kept(store, other, ()))["facts"]] == [data[2:] for _, data in facts]
    assert (await hits(store, key, "where did we meet on 7 May 2024?"))[0] == 2


async def test_what_is_forgotten_is_not_found_and_leaves_nothing(store: VerbStore) -> None:
    key = await begun(store, *(f"{letter * 4} common" for letter in "abcdefghijklmnopqrst"))
    await store.append(
        key, None, [Draft(message("user", "a secret", speaker="Nobody Else", witnesses=["Orsa"]))], at=AT
    )
    await said(store, key, "last")
    await caught_up(store, key, Letters())
    terms = [*(letter * 4 for letter in "abcdefghijklmnopqrst"), "common", "secret", "@orsa", "@", "last"]
    path = await store.path(key, "main", 0, 99)
    gone = {path[3].entry.id, path[20].entry.id}
    await store.forget_entries(key, gone)
    assert await hits(store, key, "dddd") == await hits(store, key, "secret") == []
    left = await kept(store, key, terms)
    assert left["speakers"] == ["Mara", "Tess"]
    assert not {"dddd", "secret", "@orsa"} & set(left["postings"])
    assert not gone & set(left["vectors"])
    await caught_up(store, key, Letters())
    assert await kept(store, key, terms) == left


async def test_what_was_forgotten_before_it_was_indexed_is_skipped(store: VerbStore) -> None:
    key = await begun(store, "one", "two", "three", "four")
    path = await store.path(key, "main", 0, 9)
    await store.forget_entries(key, {path[1].entry.id, path[3].entry.id})
    assert await store.index(key, None, most=2) == 0
    assert await store.index(key, None, most=2) == 0
    assert await hits(store, key, "two") == []
    assert await hits(store, key, "three") == [2]


async def test_a_moment_answers_too_and_writes_nothing(store: VerbStore) -> None:
    key = await begun(store, "a brass key", "a comb")
    await caught_up(store, key)

    async def ask(moment: VerbStore) -> list[int]:
        return await hits(moment, key, "comb")

    assert await store.at_one_moment("me", ask) == [1]


async def test_what_changes_while_a_batch_is_made_is_not_written(store: VerbStore) -> None:
    key = await begun(store, "a secret", "rain", "snow")
    first, second, _ = await store.path(key, "main", 0, 9)

    async def made() -> indexing.Batch:
        batch = await store.database.reading("me", lambda tables: indexing.read_batch(tables.session, key, None, 9))
        assert batch is not None
        return batch

    async def was_kept(batch: indexing.Batch) -> bool:
        return await store.database.writing(key, lambda tables: indexing.keep_batch(tables.session, key, batch))

    assert not await was_kept(await made()), "nothing is read before there is a state to change"
    batch = await made()
    await store.forget_entries(key, [first.entry.id])
    assert not await was_kept(batch)
    batch = await made()
    await store.set_attributes(key, [(second.entry.id, Attributes("2024-01-01"))])
    assert not await was_kept(batch)
    batch, another = await made(), await made()
    assert await was_kept(batch)
    assert not await was_kept(another), "somebody else was faster"
    assert await store.index(key, None) == 0
    assert (await store.verify("me", before="")).faults == ()
    batch_of_a_story_that_is_gone = batch
    await store.forget_story(key)
    assert not await was_kept(batch_of_a_story_that_is_gone)
    assert await store.index(key, None) == 0
    assert (await store.verify("me", before="")).faults == ()


async def test_several_at_once_index_nothing_twice(store: VerbStore) -> None:
    key = await begun(store, *(f"word{n} and word{n + 1}" for n in range(300)))

    async def some(most: int) -> None:
        while await store.index(key, Letters(), most=most):
            await said(store, key, f"added meanwhile {most}")

    await asyncio.gather(*(some(most) for most in (40, 50, 60, 70)))
    await caught_up(store, key, Letters())
    assert (await store.verify("me", before="")).faults == ()


ODD = {
    "empty": "",
    "spaces": " \n\t ",
    "syntax": '"brass AND (key OR NEAR(comb, 5)) *:^ -- ; DROP TABLE entry; %s %(x)s :term ?',
    "emoji": "🗝️ and 🏮",
    "japanese": "真鍮の鍵はどこですか",
    "nothing": "\x00\x00",
    "half a pair": "brass \ud800 key",
    "a megabyte": "brass lantern key " * 60_000,
    "many words": " ".join(f"w{n}" for n in range(100_000)),
    "a long word": "k" * 1_000_000,
}


@pytest.mark.parametrize("odd", sorted(ODD))
async def test_odd_questions(store: VerbStore, odd: str) -> None:
    key = await begun(store, "a brass key 🗝️", "真鍮の鍵は引き出しの中です。", "w1 and w99999", "🏮", "rain AND snow")
    await caught_up(store, key, Letters())
    expected = {
        "emoji": {0, 3}, "japanese": {1}, "syntax": {0}, "half a pair": {0}, "a megabyte": {0}, "many words": {2},
    }  # fmt: skip
    assert expected.get(odd, set()) <= set(await hits(store, key, ODD[odd], table=Letters()))
    if odd in ("empty", "spaces", "nothing"):
        assert await hits(store, key, ODD[odd], table=Letters()) == []


async def test_witnesses_with_endless_names(store: VerbStore) -> None:
    key = await begun(store)
    ann, bob = "Ann" * 5_000, "Ann" * 5_000 + "b"
    await store.append(key, None, [Draft(message("user", "a secret", speaker=ann, witnesses=[ann]))], at=AT)
    await caught_up(store, key)
    assert await hits(store, key, "secret", witness=ann) == [0]
    assert await hits(store, key, "secret", witness=bob) == []


def test_opening_a_store_loads_no_numpy() -> None:
    code = "import sys, previously.storage.sqlite, previously.storage.postgres;sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
