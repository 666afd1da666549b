"""Recurring names and what is said of them, found by rules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from previously.folds.builtin.kinds_of_things import Clues, type_of
from previously.folds.builtin.reading import Said
from previously.folds.builtin.things import MOST_THINGS, MOST_TOKENS, things_in

from previously.core.lore import TYPES, Described
from previously.core.tokens import estimate_tokens
from tests.folds.scene_corpus import SEED


def found(*texts: str, speaker: str | None = None) -> dict[str, Described]:
    return {one.name: one for one in things_in([Said(speaker, text) for text in texts])}


def test_the_first_scene_of_the_seed_gives_its_two_people() -> None:
    things = found(SEED["scenes"][0]["scene"])
    assert things["Grim"] == Described(
        "Grim", "character", ("Grim", "bartender", "gruff dwarf"), "Bartender. Gruff dwarf."
    )
    assert things["Scarface"].type == "character"
    assert "terrorizing travelers" in things["Scarface"].content


def test_an_apposition_describes_a_faction() -> None:
    guild = found(SEED["scenes"][1]["scene"])["Shadow Guild"]
    assert (guild.type, guild.content) == ("faction", "Secret organization that opposes the corrupt nobility.")
    assert guild.keywords == ("Shadow Guild", "secret organization")


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("The harbour master, Oskett, waved them through.", "Oskett", "Harbour master."),
        ("They hired Tobias, an old pilot from Lethen, at once.", "Tobias", "Old pilot from Lethen."),
        ("A quiet clerk named Ines Quillan stamped the papers.", "Ines Quillan", "Quiet clerk."),
        ("Yesterday Corvin came. Corvin is the richest man in the whole port.", "Corvin",
         "Corvin is the richest man in the whole port."),
    ],
)  # fmt: skip
def test_what_is_said_of_a_name(text: str, name: str, said: str) -> None:
    thing = found(text)[name]
    assert said in thing.content
    assert thing.keywords[0] == name


def test_someone_who_says_what_they_are() -> None:
    thing = found("I am a surgeon from Lethen.", "Hold still.", speaker="Marisol")["Marisol"]
    assert (thing.type, thing.content) == ("character", "Surgeon from Lethen.")


def test_a_place_that_recurs_is_worth_an_entry_by_itself() -> None:
    things = found("They walked to Hollow Ford before the rain came down.", "Nobody lives in Hollow Ford any more.")
    assert things["Hollow Ford"].type == "location"
    assert "Hollow Ford" in things["Hollow Ford"].content


def test_what_is_mentioned_once_in_passing_is_not() -> None:
    assert found("They talked about Brindlemark and about the weather for a while.") == {}


def test_a_short_name_is_taken_into_the_full_one() -> None:
    things = found("Bram Oskett, the harbour master, limped in.", "Later Bram was asleep by the stove in the office.")
    assert list(things) == ["Bram Oskett"]
    assert "Bram" in things["Bram Oskett"].keywords


def test_lists_and_clauses_are_no_descriptions() -> None:
    thing = found("They saw Bram, a rope and a lamp. Bram left them there.", "Bram came back.")["Bram"]
    assert thing.keywords == ("Bram",)
    assert not thing.content.startswith("Rope")


def test_nameless_speakers_get_no_entry() -> None:
    assert found("I am a tired traveller from the north.", speaker="The user") == {}


@settings(max_examples=80)
@given(st.lists(st.tuples(st.sampled_from(["Wren", "Narrator", None]), st.text(max_size=150)), max_size=8))
def test_anything_can_be_read(lines: list[tuple[str | None, str]]) -> None:
    entries = things_in([Said(name, text) for name, text in lines])
    assert len(entries) <= MOST_THINGS
    for one in entries:
        assert one.name.strip()
        assert one.type in TYPES
        assert one.keywords
        assert one.content.strip()
        assert estimate_tokens(one.content) <= MOST_TOKENS + 20


_SENTENCE = st.builds(
    "{} {} {}.".format,
    st.sampled_from(["Wren", "Grim", "The Shadow Guild", "They", "Marrow Bay, an old port,", "A thief named Vex"]),
    st.sampled_from(["is", "was", "met", "has", "waits for", "knows"]),
    st.sampled_from(["a clever pilot", "Wren", "in Marrow Bay", "the salt key", "tired", "Grim, the gruff barkeeper"]),
)


@settings(max_examples=80)
@given(st.lists(_SENTENCE, min_size=1, max_size=12))
def test_every_word_of_an_entry_stands_in_the_messages(sentences: list[str]) -> None:
    text = " ".join(sentences).lower()
    for one in things_in([Said(None, sentence) for sentence in sentences]):
        for word in one.content.lower().replace(",", " ").replace(".", " ").split():
            assert word in text


def test_whoever_is_spoken_to_is_not_described() -> None:
    said = ["I hid the brass key under the third stair, Ines.", "Ines, the lamp!", "Sit down, Ines.", "Ines came late."]
    assert [one.content for one in things_in([Said("Bram", text) for text in said]) if "key" in one.content] == []
    told = things_in([Said(None, "She nodded to the harbour master, Oskett."), Said(None, "Oskett nodded back.")])
    assert [one.content for one in told] == ["Harbour master."]
    of_him = things_in([Said("Bram", "Oskett, the harbour master, knows of it."), Said("Bram", "I met Oskett there.")])
    assert "Harbour master." in of_him[0].content


@pytest.mark.parametrize(
    ("sentences", "kind"),
    [
        ("Alice promised Bob to return the key. Alice returned the key to Bob.", "character"),
        ("Alice gave the ring to Bob. She came to Bob at dawn.", "character"),
        ("Alice went to Bob. Alice walked the road to Bob.", "location"),
        ("Alice spoke of the road to Bob. Alice returned to Bob.", "location"),
    ],
)
def test_to_whom_something_is_given_or_said_is_no_place(sentences: str, kind: str) -> None:
    clues = Clues()
    clues.read("Bob", sentences)
    assert type_of("Bob", clues) == kind
