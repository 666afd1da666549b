"""Threads and the current state as JSON values, and back: a snapshot is a cache, so that not every note is read again.

What must stay true: what was written is read back equal; what cannot be read is passed over, item by item, and never
raises, for a snapshot can always be made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from previously.core.states import Label
from previously.lore.current import Change, Current, Held
from previously.lore.thread_wording import ThreadKind
from previously.lore.threads import Op, Operation, Thread, Threads

One = TypeVar("One", Thread, Operation, Held, Change)


def threads_json(state: Threads) -> dict[str, Any]:
    """The threads as a JSON value."""
    return {
        "threads": [_plain(one) for one in state.threads],
        "unmatched": [_plain(one) for one in state.unmatched],
        "suggestions": [_plain(one) for one in state.suggestions],
    }


def threads_of(given: object) -> Threads:
    """The threads in a JSON value."""
    lists = given if isinstance(given, Mapping) else {}
    return Threads(
        _all(Thread, lists.get("threads"), {"kind": ThreadKind}),
        _all(Operation, lists.get("unmatched"), {"op": Op, "kind": ThreadKind}),
        _all(Operation, lists.get("suggestions"), {"op": Op, "kind": ThreadKind}),
    )


def current_json(state: Current) -> dict[str, Any]:
    """The current state as a JSON value."""
    return {
        "items": [_plain(one) for one in state.items],
        "earlier": [_plain(one) for one in state.earlier],
        "suggestions": [_plain(one) for one in state.suggestions],
    }


def current_of(given: object) -> Current:
    """The current state in a JSON value."""
    lists = given if isinstance(given, Mapping) else {}
    return Current(
        _all(Held, lists.get("items"), {"label": Label}),
        _all(Held, lists.get("earlier"), {"label": Label}),
        _all(Change, lists.get("suggestions"), {"label": Label}),
    )


def _plain(one: Thread | Operation | Held | Change) -> dict[str, Any]:
    """A value by its fields, those that are as they are by default left out."""
    found = {field.name: (getattr(one, field.name), field.default) for field in fields(one)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, (value, default) in found.items()
        if value != default
    }


def _all(of: type[One], given: object, words: Mapping[str, Callable[[str], Any]]) -> tuple[One, ...]:
    read = (_one(of, item, words) for item in given if isinstance(item, Mapping)) if isinstance(given, list) else ()
    return tuple(one for one in read if one is not None)


def _one(of: type[One], given: Mapping[Any, Any], words: Mapping[str, Callable[[str], Any]]) -> One | None:
    known = {field.name for field in fields(of)}
    make: Callable[..., One] = of
    try:
        values = {name: value for name, value in given.items() if name in known}
        values |= {name: words[name](values[name]) for name in words if values.get(name) is not None}
        values |= {"mentions": tuple(values["mentions"])} if "mentions" in values else {}
        return make(**values)
    except (TypeError, ValueError):
        return None
