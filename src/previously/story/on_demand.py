"""Methods on demand: the classes in front of the engine have them by name, and load what they need when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class MethodOnDemand:
    """A method that is made when it is first asked for, of the class or of an object, and is the class's own from then
    on."""

    def __init__(self, owner: type, name: str, make: Callable[[], Callable[..., Any]]) -> None:
        self._owner, self._name, self._make = owner, name, make

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        setattr(self._owner, self._name, self._make())
        return getattr(self._owner if instance is None else instance, self._name)
