"""Deeds: what an agent did, one call with its result at a time, whatever the tools are called.

Owns which tool does what and where a call keeps its paths and commands. What must stay true: every call gives one deed,
in order, with or without its result; arguments that are no JSON are text; an agent that writes its commands as text
and gets answers from the "user" is read as one that calls a shell; total and linear.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from previously.core.messages import Message, Role, ToolCall, ToolResult
from previously.folds.builtin.agents.failures import command_failed, edit_failed, error_in
from previously.folds.builtin.agents.shell import Act, Touch, looks_like_path, touched_by


class Sort(StrEnum):
    """What a tool is for."""

    READ = "read"
    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"
    RUN = "run"
    PLAN = "plan"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Deed:
    """One call, what came of it, and where in the conversation it was made."""

    at: int
    tool: str
    sort: Sort
    arguments: Mapping[str, Any]
    raw: str
    command: str = ""
    """What was run, where it is a shell."""
    output: str | None = None
    """What it gave back; None while there is no result."""
    failed: bool = False
    touches: tuple[Touch, ...] = field(default=())

    @property
    def error(self) -> str:
        """The exact words of its failure; empty where it did not fail."""
        return error_in(self.output or "") if self.failed else ""


_SORTS = (
    (Sort.PLAN, re.compile(r"todo|update_?plan|task_?list|write_?plan")),
    (Sort.RUN, re.compile(r"bash|shell|exec|terminal|run_?(?:command|cmd|in)|^run$|command$|^cmd$|console|powershell")),
    (Sort.DELETE, re.compile(r"(?:delete|remove)_?file|^delete$|^rm$|unlink")),
    (
        Sort.EDIT,
        re.compile(r"edit|patch|str_?replace|replace|insert|apply_?diff|search_?replace|undo|update_?file|modify"),
    ),
    (Sort.CREATE, re.compile(r"write|create|save|new_?file")),
    (Sort.READ, re.compile(r"read|view|open|^cat$|get_?file|show_?file|fetch_?file")),
)
_LOOKS = re.compile(
    r"grep|glob|search|find|list|^ls$|web|fetch|browse|task$|agent|memory|resource|issue|message|notify|thread|canvas"
)

_PATH_KEYS = (
    "file_path", "filepath", "path", "filename", "file_name", "file", "notebook_path", "target_file", "absolute_path",
    "relative_path", "relative_workspace_path", "target", "uri", "paths", "files",
)  # fmt: skip
_COMMAND_KEYS = ("command", "cmd", "script", "code", "commands", "input")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?P<how>Update|Add|Delete) File: (?P<path>[^\n]{1,240})|\*\*\* Move to: (?P<moved>[^\n]{1,240})|"
    r"\+\+\+ (?:b/)?(?P<plus>[^\s]{1,240}))",
    re.M,
)
_HOW = {"Update": Act.EDITED, "Add": Act.CREATED, "Delete": Act.DELETED}
_OPEN_FILE = re.compile(r"\(Open file: (?P<open>[^)\n]{1,240})\)|^\[File: (?P<shown>[^\n(]{1,240}) \(", re.M)
_OBSERVED = re.compile(
    r"\(Current directory: [^\n]{0,300}\)\s*(?:bash-\$)?\s*$|^\s*(?:OBSERVATION:|<returncode>|EXECUTION RESULT)"
)
_NO_RESULT = "[interrupted"
"""How a result begins that stands for one that never came."""

_EDIT_COMMAND = re.compile(r"\s*(?:edit\b|end_of_edit|insert \d)")


def is_observation(text: str) -> bool:
    """Whether a user's message is what a shell answered, not what a person wrote."""
    return bool(_OBSERVED.search(text[-600:]) or _OBSERVED.match(text[:60]))


