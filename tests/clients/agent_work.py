"""The work of the scripted model as an agent: two tasks of sixty calls of tools, in the words of each client's tools.

`Read`, `Edit` and `Run` are what an agent does; `write_call` says it in the tools that a request offers.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from previously.core.messages import ToolCall
from tests.clients.workplace import part_path, write_part

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
    "Decision D-23: the third part stays in metres, because the rules forbid touching it.",
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


TALK_1 = (TASK_1, *(f"Now function {number} of part 5, and say how you do it." for number in range(5, 23)))
TALK_2 = (TASK_2, *(f"And once more function {number}: is it well?" for number in range(5, 12)))
TALKS = {TASK_1: TALK_1, TASK_2: TALK_2}
"""The tasks as a person types them to a client without tools, which works only while it is spoken to."""

_REASONS = (
    "The constant is read by every function of the file, so one line changes them all.",
    "No caller has to change, since the names stay and the unit is told in the constant alone.",
    "A crane adds many lengths up, and whole numbers stay exact however many there are.",
    "The fender and the bollard are measured from the same edge, which the constant stands for.",
    "If a test of the harbour fails now, it compared metres with millimetres before as well.",
)


def plan_talk() -> Iterator[Step]:
    """Both tasks for a client without tools: edits as blocks in the replies, and many words around them."""
    yield Step(f"I have read the parts. {DECISIONS[0]} {DECISIONS[1]}")
    for number in range(5, 23):
        yield Step(f"{_explain(number, 40)}\n\n{_write_block(number)}")
    yield Step(f"NOTES.md would say what was decided. {DONE[0]}")
    for number in range(5, 12):
        yield Step(f"Function {number} is well. {_explain(number, 10)}")


def _explain(number: int, sentences: int) -> str:
    return " ".join(
        f"{_REASONS[(number + at) % 5]} That is reason {at + 1} for function {number}." for at in range(sentences)
    )


def _write_block(function: int) -> str:
    """An edit of one function of part 5, the only file in the chat: of a file that is named, aider adds the whole."""
    old = next(line for line in write_part(5).splitlines() if f"_{function}(" in line)
    new = old.replace("spare: int = ", "spare: int = 1_000 * ")
    return f"{part_path(5)}\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"


def write_call(act: Read | Edit | Run, tools: dict[str, set[str]], call_id: str, folder: str) -> ToolCall:
    """Say it in the tools that there are: `tools` holds the names of each one's parameters. `folder` is the project's,
    for tools that want whole paths."""
    if "Read" in tools:  # Claude Code
        return ToolCall(
            call_id, *_in_named_tools(act, ("Read", "Edit", "Bash"), "file_path old_string new_string", folder)
        )
    if "read" in tools and "edit" in tools:  # opencode
        return ToolCall(
            call_id, *_in_named_tools(act, ("read", "edit", "bash"), "filePath oldString newString", folder)
        )
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
