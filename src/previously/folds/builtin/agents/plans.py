"""Plans: the lists an agent keeps of what is done, under way and still to do.

Owns the shapes of todo tools. What must stay true: only the newest list counts; what its states mean is told by their
names, and one that is unknown is still to do; total.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from previously.folds.builtin.agents.deeds import Deed, Sort

_LISTS = ("todos", "plan", "items", "tasks", "steps", "todo_list", "todoList", "newTodos")
_WORDS = ("content", "step", "title", "task", "description", "text", "subject", "name")
_STATES = ("status", "state", "done", "completed")
_DONE = frozenset("completed complete done finished true x closed resolved".split())
_DOING = frozenset("in_progress in-progress inprogress active doing current started".split())
_DROPPED = frozenset("cancelled canceled deleted skipped".split())

LONGEST_STEP = 240


@dataclass(frozen=True, slots=True)
class Planned:
    """The newest list: what is done, under way, still to do."""

    done: tuple[str, ...] = ()
    doing: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no list."""
        return not (self.done or self.doing or self.to_do)


def newest_plan(deeds: Iterable[Deed]) -> Planned:
    """The newest list of an agent; empty where it kept none."""
    newest = Planned()
    for deed in deeds:
        if deed.sort is Sort.PLAN and not deed.failed:
            found = _plan(deed.arguments)
            newest = newest if found.is_empty else found
    return newest


def _plan(given: Mapping[str, Any]) -> Planned:
    listed = next((value for key in _LISTS if isinstance(value := given.get(key), list)), [])
    sorted_out: dict[str, list[str]] = {"done": [], "doing": [], "to_do": []}
    for item in listed[:200]:
        text, state = _step(item)
        if text and state not in _DROPPED:
            name = "done" if state in _DONE else "doing" if state in _DOING else "to_do"
            sorted_out[name].append(text)
    return Planned(**{name: tuple(texts) for name, texts in sorted_out.items()})


def _step(item: object) -> tuple[str, str]:
    if isinstance(item, str):
        return " ".join(item.split())[:LONGEST_STEP], ""
    if not isinstance(item, dict):
        return "", ""
    text = next((value for key in _WORDS if isinstance(value := item.get(key), str) and value.strip()), "")
    state = next((str(item[key]).lower() for key in _STATES if key in item), "")
    return " ".join(text.split())[:LONGEST_STEP], state
