"""Dictionaries between languages, for questions in another language than their story.

Reads the files of the FreeDict project, which cover some sixty languages and which Debian packages (`apt install
dict-freedict-deu-eng`): a sorted index of words, and a file of entries that is packed in pieces, so that a lookup
unpacks one of them. All that lie in the folder of `PREVIOUSLY_DICTIONARIES` are asked, else those in `/usr/share/dictd`
whose names begin with `freedict-`. They are opened when first asked for, and nothing is fetched. Files that are not as
expected are left out: recall then finds what it finds without.
"""

from __future__ import annotations

import mmap
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from previously.recall.bridge import WordBook

PLACE = Path("/usr/share/dictd")

_DIGITS = {
    sign: number
    for number, sign in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}  # fmt: skip
_ASIDE = re.compile(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)|\{[^}]*\}|^\d+\.|\b\w{1,4}\.")
"""Marks of an entry that are no part of a meaning: fields, grammar, numbers, "sth." and "sb."."""

_FURTHER = ("Synonym", "Antonym", "see:")
_LONGEST_MEANING = 2
"""Words of a meaning: what takes more explains a word, and does not translate it."""

_LONGEST_WORD = 64
_LEAST_PART = 3
"""Letters of a part of a compound."""

_LEAST_FRONT = 4
_LONGEST_ENDING = 3
"""Letters that an inflected word may have more than its front."""

_MOST_ENTRIES = 16


@lru_cache(maxsize=1)
def load_word_books() -> tuple[WordBook, ...]:
    """Return the dictionaries that are installed."""
    named = os.environ.get("PREVIOUSLY_DICTIONARIES")
    if named is None:
        return open_word_books(sorted(PLACE.glob("freedict-*.index")))
    return open_word_books(sorted(Path(named).glob("*.index"))) if named else ()


def open_word_books(indexes: Iterable[Path]) -> tuple[WordBook, ...]:
    """Return the dictionaries with these indexes, without those that cannot be read."""
    books: list[WordBook] = []
    for index in indexes:
        with suppress(OSError, ValueError):
            books.append(DictionaryFile(index))
    return tuple(books)


class DictionaryFile:
    """One dictionary: `NAME.index` and, beside it, `NAME.dict.dz` or `NAME.dict`."""

    def __init__(self, index: Path) -> None:
        """Open it; `ValueError` or `OSError` if it is not one."""
        with index.open("rb") as file:
            self._index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        packed = index.with_suffix(".dict.dz")
        self._entries = PackedFile(packed if packed.exists() else index.with_suffix(".dict"))

        self.translate: Callable[[str], tuple[str, ...]] = lru_cache(maxsize=4_096)(self._translate_anew)

    def has(self, word: str) -> bool:
        return bool(self._places(word.lower()[:_LONGEST_WORD]))

    def _translate_anew(self, word: str) -> tuple[str, ...]:
        """Return the meanings of a word; of one it has not, those of a near form, or of the words it is made of."""
        word = word.lower()[:_LONGEST_WORD]
        return tuple(self._look_up(word) or self._look_up_form(word) or self._look_up_parts(word))

    def _look_up(self, word: str) -> list[str]:
        counted: Counter[str] = Counter()
        for offset, size in self._places(word):
            counted.update(read_meanings(self._entries.read(offset, size).decode("utf-8", "replace")))
        return [meaning for meaning, _ in counted.most_common()]

    def _look_up_form(self, word: str) -> list[str]:
        for cut in range(1, _LONGEST_ENDING + 1):
            front = word[:-cut]
            if len(front) < _LEAST_FRONT:
                break
            for near in self._words_from(front, longest=len(word)):
                if found := self._look_up(near):
                    return found
        return []

    def _look_up_parts(self, word: str) -> list[str]:
        for at in range(len(word) - _LEAST_PART, _LEAST_PART - 1, -1):
            tail = self._look_up(word[at:])
            # A letter may join the parts ("Schlammstufen" has none, "Bernsteinsamen" neither, "Amtshaus" has).
            if tail and (head := self._look_up(word[:at]) or self._look_up(word[: at - 1])):
                return [meaning for pair in zip(head[:2], tail[:2], strict=False) for meaning in pair]
        return []

    def _places(self, word: str) -> list[tuple[int, int]]:
        """Return where the entries of a word lie."""
        key = word.encode() + b"\t"
        at = self._find(key)
        found: list[tuple[int, int]] = []
        while self._index[at : at + len(key)] == key and len(found) < _MOST_ENTRIES:
            end = self._index.find(b"\n", at)
            _, offset, size = self._index[at : end if end >= 0 else None].split(b"\t")[:3]
            found.append((_read_number(offset), _read_number(size)))
            at = end + 1 if end >= 0 else len(self._index)
        return found

    def _words_from(self, front: str, longest: int) -> list[str]:
        """Return the words that begin so, the first few, no longer than that."""
        key = front.encode()
        at = self._find(key)
        found: list[str] = []
        while self._index[at : at + len(key)] == key and len(found) < _MOST_ENTRIES:
            end = self._index.find(b"\n", at)
            word = self._index[at : end if end >= 0 else None].split(b"\t")[0].decode("utf-8", "replace")
            if len(word) <= longest and word not in found:
                found.append(word)
            if end < 0:
                break
            at = end + 1
        return found

    def _find(self, key: bytes) -> int:
        """Return where the first line begins that is not before the key."""
        low, high = 0, len(self._index)
        while low < high:
            middle = self._index.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = self._index.find(b"\n", middle, high)
            if self._index[middle : end if end >= 0 else high] + b"\n" < key:
                low = end + 1 if end >= 0 else high
            else:
                high = middle
        return low


