"""Books of other programs, and the memories that MemoryBooks keeps in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.formats import read_story
from previously.formats.lore_files import convert_book, has_other_entries, list_memories
from previously.lore.books import parse_book

RISU = {
    "type": "risu",
    "ver": 1,
    "data": [
        {"key": "glade, wood", "secondkey": "night", "insertorder": 7, "comment": "The glade", "content": "Dark.",
         "mode": "normal", "alwaysActive": False, "selective": True, "activationPercent": 50},
        {"key": "/gl(ade|en), now/i", "content": "Deep.", "useRegex": True, "alwaysActive": True},
        {"key": "", "comment": "Places", "content": "", "mode": "folder"},
    ],
}  # fmt: skip


def make_memory(first: object, last: object, **more: Any) -> dict[str, Any]:
    entry = {"comment": "[002] The mill", "content": " They met. ", "stmemorybooks": True}
    return entry | {"key": ["mill"], "STMB_start": first, "STMB_end": last} | more


def test_a_book_of_risu_means_the_same_and_loses_nothing() -> None:
    book = convert_book(RISU)
    first, second, folder = parse_book(book, "wood").entries
    assert (first.keys, first.secondary, first.order, first.probability) == (("glade", "wood"), ("night",), 7, 50)
    assert (first.name, first.content) == ("The glade", "Dark.")
    assert (second.keys, second.constant) == (("/gl(ade|en), now/i",), True)
    assert not folder.enabled
    assert [entry["extensions"]["risu"] for entry in book["data"]["entries"]] == RISU["data"]
    with pytest.raises(BadInput, match="entry 0 of the Risu lorebook must be an object, not a number"):
        convert_book({"type": "risu", "data": [5]})


def test_memories_are_found_in_a_book_by_their_messages() -> None:
    entries = {"0": make_memory(20, 29), "1": make_memory(0, 19, comment="12 - Dawn"), "2": {"content": "lore"}}
    memories = list(list_memories({"entries": entries}))
    assert [(one.first, one.last, one.title, one.text) for one in memories] == [
        (0, 19, "Dawn", "They met."),
        (20, 29, "The mill", "They met."),
    ]
    assert has_other_entries({"entries": entries})
    assert not has_other_entries({"entries": {"0": make_memory(0, 1)}})
    assert has_other_entries(convert_book(RISU))
    assert has_other_entries([{"name": "Grim", "type": "character", "keywords": ["Grim"], "content": "A barkeeper."}])


@pytest.mark.parametrize(
    "entry",
    [make_memory(5, 2), make_memory(-1, 2), make_memory("0", 2), make_memory(True, 2), make_memory(0, 10**30),
     make_memory(0, 2, content=" "), make_memory(0, 2, stmemorybooks=False)],
)  # fmt: skip
def test_what_names_no_messages_is_no_memory(entry: dict[str, Any]) -> None:
    assert list(list_memories({"entries": [entry]})) == []


def test_a_file_of_lore_is_known_by_its_content(tmp_path: Path) -> None:
    for name, value in {
        "world": {"entries": {"0": make_memory(0, 1)}},
        "risu": RISU,
        "plain": [{"name": "Grim", "type": "character", "keywords": ["Grim"], "content": "A barkeeper."}],
    }.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value, indent=4))
        source = read_story(path)
        assert (source.format, source.books[0].name) == ("book", name)
