"""Rollouts of Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.core.messages import Role, Text, Thinking, ToolCall, ToolResult
from previously.core.pairing import INTERRUPTED
from previously.formats import StorySource, read_story
from previously.wire.responses import write_item

Line = dict[str, Any]
META: Line = {"timestamp": "t0", "type": "session_meta", "payload": {"id": "s", "cwd": "/work", "cli_version": "1"}}


def item(payload: Line, at: str = "2026-01-01T00:00:00Z") -> Line:
    return {"timestamp": at, "type": "response_item", "payload": payload}


def said(text: str, role: str = "user") -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})


def event(**payload: object) -> Line:
    return {"timestamp": "t", "type": "event_msg", "payload": payload}


def read(folder: Path, lines: list[Any], name: str = "rollout-1.jsonl") -> StorySource:
    path = folder / name
    path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines), "utf-8")
    return read_story(path)


def texts(source: StorySource) -> list[str]:
    return [draft.message.text for draft in source.drafts]


def test_a_rollout(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
    items: list[Line] = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "e"},
        call,
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ]
    context = {"timestamp": "t", "type": "turn_context", "payload": {"model": "m", "cwd": "/work"}}
    source = read(
        tmp_path,
        [
            META,
            context,
            said("Hi."),
            event(type="user_message", message="Hi."),
            *(item(one) for one in items),
            event(type="token_count"),
            said("Done.", "assistant"),
            {"timestamp": "t", "type": "world_state", "payload": {}},
            '{"timestamp": "t", "type": "respon',
        ],
    )
    assert source.format == "codex"
    assert [draft.message.parts for draft in source.drafts] == [
        (Text("Hi."),),
        (Thinking("Hm."),),
        (ToolCall("c1", "shell", "{}"),),
        (ToolResult("c1", "ok"),),
        (Text("Done."),),
    ]
    assert source.header["cwd"] == "/work"
    assert source.skipped == {"event_msg": 2, "world_state": 1, "broken line": 1}
    assert source.drafts[0].attributes.extra["codex"] == {"turn_context": {"model": "m", "cwd": "/work"}}
    assert source.drafts[0].attributes.at == "2026-01-01T00:00:00Z"
    again = [write_item(draft.message, draft.attributes) for draft in source.drafts[1:4]]
    assert again == items


def test_what_codex_writes_for_the_user_is_marked(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [META, said("# AGENTS.md instructions for /work\n\nx"), said("<environment_context>\n"), said("Hi.")],
    )
    assert [draft.attributes.extra.get("injected") for draft in source.drafts] == ["rules", "surroundings", None]
    assert {draft.message.role for draft in source.drafts} == {Role.USER}


def test_compaction_keeps_all_that_was_said_and_adds_the_summary(tmp_path: Path) -> None:
    history = [said("Hi.")["payload"], said("Summary: done half.")["payload"]]
    compacted = {"timestamp": "t", "type": "compacted", "payload": {"message": "", "replacement_history": history}}
    source = read(tmp_path, [META, said("Hi."), said("Half.", "assistant"), compacted, said("Go on.")])
    assert texts(source) == ["Hi.", "Half.", "Summary: done half.", "Go on."]
    assert [draft.attributes.extra.get("compaction") for draft in source.drafts] == [None, None, "summary", None]


def test_an_older_compaction_has_only_its_words(tmp_path: Path) -> None:
    compacted = {"timestamp": "t", "type": "compacted", "payload": {"message": "Summary."}}
    assert texts(read(tmp_path, [META, said("Hi."), compacted])) == ["Hi.", "Summary."]


def test_turns_that_were_taken_back_are_a_branch(tmp_path: Path) -> None:
    lines = [
        META, said("<environment_context>"), said("One."), said("1", "assistant"), said("Two."), said("2", "assistant"),
        event(type="thread_rolled_back", num_turns=1), said("Two, better."),
    ]  # fmt: skip
    source = read(tmp_path, lines)
    assert texts(source) == ["<environment_context>", "One.", "1", "Two, better."]
    (branch,) = source.branches
    assert (branch.name, branch.at) == ("rewind line 7", 3)
    assert [draft.message.text for draft in branch.drafts] == ["Two.", "2"]
    assert read(tmp_path, [*lines, said("More.", "assistant")]).branches == source.branches


def test_all_taken_back_leaves_what_was_said(tmp_path: Path) -> None:
    source = read(tmp_path, [META, said("One."), event(type="thread_rolled_back", num_turns=9)])
    assert texts(source) == ["One."]
    assert source.branches == ()


def test_an_interrupted_call(tmp_path: Path) -> None:
    call = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c1"}
    source = read(tmp_path, [META, said("Hi."), item(call)])
    assert source.drafts[-1].message.parts == (ToolResult("c1", INTERRUPTED, "error"),)


def test_an_old_rollout_has_bare_items(tmp_path: Path) -> None:
    source = read(
        tmp_path,
        [
            {"id": "s", "timestamp": "t", "instructions": None},
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        ],
    )
    assert texts(source) == ["Hi."]
    assert source.skipped == {"unknown": 1}


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, [META, event(type="user_message")])
    assert str(caught.value).endswith("rollout-1.jsonl: there is no message in the rollout.")
    packed = tmp_path / "rollout-1.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd\x00\x00")
    with pytest.raises(BadInput, match=r"packed with zstd"):
        read_story(packed)
