"""The figures count what they say, and the page has a row for each."""

from __future__ import annotations

from tests.architecture.figures import PAGE, ROWS, count_code_lines


def test_comments_docstrings_and_blank_lines_are_no_code() -> None:
    source = '"""A module.\n\nMore."""\n\nX = 1  # why\n# why not\n\n'
    source += 'def f():\n    """Do it."""\n    return (\n        X\n    )\n'
    assert count_code_lines(source) == 5


def test_the_page_has_every_row() -> None:
    page = PAGE.read_text("utf-8")
    assert [row.name for row in ROWS if f"| {row.name} | {row.before} |" not in page] == []
