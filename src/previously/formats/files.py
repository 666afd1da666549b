"""Files as they come: opened, decoded and parsed, with one clear sentence for whatever is wrong.

Every fault is a `BadInput` that names the file as it was given and, where there is one, the line. A sentence raised
without a place (by a parser here, or by `core`) is given its place by `Document.fault`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from previously.core.errors import BadInput
from previously.core.json_values import TOO_DEEP, BrokenJson, parse_json, shown
from previously.core.messages import Draft


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


class Document:
    """An opened file that can be looked at before it is read once, as lines or as one text."""

    def __init__(self, name: str, handle: BinaryIO, path: Path | None = None) -> None:
        self.name = name
        self.path = path
        self._handle = handle
        start = handle.readline()
        if _is_utf16(start):
            raise BadInput(f"{name}: the file is UTF-16 or UTF-32; save it as UTF-8 and try again.")
        self._bom = 3 if start.startswith(b"\xef\xbb\xbf") else 0
        self._start = [start[self._bom :]]
        while self._start[-1].isspace() and (line := handle.readline()):
            self._start.append(line)
        if not self._start[-1].strip():
            raise BadInput(f"{name}: the file is empty.")

    def begins(self, data: bytes) -> bool:
        """Return whether these are its first bytes."""
        return self._start[0].startswith(data)

    @property
    def first(self) -> str:
        """The first line that is not blank."""
        return self._decode(self._start[-1], len(self._start), self._bom + sum(map(len, self._start[:-1])))

    @property
    def first_number(self) -> int:
        """The number of that line, from 1."""
        return len(self._start)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, with their numbers from 1."""
        offset = self._bom
        for number, line in enumerate(chain(self._start, self._handle), 1):
            if not line.isspace():
                yield number, self._decode(line, number, offset)
            offset += len(line)

    def log_lines(self) -> Iterator[tuple[int, str | None]]:
        """Yield the lines of a log, which goes on behind a damaged line: None is a line that is not UTF-8."""
        for number, line in enumerate(chain(self._start, self._handle), 1):
            if not line.isspace():
                try:
                    yield number, line.decode()
                except UnicodeDecodeError:
                    yield number, None

    def text(self) -> str:
        return self._decode(b"".join(self._start) + self._handle.read(), 1, self._bom)

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
def open_document(path: Path) -> Iterator[Document]:
    """Open the file of that path, for as long as the block lasts."""
    name = shown(str(path))
    try:
        handle = path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{name}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise _unreadable(name, path, error) from None
    with handle:
        try:
            yield Document(name, handle, path)
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
    try:
        return read(document, value)
    except (BadInput, RecursionError) as error:
        raise _placed(document, error) from None


def _placed(document: Document, error: BadInput | RecursionError) -> BadInput:
    if isinstance(error, BadInput) and str(error).startswith(document.name):
        return error
    return document.fault(error)
