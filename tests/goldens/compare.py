"""Reads and writes the expected files, and says what differs from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "expected"
GROUPS = ("paths", "commands", "upstream", "memory_texts")

Taken = dict[str, dict[str, Any]]
"""For each group what was taken, by corpus."""

SHOWN = 70
"""So much of a value stands in a line about a difference: two of them and a place fit on a wide terminal."""

_ABSENT = object()


def read_expected(group: str) -> dict[str, Any]:
    """Return what a group is expected to be, by corpus; nothing where it was never written."""
    path = EXPECTED / f"{group}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


def write_expected(group: str, taken: dict[str, Any], known: set[str]) -> None:
    """Write what was taken. A corpus that was not taken keeps what was expected; one that is not `known` goes."""
    kept = {corpus: value for corpus, value in read_expected(group).items() if corpus in known}
    text = json.dumps(kept | taken, indent=1, sort_keys=True, ensure_ascii=False)
    EXPECTED.mkdir(exist_ok=True)
    (EXPECTED / f"{group}.json").write_text(f"{text}\n", encoding="utf-8")


def find_differences(group: str, taken: dict[str, Any]) -> list[str]:
    """Return a line for each value of the taken corpora that is not as expected: file, place, old and new."""
    expected = read_expected(group)
    taken = json.loads(json.dumps(taken))  # as a file would hold it
    return [
        f"{group}.json {place}: {_shown(old)} → {_shown(new)}"
        for corpus, value in taken.items()
        for place, old, new in _differences(expected.get(corpus, _ABSENT), value, corpus)
    ]


def _differences(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _differences(before, after, f"{place}/{at}")
    elif type(old) is not type(new) or old != new:
        yield place, old, new


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
