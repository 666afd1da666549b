"""The log of an agent: its deeds from calls and their results, the files and commands they touched, and its lists of
work.

Deeds are told by the names and arguments of tools, whatever a client calls them. A command that was run again replaces
what was known of it. Of the lists that an agent keeps of its work only the newest counts. Reading is total and linear.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from previously.core.messages import Message, Role, ToolCall, ToolResult
from previously.core.patterns import lazy_pattern
from previously.folds.builtin.shell import (
    Act,
    Touch,
    find_command_key,
    find_error,
    find_telling_line,
    find_touched,
    is_failed_command,
    is_failed_edit,
    looks_like_path,
    matters,
    only_looks,
)
from previously.folds.conversation.pins import is_observation
from previously.text.cuts import clip


class Sort(StrEnum):
    """The purpose of a tool."""

    READ = "read"
    EDIT = "edit"
    CREATE = "create"
    DELETE = "delete"
    RUN = "run"
    PLAN = "plan"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class AgentDeed:
    """One call, what came of it, and where in the conversation it was made."""

    at: int
    tool: str
    sort: Sort
    arguments: Mapping[str, Any]
    raw: str
    command: str = ""
    """The command that was run, where it is a shell."""
    output: str | None = None
    """The output; None while there is no result."""
    failed: bool = False
    touches: tuple[Touch, ...] = field(default=())

    @property
    def error(self) -> str:
        """The exact words of its failure; empty where it did not fail."""
        return find_error(self.output or "") if self.failed else ""


_SORTS = (
    (Sort.PLAN, lazy_pattern(r"todo|update_?plan|task_?list|write_?plan")),
    (
        Sort.RUN,
        lazy_pattern(r"bash|shell|exec|terminal|run_?(?:command|cmd|in)|^run$|command$|^cmd$|console|powershell"),
    ),
    (Sort.DELETE, lazy_pattern(r"(?:delete|remove)_?file|^delete$|^rm$|unlink")),
    (
        Sort.EDIT,
        lazy_pattern(r"edit|patch|str_?replace|replace|insert|apply_?diff|search_?replace|undo|update_?file|modify"),
    ),
    (Sort.CREATE, lazy_pattern(r"write|create|save|new_?file")),
    (Sort.READ, lazy_pattern(r"read|view|open|^cat$|get_?file|show_?file|fetch_?file")),
)
_LOOKS = lazy_pattern(
    r"grep|glob|search|find|list|^ls$|web|fetch|browse|task$|agent|memory|resource|issue|message|notify|thread|canvas"
)

_PATH_KEYS = (
    "file_path", "filepath", "path", "filename", "file_name", "file", "notebook_path", "target_file", "absolute_path",
    "relative_path", "relative_workspace_path", "target", "uri", "paths", "files",
)  # fmt: skip
_COMMAND_KEYS = ("command", "cmd", "script", "code", "commands", "input")
_PATCHED = lazy_pattern(
    r"^(?:\*\*\* (?P<how>Update|Add|Delete) File: (?P<path>[^\n]{1,240})|\*\*\* Move to: (?P<moved>[^\n]{1,240})|"
    r"\+\+\+ (?:b/)?(?P<plus>[^\s]{1,240}))",
    re.M,
)
_HOW = {"Update": Act.EDITED, "Add": Act.CREATED, "Delete": Act.DELETED}
_OPEN_FILE = lazy_pattern(r"\(Open file: (?P<open>[^)\n]{1,240})\)|^\[File: (?P<shown>[^\n(]{1,240}) \(", re.M)
_NO_RESULT = "[interrupted"
"""The beginning of a result that stands for one which never came."""

_EDIT_COMMAND = lazy_pattern(r"\s*(?:edit\b|end_of_edit|insert \d)")


def keeps_list(call: ToolCall) -> bool:
    """Return whether a call only brings an agent's list of its work up to date."""
    return _sort_of(call.name.lower(), {}) is Sort.PLAN


