"""Signals: what a span changed, in short items. The librarian notes them of a fragment, a scene leaves them behind.

Each list is bounded, its items are one line each, and no item is there twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from previously.core.alphabets import casefold

MOST_ITEMS = 8
"""Items of each list that are kept: a model that names more has begun to retell."""

LONGEST_ITEM = 200
"""Characters of an item that are kept: one sentence."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Events, changes of state, threads that were left open and threads that were settled."""

    events: tuple[str, ...] = ()
    state_changes: tuple[str, ...] = ()
    open_threads: tuple[str, ...] = ()
    resolved_threads: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to note."""
        return not any(getattr(self, one.name) for one in fields(self))

    def as_json(self) -> dict[str, list[str]]:
        """Return the lists by name, all of them."""
        return {one.name: list(getattr(self, one.name)) for one in fields(self)}


NO_SIGNALS = Signals()


@dataclass(frozen=True, slots=True)
class Settled:
    """A thread that a span settled, named by what opened it, and how it ended; its own words where that is not said."""

    thread: str
    text: str


def settled_of(given: object) -> tuple[Settled, ...]:
    """Return the settled threads in what a version holds; what is none is passed over."""
    items = given if isinstance(given, list) else ()
    found = ((item.get("thread"), item.get("text")) for item in items if isinstance(item, Mapping))
    return tuple(Settled(thread, text) for thread, text in found if isinstance(thread, str) and isinstance(text, str))


def settled_json(settled: Iterable[Settled]) -> dict[str, list[dict[str, str]]]:
    """Return the settled threads as a field of a version; no field where there are none."""
    listed = [{"thread": one.thread, "text": one.text} for one in settled]
    return {"settled": listed} if listed else {}


def signals_of(given: Mapping[str, Any]) -> Signals:
    """Return the signals in what a model or a file gives: a text counts as a list of one, what is no text is passed
    over."""
    return Signals(**{one.name: items_of(given.get(one.name)) for one in fields(Signals)})


def items_of(given: object) -> tuple[str, ...]:
    """Return a list of short texts, trimmed, each once whatever its case, at most `MOST_ITEMS`."""
    items: Iterable[object] = (given,) if isinstance(given, str) else given if isinstance(given, list | tuple) else ()
    found: dict[str, str] = {}
    for item in items:
        line = " ".join(item.split())[:LONGEST_ITEM].strip() if isinstance(item, str) else ""
        if line:
            found.setdefault(casefold(line), line)
    return tuple(found.values())[:MOST_ITEMS]
