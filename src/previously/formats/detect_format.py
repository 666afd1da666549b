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
from previously.formats import claude_code, codex, opencode, plain, request_files, sillytavern, sweagent
from previously.formats.files import Document, StorySource, open_document, read_value
from previously.formats.log_lines import complete_source

FileReader = Callable[[Document], StorySource]

FORMATS: Mapping[str, FileReader] = {
    request_files.JSONL: request_files.read_jsonl,
    request_files.OPENAI: request_files.read_openai,
    request_files.ANTHROPIC: request_files.read_anthropic,
    request_files.RESPONSES: request_files.read_responses,
    claude_code.NAME: claude_code.read,
    codex.NAME: codex.read,
    opencode.NAME: opencode.read,
    sweagent.NAME: sweagent.read,
    plain.NAME: plain.read,
    sillytavern.NAME: sillytavern.read,
}

_STORIES = frozenset([request_files.JSONL, plain.NAME, sillytavern.NAME])
"""Formats of stories, which are taken as they are; in all others a call without a result gets one."""

_LIKE_JSON = lazy_pattern(r"""\s*(?:\{\s*(?:["'}]|$)|\[\s*(?:[{"]|\]\s*$|$))""")


def read_story(path: Path, format: str | None = None, *, user: str | None = None) -> StorySource:
    """Return the messages of a file, in the format named or else the one its content shows.

    `user` names the person whose lines in a plain text are the user's; the other formats say so themselves.
    """
    if format is not None and format not in FORMATS:
        raise BadInput(f'There is no format named "{shown(format, 40)}"; use one of {", ".join(FORMATS)}.')
    source = _read_path(path, format, user)
    if not source.drafts and not source.others:
        raise BadInput(f"{shown(str(path))}: there are no messages in the file.")
    return source if source.format in _STORIES else complete_source(source)


def _read_path(path: Path, format: str | None, user: str | None) -> StorySource:
    if format in (None, opencode.NAME) and path.is_dir():
        return opencode.read_directory(path)
    with open_document(path) as document:
        if format in (None, opencode.NAME) and document.begins(opencode.MAGIC):
            return opencode.read_database(path)
        if format in (None, codex.NAME) and document.begins(codex.PACKED):
            return codex.read(codex.unpack(path))
        reader = _choose_reader(document, path.suffix.lower()) if format is None else FORMATS[format]
        if reader is plain.read:
            reader = partial(plain.read, user=user)
        return reader(document)


_NAMED_JSON: Mapping[str, FileReader] = {
    ".json": request_files.read_openai,
    ".jsonl": request_files.read_jsonl,
    ".ndjson": request_files.read_jsonl,
    ".traj": sweagent.read,
}
"""A file that is named like JSON is never taken for plain text: its reader says what is wrong with it."""


def _choose_reader(document: Document, suffix: str) -> FileReader:
    line = document.first
    if not _LIKE_JSON.match(line):
        return _NAMED_JSON.get(suffix, plain.read)
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
    return _read_parsed(document, value)


def _find_value_reader(value: object) -> Callable[[Document, Any], StorySource] | None:
    """Return what reads a value that is of no other format than its own; None = a list of messages as OpenAI has
    them."""
    if opencode.is_session(value):
        return opencode.parse_session
    if sweagent.is_trajectory(value):
        return sweagent.parse_trajectory
    if request_files.is_anthropic(value):
        return request_files.read_anthropic_value
    return request_files.read_responses_value if request_files.is_responses(value) else None


def _read_parsed(document: Document, value: Any) -> StorySource:
    return (_find_value_reader(value) or request_files.read_openai_value)(document, value)