def read_deeds(messages: Sequence[Message]) -> list[AgentDeed]:
    """All that was done, in the order of the calls."""
    deeds: list[AgentDeed] = []
    waiting: dict[str, int] = {}
    typed: int | None = None
    types_commands = False
    for at, message in enumerate(messages):
        called = False
        for part in message.parts:
            if isinstance(part, ToolCall):
                waiting[part.id] = len(deeds)
                deeds.append(_called(at, part))
                called = True
            elif isinstance(part, ToolResult) and part.id in waiting:
                index = waiting.pop(part.id)
                if part.text.startswith(_NO_RESULT):
                    continue
                deeds[index] = _answered(deeds[index], part.text, failed=part.failed)
        if typed is not None and message.role is not Role.ASSISTANT:
            if is_observation(message.text):
                deeds[typed] = _answered(deeds[typed], message.text, failed=False)
            typed = None
        command = _typed(message.text) if message.role is Role.ASSISTANT and not called else ""
        following = messages[at + 1] if at + 1 < len(messages) else None
        waits = following is None and types_commands  # the last one: no answer yet
        if command and (waits or (following and following.role is Role.USER and is_observation(following.text))):
            typed = len(deeds)
            types_commands = True
            deeds.append(_run(at, "bash", {}, command))
    return deeds


def _typed(text: str) -> str:
    """The command in the fence at the end of a text, if there is one."""
    text = text.rstrip()
    start = text.rfind("```", 0, len(text) - 3) if text.endswith("```") else -1
    return text[start + 3 : -3].partition("\n")[2].strip() if start >= 0 else ""


def _called(at: int, call: ToolCall) -> AgentDeed:
    given = _given(call.arguments)
    name = call.name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].lower()
    sort = _sort_of(name, given)
    if sort is Sort.RUN:
        command = next((text for key in _COMMAND_KEYS if (text := _as_command(given.get(key)))), "")
        return _run(at, call.name, given, command or ("" if given else call.arguments))
    deed = AgentDeed(at, call.name, sort, given, call.arguments)
    return replace(deed, touches=tuple(_touches(deed)))


def _sort_of(name: str, given: Mapping[str, Any]) -> Sort:
    if name in ("str_replace_editor", "str_replace_based_edit_tool", "editor", "file_editor"):
        wanted = {"view": Sort.READ, "create": Sort.CREATE}
        return wanted.get(str(given.get("command", "")), Sort.EDIT)
    for sort, words in _SORTS:
        if words.search(name) and not (sort is not Sort.RUN and sort is not Sort.PLAN and _LOOKS.search(name)):
            return sort
    return Sort.OTHER


def _run(at: int, tool: str, given: Mapping[str, Any], command: str) -> AgentDeed:
    command = command.strip()
    sort = Sort.EDIT if _EDIT_COMMAND.match(command) else Sort.RUN
    return AgentDeed(
        at, tool, sort, given, command, command, touches=() if sort is Sort.EDIT else tuple(find_touched(command))
    )


def _answered(deed: AgentDeed, output: str, *, failed: bool) -> AgentDeed:
    if not failed and deed.sort is Sort.RUN:
        failed = is_failed_command(output)
    elif not failed and deed.sort in (Sort.EDIT, Sort.CREATE, Sort.DELETE):
        failed = is_failed_edit(output)
    touches = deed.touches
    if not touches and deed.sort is Sort.EDIT:  # an editor with a file open: what was edited is what it shows
        open_files = [
            found["open"] or found["shown"] for found in _OPEN_FILE.finditer(output[-4_000:] + "\n" + output[:4_000])
        ]
        path = next((one.strip() for one in open_files if looks_like_path(one.strip())), "")
        touches = (Touch(path, Act.EDITED),) if path else ()
    return replace(deed, output=output, failed=failed, touches=touches)


