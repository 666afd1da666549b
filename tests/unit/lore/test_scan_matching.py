"""What counts as a key found: words and their edges, case, Unicode, patterns; and that the index finds what looking for
each key alone would find, however it came about."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.lore import index as lore_index
from previously.lore import keys as keys_module
from previously.lore.decisions import ScanInput, ScanMessage
from previously.lore.entry import KeyedEntry, SecondaryLogic
from previously.lore.index import LoreIndex, build_index
from previously.lore.keys import Comparison, prepare_key, prepare_text
from previously.lore.scan import scan
from tests.effort import cases
from tests.unit.lore.naive import mentioned


def fires(key: str, text: str, *, quirks: bool = False, **options: bool) -> bool:
    """Whether an entry with this one key fires for a message."""
    entry = KeyedEntry("b/1", "it", "told", (key,), **options)  # type: ignore[arg-type]
    return bool(scan([entry], ScanInput((ScanMessage(text),)), quirks=quirks).fired)


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("Grim", "the grim reaper", True),
        ("Grim", "Grim's boat", True),
        ("Grim", "(Grim)", True),
        ("Grim", "grimace", False),
        ("Grim", "pilgrim", False),
        ("Grim", "grim_reaper", False),
        ("Grim", "grim2", False),
        ("Grim", "a grimace, then Grim", True),
        ("grim reaper", "the Grim Reaper came", True),
        ("grim reaper", "a pilgrim reaper", False),
        ("grim reaper", "grim reapers", False),
        ("  Grim ", "Grim", True),
        ("C++", "he knows C++.", True),
        ("🔥", "hot🔥hot", True),
        ("Straße", "in der STRASSE", True),
        ("strasse", "die Straße", True),
        ("José", "Jose\u0301 came", True),
        ("Jose\u0301", "JOSÉ came", True),
        ("Jose", "José came", False),
        ("ΟΔΟΣ", "η οδος", True),
        ("été", "étés", False),
        ("Жук", "жуки", False),
        ("Жук", "это жук.", True),
        ("नम", "नमस्ते", False),
        ("नम", "नमी", False),
        ("नमी", "नमी है", True),
        ("x", "x\u030c", False),
        ("東京", "東京都に行く", True),
        ("タワー", "東京タワーで", True),
        ("กรุงเทพ", "ไปกรุงเทพกัน", True),
        ("철수", "철수는 갔다", True),
        ("HP", "最大HPは", True),
        ("می", "می‌خواهم", False),
    ],
)
def test_whole_words_in_any_script(key: str, text: str, found: bool) -> None:
    assert fires(key, text) is found


@pytest.mark.parametrize(
    ("key", "text", "options", "found"),
    [
        ("grim", "grimace", {"whole_words": False}, True),
        ("Grim", "grim", {"case_sensitive": True}, False),
        ("Grim", "Grim", {"case_sensitive": True}, True),
        ("Grim", "Grimace", {"case_sensitive": True}, False),
        ("Jose\u0301", "José", {"case_sensitive": True}, True),
        # one character of the text is found whole or not at all
        ("s", "ß", {"whole_words": False}, False),
        ("ss", "ß", {"whole_words": False}, True),
        ("fi", "ﬁne", {"whole_words": False}, True),
        ("f", "ﬁne", {"whole_words": False}, False),
        ("s", "ßas", {"whole_words": False}, True),
        ("i", "İ", {"whole_words": False}, False),
    ],
)
def test_case_and_parts_of_words(key: str, text: str, options: dict[str, bool], found: bool) -> None:
    assert fires(key, text, **options) is found


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("/gr[ae]y/", "grey", True),
        ("/gr[ae]y/", "Grey", False),
        ("/gr[ae]y/i", "GREY", True),
        ("/^Bob/m", "x\nBob", True),
        ("/^Bob/", "x\nBob", False),
        ("/a.b/", "a\nb", False),
        ("/a.b/s", "a\nb", True),
        ("/a.b/gimsu", "A\nB", True),
        ("/and\\/or/", "and/or", True),
        ("/a/b/", "a/b", False),
        ("/a/b/", "so /a/b/ it is", True),
        ("/x/v", "x", False),
        ("/\\u0041\\u{42}/", "AB", True),
        ("/[\\u0041-\\u0043]{3}/", "ABC", True),
        ("/a[^]b/", "a\nb", True),
        ("/a[]b/", "a]b", False),
        ("/[a[]x/", "[x", True),
        ("/(?<who>Ann)/", "Ann", True),
        ("/\\x01Ann:[^\\x01]*?cold/", "cold", False),
        ("/(?=grim)/", "grim (?=grim)", False),
        ("/(a)\\1/", "aa", False),
    ],
)
def test_patterns(key: str, text: str, found: bool) -> None:
    assert fires(key, text) is found


def test_a_pattern_can_ask_who_speaks_and_reach_over_messages() -> None:
    messages = (ScanMessage("it is hot", "Ann"), ScanMessage("how cold", "Bob"))
    speaks = KeyedEntry("b/1", "Bob is cold", "x", (r"/\x01Bob:[^\x01]*?cold/",))
    other = KeyedEntry("b/2", "Ann is cold", "x", (r"/\x01Ann:[^\x01]*?cold/",))
    over = KeyedEntry("b/3", "both", "x", (r"/hot[\s\S]*cold/",))
    near = KeyedEntry("b/4", "near", "x", (r"/hot[\s\S]*cold/",), scan_depth=1)
    found = scan([speaks, other, over, near], ScanInput(messages, message_count=10))
    assert {one.entry.uid: one.reason for one in found.fired} == {
        "b/1": r'key "/\x01Bob:[^\x01]*?cold/" in message 8 by Bob',
        "b/3": r'key "/hot[\s\S]*cold/" in message 9 by Ann',
    }


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("grim reaper", "a pilgrim reapers", True),  # a key with a space is found anywhere
        ("Grim", "grimace", False),
        ("Grim", "éGrimé", True),  # only English letters make words
        ("Жук", "жуки", True),
        ("C++", "C++11", False),
        ("José", "Jose\u0301", False),
        ("Straße", "STRASSE", False),
        ("/(?=grim)/", "so /(?=grim)/ it is", True),  # what is no valid pattern is text
        ("/gr[ae]y/", "Grey", False),
    ],
)
def test_as_sillytavern_matches(key: str, text: str, found: bool) -> None:
    assert fires(key, text, quirks=True) is found


def test_no_character_that_grows_when_folded_is_overlooked() -> None:
    grows = [chr(one) for one in range(sys.maxunicode + 1) if len(chr(one).casefold()) > 1]
    assert [one for one in grows if not keys_module._MAY_GROW.match(one)] == []
    assert prepare_text("aßb", Comparison.CASEFOLD).inside == {2}


def test_equal_keys_are_one_key() -> None:
    assert prepare_key("GRIM ") == prepare_key("grim")
    assert prepare_key("grim") != prepare_key("grim", whole_words=False)
    assert prepare_key("/a/i") == prepare_key("/a/i", case_sensitive=True)


LETTERS = st.sampled_from("aabbcA Bß_-éE\u0301ŉǰ東がกิΣσςİ1\u200d🔥")
WORDS = st.text(LETTERS, min_size=1, max_size=4)
PATTERNS = st.sampled_from(["/a+b/", "/(a|b)*c/", "/^\\x01b/", "/[^a]$/", "/b[\\s\\S]*a/"])
KEYS = st.one_of(WORDS, WORDS, WORDS, PATTERNS)


@st.composite
def lore(draw: st.DrawFn) -> list[KeyedEntry]:
    """Entries whose keys overlap, contain and repeat each other."""
    return [
        KeyedEntry(
            f"b/{number}",
            f"entry {number}",
            "told",
            tuple(draw(st.lists(KEYS, min_size=1, max_size=3))),
            secondary=tuple(key for key in draw(st.lists(KEYS, max_size=2)) if key.strip()),
            logic=draw(st.sampled_from(SecondaryLogic)),
            case_sensitive=draw(st.booleans()),
            whole_words=draw(st.booleans()),
            scan_depth=draw(st.sampled_from([None, None, 0, 1, 3])),
        )
        for number in range(draw(st.integers(1, 8)))
    ]


MESSAGES = st.lists(st.text(LETTERS, max_size=12), max_size=4)


def fired(found_by: LoreIndex | list[KeyedEntry], messages: list[str]) -> set[str]:
    """Who fires for these messages, read two deep."""
    turn = ScanInput(tuple(ScanMessage(text) for text in messages), depth=2, recursion=False)
    return {one.entry.uid for one in scan(found_by, turn).fired}


@settings(max_examples=cases(200))
@given(lore(), MESSAGES)
def test_the_index_finds_what_looking_key_by_key_finds(entries: list[KeyedEntry], messages: list[str]) -> None:
    assert fired(entries, messages) == {one.uid for one in entries if mentioned(one, messages, 2)}


@settings(max_examples=cases(100))
@given(lore(), MESSAGES, st.integers(0, 2))
def test_keys_that_are_set_apart_are_found_all_the_same(
    monkeypatch: pytest.MonkeyPatch, entries: list[KeyedEntry], messages: list[str], most: int
) -> None:
    monkeypatch.setattr(lore_index, "MOST_NESTED", most)
    assert fired(entries, messages) == {one.uid for one in entries if mentioned(one, messages, 2)}


@settings(max_examples=cases(100))
@given(st.data(), lore(), MESSAGES)
def test_an_index_that_grew_finds_what_a_new_one_finds(
    data: st.DataObject, entries: list[KeyedEntry], messages: list[str]
) -> None:
    index = build_index([])
    expected: dict[str, KeyedEntry] = {}
    for _ in range(data.draw(st.integers(1, 6))):
        uids = st.lists(st.integers(0, 11).map(lambda number: f"b/{number}"), max_size=3)
        changed = [replace(data.draw(st.sampled_from(entries)), uid=uid) for uid in data.draw(uids)]
        if data.draw(st.booleans()):
            changed = [replace(one, enabled=data.draw(st.booleans()), delay_until_recursion=1) for one in changed]
        removed = data.draw(uids)
        before = dict(index.entries)
        grown = index.with_entries(changed, removed)
        assert index.entries == before
        for uid in removed:
            expected.pop(uid, None)
        expected |= {one.uid: one for one in changed}
        index = grown
    new = build_index(expected.values())
    assert list(index.entries.items()) == list(new.entries.items()) == list(expected.items())
    assert index.levels == new.levels
    turn = ScanInput(tuple(ScanMessage(text) for text in messages), depth=2)
    assert scan(index, turn).fired == scan(new, turn).fired
    assert scan(index, turn).explain_all() == scan(new, turn).explain_all()


def test_one_new_entry_builds_little_anew() -> None:
    index = build_index(KeyedEntry(f"b/{number}", "x", "told", (f"key{number}",)) for number in range(1_000))
    large = index.segments[0]
    for number in range(200):
        index = index.with_entries([KeyedEntry(f"new/{number}", "x", "told", (f"new{number}",))])
        assert index.segments[0] is large
        assert len(index.segments) <= 6
    assert fired(index, ["key7 new3 new199"]) == {"b/7", "new/3", "new/199"}


def test_a_change_of_content_builds_nothing_anew() -> None:
    index = build_index(KeyedEntry(f"b/{number}", "x", "told", (f"key{number}",)) for number in range(10))
    changed = index.with_entries([replace(index.entries["b/3"], content="told anew")])
    assert changed.segments == index.segments
    (told,) = scan(changed, ScanInput((ScanMessage("key3"),))).fired
    assert told.entry.content == "told anew"
