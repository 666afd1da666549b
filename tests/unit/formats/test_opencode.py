"""Sessions of opencode: exported, as a tree of files, and in a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from previously.core.errors import BadInput
from previously.core.messages import FAILED, Error, Image, Message, Role, Text, Thinking, ToolCall, ToolResult
from previously.core.pairing import INTERRUPTED
from previously.formats import StorySource, read_story

Item = dict[str, Any]
SESSION: Item = {"id": "ses_1", "title": "A fix", "directory": "/work", "time": {"created": 1, "updated": 2}}


def part(number: int, type_: str, **more: object) -> Item:
    return {"id": f"prt_{number}", "type": type_, **more}


def tool(number: int, call: str, **state: object) -> Item:
    return part(number, "tool", callID=call, tool="bash", state={"input": {"command": "ls"}, **state})


def message(number: int, role: str, parts: list[Item], **more: object) -> Item:
    created = 1_760_000_000_000 + number
    return {"info": {"id": f"msg_{number}", "role": role, "time": {"created": created}, **more}, "parts": parts}


CONVERSATION = [
    message(1, "user", [part(1, "text", text="Hi."), part(2, "text", text="<file>", synthetic=True)]),
    message(
        2,
        "assistant",
        [
            part(3, "step-start"),
            part(4, "reasoning", text="Hm."),
            part(5, "text", text="I look."),
            tool(6, "c1", status="completed", output="a\nb", title="ls", time={"start": 1, "end": 2}),
            tool(7, "c2", status="error", error="no"),
            part(8, "step-finish", tokens={"input": 3}),
            part(9, "step-start"),
            part(10, "text", text="Done."),
        ],
        cost=0.5,
    ),
]


def exported(folder: Path, messages: list[Item], session: Item = SESSION) -> StorySource:
    path = folder / "export.json"
    path.write_text(json.dumps({"info": session, "messages": messages}), "utf-8")
    return read_story(path)


def test_an_exported_session(tmp_path: Path) -> None:
    source = exported(tmp_path, CONVERSATION)
    assert source.format == "opencode"
    command = '{"command": "ls"}'
    assert [draft.message for draft in source.drafts] == [
        Message(Role.USER, (Text("Hi."),)),
        Message(
            Role.ASSISTANT,
            (Thinking("Hm."), Text("I look."), ToolCall("c1", "bash", command), ToolCall("c2", "bash", command)),
        ),
        Message(Role.TOOL, (ToolResult("c1", "a\nb"), ToolResult("c2", "no", FAILED))),
        Message(Role.ASSISTANT, (Text("Done."),)),
    ]
    assert [draft.attributes.source_id for draft in source.drafts] == ["msg_1", "msg_2", "msg_2/results", "msg_2/1"]
    assert source.drafts[0].attributes.at == "2025-10-09T08:53:20.001+00:00"
    assert source.drafts[0].attributes.extra["opencode"]["parts"][0]["text"] == "<file>"
    assert source.drafts[1].attributes.extra["opencode"]["cost"] == 0.5
    assert source.drafts[2].attributes.extra["opencode"]["states"][0]["title"] == "ls"
    assert source.header == SESSION


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_call_that_did_not_end_was_interrupted(tmp_path: Path, status: str) -> None:
    source = exported(tmp_path, [message(1, "assistant", [tool(1, "c1", status=status)])])
    assert source.drafts[-1].message.parts == (ToolResult("c1", INTERRUPTED, FAILED),)


def test_pictures_errors_and_compaction(tmp_path: Path) -> None:
    picture = {"mime": "image/png", "url": "data:image/png;base64,AA"}
    source = exported(
        tmp_path,
        [
            message(1, "user", [part(1, "file", **picture, filename="a.png")]),
            message(2, "assistant", [tool(2, "c1", status="completed", output="", attachments=[picture])]),
            message(3, "user", [part(3, "compaction", auto=True)]),
            message(4, "assistant", [part(4, "text", text="So far.")], summary=True),
            message(5, "assistant", [], error={"name": "APIError", "data": {"message": "busy"}}),
            message(6, "alien", []),
        ],
    )
    assert source.drafts[0].message.parts == (Image("data:image/png;base64,AA", "a.png"),)
    assert source.drafts[2].message.parts == (ToolResult("c1", ""), Image("data:image/png;base64,AA"))
    marks = [draft.attributes.extra.get("compaction") for draft in source.drafts]
    assert marks == [None, None, None, "request", "summary", None]
    assert source.drafts[5].message.parts == (Error("APIError: busy"),)
    assert source.skipped == {"message alien": 1}


def test_what_was_reverted_is_a_branch(tmp_path: Path) -> None:
    more = [
        message(3, "user", [part(11, "text", text="Worse.")]),
        message(4, "assistant", [part(12, "text", text="Oh.")]),
    ]
    source = exported(tmp_path, [*CONVERSATION, *more], SESSION | {"revert": {"messageID": "msg_3"}})
    assert [draft.message.text for draft in source.drafts] == ["Hi.", "I look.", "", "Done."]
    (branch,) = source.branches
    assert (branch.name, branch.at) == ("reverted", 4)
    assert [draft.message.text for draft in branch.drafts] == ["Worse.", "Oh."]


def test_a_revert_inside_a_message(tmp_path: Path) -> None:
    source = exported(tmp_path, CONVERSATION, SESSION | {"revert": {"messageID": "msg_2", "partID": "prt_9"}})
    assert [draft.message.text for draft in source.drafts] == ["Hi.", "I look.", ""]
    assert [draft.message.text for draft in source.branches[0].drafts] == ["Done."]


def test_all_reverted_leaves_what_was_said(tmp_path: Path) -> None:
    source = exported(tmp_path, CONVERSATION, SESSION | {"revert": {"messageID": "msg_1"}})
    assert len(source.drafts) == 4
    assert source.branches == ()


def stored(folder: Path, session: Item, messages: list[Item]) -> Path:
    storage = folder / "storage"
    file = storage / "session" / "proj" / f"{session['id']}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(session), "utf-8")
    for one in messages:
        (storage / "message" / session["id"]).mkdir(parents=True, exist_ok=True)
        (storage / "message" / session["id"] / f"{one['info']['id']}.json").write_text(json.dumps(one["info"]), "utf-8")
        parts = storage / "part" / one["info"]["id"]
        parts.mkdir(parents=True, exist_ok=True)
        for number, its_part in enumerate(one["parts"]):
            (parts / f"prt_{number:03}.json").write_text(json.dumps(its_part), "utf-8")
    return file


def test_the_file_of_a_session_brings_its_messages_and_sub_agents(tmp_path: Path) -> None:
    file = stored(tmp_path, SESSION, CONVERSATION)
    child = message(9, "user", [part(20, "text", text="Search.")])
    stored(tmp_path, SESSION | {"id": "ses_2", "parentID": "ses_1"}, [child])
    (tmp_path / "storage" / "message" / "ses_1" / "msg_9.json").write_text("{", "utf-8")
    source = read_story(file)
    assert source.drafts == exported(tmp_path, CONVERSATION).drafts
    assert source.skipped == {"broken file": 1}
    assert [(one.name, len(one.source.drafts)) for one in source.others] == [("agent-ses_2", 1)]


def test_a_folder_gives_every_session_by_its_id(tmp_path: Path) -> None:
    stored(tmp_path, SESSION, CONVERSATION)
    stored(tmp_path, SESSION | {"id": "ses_0"}, [message(9, "user", [part(20, "text", text="Old.")])])
    stored(tmp_path, SESSION | {"id": "ses_empty"}, [])
    for folder in (tmp_path, tmp_path / "storage"):
        source = read_story(folder)
        assert source.drafts == []
        assert [(one.name, len(one.source.drafts)) for one in source.others] == [("ses_0", 1), ("ses_1", 4)]


def database(path: Path, messages: list[Item], session: Item) -> Path:
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, revert TEXT, time_created INTEGER);"
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, data TEXT)"
    )
    revert = json.dumps(session["revert"]) if "revert" in session else None
    connection.execute("INSERT INTO session VALUES (?, NULL, 'A fix', ?, 1)", (session["id"], revert))
    connection.execute("INSERT INTO session_message VALUES ('x', ?, 'user', 0, '{}')", (session["id"],))
    number = 0
    for one in messages:
        info = dict(one["info"])
        message_id = info.pop("id")
        row = (message_id, session["id"], info["time"]["created"], json.dumps(info))
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
        for its_part in one["parts"]:
            number += 1
            held = {name: value for name, value in its_part.items() if name != "id"}
            part_row = (its_part["id"], message_id, session["id"], number, json.dumps(held))
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", part_row)
    connection.execute("INSERT INTO message VALUES ('broken', ?, 9, '{')", (session["id"],))
    connection.close()
    return path


def test_a_database_gives_the_same_messages(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", CONVERSATION, SESSION | {"revert": {"messageID": "msg_2"}})
    before = path.read_bytes()
    source = read_story(path)
    (only,) = source.others
    assert (source.drafts, only.name) == ([], "ses_1")
    whole = exported(tmp_path, CONVERSATION, SESSION | {"revert": {"messageID": "msg_2"}})
    assert [draft.message for draft in only.source.drafts] == [draft.message for draft in whole.drafts]
    assert [draft.message for draft in only.source.branches[0].drafts] == [
        draft.message for draft in whole.branches[0].drafts
    ]
    assert only.source.skipped == {"broken row": 1, "session_message": 1}
    assert path.read_bytes() == before


def test_faults(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    apsw.Connection(str(other)).execute("CREATE TABLE x (y)")
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\x00 and then nothing of the kind")
    empty = database(tmp_path / "empty.db", [], SESSION)
    lone = tmp_path / "lone.json"
    lone.write_text(json.dumps(SESSION), "utf-8")
    for path, sentence in (
        (other, "this is a database of another program, not one of opencode."),
        (broken, "the database cannot be read (file is not a database)."),
        (empty, "there is no session with messages."),
        (lone, "there are no messages beside this session; import it in its storage folder."),
        (tmp_path, "this is a directory, not a file."),
    ):
        with pytest.raises(BadInput) as caught:
            read_story(path)
        assert str(caught.value) == f"{path}: {sentence}"
