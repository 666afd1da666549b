"""Write any messages as a transcript that Claude Code goes on with: one line for each message of a request, in one
chain.

The messages of the lines are what `to_anthropic` writes; the same messages give the same lines, ids included. A system
message at the front is a line of the user that Claude Code does not show (`isMeta`), since its transcripts hold no
system prompt. Such a line and that of a brief say so in the field `previously`, by which they are known again (see
`conversations`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from previously.core.messages import NO_ATTRIBUTES, Attributes, Message
from previously.formats.claude_code import KEY, MARK
from previously.formats.log_lines import COMPACTION
from previously.wire.anthropic import KEY as API
from previously.wire.anthropic_request import AnthropicTurn, count_front, plan_turns

_AGAIN = ("cwd", "version", "gitBranch", "userType", "toolUseResult", "isMeta", "requestId")
"""Fields of a line that are written as they were read."""
_OF_A_SESSION = {"userType": "external", "cwd": "", "version": "", "gitBranch": ""}
_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


def to_claude_code(
    messages: Sequence[Message],
    attributes: Sequence[Attributes] | None = None,
    *,
    session_id: str,
    at: str,
    header: dict[str, Any] | None = None,
    brief_at: int | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the lines of a transcript. `at` is the time of messages that have none, `header` what the session says of
    itself (`cwd`, `version`, `gitBranch`). The brief at `brief_at` gets a line of its own, marked with `earlier`."""
    about = _OF_A_SESSION | {name: value for name, value in (header or {}).items() if name in _OF_A_SESSION}
    lines: list[str] = []
    parent: str | None = None
    front = count_front(messages)
    rest = None if attributes is None else attributes[front:]
    meta = [
        AnthropicTurn("user", [{"type": "text", "text": one.text}], None)
        for one in messages[:front]
        if one.text.strip()
    ]
    turns = plan_turns(messages[front:], rest, None if brief_at is None else brief_at - front)
    for number, turn in enumerate([*meta, *turns]):
        line_id = str(uuid5(NAMESPACE_URL, f"{session_id}/{number}"))
        known = NO_ATTRIBUTES if turn.origin is None or rest is None else rest[turn.origin]
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            **about,
            "sessionId": session_id,
            "type": turn.role,
            "message": _write_message(turn, known, f"msg_{line_id.replace('-', '')}"),
            **_select_read_fields(known),
            "uuid": line_id,
            "timestamp": known.at or at,
        }
        if number < len(meta):
            line |= {"isMeta": True, MARK: {"system": True}}
        elif turn.alone and earlier:
            line |= {MARK: dict(earlier)}
        lines.append(json.dumps(line, ensure_ascii=False))
        parent = line_id
    return lines


def _select_read_fields(known: Attributes) -> dict[str, Any]:
    kept = known.extra.get(KEY)
    fields = {name: kept[name] for name in _AGAIN if name in kept} if isinstance(kept, dict) else {}
    if known.extra.get(COMPACTION) == "summary":
        fields["isCompactSummary"] = True
    return fields


def _write_message(turn: AnthropicTurn, known: Attributes, message_id: str) -> dict[str, Any]:
    blocks = turn.blocks
    if turn.role == "user":
        is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
        return {"role": "user", "content": blocks[0]["text"] if is_text else blocks}
    kept = known.extra.get(API)
    api = kept if isinstance(kept, dict) else {}
    calls = any(block.get("type") == "tool_use" for block in blocks)
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": api.get("model") or "unknown",
        "content": blocks,
        "stop_reason": api.get("stop_reason") or ("tool_use" if calls else "end_turn"),
        "stop_sequence": api.get("stop_sequence"),
        "usage": api.get("usage") or _NO_USAGE,
    }
