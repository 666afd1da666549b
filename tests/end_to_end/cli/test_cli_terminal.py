"""Drawing a view: every section has its sign and its style."""

from __future__ import annotations

from previously.cli import terminal
from previously.view.view import Section


def test_every_section_can_be_drawn() -> None:
    assert {one.value for one in Section} <= terminal._SECTIONS.keys()
    assert all(all(drawn) for drawn in terminal._SECTIONS.values()), "a style and both signs"
    assert len({terminal._SECTIONS[one.value][1] for one in Section if one is not Section.BRIEF}) == len(Section) - 1
