"""Files as they come: opened, decoded and parsed, with one clear sentence for whatever is wrong.

Every fault is a `BadInput` that names the file as it was given and, where there is one, the line. A sentence raised
without a place (by a parser here, or by `core`) is given its place by `Document.fault`.

JSON is read as strictly as other programs will read it again: NaN and infinite numbers are refused, since nothing
else accepts them. Of a key given twice the last one counts, as in JavaScript and every common reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from previously.core.errors import BadInput
from previously.core.messages import Draft


@dataclass(frozen=True, slots=True)
class SourceBranch:
    """A path beside the main one: what was said and then taken back."""

    name: str
    at: int
    """How many messages it shares with the main path."""
    drafts: list[Draft]
    """Those that follow."""


@dataclass(frozen=True, slots=True)
class SideStory:
    """Another conversation that was found with the main one: a sub-agent's, say."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds."""

    drafts: list[Draft]
    format: str
    """The name of the format it was read as."""
    header: Mapping[str, Any]
    """What the file says beside its messages."""
    replaced: int
    """How many characters could not be kept and are U+FFFD now."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many lines of an agent's log hold no message, by what they are."""
    branches: tuple[SourceBranch, ...] = ()
    others: tuple[SideStory, ...] = ()


_TOO_DEEP = "the JSON is nested too deeply."


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
        """Whether these are its first bytes."""
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
        """The lines that are not blank, with their numbers from 1, read as they are asked for."""
        offset = self._bom
        for number, line in enumerate(chain(self._start, self._handle), 1):
            if not line.isspace():
                yield number, self._decode(line, number, offset)
            offset += len(line)

    def log_lines(self) -> Iterator[tuple[int, str | None]]:
        """The same for a log, which goes on behind a damaged line: None is a line that is not UTF-8."""
        for number, line in enumerate(chain(self._start, self._handle), 1):
            if not line.isspace():
                try:
                    yield number, line.decode()
                except UnicodeDecodeError:
                    yield number, None

    def text(self) -> str:
        """All of it."""
        return self._decode(b"".join(self._start) + self._handle.read(), 1, self._bom)

    def fault(self, error: BadInput | RecursionError, place: str | int | None = None) -> BadInput:
        """The error with its place: a line by its number, anything else in words."""
        sentence = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
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
def opened(path: Path) -> Iterator[Document]:
    """The file of that path, for as long as the block lasts."""
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


def shown(text: str, limit: int = 200) -> str:
    """The text as it may stand in a sentence: on one line, printable, and not without end."""
    if not text.isprintable():
        text = ascii(text)
    return text if len(text) <= limit else f"{text[:limit]}…"


def parse_json(text: str, what: str) -> Any:
    """The JSON value in the text. `what` names the text in a fault: "line" or "file"."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _broken(error, what) from None
    except RecursionError:
        raise BadInput(_TOO_DEEP) from None
    except ValueError:
        raise BadInput("a number has too many digits.") from None


def read_value(document: Document, read: Callable[[Document, Any], Source]) -> Source:
    """The source of a file that holds one JSON value, read by a function that may leave out where a fault is."""
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


def parse_object(line: str) -> dict[str, Any]:
    """The JSON object in a line."""
    value = parse_json(line, "line")
    if type(value) is not dict:
        raise BadInput(f"the line must hold an object, not {kind(value)}.")
    return value


class BrokenJson(BadInput):
    """Not JSON; `line` counts from 1 within the text, `follows` says that a whole value came before the fault,
    `cut_off` that only its end is missing."""

    def __init__(self, sentence: str, line: int, follows: bool, *, cut_off: bool = False) -> None:
        self.line = line
        self.follows = follows
        self.cut_off = cut_off
        super().__init__(sentence)


def _broken(error: json.JSONDecodeError, what: str) -> BrokenJson:
    line, follows = error.lineno, error.msg == "Extra data"
    if follows:
        return BrokenJson(f"more text follows the end of the JSON value (column {error.colno}).", line, follows)
    rest = error.doc[error.pos :].rstrip()
    if error.msg.startswith("Unterminated string") or _CUT_OFF.fullmatch(rest):
        end = error.doc.rstrip().count("\n") + 1
        return BrokenJson(f"the {what} is cut off (not valid JSON).", end, follows, cut_off=True)
    reason = error.msg.removesuffix(" at").rstrip(": ")
    return BrokenJson(
        f"the {what} is not valid JSON at column {error.colno}: {reason[:1].lower()}{reason[1:]}.", line, follows
    )


_CUT_OFF = re.compile(r"|,|-|\.|[eE][+-]?|tr?u?|fa?l?s?|nu?l?|\\?u[0-9a-fA-F]{0,4}")
"""What may be left after the place of the fault when it is the end that is missing."""


def _not_a_number(constant: str) -> NoReturn:
    raise BadInput(f"the number {constant} is not allowed in JSON.")


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise BadInput(f"the number {shown(digits, 40)} is too large.")
    return value


_DECODER = json.JSONDecoder(parse_constant=_not_a_number, parse_float=_number)


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"
