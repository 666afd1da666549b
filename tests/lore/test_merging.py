"""Entries of lore, scene after scene: one thing is one entry, what holds is shown, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from previously.core.lore import Described, Scene
from previously.core.tokens import estimate_tokens
from previously.lore.merging import Entries, LoreEntry, merge, reduce_lore, written
from previously.lore.snapshot import lore_of, lore_text
from previously.lore.things import MOST_TOKENS

SEED = json.loads((Path(__file__).parents[1] / "folds" / "seed_002_examples.json").read_text("utf-8"))


MATERIALS = "ash brass clay damask ebony flint garnet hemp iron jade kelp linen marble nickel oak".split()


def thing(name: str, content: str = "", *keywords: str, kind: str = "character") -> Described:
    return Described(name, kind, keywords or (name,), content)


def after(*things: Described, entries: Entries | None = None, first: int = 1) -> Entries:
    found: Entries = entries or {}
    for source, one in enumerate(things, first):
        found = reduce_lore(found, Scene("", (one,)), source)
    return found


def only(entries: Entries) -> LoreEntry:
    assert len(entries) == 1, [one.name for one in entries.values()]
    return next(iter(entries.values()))


def test_the_scenes_of_the_seed_give_nine_entries_and_the_same_again_gives_no_more() -> None:
    entries: Entries = {}
    for source, example in enumerate(SEED["scenes"]):
        found = tuple(Described(one["name"], one["type"], tuple(one["keywords"]), one["content"])
                      for one in example["output"]["lorebooks"])  # fmt: skip
        entries = reduce_lore(entries, Scene("", found), source)
    assert len(entries) == 9
    for example in SEED["scenes"]:
        for one in example["output"]["lorebooks"]:
            entry = entries[one["name"].lower(), one["type"]]
            assert entry.content == one["content"], "as it was written"
            assert entry.keywords[0] == one["name"]


def test_name_and_type_make_an_entry_whatever_the_case_and_unicode_form() -> None:
    entries = after(
        thing("Cafe\u0301 Noir", "Dim bar.", kind="location"),
        thing("CAFÉ NOIR", "Serves bad coffee.", "the café", kind="location"),
        thing("The café noir", "Dim bar.", kind="location"),
    )
    entry = only(entries)
    assert entry.content == "Dim bar. Serves bad coffee."
    assert entry.touched == 3


def test_another_type_is_another_entry() -> None:
    assert len(after(thing("Lantern", "A lamp.", kind="item"), thing("Lantern", "An inn.", kind="location"))) == 2


def test_an_aspect_is_a_thing_of_its_own() -> None:
    entries = after(
        thing("Alice", "Warrior.", "Alice", kind="concept"),
        thing("Alice - Current Status", "Wounded.", "Alice", "alice", kind="concept"),
        thing("Alice & Bob", "Allies.", "Alice", kind="concept"),
    )
    assert len(entries) == 3


def test_a_related_name_among_the_keywords_unites_nothing() -> None:
    assert len(after(thing("Alice", "Warrior."), thing("Bob", "Friend of Alice.", "Bob", "Alice", "alice"))) == 2
    assert len(after(thing("Bob", "Friend of Alice.", "bob", "alice"), thing("Alice", "Warrior.", "alice"))) == 2


def test_a_generic_key_unites_nothing() -> None:
    entries = after(
        thing("Grim", "An old man who pours ale.", "Grim", "man"), thing("Man", "A man with a scythe.", "man")
    )
    assert len(entries) == 2


def test_an_everyday_word_for_someone_is_that_someone() -> None:
    entry = only(after(thing("Grim", "Dwarf bartender.", "Grim", "bartender"), thing("The Bartender", "Owes Bob ale.")))
    assert (entry.name, entry.aliases) == ("Grim", ("The Bartender",))
    assert entry.content == "Dwarf bartender. Owes Bob ale."


def test_who_was_called_by_an_everyday_word_takes_the_name_given_later() -> None:
    entry = only(after(thing("Bartender", "Pours ale."), thing("Grim", "Gruff bartender.", "Grim", "bartender")))
    assert (entry.name, entry.aliases, entry.keywords[0]) == ("Grim", ("Bartender",), "Grim")


def test_two_who_are_called_so_stay_apart() -> None:
    entries = after(
        thing("Grim", "Dwarf bartender.", "Grim", "bartender"),
        thing("Olga", "Tall bartender.", "Olga", "bartender"),
        thing("The Bartender", "Saw it all."),
    )
    assert len(entries) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (thing("King Aldric", "Rules."), thing("Aldric", "Is old.")),
        (thing("Shadow Guild", "Secret.", kind="faction"), thing("The Shadow Guild", "Old.", kind="faction")),
        (thing("Alice Thornwood", "Warrior.", "Alice Thornwood", "Alice"), thing("Alice", "Tall.")),
        (thing("Alice", "Warrior."), thing("Alice Thornwood", "Tall.", "Alice Thornwood", "Alice")),
        (thing("Scarface", "Bandit."), thing("Dorian Vale", "Also known as Scarface. Cruel.")),
    ],
)
def test_other_names_of_one_thing(first: Described, second: Described) -> None:
    assert len(only(after(first, second)).statements) >= 2


def test_two_people_with_one_first_name_stay_two() -> None:
    entries = after(
        thing("Alice", "Warrior."),
        thing("Alice Thornwood", "Tall.", "Alice Thornwood", "Alice"),
        thing("Alice Hill", "Short.", "Alice Hill", "Alice"),
    )
    assert [one.name for one in entries.values()] == ["Alice", "Alice Hill"]


def test_keywords_are_united_and_refined() -> None:
    entry = only(after(thing("Grim", "x y.", "bartender", "man"), thing("Grim", "", "dwarf", "BARTENDER", "today")))
    assert entry.keywords == ("Grim", "bartender", "dwarf")


def test_the_newest_wins_on_conflict_only_and_the_old_is_history() -> None:
    entry = only(
        after(thing("Aldric", "King of the isles. Alive."), thing("Aldric", "Status: deceased. Had two sons."))
    )
    assert entry.content == "King of the isles. Status: deceased. Had two sons."
    assert [one.text for one in entry.superseded] == ["Alive."]


def test_the_newest_wins_however_they_arrive() -> None:
    early, late = thing("Aldric", "Alive."), thing("Aldric", "Dead.")
    forth = reduce_lore(reduce_lore({}, Scene("", (early,)), 1), Scene("", (late,)), 2)
    back = reduce_lore(reduce_lore({}, Scene("", (late,)), 2), Scene("", (early,)), 1)
    assert only(forth).content == only(back).content == "Dead."
    assert only(forth).superseded == only(back).superseded


def test_what_held_before_may_hold_again() -> None:
    entry = only(
        after(*(thing("Gate", f"The gate is {state}.", kind="location") for state in ("open", "closed", "open")))
    )
    assert entry.content == "The gate is open."
    assert [one.text for one in entry.superseded] == ["The gate is open.", "The gate is closed."]


def test_what_is_said_more_fully_takes_the_place_of_the_shorter() -> None:
    entry = only(after(thing("Alice", "Red hair."), thing("Alice", "Has red hair, green eyes.")))
    assert entry.content == "Has red hair, green eyes."
    assert [one.text for one in entry.superseded] == ["Red hair."]


def test_a_part_stands_for_itself_when_the_whole_holds_no_more() -> None:
    entry = only(
        after(
            thing("Vex", "Has red hair."),
            thing("Vex", "Status: wounded, has red hair."),
            thing("Vex", "Status: healed."),
        )
    )
    assert sorted(one.text for one in entry.statements) == ["Has red hair.", "Status: healed."]
    assert [one.text for one in entry.superseded] == ["Status: wounded, has red hair."]


def test_what_was_not_said_again_stays() -> None:
    entry = only(after(thing("Alice", "Warrior. Owns a mill."), *(thing("Alice", "Warrior.") for _ in range(5))))
    assert entry.content == "Warrior. Owns a mill."
    assert [(one.source, one.newest) for one in entry.statements] == [(1, 6), (1, 1)]


def test_long_entries_are_folded_and_nothing_is_lost() -> None:
    said = [f"Knows the secret of the {word} door in the northern wing of the old palace." for word in MATERIALS]
    entry = only(after(thing("Alice", "Warrior of the sun temple."), *(thing("Alice", one) for one in said)))
    assert estimate_tokens(entry.content) <= MOST_TOKENS
    assert entry.content.startswith("Warrior of the sun temple."), "the first says what it is"
    assert said[-1] in entry.content, "the newest is shown"
    assert said[0] in [one.text for one in entry.archived]
    assert len(entry.statements) == 16


def test_how_it_stands_with_it_is_always_shown() -> None:
    said = [f"Once sailed past the {number} islands of the western sea with a crew of thirty." for number in MATERIALS]
    entry = only(after(thing("Alice", "Sailor."), thing("Alice", "Dead."), *(thing("Alice", one) for one in said)))
    assert "Dead." in entry.content
    assert entry.archived


def test_one_endless_statement_is_cut_where_it_is_shown() -> None:
    entry = only(after(thing("Alice", "tide " * 1_000)))
    assert estimate_tokens(entry.content) <= MOST_TOKENS
    assert entry.content.endswith("…")
    assert entry.statements[0].text.count("tide") == 1_000


def test_stale_entries_retire_and_come_back_when_described() -> None:
    entries: Entries = {}
    for source in range(8):
        entries = reduce_lore(entries, Scene("", (thing(f"Name{source}x", "Someone."),)), source, most_live=5)
    assert [one.retired for one in entries.values()] == [True] * 3 + [False] * 5
    entries = reduce_lore(entries, Scene("", (thing("Name0x", "Is back."),)), 9, most_live=5)
    assert len(entries) == 8, "nothing is deleted"
    assert [one.retired for one in entries.values()] == [False] + [True] * 3 + [False] * 4


def test_what_a_person_wrote_never_retires() -> None:
    entries = written({}, "Rules of the house", "rule", content="No smoking.")
    for source in range(6):
        entries = reduce_lore(entries, Scene("", (thing(f"Name{source}x", "Someone."),)), source, most_live=2)
    assert not entries["rules of the house", "rule"].retired


def test_changes_to_a_persons_fields_are_suggestions() -> None:
    entries = written({}, "Alice", "character", keywords=["Alice"], content="Tall.  Trusts\nnobody.", source=1)
    entry = only(after(thing("ALICE", "Short. Trusts everybody.", "warrior", "man"), entries=entries, first=2))
    assert (entry.name, entry.keywords, entry.content) == ("Alice", ("Alice",), "Tall.  Trusts\nnobody.")
    assert [(one.field, one.text) for one in entry.suggestions] == [
        ("content", "Short."), ("content", "Trusts everybody."), ("keywords", "warrior"),
    ]  # fmt: skip
    assert entry.touched == 2


def test_only_the_fields_a_person_wrote_are_theirs() -> None:
    entries = written(after(thing("Alice", "Tall.")), "Alice", "character", keywords=["my key"], source=2)
    entry = only(after(thing("Alice", "Owns a mill.", "warrior"), entries=entries, first=3))
    assert (entry.content, entry.keywords) == ("Tall. Owns a mill.", ("my key",))


def test_what_stood_where_a_person_writes_is_superseded() -> None:
    entry = only(written(after(thing("Alice", "Tall. Old.")), "Alice", "character", content="Short."))
    assert entry.content == "Short."
    assert [one.text for one in entry.superseded] == ["Tall.", "Old."]


def test_a_document_is_kept_as_it_was_written() -> None:
    letter = "My dear Wren.\n\nCome at once. Bring the key.\n  B."
    assert only(after(thing("Letter", letter, kind="document"))).content == letter


def test_nameless_descriptions_are_passed_over() -> None:
    assert after(thing("  ", "Nobody.")) == {}


def test_a_snapshot_reads_back_as_the_same_entries() -> None:
    entries = after(
        thing("Grim", "Dwarf bartender. Alive.", "Grim", "bartender"),
        thing("The Bartender", "Dead."),
        entries=written({}, "Alice", "character", content="Tall."),
    )
    entries = merge(entries, thing("Alice", "Short."), 9)
    assert lore_of(lore_text(entries)) == entries
    assert list(lore_of(lore_text(entries))) == list(entries)
    assert lore_of("") == {}
