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

from previously.core.messages import (
    Error,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    list_fields,
)
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


_DIGEST = blake2b(digest_size=SIZE, person=b"prev.digest.1")
_NODE = blake2b(digest_size=SIZE, person=b"prev.node.1")
_MATCH = blake2b(digest_size=SIZE, person=b"prev.match.1")
"""The beginnings of hashes: to copy one takes less time than to make it."""


def digest(message: Message) -> bytes:
    """Return the identity of a message: role, speaker, parts and given witnesses."""
    fields = [_ROLE_FIELDS[message.role._value_]]
    if message.speaker is not None:
        fields.append(_encode_field(b"s", message.speaker))
    for part in message.parts:
        if type(part) is Text:  # nearly all are, and every message that is shown is checked
            fields.append(_encode_field(b"t", part.text))
            continue
        kind = _KINDS[type(part)]
        for name, value in list_fields(part).items():
            fields.append(_encode_field(b"x" if name == "status" else kind, value))
    if message.witnesses is not None:
        fields.append(b"w%d;" % len(message.witnesses))  # nobody there differs from everyone there
        fields.extend(_encode_field(b"n", name) for name in message.witnesses)
    state = _DIGEST.copy()
    state.update(b"".join(fields))
    return state.digest()


def _encode_field(kind: bytes, text: str) -> bytes:
    encoded = text.encode()
    return b"%b%d:%b" % (kind, len(encoded), encoded)


_ROLE_FIELDS = {role.value: _encode_field(b"o", role) for role in Role}


def node_hash(parent: bytes, entry_digest: bytes) -> bytes:
    """Return the identity of a path that ends in a message of this digest."""
    state = _NODE.copy()
    state.update(parent + entry_digest)
    return state.digest()


def span_key(digests: Iterable[bytes]) -> bytes:
    """Return the identity of a run of messages, wherever it stands."""
    return blake2b(b"".join(digests), digest_size=SIZE, person=b"prev.span.1").digest()


def _has_breaks(text: str) -> bool:
    """Return whether a text may have other white space than spaces."""
    if not text.isascii():
        return not text.isprintable()
    # All that `str.split` knows of ASCII, one by one: a fifth of what `isprintable` takes, and every message is asked.
    return (
        "\n" in text or "\t" in text or "\r" in text or "\v" in text or "\f" in text
        or "\x1c" in text or "\x1d" in text or "\x1e" in text or "\x1f" in text
    )  # fmt: skip


_REASONING = lazy_pattern(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)


def match_key(message: Message) -> bytes:
    """Role and text as they look after a client has had them: normalised, without reasoning or name prefix. Where there
    is no text, by what there is: calls and their results say nothing, and yet are not all the same."""
    text, state = message.text, _MATCH.copy()
    if not text:
        state.update(message.role.encode())
        for part in message.parts:
            if not isinstance(part, Text | Thinking):
                fields = (value for name, value in list_fields(part).items() if name != "status")  # few tell
                state.update(b"".join(_encode_field(_KINDS[type(part)], value) for value in fields))
        return state.digest()
    if "<" in text:
        text = _REASONING.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "  " in text or _has_breaks(text):  # else it has no other white space than single spaces
        text = " ".join(text.split())
    text = text.strip()
    if message.speaker:
        text = text.removeprefix(f"{message.speaker}:").lstrip()
    state.update(f"{message.role._value_}\x00{text}".encode())
    return state.digest()
