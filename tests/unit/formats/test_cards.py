"""Character cards: a greeting with its swipes, macros replaced once, and a book."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.formats import StorySource, read_story
from previously.formats.png_texts import PNG, write_chunk

DATA: dict[str, Any] = {
    "name": "Seraphina",
    "description": "{{char}} guards {{user}}.",
    "personality": "kind",
    "scenario": "",
    "first_mes": "{{char}} smiles.{{// a note}} Hello, <USER>!",
    "mes_example": "<START>\n{{user}}: Hi",
    "alternate_greetings": ["Again, {{User}}.", "  ", "Again, {{User}}."],
    "character_book": {"entries": [{"keys": ["glade"], "content": "A glade of {{char}}.", "enabled": True}]},
    "extensions": {"depth_prompt": {"depth": 4}},
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0", "data": DATA | {"nickname": "Sera", "first_mes": "{{char}}."}}


def read(folder: Path, content: object, name: str = "card.json", user: str | None = "Ada") -> StorySource:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return read_story(path, user=user)


def make_picture(*chunks: tuple[bytes, bytes]) -> bytes:
    header = write_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = write_chunk(b"IDAT", zlib.compress(b"\0\0"))
    return PNG + header + b"".join(write_chunk(*chunk) for chunk in chunks) + pixels + write_chunk(b"IEND", b"")


def pack(card: object) -> bytes:
    return base64.b64encode(json.dumps(card).encode())


def list_texts(source: StorySource) -> list[str]:
    (draft,) = source.drafts
    return [draft.message.text, *(other.message.text for other in draft.alternatives)]


def test_the_greetings_are_the_first_message_and_its_swipes(tmp_path: Path) -> None:
    source = read(tmp_path, V2)
    assert (source.format, source.opening) == ("card", True)
    assert list_texts(source) == ["Seraphina smiles. Hello, Ada!", "Again, Ada."]
    assert source.drafts[0].message.speaker == "Seraphina"
    assert source.header["character"] == {
        "name": "Seraphina", "user": "Ada", "description": "Seraphina guards Ada.", "personality": "kind",
        "mes_example": "<START>\nAda: Hi",
    }  # fmt: skip
    assert source.header["card"]["data"]["extensions"] == DATA["extensions"]
    (book,) = source.books
    assert book.given == {"spec": "lorebook_v3", "data": DATA["character_book"]}  # with its macros


def test_version_1_and_a_user_without_a_name(tmp_path: Path) -> None:
    flat = {key: value for key, value in DATA.items() if key not in ("character_book", "alternate_greetings")}
    assert list_texts(read(tmp_path, flat, user=None)) == ["Seraphina smiles. Hello, User!"]


def test_what_a_macro_stands_for_is_no_macro(tmp_path: Path) -> None:
    assert list_texts(read(tmp_path, V2, user="{{char}}"))[0] == "Seraphina smiles. Hello, {{char}}!"


@pytest.mark.parametrize(
    "chunk",
    [
        (b"tEXt", b"chara\0" + pack(V2)),
        (b"zTXt", b"chara\0\0" + zlib.compress(pack(V2))),
        (b"iTXt", b"Chara\0\0\0en\0figure\0" + pack(V2)),
        (b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(pack(V2))),
    ],
)
def test_a_picture_holds_a_card_in_any_kind_of_text(tmp_path: Path, chunk: tuple[bytes, bytes]) -> None:
    source = read(tmp_path, make_picture((b"tEXt", b"Comment\0x"), chunk), "card.png")
    assert list_texts(source)[0] == "Seraphina smiles. Hello, Ada!"


def test_version_3_counts_before_version_2(tmp_path: Path) -> None:
    picture = make_picture((b"tEXt", b"chara\0" + pack(V2)), (b"tEXt", b"ccv3\0" + pack(V3)))
    assert list_texts(read(tmp_path, picture, "card.png"))[0] == "Sera."


def test_an_archive_holds_a_card(tmp_path: Path) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("assets/icon/image/main.png", b"x")
        archive.writestr("card.json", json.dumps(V3))
    assert list_texts(read(tmp_path, target.getvalue(), "card.charx"))[0] == "Sera."


def test_a_card_without_a_greeting_begins_a_story_without_messages(tmp_path: Path) -> None:
    source = read(tmp_path, {"spec": "chara_card_v2", "data": {"name": "Sera"}})
    assert source.drafts == [] and source.header["character"]["name"] == "Sera"


BOMB = zlib.compress(bytes(100_000_000))
BROKEN: dict[str, tuple[bytes | dict[str, Any], str]] = {
    "no.png": (make_picture((b"tEXt", b"Comment\0x")), "holds no character card"),
    "cut.png": (make_picture((b"tEXt", b"chara\0" + pack(V2)))[:80], "damaged"),
    "bomb.png": (make_picture((b"zTXt", b"chara\0\0" + BOMB)), "over 32 MB"),
    "text.png": (make_picture((b"tEXt", b"chara\0???")), "cannot be read"),
    "name.json": (V2 | {"data": DATA | {"name": " "}}, '"name" of the card is empty'),
    "list.json": (V2 | {"data": DATA | {"alternate_greetings": [1]}}, "texts only"),
    "book.json": (V2 | {"data": DATA | {"character_book": {"entries": [{"keys": 5}]}}}, "entry Seraphina/0"),
    "data.json": (V2 | {"data": []}, '"data" of the card'),
    "cut.charx": (b"PK\x03\x04 cut off", "the archive is damaged"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_card_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    content, reason = BROKEN[name]
    with pytest.raises(BadInput, match=reason) as refusal:
        read(tmp_path, content, name)
    assert name in str(refusal.value)
