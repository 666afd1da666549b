"""`previously forget`: it says what would go, asks, and says what went."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.cli.running import Cli

WORD = "third stone"


class Terminal:
    """Somebody who can be asked."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self, *_: Any) -> str:
        return f"{self._answer}\n"


def answering(cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: str) -> Cli:
    """A command line at which somebody sits."""
    monkeypatch.setattr(
        type(cli),
        "bare",
        lambda self, *arguments, stdin=b"": _with(self, monkeypatch, Terminal(answer), arguments),
    )
    return cli


def _with(cli: Cli, monkeypatch: pytest.MonkeyPatch, terminal: Terminal, arguments: tuple[object, ...]) -> Any:
    from previously.cli.command_table import main
    from tests.end_to_end.cli.running import Ran

    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr("typer.confirm", lambda text, **_: terminal.readline().strip() == "y" if text else False)
    cli._capsys.readouterr()
    return Ran(main([str(one) for one in arguments]), *cli._capsys.readouterr())


def test_nobody_to_ask_changes_nothing_and_says_what_would_have_gone(cli: Cli) -> None:
    cli.tell("tale", 8)
    ran = cli("forget", "tale", 3)
    assert ran.code == 2 and ran.out == ""
    assert "message 3" in ran.err and "--yes" in ran.err
    assert len(cli.texts("tale")) == 8


@pytest.mark.parametrize(("answer", "left"), [("n", 8), ("y", 7)])
def test_a_person_is_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: str, left: int) -> None:
    cli.tell("tale", 8)
    ran = answering(cli, monkeypatch, answer)("forget", "tale", 3)
    assert ran.code == (0 if answer == "y" else 2)
    assert "message 3" in ran.err
    monkeypatch.undo()
    assert len(cli.texts("tale")) == left


def test_one_message_several_and_all(cli: Cli) -> None:
    cli.tell("tale", 12)
    done = cli("forget", "tale", 3, "--yes", "--json").json
    went = {"story": "tale", "messages": 1, "others": 0, "texts": 0}
    assert done == {**went, "backups": [], "still_in": [], "cleared": True}
    assert cli("forget", "tale", -3, -1, "--yes").out.startswith("Forgot 3 messages.")
    assert len(cli.texts("tale")) == 8
    assert cli("forget", "tale", "--yes").out.startswith("Forgot the story tale.")
    assert cli.stories() == []


def test_backups_are_named_and_can_be_kept(cli: Cli, tmp_path: Path) -> None:
    cli.tell("tale", 8)
    first, second = tmp_path / "one.db", tmp_path / "two.db"
    for path in (first, second):
        assert cli("backup", path).code == 0
    kept = cli("forget", "tale", 3, "--yes", "--keep-backups")
    assert kept.code == 0 and str(first) in kept.err
    assert WORD.encode() in first.read_bytes()
    done = cli("forget", "tale", "--yes", "--json").json
    assert sorted(done["backups"]) == sorted([str(first), str(second)])
    assert WORD.encode() not in first.read_bytes() + second.read_bytes()
    listed = cli("backup", "--list", "--json").json["backups"]
    assert [one["stories"] for one in listed] == [[], []]


def test_bad_positions_and_unknown_stories_are_one_sentence(cli: Cli) -> None:
    cli.tell("tale", 8)
    assert "no story" in cli.fails(2, "forget", "nowhere", "--yes").lower()
    for arguments in ((99,), ("x",), (5, 3), (-99,)):
        cli.fails(2, "forget", "tale", *arguments, "--yes")
    assert len(cli.texts("tale")) == 8
