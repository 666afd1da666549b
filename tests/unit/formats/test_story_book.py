"""A book for people is well-formed whatever a story says."""

from __future__ import annotations

import zipfile
from io import BytesIO
from xml.etree import ElementTree

import pytest

from previously.formats.story_book import AppendixPart, BookChapter, StoryBook, write_epub, write_markdown


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


def tell(*texts: str) -> tuple[tuple[str, str], ...]:
    return tuple(("", text) for text in texts)


def list_headings(book: StoryBook) -> list[str]:
    return [line for line in write_markdown(book).splitlines() if line.startswith("#")]


def read_contents(book: StoryBook) -> list[str]:
    with zipfile.ZipFile(BytesIO(write_epub(book))) as archive:
        contents = ElementTree.fromstring(archive.read("nav.xhtml"))
    return [str(link.text) for link in contents.iter("{http://www.w3.org/1999/xhtml}a")]


def test_headings_of_a_novel_are_the_titles_of_its_chapters_once() -> None:
    book = StoryBook(
        "glasshouse",
        (
            BookChapter("One: The Path", "She came.", tell("# One: The Path", "She came by the path."), number=1),
            BookChapter("Two", "", tell("# Two", "It rained.", "## At night", "It stopped."), number=2),
            BookChapter("", "", tell("# Three", "The last."), number=3),
        ),
    )
    assert list_headings(book) == ["# glasshouse", "## One: The Path", "## Two", "### At night", "## Three"]
    assert read_contents(book) == ["One: The Path", "Two", "Three"]


def test_a_novel_that_is_not_folded_has_its_chapters_too() -> None:
    said = tell("# The Salt", "## Part one", "### Rain", "It rained.", "### Sun", "It stopped.", "#### At night", "So.")
    book = StoryBook("novel", (BookChapter("", "", said),))
    assert read_contents(book) == ["Part one", "Rain", "Sun"]
    assert write_markdown(book) == "\n\n".join(text for _, text in said) + "\n"
    same_level = StoryBook("novel", (BookChapter("", "", tell("# One", "It rained.", "# Two", "It stopped.")),))
    assert list_headings(same_level) == ["# novel", "## One", "## Two"]


def test_a_title_that_a_person_gave_a_chapter_stands_above_its_heading() -> None:
    book = StoryBook(
        "novel", (BookChapter("Rain", "", tell("# One", "It rained."), number=1), BookChapter("", "", tell("# Two")))
    )
    assert list_headings(book) == ["# novel", "## Chapter 1, Rain", "### One", "## Two"]


def test_what_somebody_says_is_no_heading() -> None:
    said = (("Wren", "# Plan"), ("", "# Plan\n\nWe wait."))
    book = StoryBook("talk", (BookChapter("", "", said, number=2),))
    assert read_contents(book) == ["Chapter 2"]
    assert write_markdown(book) == "# talk\n\n## Chapter 2\n\n**Wren:** # Plan\n\n# Plan\n\nWe wait.\n"


def test_lines_of_a_recap_stay_lines() -> None:
    book = StoryBook("talk", (BookChapter("One", "It rained.\n\nIt stopped.\nWren left.", ()),))
    assert "> It rained.\n>\n> It stopped.\n>\n> Wren left.\n" in write_markdown(book)
