"""Entries of lore, note after note: one thing is one entry, described whole, and what was said before stays at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from previously.core.note import LoreItem
from previously.core.tokens import estimate_tokens
from previously.lore.entry import MOST_CONTENT_TOKENS, LoreEntry
from previously.lore.keys import MOST_KEYWORDS
from previously.lore.merge import MOST_EARLIER_CONTENTS, Entries, find_entry, merge_items, write_entry

SEED = json.loads((Path(__file__).parents[1] / "folds" / "seed_002_examples.json").read_text("utf-8"))


def thing(name: str, content: str = "A thing.", *keywords: str, kind: str = "character") -> LoreItem:
    return LoreItem(name, kind, keywords or (name,), content)


def after(*things: LoreItem, most_live: int = 100) -> Entries:
    found: Entries = {}
    for position, one in enumerate(things, 1):
        found = merge_items(found, [one], position, most_live=most_live)
    return found


def only(entries: Entries) -> LoreEntry:
    assert len(entries) == 1, [one.name for one in entries.values()]
    return next(iter(entries.values()))


def test_the_scenes_of_the_seed_give_nine_entries_as_they_were_written() -> None:
    listed = [one for example in SEED["scenes"] for one in example["output"]["lorebooks"]]
    entries = after(*(LoreItem(one["name"], one["type"], tuple(one["keywords"]), one["content"]) for one in listed))
    assert len(entries) == 9
    for one in listed:
        entry = entries[one["name"].lower()]
        assert (entry.content, entry.type, entry.keywords[0]) == (one["content"], one["type"], one["name"])


def test_a_new_description_replaces_the_old_one_whole() -> None:
    entry = only(after(thing("Grim", "Gruff dwarf.", "Grim", "ale"), thing("GRIM", "Gruff smith.", "forge")))
    assert (entry.content, entry.earlier, entry.touched) == ("Gruff smith.", ("Gruff dwarf.",), 2)
    assert entry.keywords == ("Grim", "forge", "ale"), "the newest keywords first, behind the name"


def test_the_newest_type_corrects_the_older_one() -> None:
    entry = only(after(thing("The Wren", "A woman?"), thing("the wren", "A ship.", kind="vehicle")))
    assert (entry.type, entry.content) == ("item", "A ship.")


@pytest.mark.parametrize(
    ("given", "kind"),
    [("person", "character"), ("place", "location"), ("thing", "item"), ("group", "faction"), ("rule", "rule"),
     ("Character", "character"), ("whatever", "concept")],
)  # fmt: skip
def test_types_of_every_note_are_those_of_lore(given: str, kind: str) -> None:
    assert only(after(thing("Grim", kind=given))).type == kind


def test_a_person_is_the_same_under_a_short_name_that_the_full_one_lists() -> None:
    full = thing("Ilse Marrow", "Clockmaker.", "Ilse", "clock")
    for short, long in ((thing("Ilse", "A woman."), full), (full, thing("Ilse", "A woman."))):
        entry = only(after(short, long))
        assert (entry.name, entry.aliases) == ("Ilse Marrow", ("Ilse",))
    assert len(after(full, thing("Bram", "Clerk.", "Bram", "Ilse"), thing("Ilse", "Winds the clock."))) == 2
    assert len(after(thing("Ilse Marrow", "One.", "Ilse"), thing("Ilse Pell", "Two.", "Ilse"))) == 2


def test_a_place_among_the_keywords_is_another_thing() -> None:
    assert len(after(thing("Lethen harbour", "A port.", "Lethen", kind="place"), thing("Lethen", kind="place"))) == 2
    assert len(after(thing("Bob", "A smith.", "Bob", "Alice"), thing("Alice", "A pilot."))) == 2


def test_an_alias_of_two_is_nobodys() -> None:
    two = after(thing("Ilse Marrow", "One.", "Ilse"), thing("Ilse Pell", "Two.", "Ilse"))
    assert find_entry(two, "Ilse") is None
    assert find_entry(two, "ilse  MARROW") is two["ilse marrow"]


def test_what_is_kept_is_bounded() -> None:
    long = "Owns a boat of the northern fleet. " * 100
    many = [thing("Grim", f"{number}. {long}", f"key {number}x") for number in range(40)]
    entry = only(after(*many))
    assert estimate_tokens(entry.content) <= MOST_CONTENT_TOKENS
    assert (len(entry.earlier), len(entry.keywords)) == (MOST_EARLIER_CONTENTS, MOST_KEYWORDS)


def test_those_not_described_for_long_retire_and_come_back() -> None:
    entries = after(*(thing(f"Thing {number}", kind="item") for number in range(6)), most_live=4)
    assert [one.name for one in entries.values() if one.retired] == ["Thing 0", "Thing 1"]
    back = merge_items(entries, [thing("Thing 0", "Found again.", kind="item")], 9, most_live=4)
    assert [one.name for one in back.values() if one.retired] == ["Thing 1", "Thing 2"]


def test_what_says_nothing_is_no_entry() -> None:
    assert after(thing("  ", "A thing."), thing("Grim", "  ")) == {}


def test_a_person_writes_a_field_and_keeps_what_stood_there() -> None:
    entry = write_entry(only(after(thing("Grim", "Gruff dwarf."))), "Grim", "item", content="Mine.\n Byte for byte. ")
    assert (entry.content, entry.earlier, entry.type) == ("Mine.\n Byte for byte. ", ("Gruff dwarf.",), "item")
    assert entry.locked == {"name", "type", "content"}
