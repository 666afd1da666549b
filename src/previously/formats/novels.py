"""Novels: Markdown, Word and EPUB, paragraph by paragraph. A heading is a message of its own, and begins a chapter.

Every paragraph is one message of an unnamed teller, as in plain prose. A heading is written as Markdown writes it, with
as many marks as its level has; so `folds.boundary` finds the chapters, whatever file they came from. Levels are counted
from the highest one that the file has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from previously.core.errors import BadInput
from previously.core.messages import Attributes, Draft, Message, Role, Text, clean_draft
from previously.core.patterns import lazy_pattern
from previously.formats.archives import Archive, local_name, walk_xml
from previously.formats.files import Document, StorySource
from previously.formats.plain import find_front_end, is_script, read_text, split_lines

MARKDOWN, DOCX, EPUB = "markdown", "docx", "epub"

DOCUMENT = "word/document.xml"
"""The text of a Word file."""

CONTAINER = "META-INF/container.xml"
"""The file that says where the contents of an EPUB file are listed."""

DEEPEST_HEADING = 6
"""Levels of headings that Markdown and HTML have."""

_MANY_SPACES = lazy_pattern(r"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or a heading of a level from 1."""

    text: str
    level: int = 0
    line: int | None = None
    """The line of the file at which it begins."""


def make_source(document: Document, name: str, blocks: Iterable[Block]) -> StorySource:
    """Return paragraphs and headings as a story."""
    listed = [block for block in blocks if block.text.strip()]
    highest = min((block.level for block in listed if block.level), default=1)
    drafts: list[Draft] = []
    replaced = 0
    for block in listed:
        text = block.text.strip()
        if block.level:
            text = f"{'#' * min(block.level - highest + 1, DEEPEST_HEADING)} {' '.join(text.split())}"
        try:
            draft, count = clean_draft(Draft(Message(Role.ASSISTANT, (Text(text),)), Attributes()))
        except BadInput as error:
            raise document.fault(error, block.line) from None
        drafts.append(draft)
        replaced += count
    return StorySource(drafts, name, {}, replaced)


# Markdown

