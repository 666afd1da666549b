"""The pictures of the demo's screen show what it prints, and load nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.text import Text

from tests import draw_demo
from tests.draw_demo import IMAGES, PICTURES, cut_part, draw_picture, split_parts

DRAW_ANEW = "The demo prints something else than its pictures show: python -m tests.draw_demo"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_loads_nothing(name: str) -> None:
    drawn = (IMAGES / name).read_text("utf-8")
    assert "font-face" not in drawn
    assert "url(http" not in drawn
    assert "href" not in drawn
    assert "$&#160;previously&#160;demo" in drawn


def test_what_is_cut_is_marked() -> None:
    lines = [Text(line) for line in ("one", "two", "", "three")]
    assert [line.plain for line in cut_part(lines, "three")] == ["one", "two", "⋮"]
    assert [line.plain for line in cut_part(lines, "")] == ["one", "two", "", "three"]


def test_parts_begin_at_their_headings() -> None:
    parts = list(split_parts("before\nA part ───\nin it\nAnother ───\n"))
    assert [heading.split(" ─")[0] for heading, _ in parts] == ["", "A part", "Another"]


def test_a_drawn_line_stands_in_the_picture() -> None:
    assert "hello" in draw_picture([Text("hello")], "title")


@pytest.mark.slow(reason="runs the demo")
def test_the_pictures_are_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw_demo, "IMAGES", tmp_path)
    draw_demo.draw_all()
    for name in PICTURES:
        drawn = [_read_words(folder / name) for folder in (IMAGES, tmp_path)]
        assert drawn[0] == drawn[1], DRAW_ANEW


def _read_words(path: Path) -> list[str]:
    """The words of a picture but for the seconds that the demo took."""
    text = " ".join(re.findall(r"<text[^>]*>(.*?)</text>", path.read_text("utf-8")))
    return re.sub(r"\d+\.\d&#160;s", "SECONDS", text).split("&#160;")
