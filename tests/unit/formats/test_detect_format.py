"""The format is told by the content; any bytes at all give a story or one clear sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.json_values import MAX_MESSAGE_BYTES
from previously.formats import FORMATS, StorySource, read_story
from tests.effort import mark_slow

LINE = '{"role": "user", "content": "hi"}'
CHAT = '{"name": "Tamsin", "is_user": false, "mes": "hi", "swipes": ["hi", "ho"], "swipe_id": 0}'
HEADER = '{"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}'
BODY = '{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


@pytest.mark.parametrize("name", ["story", "story.txt", "story.json", "story.jsonl"])
@pytest.mark.parametrize(
    ("text", "format"),
    [
        (LINE, "jsonl"),
        (f"\n\n{LINE}\n{LINE}\n", "jsonl"),
        (f"\ufeff{LINE}", "jsonl"),
        (f"[{LINE}]", "openai"),
        (f"[\n{LINE}\n]\n", "openai"),
        (BODY, "openai"),
        (json.dumps(json.loads(BODY), indent=1), "openai"),
        (f"{{\n{BODY[1:]}", "openai"),
        (f"{HEADER}\n{CHAT}", "sillytavern"),
        (f'{{"user_name": "Jory", "character_name": "Tamsin"}}\n{CHAT}', "sillytavern"),
        (CHAT, "sillytavern"),
        ('{"system": "Be kind.", "messages": [{"role": "user", "content": "hi"}]}', "anthropic"),
        ('[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}]', "anthropic"),
        ('[{"type": "message", "role": "user", "content": "hi"}]', "responses"),
        ('[{"role": "user", "content": "hi"}, {"type": "reasoning", "summary": []}]', "responses"),
        ('{"model": "m", "input": "hi"}', "responses"),
        ('{\n"model": "m",\n"input": [{"role": "user", "content": "hi"}]}', "responses"),
        ('{"type": "user", "parentUuid": null, "uuid": "a", "message": {"content": "hi"}}', "claude-code"),
        ('{"type": "response_item", "payload": {"role": "user", "content": "hi"}}', "codex"),
        ('{"history": [{"role": "user", "content": "hi"}], "info": {}}', "swe-agent"),
        (
            '{"info": {}, "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}]}',
            "opencode",
        ),
        ('{"info": {}, "messages": [{"role": "user", "content": "hi"}]}', "openai"),
        ("Maya: hi", "text"),
        ("It was a dark night.", "text"),
        ('"Never," said Maya.', "text"),
        ("[Scene: a tavern]\nMaya: hi", "text"),
        ("[12:30] Maya waved.", "text"),
        ("[[Link]] to it", "text"),
        ("{{user}} waves.", "text"),
        ("{sighs} Well.", "text"),
        ("42", "text"),
        ("null", "text"),
    ],
)
def test_detection(tmp_path: Path, name: str, text: str, format: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    if format == "text" and "json" in name:
        with pytest.raises(BadInput):
            read_story(path)
        return
    source = read_story(path)
    assert source.format == format
    assert source == read_story(path, format)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LINE[:-5], ", line 1: the line is cut off (not valid JSON)."),
        (f"{LINE[:-1]}\n{LINE}", ", line 1: the line is cut off (not valid JSON)."),
        (f"\n{LINE}\n{CHAT}", ', line 3: "role" is missing.'),
        (f"{LINE}\n{LINE[:20]}", ", line 2: the line is cut off (not valid JSON)."),
        (f"{HEADER}\n{CHAT}\n{CHAT[:-9]}", ", line 3: the line is cut off (not valid JSON)."),
        (f"[{LINE}", ", line 1: the file is cut off (not valid JSON)."),
        ("[", ", line 1: the file is cut off (not valid JSON)."),
        ("{", ", line 1: the line is cut off (not valid JSON)."),
        ('{\n  "messages": [\n', ", line 2: the file is cut off (not valid JSON)."),
        ('{\n  "messages": [}\n', ", line 2: the file is not valid JSON at column 16: expecting value."),
        ("{\n" + '"a":{\n' * 100_000, ": the JSON is nested too deeply."),
        ('{"a":' * 100_000, ", line 1: the JSON is nested too deeply."),
        ("[{" + '"a":{' * 100_000, ": the JSON is nested too deeply."),
        ('{\n  "model": "m"\n}', ': "messages" is missing from the object that the file holds.'),
        ('{"role": "user", "content": NaN}', ", line 1: the number NaN is not allowed in JSON."),
        (
            '{"text": "hi"}',
            ', line 1: the format is not known, since the object has neither "role" nor "mes" nor "messages".',
        ),
        ("[]", ": there are no messages in the file."),
        ('{"messages": []}', ": there are no messages in the file."),
        (HEADER, ": there are no messages in the file."),
        ("\u00a0\n", ": there are no messages in the file."),
        ('["a"]', ", message 1 of 1: a message must be an object, not text."),
        (
            f"{BODY}\n{BODY}",
            ", line 2: a second JSON value begins here; a file holds one conversation, so split it first.",
        ),
    ],
    ids=range(22),
)
def test_broken_json_is_never_taken_for_text(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "story.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        read_story(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_python_literals_are_told_as_broken_json(tmp_path: Path) -> None:
    path = tmp_path / "story.jsonl"
    path.write_text("{'role': 'user'}")
    with pytest.raises(BadInput, match=r"story\.jsonl, line 1: the line is not valid JSON at column 2: [^\n]+\.$"):
        read_story(path)


def test_unknown_format() -> None:
    with pytest.raises(BadInput) as caught:
        read_story(Path("chat.jsonl"), "yaml")
    assert str(caught.value) == f'There is no format named "yaml"; use one of {", ".join(FORMATS)}.'


def test_the_name_is_shown_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chat.jsonl").write_text(f"{LINE}\n" * 40 + LINE[:12])
    with pytest.raises(BadInput) as caught:
        read_story(Path("chat.jsonl"))
    assert str(caught.value) == "chat.jsonl, line 41: the line is cut off (not valid JSON)."


def test_the_user_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text("Ines: a\nWick: b\n")
    assert [draft.message.role.value for draft in read_story(path, user="Ines").drafts] == ["user", "assistant"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_text, args=(f"{LINE}\n{LINE}\n",))
    writer.start()
    assert len(read_story(path).drafts) == 2
    writer.join()


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_VALUES = st.recursive(_SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3))
_KEYS = st.sampled_from(
    """role name content witnesses at id hidden extra tool_calls function_call tool_call_id reasoning refusal type
    text image_url function mes is_user is_system send_date swipes swipe_id swipe_info chat_metadata messages""".split()
)
_WORDS = st.sampled_from(["user", "assistant", "tool", "text", "image_url", "narrator", "\ud800"])
_OBJECTS = st.dictionaries(
    _KEYS,
    st.recursive(
        _VALUES | _WORDS, lambda v: st.lists(v, max_size=3) | st.dictionaries(_KEYS, v, max_size=4), max_leaves=8
    ),
)
_BYTES = st.one_of(
    st.binary(),
    st.text().map(str.encode),
    st.text('{}[]":,\\ \n\rAa1.：eu-').map(str.encode),
    st.lists(_OBJECTS.map(json.dumps), max_size=4).map(lambda lines: "\n".join(lines).encode()),
    st.lists(_OBJECTS, max_size=4).map(lambda value: json.dumps(value).encode()),
    _OBJECTS.map(lambda value: json.dumps(value, indent=1).encode()),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "file"


@pytest.mark.parametrize("format", [None, *mark_slow(*FORMATS, reason="the fuzzer tries 2,000 inputs of each")])
@given(data=_BYTES)
@example(data=b'{"role": "user", "content": "' + b"x" * MAX_MESSAGE_BYTES + b'y"}')
@example(data=b'{"mes": "x", "swipe_id": ' + b"9" * 4000 + b', "send_date": ' + b"9" * 4000 + b"}")
@example(data=b'[{"role": "assistant", "tool_calls": [{"function": {"name": "", "arguments": ' + b"[" * 900)
def test_any_bytes_give_a_source_or_bad_input(path: Path, format: str | None, data: bytes) -> None:
    path.write_bytes(data)
    try:
        source = read_story(path, format)
    except BadInput as error:
        sentence = str(error)
        assert sentence.startswith(str(path))
        assert sentence.endswith(".")
        assert sentence.isprintable()
    else:
        assert isinstance(source, StorySource)
        assert source.drafts or source.books or source.header, "a book alone, or a card without a greeting"
        for draft in source.drafts:
            repr(draft).encode()
            json.dumps(draft.attributes.extra, allow_nan=False).encode()


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("list.jsonl", "[1, 2]", "list.jsonl, line 1: the line must hold an object, not a list."),
        ("number.json", "42", "number.json: the file must hold a list of messages, not a number."),
        ("notes.json", "Maya: Hello.", "not valid JSON"),
    ],
)
def test_a_file_named_like_json_is_never_taken_for_text(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(BadInput) as caught:
        read_story(tmp_path / name)
    assert sentence in str(caught.value)
