"""Every Python example in README and docs runs and gives what it says."""

from __future__ import annotations

import doctest
import gc
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if ">>> " in page.read_text("utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path) -> None:
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted > 0
    assert results.failed == 0
    gc.collect()  # so that what an example leaves open is this test's fault, not the next one's
