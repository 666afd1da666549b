"""Notes of spans and chains of their own: memory that knows no marks, kept by every store as the contract says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from previously.core.digests import span_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.path import Put, Reuse, Span, Splice
from previously.core.versions import Kind, NewVersion, Status, Version
from previously.storage.store import StoryKey
from tests.contract.storage.test_store_contract import AT, ME, a_story, append, covered, draft, fold, mark
from tests.contract.storage.verbs import SqliteVerbs, VerbStore

NEVER = "9999"


async def noting(
    store: VerbStore,
    key: StoryKey,
    first: int,
    last: int,
    branch: str = "main",
    kind: Kind = Kind.SCENE,
    scope: str = "*",
) -> NewVersion:
    """A note of these messages on its way into the store."""
    read = await store.path(key, branch, first, last)
    digests = [item.entry.digest for item in read]
    made: tuple[object, ...] = (None, f"{first} to {last}", "", Status.COMMITTED, "model", "due", AT)
    new = NewVersion(kind, scope, Span(first, last), span_key(digests), *made)  # type: ignore[arg-type]
    return replace(new, anchor=read[-1].node, reach=len(read), first=digests[0])


async def noted(store: VerbStore, key: StoryKey, first: int, last: int, branch: str = "main") -> Version:
    return await store.commit(key, await noting(store, key, first, last, branch))


async def firsts(store: VerbStore, key: StoryKey, branch: str = "main") -> list[bytes]:
    return [item.entry.digest for item in await store.path(key, branch, 0, 999)]


async def found(store: VerbStore, key: StoryKey, asked: Sequence[bytes], kind: Kind = Kind.SCENE) -> list[int]:
    return [one.id for one in await store.notes(key, kind, "*", asked)]


async def test_a_note_is_found_by_the_first_message_it_read(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one, two = await noted(store, key, 1, 3), await noted(store, key, 2, 4)
    longer = await noted(store, key, 1, 4)
    read = await firsts(store, key)
    assert await store.notes(key, Kind.SCENE, "*", [read[1]]) == [one, longer]
    assert await found(store, key, read[2:]) == [two.id]
    assert await found(store, key, read[::-1] + read) == [one.id, two.id, longer.id], "the oldest first, each once"
    assert await found(store, key, [read[0], read[3], b"", b"other"]) == []
    assert await found(store, key, []) == []
    assert await found(store, key, read, Kind.ANALYSIS) == []
    assert await store.notes(key, Kind.SCENE, "*other", read) == []
    assert await store.version(key, one.id) == one, "what it read first comes back with it"


async def test_a_note_is_found_wherever_its_run_stands_and_covered_nowhere(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one = await noted(store, key, 2, 4)
    await store.fork(key, "main", "aside", 3, at=AT)
    entries = [item.entry.id for item in await store.path(key, "main", 0, 5)]
    await store.apply(key, "aside", [Splice(0, 3, (Reuse(entries[2]), Reuse(entries[3]), Reuse(entries[4])))], at=AT)
    for branch in ("main", "aside"):
        assert await found(store, key, await firsts(store, key, branch)) == [one.id]
        assert await covered(store, key, branch) == []
        assert await store.live(key, branch, Kind.SCENE, "*") is None
        assert await store.spans(key, branch, Kind.SCENE) == set()
    assert await noted(store, key, 0, 2, "aside") == one, "the same run at another place is the same note"


async def test_a_note_is_made_again_by_request_and_both_are_kept(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    one = await noted(store, key, 0, 2)
    assert await noted(store, key, 0, 2) == one, "nothing has changed"
    again = replace(await noting(store, key, 0, 2), text="again", replaces=one.id)
    two = await store.commit(key, again)
    assert (two.made.replaces, two.made.text) == (one.id, "again")
    assert await store.commit(key, replace(again, text="raced")) == two, "of two that replace the same the first counts"
    three = await store.commit(key, replace(again, text="once more", replaces=two.id))
    assert await found(store, key, await firsts(store, key)) == [one.id, two.id, three.id]


async def test_a_better_note_takes_the_place_of_a_provisional_one(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    new = await noting(store, key, 0, 2)
    weak = await store.commit(key, replace(new, status=Status.PROVISIONAL, made_by="builtin"))
    better = await store.commit(key, new)
    assert (better.made.replaces, better.firm) == (weak.id, True)
    assert await found(store, key, [new.first]) == [weak.id, better.id]


async def test_only_notes_in_force_are_found(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    new = await noting(store, key, 0, 2)
    await store.commit(key, replace(new, status=Status.REFUSED))
    await store.commit(key, replace(new, status=Status.BY_HAND))
    one = await store.commit(key, new)
    assert await found(store, key, [new.first]) == [one.id]
    await store.set_status(key, one.id, Status.UNDONE, reason="no")
    assert await found(store, key, [new.first]) == []
    await store.set_status(key, one.id, Status.COMMITTED, reason="yes")
    assert await found(store, key, [new.first]) == [one.id]


async def test_a_note_that_no_store_could_keep_is_refused(store: VerbStore) -> None:
    key = await a_story(store, list("abc"))
    new = await noting(store, key, 0, 2)
    other = await store.commit(key, new)
    for wrong in (replace(new, first=b""), replace(new, before=other.id), replace(new, first=b"", anchor=0)):
        with pytest.raises(BadInput, match="note of a span"):
            await store.commit(key, wrong)
    elsewhere = (await firsts(store, key))[1]
    with pytest.raises(HeadMoved):
        await store.commit(key, replace(new, first=elsewhere))
    assert await store.versions(key) == [other]


async def test_every_note_that_read_a_message_is_forgotten_with_it(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    entries = [item.entry.id for item in await store.path(key, "main", 0, 7)]
    before, with_it = await noted(store, key, 0, 2), await noted(store, key, 2, 4)
    await store.fork(key, "main", "aside", 2, at=AT)
    await store.apply(key, "aside", [Splice(2, 0, (Put(draft("x")), Reuse(entries[3]), Put(draft("y"))))], at=AT)
    aside = await noted(store, key, 2, 4, "aside")
    own = await store.commit(key, await noting(store, key, 0, 4, "aside", Kind.CAST, "@Ines"))
    gone = await firsts(store, key)
    await store.forget_entries(key, [entries[3]])
    left = {one.id: one.made for one in await store.versions(key)}
    assert left[before.id] == before.made
    for one in (with_it, aside, own):
        made = left[one.id]
        assert (made.status, made.text, made.key, made.first) == (Status.FORGOTTEN, "", b"", b"")
    assert await found(store, key, [*gone, *await firsts(store, key), *await firsts(store, key, "aside")]) == [
        before.id
    ]
    assert await covered(store, key, "aside") == []
    again = await noted(store, key, 2, 4)
    assert again.id not in left, "what is left may be read again"
    assert (await store.verify(ME, before=NEVER)).faults == ()


async def test_a_chain_of_its_own_knows_no_marks(store: VerbStore) -> None:
    key = await a_story(store, list("abcdefgh"))
    one = await fold(store, key, 0, 2, kind=Kind.CAST, scope="@Maya")
    two = await fold(store, key, 3, 5, kind=Kind.CAST, scope="@Maya", before=one)
    state = await fold(store, key, 0, 4, kind=Kind.STATE, scope="@")
    chapter = await mark(store, key, 1)
    recap = await fold(store, key, 2, 3, scope=chapter.scope)
    assert await covered(store, key) == [one.id, recap.id, state.id, two.id]
    await store.take_back_mark(key, "main", chapter.id)
    assert await covered(store, key) == [one.id, state.id, two.id]
    live = await store.live(key, "main", Kind.CAST, "@Maya")
    assert live is not None
    assert (live.version, live.span) == (two, Span(3, 5))
    asked = [("@Maya", 4), ("@", 7), ("@Nobody", 7), ("@Maya", 1)]
    each = await store.live_each(key, "main", Kind.CAST, asked)
    assert [one and one.version.id for one in each] == [one.id, None, None, None]
    assert await store.spans(key, "main", Kind.CAST) == {("@Maya", 0, 2), ("@Maya", 3, 5)}


async def test_a_chain_of_its_own_follows_every_branch_and_is_back_when_its_words_are(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one = await fold(store, key, 0, 2, kind=Kind.CAST, scope="@Maya")
    two = await fold(store, key, 3, 4, kind=Kind.CAST, scope="@Maya", before=one)
    await store.fork(key, "main", "aside", 4, at=AT)
    assert await covered(store, key, "aside") == [one.id]
    await store.apply(key, "aside", [Splice(1, 1, (Put(draft("B")),))], at=AT)
    assert await covered(store, key, "aside") == []
    other = await fold(store, key, 0, 2, kind=Kind.CAST, scope="@Maya", branch="aside")
    assert await covered(store, key, "aside") == [other.id]
    await store.apply(key, "aside", [Splice(0, 4, tuple(Put(draft(text)) for text in "abcde"))], at=AT)
    assert await covered(store, key, "aside") == [one.id, two.id]
    assert await covered(store, key) == [one.id, two.id]


async def test_a_first_link_is_found_when_the_path_grows_to_its_length(store: VerbStore) -> None:
    key = await a_story(store, list("abcd"))
    one = await fold(store, key, 0, 3, kind=Kind.CAST, scope="@Maya")
    await store.apply(key, "main", [Splice(0, 4, ())], at=AT)
    for text in "abc":
        await append(store, key, text)
        assert await covered(store, key) == []
    await append(store, key, "d")
    assert await covered(store, key) == [one.id]


async def test_a_chain_of_its_own_has_no_gaps(store: VerbStore) -> None:
    key = await a_story(store, list("abcdef"))
    one = await fold(store, key, 0, 1, kind=Kind.CAST, scope="@Maya")
    for first, before in ((1, None), (3, one), (1, one)):
        with pytest.raises(BadInput, match="begins with the story"):
            await fold(store, key, first, 4, kind=Kind.CAST, scope="@Maya", before=before)
    with pytest.raises(BadInput, match="too long"):
        await fold(store, key, 0, 1, kind=Kind.CAST, scope="@" + "ü" * 500)
    longest = await fold(store, key, 0, 1, kind=Kind.CAST, scope="@" + "x" * 999)
    assert await store.versions(key) == [one, longest]


async def steps_to_append(path: Path, notes: int, length: int = 10) -> int:
    """How many steps the machine of SQLite takes to add a message to a story with so many notes, and as many chains of
    their own with a link of that length."""
    store = SqliteVerbs(str(path))
    key = await a_story(store, [str(number) for number in range(40)])
    await fold(store, key, 0, 9)
    one, own = await noting(store, key, 10, 19), await noting(store, key, 0, length - 1, "main", Kind.CAST, "@")
    for number in range(notes):
        await store.commit(key, replace(one, scope=f"*{number}"))
        await store.commit(key, replace(own, scope=f"@{number}"))
    await append(store, key, "warm")
    counted = [0]

    def count() -> bool:
        counted[0] += 1
        return False

    def watch(connection: apsw.Connection) -> None:
        connection.set_progress_handler(count, 1)

    apsw.connection_hooks.append(watch)
    try:
        again = SqliteVerbs(str(path))
        await again.append(key, None, [draft("before")], at=AT)
        counted[0] = 0
        await again.append(key, None, [draft("more")], at=AT)
        steps = counted[0]
        await again.close()
    finally:
        apsw.connection_hooks.remove(watch)
    await store.close()
    return steps


async def test_what_knows_no_marks_costs_a_path_that_grows_nothing(tmp_path: Path) -> None:
    few = await steps_to_append(tmp_path / "few.db", 1)
    many = await steps_to_append(tmp_path / "many.db", 300)
    long = await steps_to_append(tmp_path / "long.db", 300, 30)
    assert few > 0
    assert many - few < 50, "the work of adding a message grows with the number of notes"
    assert long - many < 50, "or with the length of what they read"
