"""add, import, edit, delete, hide, unhide, branch, switch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.cli.running import Cli


def line(text: str, **more: object) -> dict[str, object]:
    return {"role": "user", "name": "Orla", "content": text, **more}


def test_add_begins_a_story_and_says_so(cli: Cli) -> None:
    ran = cli("add", "tale", "--role", "user", "--name", "Orla", "--text", "The pass is shut.", "--json")
    assert ran.json == {"story": "tale", "branch": "main", "messages": 1}
    assert ran.err == "Started a new story, tale.\n"
    again = cli("add", "tale", "--role", "assistant", "--text", "So it is.", "--json")
    assert again.json == {"story": "tale", "branch": "main", "messages": 2}
    assert again.err == ""
    assert cli.texts("tale") == ["The pass is shut.", "So it is."]


def test_add_keeps_who_when_and_before_whom(cli: Cli) -> None:
    cli(
        "add", "tale", "--role", "user", "--name", "Orla", "--text", "Hush.", "--at", "2026-10-09T08:00:00Z",
        "--witness", "Orla", "--witness", "Davin", "--id", "m-1",
    )  # fmt: skip
    from previously.blocking import BlockingMemory

    with BlockingMemory(cli.db) as memory:
        (item,) = memory.story("tale").messages()
    assert item.entry.message.speaker == "Orla"
    assert item.entry.message.witnesses == ("Davin", "Orla")
    assert (item.entry.attributes.at, item.entry.attributes.source_id) == ("2026-10-09T08:00:00Z", "m-1")


@pytest.mark.parametrize(
    ("given", "kept"),
    [(b"Snow.\n", "Snow."), (b"Snow.\r\n", "Snow."), (b"two\nlines\n\n", "two\nlines\n"), ("Ö".encode(), "Ö")],
)
def test_text_from_standard_input(cli: Cli, given: bytes, kept: str) -> None:
    assert cli("add", "tale", "--role", "user", "--text", "-", stdin=given).code == 0
    assert cli.texts("tale") == [kept]


def test_characters_that_cannot_be_stored_are_replaced_and_noted(cli: Cli) -> None:
    ran = cli("add", "tale", "--role", "user", "--text", "a\udcffb\udcff", "--json")
    assert ran.json["messages"] == 1
    assert "2 characters that cannot be stored were replaced." in ran.err
    assert cli.texts("tale") == ["a\ufffdb\ufffd"]
    ran = cli("edit", "tale", -1, "--text", "c\udcff")
    assert ran.err == "1 character that cannot be stored was replaced.\n"
    assert cli.texts("tale") == ["c\ufffd"]


def test_import_adds_then_follows_the_file(cli: Cli, jsonl: Callable[..., Path]) -> None:
    file = jsonl("winter.jsonl", [line("one"), line("two"), line("three")])
    first = cli("import", file, "--json").json
    assert {key: first[key] for key in ("story", "added", "updated", "removed", "unchanged")} == {
        "story": "winter", "added": 3, "updated": 0, "removed": 0, "unchanged": 0,
    }  # fmt: skip
    assert cli("import", file, "--json").json["unchanged"] == 3
    jsonl("winter.jsonl", [line("one"), line("two, but later"), line("three"), line("four")])
    again = cli("import", file, "--json").json
    assert (again["added"], again["updated"], again["unchanged"]) == (1, 1, 2)
    assert cli.texts("winter") == ["one", "two, but later", "three", "four"]


def test_import_under_another_name_and_format(cli: Cli, jsonl: Callable[..., Path]) -> None:
    file = jsonl("winter.jsonl", [line("one")])
    assert cli("import", file, "--story", "spring", "--format", "jsonl", "--json").json["story"] == "spring"
    assert cli.stories() == ["spring"]


def test_import_of_a_plain_text(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "script.txt"
    file.write_text("Orla: Is it far?\nDavin: Far enough.\n", encoding="utf-8")
    assert cli("import", file, "--user", "Davin", "--json").json["format"] == "text"
    roles = [message["role"] for message in cli("view", "script", "--json").json["messages"]]
    assert roles == ["assistant", "user"]


def test_import_of_several_files(cli: Cli, jsonl: Callable[..., Path]) -> None:
    files = [jsonl(f"{name}.jsonl", [line(name)]) for name in ("a", "b")]
    ran = cli("import", *files, "--json").json
    assert list(ran) == ["stories"]
    assert [(story["story"], story["added"]) for story in ran["stories"]] == [("a", 1), ("b", 1)]


def test_import_notes_replaced_characters_once(cli: Cli, jsonl: Callable[..., Path]) -> None:
    file = jsonl("winter.jsonl", [line("a\x00b"), line("c\udcff\x00")])
    ran = cli("import", file, "--json")
    assert ran.json["added"] == 2
    assert ran.err == "3 characters that cannot be stored were replaced.\n"


def test_import_for_people(cli: Cli, jsonl: Callable[..., Path]) -> None:
    ran = cli("import", jsonl("winter.jsonl", [line("one")]))
    assert ran.out == "winter: 1 added, 0 updated, 0 removed, 0 unchanged (jsonl).\n"


@pytest.mark.parametrize("position", [-1, 3])
def test_positions_count_from_either_end(tale: Cli, position: int) -> None:
    before = tale.texts("tale")
    assert tale("edit", "tale", position, "--text", "New words.", "--json").json == {
        "story": "tale", "branch": "main", "messages": 4,
    }  # fmt: skip
    assert tale.texts("tale") == [*before[:3], "New words."]
    assert tale("delete", "tale", position, "--json").json["messages"] == 3
    assert tale.texts("tale") == before[:3]


def test_edit_reads_standard_input(tale: Cli) -> None:
    ran = tale("edit", "tale", "-2", "--text", "-", stdin=b"From a pipe.\n")
    assert ran.out == "Changed message 2 of tale.\n"
    assert tale.texts("tale")[2] == "From a pipe."


def test_hide_and_unhide(tale: Cli) -> None:
    assert tale("hide", "tale", -4, "--json").json == {"story": "tale", "branch": "main", "messages": 4}
    left_out = tale("view", "tale", "--json").json["left_out"]
    assert left_out == [{"what": "message 0", "reason": "hidden", "span": [0, 0]}]
    assert tale("unhide", "tale", 0, "--json").json == {"story": "tale", "branch": "main", "messages": 4}
    assert tale("view", "tale", "--json").json["left_out"] == []


def test_branch_does_not_switch_and_switch_does(tale: Cli) -> None:
    made = tale("branch", "tale", "what-if", "--at", "-3", "--json").json
    assert made == {"story": "tale", "branch": "what-if", "messages": 2, "active": "main"}
    assert tale("switch", "tale", "what-if", "--json").json == {"story": "tale", "branch": "what-if", "messages": 2}
    assert len(tale.texts("tale")) == 2
    assert tale("branch", "tale", "whole", "--json").json["messages"] == 2
    assert tale("switch", "tale", "main", "--json").json["messages"] == 4


def test_every_change_says_what_it_did(tale: Cli) -> None:
    assert tale("hide", "tale", -1).out == "Hid message 3 of tale.\n"
    assert tale("unhide", "tale", -1).out == "Message 3 of tale is shown again.\n"
    assert tale("delete", "tale", -1).out == "Took message 3 out of tale.\n"
    assert tale("branch", "tale", "b").out == "Made branch b with 3 messages; main is still active.\n"
    assert tale("switch", "tale", "b").out == "tale goes on with branch b, 3 messages.\n"
    assert tale("add", "tale", "--role", "user", "--text", "x").out == "Added message 3 to tale.\n"
