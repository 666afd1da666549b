"""Conversations of coding agents as they are, written for the tests: three tasks, three sets of tools."""

from __future__ import annotations

import json

from previously.core.messages import FAILED, Message, Role, Text, Thinking, ToolCall, ToolResult, message


def does(text: str, *calls: tuple[str, str, dict[str, object]]) -> Message:
    """An assistant's message: words, then calls as id, name and arguments."""
    said = (Text(text),) if text else ()
    return Message(Role.ASSISTANT, (*said, *(ToolCall(one, name, json.dumps(given)) for one, name, given in calls)))


def gives(*results: tuple[str, str] | tuple[str, str, bool]) -> Message:
    """What tools gave back: id, text, and True where it failed."""
    parts = tuple(ToolResult(one[0], one[1], FAILED if len(one) > 2 and one[2] else "") for one in results)
    return Message(Role.TOOL, parts)


ROTATION = (
    message("system", "You are a coding agent."),
    message(
        "user",
        "Log files grow forever. Add rotation to src/loghub/writer.py: a new file at 10 MB, keep 5.\n"
        "Never touch the public signature of open_log(). Use only the standard library. "
        "I don't know why the old cron job stopped, ignore it. Tests run with `pytest -q tests/test_writer.py`.",
    ),
    Message(Role.ASSISTANT, (Thinking("The user wants rotation."),)),
    does(
        "I'll look at the writer and its tests first.",
        ("a1", "Read", {"file_path": "/repo/src/loghub/writer.py"}),
        ("a2", "Read", {"file_path": "/repo/tests/test_writer.py"}),
    ),
    gives(
        ("a1", "def open_log(path):\n    return open(path, 'a')\n# raises Error: never\n"),
        ("a2", "def test_open(): ..."),
    ),
    does(
        "The simplest option is a subclass of RotatingFileHandler instead of our own counter.",
        (
            "a3",
            "TodoWrite",
            {
                "todos": [
                    {"content": "Add RotatingWriter", "status": "in_progress", "activeForm": "Adding"},
                    {"content": "Cover rotation with tests", "status": "pending"},
                ]
            },
        ),
    ),
    gives(("a3", "Todos have been modified successfully")),
    does(
        "",
        (
            "a4",
            "Edit",
            {
                "file_path": "/repo/src/loghub/writer.py",
                "old_string": "return open(path, 'a')",
                "new_string": "return RotatingWriter(path, 10_000_000, 5)",
            },
        ),
    ),
    gives(("a4", "The file /repo/src/loghub/writer.py has been updated.")),
    does("", ("a5", "Bash", {"command": "cd /repo && pytest -q tests/test_writer.py 2>&1 | tail -20"})),
    gives(
        (
            "a5",
            "F.\n=== FAILURES ===\nE       AttributeError: 'RotatingWriter' object has no attribute 'fileno'\n"
            "FAILED tests/test_writer.py::test_open - AttributeError\n1 failed, 1 passed in 0.31s",
            True,
        )
    ),
    does(
        "Subclassing RotatingFileHandler does not work because callers need fileno(). I'll use composition instead.",
        ("a6", "Bash", {"command": "git checkout -- src/loghub/writer.py"}),
    ),
    gives(("a6", "Updated 1 path from the index")),
    does("", ("a7", "Write", {"file_path": "/repo/src/loghub/rotation.py", "content": "class Rotation: ..."})),
    gives(("a7", "File created successfully at: /repo/src/loghub/rotation.py")),
    does("", ("a8", "Edit", {"file_path": "/repo/src/loghub/writer.py", "old_string": "x", "new_string": "y"})),
    gives(("a8", "The file has been updated.")),
    does("", ("a9", "Bash", {"command": "pytest -q tests/test_writer.py"})),
    gives(("a9", "..\n2 passed in 0.28s")),
    does(
        "All tests pass.",
        (
            "a10",
            "TodoWrite",
            {
                "todos": [
                    {"content": "Add RotatingWriter", "status": "completed"},
                    {"content": "Cover rotation with tests", "status": "in_progress"},
                    {"content": "Document the limits in docs/logging.md", "status": "pending"},
                ]
            },
        ),
    ),
    gives(("a10", "Todos have been modified successfully")),
    message("user", "Good. Also make the limit configurable through LOGHUB_MAX_BYTES, it must default to 10485760."),
    does("Next I'll read the settings.", ("a11", "Grep", {"pattern": "LOGHUB_", "path": "src"})),
    gives(("a11", "src/loghub/settings.py:12:LOGHUB_DIR = os.environ['LOGHUB_DIR']")),
)

