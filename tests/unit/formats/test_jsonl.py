"""Message lines."""

from __future__ import annotations

from io import BytesIO

import pytest

from previously.core.errors import BadInput
from previously.core.messages import Attributes, Draft, Image, Message, Role, Text, ToolResult
from previously.formats.files import Document, StorySource
from previously.formats.request_files import read_jsonl

GOOD = b'{"role": "user", "content": "hi"}\n'


def read_bytes(data: bytes) -> StorySource:
    return read_jsonl(Document("chat.jsonl", BytesIO(data)))


def test_all_fields() -> None:
    source = read_bytes(
        b'{"role": "assistant", "name": "Wick", "content": "Mind the step.", "witnesses": ["Wick", "Ines"],'
        b' "at": "2026-03-02T19:04:00+00:00", "id": 12, "hidden": true, "extra": {"chapter": 1}, "mood": "wry"}\n'
    )
    assert source == StorySource(
        [
            Draft(
                Message(Role.ASSISTANT, (Text("Mind the step."),), "Wick", ("Ines", "Wick")),
                Attributes("2026-03-02T19:04:00+00:00", "12", {"chapter": 1, "mood": "wry"}, True),
            )
        ],
        "jsonl",
        {},
        0,
    )


def test_content_parts_tool_lines_and_blank_lines() -> None:
    source = read_bytes(
        b'\n{"role": "user", "content": [{"type": "text", "text": "see"},'
        b' {"type": "image_url", "image_url": {"url": "data:x"}}]}\r\n\r\n'
        b'{"role": "tool", "tool_call_id": "c1", "content": "42"}'
    )
    assert [draft.message for draft in source.drafts] == [
        Message(Role.USER, (Text("see"), Image("data:x"))),
        Message(Role.TOOL, (ToolResult("c1", "42"),)),
    ]


def test_unstorable_characters_are_replaced_and_counted() -> None:
    source = read_bytes(
        b'{"role": "user", "name": "A\\u0000", "content": "x\\ud800y \\ud83d\\ude00", "extra": {"k\\udfff": "\\u0000"}}'
    )
    draft = source.drafts[0]
    assert source.replaced == 4
    assert draft.message == Message(Role.USER, (Text("x\ufffdy \N{GRINNING FACE}"),), "A\ufffd")
    assert draft.attributes.extra == {"k\ufffd": "\ufffd"}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"role": "user", "content": "never fini', "the line is cut off (not valid JSON)."),
        (b"hello", "the line is not valid JSON at column 1: expecting value."),
        (b"[]", "the line must hold an object, not a list."),
        (b'{"content": "x"}', '"role" is missing.'),
        (b'{"role": "user"}', '"content" is missing.'),
        (b'{"role": "user", "content": 3}', '"content" must be text, a list of parts or null, not a number.'),
        (b'{"role": "user", "content": "x", "name": 3}', '"name" must be text, not a number.'),
        (b'{"role": "user", "content": "x", "n": NaN}', "the number NaN is not allowed in JSON."),
        (b'{"role": "user", "content": "x", "n": ' + b"[" * 100_000, "the JSON is nested too deeply."),
        (
            b'{"role": "user", "content": "x", "n": ' + b"[" * 300 + b"]" * 300 + b"}",
            "a value is nested more than 200 levels deep.",
        ),
        (
            b'{"role": "user", "content": "' + b"x" * (17 << 20) + b'"}',
            "a message of 17.0 MB is too large; a message may have at most 16 MB.",
        ),
        (b'{"role": "user", "content": "\xff"}', "the file is not UTF-8 (byte 0xff at offset 64)."),
    ],
    ids=range(12),
)
def test_a_fault_names_its_line(line: bytes, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_bytes(GOOD + b"\n" + line + b"\n" + GOOD)
    assert str(caught.value) == f"chat.jsonl, line 3: {sentence}"
