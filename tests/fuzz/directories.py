"""The target that is a story's directory: one file of it is anything."""

from __future__ import annotations

from previously.formats.directory_merge import compare_messages, compare_things, merge_back
from previously.formats.story_directory import (
    PATHS,
    RECORD,
    DirectoryContent,
    MessageLine,
    read_files,
    read_record,
    write_files,
    write_new_files,
    write_record,
)
from tests.fuzz.mutations import Sample
from tests.fuzz.target import FuzzInput, Target, check

CONTENT = DirectoryContent(
    {
        "story": {"story": "tale", "branch": "main", "messages": "3", "chapters": "1", "text": "It rained."},
        "recap": {"chapter": "2", "messages": "1-2", "text": "- Rain.\n\nMore: rain."},
        "chapter:1": {"title": "One: rain", "messages": "0-0", "text": "Rain."},
        "lore:grim": {"name": "Grim", "type": "character", "keywords": ("bar", "no"), "content": "A man.\n\n# Old."},
        "cast:wren": {"name": "Wren", "summary": "Knows.", "facts": ("One.", "Two: three.")},
        "thread:8fa1e869a834b9ba": {"text": "A debt", "status": "open", "due": "by Friday", "owner": "Wren"},
        "state:wren / place": {"line": "Wren / place: the mill"},
        "state:it rains.": {"line": "It rains."},
    },
    (
        MessageLine("Who is there?", "user", "Ada", id="0a0a0a0a0a0a"),
        MessageLine("Finn.", "assistant", witnesses=("Ada", "Finn"), at="2024-05-01", hidden=True, id="0b0b0b0b0b0b"),
        MessageLine("Finn.", "assistant", id="0b0b0b0b0b0b-2"),
    ),
)
"""What the story says."""

FILES = write_new_files(CONTENT, "tale", "main")


def list_directories() -> list[Target]:
    """Return the target."""
    samples = [Sample.of(content) for path, content in FILES.items() if PATHS.fullmatch(path) or path == RECORD]
    return [Target("file: story directory", _read_directory, samples)]


def _read_directory(given: FuzzInput) -> None:
    """Read a directory of which one file is anything. What is read can be written and read again; edits that nobody
    applies stay edits."""
    files = {**FILES, _choose_path(given): given.content}
    record, read = read_record(files), read_files(files)
    again = read_files(write_files(read))
    check(_drop_empty(again) == _drop_empty(read), "what was read is another thing once it is written")
    check([line.said for line in again.messages] == [line.said for line in read.messages], "a message is lost")
    edits = compare_things(record, read, CONTENT) + compare_messages(record.messages, read.messages, CONTENT.messages)
    merged, remembered = merge_back(record, read, CONTENT, edits)
    left = {**write_files(merged), **write_record(remembered)}
    check(all(PATHS.fullmatch(path) or path.startswith(".previously/") for path in left), "a file is elsewhere")
    record, read = read_record(left), read_files(left)
    after = compare_things(record, read, CONTENT) + compare_messages(record.messages, read.messages, CONTENT.messages)
    said = [sorted((edit.address.split("-")[0], str(edit.files)) for edit in one) for one in (edits, after)]
    check(said[0] == said[1] or any(edit.files is None for edit in edits), "an edit that was left is another one")


def _drop_empty(content: DirectoryContent) -> dict[str, dict[str, object]]:
    """Return things without their empty fields: one that is missing says the same."""
    return {
        address: {name: value for name, value in fields.items() if value} for address, fields in content.things.items()
    }


def _choose_path(given: FuzzInput) -> str:
    """Return the path of a file that may look like this."""
    starts = {b"---": ("story.md", "recap.md", "chapters/001.md"), b"- ": ("threads.yaml", "state.yaml")}
    starts |= {b'{"': ("messages.jsonl",), b"{": (RECORD,)}
    paths = next((paths for start, paths in starts.items() if given.content.startswith(start)), None)
    return given.chance.choice(paths or ("lore/grim.yaml", "lore/new.yaml", "cast/wren.yaml", "cast/new.yml"))
