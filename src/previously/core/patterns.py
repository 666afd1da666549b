"""Patterns that are compiled when they are first used: a command that uses none of them waits for none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "scanner")


class _LazyPattern:
    """A pattern's text until a method is asked for; from then on the methods of the compiled pattern are its own
    attributes, and cost nothing extra."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by `copy` and `pickle`, which must not compile anything
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        self.flags, self.groups, self.groupindex = compiled.flags, compiled.groups, compiled.groupindex
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_pattern({self.pattern!r})"


if TYPE_CHECKING:

    def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
        """Return what `re.compile` would, compiled at its first use. It has the methods of a pattern, but is none to
        `isinstance` and to the functions of `re`."""

else:

    def lazy_pattern(pattern, flags=0):
        return _LazyPattern(pattern, int(flags))
