"""Laws of merging, over random scenes."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.lore import TYPES, Described, Scene
from previously.core.tokens import estimate_tokens
from previously.lore.keywords import MOST_KEYS
from previously.lore.merging import Entries, reduce_lore, written
from previously.lore.snapshot import lore_of, lore_text
from previously.lore.statements import split, telling
from previously.lore.things import MOST_TOKENS

NAMES = ("Grim", "The Bartender", "bartender", "Alice", "Alice Thornwood", "Alice Hill", "Captain Alice", "King",
         "Alice - Status", "Scarface", "ＧＲＩＭ", "Bob's Secret", "man", "灰原", "", "Cafe\u0301")  # fmt: skip
WORDS = ("Grim", "bartender", "alice", "Alice", "man", "dwarf", "Scarface", "12", "灰原", "the guild", "x" * 40, "")
SAYINGS = (
    "Alive.", "Dead.", "Status: wounded", "Has red hair.", "Has black hair.", "Has red hair, green eyes.", "Red hair.",
    "Carries 3 daggers.", "Carries five daggers.", "Trusts Bob.", "No longer trusts Bob.", "Dwarf bartender.",
    "Also known as Scarface.", "Also known as Alice.", "Knows the way to the vault below the chapel of the sun.",
    "Currently held by Bob's aunt.", "Currently held by Bob's uncle.", "強い。", "\n- Old.", "An alice in lower case.",
)  # fmt: skip
described = st.builds(
    Described,
    st.sampled_from(NAMES),
    st.sampled_from(("character", "character", "location")),
    st.lists(st.sampled_from(WORDS), max_size=5).map(tuple),
    st.lists(st.sampled_from(SAYINGS), max_size=5).map(" ".join) | st.text(max_size=60),
)
scenes = st.builds(Scene, st.just("They met."), st.lists(described, max_size=4).map(tuple))
histories = st.lists(scenes, max_size=6)


def reduced(history: list[Scene], entries: Entries | None = None) -> Entries:
    found: Entries = entries or {}
    for source, scene in enumerate(history):
        found = reduce_lore(found, scene, source)
    return found


@settings(max_examples=50)
@given(histories)
def test_the_same_scenes_give_the_same_bytes(history: list[Scene]) -> None:
    assert lore_text(reduced(history)) == lore_text(reduced(history))
    assert lore_of(lore_text(reduced(history))) == reduced(history)


@settings(max_examples=200)
@given(histories, scenes)
def test_the_same_scene_again_changes_nothing(history: list[Scene], scene: Scene) -> None:
    once = reduce_lore(reduced(history), scene, len(history))
    assert reduce_lore(once, scene, len(history)) == once


@settings(max_examples=80)
@given(histories)
def test_nothing_said_is_lost_and_what_is_shown_is_bounded(history: list[Scene]) -> None:
    entries = reduced(history)
    for entry in entries.values():
        assert estimate_tokens(entry.content) <= MOST_TOKENS
        assert len(entry.keywords) <= MOST_KEYS
        assert entry.keywords[0] == " ".join(entry.name.split())
        shown = [one for one in entry.statements if one not in entry.archived]
        assert len(shown) + len(entry.archived) == len(entry.statements)
    before: dict[tuple[str, str], set[str]] = {}
    for source, scene in enumerate(history):
        after = reduce_lore(reduced(history[:source]), scene, source)
        texts = {one.text for entry in after.values() for one in (*entry.statements, *entry.superseded)}
        assert all(known <= texts for known in before.values())
        before = {key: {one.text for one in (*entry.statements, *entry.superseded)} for key, entry in after.items()}


@settings(max_examples=100)
@given(st.lists(st.sampled_from(SAYINGS), max_size=12))
def test_every_statement_is_there_or_one_with_the_same_words(sayings: list[str]) -> None:
    history = [Scene("", (Described("Quill", "character", ("Quill",), saying),)) for saying in sayings]
    kept = {telling(one.text, "Quill") for entry in reduced(history).values()
            for one in (*entry.statements, *entry.superseded)}  # fmt: skip
    assert {telling(one, "Quill") for saying in sayings for one in split(saying)} <= kept


def _unrelated(number: int, sayings: list[str]) -> Scene:
    """A scene about things of its own."""
    name = f"Quill{number}"
    content = " ".join(f"{saying.strip('. ')} of quill{number}." for saying in sayings)
    return Scene("", (Described(name, TYPES[number % len(TYPES)], (name, f"plume{number}"), content),))


@settings(max_examples=100)
@given(st.lists(st.lists(st.sampled_from(SAYINGS), max_size=4), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_unrelated_scenes_does_not_matter(sayings: list[list[str]], random: Random) -> None:
    numbered = [(number, _unrelated(number, one)) for number, one in enumerate(sayings)]
    shuffled = list(numbered)
    random.shuffle(shuffled)
    results = []
    for order in (numbered, shuffled):
        entries: Entries = {}
        for source, scene in order:
            entries = reduce_lore(entries, scene, source, most_live=5)
        results.append(dict(entries))
    assert results[0] == results[1]


HAND = (
    (
        "Grim",
        "character",
        ("Grim", "MY key  with spaces", "man"),
        "Mine.\n\n  Dead?  Alive. Has red hair. \u00a0{{user}}",
    ),
    ("Alice", "character", ("Alice",), "Alice trusts nobody.\r\nNot even Bob."),
    ("Hollow Ford", "location", (), ""),
    ("Scarface", "character", ("Scarface", "scar"), "x " * 2_000),
)


def _random_scene(random: Random) -> Scene:
    entries = tuple(
        Described(
            random.choice((*NAMES, "Hollow Ford", "hollow ford", "alice")),
            random.choice(("character", "location")),
            tuple(random.choices(WORDS, k=random.randint(0, 4))),
            " ".join(random.choices(SAYINGS, k=random.randint(0, 4))),
        )
        for _ in range(random.randint(0, 4))
    )
    return Scene("They met.", entries)


def test_hand_written_lore_is_byte_identical_after_a_thousand_random_scenes() -> None:
    entries: Entries = {}
    for name, kind, keywords, content in HAND:
        entries = written(entries, name, kind, keywords=keywords, content=content)
    random = Random(2002)
    for source in range(1, 1_001):
        entries = reduce_lore(entries, _random_scene(random), source, most_live=3)
    for name, kind, keywords, content in HAND:
        entry = entries[name.lower(), kind]
        assert (entry.name, entry.type, entry.keywords, entry.content) == (name, kind, keywords, content)
        assert not entry.retired
        assert len(entry.suggestions) <= 50
    assert entries["grim", "character"].suggestions, "the scenes did speak of it"
    for entry in entries.values():
        if not entry.locked:
            assert estimate_tokens(entry.content) <= MOST_TOKENS