def _given(arguments: str) -> Mapping[str, Any]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _as_command(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        words = [str(one) for one in value]
        return words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return ""


_ACTS = {Sort.READ: Act.READ, Sort.EDIT: Act.EDITED, Sort.CREATE: Act.CREATED, Sort.DELETE: Act.DELETED}


def _touches(deed: AgentDeed) -> Iterable[Touch]:
    act = _ACTS.get(deed.sort)
    if act is None:
        return
    texts = [value for value in deed.arguments.values() if isinstance(value, str)] if deed.arguments else [deed.raw]
    patches = [match for text in texts if "***" in text or "+++" in text for match in _PATCHED.finditer(text)]
    if act is Act.EDITED and patches:
        for match in patches:
            path = (match["path"] or match["moved"] or match["plus"] or "").strip()
            if looks_like_path(path):
                yield Touch(path, _HOW.get(match["how"] or "", Act.CREATED if match["moved"] else Act.EDITED))
        return
    given = {name.lower(): value for name, value in deed.arguments.items()}  # opencode writes filePath
    for key in _PATH_KEYS:
        value = given.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and 0 < len(path.strip()) <= 240 and "\n" not in path.strip():
                yield Touch(path.strip(), act)


LONGEST_COMMAND = 160
_MOST_FILES = 400
"""Files that are kept in mind; of more, those that were only read go first."""


class Files:
    """The files that were touched, and the acts on each, in order."""

    def __init__(self) -> None:
        self._acts: dict[str, list[Act]] = {}
        self._by_name: dict[str, list[str]] = {}

    def touch(self, touch: Touch) -> None:
        """Note what was done to a file."""
        path = touch.path.removeprefix("./").rstrip("/") or touch.path
        known = self._known(path)
        acts = self._acts.pop(known, []) if known else []
        if known and known != path and len(known) > len(path):
            path = known
        if not acts or acts[-1] is not touch.act:
            acts.append(touch.act)
        self._acts[path] = acts
        names = self._by_name.setdefault(_name(path), [])
        if known and known != path:
            names.remove(known)
        if path not in names:
            names.append(path)

    def _known(self, path: str) -> str | None:
        """The path under which this file came up before."""
        if path in self._acts:
            return path
        for other in self._by_name.get(_name(path), ())[-50:]:
            if other.endswith(f"/{path}") or path.endswith(f"/{other}"):
                return other
        return None

    def told(self) -> list[tuple[str, str]]:
        """Each file with what was done to it, the last touched last."""
        return [(path, _deeds_told(acts)) for path, acts in self._acts.items()]

    def find(self, path: str) -> str | None:
        """The path under which a file came up, if it did."""
        return self._known(path.removeprefix("./"))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _deeds_told(acts: Iterable[Act]) -> str:
    """Return what was done, each once; reading is told only where nothing else was done."""
    each = list(dict.fromkeys(reversed(list(acts))))[::-1]  # in the order of the last time of each
    more = [act.value for act in each if act is not Act.READ]
    return ", ".join(more) if more else Act.READ.value


def list_files(deeds: Iterable[AgentDeed]) -> Files:
    files = Files()
    for deed in deeds:
        if deed.output is None or (deed.failed and deed.sort is not Sort.RUN):
            continue  # nobody knows that it was done, or it was not
        for touch in deed.touches[:_MOST_FILES]:
            if not deed.failed or touch.act in (Act.RAN, Act.CREATED):
                files.touch(touch)
    return files


@dataclass(slots=True)
class CommandRun:
    """One thing that was tried, perhaps several times, and how it went last."""

    what: str
    """The command as it was last given, or which edit it was."""
    at: int
    failed: bool
    result: str
    """The last words of a success, or the exact error."""
    serious: bool
    """It builds or checks something: while it fails, the work is not done."""
    before: str = ""
    """The error it had before it went well."""
    times: int = 1


@dataclass(slots=True)
class CommandRuns:
    """All that was tried, by what it tried."""

    of: dict[tuple[str, ...], CommandRun] = field(default_factory=dict)

    def note(self, key: tuple[str, ...], new: CommandRun) -> None:
        """Note how it went this time."""
        old = self.of.pop(key, None)
        if old is not None:
            new.times = old.times + 1
            new.before = (old.result if old.failed else old.before) if not new.failed else ""
        self.of[key] = new

    def went_well(self) -> list[CommandRun]:
        return [one for one in self.of.values() if not one.failed]

    def failing(self) -> list[CommandRun]:
        """Return what did not work at last, what was made up for by a wider run of the same program left out."""
        whole = {key[0]: one.at for key, one in self.of.items() if key and not one.failed and len(key) == 1}
        return [one for key, one in self.of.items() if one.failed and not (key and whole.get(key[0], -1) > one.at)]


def list_runs(deeds: Iterable[AgentDeed]) -> CommandRuns:
    """Return how every command that matters went last, and every edit that was refused."""
    runs = CommandRuns()
    for number, deed in enumerate(deeds):
        if deed.output is None:
            continue
        if deed.sort is Sort.RUN and deed.command and not only_looks(deed.command):
            serious = matters(deed.command)
            if serious or deed.failed:
                result = deed.error if deed.failed else find_telling_line(deed.output)
                key = find_command_key(deed.command) or (deed.command,)
                runs.note(key, CommandRun(f"`{render_command(deed.command)}`", number, deed.failed, result, serious))
        elif deed.sort in (Sort.EDIT, Sort.CREATE, Sort.DELETE) or (deed.failed and deed.sort is Sort.OTHER):
            target = deed.touches[0].path if deed.touches else ""
            key = ("\0edit", target) if deed.sort is not Sort.OTHER else ("\0call", deed.tool, deed.raw[:200])
            if deed.failed or key in runs.of:
                tool = "edit" if deed.command else deed.tool
                what = f"{tool} of {target}" if target else f"`{render_command(f'{deed.tool} {deed.raw}')}`"
                runs.note(key, CommandRun(what, number, deed.failed, deed.error, serious=False))
    return runs


def render_command(command: str) -> str:
    """A command in one line of bearable length."""
    first, more, _ = command.strip().partition("\n")
    line = " ".join(first.split())
    if len(line) > LONGEST_COMMAND:
        return clip(line, LONGEST_COMMAND)
    return f"{line} …" if more and line else line


_LISTS = ("todos", "plan", "items", "tasks", "steps", "todo_list", "todoList", "newTodos")
_WORDS = ("content", "step", "title", "task", "description", "text", "subject", "name")
_STATES = ("status", "state", "done", "completed")
_DONE = frozenset("completed complete done finished true x closed resolved".split())
_DOING = frozenset("in_progress in-progress inprogress active doing current started".split())
_DROPPED = frozenset("cancelled canceled deleted skipped".split())

LONGEST_STEP = 240


@dataclass(frozen=True, slots=True)
class TodoList:
    """The newest list: what is done, under way, still to do."""

    done: tuple[str, ...] = ()
    doing: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.done or self.doing or self.to_do)


