"""A story as a book for people: chapters with their recaps, and an appendix of what is known. Markdown and EPUB."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from html import escape

from previously.core.patterns import lazy_pattern

_MARKS = lazy_pattern(r"\*\*(?=\S)((?:[^*\n]|\*(?!\*))+)(?<=\S)\*\*|\*(?=\S)([^*\n]+)(?<=\S)\*")
"""Words between stars. Each looks no further than to the next stars: those that are never closed cost little."""

_OWN_TITLE = lazy_pattern(r"\s*#[ \t]+(\S.*)")
"""A heading of the highest level, at the beginning of a text."""

_NOT_IN_XML = "\ufffe\uffff"

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP file can hold: the same story gives the same bytes."""


@dataclass(frozen=True, slots=True)
class BookChapter:
    """One chapter: a recap, if there is one, and what was said, each with its speaker or none."""

    title: str
    recap: str
    passages: tuple[tuple[str, str], ...]


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
    return "\n\n".join(_list_blocks(book)) + "\n"


def _list_blocks(book: StoryBook) -> Iterator[str]:
    """Yield the blocks of the text. A novel that begins with its own title is called so, once."""
    first = book.chapters[0] if book.chapters else None
    if first and first.passages and (own := _OWN_TITLE.match(first.passages[0][1])) and not first.passages[0][0]:
        rest = first.passages[0][1][own.end() :].strip()
        passages = ((("", rest),) if rest else ()) + first.passages[1:]
        book = replace(book, title=own[1], chapters=(replace(first, passages=passages), *book.chapters[1:]))
    yield f"# {_one_line(book.title)}"
    for chapter in book.chapters:
        if chapter.title:
            yield f"## {_one_line(chapter.title)}"
        if chapter.recap:
            yield "\n".join(f"> {line}".rstrip() for line in chapter.recap.splitlines())
        for speaker, text in chapter.passages:
            yield f"**{_one_line(speaker)}:** {text.strip()}" if speaker else text.strip()
    for part in book.appendix:
        yield f"## {part.title}"
        yield "\n".join(
            f"- **{_one_line(name)}**: {_one_line(text)}" if text else f"- {_one_line(name)}"
            for name, text in part.items
        )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def write_epub(book: StoryBook) -> bytes:
    """Return the book as an EPUB 3 file, a page for each chapter."""
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
        recap = f'<blockquote class="recap">{_write_paragraphs(chapter.recap)}</blockquote>' if chapter.recap else ""
        passages = "".join(_write_paragraphs(text, speaker) for speaker, text in chapter.passages)
        yield f"chapter-{number}.xhtml", chapter.title or book.title, recap + passages
    for number, part in enumerate(book.appendix, 1):
        items = "".join(
            f"<li><strong>{_escape(name)}</strong>: {_escape(text)}</li>" if text else f"<li>{_escape(name)}</li>"
            for name, text in part.items
        )
        yield f"appendix-{number}.xhtml", part.title, f"<ul>{items}</ul>"


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


def _write_page(title: str, body: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">
<head><title>{_escape(title)}</title></head>
<body><h1>{_escape(title)}</h1>{body}</body>
</html>
"""
