"""What Anthropic refuses in the body of a request for a message, as sentences.

Pure and total. What must stay true: a body without a fault is one that the official API takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_BLOCKS = {
    "user": {"text", "image", "document", "search_result", "tool_result", "container_upload"},
    "assistant": {
        "text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result",
        "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result",
    },
}  # fmt: skip


def faults_of_anthropic(body: object) -> list[str]:
    """A sentence for each thing in a body that is refused; none = it is taken."""
    if not isinstance(body, dict):
        return ["The body must be an object."]
    found = [] if _is_count(body.get("max_tokens")) else ["max_tokens: Field required."]
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.append("model: Field required.")
    found += _system_faults(body.get("system"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages: at least one message is required."]
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or str(message.get("role")) not in _BLOCKS:
            found.append(f"messages.{at}: the role must be user or assistant; what the system says stands in `system`.")
            continue
        if at == 0 and message["role"] != "user":
            found.append("messages.0: the first message must be the user's.")
        unknown = sorted(set(message) - {"role", "content"})
        found += [f"messages.{at}.{name}: Extra inputs are not permitted." for name in unknown]
        found += _content_faults(at, message, last=at == len(messages) - 1)
        results = [str(block.get("tool_use_id")) for block in _blocks(message, "tool_result")]
        found += [f"messages.{at}: tool_result {one} has no tool_use in the message before." for one in results
                  if one not in waiting]  # fmt: skip
        if missing := [one for one in waiting if one not in results]:
            found.append(f"messages.{at}: tool_result blocks are missing right behind tool_use {', '.join(missing)}.")
        if len(set(results)) < len(results):
            found.append(f"messages.{at}: each tool_use must have a single result.")
        waiting = [str(block.get("id")) for block in _blocks(message, "tool_use")]
    if waiting:
        found.append(f"messages.{len(messages)}: tool_use {', '.join(waiting)} has no tool_result.")
    return found


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _blocks(message: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def _system_faults(system: object) -> list[str]:
    if system is None or isinstance(system, str):
        return []
    if not isinstance(system, list):
        return ["system: text or a list of text blocks is needed."]
    found: list[str] = []
    for at, block in enumerate(system):
        match block:
            case {"type": "text", "text": str(text)} if text:
                pass
            case _:
                found.append(f"system.{at}: text content blocks must be non-empty.")
    return found


def _content_faults(at: int, message: dict[str, Any], *, last: bool) -> list[str]:
    content, role = message.get("content"), str(message["role"])
    if isinstance(content, str):
        found = [] if content.strip() else [f"messages.{at}: the content must not be empty."]
        if last and role == "assistant" and content != content.rstrip():
            found.append("messages: the last message of the assistant cannot end with white space.")
        return found
    if not isinstance(content, list) or not content:
        return [f"messages.{at}: the content must not be empty."]
    found = []
    others = False
    for place, block in enumerate(content):
        kind = str(block.get("type")) if isinstance(block, dict) else ""
        where = f"messages.{at}.content.{place}"
        if kind not in _BLOCKS[role]:
            found.append(f"{where}: {kind!r} is no block of the {role}.")
            continue
        found += _block_faults(where, block)
        if kind == "tool_result" and others:
            found.append(f"{where}: tool_result blocks must come before all else.")
        others = others or kind != "tool_result"
    return found


def _block_faults(where: str, block: dict[str, Any]) -> list[str]:
    match block:
        case {"type": "text"}:
            text = block.get("text")
            good = isinstance(text, str) and bool(text.strip())
            return [] if good else [f"{where}: text content blocks must contain non-whitespace text."]
        case {"type": "thinking"}:
            good = isinstance(block.get("thinking"), str) and bool(block.get("signature"))
            return [] if good else [f"{where}.signature: Field required."]
        case {"type": "tool_use"}:
            good = isinstance(block.get("input"), dict) and bool(block.get("id")) and bool(block.get("name"))
            return [] if good else [f"{where}: a tool_use needs an id, a name and an object as input."]
        case {"type": "tool_result", "content": list(inside)}:
            empty = (part for part in inside if isinstance(part, dict) and part.get("type") == "text")
            return [
                f"{where}.content: text content blocks must be non-empty." for part in empty if not part.get("text")
            ]
        case _:
            return []
