"""stories, doctor, and the global options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from previously import __version__
from previously.cli.headings import COMMANDS, HEADINGS
from tests.end_to_end.cli.running import Cli

MOST_LINES = 45
"""Lines of a terminal in a window of usual size: the help of a newcomer is one screen."""


def test_stories(tale: Cli) -> None:
    tale("branch", "tale", "other")
    listed = tale("stories", "--json").json
    assert list(listed) == ["stories"]
    (story,) = listed["stories"]
    assert (story["story"], story["messages"], story["branches"]) == ("tale", 4, 2)
    assert "tale" in tale("stories").out


def test_no_stories_yet(cli: Cli) -> None:
    assert cli("stories", "--json").json == {"stories": []}
    assert "previously import" in cli("stories").out


def test_help_names_every_command_and_each_has_help(cli: Cli) -> None:
    helped = cli.bare("--help")
    assert cli.bare().out == helped.out
    assert helped.code == 0
    assert len(helped.out.splitlines()) <= MOST_LINES
    every = cli.bare("help")
    assert [one["command"] for one in cli.bare("help", "--json").json["commands"]] == list(COMMANDS)
    for command in COMMANDS:
        assert re.search(rf"(?<![\w-]){command}(?![\w-])", helped.out)
        assert f"\n  {command} " in every.out
        its_own = cli.bare(command, "--help")
        assert its_own.code == 0
        assert "--json" in its_own.out or "list" in its_own.out or command == "serve"
        assert cli.bare("help", command).out == its_own.out
    longest = max(len(line) for commands in HEADINGS.values() for _, line in commands.values())
    assert longest <= 66, "a line of the help fits 79 columns"


def test_version(cli: Cli) -> None:
    assert cli.bare("--version").out == f"previously {__version__}\n"


def test_the_environment_names_the_place(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tale.bare("stories", "--json").json == {"stories": []}
    monkeypatch.setenv("PREVIOUSLY_DB", str(tale.db))
    assert len(tale.bare("stories", "--json").json["stories"]) == 1


def test_doctor_finds_all_well(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREVIOUSLY_FOLD_WORDS", "900")
    ran = tale("doctor", "--json").json
    assert ran["ok"] is True
    assert all(check["ok"] for check in ran["checks"])
    assert ran["db"] == str(tale.db)
    assert ran["stories"] == 1
    assert ran["size_bytes"] > 0
    assert ran["settings"]["fold_words"] == {"value": 900, "from": "PREVIOUSLY_FOLD_WORDS"}
    assert ran["settings"]["fold_messages"] == {"value": 60, "from": "default"}
    assert set(ran["extras"]) >= {"bench"}
    people = tale("doctor")
    assert people.out.endswith("All is well.\n")
    assert "FAULT" not in people.out


def test_doctor_makes_no_file(cli: Cli) -> None:
    assert cli("doctor").code == 0
    assert not cli.db.exists()


def test_doctor_reports_a_bad_place(cli: Cli, tmp_path: Path) -> None:
    cli.db.write_bytes(b"not a database, and quite long enough to be seen as none by anyone who looks" * 20)
    ran = cli("doctor")
    assert ran.code == 1
    assert "FAULT Stories" in ran.out
    assert "Traceback" not in ran.out + ran.err
    assert cli.bare("--db", tmp_path / "missing" / "x.db", "doctor", "--json").code == 1
    assert cli.bare("--db", "postgres://x/y", "doctor").code == 1


def test_doctor_reports_a_bad_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREVIOUSLY_FOLD_WORDS", "many")
    ran = cli("doctor")
    assert ran.code == 1
    assert "PREVIOUSLY_FOLD_WORDS is 'many'" in ran.out
