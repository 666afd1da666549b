"""Files as they come: opened, decoded and parsed, with one clear sentence for whatever is wrong.

Every fault is a `BadInput` that names the file as it was given and, where there is one, the line. A sentence raised
without a place (by a parser here, or by `core`) is given its place by `Document.fault`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from previously.core.errors import BadInput
from previously.core.json_values import TOO_DEEP, BrokenJson, parse_json, shown
from previously.core.messages import Draft
from previously.core.scene import SpanMemory

MOST_WHOLE = 500_000_000
"""Bytes of a file that is read as a whole: it takes six times as much memory, and no export that is met has more."""


LINES_MARKED = 64
"""Lines of a log from one mark to the next: few to read again from a mark, and a mark takes eight bytes."""

LONGEST_LINE = 4_000_000
"""Bytes of a first line behind which others come; a longer one is taken for a file without lines."""


@dataclass(frozen=True, slots=True)
class SourceBranch:
    """A path beside the main one: what was said and then taken back."""

    name: str
    at: int
    """Number of messages it shares with the main path."""
    drafts: list[Draft]
    """Those that follow."""


@dataclass(frozen=True, slots=True)
class SideStory:
    """Another conversation that was found with the main one: a sub-agent's, say."""

    name: str
    source: StorySource


@dataclass(frozen=True, slots=True)
class SourceBook:
    """A book of lore that was found with a story, or alone."""

    name: str
    """Its own name; empty for the book of one character, which is called as the story."""
    given: Mapping[str, Any] | list[Any]
    """The parsed file, in a form that `lore.books` reads."""


class StoryStream:
    """The conversations of a file that holds many, read as they are asked for, each time from the first."""

    def __init__(self, path: Path, read: Callable[[Document], Iterator[SideStory]]) -> None:
        self._path, self._read = path, read

    def __iter__(self) -> Iterator[SideStory]:
        with open_document(self._path) as document:
            yield from self._read(document)


class DraftStream:
    """The messages of a file, read as they are asked for, each time from its beginning.

    `read` yields a document's drafts, each with how many of its characters had to be replaced; `note` is told each
    draft with its position, and `find_memories` says which memories that other programs made were among them."""

    def __init__(
        self,
        path: Path,
        read: Callable[[Document], Iterator[tuple[Draft, int]]],
        note: Callable[[int, Draft], None] | None = None,
        find_memories: Callable[[], Iterable[SpanMemory]] = tuple,
        branches: tuple[StreamedBranch, ...] = (),
    ) -> None:
        self._path, self._read, self._note, self._find_memories = path, read, note, find_memories
        self.branches: tuple[StreamedBranch, ...] = branches
        self.messages: int = 0
        self.replaced: int = 0

    def __iter__(self) -> Iterator[Draft]:
        self.messages = self.replaced = 0
        with open_document(self._path) as document:
            for draft, replaced in self._read(document):
                if self._note:
                    self._note(self.messages, draft)
                self.messages += 1
                self.replaced += replaced
                yield draft

    @property
    def memories(self) -> tuple[SpanMemory, ...]:
        """Those among the messages that were read last."""
        return tuple(self._find_memories())


@dataclass(frozen=True, slots=True)
class StreamedBranch:
    """A path beside the main one, in a file that is too large to be held."""

    name: str
    find_at: Callable[[], int]
    """Returns the number of messages it shares with the main path, once that has been read."""
    stream: DraftStream
    """Those that follow."""

    def hold(self) -> SourceBranch:
        """Return the same with its messages in memory."""
        return SourceBranch(self.name, self.find_at(), list(self.stream))


