"""Novels as Markdown, Word and EPUB: paragraphs, and headings that begin chapters."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from previously.blocking import BlockingMemory
from previously.core.errors import BadInput
from previously.formats import read_story
from previously.formats.novels import Block, split_markdown
from previously.formats.story_book import BookChapter, StoryBook, write_epub

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = (
    f'<w:styles {W}><w:style w:styleId="Ttl"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Mine"><w:name w:val="My chapter"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
    "</w:styles>"
)


def paragraph(text: str, style: str = "") -> str:
    own = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{own}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def pack(**files: str | bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return target.getvalue()


def pack_word(body: str, styles: str = STYLES) -> bytes:
    return pack(word__document_xml=f"<w:document {W}><w:body>{body}</w:body></w:document>", word__styles_xml=styles)


def read_texts(folder: Path, content: bytes, name: str) -> list[str]:
    (folder / name).write_bytes(content)
    return [draft.message.text for draft in read_story(folder / name).drafts]


def test_a_word_file_by_its_headings(tmp_path: Path) -> None:
    body = (
        paragraph("The Mill", "Ttl") + paragraph("Dawn", "Mine") + paragraph("Rain &amp; wind.") + paragraph(" ")
        + '<w:p><w:r><w:t>One</w:t><w:br/><w:t>two</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>'
        + paragraph("Noon", "berschrift1") + "<w:tbl><w:tr><w:tc>" + paragraph("In a cell.") + "</w:tc></w:tr></w:tbl>"
    )  # fmt: skip
    assert read_texts(tmp_path, pack_word(body), "mill.docx") == [
        "# The Mill", "## Dawn", "Rain & wind.", "One\ntwo", "# Noon", "In a cell.",
    ]  # fmt: skip


def test_chapters_of_a_word_file_close_at_headings(tmp_path: Path) -> None:
    body = "".join(
        paragraph(f"Chapter {number}", "Mine") + "".join(paragraph(f"Line {at} of {number}.") for at in range(20))
        for number in (1, 2, 3)
    )
    (tmp_path / "mill.docx").write_bytes(pack_word(body))
    with BlockingMemory(":memory:") as memory:
        story = memory.story("mill")
        story.take_in(read_story(tmp_path / "mill.docx"))
        story.fold()
        chapters = [(chapter.title, chapter.span.first, chapter.span.last) for chapter in story.chapters()]
    assert chapters == [("Chapter 1", 0, 20), ("Chapter 2", 21, 41)]


def test_an_epub_file_in_the_order_of_its_spine(tmp_path: Path) -> None:
    chapters = (
        BookChapter("Dawn", "", (("", "Rain &\nwind."), ("Ada", "Who?"))),
        BookChapter("Noon", "", (("", "Sun."),)),
    )
    texts = read_texts(tmp_path, write_epub(StoryBook("The Mill", chapters)), "mill.epub")
    assert texts == ["# Dawn", "Rain &\nwind.", "Ada: Who?", "# Noon", "Sun."]


PAGE = "<html><head><title>no</title></head><body><script>no()</script>{}</body></html>"


def test_pages_without_headings_are_called_as_the_contents_say(tmp_path: Path) -> None:
    package = (
        "<package><manifest><item id='b' href='b%20c.xhtml'/><item id='a' href='../a.xhtml'/>"
        "<item id='n' href='toc.ncx' media-type='application/x-dtbncx+xml'/></manifest>"
        "<spine><itemref idref='a'/><itemref idref='b'/><itemref idref='gone'/></spine></package>"
    )
    contents = (
        "<ncx><navMap><navPoint><navLabel><text>First</text></navLabel><content src='../a.xhtml#x'/></navPoint>"
        "<navPoint><navLabel><text>Second</text></navLabel><content src='b%20c.xhtml'/></navPoint></navMap></ncx>"
    )
    content = pack(**{
        "META-INF/container_xml": "<container><rootfile full-path='O/p.opf'/></container>",
        "O/p.opf": package,
        "O/toc.ncx": contents,
        "a.xhtml": PAGE.format("<p>One&nbsp;&mdash; <i>two</i><br/>three</p><hr/><div>Four<p>five</p></div>"),
        "O/b c.xhtml": PAGE.format("<p>Six <rt>no</rt></p>"),
    })  # fmt: skip
    assert read_texts(tmp_path, content, "b.epub") == [
        "# First", "One\N{NO-BREAK SPACE}— two\nthree", "***", "Four", "five", "# Second", "Six",
    ]  # fmt: skip


def test_markdown_by_its_headings() -> None:
    text = "---\ntitle: T\n---\nBook\n====\n\n## One ##\nRain.\nWind.\n\n```\n# no heading\n\nx\n```\n\nTwo\n---\nSun."
    assert [(block.text, block.level) for block in split_markdown(text)] == [
        ("Book", 1), ("One", 2), ("Rain.\nWind.", 0), ("```\n# no heading\n\nx\n```", 0), ("Two", 2), ("Sun.", 0),
    ]  # fmt: skip
    assert list(split_markdown("a\n\n---\n\nb"))[1] == Block("---", 0, 3)


def test_a_script_in_markdown_keeps_its_speakers(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Scene\n\nMaya: Late.\n\nYou: I know.\n")
    speakers = [draft.message.speaker for draft in read_story(tmp_path / "a.md").drafts]
    assert speakers == [None, "Maya", "You"]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
LISTED = "<container><rootfile full-path='p.opf'/></container>"
BROKEN = {
    "entities.docx": (pack(word__document_xml=f"{BOMB}<x>&b;</x>"), "declares entities"),
    "zip.docx": (pack(word__document_xml=b"<x>" + b" " * 50_000_000), "too large when it is unpacked"),
    "deep.docx": (pack(word__document_xml="<a>" * 5_000), "nested more than 200 levels"),
    "xml.docx": (pack(word__document_xml="<a>"), "not valid XML"),
    "empty.docx": (pack_word(paragraph(" ")), "no messages"),
    "nothing.epub": (pack(**{"META-INF/container_xml": LISTED}), "where its contents are listed"),
    "pages.epub": (pack(**{"META-INF/container_xml": LISTED, "p.opf": "<package/>"}), "lists no pages"),
    "other.zip": (pack(**{"../../etc/passwd": "x"}), "holds neither a book"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_book_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    content, reason = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=reason) as refusal:
        read_story(tmp_path / name)
    assert name in str(refusal.value)
