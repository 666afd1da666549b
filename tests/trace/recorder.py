"""Record which modules of Previously are called, in all threads, and how many transactions are begun."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import apsw

import previously

PACKAGE = Path(previously.__file__).parent


@dataclass
class Recorder:
    """Counts while it records. It must be installed before threads start and databases are opened.

    A module is touched when a function of it is called. Code that only runs because a module is imported does not
    count, nor do functions without a file, such as the `__init__` of a dataclass. A hop is a transaction begun in
    SQLite: each is a wait for the store.
    """

    modules: set[str] = field(default_factory=set)
    calls: dict[str, None] = field(default_factory=dict)
    """Every function that was called, as `module.qualified_name`, in the order of first calls."""
    hops: int = 0
    is_recording: bool = False
    _names: dict[CodeType, str] = field(default_factory=dict)

    def install(self) -> None:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        apsw.connection_hooks.append(self._watch)

    def uninstall(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        apsw.connection_hooks.remove(self._watch)

    def start(self) -> None:
        self.modules, self.calls, self.hops, self.is_recording = set(), {}, 0, True

    def stop(self) -> dict[str, Any]:
        self.is_recording = False
        return {"modules": len(self.modules), "hops": self.hops, "names": sorted(self.modules), "calls": [*self.calls]}

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if self.is_recording and event == "call":
            code = frame.f_code
            name = self._names.get(code)
            if name is None:
                name = self._names[code] = _module_of(code)
            if name:
                self.modules.add(name)
                self.calls[f"{name}.{code.co_qualname}"] = None

    def _watch(self, connection: apsw.Connection) -> None:
        connection.exec_trace = self._trace

    def _trace(self, _cursor: object, statement: str, _bindings: object) -> bool:
        if self.is_recording and statement.startswith("BEGIN"):
            self.hops += 1
        return True


@contextmanager
def installed_recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    recorder.install()
    try:
        yield recorder
    finally:
        recorder.uninstall()


def _module_of(code: CodeType) -> str:
    """Return the dotted name of the module that a function stands in; empty for what is not ours."""
    path = Path(code.co_filename)
    if code.co_name == "<module>" or not path.is_relative_to(PACKAGE):
        return ""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
