"""A story as a book for people: chapters with their recaps, and an appendix of what is known. Markdown and EPUB.

A novel has headings of its own, each a message: they are the titles of the book and its chapters, and stand there once.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from html import escape

from previously.core.patterns import lazy_pattern
from previously.text.names import name_chapter

_MARKS = lazy_pattern(r"\*\*(?=\S)((?:[^*\n]|\*(?!\*))+)(?<=\S)\*\*|\*(?=\S)([^*\n]+)(?<=\S)\*")
"""Words between stars. Each looks no further than to the next stars: those that are never closed cost little."""

_HEADING = lazy_pattern(r"(#{1,6})[ \t]+(\S.*)")
"""A passage that is a heading and nothing else, as the messages of novels are."""

CHAPTER_LEVEL, DEEPEST_LEVEL = 2, 6
"""The level of a chapter's heading, below the book's; and the deepest that Markdown and HTML have."""

_NOT_IN_XML = "\ufffe\uffff"

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP file can hold: the same story gives the same bytes."""


Passage = tuple[str, str]
"""The speaker, or none, and what was said."""


@dataclass(frozen=True, slots=True)
class BookChapter:
    """One chapter: a recap, if there is one, and what was said. Without a title its own heading is its title."""

    title: str
    recap: str
    passages: tuple[Passage, ...]
    number: int = 0
    """Its number, which stands before the title; 0 for none."""
    level: int = CHAPTER_LEVEL

    @property
    def label(self) -> str:
        """Return its heading; empty for none."""
        return name_chapter(self.number, self.title) if self.number else self.title


@dataclass(frozen=True, slots=True)
class AppendixPart:
    """One list behind the story, each item with its name."""

    title: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StoryBook:
    """A whole story as people read it."""

    title: str
    chapters: tuple[BookChapter, ...]
    appendix: tuple[AppendixPart, ...] = ()
    authors: tuple[str, ...] = field(default=())


def write_markdown(book: StoryBook) -> str:
    """Return the book as one Markdown text."""
    return "\n\n".join(_list_blocks(_place_headings(book))) + "\n"


def _list_blocks(book: StoryBook) -> Iterator[str]:
    yield f"# {_one_line(book.title)}"
    for chapter in book.chapters:
        if chapter.label:
            yield f"{'#' * chapter.level} {_one_line(chapter.label)}"
        if chapter.recap.strip():
            lines = [line.strip() for line in chapter.recap.splitlines() if line.strip()]
            yield "\n>\n".join(f"> {line}" for line in lines)  # else all would become one paragraph
        for speaker, text in chapter.passages:
            yield f"**{_one_line(speaker)}:** {text.strip()}" if speaker else text.strip()
    for part in book.appendix:
        yield f"## {part.title}"
        yield "\n".join(
            f"- **{_one_line(name)}**: {_one_line(text)}" if text else f"- {_one_line(name)}"
            for name, text in part.items
        )


def _place_headings(book: StoryBook) -> StoryBook:
    """Return the book with the headings of a novel as titles, and those within chapters below them."""
    levels = [heading[0] for chapter in book.chapters for one in chapter.passages if (heading := _read_heading(one))]
    if not levels:
        return book
    titled = _take_title(book, levels.count(1))
    lower = 0 if titled else CHAPTER_LEVEL - min(levels)
    book = titled or book
    return replace(book, chapters=tuple(piece for one in book.chapters for piece in _split_chapter(one, lower)))


def _read_heading(passage: Passage) -> tuple[int, str] | None:
    """Return the level and the words of a passage that is a heading."""
    match = None if passage[0] else _HEADING.fullmatch(passage[1].strip())
    return (len(match[1]), _one_line(match[2])) if match else None


def _take_title(book: StoryBook, highest: int) -> StoryBook | None:
    """Return a novel under its own title, without that heading; None where it begins with that of a chapter: another
    heading of that level follows, and text does first, or the chapter is called so."""
    first = book.chapters[0]
    own, after = (_read_heading(one) for one in (*first.passages[:2], *[("", "")] * 2)[:2])
    if own is None or own[0] != 1 or (not after and (highest > 1 or first.title == own[1])):
        return None
    return replace(book, title=own[1], chapters=(replace(first, passages=first.passages[1:]), *book.chapters[1:]))


def _split_chapter(chapter: BookChapter, lower: int) -> Iterator[BookChapter]:
    """Yield a chapter with its own heading as its title. Where nobody gave it one, every heading that is none of a
    section begins another. Headings are `lower` by so many levels than they were."""
    if chapter.title:
        opening = _read_heading(chapter.passages[0]) if chapter.passages else None
        if opening and opening[1] == chapter.title:
            yield replace(chapter, number=0, passages=_lower_headings(chapter.passages[1:], CHAPTER_LEVEL - opening[0]))
        else:
            yield replace(chapter, passages=_lower_headings(chapter.passages, lower + 1))
        return
    piece, said, level = replace(chapter, passages=()), list[Passage](), 0
    for passage in chapter.passages:
        heading = _read_heading(passage)
        if heading and (not level or heading[0] <= level or not said):
            if said or level:
                yield replace(piece, passages=_lower_headings(said, lower))
                piece, said = BookChapter("", "", ()), []
            level = heading[0]
            piece = replace(piece, title=heading[1], number=0, level=min(level + lower, DEEPEST_LEVEL))
        else:
            said.append(passage)
    yield replace(piece, passages=_lower_headings(said, lower))


