"""What the scripted model does as an agent: two tasks of sixty calls of tools, said in the words of each client's tools.

`Read`, `Edit` and `Run` are what an agent does; `write_call` says it in the tools that a request offers.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from previously.core.messages import ToolCall
from tests.clients.workplace import part_path

TASK_1 = (
    "Task one: change the quay from metres to millimetres. Read every part first, then change LENGTH_OF_PART in the "
    "parts 5 to 14, one at a time. Keep the exact names of public functions. Code word: kestrel-one."
)
TASK_2 = (
    "Task two: look through the changed parts again, and write what you decided in task one into NOTES.md. "
    "Code word: plover-two."
)
TASKS = (TASK_1, TASK_2)

DECISIONS = (
    "Decision D-17: lengths are whole millimetres in a constant, since floats drift when a crane adds them up.",
    "Decision D-23: part_03.py stays in metres, because the rules forbid touching it.",
)
"""What the model decides in the first task, said beside a call; memory must know it in the second."""

DONE = ("Task one is done: parts 5 to 14 are in millimetres.", "Task two is done: NOTES.md says what was decided.")


@dataclass(frozen=True)
class Read:
    """Read a whole file."""

    path: str


@dataclass(frozen=True)
class Edit:
    """Put a text in the place of another."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Run:
    """Run a command."""

    command: str


@dataclass(frozen=True)
class Step:
    """One answer of the model: words, a call beside them, or words alone at the end of a task."""

    text: str
    act: Read | Edit | Run | None = None


def plan_steps() -> Iterator[Step]:
    """Both tasks: 24 files read, ten edited, commands; then ten read again and the notes written. Sixty calls."""
    for number in range(1, 25):
        said = DECISIONS[0] if number == 6 else DECISIONS[1] if number == 9 else f"I read part {number} of the quay."
        yield Step(said, Read(part_path(number)))
    for number in range(5, 15):
        old, new = f"LENGTH_OF_PART_{number:02} =", f"LENGTH_OF_PART_{number:02} = 1_000 *"
        yield Step(f"Now part {number} in millimetres.", Edit(part_path(number), old, new))
    for number in range(5, 9):
        yield Step(f"Is part {number} as it should be?", Run(f"grep -n 1_000 {part_path(number)}"))
    yield Step(DONE[0])
    for number in range(5, 24):
        yield Step(f"I look at part {number} again.", Run(f"cat {part_path(number)}"))
    for decision in DECISIONS:
        yield Step("I write a decision down.", Run(f"echo {shlex.quote(decision)} >> NOTES.md"))
    yield Step("And I look at the whole.", Run("cat NOTES.md && git status --short"))
    yield Step(DONE[1])


def write_call(act: Read | Edit | Run, tools: dict[str, set[str]], call_id: str, folder: str) -> ToolCall:
    """Say it in the tools that there are: `tools` holds the names of each one's parameters. `folder` is the project's,
    for tools that want whole paths."""
    if "Read" in tools:  # Claude Code
        return ToolCall(call_id, *_in_named_tools(act, ("Read", "Edit", "Bash"), "file_path old_string new_string", folder))
    if "read" in tools and "edit" in tools:  # opencode
        return ToolCall(call_id, *_in_named_tools(act, ("read", "edit", "bash"), "filePath oldString newString", folder))
    name = next(name for name in ("exec_command", "shell_command", "shell") if name in tools)  # Codex
    field = "cmd" if "cmd" in tools[name] else "command"
    command: str | list[str] = _write_command(act)
    if name == "shell":
        command = ["bash", "-lc", str(command)]
    return ToolCall(call_id, name, json.dumps({field: command}))


def _in_named_tools(act: Read | Edit | Run, names: tuple[str, str, str], fields: str, folder: str) -> tuple[str, str]:
    path, old, new = fields.split()
    match act:
        case Read():
            return names[0], json.dumps({path: f"{folder}/{act.path}"})
        case Edit():
            return names[1], json.dumps({path: f"{folder}/{act.path}", old: act.old, new: act.new})
        case Run():
            return names[2], json.dumps({"command": act.command, "description": "Runs a command of the quay"})


def _write_command(act: Read | Edit | Run) -> str:
    match act:
        case Read():
            return f"cat {act.path}"
        case Edit():
            return f"sed -i 's/{act.old}/{act.new}/' {act.path}"
        case Run():
            return act.command
