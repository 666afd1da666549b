"""Texts in PNG pictures: where character cards are kept. A picture is read chunk by chunk and its pixels never."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator

from previously.core.errors import BadInput

PNG = b"\x89PNG\r\n\x1a\n"
PNG_LINE = PNG[:6]
"""The first line of a picture, as a reader of lines sees it."""

CARD_KEYWORDS = (b"ccv3", b"chara")
"""The names of the texts in which a picture holds a card: as V3, which counts where both are there, and as V2."""

LARGEST_PICTURE = 64_000_000
"""Bytes of a picture with a card: ten times the largest that are shared."""

MOST_TEXT = 32_000_000
"""Bytes of a text, unpacked: four times the largest cards that are met, and few enough to hold in memory."""


def read_chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and data of each chunk; `BadInput` for a picture that is damaged."""
    place = len(PNG)
    while place + 12 <= len(picture):
        (size,) = struct.unpack(">I", picture[place : place + 4])
        kind, data = picture[place + 4 : place + 8], picture[place + 8 : place + 8 + size]
        told = picture[place + 8 + size : place + 12 + size]
        if len(data) < size or len(told) < 4 or zlib.crc32(kind + data) != struct.unpack(">I", told)[0]:
            break
        yield kind, data
        place += 12 + size
        if kind == b"IEND":
            return
    raise BadInput("This PNG picture is damaged.")


def write_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def find_card_keyword(kind: bytes, data: bytes) -> bytes:
    """Return the keyword of a chunk that holds a card, as it is written there; empty for any other chunk."""
    keyword = data.partition(b"\0")[0]
    return keyword if kind in (b"tEXt", b"zTXt", b"iTXt") and keyword.lower() in CARD_KEYWORDS else b""


def read_picture_text(picture: bytes) -> str:
    """Return the JSON text of the card that a picture holds."""
    texts = {find_card_keyword(kind, data).lower(): (kind, data) for kind, data in reversed([*read_chunks(picture)])}
    chunk = next((texts[keyword] for keyword in CARD_KEYWORDS if keyword in texts), None)
    if chunk is None:
        raise BadInput("This picture holds no character card.")
    return read_card_text(*chunk)


def read_card_text(kind: bytes, data: bytes) -> str:
    """Return the JSON text of a card in a chunk of any of the three kinds."""
    _, _, rest = data.partition(b"\0")
    if kind == b"zTXt":
        rest = _unpack(rest[1:])
    elif kind == b"iTXt":
        packed, (_, _, rest) = rest[:1] == b"\x01", _split_international(rest[2:])
        rest = _unpack(rest) if packed else rest
    if len(rest) > MOST_TEXT:
        raise BadInput(f"The card in this picture is over {MOST_TEXT // 1_000_000} MB.")
    try:
        return base64.b64decode(rest, validate=True).decode()
    except ValueError:
        if rest.lstrip()[:1] == b"{":  # some programs leave out the base64
            try:
                return rest.decode()
            except ValueError:
                pass
        raise BadInput("The card in this picture cannot be read.") from None


def _split_international(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return language, translated keyword and text of an iTXt chunk."""
    language, _, rest = data.partition(b"\0")
    keyword, _, text = rest.partition(b"\0")
    return language, keyword, text


def _unpack(data: bytes) -> bytes:
    """Return what zlib packed, no more than `MOST_TEXT`."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(data, MOST_TEXT + 1)
    except zlib.error:
        raise BadInput("The card in this picture cannot be read.") from None
    if len(text) > MOST_TEXT:
        raise BadInput(f"The card in this picture is over {MOST_TEXT // 1_000_000} MB when it is unpacked.")
    return text