@dataclass(frozen=True, slots=True)
class StorySource:
    """The conversation that a file holds, and what stands beside it."""

    drafts: list[Draft]
    format: str
    """The name of the format it was read as."""
    header: Mapping[str, Any]
    """The fields of the file beside its messages."""
    replaced: int
    """Number of characters that could not be kept and are U+FFFD now."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Number of lines of an agent's log that hold no message, by what they are."""
    branches: tuple[SourceBranch, ...] = ()
    others: tuple[SideStory, ...] = ()
    books: tuple[SourceBook, ...] = ()
    """Books that belong to it; they are attached to the story."""
    memories: tuple[SpanMemory, ...] = ()
    """Memory that other programs made of its messages."""
    opening: bool = False
    """True if it is only how a story begins: one that has gone on is left as it is."""
    stream: DraftStream | None = None
    """The messages of a file that is too large to be held; `drafts` is empty then."""
    stories: StoryStream | None = None
    """The conversations of such a file; `others` is empty then."""
    title: str = ""
    """The name of the conversation where a file can hold many: it is a part of the story's, as of those of `others`."""

    def place_memories(self, first: int, last: int) -> StorySource:
        """Return the same with its memories, which must be all it holds, about these messages of a story."""
        if not self.memories or self.drafts:
            raise BadInput("only scene memories are about messages that you name, and this file holds others.")
        return replace(self, memories=tuple(replace(one, first=first, last=last) for one in self.memories))


