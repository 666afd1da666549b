"""Books are worked on here and elsewhere: what goes out is what came in, but for what was changed, and is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously import BadInput, BlockingMemory
from tests.end_to_end.files.test_export import bring_in, dump, export, parse_lines
from tests.unit.formats.test_sillytavern import ANSWER, HEADER, QUESTION
from tests.unit.lore.test_parse_books import CARD, WORLD

FORMS = {"world-info": WORLD, "character-book": CARD}


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with BlockingMemory(tmp_path / "stories.db") as opened:
        yield opened


def find_differences(before: Any, now: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """The values that differ, by their path; a field that is missing is not null."""
    if isinstance(before, dict) and isinstance(now, dict) and list(before) == list(now):
        pairs: Any = ((f"{path}/{key}", before[key], now[key]) for key in before)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = ((f"{path}/{at}", *both) for at, both in enumerate(zip(before, now, strict=True)))
    else:
        return {} if json.dumps(before) == json.dumps(now) else {path: (before, now)}
    return {place: values for each in pairs for place, values in find_differences(each[1], each[2], each[0]).items()}


@pytest.mark.parametrize("form", FORMS)
def test_the_second_export_is_the_first_to_the_byte(memory: BlockingMemory, form: str) -> None:
    memory.keep_book("harbour", FORMS[form])
    first = memory.export_book("harbour", form)
    assert find_differences(FORMS[form], json.loads(first)) == {}
    again = memory.keep_book("harbour", json.loads(first))
    assert again.changes == ()
    assert memory.export_book("harbour", form) == first
    other = next(name for name in FORMS if name != form)
    turned = memory.export_book("harbour", other)
    memory.keep_book("turned", json.loads(turned))
    assert memory.export_book("turned", other) == turned


def test_there_and_back_under_another_name_is_the_file_as_it_was(memory: BlockingMemory) -> None:
    """A book without a name of its own is called as its file, and gets none on the way."""
    nameless = {key: value for key, value in WORLD.items() if key != "name"}
    memory.keep_book("valley", nameless)
    memory.keep_book("valley-back", json.loads(memory.export_book("valley", "character-book")))
    assert json.loads(memory.export_book("valley-back", "world-info")) == nameless


def test_there_and_back_is_the_file_as_it_was(memory: BlockingMemory) -> None:
    memory.keep_book("harbour", WORLD)
    memory.keep_book("card", json.loads(memory.export_book("harbour", "character-book")))
    assert memory.export_book("card", "world-info") == memory.export_book("harbour", "world-info")
    assert [entry.uid for entry, _ in memory.book("card")][:2] == ["card/12", "card/0"]


@pytest.mark.parametrize(
    ("form", "entry", "field", "value", "path", "written"),
    [
        ("world-info", "The ferryman", "content", "Older.", "/entries/12/content", "Older."),
        ("world-info", "The ferryman", "name", "Grim", "/entries/12/comment", "Grim"),
        ("world-info", "The ferryman", "enabled", False, "/entries/12/disable", True),
        ("world-info", "Harbour/12", "groups", ["boats"], "/entries/12/group", "boats"),
        ("world-info", "12", "sticky", 9, "/entries/12/sticky", 9),
        ("character-book", "Captain Tess", "name", "Tess", "/data/character_book/entries/0/name", "Tess"),
        ("character-book", "Captain Tess", "order", 11, "/data/character_book/entries/0/insertion_order", 11),
        ("character-book", "Captain Tess", "depth", 8, "/data/character_book/entries/0/extensions/depth", 8),
    ],
)
def test_one_field_changed_here_is_one_field_there(
    memory: BlockingMemory, form: str, entry: str, field: str, value: Any, path: str, written: Any
) -> None:
    memory.keep_book("Harbour", FORMS[form])
    memory.edit_book("Harbour", entry, **{field: value})
    ((place, (_, now)),) = find_differences(FORMS[form], json.loads(memory.export_book("Harbour", form))).items()
    assert (place, now) == (path, written)


def test_what_cannot_be_set_is_refused_and_changes_nothing(memory: BlockingMemory) -> None:
    memory.keep_book("harbour", WORLD)
    before = memory.export_book("harbour", "world-info")
    for values, said in (
        ({"colour": "red"}, "has no field 'colour'"),
        ({"order": "many"}, '"order" must be a number'),
        ({"position": 9}, '"position" must be from 0 to 7'),
    ):
        with pytest.raises(BadInput, match=said):
            memory.edit_book("harbour", "The ferryman", **values)
    with pytest.raises(BadInput, match="no entry 'Nobody'"):
        memory.edit_book("harbour", "Nobody", content="x")
    assert memory.export_book("harbour", "world-info") == before


def save_in_sillytavern(book: dict[str, Any]) -> dict[str, Any]:
    """What SillyTavern does to a book that is opened and saved: it fills in the fields that are missing."""
    usual = {"automationId": "", "matchScenario": False, "triggers": [], "outletName": "", "displayIndex": 7,
             "characterFilter": {"isExclude": False, "names": [], "tags": []}, "ignoreBudget": False,
             "delayUntilRecursion": 0, "groupWeight": 100, "addMemo": True}  # fmt: skip
    return book | {"entries": {uid: usual | entry for uid, entry in book["entries"].items()}}


@pytest.mark.parametrize("origin", ["file", "story"])
def test_an_entry_named_otherwise_elsewhere_is_one_change(memory: BlockingMemory, tmp_path: Path, origin: str) -> None:
    if origin == "story":
        story = memory.story("tale")
        story.write_lore("The ferryman", "character", keywords=["Grim"], content="Old.")
        story.write_lore("Pier", "location", keywords=["pier"], content="Rotten.")
        memory.keep_book("harbour", json.loads(export(story, "world-info")))
    else:
        memory.keep_book("harbour", WORLD)
    saved = save_in_sillytavern(json.loads(memory.export_book("harbour", "world-info")))
    (uid,) = (uid for uid, entry in saved["entries"].items() if entry.get("comment") == "The ferryman")
    assert memory.keep_book("harbour", saved).changes == ()
    saved["entries"][uid]["comment"] = "Grim the Elder"
    (change,) = memory.keep_book("harbour", saved).changes
    assert (change.uid, change.field, change.before, change.after) == (
        f"harbour/{uid}",
        "name",
        "The ferryman",
        "Grim the Elder",
    )
    assert memory.keep_book("harbour", saved).changes == ()


def test_replies_made_since_are_swipes_of_the_chat(memory: BlockingMemory, tmp_path: Path) -> None:
    plain = {key: value for key, value in ANSWER.items() if not key.startswith("swipe")}
    path = tmp_path / "chat.jsonl"
    path.write_bytes(dump(HEADER, QUESTION, plain))
    story = bring_in(memory, path)
    assert export(story) == path.read_bytes()
    story.regenerate("Another answer.")
    line = parse_lines(export(story))[-1]
    assert (line["mes"], line["swipes"], line["swipe_id"]) == ("Another answer.", [plain["mes"], "Another answer."], 1)
    assert line["swipe_info"][0]["extra"] == plain["extra"]
    assert {key: line[key] for key in ("name", "is_user", "is_system")} == {
        key: plain[key] for key in ("name", "is_user", "is_system")
    }
    back = tmp_path / "back.jsonl"
    back.write_bytes(export(story))
    assert export(bring_in(memory, back, "again")) == back.read_bytes()
