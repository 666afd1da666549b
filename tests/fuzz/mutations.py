"""Inputs that are nearly right: samples with something wrong in them, the same for the same random numbers.

A sample that is JSON, or lines of it, is changed as a value first: anything stands in place of anything, parts are
doubled, swapped, nested or left out, so that ids point at the wrong things and at themselves. Then bytes are changed:
flipped, cut, spliced with another sample, or given what readers stumble over.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

LONGEST = 200_000
"""Bytes of an input: enough to show work that grows with the square, and small enough for many of them."""

ODD_TEXTS = (
    "", " ", "\0", "\ud800", "\udfff\ud800", "\ufeff", "\u200b", "\u202e", "\x85", "\u2028", "\r\n", "\x1b[2J", "NaN",
    "../../etc/passwd", "/etc/passwd", "..\\..\\x", "C:\\x", "~root", "a/b/../..", ".", "..", "con", "x" * 300,
    "\N{COMBINING ACUTE ACCENT}" * 40, "ﷺ" * 20, "İıßſ", "٣", "１２", "1e9", "-1", "0x10", "true", "null", "{}", "[]",
    "</recalled>", "{{user}}", "//recap", "System:", "/(a+)+$/", "/[/", "/(?=a)/i", "/a{999}{999}/", "%00", "%s", "\\",
    '"', "'", "`" * 3, "<think>", "data: [DONE]", "2024-13-45T99:99", "1700000000000", "9" * 30, "user", "assistant",
)  # fmt: skip
"""Texts that readers stumble over."""

ODD_NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(10**18), 0.5, -0.0, 1e308, 1e-320, 10**400)

ODD_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [None], [[]], {"": ""}, {"type": "text"}, ["x"], {"a": [{}]})

PIECES = (
    b"\x00", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n",
    b"\n\n", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 5_000, b"\\ud800", b"\\u0000", b"\\", b'"', b"{", b"}",
    b"[", b"]", b",", b":", b"null", b"//", b"/*", b"data:", b"event: error\n", b"```", b"%", b"\t", b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"SQLite format 3\x00", b"../", b"#1", b"- ", b"|", b"=", b"\xe2\x80\xa8",
)  # fmt: skip
"""Bytes that readers stumble over."""


@dataclass(frozen=True)
class Sample:
    """An input that is right, and the JSON values in it where it is made of lines or of one."""

    content: bytes
    values: list[Any] = field(default_factory=list)

    @cached_property
    def packed(self) -> bytes:
        """The values, of which a copy is made ten times as fast as by `deepcopy`."""
        return pickle.dumps(self.values)

    @classmethod
    def of(cls, content: bytes | str | list[Any] | dict[str, Any]) -> Sample:
        """Bytes and texts as they are; a dict is one value, a list the values of lines."""
        if isinstance(content, list):
            return cls("\n".join(json.dumps(line) for line in content).encode(), content)
        if isinstance(content, dict):
            return cls(json.dumps(content).encode(), [content])
        return cls(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def mutate(chance: Random, samples: Sequence[Sample]) -> bytes:
    """Return an input with something wrong, or now and then a sample as it is."""
    sample = chance.choice(samples)
    if sample.values and chance.random() < 0.75:
        content = _try_values(chance, sample)
        if chance.random() < 0.7:
            return content[:LONGEST]
    else:
        content = sample.content
    for _ in range(chance.choice((0, 1, 1, 1, 2, 4))):
        content = _change_bytes(chance, content, samples)[:LONGEST]
    return content


def pick_odd(chance: Random) -> Any:
    """Return a value that nobody expects."""
    match chance.randrange(4):
        case 0:
            return chance.choice(ODD_TEXTS)
        case 1:
            return chance.choice(ODD_NUMBERS)
        case 2:
            return copy.deepcopy(chance.choice(ODD_VALUES))
        case _:
            return _pick_large(chance) if chance.random() < 0.1 else chance.choice(ODD_TEXTS) + chance.choice(ODD_TEXTS)


def _pick_large(chance: Random) -> Any:
    match chance.randrange(4):
        case 0:
            return chance.choice("a \n雨{#|-") * chance.choice((1_000, 20_000))
        case 1:
            return ["x"] * chance.choice((100, 5_000))
        case 2:
            return {str(number): number for number in range(chance.choice((100, 2_000)))}
        case _:
            value: Any = "deep"
            for _ in range(chance.choice((50, 190, 210, 600))):
                value = [value] if chance.random() < 0.5 else {"a": value}
            return value


MOST_PLACES = 1_000
"""Places of a value among which one is chosen: a list of thousands, which another change made, is one of them."""


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return the containers in a value with the key of each thing in them, the first ones where they are very many."""
    waiting: list[Any] = [value]
    places: list[tuple[Any, Any]] = []
    while waiting and len(places) < MOST_PLACES:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            places.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return places


