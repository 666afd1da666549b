"""A JSON document or an archive that is read as it goes gives what the same file gives when it is held as a whole."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.formats import chat_exports, detect_format, log_stream, open_story, read_story, request_stream
from previously.formats.files import StorySource
from previously.formats.json_array import UnevenList
from tests.effort import cases
from tests.property.formats.test_damaged_transcripts import ANYTHING, places

Item = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(detect_format, "LARGE", 1)
        patched.setattr(log_stream, "MOST_HELD", 6)
        patched.setattr(request_stream, "CHUNK", 64)
        patched.setattr(chat_exports, "CHUNK", 64)
        yield tmp_path_factory.mktemp("documents")


def compare(path: Path, format: str | None = None) -> StorySource | None:
    """Check that both ways to read give the same; return what is read as it goes, if it is."""
    try:
        whole = read_story(path, format)
    except BadInput as error:
        with pytest.raises(BadInput) as raised:
            list(open_story(path, format).stream or ())
        assert str(raised.value) == str(error)
        return None
    source = open_story(path, format)
    if source.stories:
        for _ in range(2):
            assert tuple(source.stories) == whole.others
            assert (source.format, source.header, source.skipped) == (whole.format, whole.header, whole.skipped)
        return source
    if source.stream is None:
        assert source == whole
        return None
    for _ in range(2):
        assert list(source.stream) == whole.drafts
        assert source.stream.replaced + source.replaced == whole.replaced
    assert (source.format, source.header, source.skipped) == (whole.format, whole.header, whole.skipped)
    assert not (whole.branches or whole.others)
    return source


def make_chat(step: str, at: int) -> list[Item]:
    call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": f"c{at}", "content": "a well"}
    match step:
        case "calls":
            return [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]
        case "late":
            return [{"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": "Wait."}, answer]
        case "unanswered":
            return [{"role": "assistant", "content": "Hm.", "tool_calls": [call]}]
        case "of no call":
            return [answer]
        case "parts":
            return [{"role": "user", "content": [{"type": "text", "text": f"See {at}.\0"}]}]
    return [{"role": step, "content": f"Words {at}.\0"}]


def make_anthropic(step: str, at: int) -> list[Item]:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": f"c{at}", "name": "look", "input": {}}]}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{at}", "content": "a well"}]}
    match step:
        case "calls":
            return [asked, answer]
        case "late":
            return [asked, {"role": "user", "content": "Wait."}, answer]
        case "unanswered":
            return [asked]
        case "of no call":
            return [answer]
        case "parts":
            return [{"role": "user", "content": [{"type": "text", "text": f"See {at}."}]}]
    return [{"role": step if step != "system" else "user", "content": f"Words {at}.\0"}]


def make_items(step: str, at: int) -> list[Item]:
    call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": f"c{at}"}
    answer = {"type": "function_call_output", "call_id": f"c{at}", "output": "a well"}
    match step:
        case "calls":
            return [call, answer]
        case "late":
            return [call, {"role": "user", "content": "Wait."}, answer]
        case "unanswered":
            return [call]
        case "of no call":
            return [answer]
        case "parts":
            return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"See {at}."}]}]
    return [{"role": step, "content": f"Words {at}.\0"}]


MAKERS = {"openai": make_chat, "anthropic": make_anthropic, "responses": make_items}
STEPS = ["user", "assistant", "user", "assistant", "system", "calls", "late", "unanswered", "of no call", "parts"]
BESIDE: dict[str, list[Item]] = {
    "openai": [{}, {"model": "m\0"}],
    "anthropic": [{}, {"system": "Be brief."}, {"system": [{"type": "text", "text": "Be brief."}], "model": "m"}],
    "responses": [{}, {"instructions": "Be brief.", "model": "m"}, {"instructions": 4}],
}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(list(MAKERS)))
    steps = draw(st.lists(st.sampled_from(STEPS), max_size=10))
    items = [item for at, step in enumerate(steps) for item in MAKERS[name](step, at)]
    if draw(st.booleans()):
        return name, items
    beside = draw(st.sampled_from(BESIDE[name]))
    half = len(items) // 2
    lists: Item = {"messages": items} if name != "responses" else {"input": items[:half], "output": items[half:]}
    return name, draw(st.sampled_from([{**beside, **lists}, {**lists, **beside}]))


def write(path: Path, value: object, indent: int | None = None) -> Path:
    path.write_text(json.dumps(value, indent=indent), "utf-8")
    return path


@settings(max_examples=cases(300))
@given(request=requests(), named=st.booleans(), indent=st.sampled_from([None, 1]))
def test_any_request(folder: Path, request: tuple[str, Any], named: bool, indent: int | None) -> None:
    name, value = request
    compare(write(folder / "request.json", value, indent), name if named else None)


@settings(max_examples=cases(200))
@given(request=requests(), data=st.data())
def test_a_request_with_anything_anywhere(folder: Path, request: tuple[str, Any], data: st.DataObject) -> None:
    value = copy.deepcopy(request[1])
    where = places(value)
    if where:
        *path, last = data.draw(st.sampled_from(where))
        target: Any = value
        for key in path:
            target = target[key]
        target[last] = copy.deepcopy(data.draw(ANYTHING))
    compare(write(folder / "request.json", value), data.draw(st.sampled_from([None, request[0]])))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("step", ["user", "calls", "late", "unanswered", "parts"])
def test_an_ordinary_request_is_read_as_it_goes(folder: Path, name: str, step: str) -> None:
    items = [item for at, one in enumerate(["user", step, "user", step]) for item in MAKERS[name](one, at)]
    field = "input" if name == "responses" else "messages"
    for value in (items, {field: items, **BESIDE[name][1]}):
        source = compare(write(folder / "request.json", value), name)
        assert source is not None and source.stream is not None


def make_conversation(number: int, texts: list[str]) -> Item:
    messages = [
        {"uuid": f"m{at}", "sender": "human" if at % 2 else "assistant", "text": text} for at, text in enumerate(texts)
    ]
    return {"uuid": f"c{number}", "name": f"Night {number % 2}", "chat_messages": messages}


CONVERSATIONS = st.lists(
    st.lists(st.text(max_size=5), max_size=3).map(lambda texts: make_conversation(len(texts), texts)) | ANYTHING,
    max_size=5,
)


@settings(max_examples=cases(200))
@given(files=st.lists(CONVERSATIONS, min_size=1, max_size=3), wrapped=st.booleans(), mark=st.booleans())
def test_any_export_in_its_archive(folder: Path, files: list[list[Any]], wrapped: bool, mark: bool) -> None:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, conversations in enumerate(files):
            value = {"about": 1, "conversations": conversations} if wrapped else conversations
            data = json.dumps(value).encode("utf-8-sig" if mark else "utf-8")
            archive.writestr(f"conversations-{number}.json", data)
    compare(path)


def test_an_ordinary_archive_is_read_as_it_goes(folder: Path) -> None:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"conversations-{number}.json", json.dumps([make_conversation(number, ["Hello.", "Hi."])]))
    source = compare(path)
    assert source is not None and source.stories is not None
    assert [story.name for story in source.stories] == ["Night 0 c0", "Night 1 c1", "Night 0 c2"]


def test_a_bomb_in_an_archive_is_refused(folder: Path) -> None:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * 20_000_000 + b"]")
    with pytest.raises(BadInput, match="too large when it is unpacked"):
        open_story(path)


def test_an_archive_that_is_cut_off_is_refused(folder: Path) -> None:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([make_conversation(n, ["Hello."]) for n in range(9)]))
    data = bytearray(path.read_bytes())
    data[200:210] = b"0123456789"  # the checksum tells
    path.write_bytes(data)
    with pytest.raises(BadInput, match="cannot be read"):
        open_story(path)


def test_a_document_of_another_kind_is_left_where_its_list_begins() -> None:
    chunks = iter([b'{"messages": [{"role": "user"}', b', {"role": "user"}', b"]}"])
    with pytest.raises(UnevenList):
        list(chat_exports._split_file(chunks))
    assert list(chunks) == [b', {"role": "user"}', b"]}"]


def test_an_archive_is_large_by_what_it_may_unpack_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        conversations = [make_conversation(number, ["Hello."] * 40) for number in range(40)]
        archive.writestr("conversations.json", json.dumps(conversations))
    monkeypatch.setattr(detect_format, "LARGE", 2 * path.stat().st_size)
    assert open_story(path).stories is not None
