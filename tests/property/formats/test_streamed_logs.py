"""An agent's log that is read as it goes gives what the same log gives when it is held as a whole."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.formats import detect_format, log_stream, open_story, read_story
from tests.effort import cases
from tests.property.formats.test_damaged_transcripts import ANYTHING, places
from tests.unit.formats import test_claude_code as cc
from tests.unit.formats import test_codex as codex

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(detect_format, "LARGE", 1)
        patched.setattr(log_stream, "MOST_HELD", 6)
        yield tmp_path_factory.mktemp("logs") / "log.jsonl"


def compare(path: Path, lines: Lines, format: str) -> bool:
    """Check that both ways to read give the same; return whether the log was read as it goes."""
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    try:
        whole = read_story(path, format)
    except BadInput as error:
        with pytest.raises(BadInput) as raised:
            open_story(path, format)
        assert str(raised.value) == str(error)
        return False
    source = open_story(path, format)
    if source.stream is None:
        assert source == whole
        return False
    for _ in range(2):
        assert list(source.stream) == whole.drafts
        assert source.stream.replaced + source.replaced == whole.replaced
        assert source.skipped == whole.skipped
        assert tuple(branch.hold() for branch in source.stream.branches) == whole.branches
    assert (source.header, source.others) == (whole.header, whole.others)
    return True


STEPS = [
    "user", "answer", "parts", "calls", "together", "late", "unanswered", "words and results", "progress", "boundary",
    "error", "summary", "unnamed",
]  # fmt: skip
TANGLES = ["rewind", "again", "lost", "root", "aside", "of no call", "other message"]


def make_transcript(steps: list[tuple[str, int]]) -> Lines:
    """Lines of Claude Code; each step continues from the newest line, or does something else."""
    lines: Lines = []
    newest: list[str] = []

    def add(type_: str, content: object, **more: object) -> None:
        parent = newest[-1] if newest else None
        lines.append(cc.line(f"id{len(lines)}", parent, type_, content, **more))
        newest.append(f"id{len(lines) - 1}")

    for number, (step, which) in enumerate(steps):
        call, other, message = f"c{number}", f"d{number}", f"m{number}"
        match step:
            case "user":
                add("user", f"Go on, {number}.\0")
            case "answer":
                add("assistant", [{"type": "text", "text": f"Yes, {number}."}], cwd="/else")
            case "parts":
                add("assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "s"}], message_id=message)
                add("assistant", [{"type": "text", "text": "Well."}], message_id=message)
            case "calls":
                add("assistant", [cc.call(call), cc.call(other)])
                add("user", [cc.result(call), cc.result(other)])
            case "together":
                add("assistant", [cc.call(call)], message_id=message)
                add("user", [cc.result(call)])
                add("assistant", [cc.call(other)], message_id=message)
                add("user", [cc.result(other)])
            case "late":
                add("assistant", [cc.call(call)])
                add("user", "Wait.")
                add("user", [cc.result(call)])
            case "unanswered":
                add("assistant", [cc.call(call)])
            case "words and results":
                add("assistant", [cc.call(call)])
                add("user", [cc.result(call), {"type": "text", "text": "There."}])
            case "progress" | "boundary":
                kind = {"subtype": "compact_boundary"} if step == "boundary" else {}
                parent = newest[-1] if newest else None
                lines.append({"type": "system", "uuid": f"id{len(lines)}", "logicalParentUuid": parent, **kind})
                newest.append(f"id{len(lines) - 1}")
            case "error":
                add("assistant", "Overloaded.", isApiErrorMessage=True)
            case "summary":
                add("user", "This session is being continued from a previous conversation: …", isCompactSummary=True)
            case "unnamed":
                add("user", "Who?")
                del lines[-1]["uuid"]
                newest.pop()
            case "rewind":
                newest[:] = newest[: 1 + which % max(1, len(newest))]
            case "again" if lines:
                lines.append(lines[which % len(lines)])
            case "lost":
                newest.append("nowhere" if which % 2 else f"id{len(lines) + which}")
            case "root":
                newest.clear()
            case "aside":
                add("user", "Aside.", isSidechain=True, agentId="k")
            case "of no call":
                add("user", [cc.result(f"c{which}")])
            case "other message":
                add("assistant", [{"type": "text", "text": "More."}], message_id=f"m{which}")
    return lines


def make_rollout(steps: list[tuple[str, int]]) -> Lines:
    """Lines of Codex."""
    lines: Lines = [codex.META]
    for number, (step, which) in enumerate(steps):
        call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": f"c{number}"}
        output = {"type": "function_call_output", "call_id": f"c{number}", "output": "ok\0"}
        match step:
            case "user" | "words and results":
                lines.append(codex.said(f"Go on, {number % 4}."))
            case "answer" | "parts":
                lines.append(codex.said(f"Yes, {number}.", "assistant"))
            case "calls":
                lines += [codex.item(call), codex.item(output)]
            case "together":
                other = call | {"call_id": f"d{number}"}
                answer = output | {"call_id": f"d{number}"}
                lines += [codex.item(one) for one in (call, other, answer, output)]
            case "late":
                lines += [codex.item(call), codex.said("Wait."), codex.item(output)]
            case "unanswered":
                lines.append(codex.item(call))
            case "progress":
                lines.append({"type": "turn_context", "timestamp": "t", "payload": {"cwd": f"/{number}"}})
            case "boundary" | "summary":
                history = [codex.said(f"Go on, {which % 4}.")["payload"], codex.said(f"Sum {number}.")["payload"]]
                told = {"message": f"Sum {number}.", "replacement_history": history if which % 3 else None}
                lines.append({"type": "compacted", "timestamp": "t", "payload": told})
            case "error" | "unnamed":
                lines.append(codex.item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}))
            case "rewind":
                lines.append(codex.event(type="thread_rolled_back", num_turns=which % 3))
            case "again":
                lines.append(lines[which % len(lines)])
            case "of no call":
                lines.append(codex.item(output | {"call_id": f"c{which}"}))
            case _:
                lines.append(codex.item({"type": "web_search_call", "id": f"w{number}"}))
    return lines


MAKERS = {"claude-code": make_transcript, "codex": make_rollout}


def list_steps(names: list[str]) -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 11)), min_size=1, max_size=12)


@pytest.mark.parametrize("format", MAKERS)
@settings(max_examples=cases(300))
@given(steps=list_steps([*STEPS, *STEPS, *TANGLES]))
def test_any_log(path: Path, format: str, steps: list[tuple[str, int]]) -> None:
    compare(path, MAKERS[format](steps), format)


@pytest.mark.parametrize("format", MAKERS)
@settings(max_examples=cases(200))
@given(steps=list_steps(STEPS), data=st.data())
def test_a_log_with_anything_anywhere(
    path: Path, format: str, steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    lines = copy.deepcopy(MAKERS[format](steps))
    for _ in range(data.draw(st.integers(1, 3))):
        *where, last = data.draw(st.sampled_from(places(lines)))
        target: Any = lines
        for key in where:
            target = target[key]
        target[last] = copy.deepcopy(data.draw(ANYTHING))
        if not isinstance(lines[where[0] if where else last], dict):
            break
    compare(path, lines, format)


@pytest.mark.parametrize("format", MAKERS)
@pytest.mark.parametrize("step", ["user", "answer", "parts", "calls", "together", "progress", "boundary", "unanswered"])
def test_an_ordinary_log_is_read_as_it_goes(path: Path, format: str, step: str) -> None:
    steps = [("user", 0), (step, 1), ("calls", 0), (step, 1), ("user", 0), ("unanswered", 0), ("user", 0)]
    assert compare(path, MAKERS[format](steps), format)


@pytest.mark.parametrize("format", MAKERS)
@pytest.mark.parametrize("before", ["answer", "calls", "parts", "progress"])
def test_a_log_of_which_something_was_taken_back_is_read_as_it_goes(path: Path, format: str, before: str) -> None:
    first = ["user", "answer", "user", before, "answer", "answer", "rewind"]
    named = [*first, "user", "answer", "answer", "answer", "rewind", "user", "calls"]
    # To the first line of a transcript, and then to the second; by one turn of a rollout, and by one more.
    steps = [(name, named[:at].count("rewind") if format == "claude-code" else 1) for at, name in enumerate(named)]
    assert compare(path, MAKERS[format](steps), format)
    assert len(read_story(path, format).branches) == 2