UPGRADE = (
    message(
        "user",
        "Upgrade the web client to react 19 and get `npm test` green again. Do not change package-lock.json by hand. "
        "The registry token is npm_abcdefghijklmnopqrstuvwxyz0123456789, do not print it.",
    ),
    does("", ("c1", "shell", {"command": ["bash", "-lc", "npm install react@19 react-dom@19"]})),
    gives(
        (
            "c1",
            "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\n"
            "npm ERR! Found: react@18.2.0\nExit code: 1",
        )
    ),
    does(
        "The root cause is that react-table 7.8.0 pins react 18.",
        ("c2", "shell", {"command": ["bash", "-lc", "npm install react@19 react-dom@19 --legacy-peer-deps"]}),
    ),
    gives(("c2", "added 2 packages in 4s\nExit code: 0")),
    does(
        "",
        (
            "c3",
            "apply_patch",
            {
                "input": "*** Begin Patch\n*** Update File: web/src/index.tsx\n@@\n-ReactDOM.render(\n"
                "+createRoot(\n*** Add File: web/src/root.ts\n+export {}\n"
                "*** Delete File: web/src/legacy.tsx\n*** End Patch"
            },
        ),
    ),
    gives(
        ("c3", "Success. Updated the following files:\nM web/src/index.tsx\nA web/src/root.ts\nD web/src/legacy.tsx")
    ),
    does("", ("c4", "shell", {"command": ["bash", "-lc", "npm test"]})),
    gives(
        (
            "c4",
            "FAIL src/table.test.tsx\n  ● Table › sorts\n"
            "    TypeError: Cannot read properties of undefined (reading 'useState')\n"
            "Tests: 1 failed, 41 passed, 42 total\nExit code: 1",
        )
    ),
    does(
        "I decided to replace react-table with @tanstack/react-table 8, because react-table is no longer maintained.",
        (
            "c5",
            "update_plan",
            {
                "plan": [
                    {"step": "Install react 19", "status": "completed"},
                    {"step": "Move tables to @tanstack/react-table", "status": "in_progress"},
                    {"step": "Run npm test", "status": "pending"},
                ]
            },
        ),
    ),
    gives(("c5", "Plan updated")),
)

GERMAN = (
    message(
        "user",
        "Bitte behebe den Absturz beim Import leerer CSV-Dateien in importer/csv_leser.py. "
        "Die Funktion lies_csv() darf nicht umbenannt werden. Verwende keine neuen Abhängigkeiten.",
    ),
    does("Ich sehe mir die Datei an.", ("d1", "read_file", {"path": "importer/csv_leser.py"})),
    gives(("d1", "def lies_csv(pfad):\n    return zeilen[0]")),
    does(
        "Die Ursache ist der Zugriff auf zeilen[0] bei leerer Liste.",
        ("d2", "replace_in_file", {"path": "importer/csv_leser.py", "diff": "x"}),
    ),
    gives(("d2", "ok")),
    does("", ("d3", "execute_command", {"command": "python -m pytest tests/test_csv.py"})),
    gives(("d3", "IndexError: list index out of range\n1 failed in 0.10s")),
)

ALL = {"rotation": ROTATION, "upgrade": UPGRADE, "german": GERMAN}
