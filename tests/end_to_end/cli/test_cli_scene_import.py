"""Scene memories come into a story: with the messages they are about, or with a message of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.blocking import BlockingMemory
from previously.core.errors import BadInput
from previously.formats import StorySource, read_story
from tests.end_to_end.cli.running import Cli

SCENE: dict[str, Any] = {
    "summary": "Ada met Finn at the mill. She promised him the key.",
    "lorebooks": [{"name": "Finn", "type": "character", "keywords": ["Finn"], "content": "A miller with one eye."}],
    "open_threads": ["Ada owes Finn the key"],
}
OLDER = {"narrative": "Ada left the mill at night.", "npcs_facts": {"Bram": "A ferryman."}}


def read(folder: Path, value: object, name: str = "scene.json") -> StorySource:
    (folder / name).write_text(json.dumps(value), "utf-8")
    return read_story(folder / name)


def test_a_story_can_be_made_of_scene_memories_alone(tmp_path: Path) -> None:
    with BlockingMemory(":memory:") as memory:
        story = memory.story("tale")
        for value in (SCENE, OLDER):
            taken = story.take_in(read(tmp_path, value))
            assert (taken.changes.added, taken.memories.added) == (1, 1)
        assert [(str(one.span), one.entries) for one in story.scenes()] == [
            ("message 0", ("Finn",)),
            ("message 1", ("Bram",)),
        ]
        assert story.chapters()[0].text == SCENE["summary"]
        assert {entry.name for entry in story.lore()} == {"Finn", "Bram"}
        assert [listed.thread.text for listed in story.threads()] == ["Ada owes Finn the key"]
        again = story.take_in(read(tmp_path, SCENE))
        assert (again.changes.added, again.memories.unchanged) == (0, 1)
        assert story.branch_info().messages == 2


def test_several_in_a_list(tmp_path: Path) -> None:
    assert len(read(tmp_path, [SCENE, OLDER]).memories) == 2
    with pytest.raises(BadInput, match="scene 2 of 2"):
        read(tmp_path, [SCENE, {"summary": 5, "lorebooks": 5}])


def test_with_a_span_it_is_about_these_messages(cli: Cli, tmp_path: Path) -> None:
    cli.tell("tale")
    file = tmp_path / "scene.json"
    file.write_text(json.dumps(SCENE))
    assert "--span FIRST-LAST" in cli.fails(2, "import", file, "--story", "tale")
    ran = cli("import", file, "--story", "tale", "--span", "0-2", "--json").json
    assert (ran["added"], ran["memories"]["added"]) == (0, 1)
    (scene,) = cli("scenes", "list", "tale", "--json").json["scenes"]
    assert (scene["span"], scene["made_by"]) == ([0, 2], "import")
    assert cli("show", "tale", "--json").json["chapters"][0]["recap"] == SCENE["summary"]
    again = cli("import", file, "--story", "tale", "--json").json
    assert (again["added"], again["memories"]["unchanged"]) == (0, 1)
    assert cli("verify").code == 0


@pytest.mark.parametrize("ended", [False, True], ids=["by itself", "before an end"])
def test_what_a_scene_in_the_middle_describes_is_lore(cli: Cli, tmp_path: Path, ended: bool) -> None:
    """Messages before it that nobody noted are no reason to overlook it."""
    cli.tell("tale")
    for number in range(30):
        cli("add", "tale", "--role", "user", "--text", f"And then the boat went past pier {number}.")
    file = tmp_path / "scene.json"
    for first, name in ((20, "Grim"), (8, "Marrow")):
        entry = {"name": name, "type": "character", "keywords": [name], "content": f"{name} keeps the pier."}
        file.write_text(json.dumps({"summary": f"They met {name} at the pier.", "lorebooks": [entry]}))
        cli("import", file, "--story", "tale", "--span", f"{first}-{first + 3}")
    if ended:
        cli("scenes", "add", "tale", "--at", "30")
    assert [entry["name"] for entry in cli("lore", "list", "tale", "--json").json["entries"]] == ["Marrow", "Grim"]
    assert cli("fold", "tale", "--json").code == 0
    assert [entry["name"] for entry in cli("lore", "list", "tale", "--json").json["entries"]] == ["Marrow", "Grim"]
    assert cli("verify").code == 0
