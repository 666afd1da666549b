"""Trajectories of SWE-agent (`.traj`): the history that the model was given, and what the run says of it.

With native tool calls a call and its result are parts. Without them the model writes its command into its words and is
told the outcome in a user's message: that is what was said, and it stays so; the command is in `extra` under `action`.
A file without `history` is read from its `trajectory`, step by step. One entry of the history is one message; what a
step of the trajectory adds (its state, its time) is kept with the message of its command.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import kind
from previously.core.messages import Draft, Message, Part, Role, Text, Thinking, ToolResult
from previously.formats.files import Document, StorySource, read_value
from previously.formats.log_lines import DraftCleaner, add_marks, describe_line
from previously.wire.chat import parse_chat_message

NAME = "swe-agent"

Item = dict[str, Any]

_SAID_AGAIN = frozenset(["action", "observation", "response", "thought", "query", "messages"])
"""Fields of a step that the history holds too."""


def is_trajectory(value: object) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(name), list) for name in ("history", "trajectory"))


def read(document: Document) -> StorySource:
    return read_value(document, parse_trajectory)


def parse_trajectory(document: Document, value: Any) -> StorySource:
    if not isinstance(value, dict):
        raise BadInput(f"the file must hold a trajectory, not {kind(value)}.")
    skipped: Counter[str] = Counter()
    kept = DraftCleaner(skipped)
    steps = [step for step in _listed(value.get("trajectory")) if isinstance(step, dict)]
    drafts: list[Draft] = []
    for item in _listed(value.get("history")) or _rebuild_history(steps):
        draft = _parse_draft(item) if isinstance(item, dict) else None
        if draft is None:
            skipped[f"message {describe_line(item, 'role') if isinstance(item, dict) else 'unknown'}"] += 1
            continue
        if steps and "action" in item and not item.get("is_demo") and steps[0].get("action") == item["action"]:
            more = {name: told for name, told in steps.pop(0).items() if name not in _SAID_AGAIN}
            draft = add_marks(draft, step=more) if more else draft
        clean = kept.draft(draft)
        if clean is not None:
            drafts.append(clean)
    header = kept.header({name: told for name, told in value.items() if name not in ("history", "trajectory")})
    if not drafts:
        raise document.fault(BadInput("there is no message in the trajectory."))
    return StorySource(drafts, NAME, header, kept.replaced, dict(skipped))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _rebuild_history(steps: list[Item]) -> list[Item]:
    """Return the history that the steps tell, where a file holds nothing else."""
    history: list[Item] = []
    for step in steps:
        said = {"role": "assistant", "content": step.get("response") or step.get("thought") or ""}
        history.append(said | {name: step[name] for name in ("thought", "action", "tool_calls") if step.get(name)})
        seen: Item = {"role": "user", "content": step.get("observation") or ""}
        if step.get("tool_calls") and isinstance(step.get("tool_call_ids"), list):
            seen |= {"role": "tool", "tool_call_ids": step["tool_call_ids"]}
        history.append(seen)
    return history


def _parse_draft(item: Item) -> Draft | None:
    ids = [one for one in _listed(item.get("tool_call_ids")) if isinstance(one, str)]
    given = dict(item)
    if ids:
        given["tool_call_id"] = ids[0]
    if item.get("content") is None:
        given["content"] = ""
    try:
        draft = parse_chat_message(given)
    except (BadInput, RecursionError):
        return None
    parts: tuple[Part, ...] = draft.message.parts
    if draft.message.role is Role.TOOL:
        parts = (*parts[:1], *(ToolResult(one, "") for one in ids[1:]), *parts[1:])
    thinking = [
        Thinking(block["thinking"])
        for block in _listed(item.get("thinking_blocks"))
        if isinstance(block, dict) and isinstance(block.get("thinking"), str)
    ]
    said = tuple(part for part in parts if not (thinking and part == Text("")))
    return replace(draft, message=Message(draft.message.role, (*thinking, *said), draft.message.speaker))
