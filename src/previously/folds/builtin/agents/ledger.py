"""The files an agent touched, and how its commands went: one entry for each, however often it came up.

What must stay true: the same file under a relative and an absolute path is one entry, under the longer path; a command
that failed and later went well has not failed; the order is that of the last touch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from previously.folds.builtin.agents.deeds import Deed, Sort
from previously.folds.builtin.agents.failures import telling_line
from previously.folds.builtin.agents.shell import Act, Touch, matters, only_looks, same_attempt

LONGEST_COMMAND = 160
_MOST_FILES = 400
"""Files that are kept in mind; of more, those that were only read go first."""


class Files:
    """Which files were touched, and what was done to each, in order."""

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
    """What was done, each once; reading is told only where nothing else was done."""
    each = list(dict.fromkeys(reversed(list(acts))))[::-1]  # in the order of the last time of each
    more = [act.value for act in each if act is not Act.READ]
    return ", ".join(more) if more else Act.READ.value


def files_of(deeds: Iterable[Deed]) -> Files:
    """The files of all deeds that did not fail."""
    files = Files()
    for deed in deeds:
        if deed.failed and deed.sort is not Sort.RUN:
            continue
        for touch in deed.touches[:_MOST_FILES]:
            if not deed.failed or touch.act in (Act.RAN, Act.CREATED):
                files.touch(touch)
    return files


@dataclass(slots=True)
class Attempt:
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
class Attempts:
    """All that was tried, by what it tried."""

    of: dict[tuple[str, ...], Attempt] = field(default_factory=dict)

    def note(self, key: tuple[str, ...], new: Attempt) -> None:
        """Note how it went this time."""
        old = self.of.pop(key, None)
        if old is not None:
            new.times = old.times + 1
            new.before = (old.result if old.failed else old.before) if not new.failed else ""
        self.of[key] = new

    def went_well(self) -> list[Attempt]:
        """What worked at last."""
        return [one for one in self.of.values() if not one.failed]

    def failing(self) -> list[Attempt]:
        """What did not work at last, what was made up for by a wider run of the same program left out."""
        whole = {key[0]: one.at for key, one in self.of.items() if key and not one.failed and len(key) == 1}
        return [one for key, one in self.of.items() if one.failed and not (key and whole.get(key[0], -1) > one.at)]


def attempts_of(deeds: Iterable[Deed]) -> Attempts:
    """How every command that matters went last, and every edit that was refused."""
    found = Attempts()
    for number, deed in enumerate(deeds):
        if deed.output is None:
            continue
        if deed.sort is Sort.RUN and deed.command and not only_looks(deed.command):
            serious = matters(deed.command)
            if serious or deed.failed:
                result = deed.error if deed.failed else telling_line(deed.output)
                key = same_attempt(deed.command) or (deed.command,)
                found.note(key, Attempt(f"`{shown(deed.command)}`", number, deed.failed, result, serious))
        elif deed.sort in (Sort.EDIT, Sort.CREATE, Sort.DELETE) or (deed.failed and deed.sort is Sort.OTHER):
            target = deed.touches[0].path if deed.touches else ""
            key = ("\0edit", target) if deed.sort is not Sort.OTHER else ("\0call", deed.tool, deed.raw[:200])
            if deed.failed or key in found.of:
                what = f"{deed.tool} of {target}" if target else f"`{shown(f'{deed.tool} {deed.raw}')}`"
                found.note(key, Attempt(what, number, deed.failed, deed.error, serious=False))
    return found


def shown(command: str) -> str:
    """A command in one line of bearable length."""
    first, more, _ = command.strip().partition("\n")
    line = " ".join(first.split())
    if len(line) > LONGEST_COMMAND:
        return f"{line[: LONGEST_COMMAND - 1].rstrip()}…"
    return f"{line} …" if more and line else line
