"""ZIP archives that hold a story: read file by file, in memory, each and all of them bounded.

Nothing is ever written to disk, so a name in an archive leads nowhere. What an archive says of its sizes is not
believed: reading stops at the bound. XML is parsed without entities, so that none can grow.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from previously.core.errors import BadInput
from previously.core.json_values import shown

ZIP = b"PK\x03\x04"

MOST_FILES = 20_000
"""Files in an archive: ten times those of a large book or of years of exported chats."""

MOST_UNPACKED = 600_000_000
"""Bytes of all files that are read of one archive: an export of 500 MB, and something over."""

LARGEST_RATIO = 250
"""Unpacked against packed size from which on a file is a bomb, if it is large: text reaches 20, repeated text 100."""

SMALL = 4_000_000
"""Bytes of a file that are read whatever it unpacks from: so much costs little."""

DEEPEST_XML = 200
"""Levels of XML: word processors write a dozen."""

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


class Archive:
    """An opened archive."""

    def __init__(self, source: Path | IO[bytes]) -> None:
        try:
            self._zip = zipfile.ZipFile(source)
            self.names: list[str] = self._zip.namelist()
            assert self._zip.fp is not None, "it is open"
            self._size = self._zip.fp.seek(0, os.SEEK_END)
        except _BROKEN:
            raise BadInput("the archive is damaged.") from None
        if len(self.names) > MOST_FILES:
            raise BadInput(f"the archive holds {len(self.names):,} files; {MOST_FILES:,} are the most that are read.")
        self._left = MOST_UNPACKED

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; `BadInput` if it is not there, damaged or too large."""
        return b"".join(self.chunks(name, MOST_UNPACKED))

    def chunks(self, name: str, size: int) -> Iterator[bytes]:
        """Yield the bytes of a file, so many at a time; `BadInput` as above."""
        called = shown(name, 80)
        try:
            info = self._zip.getinfo(name)
            packed = min(info.compress_size, self._size)  # what it says may be more than there is
            most = min(self._left, max(SMALL, packed * LARGEST_RATIO))
            with self._zip.open(info) as file:
                while data := file.read(min(size, most + 1)):
                    most -= len(data)
                    self._left -= len(data)
                    if most < 0:
                        raise BadInput(f"the file {called} in the archive is too large when it is unpacked.")
                    yield data
        except KeyError:
            raise BadInput(f"the archive holds no file {called}.") from None
        except BadInput:
            raise
        except _BROKEN:
            raise BadInput(f"the file {called} in the archive cannot be read.") from None

    def read_text(self, name: str) -> str:
        try:
            return self.read(name).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadInput(f"the file {shown(name, 80)} in the archive is not UTF-8.") from None

    def read_xml(self, name: str) -> Element:
        """Return the tree of a small XML file."""
        return parse_xml(self.read(name), name)


class XmlTarget(Protocol):
    """A listener to the elements of an XML file, one after the other."""

    def start(self, tag: str, attributes: dict[str, str], /) -> object: ...
    def end(self, tag: str, /) -> object: ...
    def data(self, text: str, /) -> object: ...


def walk_xml(data: bytes, name: str, target: XmlTarget) -> None:
    """Tell a target of every element of an XML file. Names are `namespace}name`, or bare where there is none. Entities
    that the file declares are refused, whatever they stand for."""
    called = shown(name, 80)
    parser = ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_XML:
            raise BadInput(f"the file {called} in the archive is nested more than {DEEPEST_XML} levels deep.")
        target.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        target.end(tag)

    def refuse(*_: object) -> None:
        raise BadInput(f"the file {called} in the archive declares entities, which are not read.")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = target.data
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (ExpatError, ValueError, LookupError):
        raise BadInput(f"the file {called} in the archive is not valid XML.") from None


def parse_xml(data: bytes, name: str) -> Element:
    """Return the tree of a small XML file."""
    builder = TreeBuilder()
    walk_xml(data, name, builder)
    return builder.close()


def local_name(tag: str) -> str:
    """Return the name of an element or attribute without its namespace."""
    return tag.rpartition("}")[2]
