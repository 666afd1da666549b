"""Real transcripts, where they are at hand: each is read, is a valid request, and comes back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from previously.core.messages import Error, Message, Part, Text, Thinking, ToolCall, ToolResult
from previously.core.pairing import find_unpaired
from previously.formats import FORMATS, read_story, to_anthropic, to_claude_code, to_responses
from tests.unit.formats.strict_anthropic import refusals

DATA = Path(os.environ.get("PREVIOUSLY_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data")
SAMPLES = sorted(path for path in (DATA / "agents").rglob("*") if path.is_file())

pytestmark = pytest.mark.skipif(not SAMPLES, reason="PREVIOUSLY_DATA names no folder with agents' transcripts")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample(path: Path, tmp_path: Path) -> None:
    source = read_story(path)
    assert source.format in FORMATS
    shown = [draft for draft in source.drafts if not draft.attributes.hidden]
    messages = [draft.message for draft in shown]
    assert find_unpaired(messages) == []
    attributes = [draft.attributes for draft in shown]
    assert refusals(to_anthropic(messages, attributes)) == []
    assert len(to_responses(messages)) >= len(messages)
    lines = to_claude_code(messages, attributes, session_id="s", at="2026-01-01T00:00:00Z")
    again = tmp_path / "again.jsonl"
    again.write_text("\n".join(lines), "utf-8")
    assert told([draft.message for draft in read_story(again).drafts]) == told(messages)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_cut_off_anywhere_is_read_or_refused_in_a_sentence(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    whole = len(read_story(path).drafts)
    for tenth in range(1, 10):
        cut = tmp_path / f"cut{path.suffix}"
        cut.write_bytes(data[: len(data) * tenth // 10])
        if path.suffix == ".jsonl":
            source = read_story(cut, "claude-code")
            assert 0 < len(source.drafts) <= whole + 1


def told(messages: list[Message]) -> list[object]:
    """What every format can tell: no thinking without a signature, no errors, no blank text, arguments as values, and
    no ids, since one that was used twice is another one."""
    parts = [part for message in messages for part in message.parts]
    kept = [one for one in parts if not isinstance(one, Thinking | Error) and one != Text("")]
    return [_bare(one) for one in kept]


def _bare(part: Part) -> object:
    if isinstance(part, ToolCall):
        return (part.name, json.loads(part.arguments))
    return (part.text, part.status) if isinstance(part, ToolResult) else part
