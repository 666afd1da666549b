"""SillyTavern chats, in the shapes SillyTavern really writes."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from previously.core.digests import digest
from previously.core.errors import BadInput
from previously.core.messages import Message, Role, Text, Thinking
from previously.formats.files import Document, StorySource
from previously.formats.sillytavern import find_shown_swipe, parse_line, read

HEADER = {
    "chat_metadata": {"integrity": "5f1c", "note_prompt": "", "timedWorldInfo": {"sticky": {}}, "tainted": True},
    "user_name": "unused",
    "character_name": "unused",
}
GREETING = {
    "name": "Tamsin",
    "is_user": False,
    "is_system": False,
    "send_date": "2026-04-02T08:00:00.000Z",
    "mes": "Tamsin waves Jory over to the oven.",
    "extra": {},
    "swipe_id": 0,
    "swipes": ["Tamsin waves {{user}} over to the oven.", "The bakery is shut, but Tamsin is inside."],
    "swipe_info": [
        {"send_date": "2026-04-02T08:00:00.000Z", "extra": {}},
        {"send_date": "2026-04-02T08:00:00.000Z", "extra": {}},
    ],
}
QUESTION = {
    "name": "Jory",
    "is_user": True,
    "is_system": False,
    "send_date": "2026-04-02T08:01:00.000Z",
    "mes": "Is there any bread left?",
    "extra": {"isSmallSys": False, "reasoning": ""},
    "force_avatar": "/thumbnail?type=persona&file=jory.png",
}
ANSWER = {
    "extra": {"api": "custom", "model": "m-1", "reasoning": "He looks hungry.", "reasoning_duration": 562},
    "name": "Tamsin",
    "is_user": False,
    "send_date": "2026-04-02T08:01:30.000Z",
    "mes": "Two rolls, and one is mine.",
    "title": "",
    "gen_started": "2026-04-02T08:01:05.000Z",
    "gen_finished": "2026-04-02T08:01:30.000Z",
    "swipes": ["Not a crumb.", "Two rolls, and one is mine."],
    "swipe_id": 1,
    "swipe_info": [
        {
            "send_date": "2026-04-02T08:01:10.000Z",
            "gen_started": None,
            "gen_finished": None,
            "extra": {"reasoning": "He can wait.", "model": "m-1"},
        },
        {
            "send_date": "2026-04-02T08:01:30.000Z",
            "gen_started": "2026-04-02T08:01:05.000Z",
            "gen_finished": "2026-04-02T08:01:30.000Z",
            "extra": {"api": "custom", "model": "m-1", "reasoning": "He looks hungry.", "reasoning_duration": 562},
        },
    ],
    "is_system": False,
}


def lines(*items: object) -> bytes:
    return "\n".join(json.dumps(item) for item in items).encode()


def read_bytes(data: bytes) -> StorySource:
    return read(Document("chat.jsonl", BytesIO(data)))


def test_a_whole_chat() -> None:
    source = read_bytes(lines(HEADER, GREETING, QUESTION, ANSWER))
    assert (source.format, source.header, source.replaced) == ("sillytavern", HEADER, 0)
    assert [draft.message for draft in source.drafts] == [
        Message(Role.ASSISTANT, (Text("Tamsin waves Jory over to the oven."),), "Tamsin"),
        Message(Role.USER, (Text("Is there any bread left?"),), "Jory"),
        Message(Role.ASSISTANT, (Thinking("He looks hungry."), Text("Two rolls, and one is mine.")), "Tamsin"),
    ]
    assert [[other.message.text for other in draft.alternatives] for draft in source.drafts] == [
        ["The bakery is shut, but Tamsin is inside."],
        [],
        ["Not a crumb."],
    ]
    assert [draft.attributes.at for draft in source.drafts] == [
        "2026-04-02T08:00:00.000Z",
        "2026-04-02T08:01:00.000Z",
        "2026-04-02T08:01:30.000Z",
    ]
    other = source.drafts[2].alternatives[0]
    assert other.attributes.at == "2026-04-02T08:01:10.000Z"
    assert other.attributes.extra["sillytavern"]["swipe_info"]["extra"]["model"] == "m-1"


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        {"user_name": "Jory", "character_name": "Tamsin", "create_date": "2023-6-5 @10h 30m 12s 123ms"},
        {"chat_metadata": {}},
    ],
)
def test_headers_old_and_new(header: dict[str, Any]) -> None:
    source = read_bytes(b"\n" + lines(header, QUESTION))
    assert (source.header, len(source.drafts)) == (header, 1)


def test_no_header() -> None:
    source = read_bytes(lines(QUESTION, ANSWER))
    assert (source.header, len(source.drafts)) == ({}, 2)


def test_a_reply_is_the_same_message_whichever_swipe_is_shown() -> None:
    switched = ANSWER | {
        "mes": "Not a crumb.",
        "swipe_id": 0,
        "extra": {"reasoning": "He can wait.", "model": "m-1"},
        "send_date": "2026-04-02T08:01:10.000Z",
    }
    one, two = parse_line(ANSWER), parse_line(switched)
    assert digest(one.alternatives[0].message) == digest(two.message)
    assert digest(two.alternatives[0].message) == digest(one.message)


@pytest.mark.parametrize(
    ("changes", "role", "hidden"),
    [
        ({"is_user": True}, Role.USER, False),
        ({"is_user": False}, Role.ASSISTANT, False),
        ({}, Role.ASSISTANT, False),
        ({"is_system": True}, Role.ASSISTANT, True),
        ({"is_user": True, "is_system": True}, Role.USER, True),
        ({"is_system": ""}, Role.ASSISTANT, False),
        ({"is_system": None}, Role.ASSISTANT, False),
        ({"is_system": "", "extra": {"type": "narrator"}}, Role.SYSTEM, False),
        ({"is_system": True, "extra": {"type": "narrator"}}, Role.SYSTEM, True),
        ({"is_system": True, "extra": {"type": "comment"}}, Role.ASSISTANT, True),
        ({"is_system": True, "extra": {"isSmallSys": True, "tool_invocations": [{"id": "c"}]}}, Role.ASSISTANT, True),
        ({"extra": None}, Role.ASSISTANT, False),
        ({"extra": ["odd"]}, Role.ASSISTANT, False),
    ],
)
def test_roles_and_hidden_messages(changes: dict[str, Any], role: Role, hidden: bool) -> None:
    draft = parse_line({"name": "Someone", "mes": "Some words."} | changes)
    assert (draft.message.role, draft.attributes.hidden) == (role, hidden)


@pytest.mark.parametrize(
    ("swipes", "swipe_id", "shown", "alternatives"),
    [
        (["a", "b", "c"], 1, 1, ["a", "c"]),
        (["b"], 0, 0, []),
        ([], 0, None, []),
        (None, 0, None, []),
        ("b", 0, None, []),
        (["{{b}}", "c"], 0, 0, ["c"]),  # an earlier form of what is shown
        (["b", "c"], 1, 0, ["c"]),  # the number is wrong, the text is right
        (["a", "b"], 7, 1, ["a"]),
        (["a", "c"], 7, None, ["a", "c"]),
        (["a", "c"], -1, None, ["a", "c"]),
        (["a", "c"], "1", None, ["a", "c"]),
        (["a", "c"], None, None, ["a", "c"]),
        (["a", "c"], True, None, ["a", "c"]),
        (["a", "b", "a", "b", "", " "], 1, 1, ["a"]),  # repeated and blank ones are no other replies
        (["a", 3, None, "b"], 3, 3, ["a"]),
    ],
)
def test_swipes(swipes: Any, swipe_id: Any, shown: int | None, alternatives: list[str]) -> None:
    item = {"name": "T", "mes": "b", "swipes": swipes, "swipe_id": swipe_id}
    assert find_shown_swipe(item) == shown
    shapes: list[Any] = [None, [], {}, [{"send_date": "x"}, 3]]
    for infos in shapes:
        draft = parse_line(item | {"swipe_info": infos})
        assert [other.message.text for other in draft.alternatives] == alternatives


def test_a_swipe_without_its_number_is_the_first() -> None:
    assert find_shown_swipe({"mes": "b", "swipes": ["{{b}}", "c"]}) == 0


@pytest.mark.parametrize(
    ("sent", "at"),
    [
        ("June 5, 2023 10:30pm", "2023-06-05T22:30:00"),
        (1685961000123, "2023-06-05T10:30:00.123+00:00"),
        ("some day", "some day"),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
    ],
)
def test_times(sent: object, at: str | None) -> None:
    assert parse_line({"mes": "x", "send_date": sent}).attributes.at == at


def test_replaced_characters_are_counted_in_header_and_swipes() -> None:
    source = read_bytes(
        b'{"chat_metadata": {"a": "\\ud800"}}\n{"mes": "x", "swipes": ["x", "y\\u0000"], "swipe_id": 0, "t": "\\udfff"}'
    )
    assert source.replaced == 3
    assert source.header == {"chat_metadata": {"a": "\ufffd"}}
    assert source.drafts[0].alternatives[0].message.text == "y\ufffd"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"name": "Tamsin", "mes": "Two ro', "the line is cut off (not valid JSON)."),
        (b'{"name": "Tamsin"}', '"mes" is missing.'),
        (b'{"mes": null}', '"mes" must be text, not null.'),
        (b'{"mes": "x", "name": 3}', '"name" must be text, not a number.'),
        (b"[]", "the line must hold an object, not a list."),
        (b'{"chat_metadata": {}}', '"mes" is missing.'),
        (b'{"mes": "x", "swipes": ["x", "' + b"y" * (17 << 20) + b'"]}',
         "a message of 17.0 MB is too large; a message may have at most 16 MB."),
        (b'{"mes": "x", "y": ' + b"[" * 300 + b"]" * 300 + b"}", "a value is nested more than 200 levels deep."),
    ],
    ids=range(8),
)  # fmt: skip
def test_a_fault_names_its_line(line: bytes, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_bytes(lines(HEADER, QUESTION) + b"\n" + line)
    assert str(caught.value) == f"chat.jsonl, line 3: {sentence}"
