"""The identity of a message, in sixteen bytes.

`digest` identifies a message, `node_hash` a message together with all that came before it, `span_key` a run of
messages. Equal bytes mean equal content; memory hangs on that, so **changing any encoding here changes every hash in
every store**: each hash carries a tag with a number that must then be raised, and the stores migrated.

`match_key` is weaker on purpose: it ignores what clients do to a text on its way through them, and is used to
recognise messages, never to identify them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

from previously.core.messages import Error, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, list_fields
from previously.core.patterns import lazy_pattern

SIZE = 16
"""128 bits: enough that no two messages of one owner ever meet by chance, small enough for millions of rows."""

ROOT_HASH = b"\x00" * SIZE
"""The hash of the empty path."""

_KINDS: dict[type[Part], bytes] = {
    Text: b"t",
    Thinking: b"k",
    ToolCall: b"c",
    ToolResult: b"r",
    Image: b"i",
    Error: b"e",
}


def digest(message: Message) -> bytes:
    """Return the identity of a message: role, speaker, parts and given witnesses."""
    fields = [_field(b"o", message.role.value)]
    if message.speaker is not None:
        fields.append(_field(b"s", message.speaker))
    for part in message.parts:
        kind = _KINDS[type(part)]
        if type(part) is Text:  # nearly all are, and every message that is shown is checked
            fields.append(_field(kind, part.text))
            continue
        for name, value in list_fields(part).items():
            fields.append(_field(b"x" if name == "status" else kind, value))
    if message.witnesses is not None:
        fields.append(b"w%d;" % len(message.witnesses))  # nobody there differs from everyone there
        fields.extend(_field(b"n", name) for name in message.witnesses)
    return blake2b(b"".join(fields), digest_size=SIZE, person=b"prev.digest.1").digest()


def _field(kind: bytes, text: str) -> bytes:
    encoded = text.encode()
    return b"%s%d:%s" % (kind, len(encoded), encoded)


def node_hash(parent: bytes, entry_digest: bytes) -> bytes:
    """Return the identity of a path that ends in a message of this digest."""
    return blake2b(parent + entry_digest, digest_size=SIZE, person=b"prev.node.1").digest()


def span_key(digests: Iterable[bytes]) -> bytes:
    """Return the identity of a run of messages, wherever it stands."""
    return blake2b(b"".join(digests), digest_size=SIZE, person=b"prev.span.1").digest()


_REASONING = lazy_pattern(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_SPACES = lazy_pattern(r"\s+")


def match_key(message: Message) -> bytes:
    """Role and text as they look after a client has had them: normalised, without reasoning or name prefix. Where there
    is no text, by what there is: calls and their results say nothing, and yet are not all the same."""
    text = message.text
    if not text:
        state = blake2b(message.role.value.encode(), digest_size=SIZE, person=b"prev.match.1")
        for part in message.parts:
            if not isinstance(part, Text | Thinking):
                fields = (value for name, value in list_fields(part).items() if name != "status")  # few tell
                state.update(b"".join(_field(_KINDS[type(part)], value) for value in fields))
        return state.digest()
    if "<" in text:
        text = _REASONING.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = _SPACES.sub(" ", text).strip()
    if message.speaker:
        text = text.removeprefix(f"{message.speaker}:").lstrip()
    return blake2b(f"{message.role.value}\x00{text}".encode(), digest_size=SIZE, person=b"prev.match.1").digest()
