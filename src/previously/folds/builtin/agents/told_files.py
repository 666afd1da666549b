"""The files of a brief: which they are, and why each matters.

What must stay true: every file stands once, under its longest path, those told anew last; why it matters is kept and
what was done to it since is added; when there are too many, those that were only read give way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from previously.folds.builtin.agents.ledger import Files
from previously.folds.builtin.agents.requests import files_named_in
from previously.folds.builtin.agents.shell import Act
from previously.text.words import find_words

MOST_FILES = 80
NAMED = "named by the user"
_MOST_NAMED = 10
"""Files that one request may name."""

_ONLY_READ = f": {Act.READ.value}"
_BACKTICKED = re.compile(r"`([^`\n]{1,400})`")


def files_told(earlier: Iterable[str], touched: Files, requests: Iterable[str]) -> tuple[str, ...]:
    """The files of an earlier brief, those touched since, and those that requests name."""
    told = _Told()
    for item in earlier:
        told.put(*split_file(item))
    for path, deeds in touched.told():
        told.put(path, deeds)
    for request in requests:
        for path in files_named_in(request)[:_MOST_NAMED]:
            told.put(path, NAMED)
    items = [f"{path}: {why}" if why else path for path, why in told.why.items()]
    room = MOST_FILES - sum(not one.endswith(_ONLY_READ) for one in items)
    only_read = [one for one in items if one.endswith(_ONLY_READ)]
    dropped = set(only_read[: max(0, len(only_read) - max(0, room))])
    return tuple([one for one in items if one not in dropped][-MOST_FILES:])


def split_file(item: str) -> tuple[str, str]:
    """The path of an item of the files, and why it matters."""
    ticked = _BACKTICKED.match(item)
    if ticked:
        return ticked[1], item[ticked.end() :].lstrip(" :–—-")
    for sign in (": ", " – ", " — ", " - ", " ("):
        path, found, why = item.partition(sign)
        if found and " " not in path:
            return path.strip("*"), why.rstrip(")") if sign == " (" else why
    return item, ""


class _Told:
    """Files with why they matter, each under its longest path."""

    def __init__(self) -> None:
        self.why: dict[str, str] = {}
        self._by_name: dict[str, str] = {}

    def put(self, path: str, why: str) -> None:
        """A file, once more or for the first time. What is told anew comes last."""
        name = path.rsplit("/", 1)[-1]
        known = path if path in self.why else self._by_name.get(name, "")
        if known and (known == path or known.endswith(f"/{path}") or path.endswith(f"/{known}")):
            if why == NAMED:
                return
            why = _why(self.why.pop(known), why)
            path = max(path, known, key=len)
        self.why[path] = why
        self._by_name[name] = path


def _why(why: str, deeds: str) -> str:
    """Why a file matters, with what was done to it since."""
    if not why or why in (Act.READ.value, NAMED):
        return deeds
    said = set(find_words(why.lower()))
    new = [act for act in deeds.split(", ") if act not in said and act != Act.READ.value]
    return f"{why}; {', '.join(new)}" if new else why
