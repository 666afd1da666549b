"""Files that mean harm, or were never finished: refused in a sentence, in little time and memory."""

from __future__ import annotations

import gzip
import json
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path

import pytest

from previously.core.errors import BadInput
from previously.formats import open_story, read_story
from previously.formats.archives import Archive
from previously.formats.png_texts import PNG, write_chunk

MOST_BYTES = 256 * 1024 * 1024
BOMB = zlib.compress(bytes(50_000_000), 9)  # 50 MB in 50 kB

CHAT = (
    {"user_name": "Ada", "character_name": "Sera", "chat_metadata": {}},
    {"name": "Sera", "is_user": False, "mes": "Hello."},
    {"name": "Ada", "is_user": True, "mes": "Is it late?"},
)
LINES = ({"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Is it late?"})
LOG = (
    {"type": "assistant", "uuid": "a", "parentUuid": None, "sessionId": "s",
     "message": {"role": "assistant", "content": "Hello."}},
    {"type": "user", "uuid": "b", "parentUuid": "a", "sessionId": "s",
     "message": {"role": "user", "content": "Is it late?"}},
)  # fmt: skip
FORMATS: Mapping[str, Sequence[Mapping[str, object]]] = {"sillytavern": CHAT, "jsonl": LINES, "claude-code": LOG}


def write_lines(path: Path, items: Sequence[Mapping[str, object]], start: bytes = b"", end: int | None = None) -> Path:
    path.write_bytes((start + b"\n".join(json.dumps(item).encode() for item in items))[:end])
    return path


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES


def make_archive(name: str, content: bytes) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return target.getvalue()


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    path.write_bytes(make_archive("conversations.json", bytes(50_000_000)))
    with pytest.raises(BadInput, match="too large when it is unpacked"):
        read_story(path)


def test_an_archive_that_lies_of_its_sizes_is_not_believed() -> None:
    packed = bytearray(make_archive("card.json", b"{}"))
    directory = packed.index(b"PK\x01\x02")
    packed[directory + 10 : directory + 12] = bytes(2)  # stored, so it is as large as it says
    packed[directory + 20 : directory + 28] = struct.pack("<II", 2_000_000_000, 2_000_000_000)
    with pytest.raises(BadInput, match="cannot be read"):
        Archive(BytesIO(packed)).read("card.json")


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(gzip.compress(bytes(50_000_000)))
    with pytest.raises(BadInput, match="not UTF-8"):
        read_story(path)


@pytest.mark.parametrize("chunk", [(b"zTXt", b"chara\0\0" + BOMB), (b"iTXt", b"ccv3\0\1\0en\0x\0" + BOMB)])
def test_a_bomb_in_a_picture_is_not_unpacked(tmp_path: Path, chunk: tuple[bytes, bytes]) -> None:
    path = tmp_path / "card.png"
    path.write_bytes(PNG + b"".join(write_chunk(*one) for one in ((b"IHDR", bytes(13)), chunk, (b"IEND", b""))))
    with pytest.raises(BadInput, match="over 32 MB"):
        read_story(path)


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in ("../outside.json", "/tmp/outside.json", "..\\outside.json"):
        path = inside / "story.zip"
        path.write_bytes(make_archive(name, b"{}"))
        with pytest.raises(BadInput):
            read_story(path)
    assert [one.name for one in tmp_path.rglob("*")] == ["inside", "story.zip"]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", ".hidden", "a/b"])
def test_a_chat_names_no_book_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text('{"entries": {"0": {"key": ["mill"], "content": "Burned."}}}')
    worlds, chats = tmp_path / "user" / "worlds", tmp_path / "user" / "chats" / "Sera"
    worlds.mkdir(parents=True)
    chats.mkdir(parents=True)
    header = {**CHAT[0], "chat_metadata": {"world_info": name}}
    assert read_story(write_lines(chats / "chat.jsonl", (header, *CHAT[1:]))).books == ()


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_nested_too_deeply_is_refused_or_left_out(tmp_path: Path, name: str) -> None:
    deep = "[" * 100_000
    path = tmp_path / "deep.jsonl"
    first, *rest = (json.dumps(item) for item in FORMATS[name])
    path.write_text("\n".join([first, *rest, first[:-1] + f', "extra": {deep}}}']))
    if name == "claude-code":  # a log goes on behind a damaged line
        source = read_story(path)
        assert (len(source.drafts), source.skipped) == (2, {"broken line": 1})
        return
    with pytest.raises(BadInput, match=f"line {len(FORMATS[name]) + 1}: the JSON is nested too deeply"):
        read_story(path)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_byte_order_mark_is_taken_off_or_said(tmp_path: Path, name: str, mark: str) -> None:
    path = write_lines(tmp_path / "chat.jsonl", FORMATS[name])
    path.write_bytes(path.read_text("utf-8").encode(mark))
    if mark == "utf-8-sig":
        assert [draft.message.text for draft in read_story(path).drafts] == ["Hello.", "Is it late?"]
    else:
        with pytest.raises(BadInput, match="UTF-16 or UTF-32"):
            read_story(path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_that_was_never_finished_is_named(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_lines(tmp_path / "chat.jsonl", FORMATS[name], end=-9)
    if name == "claude-code":
        assert len(read_story(path).drafts) == 1
        return
    with pytest.raises(BadInput, match=f"line {len(FORMATS[name])}: the line is cut off"):
        read_story(path)
    monkeypatch.setattr("previously.formats.detect_format.LARGE", 10)
    monkeypatch.setattr("previously.formats.detect_format.LONGEST_LINE", 1_000)
    stream = open_story(path).stream
    assert stream is not None
    with pytest.raises(BadInput, match=f"line {len(FORMATS[name])}: the line is cut off"):
        list(stream)


def test_a_file_that_is_read_whole_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("previously.formats.files.MOST_WHOLE", 1_000)
    path = tmp_path / "story.txt"
    path.write_text("Ada: It rains.\n" * 100)
    with pytest.raises(BadInput, match="read as a whole; split it"):
        read_story(path)
