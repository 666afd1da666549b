"""Word lists: the sections of `data/*.txt`, read when one is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files


@cache
def load_lists(name: str) -> Mapping[str, Sequence[str]]:
    """Return the lines of a file by the heading they stand under; those before the first heading under ""."""
    text = (files(__package__) / "data" / f"{name}.txt").read_text("utf-8")
    lists: dict[str, list[str]] = {"": []}
    lines = lists[""]
    for line in text.splitlines():
        if line.startswith("== "):
            lines = lists.setdefault(line.removeprefix("== "), [])
        elif line and not line.startswith("# "):
            lines.append(line)
    return lists


@cache
def load_words(name: str, heading: str) -> frozenset[str]:
    return frozenset(" ".join(load_lists(name)[heading]).split())
