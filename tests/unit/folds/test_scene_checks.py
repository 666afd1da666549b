"""What is a scene memory: faults refuse and say where, the rest warns, and good ones pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.tokens import estimate_tokens
from previously.folds.scene_checks import MOST_SUMMARY_TOKENS, find_description, find_timeline, repeats, validate_scene
from tests.effort import cases
from tests.unit.folds.scene_corpus import MUTATIONS, SEED, bad_memories, good_memories


def test_at_most_one_in_a_hundred_good_memories_is_refused() -> None:
    memories = good_memories()
    assert len(memories) == 200
    refused = [found.faults for one in memories if not (found := validate_scene(one)).valid]
    assert len(refused) <= 2, refused


def test_bad_memories_are_refused_or_warned_of_with_the_right_reason() -> None:
    memories = list(bad_memories())
    assert len(memories) == 200 >= 4 * len(MUTATIONS)
    for memory, kind, where, reason in memories:
        found = validate_scene(memory)
        findings = found.faults if kind == "faults" else found.warnings
        assert any(one.where == where and reason in one.reason for one in findings), (where, reason, findings)
        assert found.valid == (kind == "warnings")


@pytest.mark.parametrize("index", range(3))
def test_the_worked_examples_of_the_seed_pass_as_written(index: int) -> None:
    found = validate_scene(SEED["scenes"][index]["output"])
    assert found.faults == ()
    assert all("are best" in one.reason for one in found.warnings), "nothing but their sizes is remarked on"


def test_the_good_summary_passes_and_the_bad_one_is_warned_of() -> None:
    assert find_description(SEED["good_summary"]) == ""
    found = validate_scene({"summary": SEED["bad_summary"], "lorebooks": []})
    assert found.valid
    assert any(one.where == "summary" and "describes" in one.reason for one in found.warnings)


def test_the_single_entries_of_the_seed_pass() -> None:
    found = validate_scene({"summary": SEED["good_summary"], "lorebooks": SEED["entries"]})
    assert found.valid
    assert not [one for one in found.warnings if "are best" not in one.reason]


def test_no_entries_are_no_fault() -> None:
    lists: dict[str, list[str]] = {name: [] for name in ("open_threads", "resolved_threads", "state_changes")}
    given_lists: list[dict[str, list[str]]] = [{}, {"lorebooks": []}, {"lorebooks": [], **lists}]
    for memory in given_lists:
        assert validate_scene({"summary": "They left.", **memory}).valid


def test_the_hard_limit_of_a_summary_is_five_hundred_tokens() -> None:
    word = "tide "
    longest = max(count for count in range(300, 700) if estimate_tokens(word * count) <= MOST_SUMMARY_TOKENS)
    assert validate_scene({"summary": word * longest}).valid
    assert not validate_scene({"summary": word * (longest + 2)}).valid


def test_every_fault_is_found_at_once() -> None:
    found = validate_scene({"summary": "", "lorebooks": [{"name": "Wren"}, 3, {"name": 1, "type": "x", "keywords": [],
                                                                         "content": "c"}]})  # fmt: skip
    assert [one.where for one in found.faults] == [
        "summary", "lorebooks[0].type", "lorebooks[0].content", "lorebooks[0].keywords", "lorebooks[1]",
        "lorebooks[2].name", "lorebooks[2].type", "lorebooks[2].keywords",
    ]  # fmt: skip


def test_the_same_name_with_another_type_is_no_duplicate() -> None:
    entry = {"keywords": ["Lantern", "the inn"], "content": "An inn at the mole."}
    both = [{"name": "Lantern", "type": "item", **entry}, {"name": "Lantern", "type": "location", **entry}]
    assert validate_scene({"summary": "They left.", "lorebooks": both}).valid
    both[1]["type"] = "item"
    both[1]["name"] = "ＬＡＮＴＥＲＮ"
    assert "lorebooks[0]" in validate_scene({"summary": "They left.", "lorebooks": both}).faults[0].reason


@pytest.mark.parametrize(
    "told",
    [
        "In Marrow Bay, a storm broke the mast.",
        "Wren met Bram, a rope and a lamp in hand.",
        "The bartender Grim told them about the road.",
        "Alice was wounded in the shoulder. She had her eyes bandaged.",
        "When Wren reached Lethen, the harbour guard was gone.",
    ],
)
def test_telling_what_happened_is_no_description(told: str) -> None:
    assert find_description(told) == ""


@pytest.mark.parametrize(
    "described",
    [
        "Bram, a mysterious rogue with questionable loyalties, came along.",
        "Wren was a quiet and stubborn woman. She left.",
        "They met a red-haired sailor.",
        "The hall had soaring stone architecture. They slept.",
    ],
)
def test_descriptions_in_a_summary_are_seen(described: str) -> None:
    assert find_description(described) != ""


def test_what_an_entry_may_say_and_what_not() -> None:
    story = "Wren drew a knife. She fought Bram. They fled."
    assert find_timeline(story, "character") == "Wren drew a knife."
    assert find_timeline(story, "event") == ""
    assert find_timeline("Wren lived in Lethen. She served the guard. Trusts nobody.", "character") == ""
    assert find_timeline('Says: "Then we ran. Then we hid. Then we slept."', "character") == ""


def test_repeating_the_summary_is_seen_and_naming_the_same_things_is_not() -> None:
    summary = "Wren gave the salt key to Bram at the chapel of Lethen before the guard came."
    assert repeats(summary, "Wren gave the salt key to Bram at the chapel of Lethen before the guard came.")
    assert repeats(summary, "Wren gave Bram the salt key at the Lethen chapel.")
    assert not repeats(summary, "Old iron key, cold to the touch, that opens the salt vault. Bram keeps it.")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["summary", "lorebooks", "name", "type", "keywords", "content"]) | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=cases(200))
@given(json_values)
def test_anything_at_all_can_be_judged(value: object) -> None:
    found = validate_scene(value)
    assert found.valid == (not found.faults)
    assert all(one.where and one.reason for one in (*found.faults, *found.warnings))
    if found.valid:
        assert isinstance(value, dict)
        assert value["summary"].strip()
