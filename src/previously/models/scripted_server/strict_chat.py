"""What OpenAI refuses in the messages of a chat, as sentences.

Pure and total. What must stay true: a list without a fault is one that the official API takes.
"""

from __future__ import annotations

from typing import Any

_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls", "function_call", "audio"},
    "tool": {"role", "content", "tool_call_id"},
    "function": {"role", "content", "name"},
}
_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
    "function": set(),
}


def faults_of_chat(messages: object) -> list[str]:
    """A sentence for each thing in a list of messages that is refused; none = it is taken."""
    if not isinstance(messages, list) or not messages:
        return ["messages: a list with at least one message is needed."]
    found: list[str] = []
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or str(message.get("role")) not in _FIELDS:
            found.append(f"messages[{at}]: this is no message, or has no known role.")
            continue
        role = str(message["role"])
        unknown = sorted(set(message) - _FIELDS[role])
        found += [f"messages[{at}]: {name} is no field of a message of role {role}." for name in unknown]
        found += _content_faults(at, role, message)
        if role == "tool":
            call_id = message.get("tool_call_id")
            if isinstance(call_id, str) and call_id in waiting:
                waiting.remove(call_id)
            else:
                found.append(f"messages[{at}]: a tool message must answer a call of the message before it.")
            continue
        found += _unanswered(at, waiting)
        calls = message.get("tool_calls")
        waiting = [str(call.get("id")) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        found += _call_faults(at, calls)
    return found + _unanswered(len(messages), waiting)


def _unanswered(at: int, waiting: list[str]) -> list[str]:
    if not waiting:
        return []
    return [f"messages[{at}]: tool messages must come first for the calls {', '.join(waiting)}."]


def _call_faults(at: int, calls: object) -> list[str]:
    if calls is None:
        return []
    if not isinstance(calls, list) or not calls:
        return [f"messages[{at}].tool_calls: at least one call is needed."]
    found: list[str] = []
    for call in calls:
        match call:
            case {"id": str(call_id), "type": "function", "function": {"name": str(name), "arguments": str()}}:
                if not call_id or not name:
                    found.append(f"messages[{at}].tool_calls: a call needs an id and a name.")
            case {"id": str(), "type": "custom", "custom": {"name": str(), "input": str()}}:
                pass
            case _:
                found.append(f"messages[{at}].tool_calls: this is no call.")
    return found


def _content_faults(at: int, role: str, message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if content is None:
        spoken = role == "assistant" and (message.get("tool_calls") or message.get("function_call"))
        return [] if spoken or message.get("refusal") else [f"messages[{at}].content: it may not be null."]
    if isinstance(content, str):
        return []
    if not isinstance(content, list) or not content:
        return [f"messages[{at}].content: text or a list with at least one part is needed."]
    found: list[str] = []
    for part in content:
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind not in _PARTS[role]:
            found.append(f"messages[{at}].content: {kind!r} is no part of a message of role {role}.")
        elif kind == "text" and not (isinstance(part.get("text"), str) and part["text"]):
            found.append(f"messages[{at}].content: a text part needs text.")
    return found