def deeds_in(messages: Sequence[Message]) -> list[Deed]:
    """All that was done, in the order of the calls."""
    found: list[Deed] = []
    waiting: dict[str, int] = {}
    typed: int | None = None
    for at, message in enumerate(messages):
        called = False
        for part in message.parts:
            if isinstance(part, ToolCall):
                waiting[part.id] = len(found)
                found.append(_called(at, part))
                called = True
            elif isinstance(part, ToolResult) and part.id in waiting:
                index = waiting.pop(part.id)
                if part.text.startswith(_NO_RESULT):
                    continue
                found[index] = _answered(found[index], part.text, failed=part.failed)
        if typed is not None and message.role is not Role.ASSISTANT:
            if is_observation(message.text):
                found[typed] = _answered(found[typed], message.text, failed=False)
            typed = None
        command = _typed(message.text) if message.role is Role.ASSISTANT and not called else ""
        following = messages[at + 1] if at + 1 < len(messages) else None
        if command and following is not None and following.role is Role.USER and is_observation(following.text):
            typed = len(found)
            found.append(_run(at, "bash", {}, command))
    return found


def _typed(text: str) -> str:
    """The command in the fence at the end of a text, if there is one."""
    text = text.rstrip()
    start = text.rfind("```", 0, len(text) - 3) if text.endswith("```") else -1
    return text[start + 3 : -3].partition("\n")[2].strip() if start >= 0 else ""


def _called(at: int, call: ToolCall) -> Deed:
    given = _given(call.arguments)
    name = call.name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].lower()
    sort = _sort_of(name, given)
    if sort is Sort.RUN:
        command = next((text for key in _COMMAND_KEYS if (text := _as_command(given.get(key)))), "")
        return _run(at, call.name, given, command or ("" if given else call.arguments))
    deed = Deed(at, call.name, sort, given, call.arguments)
    return replace(deed, touches=tuple(_touches(deed)))


def _sort_of(name: str, given: Mapping[str, Any]) -> Sort:
    if name in ("str_replace_editor", "str_replace_based_edit_tool", "editor", "file_editor"):
        wanted = {"view": Sort.READ, "create": Sort.CREATE}
        return wanted.get(str(given.get("command", "")), Sort.EDIT)
    for sort, words in _SORTS:
        if words.search(name) and not (sort is not Sort.RUN and sort is not Sort.PLAN and _LOOKS.search(name)):
            return sort
    return Sort.OTHER


def _run(at: int, tool: str, given: Mapping[str, Any], command: str) -> Deed:
    command = command.strip()
    sort = Sort.EDIT if _EDIT_COMMAND.match(command) else Sort.RUN
    return Deed(
        at, tool, sort, given, command, command, touches=() if sort is Sort.EDIT else tuple(touched_by(command))
    )


def _answered(deed: Deed, output: str, *, failed: bool) -> Deed:
    if not failed and deed.sort is Sort.RUN:
        failed = command_failed(output)
    elif not failed and deed.sort in (Sort.EDIT, Sort.CREATE, Sort.DELETE):
        failed = edit_failed(output)
    touches = deed.touches
    if not touches and deed.sort is Sort.EDIT:  # an editor with a file open: what was edited is what it shows
        shown = [
            found["open"] or found["shown"] for found in _OPEN_FILE.finditer(output[-4_000:] + "\n" + output[:4_000])
        ]
        path = next((one.strip() for one in shown if looks_like_path(one.strip())), "")
        touches = (Touch(path, Act.EDITED),) if path else ()
    return replace(deed, output=output, failed=failed, touches=touches)


def _given(arguments: str) -> Mapping[str, Any]:
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _as_command(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        words = [str(one) for one in value]
        return words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return ""


_ACTS = {Sort.READ: Act.READ, Sort.EDIT: Act.EDITED, Sort.CREATE: Act.CREATED, Sort.DELETE: Act.DELETED}


def _touches(deed: Deed) -> Iterable[Touch]:
    act = _ACTS.get(deed.sort)
    if act is None:
        return
    texts = [value for value in deed.arguments.values() if isinstance(value, str)] if deed.arguments else [deed.raw]
    patches = [found for text in texts if "***" in text or "+++" in text for found in _PATCHED.finditer(text)]
    if act is Act.EDITED and patches:
        for found in patches:
            path = (found["path"] or found["moved"] or found["plus"] or "").strip()
            if looks_like_path(path):
                yield Touch(path, _HOW.get(found["how"] or "", Act.CREATED if found["moved"] else Act.EDITED))
        return
    for key in _PATH_KEYS:
        value = deed.arguments.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and 0 < len(path.strip()) <= 240 and "\n" not in path.strip():
                yield Touch(path.strip(), act)