_ATX = lazy_pattern(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = lazy_pattern(r" {0,3}(=+|-+)[ \t]*")
_FENCE = lazy_pattern(r" {0,3}(```+|~~~+)[^`]*")


def read_markdown(document: Document) -> StorySource:
    """Read a Markdown file: as a script if it has speakers, else as a novel."""
    text = document.text()
    if is_script(text, document.user):
        return read_text(document, text, MARKDOWN)
    return make_source(document, MARKDOWN, split_markdown(text))


def split_markdown(text: str) -> Iterable[Block]:
    """Yield the headings and paragraphs of a text. What stands in a fence is one paragraph and has no headings."""
    lines = split_lines(text)
    start, paragraph, fence = 0, list[str](), ""
    front = find_front_end(lines)
    for number, line in enumerate([*lines[front:], ""], front + 1):
        if fence:
            paragraph.append(line)
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        heading, underline = _ATX.match(line), _UNDERLINE.fullmatch(line)
        if heading or not line.strip() or (underline and len(paragraph) == 1):
            if underline and len(paragraph) == 1 and not heading:
                yield Block(paragraph[0], 1 if "=" in line else 2, start)
                paragraph = []
                continue
            if paragraph:
                yield Block("\n".join(part.rstrip() for part in paragraph), 0, start)
                paragraph = []
            if heading:
                yield Block(_strip_marks(line[heading.end() :]), len(heading[1]), number)
            continue
        if not paragraph:
            start = number
        if opened := _FENCE.fullmatch(line):
            fence = opened[1]
        paragraph.append(line)
    if paragraph:
        yield Block("\n".join(part.rstrip() for part in paragraph), 0, start)


def _strip_marks(text: str) -> str:
    """Return the words of a heading, without the marks that close it and those that make it bold."""
    words = text.strip()
    bare = words.rstrip("#")
    return (bare if not bare or bare[-1].isspace() else words).strip("* _\t")


# Word

_OUTLINE = lazy_pattern(r"(?:heading|überschrift|titre|título|titolo|заголовок)\s*([1-9])", re.I)
_STYLE_ID = lazy_pattern(r"(?:heading|berschrift|titre|ttulo|titolo)\s*([1-9])", re.I)


class _WordReader:
    """Listens to the document of a Word file and keeps its paragraphs."""

    def __init__(self, levels: dict[str, int]) -> None:
        self.blocks: list[Block] = []
        self._levels = levels
        self._text: list[str] = []
        self._level = 0
        self._inside = 0
        """The number of paragraphs around: one in a box stands in another."""
        self._reads = False
        self._removed = 0

    def start(self, tag: str, attributes: dict[str, str], /) -> None:
        name = local_name(tag)
        if name == "p":
            if self._inside == 0:
                self._text, self._level = [], 0
            elif self._text:
                self._text.append("\n")
            self._inside += 1
        elif name in ("del", "moveFrom"):
            self._removed += 1
        elif self._inside and name == "pStyle":
            style = _find_attribute(attributes, "val")
            self._level = self._level or self._levels.get(style) or _find_level(style, _STYLE_ID)
        elif self._inside and name == "outlineLvl":
            value = _find_attribute(attributes, "val")
            if value in tuple("012345678"):
                self._level = int(value) + 1
        elif self._inside and name in ("tab", "br", "cr"):
            self._text.append("\t" if name == "tab" else "\n")
        self._reads = name == "t" and self._inside > 0 and not self._removed

    def end(self, tag: str, /) -> None:
        name = local_name(tag)
        self._reads = False
        if name in ("del", "moveFrom"):
            self._removed -= 1
        elif name == "p":
            self._inside -= 1
            if self._inside == 0:
                self.blocks.append(Block("".join(self._text), self._level))

    def data(self, text: str, /) -> None:
        if self._reads:
            self._text.append(text)


def read_docx(document: Document, archive: Archive) -> StorySource:
    """Read a Word file: its paragraphs, and those in a heading style as headings. What was deleted with changes
    tracked is left out."""
    try:
        levels = _read_styles(archive.read_xml("word/styles.xml")) if "word/styles.xml" in archive else {}
        reader = _WordReader(levels)
        walk_xml(archive.read(DOCUMENT), DOCUMENT, reader)
    except BadInput as error:
        raise document.fault(error) from None
    return make_source(document, DOCX, reader.blocks)


def _read_styles(styles: Element) -> dict[str, int]:
    """Return the styles that are headings, with their level; a title stands above all of them."""
    levels: dict[str, int] = {}
    for style in styles:
        if local_name(style.tag) != "style":
            continue
        ident = _find_attribute(style.attrib, "styleId")
        level = 0
        for part in style.iter():
            name, value = local_name(part.tag), _find_attribute(part.attrib, "val")
            if name == "name":
                level = level or (1 if value.casefold() == "title" else _find_level(value, _OUTLINE))
            elif name == "outlineLvl" and value in tuple("012345678"):
                level = int(value) + 1
        if ident and level:
            levels[ident] = level
    return levels


def _find_level(name: str, pattern: re.Pattern[str]) -> int:
    match = pattern.fullmatch(name)
    return int(match[1]) if match else 0


def _find_attribute(attributes: dict[str, str], name: str) -> str:
    return next((value for key, value in attributes.items() if local_name(key) == name), "")


# EPUB

_BLOCKS = frozenset(
    """p div section article li blockquote td th dd dt figcaption pre body tr table ul ol dl hr header footer
    main""".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, DEEPEST_HEADING + 1)}
_SILENT = frozenset("head style script nav aside title svg math rt rp".split())
_TOKEN = lazy_pattern(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(?P<raw>.*?)(?:\]\]>|\Z)|<[!?][^<>]*>"
    r"|<(?P<ends>/?)(?P<tag>[A-Za-z][A-Za-z0-9]{0,20})(?![A-Za-z0-9])[^<>]*>",
    re.S,
)
"""Marks that are no text in a page. Each looks no further than to its end or to the next bracket, so a broken page
costs no more than a sound one."""