def _try_values(chance: Random, sample: Sample) -> bytes:
    try:
        return _write(chance, _change_values(chance, pickle.loads(sample.packed)))
    except (RecursionError, ValueError):  # deeper than Python copies or writes, or a number of too many digits
        return b'{"a":[' * 700


def _change_values(chance: Random, changed: list[Any]) -> list[Any]:
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = _places(changed)
        if not places:
            break
        container, key = chance.choice(places)
        match chance.randrange(8):
            case 0 | 1 | 2:
                container[key] = pick_odd(chance)
            case 3:
                del container[key]
            case 4:  # anything in place of anything: ids point elsewhere, and at themselves
                other, place = chance.choice(places)
                container[key] = copy.deepcopy(other[place])
            case 5:
                container[key] = [container[key]] if chance.random() < 0.5 else {"text": container[key]}
            case 6:
                if isinstance(container, list):
                    container.extend(copy.deepcopy(container[key]) for _ in range(chance.choice((1, 2, 30))))
                else:
                    container[chance.choice(ODD_TEXTS)] = copy.deepcopy(container[key])
            case _:
                if isinstance(container[key], str):
                    at = chance.randrange(len(container[key]) + 1)
                    container[key] = container[key][:at] + chance.choice(ODD_TEXTS) + container[key][at:]
                elif isinstance(container, list):
                    chance.shuffle(container)
    return changed


_AS_ASCII, _AS_IT_IS = json.JSONEncoder(), json.JSONEncoder(ensure_ascii=False)


def _write(chance: Random, values: list[Any]) -> bytes:
    """Write values as lines of JSON, in one of the ways that programs do."""
    if len(values) == 1 and chance.random() < 0.05:  # which takes ten times as long
        return json.dumps(values[0], indent=1).encode()
    write = _AS_ASCII if chance.random() < 0.5 else _AS_IT_IS
    text = "\n".join(map(write.encode, values))
    return text.encode("utf-8", "surrogatepass")


def _change_bytes(chance: Random, content: bytes, samples: Sequence[Sample]) -> bytes:
    at = chance.randrange(len(content) + 1)
    to = min(len(content), at + chance.choice((1, 2, 5, 20, 200)))
    match chance.randrange(14):
        case 0 | 1:
            if content:
                changed = bytearray(content)
                for _ in range(chance.choice((1, 1, 3, 10))):
                    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
                return bytes(changed)
        case 2:
            return content[:at]
        case 3:
            return content[:at] + content[to:]
        case 4:
            return content[:to] + content[at:to] * chance.choice((1, 3, 100)) + content[to:]
        case 5:
            other = chance.choice(samples).content
            return content[:at] + other[chance.randrange(len(other) + 1) :]
        case 6 | 7 | 8:
            return content[:at] + chance.choice(PIECES) + content[to if chance.random() < 0.3 else at :]
        case 9:  # a key given twice
            start = content.find(b'"', at)
            end = content.find(b'":', start)
            if 0 <= start < end < start + 60:
                return content[:start] + content[start:end] + b'": ' + chance.choice(PIECES) + b", " + content[start:]
        case 10:
            return content.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8", b"")))
        case 11:
            if chance.random() < 0.2:
                return chance.choice((b"[", b'{"a":', b"(", b"<b>", b"> ", b"- ", b"#")) * chance.choice((200, 5_000))
        case 12:
            digits = chance.choice((b"0", b"1", b"9"))
            return content.replace(digits, digits * chance.choice((2, 12, 30)), chance.choice((1, 100)))
        case _:
            if chance.random() < 0.1:
                return content.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-16-le", "utf-32")))
    return content[:at] + chance.randbytes(chance.choice((1, 4, 16))) + content[at:]
