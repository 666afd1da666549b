"""Whatever a user can do wrong: one sentence, the right exit code, and nothing lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from previously.blocking import BlockingMemory
from previously.core.json_values import MAX_MESSAGE_BYTES
from tests.end_to_end.cli.running import Cli, sentence

GOOD = {"role": "user", "content": "fine"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("view", "nowhere"),
        ("show", "nowhere"),
        ("log", "nowhere"),
        ("fold", "nowhere"),
        ("edit", "nowhere", "0", "--text", "x"),
        ("delete", "nowhere", "0"),
        ("hide", "nowhere", "0"),
        ("unhide", "nowhere", "0"),
        ("branch", "nowhere", "new"),
        ("switch", "nowhere", "main"),
    ],
)
def test_unknown_story(tale: Cli, arguments: tuple[str, ...]) -> None:
    for flags in ((), ("--json",)):
        assert "no story named 'nowhere'" in tale.fails(2, *arguments, *flags)
    assert tale.stories() == ["tale"]


def test_a_slip_of_the_pen_is_answered_in_whole_sentences(cli: Cli) -> None:
    assert cli.fails(2, "shwo", "tale").endswith("Did you mean 'show'? See `previously --help`.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("view", "tale", "--budget", "0"), "budget of 0"),
        (("view", "tale", "--budget", "-5"), "budget of -5"),
        (("view", "tale", "--budget", "many"), "'many' is not a budget"),
        (("view", "tale", "--budget", "1.5"), "'1.5' is not a budget"),
        (("view", "tale", "--budget", "9" * 18), "not possible"),
        (("view", "tale", "--budget", "9" * 5000), "is not a budget"),
        (("view", "tale", "--budget", "3"), "too small"),
        (("view", "tale", "--budget"), "--budget"),
        (("view", "tale", "--reader", "nobody"), "no reader 'nobody'"),
        (("view", "tale", "--reader", "character"), "character:NAME"),
        (("view", "tale", "--reader", "chat:Ines"), "no reader"),
        (("why", "tale", "9"), "position 9"),
        (("why", "tale", "1"), "No view for chat is known"),
        (("edit", "tale", "4", "--text", "x"), "position 4"),
        (("edit", "tale", "-5", "--text", "x"), "position -5"),
        (("edit", "tale", "one", "--text", "x"), "'one' names no thing"),
        (("edit", "tale", "1.0", "--text", "x"), "names no thing"),
        (("edit", "tale", "0"), "--text"),
        (("edit", "tale", "0", "--txt", "x"), "previously edit --help"),
        (("delete", "tale", "99"), "position 99"),
        (("delete", "tale"), "POSITION"),
        (("delete", "tale", "-1", "--jsn"), "--jsn"),
        (("hide", "tale", "--", "-9"), "position -9"),
        (("unhide", "tale", "9" * 40), "is not a position"),
        (("branch", "tale", "main"), "'main' already"),
        (("branch", "tale", "new", "--at", "17"), "position 17"),
        (("branch", "tale", "new", "--at", "x"), "'x' is not a position"),
        (("branch", "tale", " "), "must not be empty"),
        (("switch", "tale", "elsewhere"), "no branch named 'elsewhere'"),
        (("add", "tale", "--role", "king", "--text", "x"), "'king' is not a role"),
        (("add", "tale", "--role", "user"), "--text"),
        (("add", "tale", "--text", "x"), "--role"),
        (("add", "tale", "--role", "user", "--text", "x", "--at", "noon"), "'noon' is not a time"),
        (("add", "a\udcff", "--role", "user", "--text", "x"), "choose another name"),
        (("add", "", "--role", "user", "--text", "x"), "must not be empty"),
        (("frobnicate",), "frobnicate"),
        (("stories", "--db", "x"), "--db goes before the command"),
        (("delete", "tale", "0", "--db", "x"), "--db goes before the command"),
        (("stories", "extra"), "extra"),
        (("import",), "FILE"),
        (("import", "a.jsonl", "b.jsonl", "--story", "one"), "--story names one story"),
        (("import", "x/a.jsonl", "y/a.jsonl"), "'a'"),
    ],
)
def test_bad_input_changes_nothing(tale: Cli, arguments: tuple[str, ...], said: str) -> None:
    before = tale.texts("tale")
    assert said in tale.fails(2, *arguments)
    assert tale.texts("tale") == before
    assert tale.stories() == ["tale"]
    assert tale("show", "tale", "--json").json["branches"] == [{"branch": "main", "messages": 4}]


@pytest.mark.parametrize(
    ("stdin", "said"), [(b"\xff\xfe", "not UTF-8"), (b"x" * (MAX_MESSAGE_BYTES + 10), "more than 16 MB")]
)
def test_bad_standard_input(tale: Cli, stdin: bytes, said: str) -> None:
    before = tale.texts("tale")
    assert said in tale.fails(2, "add", "new", "--role", "user", "--text", "-", stdin=stdin)
    assert said in tale.fails(2, "edit", "tale", "0", "--text", "-", stdin=stdin)
    assert tale.texts("tale") == before
    assert tale.stories() == ["tale"]


def test_a_message_that_is_too_large(tale: Cli) -> None:
    text = "x" * (MAX_MESSAGE_BYTES + 1)
    assert "16 MB" in tale.fails(2, "add", "new", "--role", "user", "--text", text)
    assert "16 MB" in tale.fails(2, "edit", "tale", "0", "--text", text)
    assert tale.stories() == ["tale"]


BAD_FILES: dict[str, bytes] = {
    "half.jsonl": b'{"role": "user", "content": "fine"}\n{"role": "user", "cont',
    "latin.jsonl": b'{"role": "user", "content": "fine"}\n{"role": "user", "content": "caf\xe9"}\n',
    "deep.jsonl": b'{"role": "user", "content": "fine", "extra": '
    + b'{"a":' * 100_000
    + b"1"
    + b"}" * 100_000
    + b"}\n",
    "large.jsonl": b'{"role": "user", "content": "' + b"x" * (MAX_MESSAGE_BYTES + 1) + b'"}\n',
    "role.jsonl": b'{"role": "king", "content": "fine"}\n',
    "binary.jsonl": bytes(range(256)) * 4,
    "empty.jsonl": b"",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_broken_file_leaves_nothing(tale: Cli, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(BAD_FILES[name])
    before = tale.texts("tale")
    assert name in tale.fails(2, "import", file)
    tale.fails(2, "import", file, "--story", "tale", "--json")
    assert tale.stories() == ["tale"]
    assert tale.texts("tale") == before


def test_one_broken_file_of_several_leaves_nothing(cli: Cli, tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    good = jsonl("good.jsonl", [GOOD])
    assert "bad.jsonl" in cli.fails(2, "import", good, tmp_path / "bad.jsonl")
    assert cli.stories() == []


def test_missing_file_directory_and_unknown_format(cli: Cli, tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    cli.fails(2, "import", tmp_path / "missing.jsonl")
    assert "directory" in cli.fails(2, "import", tmp_path, "--story", "x")
    assert "morse" in cli.fails(2, "import", jsonl("good.jsonl", [GOOD]), "--format", "morse")
    assert not cli.db.exists()


def test_a_file_that_may_not_be_read(cli: Cli, jsonl: Callable[..., Path]) -> None:
    file = jsonl("secret.jsonl", [GOOD])
    file.chmod(0)
    try:
        file.read_bytes()
    except PermissionError:
        assert "secret.jsonl" in cli.fails(2, "import", file)
    else:
        pytest.skip("this user may read everything")


def test_a_place_that_cannot_be(cli: Cli, tmp_path: Path) -> None:
    for place, code in (
        (tmp_path / "missing" / "x.db", 1),
        (tmp_path, 1),
        ("postgres://127.0.0.1:1/there", 1),
        ("mysql://me:secret@here/there", 2),
        ("", 2),
        ("a\udcff.db", 2),
    ):
        ran = cli.bare("--db", place, "stories")
        assert ran.code == code, place
        assert sentence(ran.err)
        assert "secret" not in ran.err
        assert ran.out == ""


def test_a_database_of_another_program_is_left_alone(cli: Cli) -> None:
    with sqlite3.connect(cli.db) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = cli.db.read_bytes()
    assert "another program" in cli.fails(1, "add", "tale", "--role", "user", "--text", "x")
    assert cli.db.read_bytes() == before


def test_a_file_that_is_no_database(cli: Cli) -> None:
    cli.db.write_text("This is a letter to my aunt, and long enough to be one. " * 20)
    before = cli.db.read_bytes()
    assert "not a database" in cli.fails(1, "stories", "--json")
    assert cli.db.read_bytes() == before


def test_bad_setting(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREVIOUSLY_TAIL_MESSAGES", "-3")
    assert "PREVIOUSLY_TAIL_MESSAGES is -3" in tale.fails(2, "fold", "tale")


def test_ctrl_c_is_quiet(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: BlockingMemory) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BlockingMemory, "stories", interrupted)
    ran = tale("stories")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_troubles_of_the_machine_are_one_sentence(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import apsw

    def full(self: BlockingMemory) -> None:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(BlockingMemory, "stories", full)
    assert "disk is full" in tale.fails(1, "stories")

    def broken(self: BlockingMemory) -> None:
        raise OSError(5, "Input/output error", "stories.db")

    monkeypatch.setattr(BlockingMemory, "stories", broken)
    assert tale.fails(1, "stories") == "stories.db: Input/output error."


def test_our_own_faults_are_not_hidden(tale: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(self: BlockingMemory) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(BlockingMemory, "stories", faulty)
    with pytest.raises(ZeroDivisionError):
        tale("stories")
