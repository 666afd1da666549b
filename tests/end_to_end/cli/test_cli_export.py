"""export, books export, and importing a whole story."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.end_to_end.cli.running import Cli


def test_a_story_is_printed_or_written(tale: Cli, tmp_path: Path) -> None:
    printed = tale("export", "tale", "--to", "openai")
    texts = [message["content"] for message in json.loads(printed.out)]
    assert texts == tale.texts("tale")
    path = tmp_path / "tale.json"
    path.write_text("old")
    ran = tale("export", "tale", "--to", "openai", "--out", path, "--json")
    assert ran.json == {"story": "tale", "format": "openai", "path": str(path), "branches": []}
    assert path.read_text() == printed.out
    assert [file.name for file in tmp_path.glob(".*")] == [], "nothing half-written stays behind"
    inline = tale("export", "tale", "--to", "markdown", "--json").json
    assert inline["path"] is None
    assert inline["content"].startswith("# tale\n")


def test_a_whole_story_is_imported_again(tale: Cli, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    assert tale("export", "tale", "--to", "jsonl", "--out", path).code == 0
    count = len(tale.texts("tale"))
    again = tale("import", path, "--json").json
    assert (again["story"], again["added"], again["unchanged"]) == ("tale", 0, count)
    other = tale("import", path, "--story", "copy", "--json").json
    assert (other["story"], other["added"], other["format"]) == ("copy", count, "previously")
    assert tale.texts("copy") == tale.texts("tale")
    tale("add", "tale", "--role", "user", "--text", "More.")
    refused = tale("import", path)
    assert refused.code == 2
    assert "has another story named 'tale'" in refused.err


def test_branches_are_files_beside_it(tale: Cli, tmp_path: Path) -> None:
    tale("branch", "tale", "what/if", "--at", 0)
    path = tmp_path / "tale.jsonl"
    ran = tale("export", "tale", "--to", "sillytavern-chat", "--out", path, "--json")
    assert ran.json["branches"] == [str(tmp_path / "tale - what_if.jsonl")]
    assert len((tmp_path / "tale - what_if.jsonl").read_text().splitlines()) == 2  # the header and one message
    printed = tale("export", "tale", "--to", "sillytavern-chat")
    assert printed.out.removesuffix("\n") == path.read_text()
    assert "Only the active branch is printed" in printed.err


def test_a_book_is_exported(tale: Cli, tmp_path: Path) -> None:
    book = {"entries": {"7": {"uid": 7, "key": ["mill"], "content": "By the weir.", "unknown": [None]}}}
    given = tmp_path / "valley.json"
    given.write_text(json.dumps(book))
    tale("books", "add", given)
    out = tmp_path / "out.json"
    ran = tale("books", "export", "valley", "--to", "world-info", "--out", out, "--json")
    assert ran.json["book"] == "valley"
    assert json.loads(out.read_text()) == book


def test_what_cannot_be_exported(tale: Cli, tmp_path: Path) -> None:
    for arguments, sentence in (
        (("export", "tale", "--to", "docx"), "no format named 'docx'"),
        (("export", "nobody", "--to", "openai"), "nobody"),
        (("export", "tale", "--to", "epub"), "name a file with --out"),
        (("export", "tale", "--to", "openai", "--out", tmp_path), "names a file"),
        (("export", "tale", "--to", "openai", "--out", tmp_path / "no" / "where.json"), "cannot be written"),
        (("books", "export", "none", "--to", "world-info"), "no book named 'none'"),
    ):
        ran = tale(*arguments)
        assert ran.code == 2, arguments
        assert sentence in ran.err, arguments
        assert ran.out == ""


def test_branches_of_like_names_are_files_of_their_own(tale: Cli, tmp_path: Path) -> None:
    for branch in ("a/b", "a:b", "A_b", "字" * 120):
        assert tale("branches", "add", "tale", branch).code == 0
    ran = tale("export", "tale", "--to", "sillytavern-chat", "--out", tmp_path / "chat.jsonl", "--json")
    names = [Path(path).name for path in ran.json["branches"]]
    assert names[:3] == ["chat - a_b.jsonl", "chat - a_b (2).jsonl", "chat - A_b (3).jsonl"]
    assert len(list(tmp_path.glob("chat*.jsonl"))) == 5


def test_a_link_and_a_pipe_are_written_to_and_stay(tale: Cli, tmp_path: Path) -> None:
    printed = tale("export", "tale", "--to", "openai").out
    link, file, pipe = tmp_path / "link.json", tmp_path / "file.json", tmp_path / "pipe"
    link.symlink_to(file)
    assert tale("export", "tale", "--to", "openai", "--out", link).code == 0
    assert link.is_symlink()
    assert file.read_text() == printed
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text)
        assert tale("export", "tale", "--to", "openai", "--out", pipe).code == 0
        assert pipe.is_fifo()
        assert read.result(timeout=60) == printed


@pytest.mark.parametrize("form", ["anthropic", "claude-code"])
def test_joined_turns_are_told_of_and_hold_every_word(cli: Cli, form: str, tmp_path: Path) -> None:
    for number in range(4):
        cli("add", "tale", "--role", "user" if number < 3 else "assistant", "--text", f"Word{number}.")
    ran = cli("export", "tale", "--to", form, "--out", tmp_path / "out")
    assert ran.err == (
        "4 messages became 2 turns: in this format the user begins and roles alternate. No words are left out.\n"
    )
    content = (tmp_path / "out").read_text("utf-8")
    assert all(f"Word{number}." in content for number in range(4))
    assert not cli("export", "tale", "--to", "openai", "--out", tmp_path / "out").err


def test_what_is_wrong_with_a_card_is_said_with_its_file(cli: Cli, tmp_path: Path) -> None:
    book, card, plain = tmp_path / "lethen.json", tmp_path / "tess.json", tmp_path / "plain.json"
    book.write_text(json.dumps([{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}]))
    card.write_text(json.dumps({"spec": "chara_card_v2", "data": {"name": "Tess", "first_mes": "Hi."}}))
    plain.write_text(json.dumps({"name": "Tess", "first_mes": "Hi."}))
    out = tmp_path / "new.json"
    cli("books", "add", book)
    refused = cli("lore", "export", "lethen", "--to", "character-book", "--card", plain, "--out", out)
    assert (refused.code, refused.err) == (
        2,
        f'previously: {plain}: This is no character card of version 2 or 3: it has no "data".\n',
    )
    refused = cli("lore", "export", "lethen", "--to", "world-info", "--card", card, "--out", out)
    assert (refused.code, refused.err) == (
        2,
        f"previously: {card}: A card holds a book as character-book, not as world-info.\n",
    )
    assert not out.exists()
    assert cli("lore", "export", "lethen", "--to", "character-book", "--card", card, "--out", out).code == 0
    assert json.loads(out.read_text())["data"]["character_book"]["entries"][0]["content"] == "A barkeeper."


def test_a_directory_is_not_written_where_a_file_is(tale: Cli, tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    ran = tale("export", "tale", "--to", "directory", "--out", file)
    assert (ran.code, ran.err) == (2, f"previously: {file}: this is a file, and no directory.\n")
    assert file.read_text() == "mine"


def test_one_hidden_message_is_it_and_two_are_them(cli: Cli, tmp_path: Path) -> None:
    for number in range(3):
        cli("add", "tale", "--role", "user", "--text", f"Word{number}.")
    for position, word in ((0, "it"), (1, "them")):
        cli("hide", "tale", str(position))
        told = cli("export", "tale", "--to", "openai", "--out", tmp_path / "out").err
        assert told.endswith(f": the format has no place for {word}.\n")
