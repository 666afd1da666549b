"""Patterns and texts made to hurt, and very many entries: the work stays small, whatever is thrown at it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.lore.books import parse_book
from previously.lore.decisions import ScanInput, ScanMessage
from previously.lore.entry import KeyedEntry, find_problems
from previously.lore.index import MOST_NESTED, build_index, find_nested
from previously.lore.keys import LONGEST_PATTERN, MOST_FILTERED, RegexSet, parse_regex
from previously.lore.scan import scan
from tests.effort import cases

HOSTILE = [
    "(a+)+$",
    "(x*)*y",
    "(a|aa)+$",
    "(a|a?)+b",
    "([a-zA-Z]+)*$",
    "(.*a){12}",
    r"(\w+\s?)+$",
    "((a*)*)*b",
    "(x+x+)+y",
    ".*.*.*.*=.*",
    "(a|b)*a(a|b){12}",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
]
TOO_LARGE = ["/[a-z]{0,1000}q/", "/(a?){500}a{500}/", "/(.{1,9}){1,100}q/", r"/\p{L}{1,20}z/", "/((a{30}){30}){30}/"]


def test_two_hundred_hostile_patterns_on_a_hostile_text() -> None:
    lore = [
        KeyedEntry(
            f"b/{number}", HOSTILE[number % len(HOSTILE)], "told", (f"/{HOSTILE[number % len(HOSTILE)]}|q{number}/",)
        )
        for number in range(200)
    ]
    found = scan(lore, ScanInput((ScanMessage("a" * 16_000 + "!"),), recursion=False))
    assert {one.entry.name for one in found.fired} == {"([a-zA-Z]+)*$", "(.*a){12}", "(a|b)*a(a|b){12}"}
    assert len(found.fired) == 50


def test_patterns_that_unroll_to_too_much_are_refused_and_say_so() -> None:
    for key in TOO_LARGE:
        (problem,) = find_problems(KeyedEntry("b/1", "x", "told", (key,)))
        assert problem.startswith(f"The key {key} cannot be used: ")
    long = f"/{'a' * (LONGEST_PATTERN + 1)}/"
    assert not scan([KeyedEntry("b/1", "x", "told", (long,))], ScanInput((ScanMessage("a" * 4_000),))).fired


ATOMS = ["a", "b", "ab", "[ab]", "a*", "(a|bb)", ".", "^a", "b$", "(?i)B", "é", "ſ", "k"]


@settings(max_examples=cases(100))
@given(
    st.lists(
        st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3).map("".join), min_size=1, max_size=5, unique=True
    ),
    st.text("abABéÉsk\u212a \n", max_size=12),
)
def test_a_group_finds_what_each_pattern_finds_alone(patterns: list[str], text: str) -> None:
    group = RegexSet(patterns)
    found = {one for one in group.likely(text) if group.first(one, text) is not None}
    assert found == {one for one in patterns if re2.search(one, text) is not None}


def test_where_the_filter_gives_up_every_pattern_is_tried() -> None:
    class GivesUp:
        def Match(self, text: str, potential: bool) -> None:  # noqa: N802
            return None

    group = RegexSet(["a", "b"])
    group._filters = [GivesUp()]
    assert list(group.likely("x")) == ["a", "b"]


def test_only_keys_between_slashes_are_patterns() -> None:
    assert [parse_regex(one) for one in ("a", "/", "//", "/a", "/a/b/", "/a/x", "")] == [None] * 7
    assert parse_regex(" /a/i ") is not None


def test_ten_thousand_entries_on_a_long_text() -> None:
    lore = [
        KeyedEntry(f"b/{number}", f"n{number}", "told", (f"name{number}", f"place {number}", f"Thing{number}x"))
        for number in range(10_000)
    ]
    index = build_index(lore)
    text = " ".join(f"name{number * 7} place {number} athing{number}x" for number in range(600))
    found = scan(index, ScanInput((ScanMessage(text),)))
    assert len(text) > 16_000
    expected = {f"b/{number * 7}" for number in range(600)} | {f"b/{number}" for number in range(600)}
    assert {one.entry.uid for one in found.fired} == expected
    assert set(found.decisions) == expected  # nobody else was looked at
    assert found.explain("b/9999").reason == "no key found in the newest 4 messages"


@pytest.mark.parametrize("quirks", [False, True])
def test_keys_that_end_in_one_another_do_not_flood_the_search(quirks: bool) -> None:
    lore = [
        *(KeyedEntry(f"part/{size}", "x", "told", ("a" * size,), whole_words=False) for size in range(1, 301)),
        *(KeyedEntry(f"whole/{size}", "x", "told", ("a" * size,)) for size in range(1, 301)),
        KeyedEntry("line", "x", "told", ("b a",), whole_words=False),
    ]
    index = build_index(lore, quirks=quirks)
    text = "a" * 16_000 + " " + "a" * 299 + "-b a"
    [automaton] = index.segments[0].casefold
    assert len(automaton.matcher.find_matches_as_indexes(text, overlapping=True)) <= MOST_NESTED * len(text)
    found = {one.entry.uid for one in scan(index, ScanInput((ScanMessage(text),), recursion=False)).fired}
    assert found == {*(f"part/{size}" for size in range(1, 301)), "whole/299", "whole/1", "line"}


def test_only_what_ends_in_too_many_others_is_set_apart() -> None:
    assert find_nested(["ann", "joann", "n", "anna", "zebra"]) == []
    assert find_nested("a" * size for size in range(1, 11)) == ["a" * 9, "a" * 10]
    assert find_nested([f"{letter}a" for letter in "bcdefghijkl"] + ["a"]) == []


def test_texts_no_encoder_takes_are_read_all_the_same() -> None:
    lore = [
        KeyedEntry("b/1", "x", "told \ud800", ("grim", "\ud800", "/\ud800/")),
        KeyedEntry("b/2", "x", "told", ("told",)),
    ]
    found = scan(lore, ScanInput((ScanMessage("Grim \ud800\x00"),), counter=len))
    assert [one.entry.uid for one in found.fired] == ["b/1", "b/2"]


def _spend(keys: list[str], text: str) -> float:
    """Return the CPU seconds from a file's entry with these keys to the second of two turns in which it comes up."""
    begun = time.process_time()
    (entry,) = parse_book({"entries": {"0": {"uid": 0, "key": keys, "content": "told"}}}, "b").entries
    find_problems(entry)
    index = build_index([entry])
    for number in range(2):
        index = index.with_entries([KeyedEntry(f"later/{number}", "y", "told", (f"other {number}",))])
        assert [one.entry.uid for one in scan(index, ScanInput((ScanMessage(text),))).fired] == [entry.uid]
    return time.process_time() - begun


