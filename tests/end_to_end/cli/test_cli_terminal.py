"""Drawing a view: every section has its sign and its style."""

from __future__ import annotations

from previously.cli import terminal
from previously.view.view import Section


def test_every_section_can_be_drawn() -> None:
    assert {one.value for one in Section} <= terminal._SECTIONS.keys()
    assert all(all(drawn) for drawn in terminal._SECTIONS.values()), "a style and both signs"
    for which in (1, 2):
        signs = [drawn[which] for drawn in terminal._SECTIONS.values()]
        assert len(set(signs)) == len(signs), "each section has a sign of its own"
    assert all(drawn[2].isascii() for drawn in terminal._SECTIONS.values())
