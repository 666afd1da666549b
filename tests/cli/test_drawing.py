"""Drawing a view: every section has its sign and its style."""

from __future__ import annotations

import pytest

from previously.cli import drawing
from previously.view.view import Section


@pytest.mark.parametrize("signs", [drawing._SIGNS, drawing._ASCII_SIGNS, drawing._SECTION_STYLES])
def test_every_section_can_be_drawn(signs: dict[str, str]) -> None:
    assert {one.value for one in Section} <= signs.keys()
    assert len({drawing._SIGNS[one.value] for one in Section if one is not Section.BRIEF}) == len(Section) - 1
