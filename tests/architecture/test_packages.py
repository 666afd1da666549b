"""Every package says in a few sentences what it is for, what it may import and who may use it; and keeps to it."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.sources import all_modules, find_edges
from tests.architecture.test_purity import PURE

PACKAGES = [name for name, module in all_modules().items() if module.is_package and len(module.parts) > 1]
NEED_NOTHING = {"core"}
MAY_IMPORT = re.compile(r"may import ((?:`\w+`|everything|the pure layers|, | and )+)")


def read_docstring(package: str) -> str:
    return ast.get_docstring(all_modules()[package].tree) or ""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_more_than_its_line_in_the_map(package: str) -> None:
    assert "\n\n" in read_docstring(package)


@pytest.mark.parametrize("package", [name for name in PACKAGES if "." not in name])
def test_a_package_imports_what_it_says_it_may(package: str) -> None:
    modules = all_modules()
    imported = {
        modules[target].package
        for name, targets in find_edges().items()
        for target in targets
        if modules[name].package == package
    } - {package}
    if package in NEED_NOTHING:
        assert imported == set()
        return
    stated = MAY_IMPORT.search(read_docstring(package).replace("\n", " "))
    assert stated
    if "everything" not in stated[0] and "`app`" not in stated[0]:
        allowed = set(re.findall(r"`(\w+)`", stated[0])) | (set(PURE) if "pure" in stated[0] else set())
        assert imported <= allowed
