"""Requests in Anthropic's form, from messages that a file or a client gave."""

from __future__ import annotations

from previously.wire.anthropic import parse_anthropic_message
from previously.wire.anthropic_request import to_anthropic


def test_parts_of_a_result_that_are_no_blocks_are_left_out() -> None:
    odd = {"type": "tool_result", "tool_use_id": {"type": "text"}, "content": ["a", [{"type": "text", "text": "a"}]]}
    draft = parse_anthropic_message({"role": "user", "content": [odd, {"type": "text", "text": "Look."}]})
    (turn,) = to_anthropic([draft.message], [draft.attributes])["messages"]
    assert turn["content"] == "Look."
