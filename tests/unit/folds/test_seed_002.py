"""What seed 002 says of scenes and lore, sentence by sentence, and the faults of its project that are none here."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from previously.core.messages import message
from previously.core.note import LoreItem
from previously.core.scene import TYPES, Described, Scene
from previously.core.tokens import estimate_tokens
from previously.folds.checks import Accepted, Refused
from previously.folds.combine import CombineFold, number_scenes
from previously.folds.scene import SceneFold, join_scenes, parse_scene, render_scene
from previously.folds.scene_checks import validate_scene
from previously.formats.scene_memories import migrate
from previously.lore.entry import MOST_CONTENT_TOKENS
from previously.lore.merge import Entries, merge_items
from previously.runtime.prompts import load_prompt
from tests.unit.folds.scene_corpus import SEED

SUMMARY = "Wren and Bram crossed to Lethen. Bram lost the salt key."
ENTRY = {"name": "Salt key", "type": "item", "keywords": ["salt key", "iron key"], "content": "Old iron key of Lethen."}
MEMORY: dict[str, Any] = {"summary": SUMMARY, "lorebooks": [ENTRY]}
PROMPT = SceneFold((message("assistant", "Wren left."),)).build(load_prompt("scene"))
SCENES = [parse_scene(json.dumps(one["output"])) for one in SEED["scenes"]]


def changed(**fields: object) -> dict[str, Any]:
    return {**copy.deepcopy(MEMORY), **fields}


def in_entry(**fields: object) -> dict[str, Any]:
    return changed(lorebooks=[{**ENTRY, **fields}])


def without(field: str) -> dict[str, Any]:
    return changed(lorebooks=[{key: value for key, value in ENTRY.items() if key != field}])


def refused(given: object, word: str) -> bool:
    return any(word in str(one) for one in validate_scene(given).faults)


def warned(given: object, word: str) -> bool:
    found = validate_scene(given)
    return found.valid and any(word in str(one) for one in found.warnings)


def asked(*words: str) -> bool:
    return all(word in PROMPT.system for word in words)


def merged(*things: Described) -> Entries:
    entries: Entries = {}
    for source, one in enumerate(things):
        entries = merge_items(entries, [LoreItem(one.name, one.type, one.keywords, one.content)], source)
    return entries


def _king() -> bool:
    """Status changes: told in the summary, and a status in the entry."""
    alive = Described("Aldric", "character", ("Aldric",), "King of the isles. Alive.")
    dead = Described("Aldric", "character", ("Aldric",), "King of the isles. Status: deceased.")
    (entry,) = merged(alive, dead).values()
    return (entry.content, entry.earlier) == (dead.content, (alive.content,))


def _combined() -> str:
    return CombineFold.of([scene.summary for scene in SCENES], 150).build(load_prompt("combine")).user


OLD = {
    "narrative": "They crossed to Lethen.", "npcs_facts": {"Bram": "Lame harbour master."},
    "visited_locations": {"Lethen": "A port."}, "objects": {"Salt key": "Iron."}, "factions": {"Chandlers": "A guild."},
    "lore": {"Drowned bell": "Brings bad luck."}, "secrets": {"Bram's debt": "He owes ninety crowns."},
    "npcs_status": {"Bram": "wounded"}, "current_relationships": {"Wren & Bram": "strained"},
    "memorable_events": ["The bell rang."], "promises": {"Wren": "to come back"},
}  # fmt: skip
MIGRATED = migrate(OLD)


def has(name: str, kind: str, content: str) -> bool:
    return any((one.name, one.type) == (name, kind) and content in one.content for one in MIGRATED.entries)


SENTENCES: list[tuple[str, Callable[[], bool]]] = [
    # The structure
    ("a memory has two fields", lambda: json.loads(render_scene(SCENES[0])).keys() == {"summary", "lorebooks"}),
    ("a summary is required", lambda: refused({"lorebooks": []}, "summary is missing")),
    ("a summary is a string", lambda: refused(changed(summary=["a"]), "summary must be a text")),
    ("an object is no summary", lambda: refused(changed(summary={"text": "a"}), "summary must be a text")),
    ("lorebooks are optional", lambda: validate_scene({"summary": SUMMARY}).valid),
    ("lorebooks are an array", lambda: refused(changed(lorebooks={"a": 1}), "lorebooks must be a list")),
    ("lorebooks may be empty", lambda: validate_scene(changed(lorebooks=[])).valid),
    *((f"an entry needs {field}", lambda field=field: refused(without(field), f"{field} is missing"))
      for field in ("name", "type", "keywords", "content")),
    *((f"a type is {kind}", lambda kind=kind: validate_scene(in_entry(type=kind)).valid) for kind in TYPES),
    ("no other type is known", lambda: refused(in_entry(type="vehicle"), "is not one of")),
    # The summary
    ("100 to 300 tokens are the target", lambda: warned(changed(summary="Left. " * 200), "100 to 300")),
    ("500 tokens are the hard limit", lambda: refused(changed(summary="They left. " * 300), "over the limit of 500")),
    ("a summary that is short is kept", lambda: warned(changed(summary="They left."), "100 to 300")),
    ("the good summary is good", lambda: not warned(changed(summary=SEED["good_summary"]), "describes")),
    ("the bad summary describes", lambda: warned(changed(summary=SEED["bad_summary"]), "summary describes")),
    ("looks have no place in a summary", lambda: warned(changed(summary="Wren has long red hair."), "describes")),
    ("no background in a summary", lambda: warned(changed(summary="Wren, an old pilot of Lethen, left."), "describes")),
    ("entities may be mentioned", lambda: not warned(changed(summary="Grim the barkeeper met Wren."), "describes")),
    # The entries
    ("2 keywords at least", lambda: warned(in_entry(keywords=["salt key"]), "2 to 8 are best")),
    ("8 keywords at most", lambda: warned(in_entry(keywords=[f"key {n}x" for n in range(9)]), "2 to 8 are best")),
    ("keywords are not empty", lambda: refused(in_entry(keywords=[]), "keywords is empty")),
    ("keywords are not generic", lambda: warned(in_entry(keywords=["salt key", "thing"]), "generic keyword: 'thing'")),
    ("50 to 200 tokens are the target of an entry", lambda: warned(in_entry(content="Iron."), "50 to 200")),
    ("no duplicate of name and type", lambda: refused(changed(lorebooks=[ENTRY, {**ENTRY, "name": "SALT KEY"}]),
                                                      "same name and type")),
    ("no timeline in an entry", lambda: warned(in_entry(content="Bram lost it. Then Wren found it. They fled."),
                                               "tells what happened")),
    ("no redundancy between both", lambda: warned(in_entry(content=SUMMARY), "repeats the summary")),
    ("historical events are lore", lambda: not warned(in_entry(type="lore", content="Wren fled. Bram fell. It burned."),
                                                      "tells what happened")),
    # The prompt
    ("the prompt parts summary and lorebooks", lambda: asked("the summary tells what happened", "Not what happened")),
    ("the prompt asks for terse past tense", lambda: asked("Terse, past tense", "present tense only for what holds")),
    ("the prompt forbids descriptions", lambda: asked("by name and do not describe them")),
    ("the prompt names its token targets", lambda: asked("100 to 300 tokens", "50 to 200 tokens")),
    ("the prompt asks for new or changed things", lambda: asked("new people, places", "something is different now")),
    ("the prompt asks for what matters again", lambda: asked("will matter again", "Leave out what is only mentioned")),
    ("the prompt asks for keywords with name and aliases", lambda: asked("2 to 8", "its name, other names")),
    ("the prompt names every type", lambda: asked(*TYPES)),
    ("the prompt shows the shape", lambda: asked('{"summary": "…", "lorebooks": [{"name"')),
    # Edge cases
    ("a relationship has an event and an entry", lambda: has("Wren & Bram", "concept", "strained")
                                                         and "Wren & Bram: strained." in MIGRATED.summary),
    ("a status change is told and is a status", _king),
    # Migration
    ("narrative becomes summary", lambda: MIGRATED.summary.startswith("They crossed to Lethen.")),
    ("npcs_facts become characters", lambda: has("Bram", "character", "Lame harbour master.")),
    ("visited_locations become locations", lambda: has("Lethen", "location", "A port.")),
    ("objects become items", lambda: has("Salt key", "item", "Iron.")),
    ("factions become factions", lambda: has("Chandlers", "faction", "A guild.")),
    ("lore becomes lore", lambda: has("Drowned bell", "lore", "bad luck")),
    ("secrets become concepts", lambda: has("Bram's debt", "concept", "ninety crowns")),
    ("status is in both", lambda: has("Bram", "character", "Status: wounded") and "Bram: wounded" in MIGRATED.summary),
    ("memorable events become summary", lambda: "The bell rang." in MIGRATED.summary),
    ("other fields become concepts", lambda: has("Wren - Promises", "concept", "to come back")),
    ("what was migrated is valid", lambda: validate_scene(json.loads(render_scene(MIGRATED))).valid),
    # Combining
    ("combining sends every summary", lambda: all(scene.summary in _combined() for scene in SCENES)),
    ("combining sends no entry", lambda: not any(e.content in _combined() for s in SCENES for e in s.entries)),
    ("summaries are numbered", lambda: "Scene 1: Alice and Bob" in _combined() and "Scene 3: Bandits" in _combined()),
    ("combining gives text, not JSON", lambda: "no JSON" in load_prompt("combine").system),
    ("combining deduplicates by name and type", lambda: len(join_scenes([*SCENES, *SCENES]).entries) == 9),
    ("entries of all scenes are kept", lambda: len(join_scenes(SCENES).entries) == sum(len(s.entries) for s in SCENES)),
    ("the combined memory has the same structure", lambda: json.loads(render_scene(join_scenes(SCENES))).keys()
                                                           == {"summary", "lorebooks"}),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "holds"), SENTENCES, ids=[sentence for sentence, _ in SENTENCES])
def test_what_the_seed_says(sentence: str, holds: Callable[[], bool]) -> None:
    assert holds()


@pytest.mark.parametrize("index", range(3))
def test_each_worked_example_goes_through_unchanged(index: int) -> None:
    example = SEED["scenes"][index]
    judged = SceneFold((message("assistant", example["scene"]),)).judge_text(json.dumps(example["output"]))
    assert isinstance(judged, Accepted)
    assert json.loads(judged.text) == example["output"]
    assert not [one for one in judged.warnings if one not in judged.mendable and "are best" not in one]


# Faults of the project that the seed grew into.


def test_four_empty_lists_are_an_answer_and_never_a_loop() -> None:
    empty = {
        "summary": "Nothing new.",
        "lorebooks": [],
        "open_threads": [],
        "resolved_threads": [],
        "state_changes": [],
    }
    assert isinstance(SceneFold((message("user", "Hm."),)).judge_text(json.dumps(empty)), Accepted)


def test_the_validator_checks_the_structure_that_the_prompt_asks_for() -> None:
    (shape,) = [line for line in PROMPT.system.split("\n") if line.startswith('{"summary": "…"')]
    given = json.loads(shape.replace("…", "x"))
    given["lorebooks"][0]["type"] = "item"
    assert validate_scene(given).valid
    assert set(given) == set(PROMPT.schema["properties"])  # type: ignore[index]


def test_the_examples_of_the_prompt_are_what_it_asks_for() -> None:
    example = PROMPT.system[PROMPT.system.index("An example.") :]
    scene, _, answer = example.partition("\n")
    judged = SceneFold((message("assistant", scene),)).judge_text(answer)
    assert isinstance(judged, Accepted)
    assert judged.mendable == ()
    for split in ("a relationship", "a status", "a discovery"):
        assert f"- {split}: " in PROMPT.system


def test_validation_never_passes_what_it_could_not_read() -> None:
    unreadable: list[object] = [None, 3, [], "text", {"summary": object()}, {"summary": "a", "lorebooks": [object()]}]
    for given in unreadable:
        assert validate_scene(given).valid is False


def test_making_a_scene_again_reads_the_scene_and_not_its_own_result() -> None:
    told = (message("assistant", "Wren crossed to Lethen with the salt key."),)
    question = SceneFold(told, again=True).build(load_prompt("scene"))
    assert question.user.count("Lethen") == 1
    assert "(nothing yet)" in question.user


def test_sizes_are_bounded_by_code_whatever_a_model_writes() -> None:
    long = changed(summary="They left. " * 300)
    assert isinstance(SceneFold((message("user", "Hm."),)).judge_text(json.dumps(long)), Refused)
    entry = Described("Wren", "character", ("Wren",), "Knows the tides of Lethen better than any chart. " * 200)
    shown = next(iter(merged(entry).values())).content
    assert estimate_tokens(shown) <= MOST_CONTENT_TOKENS


def test_combining_the_example_of_the_seed_saves_71_percent() -> None:
    def words(tokens: int) -> str:
        text = "harbour"
        while estimate_tokens(f"{text} harbour") <= tokens:
            text += " harbour"
        return text

    entries = tuple(Described(f"Thing {n}", "item", (f"thing {n}",), words(100)) for n in range(5))
    scenes = [Scene(words(200), entries)] * 3
    sent = estimate_tokens(number_scenes([scene.summary for scene in scenes]))
    assert sent <= 0.29 * sum(estimate_tokens(render_scene(scene)) for scene in scenes)