@pytest.mark.parametrize(
    ("write_key", "few"),
    [("name{}".format, 10_000), ("{}name".format, 10_000), (r"/nam[e]{}\b/i".format, 500)],
    ids=["plain", "alike at their ends", "patterns"],
)
def test_ten_times_the_keys_of_one_entry_take_about_ten_times_as_long(
    write_key: Callable[[int], str], few: int
) -> None:
    spent = [
        _spend([write_key(number) for number in range(count)], "The lamp is out; name77 and 77name were there. " * 50)
        for count in (few, 10 * few)
    ]
    assert spent[1] < 30 * spent[0], spent  # a hundred times, were it quadratic


def test_a_key_ten_times_as_long_takes_about_ten_times_as_long() -> None:
    spent = [_spend(["x" * count, "é" * count, "name77"], "name77 " + "x" * 5_000) for count in (100_000, 1_000_000)]
    assert spent[1] < 30 * spent[0], spent


def test_patterns_in_several_filters_are_found_like_a_few() -> None:
    patterns = [f"nam[e]{number}x" for number in range(MOST_FILTERED * 2 + 10)]
    group = RegexSet(patterns)
    wanted = [patterns[0], patterns[MOST_FILTERED], patterns[-1]]
    text = " ".join(pattern.replace("[e]", "e") for pattern in wanted)
    assert [one for one in group.likely(text) if group.first(one, text) is not None] == wanted


def test_a_long_key_is_found_as_a_short_one_is() -> None:
    long = "the lamp " * 100 + "is out"
    entry = KeyedEntry("b/1", "x", "told", (long,))
    for text, expected in ((f"And {long.upper()}.", True), (f"And {long}side.", False), (long[1:], False)):
        assert bool(scan([entry], ScanInput((ScanMessage(text),))).fired) is expected