def _lower_headings(passages: Sequence[Passage], lower: int) -> tuple[Passage, ...]:
    return tuple(
        ("", f"{'#' * max(1, min(heading[0] + lower, DEEPEST_LEVEL))} {heading[1]}")
        if (heading := _read_heading(one))
        else one
        for one in passages
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def write_epub(book: StoryBook) -> bytes:
    """Return the book as an EPUB 3 file, a page for each chapter."""
    book = _place_headings(book)
    pages = [*_list_pages(book)]
    ident = blake2b(write_markdown(book).encode(), digest_size=16).hexdigest()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "mimetype", "application/epub+zip", zipfile.ZIP_STORED)  # first and not packed: how it is known
        _add(archive, "META-INF/container.xml", _CONTAINER)
        _add(archive, "content.opf", _write_package(book, pages, ident))
        _add(archive, "nav.xhtml", _write_navigation(book, pages))
        for name, title, body in pages:
            _add(archive, name, _write_page(title, body))
    return target.getvalue()


def _add(archive: zipfile.ZipFile, name: str, text: str, packing: int = zipfile.ZIP_DEFLATED) -> None:
    archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), text, packing)


def _list_pages(book: StoryBook) -> Iterator[tuple[str, str, str]]:
    """Yield file name, title and body of each page."""
    for number, chapter in enumerate(book.chapters, 1):
        told = _write_paragraphs(chapter.recap)
        recap = f'<blockquote class="recap">{told}</blockquote>' if told else ""
        passages = "".join(_write_passage(passage) for passage in chapter.passages)
        yield f"chapter-{number}.xhtml", chapter.label or book.title, recap + passages
    for number, part in enumerate(book.appendix, 1):
        items = "".join(
            f"<li><strong>{_escape(name)}</strong>: {_escape(text)}</li>" if text else f"<li>{_escape(name)}</li>"
            for name, text in part.items
        )
        yield f"appendix-{number}.xhtml", part.title, f"<ul>{items}</ul>"


def _write_passage(passage: Passage) -> str:
    """Return what was said, or a heading within a page, whose own title is the highest there."""
    heading = _read_heading(passage)
    if heading is None:
        return _write_paragraphs(passage[1], passage[0])
    level = max(heading[0] - 1, CHAPTER_LEVEL)
    return f"<h{level}>{_escape(heading[1])}</h{level}>"


def _write_paragraphs(text: str, speaker: str = "") -> str:
    named = f"<strong>{_escape(_one_line(speaker))}:</strong> " if speaker else ""
    paragraphs = [paragraph for paragraph in text.strip().split("\n\n") if paragraph.strip()]
    written = [_MARKS.sub(_mark, _escape(paragraph.strip())).replace("\n", "<br/>") for paragraph in paragraphs]
    return "".join(f"<p>{named if not number else ''}{one}</p>" for number, one in enumerate(written))


def _mark(match: re.Match[str]) -> str:
    strong, emphasis = match.groups()
    return f"<strong>{strong}</strong>" if strong else f"<em>{emphasis}</em>"


def _escape(text: str) -> str:
    """Return text for a page. XML has no place for control characters, and for two that are none."""
    return escape("".join(one for one in text if (one >= " " and one not in _NOT_IN_XML) or one in "\n\t"), quote=True)


_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="content.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""


def _write_package(book: StoryBook, pages: Sequence[tuple[str, str, str]], ident: str) -> str:
    items = "".join(
        f'<item id="page-{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, (name, _, _) in enumerate(pages, 1)
    )
    spine = "".join(f'<itemref idref="page-{number}"/>' for number in range(1, len(pages) + 1))
    creators = "".join(f"<dc:creator>{_escape(name)}</dc:creator>" for name in book.authors)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:previously:{ident}</dc:identifier>
<dc:title>{_escape(book.title)}</dc:title><dc:language>und</dc:language>{creators}
<meta property="dcterms:modified">1980-01-01T00:00:00Z</meta>
</metadata>
<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>{items}</manifest>
<spine>{spine}</spine>
</package>
"""


def _write_navigation(book: StoryBook, pages: Sequence[tuple[str, str, str]]) -> str:
    links = "".join(f'<li><a href="{name}">{_escape(title)}</a></li>' for name, title, _ in pages)
    return _write_page(book.title, f'<nav epub:type="toc"><ol>{links}</ol></nav>')


_STYLE = "h1 { margin: 2em 0 1em } .recap { margin: 0 1.5em 2em; font-size: 0.9em; font-style: italic }"
"""A recap looks other than what was said, and a chapter begins with some room."""


def _write_page(title: str, body: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">
<head><title>{_escape(title)}</title><style>{_STYLE}</style></head>
<body><h1>{_escape(title)}</h1>{body}</body>
</html>
"""
