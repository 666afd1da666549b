"""The parts of CONTRIBUTING.md that name code: its table of behaviours, and its walk-throughs."""

from __future__ import annotations

import re
from importlib import import_module

from tests.architecture.sources import PACKAGE, ROOT, SRC, all_modules

PAGE = ROOT / "CONTRIBUTING.md"
FLOW, FOLD = "How one message flows", "How a fold happens"
TABLE = "Where to find what"

_FUNCTION = re.compile(r"`([a-z_]+(?:\.\w+)+)`")
_PLACE = re.compile(r"`([a-z_/]+(?:/|\.py|\.sql))`")


def read_section(heading: str) -> str:
    """Return the text below a heading of CONTRIBUTING.md."""
    return PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def list_steps(heading: str) -> list[str]:
    """Return the numbered steps of a walk-through."""
    return re.findall(r"^\d+\. .*$", read_section(heading), re.MULTILINE)


def list_functions(heading: str) -> list[str]:
    """Return the functions that the steps of a walk-through name, in their order, as `module.qualified_name`."""
    return _FUNCTION.findall("\n".join(list_steps(heading)))


def list_rows() -> list[str]:
    """Return the rows of the table of behaviours."""
    return [row for row in read_section(TABLE).splitlines() if row.startswith("| ")][1:]


def find_missing_places() -> list[str]:
    """Return the files and directories that the table names and that are not there."""
    places = [place for row in list_rows() for place in _PLACE.findall(row)]
    return [place for place in places if not (SRC / PACKAGE / place).exists()]


def is_there(function: str) -> bool:
    """Return whether a function of that dotted name exists."""
    parts = function.split(".")
    fronts = [end for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in all_modules()]
    if not fronts:
        return False
    value: object = import_module(".".join([PACKAGE, *parts[: fronts[0]]]))
    for name in parts[fronts[0] :]:
        value = getattr(value, name, None)
    return callable(value)
