"""stories, doctor, and the global options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from previously import __version__
from previously.cli.headings import COMMANDS, HEADINGS
from previously.cli.memory import print_folds
from previously.core.path import Span
from previously.core.versions import Cost, Kind
from previously.runtime.fold_report import FoldDone, FoldReport
from tests.end_to_end.cli.running import Cli

MOST_LINES = 48
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


def test_a_search_says_where_nothing_is_said_in_these_words(cli: Cli) -> None:
    cli.tell("tale", 20)
    assert "No message has these words" in cli("search", "tale", "zzqxv").out
    assert "No message says this" not in cli("search", "tale", "Orla").out


def test_a_fold_names_why_the_model_did_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    cause = "No connection to http://127.0.0.1:9/v1: is the server running?"
    folds = [
        FoldDone(Kind.RECAP, "", "provisional", "builtin", f"{tokens} tokens; {cause}", Span(first, first + 9), Cost())
        for tokens, first in ((2_079, 0), (2_090, 10))
    ]
    print_folds(FoldReport(tuple(folds), "nothing is due"), planned=False, verbose=False)
    told = " ".join(capsys.readouterr().out.split())
    assert told.count(cause) == 1
    assert "2 folds are provisional, until the model answers." in told


def test_one_message_was_folded_and_one_fold_waits(capsys: pytest.CaptureFixture[str]) -> None:
    cost = Cost(0, 1, 1)
    folds = [
        FoldDone(Kind.RECAP, "", "pending", "model", "1 message", Span(3, 3), cost),
        FoldDone(Kind.EPISODE, "", "provisional", "builtin", "1 message", Span(3, 3), Cost()),
    ]
    print_folds(FoldReport(tuple(folds), "nothing is due"), planned=False, verbose=False)
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("Message 3 was folded: 1 recap, 1 episode; 1 token read, 1 written.")
    assert "1 fold is provisional, until the model answers. 1 fold waits for your approval." in told
