"""Values that were made lately and may be asked for again: bounded in bytes, whoever sends what.

Two halves: what is asked for again moves to the younger one; when that is full, the older one is forgotten. So a look
costs one look into a dictionary, and nothing is sorted. Threads may share one: at worst a value is made twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentValues(Generic[K, V]):
    """A dictionary that forgets what was not asked for lately."""

    def __init__(self, most_bytes: int) -> None:
        self._half = most_bytes // 2
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._bytes = 0

    def get(self, key: K, size: int) -> V | None:
        """Return the value of a key, which is about so large; None if it is not known any more."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.keep(key, value, size)
        return value

    def keep(self, key: K, value: V, size: int) -> None:
        """Keep a value that takes about so many bytes, its key included."""
        self._bytes += size
        if self._bytes > self._half:
            self._young, self._old, self._bytes = {}, self._young, size
        self._young[key] = value
