"""A book for people is well-formed whatever a story says."""

from __future__ import annotations

import zipfile
from io import BytesIO
from xml.etree import ElementTree

import pytest

from previously.formats.story_book import AppendixPart, BookChapter, StoryBook, write_epub


def read_pages(text: str) -> dict[str, ElementTree.Element]:
    book = StoryBook(text, (BookChapter(text, text, ((text, text),)),), (AppendixPart("People", ((text, text),)),))
    with zipfile.ZipFile(BytesIO(write_epub(book))) as archive:
        return {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist()[1:]}


@pytest.mark.parametrize("text", ["<a> & \"b\" 'c'", "a\uffffb\ufffec", "a\x01\x0b\x7f\x85", "**a *b** c* *d **e* f**"])
def test_every_page_is_well_formed(text: str) -> None:
    assert len(read_pages(text)) == 5


def test_stars_mark_words() -> None:
    page = read_pages("*soft* and **loud *and* more**, 2 * 3 * 4, *never closed")["chapter-1.xhtml"]
    spoken = page.findall(".//{*}body/{*}p")[0]
    assert [(one.tag.rpartition("}")[2], one.text) for one in spoken][1:] == [
        ("em", "soft"),
        ("strong", "loud *and* more"),
    ]


def test_stars_that_are_never_closed_cost_little() -> None:
    """A pattern that looks to the end of the text from every star would not come back from this one."""
    assert read_pages("*a **b " * 50_000)
