"""The tree in a log whose lines name the line before them: which path is the conversation, and what was taken back.

Lines that are parts of one API message are one *step*, wherever they stand; so are the results of its calls, which hang
on different lines when calls were made together. The conversation is the path to the newest step that nothing follows;
every other end is a path that was taken back.

What must stay true: every line is on some path; a broken link or a circle of links loses nothing and never loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Linked:
    """A line with a message."""

    id: str
    together: str = ""
    """Lines with the same word here are one API message."""
    calls: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()
    """Of a line that holds nothing but results: which calls they answer."""


@dataclass(slots=True, eq=False)
class Step:
    """One API message, over one line or several, and behind it the results of its calls."""

    lines: list[Linked]
    results: list[Linked] = field(default_factory=list)
    before: Step | None = None
    followed: bool = False

    @property
    def newest(self) -> str:
        """The id of its last line."""
        return [*self.lines, *self.results][-1].id


def paths(lines: Sequence[Linked], links: Mapping[str, str | None]) -> list[list[Step]]:
    """Every path through the lines, the conversation first. `links` names for each line, also for lines that hold no
    message, the line before it."""
    steps, step_of = _steps(lines)
    number = {step.lines[0].id: at for at, step in enumerate(steps)}
    place = {line.id: at for at, line in enumerate(lines)}
    is_tree = any(links.get(line.id) in links for line in lines)
    looks_ahead = False
    for at, step in enumerate(steps):
        if not is_tree:
            step.before = steps[at - 1] if at else None
            continue
        before = _before(step, links, step_of)
        if before is None and _is_cut(step.lines[0], links) and at:
            before = steps[at - 1]  # the line it names is lost: it stood behind what stands before it
        # Without a link to what comes later there is no circle, and looking for one in a long log would take long.
        looks_ahead = looks_ahead or (before is not None and number[before.lines[0].id] > at)
        step.before = None if looks_ahead and _leads_to(before, step) else before
    for step in steps:
        if step.before:
            step.before.followed = True
    ends = sorted((step for step in steps if not step.followed), key=lambda step: place[step.newest])
    return [_path(end) for end in [*ends[-1:], *ends[:-1]]]


def _steps(lines: Iterable[Linked]) -> tuple[list[Step], dict[str, Step]]:
    steps: list[Step] = []
    together: dict[str, Step] = {}
    waiting: dict[str, Step] = {}  # by call, the step that has no result for it yet
    step_of: dict[str, Step] = {}
    for line in lines:
        asked = {waiting.get(call) for call in line.results} if line.results else {None}
        step = asked.pop() if len(asked) == 1 else None
        if step is not None:
            step.results.append(line)
        elif line.together and line.together in together:
            step = together[line.together]
            step.lines.append(line)
        else:
            step = Step([line])
            steps.append(step)
            if line.together:
                together[line.together] = step
        for call in line.results:
            waiting.pop(call, None)
        waiting.update(dict.fromkeys(line.calls, step))
        step_of[line.id] = step
    return steps, step_of


def _before(step: Step, links: Mapping[str, str | None], step_of: Mapping[str, Step]) -> Step | None:
    """The step before: through lines that hold no message, past the lines of the step itself."""
    seen: set[str] = set()
    line = links.get(step.lines[0].id)
    while line is not None and line not in seen:
        seen.add(line)
        found = step_of.get(line)
        if found is not None and found is not step:
            return found
        line = links.get(line)
    return None


def _is_cut(line: Linked, links: Mapping[str, str | None]) -> bool:
    """Whether the line says that something stands before it, and that is not there."""
    seen: set[str] = set()
    at: str | None = line.id
    while at is not None and at not in seen:
        if at not in links:
            return True
        seen.add(at)
        at = links[at]
    return False


def _leads_to(step: Step | None, other: Step) -> bool:
    while step is not None:
        if step is other:
            return True
        step = step.before
    return False


def _path(end: Step) -> list[Step]:
    path: list[Step] = []
    step: Step | None = end
    while step is not None:
        path.append(step)
        step = step.before
    return path[::-1]
