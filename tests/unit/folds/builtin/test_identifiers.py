"""Exact names: which are, who uses them, and where each was met."""

from __future__ import annotations

import pytest

from previously.core.messages import message
from previously.folds.builtin.identifiers import find_names, find_used_names, locate_names, parse_name_lines
from tests.unit.folds.builtin.agent_conversations import does, gives


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("open_log() in src/loghub/writer.py", ["open_log", "src/loghub/writer.py"]),
        ("see /repo/a/b.py and ~/notes.md", ["/repo/a/b.py", "~/notes.md"]),
        ("OPS-12 broke at 1a2b3c4d", ["OPS-12", "1a2b3c4d"]),
        ("RotatingWriter, maxBytes, README.md", ["RotatingWriter", "maxBytes", "README.md"]),
        ("It takes 381 ms, e.g. on Monday.", []),
    ],
)
def test_a_name_is_what_must_be_written_exactly(text: str, names: list[str]) -> None:
    assert set(names) <= set(find_names(text))
    assert names or not find_names(text)


def test_what_a_tool_printed_is_not_used() -> None:
    said = [
        message("user", "Fix open_log.\n<system-reminder>see other_log</system-reminder>"),
        does("I look.", ("1", "read", {"file_path": "src/a.py"}), ("2", "todo_write", {"todos": ["in_progress"]})),
        gives(("1", "def close_log(): ..."), ("2", "ok")),
    ]
    assert find_used_names(said) == {"open_log", "src/a.py"}


def test_where_a_name_was_met() -> None:
    said = [
        message("user", "Fix OPS-12 in open_log."),
        does("", ("1", "read", {"path": "src/a.py"})),
        gives(("1", "def open_log(): read_all()")),
        does("", ("2", "bash", {"command": "python src/b.py"})),
        gives(("2", "read_all of made_up")),
        does("", ("3", "bash", {"command": "cat src/c.py"})),
        gives(("3", "old_name = 1")),
        does("", ("4", "edit", {"path": "src/d.py", "old": "gone_name", "new": "new_name"})),
        gives(("4", "Error: no match for gone_name", True)),
    ]
    places = {name: place.place for name, place in locate_names(said).items()}
    assert places["OPS-12"] == "the user's words"
    assert places["open_log"] == places["read_all"] == "src/a.py", "a file says more than what was printed or said"
    assert places["made_up"] == "what `python src/b.py` gave"
    assert places["old_name"] == "src/c.py"
    assert "new_name" not in places, "an edit that failed put nothing anywhere"
    assert places["gone_name"] == "what `edit` gave"


def test_the_lines_of_an_earlier_brief_are_read_back() -> None:
    found = parse_name_lines(["Names met in `a: b`: `x_y`, `OPS-1`", "Said: `other_name`"])
    assert {name: place.place for name, place in found.items()} == {"x_y": "`a: b`", "OPS-1": "`a: b`"}
