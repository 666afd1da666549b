"""The pure layers decide and do not act: no clock, randomness, I/O, async or logging, by name and by syntax."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import previously

PACKAGE = Path(previously.__file__).parent
PURE = ("core", "folds", "lore", "memory", "plan", "recall", "recognition", "text", "view", "wire")
READS_ITS_OWN_DATA = PACKAGE / "text" / "word_lists.py"
"""Word lists of the package are as constant as its code; one module reads them."""

PURE_MODULES = sorted(path for layer in PURE for path in (PACKAGE / layer).rglob("*.py") if path != READS_ITS_OWN_DATA)

ALLOWED_IMPORTS = {
    "__future__", "ahocorasick_rs", "bisect", "calendar", "collections", "contextlib",
    "dataclasses", "datetime", "difflib", "enum", "functools", "hashlib", "heapq",
    "itertools", "json", "json_repair", "math", "numpy", "operator",
    "previously", "re", "re2", "string", "types", "typing", "unicodedata",
}  # fmt: skip
FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "hash", "id"}
"""`hash` and `id` differ from run to run: the same input would no longer give the same bytes."""

FORBIDDEN_ATTRIBUTES = {"now", "utcnow", "today"}
"""Times may be compared, the clock not be read."""


def faults_in(source: str) -> list[str]:
    """What in this source a pure module may not have, by line."""
    faults: list[str] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                faults += [
                    f"{node.lineno}: import {n.name}" for n in names if n.name.split(".")[0] not in ALLOWED_IMPORTS
                ]
            case ast.ImportFrom(module="io", names=[ast.alias(name="StringIO")]):
                pass
            case ast.ImportFrom(module="email.utils", names=[ast.alias(name="parsedate_to_datetime")]):
                pass
            case ast.ImportFrom(module=module):
                if (module or "").split(".")[0] not in ALLOWED_IMPORTS:
                    faults.append(f"{node.lineno}: from {module} import")
            case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
                faults.append(f"{node.lineno}: async")
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                faults.append(f"{node.lineno}: {name}()")
            case ast.Attribute(attr=name) if name in FORBIDDEN_ATTRIBUTES:
                faults.append(f"{node.lineno}: .{name}")
            case ast.Global():
                faults.append(f"{node.lineno}: global state")
            case _:
                pass
    return faults


@pytest.mark.parametrize("path", PURE_MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_pure_layers_only_decide(path: Path) -> None:
    assert faults_in(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from random import choice",
        "import os.path",
        "from datetime import datetime\nx = datetime.now()",
        "import logging",
        "from io import open",
        "import io",
        "async def f(): ...",
        "def f():\n    return open('x')",
        "def f(x):\n    return hash(x)",
        "x = 0\ndef f():\n    global x",
    ],
)
def test_the_check_sees_what_it_should(source: str) -> None:
    assert faults_in(source)
