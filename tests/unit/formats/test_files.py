"""Faults of files, each as the one sentence a person reads."""

from __future__ import annotations

import errno
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.json_values import parse_json, parse_object, shown
from previously.formats.files import Document, open_document

LINE = '{"role": "user", "name": "Ada", "n": [1, -2.5e+3, true, false, null], "content": "h\\u00e9 \\ud83d\\ude00"}'


def fault_of(path: Path) -> str:
    with pytest.raises(BadInput) as caught, open_document(path) as document:
        list(document.lines())
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", ": the file is empty."),
        (b" \n\n\t \n", ": the file is empty."),
        (b"\xef\xbb\xbf", ": the file is empty."),
        (b"\xef\xbb\xbf\n \n", ": the file is empty."),
        ("Ada: hi\n".encode("utf-16"), ": the file is UTF-16 or UTF-32; save it as UTF-8 and try again."),
        ("Ada: hi\n".encode("utf-16-le"), ": the file is UTF-16 or UTF-32; save it as UTF-8 and try again."),
        ("Ada: hi\n".encode("utf-16-be"), ": the file is UTF-16 or UTF-32; save it as UTF-8 and try again."),
        ("Ada: hi\n".encode("utf-32"), ": the file is UTF-16 or UTF-32; save it as UTF-8 and try again."),
        (b"one\ntw\xffo\n", ", line 2: the file is not UTF-8 (byte 0xff at offset 6)."),
        (b"\xef\xbb\xbfone\n\ntw\xe9\n", ", line 3: the file is not UTF-8 (byte 0xe9 at offset 10)."),
    ],
)
def test_bytes_that_are_no_text(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(data)
    assert fault_of(path) == f"{path}{sentence}"


def test_offset_and_line_are_the_same_when_read_at_once() -> None:
    document = Document("a.txt", BytesIO(b"\xef\xbb\xbfone\n\ntw\xe9\n"))
    with pytest.raises(BadInput, match=r"^a\.txt, line 3: the file is not UTF-8 \(byte 0xe9 at offset 10\)\.$"):
        document.text()


def test_missing_file_and_directory(tmp_path: Path) -> None:
    missing = tmp_path / "nothing.jsonl"
    assert fault_of(missing) == f"{missing}: there is no such file."
    assert fault_of(tmp_path) == f"{tmp_path}: this is a directory, not a file."
    below = tmp_path / "plain.txt" / "chat.jsonl"
    below.parent.write_text("x")
    assert fault_of(below) == f"{below}: there is no such file."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "permission denied"),
        (OSError(errno.EIO, "Input/output error"), "input/output error"),
        (OSError(), "unknown reason"),
    ],
)
def test_unreadable_file(monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    assert fault_of(Path("chat.jsonl")) == f"chat.jsonl: the file cannot be read ({reason})."


def test_reading_that_fails_halfway(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text("{}\n")
    with pytest.raises(BadInput, match=r"the file cannot be read \(input/output error\)\.$"), open_document(path):
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize(
    ("name", "start"),
    [("a\x00b", "'a\\x00b': this is not a possible file name."), ("a\nb", "'a\\nb': there is no such file.")],
)
def test_names_that_cannot_be_printed(name: str, start: str) -> None:
    assert fault_of(Path(name)) == start


def test_lines_are_numbered_and_blank_ones_skipped() -> None:
    document = Document("a", BytesIO(b"\xef\xbb\xbf\n\none\r\n \n\xe2\x80\xa8two\x0bthree"))
    assert (document.first, document.first_number) == ("one\r\n", 3)
    assert list(document.lines()) == [(3, "one\r\n"), (5, "\u2028two\x0bthree")]


def test_text_is_whole_after_a_look_at_its_start() -> None:
    document = Document("a", BytesIO(b"\n\none\ntwo"))
    assert document.first == "one\n"
    assert document.text() == "\n\none\ntwo"


@given(st.text("ab\n \r\ufeffé", min_size=1, max_size=14).filter(str.strip), st.booleans())
def test_a_first_line_that_is_longer_than_is_read_at_once(text: str, with_mark: bool) -> None:
    data = (b"\xef\xbb\xbf" if with_mark else b"") + text.encode()

    def read() -> list[Any]:
        whole, lines, log = (Document("a", BytesIO(data)) for _ in range(3))
        first = (lines.first, lines.first_number, lines.begins(b"a"))
        return [whole.text(), first, list(lines.all_lines()), list(log.log_lines()), log.first, list(log.lines())]

    usual = read()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("previously.formats.files.LONGEST_LINE", 4)
        assert read() == usual
        assert b"".join(Document("a", BytesIO(data)).chunks(2)) == data.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.parametrize("end", range(1, len(LINE)))
def test_every_half_written_line_is_called_cut_off(end: int) -> None:
    with pytest.raises(BadInput) as caught:
        parse_object(LINE[:end])
    assert str(caught.value) == "the line is cut off (not valid JSON)."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": NaN}', "the number NaN is not allowed in JSON."),
        ('{"a": -Infinity}', "the number -Infinity is not allowed in JSON."),
        ('{"a": 1e999}', "the number 1e999 is too large."),
        ('{"a": -1e999}', "the number -1e999 is too large."),
        ('{"a": ' + "9" * 5000 + "}", "a number has too many digits."),
        ("[" * 100_000, "the JSON is nested too deeply."),
        ('{"a":' * 100_000, "the JSON is nested too deeply."),
        ("[1]", "the line must hold an object, not a list."),
        ("null", "the line must hold an object, not null."),
        ("true", "the line must hold an object, not true."),
        ("3", "the line must hold an object, not a number."),
        ('"x"', "the line must hold an object, not text."),
        ('{"a": 1} x', "more text follows the end of the JSON value (column 10)."),
    ],
)
def test_json_faults(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_object(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", ["{'a': 1}", '{"a" 1}', '{"a": x}', '{"a": "\t"}', '{"a": "\\x"}', "{a: 1}"])
def test_what_is_not_json_names_its_column(text: str) -> None:
    with pytest.raises(BadInput, match=r"^the file is not valid JSON at column \d+: [^\n]+\.$"):
        parse_json(text, "file")


def test_last_of_two_equal_keys_counts() -> None:
    assert parse_object('{"a": 1, "a": 2}') == {"a": 2}


def test_large_integers_are_kept() -> None:
    assert parse_object('{"gen_id": 974018845910597400123}') == {"gen_id": 974018845910597400123}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_any_json_value_is_read(value: Any) -> None:
    assert parse_json(json.dumps(value), "file") == value


@given(st.text())
def test_any_text_is_json_or_bad_input(text: str) -> None:
    try:
        parse_json(text, "file")
    except BadInput as error:
        assert str(error).endswith(".")
        assert str(error).isprintable()


@given(st.text(st.characters()), st.integers(1, 50))
def test_what_is_shown_is_one_short_printable_line(text: str, limit: int) -> None:
    assert shown(text, limit).isprintable()
    assert len(shown(text, limit)) <= limit + 1