class PackedFile:
    """A gzip file whose pieces can be unpacked each by itself (dictzip), or a plain one."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._length = 0
        self._starts: list[int] = []
        if self._data[:2] == b"\x1f\x8b":
            self._read_header()
        self._unpack = lru_cache(maxsize=32)(self._unpack_anew)

    def _read_header(self) -> None:
        flags, extra = self._data[3], self._data[12:]
        if not flags & 4 or extra[:2] != b"RA":
            raise ValueError("it is packed as a whole")
        self._length = int.from_bytes(extra[6:8], "little")
        count = int.from_bytes(extra[8:10], "little")
        sizes = [int.from_bytes(extra[10 + 2 * at : 12 + 2 * at], "little") for at in range(count)]
        start = 12 + int.from_bytes(self._data[10:12], "little")
        for flag in (8, 16):  # a name and a remark
            if flags & flag:
                start = self._data.find(b"\0", start) + 1
        self._starts = list(accumulate(sizes, initial=start + 2 * bool(flags & 2)))

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from there on."""
        if not self._starts:
            return self._data[offset : offset + size]
        first, last = offset // self._length, (offset + size) // self._length
        pieces = b"".join(self._unpack(at) for at in range(first, min(last, len(self._starts) - 2) + 1))
        return pieces[offset - first * self._length :][:size]

    def _unpack_anew(self, number: int) -> bytes:
        try:
            return zlib.decompressobj(-15).decompress(self._data[self._starts[number] : self._starts[number + 1]])
        except zlib.error:
            return b""


def read_meanings(entry: str) -> list[str]:
    """Return the meanings of an entry: what stands below its word, without examples and remarks."""
    found: dict[str, None] = {}
    for line in entry.split("\n")[1:]:
        said = line.strip()
        if said.startswith(_FURTHER):
            break
        if not said or said.startswith(('"', "Note:")):
            continue
        meanings = (part.strip() for part in re.split("[,;]", _ASIDE.sub(" ", said)))
        found |= {meaning: None for meaning in meanings if meaning and len(meaning.split()) <= _LONGEST_MEANING}
    return list(found)


def _read_number(digits: bytes) -> int:
    number = 0
    for digit in digits:
        number = number * 64 + _DIGITS.get(digit, 0)
    return number
