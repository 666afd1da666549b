"""`previously shared`: memory that stories share."""

from __future__ import annotations

import json
from pathlib import Path

from tests.end_to_end.cli.running import LINES, Cli


def test_a_shared_memory_from_beginning_to_end(cli: Cli) -> None:
    for role, name, text in LINES:
        assert cli("add", "tale", "--role", role, "--name", name, "--text", text).code == 0
    assert "There is none yet" in cli("shared", "list").out
    begun = cli("shared", "add", "davin", "He fears the ice.", "--character", "Davin", "--json").json
    facts = [{"number": 1, "text": "He fears the ice.", "from": None}]
    assert begun == {"name": "davin", "kind": "character", "of": "Davin", "learns": False, "facts": facts}
    assert cli("shared", "attach", "tale", "davin").out == "tale reads davin now.\n"
    assert "Davin knows: He fears the ice." in cli("view", "tale", "--budget", 2_000).out
    assert "from the shared memory 'davin'" in cli("view", "tale", "--explain").out
    assert cli("shared", "list", "--json").json["shared"] == [{**begun, "stories": ["tale"]}]
    assert "davin" in cli("shared", "list").out and "He fears the ice." in cli("shared", "show", "davin").out
    assert cli("shared", "edit", "davin", 1, "--text", "He loves the ice.").code == 0
    assert cli("shared", "undo", "davin", "--json").json["facts"] == facts
    assert cli("shared", "learn", "davin", "on", "--json").json["learns"] is True
    assert cli("shared", "remove", "davin", 1).code == 0
    assert cli("shared", "detach", "tale", "davin").code == 0
    assert cli("shared", "remove", "davin").code == 2, "nobody is there to be asked"
    assert cli("shared", "remove", "davin", "--yes", "--json").json == {"forgotten": "davin", "facts": 0}


def test_a_refusal_is_one_sentence(cli: Cli) -> None:
    for arguments in (("add", "x"), ("show", "x"), ("learn", "x", "maybe"), ("add", "x", "--world", "--project")):
        ran = cli("shared", *arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_name_is_the_same_when_it_is_begun_and_when_it_is_told(cli: Cli) -> None:
    assert cli("shared", "add", "a\nb", "It rained.", "--world").code == 2
    assert cli("shared", "list", "--json").json["shared"] == []
    assert cli("shared", "add", "the  mill", "It burnt.", "--world").out == "the mill holds 1 fact.\n"


def test_an_imported_book_leaves_a_shared_memory_alone(cli: Cli, tmp_path: Path) -> None:
    assert cli("shared", "add", "odalys", "She cannot swim.", "--character", "Odalys").code == 0
    book = tmp_path / "odalys.json"
    entry = {"uid": 0, "key": ["Odalys"], "content": "She keeps the ferry house."}
    book.write_text(json.dumps({"entries": {"0": entry}}))
    for options in ([], ["--dry-run"]):
        ran = cli("import", book, *options)
        assert (ran.code, ran.err.count("\n")) == (2, 1) and "'odalys' is a shared memory" in ran.err
    assert [shared["name"] for shared in cli("shared", "list", "--json").json["shared"]] == ["odalys"]
