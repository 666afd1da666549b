"""The brief without a model: right for whole conversations, updated as they go on, and never more than was said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.messages import Message, Role, Text, ToolCall, ToolResult, message
from previously.core.tokens import estimate_tokens
from previously.folds.brief import BriefFold
from previously.folds.builtin.brief import MOST_FILES, split_file, write_brief
from previously.folds.conversation.sections import NEWEST_REQUEST, Brief, parse_brief, render_brief, render_failure
from tests.effort import cases
from tests.unit.folds.builtin.agent_conversations import GERMAN, ROTATION, UPGRADE, does, gives

DATA = os.environ.get("PREVIOUSLY_DATA", "")


def test_a_conversation_with_a_plan_a_dead_end_and_a_second_request() -> None:
    assert write_brief(ROTATION) == Brief(
        goal=(
            "Log files grow forever. Add rotation to src/loghub/writer.py: a new file at 10 MB, keep 5. I don't know "
            "why the old cron job stopped, ignore it. Tests run with `pytest -q tests/test_writer.py`.",
            "Latest request before the newest messages: "
            "Good. Also make the limit configurable through LOGHUB_MAX_BYTES, "
            "it must default to 10485760.",
        ),
        constraints=(
            "Never touch the public signature of open_log().",
            "Use only the standard library.",
            "Also make the limit configurable through LOGHUB_MAX_BYTES, it must default to 10485760.",
        ),
        done=(
            "Add RotatingWriter",
            "All tests pass.",
            "Ran `pytest -q tests/test_writer.py`: no error: 2 passed in 0.28s "
            "(before: AttributeError: 'RotatingWriter' object has no attribute 'fileno')",
        ),
        in_progress=("Cover rotation with tests",),
        decisions=(
            "The simplest option is a subclass of RotatingFileHandler instead of our own counter.",
            "I'll use composition instead.",
            render_failure(
                "Subclassing RotatingFileHandler does not work because callers need fileno(). "
                "(changes to src/loghub/writer.py, taken back by `git checkout -- src/loghub/writer.py`)"
            ),
        ),
        next_steps=("Document the limits in docs/logging.md",),
        files=(
            "/repo/src/loghub/rotation.py: created",
            "/repo/src/loghub/writer.py: reverted, edited",
            "/repo/tests/test_writer.py: run",
        ),
    )  # fmt: skip


def test_a_conversation_that_ends_in_a_failing_check() -> None:
    brief = write_brief(UPGRADE)
    assert brief.goal == ("Upgrade the web client to react 19 and get `npm test` green again.",)
    assert brief.constraints[0] == "Do not change package-lock.json by hand."
    assert brief.blocked == ("`npm test` fails: TypeError: Cannot read properties of undefined (reading 'useState')",)
    assert brief.in_progress == ("Move tables to @tanstack/react-table",)
    assert brief.context == ("The root cause is that react-table 7.8.0 pins react 18.",)
    assert brief.files == (
        "web/src/index.tsx: edited",
        "web/src/root.ts: created",
        "web/src/legacy.tsx: deleted",
        "package-lock.json: named by the user",
    )


def test_another_language() -> None:
    brief = write_brief(GERMAN)
    assert brief.goal == ("Bitte behebe den Absturz beim Import leerer CSV-Dateien in importer/csv_leser.py.",)
    assert brief.constraints == (
        "Die Funktion lies_csv() darf nicht umbenannt werden.",
        "Verwende keine neuen Abhängigkeiten.",
    )
    assert brief.blocked == ("`python -m pytest tests/test_csv.py` fails: IndexError: list index out of range",)
    assert brief.context == ("Die Ursache ist der Zugriff auf zeilen[0] bei leerer Liste.",)


def test_nothing_said_is_nothing_told() -> None:
    assert write_brief(()).is_empty
    assert write_brief(
        [message("system", "You must obey."), message("user", "hi"), Message(Role.ASSISTANT, ())]
    ).is_empty


def test_the_latest_request_is_told_once_whatever_an_earlier_brief_calls_it() -> None:
    for words in ("Newest request: ", "**Newest request:** ", "Latest request: ", NEWEST_REQUEST):
        earlier = parse_brief(f"## Goal\n- Upgrade the web client.\n- {words}Start with react.\n")
        assert earlier.goal == ("Upgrade the web client.", f"{NEWEST_REQUEST}Start with react.")
        assert parse_brief(render_brief(earlier)) == earlier
        brief = write_brief([message("user", "Now do the tables of the web client.")], earlier)
        assert brief.goal == ("Upgrade the web client.", f"{NEWEST_REQUEST}Now do the tables of the web client.")
        assert "Earlier request: Start with react." in brief.context
        assert write_brief([message("assistant", "I will.")], earlier).goal == earlier.goal


def test_an_earlier_brief_is_updated() -> None:
    earlier = Brief(
        goal=("Upgrade the web client.", "Latest request before the newest messages: Start with react."),
        constraints=("Node stays at 18.",),
        done=("Ran `npm test`: no error: 40 passed", "Read web/README.md."),
        in_progress=("Install react 19", "Something else"),
        blocked=("`npm test` fails: SyntaxError: old", "The VPN is down."),
        decisions=("Keep webpack, because of the plugin.", render_failure("vite 4")),
        next_steps=("Old step",),
        context=("CI runs on node 18.19.",),
        files=("web/src/index.tsx: entry point", "web/old.ts: read"),
    )
    brief = write_brief(UPGRADE, earlier)
    assert brief.goal[0] == "Upgrade the web client."
    assert brief.goal[1].startswith("Latest request before the newest messages: Upgrade the web client to react 19")
    assert brief.constraints[0] == "Node stays at 18."
    assert brief.done[0] == "Read web/README.md."
    assert "40 passed" not in render_brief(brief)  # it fails now
    assert "Install react 19" in brief.done
    assert brief.in_progress == ("Move tables to @tanstack/react-table",)
    assert brief.blocked[0] == "The VPN is down."
    assert "SyntaxError: old" not in render_brief(brief)
    assert {"Keep webpack, because of the plugin.", render_failure("vite 4")} < set(brief.decisions)
    assert brief.next_steps == ("Run npm test",)
    assert "CI runs on node 18.19." in brief.context
    assert brief.files[:2] == ("web/old.ts: read", "web/src/index.tsx: entry point; edited")


def test_what_is_fixed_later_is_no_longer_blocked() -> None:
    fixed = (
        does("", ("z", "shell", {"command": "npm test -- --watch=false"})),
        gives(("z", "42 passed\nExit code: 0")),
    )
    assert write_brief(UPGRADE).blocked
    assert write_brief(fixed, write_brief(UPGRADE)).blocked == ()
    other = (does("", ("z", "shell", {"command": "npm run lint"})), gives(("z", "ok\nExit code: 0")))
    assert write_brief(other, write_brief(UPGRADE)).blocked == write_brief(UPGRADE).blocked


def test_without_news_the_earlier_brief_stands() -> None:
    earlier = write_brief(UPGRADE)
    assert write_brief((), earlier) == earlier
    assert write_brief(ROTATION, write_brief(ROTATION)) == write_brief(
        ROTATION, write_brief(ROTATION, write_brief(ROTATION))
    )


def test_a_failed_way_that_was_left_is_told_as_failed() -> None:
    later = [one for index in range(8) for one in (does("", (f"r{index}", "Read", {"file_path": f"f{index}.py"})),
                                                   gives((f"r{index}", "x")))]  # fmt: skip
    tried = (does("", ("t", "Bash", {"command": "apt-get install libfoo"})), gives(("t", "E: Permission denied", True)))
    brief = write_brief([message("user", "Link libfoo."), *tried, *later])
    assert brief.decisions == (render_failure("`apt-get install libfoo`: E: Permission denied"),)
    assert brief.blocked == ()


def test_a_call_without_a_result_is_the_last_step() -> None:
    brief = write_brief([message("user", "Build it now."), does("", ("b", "Bash", {"command": "make all"}))])
    assert brief.in_progress == ("Last step: `make all`, no result yet",)
    brief = write_brief([does("", ("b", "Bash", {"command": "make all"})), gives(("b", "[interrupted: no result]"))])
    assert brief.in_progress == ("Last step: `make all`, no result yet",)


def test_sections_are_bounded_and_only_files_that_were_read_give_way() -> None:
    written = [("Write", f"/r/w{index}.py") for index in range(50)]
    read = [("Read", f"/r/f{index}.py") for index in range(300)]
    said = [(does("", (path, tool, {"file_path": path})), gives((path, "done"))) for tool, path in [*written, *read]]
    files = write_brief([message for pair in said for message in pair]).files
    assert len(files) == MOST_FILES
    assert sum(one.endswith(": created") for one in files) == 50
    assert files[-1] == "/r/f299.py: read"


def test_nobody_knows_that_a_call_without_a_result_was_done() -> None:
    todos: dict[str, object] = {"todos": [{"content": "Write the docs", "status": "in_progress"}]}
    said = [
        message("user", "Fix the clock."),
        does("", ("1", "edit", {"path": "src/clock.py"}), ("2", "todo_write", todos)),
    ]
    for after in ([], [gives(("1", "[interrupted: this call never got a result]"), ("2", "[interrupted: …]"))]):
        brief = write_brief([*said, *after])
        assert (brief.files, brief.next_steps) == ((), ())
        assert brief.in_progress[0].endswith("no result yet")
    brief = write_brief([*said, gives(("1", "ok"), ("2", "ok"))])
    assert (brief.files, brief.in_progress) == (("src/clock.py: edited",), ("Write the docs",))


def test_the_last_command_that_was_typed_is_the_last_step() -> None:
    said = [
        message("user", "Fix the clock."),
        message("assistant", "I run it.\n```\npython clock.py\n```"),
        message("user", "12:00\n(Open file: n/a)\n(Current directory: /r)\nbash-$"),
        message("assistant", "It works.\n```\nsubmit\n```"),
    ]
    assert write_brief(said).in_progress[0] == "Last step: `submit`"
    assert write_brief([said[0], said[3]]).in_progress == (), "a fence alone is no command"


def test_no_secret_is_in_it() -> None:
    token = "ghp_abcdefghij1234567890ABCDEFGHIJ123456"
    brief = write_brief(
        [
            message("user", f"Never commit {token}."),
            does(f"I'll use {token} because it works.", ("1", "Bash", {"command": f"curl -u x:{token} https://a.b"})),
            gives(("1", f"Error: {token} denied", True)),
        ],
        Brief(context=(f"token {token}",)),
    )
    assert token not in render_brief(brief)
    assert "[redacted api key]" in render_brief(brief)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("src/a.py: edited", ("src/a.py", "edited")),
        ("`src/a.py`: edited", ("src/a.py", "edited")),
        ("src/a.py (the core)", ("src/a.py", "the core")),
        ("src/a.py - the core", ("src/a.py", "the core")),
        ("src/a.py", ("src/a.py", "")),
        ("the folder of tests: many", ("the folder of tests: many", "")),
    ],
)
def test_a_file_and_why_it_matters(item: str, expected: tuple[str, str]) -> None:
    assert split_file(item) == expected


SAYINGS = [
    "You must not.", "Never use a.py.", "I've fixed it.", "edit 1:1", "```\nls\n```", "Error: x", "1 failed",
    "[interrupted", '{"a":',
]  # fmt: skip
TEXTS = st.text(max_size=60) | st.sampled_from(SAYINGS)
ARGUMENTS = TEXTS | st.dictionaries(
    st.sampled_from(["command", "path", "file_path", "todos", "plan", "input", "cmd"]),
    TEXTS | st.lists(TEXTS | st.dictionaries(st.sampled_from(["content", "status"]), TEXTS, max_size=2), max_size=3),
    max_size=3,
).map(json.dumps)
PARTS = st.one_of(
    TEXTS.map(Text),
    st.builds(ToolCall, st.sampled_from("ab"), st.sampled_from(["bash", "edit", "TodoWrite", "read", "x"]), ARGUMENTS),
    st.builds(ToolResult, st.sampled_from("abc"), TEXTS, st.sampled_from(["", "error"])),
)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(Role), st.lists(PARTS, max_size=3).map(tuple)), max_size=8)


@given(MESSAGES, MESSAGES, st.integers(150, 400))
@settings(max_examples=cases(120))
def test_any_conversation_can_be_told_in_its_cap(first: list[Message], second: list[Message], most: int) -> None:
    note = BriefFold(tuple(first), most_tokens=most)
    again = note.take_run([tuple(second)], note.builtin().text)
    text = again.builtin().text
    assert render_brief(parse_brief(text)) == text
    assert estimate_tokens(text) <= most
    assert again.builtin().text == text


def conversations() -> list[Path]:
    return sorted(Path(DATA).glob("agents/sweagent/*.traj")) if DATA else []


def read_trajectory(path: Path) -> list[Message]:
    messages: list[Message] = []
    for item in json.loads(path.read_text("utf-8"))["history"]:
        given = item["content"]
        text = given if isinstance(given, str) else "".join(one.get("text", "") for one in given)
        if item["role"] == "tool":
            messages.append(Message(Role.TOOL, tuple(ToolResult(one, text) for one in item["tool_call_ids"])))
            continue
        calls = [
            ToolCall(one["id"], one["function"]["name"], one["function"]["arguments"])
            for one in item.get("tool_calls") or []
        ]
        messages.append(Message(Role(item["role"]), (Text(text), *calls)))
    return messages


EXPECTED = {
    "function-calling-simple.traj": ("SyntaxError: invalid syntax", "/tests/missing_colon.py: edited, run"),
    "humanevalfix-python-0.traj": ("has a bug", "/swe-bench__humanevalfix-python/main.py: edited, run"),
    "marshmallow-1867-default.traj": ("TimeDelta", "/marshmallow-code__marshmallow/src/marshmallow/fields.py: edited"),
    "marshmallow-1867-function-calling.traj": ("TimeDelta", "/testbed/src/marshmallow/fields.py: edited"),
    "pydicom-1458.traj": ("Pixel Representation", "AttributeError: Unable to convert the pixel data as the following"),
    "test-repo-i1.traj": ("SyntaxError: invalid syntax", "test-repo/tests/missing_colon.py: edited, run"),
}  # fmt: skip


@pytest.mark.skipif(not conversations(), reason="real conversations are read where PREVIOUSLY_DATA says they are")
@pytest.mark.parametrize("path", conversations(), ids=lambda path: path.name)
def test_real_conversations(path: Path) -> None:
    messages = read_trajectory(path)
    brief = write_brief(messages)
    goal, fact = EXPECTED[path.name]
    assert goal in brief.goal[0]
    assert fact in render_brief(brief)
    assert brief.blocked == ()
    said = "\n".join(part.text if isinstance(part, Text | ToolResult) else "" for one in messages for part in one.parts)
    assert all(split_file(one)[0].removeprefix("./") in said for one in brief.files)
