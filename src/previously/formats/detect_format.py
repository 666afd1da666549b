"""Detect the format of a file by its content, and read it.

What begins like JSON is JSON, and a fault in it is reported as such: broken JSON is never taken for prose, and neither
is a file that is named like JSON. Text that merely begins with a bracket ("[Scene: a tavern]", "[12:30] …",
"{{char}} …") is text. Files of agents that are not text at all (a database, a packed log, a directory) are known by
how they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import BrokenJson, parse_json, shown
from previously.core.patterns import lazy_pattern
from previously.formats import (
    cards,
    chat_exports,
    claude_code,
    claude_code_stream,
    codex,
    codex_stream,
    errata,
    lore_files,
    novels,
    opencode,
    plain,
    request_files,
    request_stream,
    scene_files,
    sillytavern,
    sweagent,
)
from previously.formats.archives import ZIP, Archive
from previously.formats.files import LONGEST_LINE, Document, StorySource, open_document, read_in_place, read_value
from previously.formats.log_lines import complete_source
from previously.formats.png_texts import PNG_LINE
from previously.formats.story_directory import RECORD

FileReader = Callable[[Document], StorySource]


def _refuse_packed(document: Document) -> StorySource:
    raise document.fault(BadInput("this is no ZIP file, as Word and EPUB files are."))


def _refuse_file(document: Document) -> StorySource:
    raise document.fault(BadInput("a story of Errata is a folder with a meta.json, not a file."))


_REQUESTS = (request_files.OPENAI, request_files.ANTHROPIC, request_files.RESPONSES)

FORMATS: Mapping[str, FileReader] = {
    request_files.JSONL: request_files.read_jsonl,
    **{one.name: one.read for one in _REQUESTS},
    claude_code.NAME: claude_code.read,
    codex.NAME: codex.read,
    opencode.NAME: opencode.read,
    sweagent.NAME: sweagent.read,
    plain.NAME: plain.read,
    sillytavern.NAME: sillytavern.read,
    cards.NAME: cards.read,
    lore_files.NAME: lore_files.read,
    chat_exports.CHATGPT: chat_exports.read,
    chat_exports.CLAUDE: chat_exports.read,
    novels.MARKDOWN: novels.read_markdown,
    novels.DOCX: _refuse_packed,
    novels.EPUB: _refuse_packed,
    errata.NAME: _refuse_file,
    scene_files.NAME: scene_files.read,
}

SUFFIXES = frozenset(".json .jsonl .ndjson .txt .md .markdown .traj .png .charx .zip .docx .epub".split())
"""Endings of files that are looked for in a directory."""

_STORIES = frozenset([
    request_files.JSONL, plain.NAME, sillytavern.NAME, cards.NAME, lore_files.NAME, novels.MARKDOWN, novels.DOCX,
    novels.EPUB, errata.NAME, scene_files.NAME,
])  # fmt: skip
"""Formats of stories, which are taken as they are; in all others a call without a result gets one."""

_LIKE_JSON = lazy_pattern(r"""\s*(?:\{\s*(?:["'}]|$)|\[\s*(?:[{"]|\]\s*$|$))""")


def is_story_directory(path: Path) -> bool:
    """Return whether a directory is one thing that is read whole, not a place with files in it."""
    return is_exported(path) or errata.is_story(path) or opencode.find_storage_in(path) is not None


def is_exported(path: Path) -> bool:
    """Return whether `export --to directory` wrote a directory; what git has of it lacks the record."""
    own = (path / name for name in ("story.md", "recap.md", "messages.jsonl"))
    return (path / RECORD).is_file() or all(file.is_file() for file in own)


def read_story(path: Path, format: str | None = None, *, user: str | None = None) -> StorySource:
    """Return the messages of a file, in the format named or else the one its content shows.

    `user` is the user's name: whose lines in a plain text are the user's, and what `{{user}}` means in a card. The
    other formats say so themselves.
    """
    if format is not None and format not in FORMATS:
        raise BadInput(f'There is no format named "{shown(format, 40)}"; use one of {", ".join(FORMATS)}.')
    source = _read_path(path, format, user)
    if not source.drafts and not source.others and not source.books and not source.memories and not source.opening:
        raise BadInput(_NO_MESSAGES.format(shown(str(path))))
    return source if source.format in _STORIES else complete_source(source)


_NO_MESSAGES = "{}: there are no messages in the file."

LARGE = 8_000_000
"""Bytes from which on a file of lines is not held in memory: parsed it takes about six times as much."""

PACKED = 20
"""Bytes of text that one byte of an archive stands for, at most: a large file may be packed into a small one."""

_STREAMS: Mapping[FileReader, Callable[[Document, Path], StorySource | None]] = {
    request_files.read_jsonl: request_files.stream_jsonl,
    sillytavern.read: sillytavern.stream,
    plain.read: plain.stream,
    claude_code.read: claude_code_stream.stream,
    codex.read: codex_stream.stream,
}


def open_story(path: Path, format: str | None = None, *, user: str | None = None) -> StorySource:
    """Return what `read_story` does; of a large file, where that can be, with its messages in `stream` or its
    conversations in `stories`, to be read as they are asked for."""
    if _is_large(path) and (format is None or format in FORMATS):
        source = _stream_lines(path, format, user) or _stream_export(path, format) or _stream_request(path, format)
        if source is not None:
            if source.stream and next(iter(source.stream), None) is None:
                raise BadInput(_NO_MESSAGES.format(shown(str(path))))
            return source if source.format in _STORIES else complete_source(source)
    return read_story(path, format, user=user)


def _is_large(path: Path) -> bool:
    if not path.is_file():
        return False
    size = path.stat().st_size
    if LARGE // PACKED <= size < LARGE:
        with open_document(path) as document:
            return document.begins(ZIP)
    return size >= LARGE


def _stream_lines(path: Path, format: str | None, user: str | None) -> StorySource | None:
    """Return a file that is read line by line: it is text, and its first line is no document of its own."""
    with open_document(path, user) as document:
        is_packed = any(map(document.begins, (opencode.MAGIC, codex.PACKED, ZIP, PNG_LINE)))
        if is_packed or len(document.opening) >= LONGEST_LINE:
            return None
        reader = FORMATS[format] if format else _choose_reader(document, path.suffix.lower())
        return _STREAMS[reader](document, path) if reader in _STREAMS else None


def _stream_export(path: Path, format: str | None) -> StorySource | None:
    if format not in (None, chat_exports.CHATGPT, chat_exports.CLAUDE):
        return None
    with open_document(path) as document:
        return chat_exports.stream(document, path) if document.begins(ZIP) or _begins_json(document) else None


def _stream_request(path: Path, format: str | None) -> StorySource | None:
    named = next((one for one in _REQUESTS if one.name == format), None)
    if format is not None and named is None:
        return None

    def choose(value: object) -> request_files.RequestFormat | None:
        reader = _find_value_reader(value)
        if named or reader is None:
            lacks = named is None and isinstance(value, dict) and "messages" not in value
            return None if lacks else named or request_files.OPENAI
        return next((one for one in _REQUESTS if one.read_parsed == reader), None)

    with open_document(path) as document:
        return request_stream.stream(document, path, choose) if _begins_json(document) else None


def _begins_json(document: Document) -> bool:
    """Return whether a file begins like a JSON document."""
    return bool(_LIKE_JSON.match(document.opening[:_LOOKED_AT].decode(errors="replace")))


_LOOKED_AT = 1_000
"""Bytes that tell how a file begins: more than a program writes before its first value."""


def _read_path(path: Path, format: str | None, user: str | None) -> StorySource:
    is_directory = path.is_dir()
    if format is None and is_directory and is_exported(path):
        raise BadInput(
            f"{shown(str(path))}: this directory is an export to be edited, and not a whole story: `previously apply` "
            "brings its edits into the story, `export --to jsonl` writes a story that `import` takes, and the "
            "messages.jsonl in it can be imported alone."
        )
    if format in (None, errata.NAME) and is_directory and errata.is_story(path):
        return errata.read_folder(path)
    if format in (None, opencode.NAME) and is_directory:
        return opencode.read_directory(path)
    with open_document(path, user) as document:
        if format in (None, opencode.NAME) and document.begins(opencode.MAGIC):
            return opencode.read_database(path)
        if format in (None, codex.NAME) and document.begins(codex.PACKED):
            return codex.read(codex.unpack(path))
        if document.begins(ZIP):
            return _read_archive(document, path)
        if format is not None:
            return FORMATS[format](document)
        return _choose_reader(document, path.suffix.lower())(document)


def _read_archive(document: Document, path: Path) -> StorySource:
    """Read a ZIP file by what lies in it."""
    try:
        archive = Archive(path)
    except BadInput as error:
        raise document.fault(error) from None
    if cards.CARD_FILE in archive:
        return cards.read_archive(document, archive)
    if novels.DOCUMENT in archive:
        return novels.read_docx(document, archive)
    if novels.CONTAINER in archive:
        return novels.read_epub(document, archive)
    if chat_exports.list_files(archive):
        return chat_exports.read_archive(document, archive)
    raise document.fault(BadInput("this ZIP file holds neither a book, nor a character card, nor exported chats."))


_NAMED: Mapping[str, FileReader] = {
    ".json": request_files.OPENAI.read,
    ".jsonl": request_files.read_jsonl,
    ".ndjson": request_files.read_jsonl,
    ".traj": sweagent.read,
    ".md": novels.read_markdown,
    ".markdown": novels.read_markdown,
}
"""A file that is named like JSON is never taken for plain text: its reader says what is wrong with it. One that is
named like Markdown has headings."""


def _choose_reader(document: Document, suffix: str) -> FileReader:
    if document.begins(PNG_LINE):
        return cards.read
    line = document.first
    if not _LIKE_JSON.match(line):
        return _NAMED.get(suffix, plain.read)
    if line.lstrip().startswith("["):
        return partial(read_value, read=_read_parsed)
    try:
        item = parse_json(line, "line")
    except BrokenJson as error:
        return partial(_read_whole, first=error)
    except BadInput as error:
        raise document.fault(error, document.first_number) from None
    return _choose_by_fields(document, item)


def _choose_by_fields(document: Document, item: dict[str, Any]) -> FileReader:
    if "role" in item:
        return request_files.read_jsonl
    if "mes" in item or "chat_metadata" in item:
        return sillytavern.read
    if claude_code.is_transcript_line(item):
        return claude_code.read
    if codex.is_rollout_line(item):
        return codex.read
    if "messages" in item or _find_value_reader(item):
        return partial(read_value, read=_read_parsed)
    if sillytavern.is_header(item):
        return sillytavern.read
    raise document.fault(
        BadInput('the format is not known, since the object has neither "role" nor "mes" nor "messages".'),
        document.first_number,
    )


def _read_whole(document: Document, first: BrokenJson) -> StorySource:
    """Read a file whose first line is no JSON by itself: an object over several lines, or a broken line."""
    text = document.text()
    try:
        value = parse_json(text, "file")
    except BrokenJson as error:
        lines = text.splitlines()[document.first_number :]
        following = next((line for line in lines if line.strip()), "")
        if following.startswith('{"') or not following:
            raise document.fault(first, document.first_number) from None
        raise document.fault(error, error.line) from None
    except BadInput as error:
        raise document.fault(error) from None
    if isinstance(value, dict) and "messages" not in value and not _find_value_reader(value):
        raise document.fault(BadInput('"messages" is missing from the object that the file holds.'))
    return read_in_place(document, value, _read_parsed)


def _find_value_reader(value: object) -> Callable[[Document, Any], StorySource] | None:
    """Return what reads a value that is of no other format than its own; None = a list of messages as OpenAI has
    them."""
    if opencode.is_session(value):
        return opencode.parse_session
    if sweagent.is_trajectory(value):
        return sweagent.parse_trajectory
    if cards.is_card(value):
        return cards.parse_card
    if chat_exports.is_export(value):
        return chat_exports.parse_export
    if scene_files.is_scene_memory(value):
        return scene_files.parse_file
    if lore_files.is_book(value):
        return lore_files.parse_file
    if request_files.is_anthropic(value):
        return request_files.ANTHROPIC.read_parsed
    return request_files.RESPONSES.read_parsed if request_files.is_responses(value) else None


def _read_parsed(document: Document, value: Any) -> StorySource:
    return (_find_value_reader(value) or request_files.OPENAI.read_parsed)(document, value)
