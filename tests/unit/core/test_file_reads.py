"""Which lines of which file a call reads, and which reads were made again later."""

from __future__ import annotations

import json

import pytest

from previously.core.file_reads import FileRead, find_read, find_repeated
from previously.core.messages import FAILED, Message, Role, ToolCall, ToolResult
from previously.core.pairing import find_repeated_reads, render_left_out


def call(name: str, ident: str = "c0", /, **given: object) -> ToolCall:
    return ToolCall(ident, name, json.dumps(given))


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("Read", {"file_path": "/quay/a.py"}, FileRead("/quay/a.py")),
        ("Read", {"file_path": "/quay/a.py", "offset": 10, "limit": 20}, FileRead("/quay/a.py", 10, 29)),
        ("Read", {"file_path": "/quay/a.py", "offset": 0, "limit": 20}, FileRead("/quay/a.py", 1, 20)),
        ("read", {"filePath": "a.py", "offset": 5}, FileRead("a.py", 5)),
        ("read_file", {"path": "a.py", "start_line": 3, "end_line": 9}, FileRead("a.py", 3, 9)),
        ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [2, -1]}, FileRead("a.py", 2)),
        ("mcp__files__read_file", {"path": "a.py"}, FileRead("a.py")),
        ("exec_command", {"cmd": "cat src/a.py"}, FileRead("src/a.py", by_command=True)),
        ("exec_command", {"cmd": "sed -n '1,200p' src/a.py"}, FileRead("src/a.py", 1, 200, by_command=True)),
        ("shell", {"command": ["bash", "-lc", "cat 'my file.py'"]}, FileRead("my file.py", by_command=True)),
    ],
)
def test_reads(name: str, given: dict[str, object], read: FileRead) -> None:
    assert find_read(ToolCall("c", name, json.dumps(given))) == read


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Edit", {"file_path": "a.py"}),
        ("Grep", {"path": "a.py"}),
        ("read", {}),
        ("read", {"path": "a\nb"}),
        ("readable", {"path": "a.py"}),
        ("Bash", {"command": "cat a.py | wc -l"}),
        ("Bash", {"command": "cat a.py b.py"}),
        ("Bash", {"command": "cat *.py"}),
        ("str_replace_editor", {"command": "create", "path": "a.py"}),
    ],
)
def test_no_reads(name: str, given: dict[str, object]) -> None:
    assert find_read(ToolCall("c", name, json.dumps(given))) is None


@pytest.mark.parametrize("arguments", ["", "[]", "{", "null", "[" * 100_000])
def test_arguments_that_are_none(arguments: str) -> None:
    assert find_read(ToolCall("c", "Read", arguments)) is None


def test_a_read_is_repeated_where_a_later_one_shows_every_line_of_it() -> None:
    reads = [
        FileRead("a.py", 1, 10),
        FileRead("b.py"),
        FileRead("a.py", 5, 15),
        FileRead("a.py"),
        FileRead("b.py", 1, 50),
        FileRead("a.py", 3, 4),
    ]
    repeated = find_repeated(((at, 0), read) for at, read in enumerate(reads))
    assert sorted(at for at, _ in repeated) == [0, 2], "a part of a file does not stand for the whole"


def test_a_read_that_failed_shows_nothing() -> None:
    messages = [
        Message(Role.ASSISTANT, (call("Read", "c1", file_path="a.py"),)),
        Message(Role.TOOL, (ToolResult("c1", "text"),)),
        Message(Role.ASSISTANT, (call("Read", "c2", file_path="a.py"),)),
        Message(Role.TOOL, (ToolResult("c2", "no such file", FAILED),)),
    ]
    assert find_repeated_reads(messages) == frozenset()
    messages[-1] = Message(Role.TOOL, (ToolResult("c2", "text"),))
    assert find_repeated_reads(messages) == {(1, 0)}


def test_notes_name_file_and_lines_and_what_shows_them_again() -> None:
    result = ToolResult("c0", "x" * 20_480)
    part = call("Read", file_path="/quay/a.py", offset=10, limit=20)
    assert render_left_out(part, result) == (
        "[output of Read: /quay/a.py, lines 10 to 29, 20,480 characters, left out; "
        "read it again if it is needed, or use cat if refused]"
    )
    assert render_left_out(part, result, repeated=True) == (
        "[output of Read: /quay/a.py, lines 10 to 29, 20,480 characters, left out; it was read again later]"
    )
    run = call("Bash", command="make test")
    assert render_left_out(run, result) == (
        "[output of Bash, 20,480 characters, left out; ask for it again if it is needed]"
    )
    assert "error of Read, " in render_left_out(part, ToolResult("c0", "No such file", FAILED))
