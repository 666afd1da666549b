"""Every kind of call is answered with an output of its own kind, also where that was made or shortened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from previously import fold_conversation
from previously.core.pairing import INTERRUPTED
from previously.formats.conversations import read_conversation
from previously.testing.request_faults import find_responses_faults
from previously.wire.responses import parse_item, write_item

Raw = dict[str, Any]
EXEC = {"type": "exec", "command": ["ls"]}
CUSTOM: Raw = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
LOCAL: Raw = {"type": "local_shell_call", "id": "s", "call_id": "c", "status": "completed", "action": EXEC}
OLDER: Raw = {"type": "local_shell_call", "id": "c", "status": "completed", "action": EXEC}
SHELL: Raw = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}
PATCH: Raw = {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}}
SCREEN: Raw = {"type": "computer_call", "id": "s", "call_id": "c", "action": {"type": "click", "x": 1, "y": 2},
               "pending_safety_checks": [], "status": "completed"}  # fmt: skip
SEVERAL: Raw = {"type": "computer_call", "call_id": "c", "actions": [{"type": "wait"}], "status": "completed"}
SHOT: Raw = {"type": "computer_call_output", "call_id": "c",
             "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}}  # fmt: skip
SHELLED: Raw = {"type": "shell_call_output", "call_id": "c", "max_output_length": 9, "output": [
    {"stdout": "a\n" * 4_000, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
    {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 3}}]}  # fmt: skip


@pytest.mark.parametrize("call", [CUSTOM, LOCAL, OLDER, SHELL, PATCH, SCREEN, SEVERAL])
def test_an_interrupted_call_gets_an_output_of_its_kind(call: Raw) -> None:
    given = [{"role": "user", "content": "Go."}, call, {"role": "user", "content": "Well?"}]
    done = fold_conversation(given, budget=50_000)
    assert (done.interrupted, done.messages[1]) == (1, call)
    assert find_responses_faults(done.messages) == []
    made = done.messages[2]
    assert made["type"] == f"{call['type']}_output"
    assert made.get("call_id", made.get("id")) == "c"
    if call is SHELL:
        assert made["output"] == [{"stdout": INTERRUPTED, "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]
    elif call is PATCH:
        assert (made["output"], made["status"]) == (INTERRUPTED, "failed")
    elif call["type"] == "computer_call":
        assert made["output"]["type"] == "computer_screenshot"
        assert made["output"]["image_url"].startswith("data:image/png;base64,")
    else:
        assert made["output"] == INTERRUPTED


@pytest.mark.parametrize("item", [SCREEN, SEVERAL, SHOT, SHELLED, SHELL, PATCH, OLDER, {
    **SHOT, "output": {"type": "computer_screenshot", "file_id": "f"}}])  # fmt: skip
def test_an_item_comes_back_as_it_was(item: Raw) -> None:
    draft = parse_item(item)
    assert write_item(draft.message, draft.attributes) == item
    assert "AAAA" not in draft.message.text


def test_what_a_shell_gave_is_read_and_stays_in_shape_when_it_is_shortened() -> None:
    assert "a\na\n" in parse_item(SHELLED).message.parts[0].text  # type: ignore[union-attr]
    given: list[Raw] = [{"role": "user", "content": "Go."}, SHELL, SHELLED]
    for number in range(8):
        given += [{**SHELL, "call_id": f"c{number}"}, {**SHELLED, "call_id": f"c{number}"}]
    given += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And now?"}]
    done = fold_conversation(given, budget=12_000, tail_turns=9)
    assert done.status == "folded"
    assert done.pruned > 0
    assert find_responses_faults(done.messages) == []
    outputs = [one for one in done.messages if one.get("type") == "shell_call_output"]
    short = [one for one in outputs if one not in given]
    assert short
    assert all(set(one["output"][0]) == {"stdout", "stderr", "outcome"} for one in short)


@pytest.mark.parametrize("answer", [None, {"type": "function_call_output", "call_id": "c", "output": "a\nb"}])
def test_a_log_of_codex_with_a_shell_call(tmp_path: Path, answer: Raw | None) -> None:
    said: list[Raw] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}, LOCAL]
    said += [answer] if answer else []
    lines = [{"type": "session_meta", "payload": {"id": "s"}}]
    lines += [{"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": one} for one in said]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    done = fold_conversation(read_conversation(path), to="responses")
    assert find_responses_faults(done.messages) == []
    told = {"type": "local_shell_call_output", "call_id": "c", "output": "a\nb" if answer else INTERRUPTED}
    assert done.messages[-1] == told


def test_an_output_may_name_its_call_by_the_calls_own_id() -> None:
    told = {"type": "local_shell_call_output", "id": "s", "output": "a\nb"}
    given = [{"role": "user", "content": "Go."}, LOCAL, told, {"role": "user", "content": "Well?"}]
    done = fold_conversation(given, budget=50_000)
    assert (done.interrupted, done.messages) == (0, given)
    other = fold_conversation(given, budget=50_000, to="openai")
    assert [one["content"] for one in other.messages if one["role"] == "tool"] == ["a\nb"]