class Document:
    """An opened file that can be looked at before it is read once, as lines, as one text or as bytes."""

    def __init__(self, name: str, handle: BinaryIO, path: Path | None = None, user: str | None = None) -> None:
        self.name = name
        self.path = path
        self.user = user
        """The name of the person who is the user, where the file does not say it."""
        self._handle = handle
        self.line_marks: array[int] = array("q")
        start = handle.readline(LONGEST_LINE)
        if _is_utf16(start):
            raise BadInput(f"{name}: the file is UTF-16 or UTF-32; save it as UTF-8 and try again.")
        self._bom = 3 if start.startswith(b"\xef\xbb\xbf") else 0
        self._start = [start[self._bom :]]
        while self._start[-1].isspace():
            self._complete_first()
            if not self._start[-1].isspace() or not (line := handle.readline(LONGEST_LINE)):
                break
            self._start.append(line)
        if not self._start[-1].strip():
            raise BadInput(f"{name}: the file is empty.")

    def begins(self, data: bytes) -> bool:
        """Return whether these are its first bytes."""
        return self._start[0].startswith(data)

    def _complete_first(self) -> None:
        """Read the rest of a first line so long that it was left in the file."""
        if len(self._start[-1]) >= LONGEST_LINE - self._bom and not self._start[-1].endswith(b"\n"):
            self._start[-1] += self._handle.readline()

    @property
    def opening(self) -> bytes:
        """The first line that is not blank, or the beginning of it if it is very long."""
        return self._start[-1]

    def chunks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes of the file, so many at a time; none of them is held."""
        while self._start:
            yield self._start.pop(0)
        while data := self._handle.read(size):
            yield data

    @property
    def first(self) -> str:
        """The first line that is not blank."""
        self._complete_first()
        return self._decode(self._start[-1], len(self._start), self._bom + sum(map(len, self._start[:-1])))

    @property
    def first_number(self) -> int:
        """The number of that line, from 1."""
        return len(self._start)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, with their numbers from 1."""
        return ((number, line) for number, line in self.all_lines() if not line.isspace())

    def all_lines(self) -> Iterator[tuple[int, str]]:
        """Yield every line with its end, and with its number from 1."""
        offset = self._bom
        self._complete_first()
        for number, line in enumerate(chain(self._start, self._handle), 1):
            yield number, self._decode(line, number, offset)
            offset += len(line)

    def log_lines(self) -> Iterator[tuple[int, str | None]]:
        """Yield the lines of a log, which goes on behind a damaged line: None is a line that is not UTF-8. Where some
        of them begin is noted in `line_marks`."""
        self._complete_first()
        return self._read_log(chain(self._start, self._handle), 1, self._bom)

    def log_lines_from(self, number: int, marks: Sequence[int]) -> Iterator[tuple[int, str | None]]:
        """Yield the same from a line on that is marked, the nearest before that of this number."""
        marked = min((number - 1) // LINES_MARKED, len(marks) - 1)
        self._handle.seek(marks[marked])
        return self._read_log(self._handle, marked * LINES_MARKED + 1, marks[marked])

    def _read_log(self, lines: Iterable[bytes], number: int, offset: int) -> Iterator[tuple[int, str | None]]:
        for at, line in enumerate(lines, number):
            if at % LINES_MARKED == 1:
                self.line_marks.append(offset)
            offset += len(line)
            if not line.isspace():
                try:
                    yield at, line.decode()
                except UnicodeDecodeError:
                    yield at, None

    def text(self) -> str:
        if self.path is not None and self.path.stat().st_size > MOST_WHOLE:
            raise BadInput(
                f"{self.name}: the file is over {MOST_WHOLE // 1_000_000} MB, and a file of this format is read as a "
                "whole; split it, or save it as lines of JSON."
            )
        return self._decode(b"".join(self._start) + self._handle.read(), 1, self._bom)

    def content(self, most: int) -> bytes:
        """Return all bytes of a file that is no text, if they are no more than `most`."""
        start = b"".join(self._start)
        data = start + self._handle.read(max(0, most + 1 - len(start)))
        if len(data) > most:
            raise BadInput(f"The file is over {most // 1_000_000} MB, the most that is read of its kind.")
        return data

    def fault(self, error: BadInput | RecursionError, place: str | int | None = None) -> BadInput:
        """Return the error with its place: a line by its number, anything else in words."""
        sentence = TOO_DEEP if isinstance(error, RecursionError) else str(error)
        where = self.name
        if place is not None:
            where += f", line {place}" if isinstance(place, int) else f", {place}"
        return BadInput(f"{where}: {sentence[:1].lower()}{sentence[1:]}")

    def _decode(self, data: bytes, line: int, offset: int) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            raise BadInput(
                f"{self.name}, line {line}: the file is not UTF-8 "
                f"(byte 0x{data[error.start]:02x} at offset {offset + error.start})."
            ) from None


def _is_utf16(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return True
    sample = start[:32]
    even, odd = sample[::2], sample[1::2]
    return len(sample) >= 4 and ((all(even) and not any(odd)) or (all(odd) and not any(even)))


@contextmanager
def open_document(path: Path, user: str | None = None) -> Iterator[Document]:
    """Open the file of that path, for as long as the block lasts; `user` is the user's name in it."""
    name = shown(str(path))
    try:
        handle = path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{name}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise _unreadable(name, path, error) from None
    with handle:
        try:
            yield Document(name, handle, path, user)
        except OSError as error:
            raise _unreadable(name, path, error) from None


def _unreadable(name: str, path: Path, error: OSError | ValueError) -> BadInput:
    if isinstance(error, ValueError):
        return BadInput(f"{name}: this is not a possible file name.")
    if isinstance(error, IsADirectoryError) or path.is_dir():
        return BadInput(f"{name}: this is a directory, not a file.")
    return BadInput(f"{name}: the file cannot be read ({(error.strerror or 'unknown reason').lower()}).")


def read_value(document: Document, read: Callable[[Document, Any], StorySource]) -> StorySource:
    """Return the source of a file that holds one JSON value, read by a function that may leave out where a fault is."""
    try:
        value = parse_json(document.text(), "file")
    except BrokenJson as error:
        if error.follows:
            raise document.fault(
                BadInput("a second JSON value begins here; a file holds one conversation, so split it first."),
                error.line,
            ) from None
        raise document.fault(error, error.line) from None
    except BadInput as error:
        raise _placed(document, error) from None
    return read_in_place(document, value, read)


def read_in_place(document: Document, value: Any, read: Callable[[Document, Any], StorySource]) -> StorySource:
    """Return the source of the value that a file holds; a fault that does not say where it is gets its place."""
    try:
        return read(document, value)
    except (BadInput, RecursionError) as error:
        raise _placed(document, error) from None


def _placed(document: Document, error: BadInput | RecursionError) -> BadInput:
    if isinstance(error, BadInput) and str(error).startswith(document.name):
        return error
    return document.fault(error)
