"""A transcript with anything in place of any value in it gives a source or one sentence, never another error."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.formats import read_story, to_anthropic, to_claude_code, to_responses
from tests.effort import cases
from tests.unit.formats import test_anthropic, test_claude_code, test_codex, test_opencode, test_responses
from tests.unit.formats.strict_anthropic import refusals

CC = test_claude_code
CODEX_CALL = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "x"}]}
SHELL = {"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec"}}
TRANSCRIPTS: dict[str, tuple[str, Any]] = {
    "claude-code": (
        "lines",
        [
            CC.line("a", None, "user", "Hi."),
            CC.line("b", "a", "assistant", [{"type": "thinking", "thinking": "x", "signature": "s"}], message_id="m"),
            CC.line("c", "b", "assistant", [CC.call("t1"), CC.call("t2")], message_id="m", isApiErrorMessage=False),
            CC.line("d", "c", "user", [CC.result("t1")], toolUseResult={"a": 1}),
            CC.line("e", "c", "user", [CC.result("t2"), {"type": "text", "text": "x"}]),
            {"type": "system", "subtype": "compact_boundary", "uuid": "x", "logicalParentUuid": "e"},
            CC.line("f", "x", "user", "Summary.", isCompactSummary=True),
            CC.line("g", "a", "user", "Rewound."),
            CC.line("h", None, "user", "Aside.", isSidechain=True, agentId="k"),
        ],
    ),
    "codex": (
        "lines",
        [
            test_codex.META,
            {"type": "turn_context", "timestamp": "t", "payload": {"cwd": "/"}},
            test_codex.said("Hi."),
            test_codex.item(CODEX_CALL),
            test_codex.item(SHELL),
            test_codex.item(OUTPUT),
            test_codex.event(type="thread_rolled_back", num_turns=1),
            {"type": "compacted", "payload": {"message": "x", "replacement_history": [CODEX_CALL]}},
            test_codex.said("Ho."),
        ],
    ),
    "opencode": (
        "value",
        {
            "info": {**test_opencode.SESSION, "revert": {"messageID": "msg_2", "partID": "prt_9"}},
            "messages": test_opencode.CONVERSATION,
        },
    ),
    "swe-agent": (
        "value",
        {
            "history": [
                {"role": "user", "content": "x", "is_demo": True},
                {"role": "assistant", "content": "y", "action": "ls", "tool_calls": [
                    {"id": "c", "function": {"name": "f", "arguments": "{}"}}], "thinking_blocks": [{"thinking": "x"}]},
                {"role": "tool", "content": "z", "tool_call_ids": ["c"]},
            ],
            "trajectory": [{"action": "ls", "state": "x"}],
        },
    ),
    "anthropic": ("value", {"system": "x", "messages": [item for item, _, _ in test_anthropic.CASES]}),
    "responses": ("value", [item for item, _, _ in test_responses.CASES]),
}  # fmt: skip

ANYTHING: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 10**30, 1.5, "", "x", "a", [], [None], [[]], ["x"], {}, {"type": "text"}, {"a": []}, "c1"]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every value inside of a value is."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))][not path :]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "transcript.json"


@pytest.mark.parametrize("format", TRANSCRIPTS)
@settings(max_examples=cases(60))
@given(data=st.data())
def test_anything_anywhere(path: Path, format: str, data: st.DataObject) -> None:
    shape, whole = TRANSCRIPTS[format]
    damaged = copy.deepcopy(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        *where, last = data.draw(st.sampled_from(places(damaged) or [(0,)]))
        if not damaged:
            break
        target = damaged
        for key in where:
            target = target[key]
        if data.draw(st.booleans()):
            target[last] = copy.deepcopy(data.draw(ANYTHING))
        else:
            del target[last]
    lines = damaged if shape == "lines" else [damaged]
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    try:
        source = read_story(path, format)
    except BadInput as error:
        assert str(error).startswith(str(path))
        assert str(error).endswith(".")
        return
    json.dumps(source.header)
    for drafts in (source.drafts, *(one.source.drafts for one in source.others)):
        shown = [draft for draft in drafts if not draft.attributes.hidden]
        messages, attributes = [draft.message for draft in shown], [draft.attributes for draft in shown]
        assert refusals(to_anthropic(messages, attributes)) in ([], ["no message"])
        to_responses(messages, attributes)
        to_claude_code(messages, attributes, session_id="s", at="2026-01-01T00:00:00Z")
