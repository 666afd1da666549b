"""lore validate, lore migrate, lore combine: scene memories in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.core.model_io import FailureKind, ModelFailure
from tests.end_to_end.cli.running import Cli
from tests.end_to_end.cli.test_cli_lore import SMALL, scripted

GRIM = {
    "name": "Grim",
    "type": "character",
    "keywords": ["Grim", "barkeeper"],
    "content": "Gruff barkeeper in Lethen. Keeps the salt key. Status: alive.",
}
FIRST: dict[str, Any] = {
    "summary": "Wren asked Grim for the salt key. He refused, and she left without it.",
    "lorebooks": [GRIM],
}
SECOND: dict[str, Any] = {
    "summary": "Grim drowned in the flood. Wren took the salt key.",
    "lorebooks": [
        {"name": "grim", "type": "character", "keywords": ["Grim"], "content": "Status: dead."},
        {"name": "Salt key", "type": "item", "keywords": ["salt key", "key"], "content": "Heavy, of grey iron."},
    ],
    "open_threads": ["Who flooded Lethen?"],
}
OLDER = {
    "narrative": "Alice met Bob at the forge.",
    "npcs_facts": {"Bob": "A smith with one hand."},
    "visited_locations": ["The forge"],
    "weather": "Rain",
}
SHAPE = {"summary", "lorebooks"}


def file(tmp_path: Path, name: str, value: object) -> Path:
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_a_valid_memory(cli: Cli, tmp_path: Path) -> None:
    path = file(tmp_path, "one.json", FIRST)
    found = cli("lore", "validate", path, "--json").json
    assert (found["valid"], found["faults"]) == (True, [])
    assert {"where", "reason"} == set(found["warnings"][0])
    people = cli("lore", "validate", path)
    assert people.code == 0
    assert "warning: summary has about" in people.out
    assert people.out.endswith("is a valid scene memory.\n")
    assert not cli.db.exists(), "no story is needed"


@pytest.mark.parametrize(
    ("given", "where", "reason"),
    [
        ({}, "summary", "is missing"),
        ({**FIRST, "summary": " "}, "summary", "is empty"),
        ({**FIRST, "summary": ["x"]}, "summary", "must be a text"),
        ({**FIRST, "summary": "Wren walked on. " * 200}, "summary", "over the limit of 500"),
        ({**FIRST, "lorebooks": {}}, "lorebooks", "must be a list"),
        ({**FIRST, "lorebooks": [7]}, "lorebooks[0]", "must be an object"),
        ({**FIRST, "lorebooks": [GRIM, GRIM]}, "lorebooks[1]", "same name and type"),
        ({**FIRST, "lorebooks": [{**GRIM, "type": "dragon"}]}, "lorebooks[0].type", "dragon"),
        ({**FIRST, "lorebooks": [{**GRIM, "keywords": []}]}, "lorebooks[0].keywords", "empty"),
        ({**FIRST, "lorebooks": [{**GRIM, "name": "x" * 3_000}]}, "lorebooks[0].name", "has 3000 characters, over"),
        ({**FIRST, "lorebooks": [{**GRIM, "keywords": ["k" * 201]}]}, "lorebooks[0].keywords", "one of 201 characters"),
        ({**FIRST, "open_threads": "x"}, "open_threads", "must be a list, not a text"),
        ({**FIRST, "state_changes": {"a": 1}}, "state_changes", "must be a list, not an object"),
        ({**FIRST, "resolved_threads": ["x", None]}, "resolved_threads[1]", "must be a text, not null"),
        ([FIRST], "scene", "must be an object, not a list"),
        ('{"summary": "cut o', "file", "cut off"),
        ("Wren left.", "file", "not valid JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(cli: Cli, tmp_path: Path, given: object, where: str, reason: str) -> None:
    path = file(tmp_path, "one.json", given)
    ran = cli("lore", "validate", path, "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["valid"], ran.err) == (1, False, "")
    assert [fault for fault in found["faults"] if fault["where"] == where and reason in fault["reason"]], found
    people = cli("lore", "validate", path)
    assert people.code == 1
    assert f"fault: {where} " in people.out


@pytest.mark.parametrize("command", ["validate", "migrate"])
def test_what_cannot_be_read_is_bad_input(cli: Cli, tmp_path: Path, command: str) -> None:
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\x00\xfe")
    empty = file(tmp_path, "empty.json", "")
    for form in ((), ("--json",)):
        assert "no such file" in cli.fails(2, "lore", command, tmp_path / "none.json", *form)
        assert "directory" in cli.fails(2, "lore", command, tmp_path, *form)
        assert "empty" in cli.fails(2, "lore", command, empty, *form)
        assert "UTF" in cli.fails(2, "lore", command, binary, *form)


def test_an_older_memory_becomes_a_scene_and_loses_nothing(cli: Cli, tmp_path: Path) -> None:
    path = file(tmp_path, "old.json", OLDER)
    found = cli("lore", "migrate", path, "--json").json
    assert set(found) == SHAPE
    assert found["summary"] == "Alice met Bob at the forge."
    assert {one["name"]: one["type"] for one in found["lorebooks"]} == {
        "Bob": "character", "The forge": "location", "Weather": "concept",
    }  # fmt: skip
    people = cli("lore", "migrate", path)
    assert json.loads(people.out) == found
    assert people.err == "A summary and 3 entries.\n"
    out = tmp_path / "new.json"
    assert cli("lore", "migrate", path, "--out", out).out == f"{out}: a summary and 3 entries.\n"
    assert json.loads(out.read_text("utf-8")) == found
    assert cli("lore", "validate", out).code == 0
    assert "is there already" in cli.fails(2, "lore", "migrate", path, "--out", out)
    assert "cannot be written" in cli.fails(2, "lore", "migrate", path, "--out", tmp_path / "none" / "x.json")


def test_plain_text_becomes_a_scene(cli: Cli, tmp_path: Path) -> None:
    path = file(tmp_path, "text.txt", "Wren left Lethen. {{user}} stayed.")
    assert cli("lore", "migrate", path, "--json").json == {
        "summary": "Wren left Lethen. {{user}} stayed.", "lorebooks": [],
    }  # fmt: skip
    assert "text.txt" in cli.fails(2, "lore", "migrate", file(tmp_path, "text.txt", "[1, 2]"))


def test_files_are_combined_without_a_model(cli: Cli, tmp_path: Path) -> None:
    files = [file(tmp_path, "1.json", FIRST), file(tmp_path, "2.json", SECOND)]
    ran = cli("lore", "combine", *files, "--json")
    found = ran.json
    assert found["summary"] == f"{FIRST['summary']}\n{SECOND['summary']}"
    assert [(one["name"], one["content"]) for one in found["lorebooks"]] == [
        ("Grim", "Status: dead."), ("Salt key", "Heavy, of grey iron."),
    ]  # fmt: skip
    assert found["open_threads"] == ["Who flooded Lethen?"]
    assert (found["scenes"], found["calls"], found["made_by"]) == (2, 0, "builtin")
    assert found["left"] == ["Grim: Gruff barkeeper in Lethen. Keeps the salt key. Status: alive."]
    assert found["tokens_with_entries"] - found["tokens"] == found["tokens_saved"] > 0
    assert "2 scenes combined from" in ran.err
    assert "% saved" in ran.err
    people = cli("lore", "combine", *files)
    assert json.loads(people.out) == {key: found[key] for key in ("summary", "lorebooks", "open_threads")}
    out = tmp_path / "combined.json"
    assert cli("lore", "combine", *files, "--out", out).code == 0
    assert cli("lore", "validate", out, "--json").json["faults"] == []


def test_a_model_is_sent_summaries_and_nothing_else(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "Grim refused Wren the salt key and drowned in the flood; Wren took the key."
    model = scripted(monkeypatch, answer)
    files = [file(tmp_path, "1.json", FIRST), file(tmp_path, "2.json", SECOND)]
    found = cli("lore", "combine", *files, "--json").json
    assert (found["summary"], found["made_by"], found["calls"]) == (answer, "model", 1)
    (request,) = model.requests
    sent = f"{request.system}\n{request.user}"
    assert FIRST["summary"] in sent
    assert SECOND["summary"] in sent
    for words in ("barkeeper", "Gruff", "grey iron", "Who flooded"):
        assert words not in sent


def test_a_model_that_fails_is_said_and_the_summaries_are_joined(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, [ModelFailure(FailureKind.UNAUTHORIZED, "It wants a key.")])
    files = [file(tmp_path, "1.json", FIRST), file(tmp_path, "2.json", SECOND)]
    ran = cli("lore", "combine", *files, "--json")
    assert (ran.json["made_by"], ran.json["reason"]) == ("builtin", "It wants a key.")
    assert ran.json["summary"].startswith("Wren asked Grim")
    assert "The built-in writer joined the summaries: It wants a key." in ran.err


def test_the_scenes_of_a_story_are_combined(cli: Cli) -> None:
    cli.tell("tale", 36)
    cli("set", "tale", *SMALL)
    cli("fold", "tale")
    scenes = cli("scenes", "tale", "--json").json["scenes"]
    assert len(scenes) == 4
    found = cli("lore", "combine", "tale", "--scenes", "2..3", "--words", 60, "--json").json
    assert found["scenes"] == 2
    assert found["summary"]
    assert cli("lore", "combine", "tale", "--json").json["scenes"] == 4
    assert "no scenes 3 to 9; there are 4." in cli.fails(2, "lore", "combine", "tale", "--scenes", "3..9")
    assert "no scenes 0 to 1" in cli.fails(2, "lore", "combine", "tale", "--scenes", "0..1")
    assert "write FIRST..LAST" in cli.fails(2, "lore", "combine", "tale", "--scenes", "all")
    assert "at least two scenes; there is one." in cli.fails(2, "lore", "combine", "tale", "--scenes", "2..2")


@pytest.mark.parametrize("value", ["x", "-1", "10001"])
def test_a_length_that_is_none_is_refused(cli: Cli, tmp_path: Path, value: str) -> None:
    files = [file(tmp_path, "1.json", FIRST), file(tmp_path, "2.json", SECOND)]
    assert value.strip("-") in cli.fails(2, "lore", "combine", *files, "--words", value)


def test_what_cannot_be_combined(tale: Cli, tmp_path: Path) -> None:
    one = file(tmp_path, "1.json", FIRST)
    bad: Any = file(tmp_path, "2.json", {"summary": 7})
    assert tale.fails(2, "lore", "combine", "nowhere") == "There is neither a story nor a file named 'nowhere'."
    assert "there is one." in tale.fails(2, "lore", "combine", one)
    assert "there are none." in tale.fails(2, "lore", "combine", "tale")
    assert "none is noted yet" in tale.fails(2, "lore", "combine", "tale", "--scenes", "1..2")
    assert "no such file" in tale.fails(2, "lore", "combine", one, tmp_path / "none.json")
    assert "2.json: This is no scene memory" in tale.fails(2, "lore", "combine", one, bad)
    assert "--scenes chooses among" in tale.fails(2, "lore", "combine", one, one, "--scenes", "1..2")
    assert "Missing argument" in tale.fails(2, "lore", "combine")


def test_migrating_keeps_what_is_said_in_lists_of_another_shape(cli: Cli, tmp_path: Path) -> None:
    given = {**FIRST, "open_threads": "x", "state_changes": {"a": 1, "b": ["c", "d"]}, "resolved_threads": [1, None]}
    found = cli("lore", "migrate", file(tmp_path, "one.json", given), "--json").json
    assert (found["open_threads"], found["state_changes"], found["resolved_threads"]) == (
        ["x"],
        ["a: 1", "b: c; d"],
        ["1"],
    )
    assert cli("lore", "validate", file(tmp_path, "two.json", found), "--json").json["valid"]


@pytest.mark.parametrize("text", ["null", "5", " true\n", "[]", "-2.5e3"])
@pytest.mark.parametrize("command", ["migrate", "combine"])
def test_json_that_is_neither_object_nor_text_is_refused(cli: Cli, tmp_path: Path, command: str, text: str) -> None:
    files = [file(tmp_path, "one.json", text)] * (1 + (command == "combine"))
    assert "A scene memory must be an object or a text, not " in cli.fails(2, "lore", command, *files)


@pytest.mark.parametrize("text", ['[{"summary": "Wren le', '["Wren left.", ', "{", '{"summary"'])
def test_json_that_is_cut_off_is_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    assert "not valid JSON" in cli.fails(2, "lore", "migrate", file(tmp_path, "one.json", text))


@pytest.mark.parametrize("text", ["[Night.] Wren left.", "{{user}} left.", "5 men came.", "null and void"])
def test_prose_may_begin_like_json(cli: Cli, tmp_path: Path, text: str) -> None:
    assert cli("lore", "migrate", file(tmp_path, "one.txt", text), "--json").json["summary"] == text


def test_a_fault_names_its_file_once(cli: Cli, tmp_path: Path) -> None:
    good, broken = file(tmp_path, "good.json", FIRST), file(tmp_path, "broken.json", "{")
    for bad in (tmp_path / "none.json", broken):
        assert cli.fails(2, "lore", "migrate", bad).count(str(bad)) == 1
        assert cli.fails(2, "lore", "combine", good, bad).count(str(bad)) == 1


def test_a_name_that_is_a_sentence_is_told_in_full_in_its_entry(cli: Cli, tmp_path: Path) -> None:
    long = "Bob the smith of the lower town " * 10
    path = file(tmp_path, "old.json", {"npcs_facts": {long: "He has one hand."}, "x" * 300: {"y": "z"}})
    found = cli("lore", "migrate", path, "--json").json
    first = found["lorebooks"][0]
    assert (first["name"], first["content"]) == ("Bob the smith of the", f"{long.strip()}. He has one hand.")
    assert cli("lore", "validate", file(tmp_path, "new.json", found), "--json").json["valid"]
