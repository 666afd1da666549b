"""Books in files: what is read, what is refused, and that nothing is lost on the way back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.lore.book_forms import CHARACTER_BOOK, WORLD_INFO
from previously.lore.entries import Entry, Logic
from previously.lore.world_info import Book, character_book, read_book, rewritten, world_info
from tests.effort import cases

GRIM = {
    "uid": 12, "key": ["Grim", "/gr[ia]m/i"], "keysecondary": ["boat"], "comment": "The ferryman", "content": "Old.",
    "constant": False, "vectorized": False, "selective": True, "selectiveLogic": 3, "addMemo": True, "order": 250,
    "position": 4, "disable": False, "ignoreBudget": True, "excludeRecursion": True, "preventRecursion": True,
    "delayUntilRecursion": True, "probability": 30, "useProbability": True, "depth": 2, "role": 1, "outletName": "o",
    "group": "boats, men", "groupOverride": True, "groupWeight": 7, "useGroupScoring": None, "scanDepth": 9,
    "caseSensitive": True, "matchWholeWords": False, "automationId": "q", "sticky": 3, "cooldown": 5, "delay": 2,
    "triggers": ["swipe"], "characterFilter": {"isExclude": False, "names": ["a"], "tags": []}, "displayIndex": 4,
    "STMB_order": {"deep": [1]}, "matchScenario": True,
}  # fmt: skip
BARE: dict[str, Any] = {"content": "Bare.", "key": [], "caseSensitive": None, "useProbability": False, "probability": 5}
UNSELECTIVE = {"key": ["x"], "keysecondary": ["y"], "selective": False, "order": "7", "disable": True, "comment": "U"}
WORLD = {
    "originalData": {"any": 1},
    "entries": {"12": GRIM, "0": BARE, "x/1": UNSELECTIVE},
    "name": "Harbour",
    "stmemorybooks": True,
}
CARD_ENTRY = {
    "id": 3, "keys": ["Tess"], "secondary_keys": ["ship"], "comment": "", "content": "Captain.", "constant": True,
    "selective": True, "insertion_order": 10, "enabled": False, "position": "after_char", "use_regex": True,
    "case_sensitive": True, "priority": 4, "name": "Captain Tess", "extensions": {"depth": 3, "other": {"kept": True}},
}  # fmt: skip
CARD: dict[str, Any] = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Tess",
        "character_book": {
            "name": "Tess's",
            "scan_depth": 3,
            "extensions": {},
            "entries": [CARD_ENTRY, {"keys": ["b"]}],
        },
        "tags": [],
    },
    "more": 1,
}
PLAIN = [{"name": "Alice", "type": "character", "keywords": ["Alice", "Al"], "content": "Brave.", "seen": 3}]


def written(value: object) -> str:
    """A JSON value with its order of fields."""
    return json.dumps(value)


def test_a_world_info_entry_is_read() -> None:
    book = read_book(WORLD)
    assert (book.name, [one.uid for one in book.entries]) == ("Harbour", ["Harbour/12", "Harbour/0", "Harbour/x/1"])
    grim, bare, unselective = book.entries
    assert grim == Entry(
        "Harbour/12", "The ferryman", "Old.", ("Grim", "/gr[ia]m/i"), secondary=("boat",), logic=Logic.AND_ALL,
        order=250, probability=30, case_sensitive=True, whole_words=False, scan_depth=9, sticky=3, cooldown=5, delay=2,
        exclude_recursion=True, prevent_recursion=True, delay_until_recursion=1, ignore_budget=True,
        comment="The ferryman", book="Harbour", form="world-info", extra=GRIM,
    )  # fmt: skip
    assert bare == Entry("Harbour/0", "entry Harbour/0", "Bare.", book="Harbour", form="world-info", extra=BARE)
    assert (unselective.secondary, unselective.order, unselective.enabled) == ((), 7, False)


def test_a_card_s_entry_is_read() -> None:
    first, second = read_book(CARD, "mine").entries
    assert first == Entry(
        "mine/3", "Captain Tess", "Captain.", ("Tess",), secondary=("ship",), constant=True, enabled=False, order=10,
        case_sensitive=True, book="mine", form="character-book", extra=CARD_ENTRY,
    )  # fmt: skip
    assert (second.uid, second.name) == ("mine/1", "b")
    by_extension = {
        **CARD_ENTRY,
        "selective": None,
        "extensions": {"case_sensitive": False, "match_whole_words": False},
    }
    (third,) = read_book({"entries": [by_extension]}).entries
    assert (third.secondary, third.case_sensitive, third.whole_words) == ((), False, False)


def test_our_own_list_is_read() -> None:
    (alice,) = read_book(PLAIN).entries
    assert alice == Entry(
        "story/character/alice", "Alice", "Brave.", ("Alice", "Al"), type="character", form="plain", extra=PLAIN[0]
    )
    twice = read_book([{"name": "The  Pier"}, {"name": "the pier", "keywords": []}, {"name": "x", "type": "item"}], "b")
    assert [one.uid for one in twice.entries] == ["b/lore/the-pier", "b/lore/the-pier-2", "b/item/x"]
    assert [one.keys for one in twice.entries] == [("The  Pier",), (), ("x",)]


BOOK = CARD["data"]["character_book"]
V3 = {"spec": "lorebook_v3", "data": BOOK, "x": 1}


@pytest.mark.parametrize("given", [WORLD, CARD, PLAIN, V3, BOOK, {"entries": {}}, {"entries": []}, []])
def test_what_was_not_changed_is_written_as_it_was_read(given: Any) -> None:
    before = written(given)
    assert written(rewritten(given, read_book(given))) == before
    assert written(given) == before


def test_only_what_changed_is_changed() -> None:
    book = read_book(WORLD)
    grim, bare, unselective = book.entries
    changed = replace(
        book,
        entries=(
            replace(grim, content="New.", enabled=False),
            replace(bare, probability=40, name="Bare one"),
            replace(unselective, secondary=("z",), type="item"),
        ),
    )
    assert world_info(changed)["entries"] == {
        "12": {**GRIM, "content": "New.", "disable": True},
        "0": {**BARE, "probability": 40, "useProbability": True, "extensions": {"previously": {"name": "Bare one"}}},
        "x/1": {
            **UNSELECTIVE,
            "keysecondary": ["z"],
            "selective": True,
            "extensions": {"previously": {"type": "item"}},
        },
    }
    assert read_book(world_info(changed)).entries == tuple(
        replace(one, extra=extra)
        for one, extra in zip(changed.entries, world_info(changed)["entries"].values(), strict=True)
    )


def test_new_entries_get_free_numbers_and_old_ones_keep_theirs() -> None:
    new = Entry("story/character/alice", "Alice", "Brave.", ("Al",), type="character", sticky=2)
    other = read_book({"entries": {"12": {"key": ["k"]}}}).entries
    book = Book("B", (new, *read_book(WORLD).entries, *other))
    made = world_info(book)
    assert list(made["entries"]) == ["2", "12", "0", "x/1", "3"]
    alice = made["entries"]["2"]
    assert list(alice) == [*WORLD_INFO.template, "extensions"]
    assert (alice["uid"], alice["comment"], alice["sticky"]) == (2, "Alice", 2)
    assert made["entries"]["3"] == {"key": ["k"], "uid": 3}
    (read,) = (one for one in read_book(made).entries if one.uid == "B/2")
    assert (read.name, read.type, read.keys, read.sticky) == ("Alice", "character", ("Al",), 2)
    card = character_book(Book("B", (new,)))
    assert list(card["entries"][0])[: len(CHARACTER_BOOK.template)] == list(CHARACTER_BOOK.template)
    assert read_book(card).entries[0].type == "character"


def test_what_was_read_is_not_touched_by_writing() -> None:
    raw = {"key": ["k"], "extensions": {"previously": {"name": "Old"}, "other": 1}}
    book = read_book({"entries": {"1": raw}})
    (entry,) = book.entries
    made = world_info(replace(book, entries=(replace(entry, name="New"),)))["entries"]["1"]
    assert made["extensions"] == {"previously": {"name": "New"}, "other": 1}
    assert raw["extensions"] == {"previously": {"name": "Old"}, "other": 1}


def test_what_is_made_shares_nothing() -> None:
    first, second = (world_info(Book("B", (Entry("a", "A"),))) for _ in range(2))
    first["entries"]["0"]["triggers"].append("x")
    assert second["entries"]["0"]["triggers"] == []


def test_world_info_becomes_a_card_s_book_and_comes_back_whole() -> None:
    full = {**WORLD_INFO.template, **GRIM, "extensions": {"mine": 1}}
    world = {"entries": {"12": full}, "name": "Harbour", "stmemorybooks": True}
    card = character_book(read_book(world))
    (entry,) = card["entries"]
    assert (entry["id"], entry["position"], entry["insertion_order"], entry["enabled"]) == (12, "after_char", 250, True)
    extensions = entry["extensions"]
    assert extensions["position"] == 4
    assert extensions["selectiveLogic"] == 3
    assert (extensions["group_override"], extensions["mine"], extensions["match_scenario"]) == (True, 1, True)
    assert card["stmemorybooks"] is True
    back = world_info(read_book(card))
    assert back == {**world, "entries": {"12": {**full, "delayUntilRecursion": 1}}}


def test_a_card_s_book_becomes_world_info_and_comes_back_whole() -> None:
    world = world_info(read_book(CARD))
    tess = world["entries"]["3"]
    assert (tess["position"], tess["depth"], tess["disable"], tess["order"]) == (1, 3, True, 10)
    assert tess["extensions"]["other"] == {"kept": True}
    (first, _) = read_book(world).entries
    (again, _) = read_book(character_book(read_book(world))).entries
    original = read_book(CARD).entries[0]
    for one in (first, again):
        assert replace(one, extra={}, form="") == replace(original, extra={}, form="")
    assert again.extra["priority"] == 4
    assert again.extra["extensions"]["other"] == {"kept": True}


UNREADABLE = "The entry book/%s cannot be read: %s"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, "A book must be an object or a list of entries, not null."),
        ("x", "A book must be an object or a list of entries, not text."),
        ({}, 'A book must hold "entries" as an object or a list, not null.'),
        ({"entries": 3}, 'A book must hold "entries" as an object or a list, not a number.'),
        ({"spec": "chara_card_v2", "data": {}}, "This character card has no book."),
        (
            {"lorebookVersion": 5, "entries": []},
            "This is a NovelAI lorebook; only World Info, character books and plain lists of entries are read.",
        ),
        ({"entries": {"1": 3}}, "The entry book/1 cannot be read: it must be an object, not a number."),
        (
            {"name": "B", "entries": {"1": {"content": 3}}},
            'The entry B/1 cannot be read: "content" must be text, not a number.',
        ),
        ({"entries": {"1": {"key": "a"}}}, UNREADABLE % (1, '"key" must be a list of texts, not text.')),
        (
            {"entries": {"1": {"key": [1]}}},
            UNREADABLE % (1, '"key" must be a list of texts, not a number.'),
        ),
        ({"entries": {"1": {"order": "x"}}}, UNREADABLE % (1, '"order" must be a number, not text.')),
        ({"entries": {"1": {"order": 10**400}}}, UNREADABLE % (1, '"order" must be a number of ordinary size.')),
        ({"entries": {"1": {"sticky": float("nan")}}}, UNREADABLE % (1, '"sticky" must be a number of ordinary size.')),
        ({"entries": {"1": {"selectiveLogic": 4}}}, UNREADABLE % (1, '"selectiveLogic" must be 0, 1, 2 or 3, not 4.')),
        ({"entries": {"1": {"constant": "no"}}}, UNREADABLE % (1, '"constant" must be true or false, not text.')),
        (
            {"entries": [{"keys": ["a"], "enabled": []}]},
            UNREADABLE % (0, '"enabled" must be true or false, not a list.'),
        ),
        ([{"content": "x"}], 'The entry story/0 cannot be read: "name" must be text, not null.'),
        ([{"name": " "}], 'The entry story/0 cannot be read: "name" is empty.'),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(given: object, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_book(given)
    assert str(refused.value) == sentence


NULL = st.none()
FLAGS = st.one_of(NULL, st.booleans())
NUMBERS = st.one_of(NULL, st.integers(-5, 300), st.floats(0, 100))
TEXTS = st.one_of(NULL, st.text(max_size=4))
LISTS = st.one_of(NULL, st.lists(st.text(max_size=3), max_size=2))
ANY = st.recursive(
    st.one_of(NULL, st.booleans(), st.integers(), st.text(max_size=3)),
    lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=3), one, max_size=2),
    max_leaves=4,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "key": LISTS, "keysecondary": LISTS, "comment": TEXTS, "content": TEXTS, "constant": FLAGS, "selective": FLAGS,
    "selectiveLogic": st.integers(0, 3), "order": NUMBERS, "disable": FLAGS, "probability": NUMBERS,
    "useProbability": FLAGS, "delayUntilRecursion": st.one_of(FLAGS, NUMBERS), "scanDepth": NUMBERS, "sticky": NUMBERS,
    "caseSensitive": FLAGS, "matchWholeWords": FLAGS, "group": ANY, "uid": ANY, "extensions": ANY, "other": ANY,
}  # fmt: skip


@settings(max_examples=cases(100))
@given(st.data())
def test_whatever_an_entry_holds_is_written_again(data: st.DataObject) -> None:
    names = data.draw(st.permutations(list(FIELDS)))[: data.draw(st.integers(0, len(FIELDS)))]
    raw = {name: data.draw(FIELDS[name]) for name in names}
    world = {
        "entries": {data.draw(st.one_of(st.integers(0, 99).map(str), st.text("0ab/", max_size=3))): raw},
        "name": data.draw(TEXTS),
    }
    try:
        book = read_book(world)
    except BadInput:
        return  # a name of ours in `extensions` that is no text
    assert written(world_info(book)) == written(world)
    card = character_book(book)
    there = read_book(card, book.name).entries[0]
    if there.uid == book.entries[0].uid:  # else it had no number, and may be named after its new one
        assert replace(there, extra={}, form="") == replace(book.entries[0], extra={}, form="")


ODD_ENTRIES = st.dictionaries(
    st.text(max_size=2), st.dictionaries(st.sampled_from([*FIELDS, "keys"]), ANY, max_size=4), max_size=2
)


@settings(max_examples=cases(100))
@given(st.one_of(ANY, st.fixed_dictionaries({"entries": st.one_of(ANY, ODD_ENTRIES)})))
def test_anything_is_read_or_refused(given_: object) -> None:
    try:
        book = read_book(given_)
    except BadInput as refused:
        assert str(refused).endswith(".")
    else:
        assert len({one.uid for one in book.entries}) == len(book.entries)
        assert written(rewritten(given_, book)) == written(given_) or isinstance(given_, list)
