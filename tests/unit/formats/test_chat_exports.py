"""Exports of ChatGPT and Claude: many conversations, each a tree."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.core.messages import Role, Thinking, ToolCall, ToolResult
from previously.formats import StorySource, detect_format, open_story, read_story


def said(ident: str, parent: str | None, role: str, text: str, **more: Any) -> tuple[str, dict[str, Any]]:
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    message = {"id": ident, "author": {"role": role}, "content": content, "create_time": 1_700_000_000.5} | more
    return ident, {"id": ident, "message": message, "parent": parent, "children": []}


def talk(title: str, ident: str, current: str | None, *nodes: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    mapping = {"root": {"id": "root", "message": None, "parent": None}, **dict(nodes)}
    return {"title": title, "conversation_id": ident, "mapping": mapping, "current_node": current, "model": "m"}


TREE = talk(
    "The mill", "abcdef12-3456", "d",
    said("a", "root", "user", "Who is there?"),
    said("b", "a", "assistant", "Finn."),
    said("b2", "a", "assistant", "Nobody."),
    said("c", "b", "user", "Come in."),
    said("d", "c", "assistant", "He comes."),
    said("c2", "b", "user", "Go away."),
    said("d2", "c2", "assistant", "He goes."),
)  # fmt: skip


def read(folder: Path, value: object) -> StorySource:
    path = folder / "conversations.json"
    path.write_text(json.dumps(value), "utf-8")
    return read_story(path)


def list_texts(source: StorySource) -> list[str]:
    return [draft.message.text for draft in source.drafts]


def test_the_tree_is_a_path_with_swipes_and_branches(tmp_path: Path) -> None:
    source = read(tmp_path, [TREE])
    assert source.format == "chatgpt"
    assert list_texts(source) == ["Who is there?", "Finn.", "Come in.", "He comes."]
    assert [one.message.text for one in source.drafts[1].alternatives] == ["Nobody."]
    (branch,) = source.branches
    assert (branch.name, branch.at) == ("branch d2", 2)
    assert [draft.message.text for draft in branch.drafts] == ["Go away.", "He goes."]
    assert source.header["chatgpt"]["title"] == "The mill"
    assert source.drafts[0].attributes.at == "2023-11-14T22:13:20.500+00:00"


def test_every_conversation_is_a_story_named_by_title_and_id(tmp_path: Path) -> None:
    empty = talk("Nothing", "e", None)
    source = read(tmp_path, [TREE, talk("", "ffff0000-1", "x", said("x", "root", "user", "Hi.")), TREE, empty, 5])
    assert [other.name for other in source.others] == ["The mill abcdef12", "ffff0000", "The mill abcdef12 2"]
    assert source.skipped == {"empty conversation": 1, "no conversation": 1}


def test_calls_thoughts_and_contents_of_other_kinds(tmp_path: Path) -> None:
    source = read(tmp_path, talk(
        "Tools", "t1", "f",
        said("s", "root", "system", "", content={"content_type": "user_editable_context", "user_profile": "I am Ada."}),
        said("a", "s", "user", "", content={"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}, "What is this?"]}),
        said("b", "a", "assistant", "", content={"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}),
        said("c", "b", "assistant", "", content={"content_type": "code", "text": "1 + 1"}, recipient="python"),
        said("d", "c", "tool", "", content={"content_type": "execution_output", "text": "2"}),
        said("e", "d", "assistant", "", content={"content_type": "text", "parts": [""]}),
        said("f", "e", "assistant", "Two."),
    ))  # fmt: skip
    parts = [draft.message.parts for draft in source.drafts]
    assert source.drafts[0].attributes.hidden and source.drafts[0].message.text == "I am Ada."
    assert source.drafts[1].message.text == "[image_asset_pointer]\n\nWhat is this?"
    assert parts[2:5] == [(Thinking("Hm."),), (ToolCall("c", "python", "1 + 1"),), (ToolResult("c", "2"),)]
    assert source.drafts[-1].message.text == "Two."
    assert source.skipped == {"message without words": 1}


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    source = read(tmp_path, talk("Loop", "l", "b", said("a", "b", "user", "One."), said("b", "a", "user", "Two.")))
    assert sorted(list_texts(source)) == ["One.", "Two."]


CLAUDE = {
    "uuid": "11112222-3",
    "name": "The key",
    "chat_messages": [
        {"uuid": "a", "sender": "human", "text": "Where is it?", "created_at": "2024-05-01T10:00:00Z",
         "attachments": [{"file_name": "map.txt", "extracted_content": "North."}], "files": []},
        {"uuid": "b", "sender": "assistant", "text": "", "content": [
            {"type": "thinking", "thinking": "Look."},
            {"type": "tool_use", "id": "t", "name": "search", "input": {"q": "key"}},
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Under the stone."}]},
            {"type": "text", "text": "Under the stone."}]},
    ],
}  # fmt: skip


def test_claude_has_messages_with_calls_and_files(tmp_path: Path) -> None:
    source = read(tmp_path, [CLAUDE])
    assert source.format == "claude"
    assert [draft.message.role for draft in source.drafts] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert source.drafts[0].message.text == "Where is it?\n\nmap.txt:\nNorth."
    assert source.drafts[1].message.parts == (Thinking("Look."), ToolCall("t", "search", '{"q": "key"}'))
    assert [draft.attributes.source_id for draft in source.drafts] == ["a", "b", "b-1", "b-2"]


def test_messages_of_claude_may_form_a_tree(tmp_path: Path) -> None:
    lines = [("a", None, "human"), ("b", "a", "assistant"), ("c", "a", "assistant")]
    messages = [{"uuid": one, "parent_message_uuid": parent, "sender": who, "text": one} for one, parent, who in lines]
    source = read(tmp_path, [{"uuid": "x", "name": "", "chat_messages": messages}])
    assert list_texts(source) == ["a", "c"]
    assert [one.message.text for one in source.drafts[1].alternatives] == ["b"]


def test_the_zip_file_of_an_export(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        archive.writestr("conversations-000.json", json.dumps([TREE]))
        archive.writestr("conversations-001.json", json.dumps([CLAUDE]))
    assert [other.name for other in read_story(path).others] == ["The mill abcdef12", "The key 11112222"]


def test_an_export_without_messages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no conversation with messages"):
        read(tmp_path, [talk("Nothing", "e", None)])


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("chunk", [50, 1_000_000])
def test_a_large_export_is_read_conversation_by_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, chunk: int
) -> None:
    monkeypatch.setattr(detect_format, "LARGE", 1)
    monkeypatch.setattr("previously.formats.chat_exports.CHUNK", chunk)
    asked = said("x", "root", "assistant", "{}", recipient="python")  # a call that never got its result
    path = tmp_path / "conversations.json"
    values = [TREE, talk("", "ffff0000-1", "x", asked), TREE, talk("Nothing", "e", None), 5]
    path.write_text(json.dumps(values, indent=indent), "utf-8")
    whole, source = read_story(path), open_story(path)
    assert source.stories is not None and not source.others
    assert [tuple(source.stories), tuple(source.stories)] == [whole.others, whole.others]
    assert (source.skipped, source.format) == (whole.skipped, whole.format)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([TREE]),
        json.dumps([TREE, TREE])[:-9],
        json.dumps([TREE, TREE]) + "[]",
        json.dumps([TREE, TREE]).replace("Finn", "\\x"),
        "[Scene: a mill]\n\nFinn: Hi.",
    ],
)
def test_what_is_no_export_of_several_conversations_is_read_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(detect_format, "LARGE", 1)
    path = tmp_path / "conversations.json"
    path.write_text(text, "utf-8")
    try:
        whole = read_story(path)
    except BadInput as error:
        with pytest.raises(BadInput) as raised:
            open_story(path)
        assert str(raised.value) == str(error)
    else:
        assert open_story(path) == whole
