"""Drawing a view: every section has its sign and its style."""

from __future__ import annotations

import pytest

from previously.cli import terminal
from previously.view.view import Section


@pytest.mark.parametrize("signs", [terminal._SIGNS, terminal._ASCII_SIGNS, terminal._SECTION_STYLES])
def test_every_section_can_be_drawn(signs: dict[str, str]) -> None:
    assert {one.value for one in Section} <= signs.keys()
    assert len({terminal._SIGNS[one.value] for one in Section if one is not Section.BRIEF}) == len(Section) - 1