def find_newest_plan(deeds: Iterable[AgentDeed]) -> TodoList:
    """The newest list of an agent; empty where it kept none."""
    newest = TodoList()
    for deed in deeds:
        if deed.sort is Sort.PLAN and deed.output is not None and not deed.failed:
            plan = _plan(deed.arguments)
            newest = newest if plan.is_empty else plan
    return newest


def _plan(given: Mapping[str, Any]) -> TodoList:
    listed = next((value for key in _LISTS if isinstance(value := given.get(key), list)), [])
    sorted_out: dict[str, list[str]] = {"done": [], "doing": [], "to_do": []}
    for item in listed[:200]:
        text, state = _step(item)
        if text and state not in _DROPPED:
            name = "done" if state in _DONE else "doing" if state in _DOING else "to_do"
            sorted_out[name].append(text)
    return TodoList(**{name: tuple(texts) for name, texts in sorted_out.items()})


def _step(item: object) -> tuple[str, str]:
    if isinstance(item, str):
        return " ".join(item.split())[:LONGEST_STEP], ""
    if not isinstance(item, dict):
        return "", ""
    text = next((value for key in _WORDS if isinstance(value := item.get(key), str) and value.strip()), "")
    state = next((str(item[key]).lower() for key in _STATES if key in item), "")
    return " ".join(text.split())[:LONGEST_STEP], state