class _PageReader:
    """Reads a page of an EPUB file as paragraphs and headings, forgivingly: many are no valid XML."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._level = 0
        self._silent = 0
        """The number of elements around that hold no text of the book."""

    def read(self, page: str) -> list[Block]:
        at = 0
        for token in _TOKEN.finditer(page):
            self._say(unescape(page[at : token.start()]))
            at = token.end()
            if token["raw"]:
                self._say(token["raw"])
            elif token["tag"]:
                self._enter(token["tag"].lower(), ends=bool(token["ends"]), empty=token[0].endswith("/>"))
        self._say(unescape(page[at:]))
        self._finish()
        return self.blocks

    def _enter(self, tag: str, *, ends: bool, empty: bool) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1) if ends else self._silent + (not empty)
        elif tag == "br":
            self._text.append("\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._finish()
            self._level = 0 if ends or empty else _HEADINGS.get(tag, 0)
            if tag == "hr" and not ends:
                self.blocks.append(Block("***"))

    def _say(self, text: str) -> None:
        if text and not self._silent:
            self._text.append(_MANY_SPACES.sub(" ", text))

    def _finish(self) -> None:
        lines = (line.strip() for line in "".join(self._text).split("\n"))
        text = "\n".join(line for line in lines if line)
        if text:
            self.blocks.append(Block(text, self._level))
        self._text, self._level = [], 0


def read_epub(document: Document, archive: Archive) -> StorySource:
    """Read an EPUB file: its pages in their order. A page without a heading is called as the table of contents has
    it."""
    try:
        pages, titles = _list_pages(archive)
        blocks: list[Block] = []
        for page in pages:
            own = _PageReader().read(archive.read_text(page))
            title = titles.get(page, "")
            if title and own and not any(block.level for block in own):
                own = [Block(title, 1), *own]
            blocks += own
    except BadInput as error:
        raise document.fault(error) from None
    return make_source(document, EPUB, blocks)


def _list_pages(archive: Archive) -> tuple[list[str], dict[str, str]]:
    """Return the pages of a book in the order of its spine, and their titles by the table of contents."""
    container = archive.read_xml(CONTAINER)
    package = next((_find_attribute(one.attrib, "full-path") for one in _find_all(container, "rootfile")), "")
    if package not in archive:
        raise BadInput("the archive does not say where its contents are listed.")
    listing, folder = archive.read_xml(package), dirname(package)
    items = {one.attrib.get("id", ""): one.attrib for one in _find_all(listing, "item")}
    order = [one.attrib.get("idref", "") for one in _find_all(listing, "itemref") if one.attrib.get("linear") != "no"]
    pages = [_resolve(folder, items[ident].get("href", "")) for ident in order if ident in items]
    pages = [page for page in dict.fromkeys(pages) if page in archive and page not in _list_navigation(items, folder)]
    if not pages:
        raise BadInput("the archive lists no pages.")
    contents = next(
        (one for one in items.values() if one.get("media-type") == "application/x-dtbncx+xml"),
        next((one for one in items.values() if "nav" in one.get("properties", "").split()), None),
    )
    return pages, _read_contents(archive, _resolve(folder, contents.get("href", ""))) if contents else {}


def _list_navigation(items: dict[str, dict[str, str]], folder: str) -> set[str]:
    return {
        _resolve(folder, one.get("href", "")) for one in items.values() if "nav" in one.get("properties", "").split()
    }


def _read_contents(archive: Archive, name: str) -> dict[str, str]:
    """Return the titles of pages, of the older table of contents (NCX) or the newer one; none if it is damaged."""
    if name not in archive:
        return {}
    try:
        tree = archive.read_xml(name)
    except BadInput:
        return {}
    titles: dict[str, str] = {}
    for point in _find_all(tree, "navPoint"):
        link = next((one.attrib.get("src", "") for one in _find_all(point, "content")), "")
        words = next(("".join(one.itertext()) for one in _find_all(point, "text")), "")
        titles.setdefault(_resolve(dirname(name), link), " ".join(words.split()))
    for anchor in _find_all(tree, "a"):
        words = " ".join("".join(anchor.itertext()).split())
        titles.setdefault(_resolve(dirname(name), anchor.attrib.get("href", "")), words)
    return titles


def _find_all(tree: Element, name: str) -> Iterable[Element]:
    return (element for element in tree.iter() if local_name(element.tag) == name)


def _resolve(folder: str, link: str) -> str:
    """Return the name in the archive that a link leads to. One that leads out of it names no file there."""
    return normpath(join(folder, unquote(link.partition("#")[0])))
