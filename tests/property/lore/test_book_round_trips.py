"""Random books: they turn into the other form and back, keep what is unknown, and change one field at a time."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from previously.formats.convert_book import convert_book
from previously.formats.write_book import write_book
from previously.lore.book_changes import change_book, compare_books
from previously.lore.books import CHARACTER_BOOK, WORLD_INFO, parse_book
from tests.effort import cases

WORDS = st.text("ab ,{}/ü", max_size=6)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=3,
)
FLAG = st.none() | st.booleans()
COUNT = st.none() | st.integers(0, 9)

WORLD_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "key": st.lists(WORDS, max_size=3), "keysecondary": st.lists(WORDS, max_size=2), "comment": WORDS, "content": WORDS,
    "constant": FLAG, "vectorized": FLAG, "selective": FLAG, "selectiveLogic": st.integers(0, 3), "addMemo": FLAG,
    "order": st.integers(-3, 300) | st.floats(0, 9), "position": st.none() | st.integers(0, 7), "disable": FLAG,
    "ignoreBudget": FLAG, "excludeRecursion": FLAG, "preventRecursion": FLAG, "delayUntilRecursion": FLAG | COUNT,
    "probability": st.integers(0, 100), "useProbability": FLAG, "depth": COUNT, "role": st.none() | st.integers(0, 2),
    "outletName": WORDS, "group": WORDS, "groupOverride": FLAG, "groupWeight": COUNT, "useGroupScoring": FLAG,
    "scanDepth": COUNT, "caseSensitive": FLAG, "matchWholeWords": FLAG, "automationId": WORDS, "sticky": COUNT,
    "cooldown": COUNT, "delay": COUNT, "triggers": st.lists(st.sampled_from(["normal", "swipe"]), max_size=2),
    "characterFilter": st.none() | st.just({"isExclude": False, "names": ["Tess"], "tags": []}), "displayIndex": COUNT,
    "matchScenario": FLAG, "STMB_start": ANYTHING,
    "extensions": st.dictionaries(st.sampled_from(["x", "depth"]), ANYTHING),
}  # fmt: skip
CARD_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "keys": st.lists(WORDS, max_size=3), "secondary_keys": st.lists(WORDS, max_size=2), "comment": WORDS,
    "content": WORDS, "constant": FLAG, "selective": FLAG, "insertion_order": st.integers(0, 300), "enabled": FLAG,
    "use_regex": FLAG, "position": st.none() | st.sampled_from(["before_char", "after_char"]), "name": WORDS,
    "priority": COUNT, "case_sensitive": FLAG, "id": st.none() | st.integers(0, 90) | WORDS, "odd": ANYTHING,
    "extensions": st.fixed_dictionaries(
        {},
        optional={"depth": COUNT, "position": st.none() | st.integers(0, 7), "group": WORDS, "sticky": COUNT,
                  "selectiveLogic": st.integers(0, 3), "mine": ANYTHING},
    ),
}  # fmt: skip
REST = st.dictionaries(st.sampled_from(["name", "description", "unknown", "scan_depth"]), WORDS, max_size=3)


@st.composite
def shuffled(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    """An entry with some of the fields, in any order."""
    names = draw(st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=12))
    return {name: draw(fields[name]) for name in names}


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    uids = draw(st.lists(st.integers(0, 99), unique=True, max_size=4))
    entries = {str(uid): draw(shuffled(WORLD_FIELDS)) | {"uid": uid} for uid in uids}
    return {**draw(REST), "entries": entries}


@st.composite
def cards(draw: st.DrawFn) -> dict[str, Any]:
    return {**draw(REST), "entries": [draw(shuffled(CARD_FIELDS)) for _ in range(draw(st.integers(0, 4)))]}


def exact(value: object) -> str:
    """A text that tells null from false, 1 from true, and one order from another."""
    return json.dumps(value, ensure_ascii=False)


@settings(max_examples=cases(60))
@given(worlds())
def test_world_info_goes_into_a_card_and_comes_back(book: dict[str, Any]) -> None:
    before = exact(book)
    there = convert_book(book, CHARACTER_BOOK, "b")
    assert exact(book) == before
    assert exact(convert_book(there, WORLD_INFO, "b")) == before
    meant = [parse_book(one, "b").entries for one in (book, there)]
    if not any("/" in key for one in book["entries"].values() for key in one.get("key", ())):
        assert [_meaning(one) for one in meant[0]] == [_meaning(one) for one in meant[1]]


def _meaning(entry: Any) -> tuple[Any, ...]:
    return entry.keys, entry.content, entry.constant, entry.enabled, entry.position, entry.groups, entry.sticky


@settings(max_examples=cases(60))
@given(cards())
def test_a_card_s_book_becomes_world_info_and_comes_back(book: dict[str, Any]) -> None:
    before = exact(book)
    there = convert_book(book, WORLD_INFO, "b")
    back = convert_book(there, CHARACTER_BOOK, "b")["data"]
    if len(there["entries"]) == len(book["entries"]):  # two of one number are one in World Info
        assert exact(back) == before


@settings(max_examples=cases(60))
@given(worlds() | cards())
def test_what_goes_out_twice_is_the_same_to_the_byte(book: dict[str, Any]) -> None:
    for form in (WORLD_INFO, CHARACTER_BOOK):
        first = exact(write_book(form, "b", parse_book(book, "b").entries, book))
        parsed = json.loads(first)
        assert exact(write_book(form, "b", parse_book(parsed, "b").entries, parsed)) == first


CHANGES: dict[str, Any] = {
    "content": "other words", "keys": ("one", "two"), "order": 7, "enabled": False, "constant": True, "sticky": 5,
    "name": "Renamed", "groups": ("g", "h"), "probability": 40, "depth": 2,
}  # fmt: skip


@settings(max_examples=cases(60))
@given(worlds() | cards(), st.sampled_from(sorted(CHANGES)), st.data())
def test_one_field_changed_is_one_field_changed(book: dict[str, Any], attribute: str, data: st.DataObject) -> None:
    entries = parse_book(book, "b").entries
    if not entries:
        return
    place = data.draw(st.integers(0, len(entries) - 1))
    changed, entry = change_book(book, "b", entries[place].uid, {attribute: CHANGES[attribute]})
    assert getattr(entry, attribute) == CHANGES[attribute]
    told = compare_books(book, changed, "b")
    # An entry without name or comment goes by its keys.
    fields = {change.field for change in told} - ({"name"} if attribute == "keys" else set())
    assert fields <= {attribute}
    assert {change.uid for change in told} <= {entries[place].uid}
    assert compare_books(changed, copy.deepcopy(changed), "b") == []
    raw, was = (_list_raw(one) for one in (changed, book))
    assert [exact(one) for at, one in enumerate(raw) if at != place] == [
        exact(one) for at, one in enumerate(was) if at != place
    ]
    assert {key: value for key, value in changed.items() if key != "entries"} == {
        key: value for key, value in book.items() if key != "entries"
    }


def _list_raw(book: dict[str, Any]) -> list[Any]:
    entries = book["entries"]
    return list(entries.values()) if isinstance(entries, dict) else entries
