"""There is one of each language tool: who needs one asks `core.scripts` or `text`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import previously

PACKAGE = Path(previously.__file__).parent

TOOLS = {
    "ranges of scripts": (r"\\u(?:3040|4e00|ac00)", {"core/scripts.py"}),
    "number words": (r"\b(?:two three four|zwei drei|deux trois|dos tres|seven eight nine)\b", set()),
    "ends of sentences": (r"\(\?<=\[[^\]]*\.!\?", {"text/sentences.py"}),
    "endings of words": (
        r"\(\?:ies\||endswith\(\"(?:ies|ing|ed)\"\)|\bdef stem",
        {"text/stems.py", "folds/scene_checks.py"},
    ),
    "names of months": (r"january february", {"text/times.py"}),
    "titles of people": (r"\bmr mrs\b", {"text/sentences.py"}),
    "the mark of a gap": (r"^GAP\b", {"text/cuts.py"}),
}
"""What tells a tool, and where it may stand. A generated story is written with numbers, not read; abbreviations end in
a full stop, which titles need not; whether a sentence tells a deed is asked of its verb alone."""


@pytest.mark.parametrize("tool", TOOLS)
def test_there_is_one_of_each_language_tool(tool: str) -> None:
    pattern, allowed = TOOLS[tool]
    wanted = re.compile(pattern, re.M)
    modules = (path for path in PACKAGE.rglob("*.py") if wanted.search(path.read_text("utf-8")))
    assert {path.relative_to(PACKAGE).as_posix() for path in modules} <= allowed
