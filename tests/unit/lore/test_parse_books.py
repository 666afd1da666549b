"""Books in files: what is read and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.lore.books import parse_book, split_directives
from previously.lore.entry import CharacterFilter, EntryPosition, KeyedEntry, SecondaryLogic
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


def test_a_world_info_entry_is_read() -> None:
    book = parse_book(WORLD)
    assert (book.name, [one.uid for one in book.entries]) == ("Harbour", ["Harbour/12", "Harbour/0", "Harbour/x/1"])
    grim, bare, unselective = book.entries
    assert grim == KeyedEntry(
        "Harbour/12", "The ferryman", "Old.", ("Grim", "/gr[ia]m/i"), secondary=("boat",), logic=SecondaryLogic.AND_ALL,
        order=250, probability=30, case_sensitive=True, whole_words=False, scan_depth=9, sticky=3, cooldown=5, delay=2,
        exclude_recursion=True, prevent_recursion=True, delay_until_recursion=1, ignore_budget=True,
        comment="The ferryman", book="Harbour", position=EntryPosition.AT_DEPTH, depth=2, role=1, outlet="o",
        groups=("boats", "men"), group_override=True, group_weight=7, characters=CharacterFilter(("a",)),
        triggers=("swipe",), match_scenario=True,
    )  # fmt: skip
    assert bare == KeyedEntry("Harbour/0", "entry Harbour/0", "Bare.", book="Harbour")
    assert (unselective.secondary, unselective.order, unselective.enabled) == ((), 7, False)


def test_a_card_s_entry_is_read() -> None:
    first, second = parse_book(CARD, "mine").entries
    assert first == KeyedEntry(
        "mine/3", "Captain Tess", "Captain.", ("Tess",), secondary=("ship",), constant=True, enabled=False, order=10,
        case_sensitive=True, book="mine", position=EntryPosition.AFTER_CHARACTER, depth=3,
    )  # fmt: skip
    assert (second.uid, second.name) == ("mine/1", "b")
    by_extension = {
        **CARD_ENTRY,
        "selective": None,
        "extensions": {"case_sensitive": False, "match_whole_words": False},
    }
    (third,) = parse_book({"entries": [by_extension]}).entries
    assert (third.secondary, third.case_sensitive, third.whole_words) == ((), False, False)


@pytest.mark.parametrize(
    ("content", "obeyed", "rest"),
    [
        ("Plain.", (), "Plain."),
        ("@@activate\nText.", ("activate",), "Text."),
        ("@@depth 5\n@@@dont_activate\nText.", ("dont_activate",), "Text."),
        ("@@activate\n@@@dont_activate\nText.", ("activate",), "Text."),
        ("@@depth 5\n@@@role user\n@@@activate\nMore @@ here.", ("activate",), "More @@ here."),
        ("@@activate", ("activate",), ""),
    ],
)
def test_directives_before_a_content(content: str, obeyed: tuple[str, ...], rest: str) -> None:
    before, names, text = split_directives(content)
    assert (before + text, names, text) == (content, obeyed, rest)
    (parsed,) = parse_book({"entries": {"1": {"key": ["x"], "content": content}}}).entries
    assert (parsed.directives, parsed.decorators, parsed.content) == (before, names, text)


def test_our_own_list_is_read() -> None:
    (alice,) = parse_book(PLAIN).entries
    assert alice == KeyedEntry("story/character/alice", "Alice", "Brave.", ("Alice", "Al"), type="character")
    twice = parse_book(
        [{"name": "The  Pier"}, {"name": "the pier", "keywords": []}, {"name": "x", "type": "item"}], "b"
    )
    assert [one.uid for one in twice.entries] == ["b/lore/the-pier", "b/lore/the-pier-2", "b/item/x"]
    assert [one.keys for one in twice.entries] == [("The  Pier",), (), ("x",)]


BOOK = CARD["data"]["character_book"]
V3 = {"spec": "lorebook_v3", "data": BOOK, "x": 1}


@pytest.mark.parametrize("given", [CARD, V3, BOOK])
def test_a_card_s_book_is_found_wherever_it_stands(given: Any) -> None:
    assert parse_book(given) == parse_book(BOOK)
    assert parse_book(given).name == "Tess's"


@pytest.mark.parametrize("given", [{"entries": {}}, {"entries": []}, []])
def test_a_book_may_be_empty(given: Any) -> None:
    assert parse_book(given).entries == ()


def test_a_list_of_world_info_entries_is_known_by_its_keys() -> None:
    (grim,) = parse_book({"entries": [GRIM]}, "Harbour").entries
    assert grim == parse_book(WORLD).entries[0]


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
        parse_book(given)
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


ODD_ENTRIES = st.dictionaries(
    st.text(max_size=2), st.dictionaries(st.sampled_from([*FIELDS, "keys"]), ANY, max_size=4), max_size=2
)


@settings(max_examples=cases(100))
@given(st.one_of(ANY, st.fixed_dictionaries({"entries": st.one_of(ANY, ODD_ENTRIES)})))
def test_anything_is_read_or_refused(given_: object) -> None:
    try:
        book = parse_book(given_)
    except BadInput as refused:
        assert str(refused).endswith(".")
    else:
        assert len({one.uid for one in book.entries}) == len(book.entries)
