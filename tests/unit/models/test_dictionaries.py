"""Dictionaries as FreeDict has them: a sorted index, and entries that are packed in pieces."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from previously.models.dictionaries import DictionaryFile, PackedFile, load_word_books, open_word_books, read_meanings

SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

ENTRIES = {
    "amt": "Amt /amt/ <neut>\noffice <n>\n",
    "brief": 'Brief <masc>\nletter <n>, epistle <n> [dated]\n "ein Brief"  - a letter\n   Synonym: {Schreiben}\nnote\n',
    "haus": "Haus <neut>\n1. house\n2. home\n         Note: a building\n",
    "kaufen": "kaufen <v>\nbuy sth. <v>, purchase <v>, to get hold of <v>\n",
    "schlüssel": "Schlüssel <masc>\nkey <n>\n",
}


def _number(value: int) -> str:
    digits = ""
    while True:
        value, rest = divmod(value, 64)
        digits = SIGNS[rest] + digits
        if not value:
            return digits


def _write(folder: Path, *, packed: bool, piece: int = 40) -> Path:
    text, lines = b"", []
    for word, entry in ENTRIES.items():
        lines.append(f"{word}\t{_number(len(text))}\t{_number(len(entry.encode()))}\n")
        text += entry.encode()
    index = folder / "freedict-deu-eng.index"
    index.write_text("".join(lines), "utf-8")
    if not packed:
        index.with_suffix(".dict").write_bytes(text)
        return index
    pieces = []
    for at in range(0, len(text), piece):
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        pieces.append(packer.compress(text[at : at + piece]) + packer.flush(zlib.Z_FULL_FLUSH))
    sizes = struct.pack(f"<HHH{len(pieces)}H", 1, piece, len(pieces), *map(len, pieces))
    extra = b"RA" + struct.pack("<H", len(sizes)) + sizes
    header = b"\x1f\x8b\x08\x0c\0\0\0\0\x02\x03" + struct.pack("<H", len(extra)) + extra + b"deu-eng.dict\0"
    index.with_suffix(".dict.dz").write_bytes(header + b"".join(pieces))
    return index


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("word", "meanings"),
    [
        ("Brief", ("letter", "epistle")),
        ("Schlüssel", ("key",)),
        ("kaufte", ("buy", "purchase")),  # its stem has another ending
        ("Amtshaus", ("office", "house")),  # two words, and a letter that joins them
        ("Haus", ("house", "home")),
        ("zzz", ()),
        ("", ()),
        ("a" * 10_000, ()),
    ],
)
def test_a_word_is_looked_up(tmp_path: Path, packed: bool, word: str, meanings: tuple[str, ...]) -> None:
    assert DictionaryFile(_write(tmp_path, packed=packed)).translate(word) == meanings


def test_every_word_of_an_index_is_found(tmp_path: Path) -> None:
    book = DictionaryFile(_write(tmp_path, packed=True))
    assert all(book.has(word) for word in ENTRIES)
    assert not any(book.has(word) for word in ("", "a", "briefe", "zz", "kauf"))


def test_what_is_no_dictionary_is_left_out(tmp_path: Path) -> None:
    good = _write(tmp_path, packed=True)
    (tmp_path / "empty.index").write_bytes(b"")
    (tmp_path / "alone.index").write_bytes(b"word\tA\tB\n")
    whole = tmp_path / "whole.index"
    whole.write_bytes(b"word\tA\tB\n")
    whole.with_suffix(".dict.dz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + bytes(20))
    assert len(open_word_books(sorted(tmp_path.glob("*.index")))) == 1
    assert open_word_books([good])[0].translate("Brief") == ("letter", "epistle")


def test_a_damaged_piece_holds_nothing(tmp_path: Path) -> None:
    packed = _write(tmp_path, packed=True).with_suffix(".dict.dz")
    data = bytearray(packed.read_bytes())
    data[-40:] = b"\xff" * 40
    packed.write_bytes(data)
    assert PackedFile(packed).read(100_000, 50) == b""


def test_the_folder_that_is_named_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, packed=True)
    load_word_books.cache_clear()
    monkeypatch.setenv("PREVIOUSLY_DICTIONARIES", str(tmp_path))
    assert len(load_word_books()) == 1
    load_word_books.cache_clear()
    monkeypatch.setenv("PREVIOUSLY_DICTIONARIES", "")
    assert load_word_books() == ()
    load_word_books.cache_clear()


def test_an_entry_is_read_up_to_its_synonyms() -> None:
    assert read_meanings(ENTRIES["brief"]) == ["letter", "epistle"]
    assert read_meanings("nothing") == []
