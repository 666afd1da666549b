"""backup, restore, move."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from previously.runtime.whole_stories import WholeStories
from tests.contract.storage.postgres_server import shared_server
from tests.end_to_end.cli.running import Cli, sentence


@pytest.fixture
def two(cli: Cli) -> Cli:
    """Two stories."""
    cli.tell("harbour", 6)
    cli.tell("mill", 2)
    return cli


def at(cli: Cli, db: object, *arguments: object) -> Any:
    return cli.bare("--db", db, *arguments, "--json").json


def test_backup(two: Cli, tmp_path: Path) -> None:
    made = two("backup", tmp_path / "b.db", "--json").json
    assert list(made) == ["path", "stories"]
    assert made["path"] == str(tmp_path / "b.db")
    assert [(one["story"], one["messages"]) for one in made["stories"]] == [("harbour", 6), ("mill", 2)]
    assert all(re.fullmatch("[0-9a-f]{32}", one["digest"]) for one in made["stories"])
    assert [one["story"] for one in at(two, tmp_path / "b.db", "stories")["stories"]] == ["harbour", "mill"]
    said = two("backup", tmp_path / "c.db", "--story", "mill")
    assert said.out == f"Backed up 1 story, 2 messages: {tmp_path / 'c.db'}\n"
    assert said.err == ""


def test_backup_names_its_file_after_the_time(two: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = Path(two("backup", "--json").json["path"])
    assert made.parent == tmp_path
    assert re.fullmatch(r"previously-\d{8}-\d{6}\.db", made.name)
    assert made.is_file()


def test_backups_are_listed(two: Cli, tmp_path: Path) -> None:
    assert "No backup was made yet" in two("backup", "--list").out
    assert two("backup", "--list", "--json").json == {"backups": []}
    made = [two("backup", tmp_path / name, "--json").json for name in ("b.db", "c.db")]
    (tmp_path / "b.db").unlink()
    listed = two("backup", "--list", "--json").json["backups"]
    assert [(one["path"], one["there"], one["stories"]) for one in listed] == [
        (made[0]["path"], False, made[0]["stories"]),
        (made[1]["path"], True, made[1]["stories"]),
    ]
    shown = two("backup", "--list").out
    assert f"UTC, 2 stories: {tmp_path / 'b.db'} (no longer there)\n" in shown
    assert shown.endswith(f"UTC, 2 stories: {tmp_path / 'c.db'}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("backup", "{}/stories.db"), "is there already"),
        (("backup", "{}/no/b.db"), "There is no folder"),
        (("backup", " "), "is empty"),
        (("backup", "{}/b.db", "--story", "nowhere"), "There is no story named 'nowhere'"),
        (("backup", "{}/b.db", "--list"), "--list takes no file"),
        (("restore", "nowhere"), "There is no file nowhere; a version of a story is restored with its number"),
        (("restore", "{}/stories.db"), "the very store"),
        (("restore", "mill", "version:1", "--as", "other"), "are for backups"),
        (("restore", "mill", "version:1", "--replace"), "are for backups"),
        (("restore", "mill", "x"), "'x' names no thing"),
        (("move", "--to", "{}/stories.db"), "to where they are"),
        (("move", "--to", ":memory:"), "gone with the process"),
        (("move", "--to", " "), "--to names no place"),
        (("move",), "--to"),
        (("move", "--to", "{}/new.db", "--story", "nowhere"), "There is no story named 'nowhere'"),
    ],
)
def test_what_cannot_be_asked(two: Cli, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    given = [argument.replace("{}", str(tmp_path)) for argument in arguments]
    for form in ((), ("--json",)):
        assert words in two.fails(2, *given, *form)
    assert two.stories() == ["harbour", "mill"]
    assert not (tmp_path / "b.db").exists()


def test_stories_in_memory_have_no_backup(cli: Cli, tmp_path: Path) -> None:
    said = cli.bare("--db", ":memory:", "backup", tmp_path / "b.db")
    assert (said.code, said.out) == (2, "")
    assert "gone with the process" in sentence(said.err)


def test_restore(two: Cli, tmp_path: Path) -> None:
    made = two("backup", tmp_path / "b.db", "--json").json
    done = at(two, tmp_path / "new.db", "restore", tmp_path / "b.db")
    assert done == {
        "from": str(tmp_path / "b.db"),
        "to": str(tmp_path / "new.db"),
        "stories": [{**one, "status": "restored"} for one in made["stories"]],
    }
    again = two.bare("--db", tmp_path / "new.db", "restore", tmp_path / "b.db")
    assert again.out == "harbour: already there, 6 messages.\nmill: already there, 2 messages.\n"
    one = at(two, tmp_path / "new.db", "restore", tmp_path / "b.db", "--story", "mill", "--as", "other mill")
    assert [(story["story"], story["status"]) for story in one["stories"]] == [("other mill", "restored")]
    assert at(two, tmp_path / "new.db", "stories")["stories"][2]["story"] == "other mill"


def test_restore_refuses_another_story_of_the_same_name(two: Cli, tmp_path: Path) -> None:
    two("backup", tmp_path / "b.db")
    two("add", "mill", "--role", "user", "--text", "More.")
    assert "has another story named 'mill'; nothing was written" in two.fails(2, "restore", tmp_path / "b.db")
    assert len(two.texts("mill")) == 3
    replaced = two("restore", tmp_path / "b.db", "--replace", "--json").json
    assert [one["status"] for one in replaced["stories"]] == ["already there", "restored"]
    assert len(two.texts("mill")) == 2
    (aside,) = [name for name in two.stories() if name.startswith("mill (until ")]
    assert len(two.texts(aside)) == 3


def test_restore_of_what_is_no_backup_fails(two: Cli, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Odalys, " * 99)
    assert "letter.txt is not a database of Previously" in two.fails(1, "restore", tmp_path / "letter.txt")


def test_move(two: Cli, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    done = two("move", "--to", new, "--json").json
    assert (done["from"], done["to"]) == (str(two.db), str(new))
    assert [(one["story"], one["messages"], one["status"]) for one in done["stories"]] == [
        ("harbour", 6, "moved"), ("mill", 2, "moved"),
    ]  # fmt: skip
    again = two("move", "--to", new)
    assert "mill: already there, 2 messages.\n" in again.out
    assert f"set PREVIOUSLY_DB to {new}" in again.out
    assert f"{two.db} is as it was; delete it" in again.out
    assert two.stories() == [one["story"] for one in at(two, new, "stories")["stories"]]


def test_move_to_a_server(two: Cli, tmp_path: Path) -> None:
    url = shared_server().emptied().replace("postgres@", "postgres:secret@")
    moved = two("move", "--to", url)
    assert moved.code == 0
    assert "harbour: moved, 6 messages.\n" in moved.out
    assert "secret" not in moved.out + moved.err
    assert "set PREVIOUSLY_DB to that address" in moved.out
    back = two.bare("--db", url, "move", "--to", tmp_path / "back.db", "--json").json
    assert back["stories"] == [{**one, "status": "moved"} for one in back["stories"]]
    assert "secret" not in back["from"]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_story_that_changes_while_it_is_moved_is_no_success(
    two: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    take_in = WholeStories.take_in

    async def busy(self: WholeStories, name: str, *arguments: Any, **named: Any) -> None:
        from previously.app import Memory

        await take_in(self, name, *arguments, **named)
        if name == "mill":
            async with await Memory.open(two.db) as memory:
                await (await memory.story("mill")).add("user", "Meanwhile.")

    with monkeypatch.context() as patched:
        patched.setattr(WholeStories, "take_in", busy)
        moved = two("move", "--to", tmp_path / "new.db", *form)
    assert moved.code == 1
    assert sentence(moved.err) == "Written to while being moved: mill; run it again with --replace."
    assert '"status": "changed meanwhile"' in moved.out if form else "mill: changed meanwhile" in moved.out
    assert "set PREVIOUSLY_DB" not in moved.out
    assert "another story named 'mill'" in two.fails(2, "move", "--to", tmp_path / "new.db")
    assert two("move", "--to", tmp_path / "new.db", "--replace").code == 0
    assert len(at(two, tmp_path / "new.db", "stories")["stories"]) == 3
