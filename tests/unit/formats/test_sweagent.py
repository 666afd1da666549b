"""Trajectories of SWE-agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.core.messages import Message, Role, Text, Thinking, ToolCall, ToolResult
from previously.core.pairing import INTERRUPTED
from previously.formats import StorySource, read_story

CALL = {"id": "c1", "type": "function", "function": {"name": "open", "arguments": '{"path": "a.py"}'}}


def read(folder: Path, value: object, *, indent: int | None = None) -> StorySource:
    path = folder / "run.traj"
    path.write_text(json.dumps(value, indent=indent), "utf-8")
    return read_story(path)


@pytest.mark.parametrize("indent", [None, 2])
def test_with_native_calls(tmp_path: Path, indent: int | None) -> None:
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "Rules.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "agent": "main"},
        {"role": "assistant", "content": "I open it.", "thought": "I open it.", "action": "open a.py",
         "tool_calls": [CALL], "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]},
        {"role": "tool", "content": "1: x", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": None, "action": "submit", "tool_calls": [CALL | {"id": "c2"}]},
    ]  # fmt: skip
    steps = [{"action": "open a.py", "observation": "1: x", "state": {"open_file": "a.py"}, "execution_time": 0.2}]
    source = read(tmp_path, {"history": history, "trajectory": steps, "info": {"exit_status": "x"}}, indent=indent)
    assert source.format == "swe-agent"
    assert [draft.message for draft in source.drafts] == [
        Message(Role.SYSTEM, (Text("Rules."),)),
        Message(Role.USER, (Text("Fix it."),)),
        Message(Role.ASSISTANT, (Thinking("Hm."), Text("I open it."), ToolCall("c1", "open", '{"path": "a.py"}'))),
        Message(Role.TOOL, (ToolResult("c1", "1: x"),)),
        Message(Role.ASSISTANT, (ToolCall("c2", "open", '{"path": "a.py"}'),)),
        Message(Role.TOOL, (ToolResult("c2", INTERRUPTED, "error"),)),
    ]
    extra = source.drafts[2].attributes.extra
    assert (extra["action"], extra["step"]) == ("open a.py", {"state": {"open_file": "a.py"}, "execution_time": 0.2})
    assert extra["thinking_blocks"][0]["signature"] == "s"
    assert source.header == {"info": {"exit_status": "x"}}


def test_without_native_calls_it_stays_what_was_said(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Demo.", "is_demo": True},
        {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.", "action": "ls\n"},
        {"role": "user", "content": "a.py"},
        {"role": "nobody", "content": "?"},
        7,
    ]
    source = read(tmp_path, {"history": history})
    assert [draft.message.text for draft in source.drafts] == ["Demo.", "Look.\n```\nls\n```", "a.py"]
    assert source.drafts[0].attributes.extra["is_demo"] is True
    assert source.skipped == {"message nobody": 1, "message unknown": 1}


def test_a_trajectory_alone(tmp_path: Path) -> None:
    steps = [{"action": "ls", "observation": "a.py", "response": "Look: ls", "thought": "Look"}]
    source = read(tmp_path, {"trajectory": steps, "environment": "main"})
    assert [(draft.message.role, draft.message.text) for draft in source.drafts] == [
        (Role.ASSISTANT, "Look: ls"),
        (Role.USER, "a.py"),
    ]


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, {"history": []})
    assert str(caught.value).endswith("run.traj: there is no message in the trajectory.")
    (tmp_path / "cut.traj").write_text('{"history": [{"role"', "utf-8")
    with pytest.raises(BadInput, match="cut off"):
        read_story(tmp_path / "cut.traj")
    (tmp_path / "prose.traj").write_text("Once upon a time.", "utf-8")
    with pytest.raises(BadInput, match="not valid JSON"):
        read_story(tmp_path / "prose.traj")
