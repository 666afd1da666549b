"""Scene memories of older shapes become scenes, and nothing they say is lost."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.scene import Described, Scene
from previously.folds.scene import render_scene
from previously.folds.scene_checks import validate_scene
from previously.formats.scene_memories import ENTRY_FIELDS, OVERFLOW, TOLD_FIELDS, migrate
from tests.effort import cases

OLD = {
    "narrative": "They went to the tavern.",
    "npcs_facts": {"Grim": "Dwarf bartender.", "Bob": {"job": "rogue", "traits": ["sly", "quick"]}},
    "npcs_status": {"Grim": "wounded"},
    "visited_locations": ["Tavern", {"name": "Eastern Ruins", "state": "ransacked"}],
    "objects": {"Sunblade": "A golden blade."},
    "factions": {},
    "lore": "The sun god rose.",
    "secrets": ["Bob knows who the thief is, and will not say."],
    "current_relationships": {"Alice & Bob": "strained"},
    "memorable_events": ["Bandits attacked", "Alice was wounded."],
    "mood": "tense",
    "npcs_plans": {"Grim": "to sell the tavern"},
    "turns": 12,
    "finished": False,
    "notes": None,
}


def entries(scene: Scene) -> dict[tuple[str, str], Described]:
    return {(one.name, one.type): one for one in scene.entries}


def test_the_older_structure() -> None:
    scene = migrate(OLD)
    assert scene.summary == (
        "They went to the tavern. Grim: wounded. Alice & Bob: strained. Bandits attacked. Alice was wounded."
    )
    found = entries(scene)
    assert found["Grim", "character"].content == "Dwarf bartender. Status: wounded."
    assert found["Bob", "character"].content == "Job: rogue. Traits: sly, quick."
    assert found["Tavern", "location"].content == "Visited locations."
    assert found["Eastern Ruins", "location"].content == "State: ransacked."
    assert found["Lore", "lore"].content == "The sun god rose."
    assert found["Bob knows who the thief", "concept"].content == "Bob knows who the thief is, and will not say."
    assert found["Mood", "concept"].content == "tense."
    assert found["Grim - Npcs plans", "concept"].keywords == ("Grim - Npcs plans", "Grim")
    assert found["Finished", "concept"].content == "no."
    assert validate_scene(json.loads(render_scene(scene))).valid


def test_text_of_either_kind() -> None:
    assert migrate(json.dumps(OLD)) == migrate(OLD)
    assert migrate(f"```json\n{json.dumps(OLD)}\n```") == migrate(OLD)
    assert migrate("  Wren left.\n") == Scene("Wren left.")
    assert migrate('"Wren left."') == Scene("Wren left.")
    assert migrate('"Stop!" she said. They left.') == Scene('"Stop!" she said. They left.')
    assert migrate("{{user}} left with Wren.") == Scene("{{user}} left with Wren.")
    assert migrate("[Scene 3] Wren left.") == Scene("[Scene 3] Wren left.")


def test_the_new_structure_stays_as_it_is() -> None:
    scene = Scene("Wren left.", (Described("Wren", "character", ("Wren", "pilot"), "A pilot."),))
    assert migrate(render_scene(scene)) == scene
    assert migrate(json.loads(render_scene(scene))) == scene
    assert migrate({"recap": "Wren left.", "setting_lore": []}) == Scene("Wren left.")


def test_half_migrated_memories_keep_both_halves() -> None:
    scene = migrate({"summary": "Wren left.", "lorebooks": [], "objects": {"Key": "Iron."}, "narrative": "It rained."})
    assert scene.summary == "Wren left. It rained."
    assert entries(scene)["Key", "item"].content == "Iron."


def test_a_long_memory_keeps_its_beginning_and_the_rest_in_an_entry() -> None:
    sentences = [f"On day {number} Wren crossed to Lethen with the salt." for number in range(100)]
    scene = migrate(" ".join(sentences))
    assert validate_scene(json.loads(render_scene(scene))).valid
    rest = entries(scene)[OVERFLOW, "event"].content
    assert f"{scene.summary} {rest}" == " ".join(sentences)
    assert migrate(render_scene(scene)) == scene
    endless = migrate("x" * 9_000)
    assert endless.summary + entries(endless)[OVERFLOW, "event"].content == "x" * 9_000


@pytest.mark.parametrize("bad", [[], 3, None, True, "", " \n", "[]", "{}", {}, {"a": 1}, {"summary": ["a"]},
                                 {"narrative": "", "lore": {}}, {"lorebooks": []}, '{"summary": "a',
                                 {"summary": "a", "lorebooks": [{"name": "b"}]}])  # fmt: skip
def test_what_is_no_scene_memory_is_refused_in_one_sentence(bad: object) -> None:
    with pytest.raises(BadInput) as refused:
        migrate(bad)
    assert "\n" not in str(refused.value)


values = st.recursive(
    st.text("abcde .", min_size=1, max_size=15) | st.integers(0, 99) | st.none(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("fghij ", min_size=1, max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
memories = st.dictionaries(st.sampled_from([*TOLD_FIELDS, *ENTRY_FIELDS, "mood", "plans"]), values, max_size=6)


@settings(max_examples=cases(150))
@given(memories)
def test_nothing_is_lost(memory: dict[str, object]) -> None:
    try:
        scene = migrate(memory)
    except BadInput:
        return
    said = json.dumps([scene.summary, *(f"{one.name} {one.content}" for one in scene.entries)]).lower()
    for word in re.findall(r"[a-e]+|\d+", json.dumps(list(_leaves(memory))).lower()):
        assert word in said
    assert validate_scene(json.loads(render_scene(scene))).valid
    assert migrate(render_scene(scene)) == scene


def _leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [] if value is None else [value]
