"""A game's files: what is right is read, and whatever is wrong is said with file, line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from previously.core.errors import BadInput
from previously.play.game_files import read_game, read_shipped_game, write_new_game
from previously.play.game_schema import FILES as FIELDS
from previously.play.game_schema import render_schema
from tests.end_to_end.play.game_doubles import FILES, write_game

ROOT = Path(__file__).parents[3]


def test_a_game_is_read_as_it_is_written(tmp_path: Path) -> None:
    game = read_game(write_game(tmp_path))
    assert (game.id, game.title, game.player) == ("mill", "The Mill", "Tess")
    assert list(game.characters) == ["maya", "bram", "odalys"]
    assert game.characters["maya"].relationships == {"bram": "her brother"}
    one, two = game.chapters.values()
    assert (one.completion.beats, one.completion.when) == (2, "Maya has opened the door")
    assert (one.next, two.next, two.present) == ("two", "", ("maya", "bram"))


FAULTS = {
    "a field that is not there": (
        "world.yaml",
        "setting: A mill.\ntones: dry\n",
        "world.yaml, line 2, tones: there is no such field; do you mean tone",
    ),
    "a field that is missing": ("world.yaml", "tone: dry\n", "world.yaml, line 1, setting: it is missing"),
    "a list in place of a text": (
        "world.yaml",
        "tone: dry\nsetting:\n  - A mill.\n",
        "world.yaml, line 3, setting: it must be a text",
    ),
    "a text in place of a list": (
        "chapters/one.yaml",
        FILES["chapters/one.yaml"].replace(
            "beats: [Tess knocks at the door, Maya opens the door, The key is named]", "beats: many"
        ),
        "chapters/one.yaml, line 4, beats: it must be a list of texts",
    ),
    "an empty text": ("world.yaml", "setting:\n", "world.yaml, line 1, setting: it is empty"),
    "a field given twice": (
        "world.yaml",
        "setting: A.\nsetting: B.\n",
        "world.yaml, line 2, setting: this field is there twice",
    ),
    "an alias": ("world.yaml", "setting: &a A mill.\ntone: *a\n", "world.yaml, line 2: aliases (*a) are not taken"),
    "no YAML": ("world.yaml", 'setting: "A mill\n', "world.yaml, line 2"),
    "no fields at all": ("world.yaml", "a mill\n", "world.yaml, line 1: it must be fields"),
    "somebody unknown": (
        "chapters/two.yaml",
        FILES["chapters/two.yaml"].replace("[maya, bram]", "[maya, conrad]"),
        "chapters/two.yaml, line 6, characters: there is no character 'conrad'; there are maya, bram, odalys",
    ),
    "present and not of the chapter": (
        "chapters/two.yaml",
        FILES["chapters/two.yaml"] + "present: [odalys]\n",
        "chapters/two.yaml, line 8, present: 'odalys' is not among the characters of this chapter",
    ),
    "a chapter that is not there": (
        "chapters/one.yaml",
        FILES["chapters/one.yaml"].replace("next: two", "next: three"),
        "chapters/one.yaml, line 9, next: there is no chapter 'three'; there are one, two",
    ),
    "a story that goes round": (
        "chapters/two.yaml",
        FILES["chapters/two.yaml"] + "next: one\n",
        "chapters/two.yaml, line 8, next: the story goes round",
    ),
    "a chapter nobody comes to": (
        "chapters/one.yaml",
        FILES["chapters/one.yaml"].replace("next: two", ""),
        "chapters/two.yaml, line 1, id: no chapter leads here",
    ),
    "more beats than there are": (
        "chapters/two.yaml",
        FILES["chapters/two.yaml"].replace("{beats: 1}", "{beats: 4}"),
        "chapters/two.yaml, line 5, completion: 4 beats are asked for, and there are 1",
    ),
    "no number of beats": (
        "chapters/two.yaml",
        FILES["chapters/two.yaml"].replace("{beats: 1}", "{beats: some}"),
        "chapters/two.yaml, line 5, completion.beats: it must be a whole number from 1 on",
    ),
    "a second player": (
        "characters/bram.yaml",
        FILES["characters/bram.yaml"].replace("name: Bram", "name: Tess"),
        "characters/bram.yaml, line 2, name: the player has the same name",
    ),
    "a narrator": (
        "characters/bram.yaml",
        FILES["characters/bram.yaml"].replace("name: Bram", "name: Narrator"),
        "characters/bram.yaml, line 2, name: 'Narrator' is a name for whoever tells the story",
    ),
    "ties to nobody": (
        "characters/maya.yaml",
        FILES["characters/maya.yaml"].replace("{bram:", "{tom:"),
        "characters/maya.yaml, line 6, relationships: there is no character 'tom'",
    ),
    "a prompt without room for the story": (
        "chapters/one.yaml",
        FILES["chapters/one.yaml"]
        .replace("Tess comes to the mill", "Tess comes to the mill " * 80)
        .replace("The key is named", "The key is named " * 60),
        "chapters/one.yaml, line 3, summary: world, cast and this chapter take",
    ),
    "somebody told of at too great length": (
        "characters/bram.yaml",
        FILES["characters/bram.yaml"].replace("Laughs first.", "Laughs first. " * 90),
        "characters/bram.yaml, line 4, personality: it takes",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_names_file_line_and_field(what: str, tmp_path: Path) -> None:
    file, text, said = FAULTS[what]
    with pytest.raises(BadInput) as raised:
        read_game(write_game(tmp_path, **{file: text}))
    assert said in str(raised.value)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    changes = {"world.yaml": "tone: dry\n", "characters/bram.yaml": "name: Bram\n"}
    with pytest.raises(BadInput) as raised:
        read_game(write_game(tmp_path, **changes))
    assert all(f"{field}: it is missing" in str(raised.value) for field in ("setting", "role", "personality"))


def test_a_file_that_is_missing_or_not_named_is_told(tmp_path: Path) -> None:
    write_game(tmp_path)
    (tmp_path / "characters/maya.yaml").unlink()
    (tmp_path / "chapters/three.yaml").write_text("title: Nothing\n")
    with pytest.raises(BadInput) as raised:
        read_game(tmp_path)
    assert "characters/maya.yaml, line 1: there is no such file" in str(raised.value)
    assert "game.yaml, line 7, chapters: chapters/three.yaml is there and not named here" in str(raised.value)


def test_there_must_be_a_game(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no game at"):
        read_game(tmp_path / "nowhere")


def test_what_yaml_takes_for_something_else_is_text(tmp_path: Path) -> None:
    changes = {"world.yaml": "setting: yes\ntone: 1.50\n"}
    world = read_game(write_game(tmp_path, **changes)).world
    assert (world.setting, world.tone) == ("yes", "1.50")


def test_lines_of_an_editor_are_no_lines_of_the_story(tmp_path: Path) -> None:
    world = read_game(
        write_game(tmp_path, **{"world.yaml": "setting: |\n  A mill\n  by a river.\n\n  It rains.\n"})
    ).world
    assert world.setting == "A mill by a river.\n\nIt rains."


def test_the_shipped_game_is_whole() -> None:
    game = read_shipped_game()
    assert (len(game.chapters), len(game.characters)) == (3, 5)
    assert sum(len(chapter.beats) for chapter in game.chapters.values()) == 25
    assert all(person.secret for person in game.characters.values())


def test_a_new_game_can_be_read_and_leaves_what_is_there_alone(tmp_path: Path) -> None:
    files = write_new_game(tmp_path / "mine")
    assert "game.yaml" in files and len(read_game(tmp_path / "mine").chapters) == 2
    with pytest.raises(BadInput, match="there already"):
        write_new_game(tmp_path / "mine")


def test_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads((ROOT / "docs" / "game.schema.json").read_text("utf-8"))
    assert published == render_schema()
    assert set(published["$defs"]) == set(FIELDS)
