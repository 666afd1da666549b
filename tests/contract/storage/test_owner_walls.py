"""Owners are walls: every verb of the contract, asked with another owner's name, finds nothing and changes nothing."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from previously.core.digests import match_key, span_key
from previously.core.errors import BadInput
from previously.core.marks import MarkKind
from previously.core.messages import Attributes, Draft, message
from previously.core.path import Put, Span, Splice
from previously.core.snapshot import KeptRecipe
from previously.core.versions import Cost, Kind, NewVersion, Status
from previously.storage.store import Forgotten, StoryKey
from tests.contract.storage.verbs import VerbStore

AT = "2026-03-02T19:04:00+00:00"
REQUEST = bytes(32)
DRAFT = Draft(message("user", "theirs"))
NOTHING: tuple[object, ...] = (
    None,
    [],
    set(),
    "",
    "{}",
    (None, 0),
    [None],
    0,
    False,
    Cost(),
    Forgotten(0, 0),
    (set(), True),
    {},
)

Verb = Callable[[VerbStore, StoryKey, dict[str, Any]], Awaitable[Any]]

OF_A_STORY: dict[str, Verb] = {
    "branches": lambda store, key, _: store.branches(key),
    "branch": lambda store, key, _: store.branch(key),
    "path": lambda store, key, _: store.path(key, "main", 0, 99),
    "known": lambda store, key, _: store.known(key, "main"),
    "siblings": lambda store, key, _: store.siblings(key, "main", 0),
    "apply": lambda store, key, _: store.apply(key, "main", [Splice(0, 1, (Put(DRAFT),))], at=AT),
    "append": lambda store, key, _: store.append(key, None, [DRAFT], at=AT),
    "extend": lambda store, key, _: store.extend(
        key, "main", lambda: iter([DRAFT]), at=AT, expected_head=0, also=lambda _: None
    ),
    "set_attributes": lambda store, key, known: store.set_attributes(key, [(known["entry"], Attributes(hidden=True))]),
    "add_siblings": lambda store, key, _: store.add_siblings(key, "main", [(0, [DRAFT])]),
    "fork": lambda store, key, _: store.fork(key, "main", "theirs", 1, at=AT),
    "switch": lambda store, key, _: store.switch(key, "other"),
    "marks": lambda store, key, _: store.marks(key, "main"),
    "newest_mark": lambda store, key, _: store.newest_mark(key, "main", MarkKind.PIN, 0),
    "add_mark": lambda store, key, _: store.add_mark(key, "main", MarkKind.PIN, 0, "x", made_by="person", at=AT),
    "take_back_mark": lambda store, key, known: store.take_back_mark(key, "main", known["mark"]),
    "moves": lambda store, key, _: store.moves(key),
    "commit": lambda store, key, known: store.commit(key, known["new"]),
    "commit_all": lambda store, key, known: store.commit_all(key, [known["new"], replace(known["new"], text="x")]),
    "set_status": lambda store, key, known: store.set_status(key, known["version"], Status.UNDONE, reason="theirs"),
    "loosen": lambda store, key, known: store.loosen(key, [known["version"]]),
    "versions": lambda store, key, _: store.versions(key),
    "version": lambda store, key, known: store.version(key, known["version"]),
    "newest_versions": lambda store, key, _: store.newest_versions(key, Kind.RECAP, "", Status.COMMITTED, 9),
    "notes": lambda store, key, known: store.notes(key, Kind.SCENE, "*", [known["digest"]]),
    "live": lambda store, key, _: store.live(key, "main", Kind.RECAP, ""),
    "live_each": lambda store, key, _: store.live_each(key, "main", Kind.RECAP, [("", 9)]),
    "cover": lambda store, key, _: store.cover(key, "main"),
    "spans": lambda store, key, _: store.spans(key, "main", Kind.RECAP),
    "position_of": lambda store, key, known: store.position_of(key, "main", known["node"]),
    "leading_to": lambda store, key, known: store.leading_to(key, known["node"], 9),
    "settings": lambda store, key, _: store.settings(key),
    "keep_settings": lambda store, key, _: store.keep_settings(key, '{"theirs":1}'),
    "take_lease": lambda store, key, _: store.take_lease(key, "recap", "they", now=AT, until="9"),
    "give_lease": lambda store, key, _: store.give_lease(key, "recap", "me"),
    "header": lambda store, key, _: store.header(key),
    "keep_header": lambda store, key, _: store.keep_header(key, '{"theirs":1}'),
    "note_budget": lambda store, key, _: store.note_budget(key, 7),
    "keep_recipe": lambda store, key, known: _nothing(
        store.keep_recipe(key, replace(known["recipe"], body="theirs"), known["recipe_hash"])
    ),
    "recipes": lambda store, key, _: store.recipes(key, "chat", None, 9, last=99),
    "usage": lambda store, key, _: store.usage(key),
    "keep_usage": lambda store, key, _: store.keep_usage(key, '{"theirs":1}'),
    "all_witnessed": lambda store, key, _: _nothing(store.all_witnessed(key)),
    "standing_at": lambda store, key, _: store.standing_at(key, "main", 0, 9),
    "traces": lambda store, key, known: store.traces(key, [known["entry"]]),
    "entries_like": lambda store, key, known: store.entries_like(key, {known["digest"]: [known["hash"]]}),
    "keep_answer": lambda store, key, _: store.keep_answer(key, REQUEST, "theirs", model="m", at=AT),
    "attach_book": lambda store, key, _: store.attach_book(key, "second"),
    "detach_book": lambda store, key, _: store.detach_book(key, "first"),
    "attached": lambda store, key, _: store.attached(key),
    "index": lambda store, key, _: store.index(key, None),
    "recall": lambda store, key, _: store.recall(key, "main", lambda index, path: [*index.facts(), *path.ids]),
    "forget_entries": lambda store, key, known: store.forget_entries(key, [known["entry"]]),
    "forget_story": lambda store, key, _: _nothing(store.forget_story(key)),
}


async def _nothing(verb: Awaitable[Any]) -> None:
    """What it answers says nothing of the story."""
    await verb


OF_AN_OWNER: dict[str, Callable[[VerbStore, str], Awaitable[Any]]] = {
    "stories": lambda store, owner: store.stories(owner),
    "story": lambda store, owner: store.story(owner, "tale"),
    "spent": lambda store, owner: store.spent(owner, ""),
    "holding": lambda store, owner: store.holding(owner, [match_key(DRAFT.message), match_key(message("user", "a"))]),
    "books": lambda store, owner: store.books(owner),
    "book": lambda store, owner: store.book(owner, "first"),
    "forget_book": lambda store, owner: store.forget_book(owner, "first"),
    "answer": lambda store, owner: store.answer(owner, REQUEST),
    "model_fact": lambda store, owner: store.model_fact(owner, "m"),
    "set_model_fact": lambda store, owner: store.set_model_fact(owner, "m", "theirs", AT),
    "last_changes": lambda store, owner: store.last_changes(owner),
}
APART = {"at_one_moment", "create_story", "keep_book", "close", "add_key", "keys", "remove_key", "owner_of"}
APART |= {"read", "write", "verify", "gc"}
"""Reading through the other verbs; making something of one's own; the end; and keys, which are nobody's and see no
story (`test_key_store`)."""


def test_every_verb_is_tried() -> None:
    verbs = {name for name, _ in inspect.getmembers(VerbStore, inspect.isfunction) if not name.startswith("_")}
    assert verbs == set(OF_A_STORY) | set(OF_AN_OWNER) | APART


async def with_a_story(store: VerbStore) -> tuple[StoryKey, dict[str, Any]]:
    key = (await store.create_story("me", "tale", at=AT)).key
    await store.append(key, None, [Draft(message("user", text)) for text in "abcd"], at=AT, receipt="one")
    await store.fork(key, "main", "other", 2, at=AT)
    path = await store.path(key, "main", 0, 9)
    read = span_key(item.entry.digest for item in path[:2])
    new = NewVersion(Kind.RECAP, "", Span(0, 1), read, None, "So.", "", Status.COMMITTED, "model", "", AT, cost=Cost(1))
    version = await store.commit(key, new)
    await store.commit(key, replace(new, kind=Kind.SCENE, scope="*", first=path[0].entry.digest))
    mark = await store.add_mark(key, "main", MarkKind.PIN, 0, "pinned", made_by="person", at=AT)
    await store.take_lease(key, "recap", "me", now=AT, until="9")
    recipe = KeptRecipe("chat", "", path[1].node, 1, path[0].node, "{}", "{}", AT)
    await store.keep_recipe(key, recipe, path[1].hash)
    await store.index(key, None)
    for name in ("first", "second"):
        await store.keep_book("me", name, '{"mine":1}', at=AT)
    await store.attach_book(key, "first")
    await store.keep_answer(key, REQUEST, "mine", model="m", at=AT)
    await store.set_model_fact("me", "m", "mine", AT)
    first = path[0]
    return key, {
        "entry": first.entry.id,
        "node": first.node,
        "hash": first.hash,
        "digest": first.entry.digest,
        "version": version.id,
        "mark": mark.id,
        "new": new,
        "recipe": recipe,
        "recipe_hash": path[1].hash,
    }


async def all_of_it(store: VerbStore, key: StoryKey) -> list[Any]:
    return [
        await store.stories("me"),
        await store.branches(key),
        await store.path(key, "main", 0, 99),
        await store.siblings(key, "main", 0),
        await store.marks(key, "main"),
        await store.versions(key),
        await store.cover(key, "main"),
        await store.moves(key),
        await store.settings(key),
        await store.header(key),
        await store.spent("me", ""),
        await store.attached(key),
        await store.books("me"),
        await store.book("me", "first"),
        await store.answer("me", REQUEST),
        await store.model_fact("me", "m"),
        await store.take_lease(key, "recap", "another", now=AT, until="9"),
        await store.recall(key, "main", lambda index, path: [index.postings(["@"]), index.facts(), path.ids.tolist()]),
    ]


async def test_every_verb_about_a_story_of_another_owner(store: VerbStore) -> None:
    mine, known = await with_a_story(store)
    before = await all_of_it(store, mine)
    for name, verb in OF_A_STORY.items():
        with suppress(BadInput, KeyError):
            answer = await verb(store, StoryKey("they", mine.story), known)
            assert answer in NOTHING, (name, answer)
        assert await all_of_it(store, mine) == before, name


async def test_every_verb_about_all_of_another_owner(store: VerbStore) -> None:
    mine, _ = await with_a_story(store)
    before = await all_of_it(store, mine)
    for name, verb in OF_AN_OWNER.items():
        assert await verb(store, "they") in NOTHING, name
        assert await all_of_it(store, mine) == before, name


async def test_a_book_of_another_owner_may_have_the_same_name(store: VerbStore) -> None:
    mine, _ = await with_a_story(store)
    before = await all_of_it(store, mine)
    await store.keep_book("they", "first", '{"theirs":1}', at=AT)
    theirs = (await store.create_story("they", "tale", at=AT)).key
    await store.attach_book(theirs, "first")
    with pytest.raises(BadInput, match="no book named 'second'"):
        await store.attach_book(theirs, "second")
    assert await store.attached(theirs) == ["first"]
    assert await all_of_it(store, mine) == before
    await store.forget_book("they", "first")
    assert await store.attached(theirs) == []
    assert await all_of_it(store, mine) == before
