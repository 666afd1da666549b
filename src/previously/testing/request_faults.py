"""Requests that the official APIs refuse: each fault of a body as one sentence.

Pure and total. A list without a fault is one that the official API takes. In a response's input that goes on from an
earlier response, calls may lie there: then a result may stand without its call.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def find_chat_faults(messages: object) -> list[str]:
    """Return a sentence for each thing in a list of messages that OpenAI refuses; none if it takes the list."""
    if not isinstance(messages, list) or not messages:
        return ["messages: a list with at least one message is needed."]
    faults: list[str] = []
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or str(message.get("role")) not in _FIELDS:
            faults.append(f"messages[{at}]: this is no message, or has no known role.")
            continue
        role = str(message["role"])
        unknown = sorted(set(message) - _FIELDS[role])
        faults += [f"messages[{at}]: {name} is no field of a message of role {role}." for name in unknown]
        faults += _content_faults(at, role, message)
        if role == "tool":
            call_id = message.get("tool_call_id")
            if isinstance(call_id, str) and call_id in waiting:
                waiting.remove(call_id)
            else:
                faults.append(f"messages[{at}]: a tool message must answer a call of the message before it.")
            continue
        faults += _unanswered(at, waiting)
        calls = message.get("tool_calls")
        waiting = [str(call.get("id")) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        faults += _call_faults(at, calls)
    return faults + _unanswered(len(messages), waiting)


def _unanswered(at: int, waiting: list[str]) -> list[str]:
    if not waiting:
        return []
    return [f"messages[{at}]: tool messages must come first for the calls {', '.join(waiting)}."]


def _call_faults(at: int, calls: object) -> list[str]:
    if calls is None:
        return []
    if not isinstance(calls, list) or not calls:
        return [f"messages[{at}].tool_calls: at least one call is needed."]
    faults: list[str] = []
    for call in calls:
        match call:
            case {"id": str(call_id), "type": "function", "function": {"name": str(name), "arguments": str()}}:
                if not call_id or not name:
                    faults.append(f"messages[{at}].tool_calls: a call needs an id and a name.")
            case {"id": str(), "type": "custom", "custom": {"name": str(), "input": str()}}:
                pass
            case _:
                faults.append(f"messages[{at}].tool_calls: this is no call.")
    return faults


def _content_faults(at: int, role: str, message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if content is None:
        spoken = role == "assistant" and (message.get("tool_calls") or message.get("function_call"))
        return [] if spoken or message.get("refusal") else [f"messages[{at}].content: it may not be null."]
    if isinstance(content, str):
        return []
    if not isinstance(content, list) or not content:
        return [f"messages[{at}].content: text or a list with at least one part is needed."]
    faults: list[str] = []
    for part in content:
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind not in _PARTS[role]:
            faults.append(f"messages[{at}].content: {kind!r} is no part of a message of role {role}.")
        elif kind == "text" and not (isinstance(part.get("text"), str) and part["text"]):
            faults.append(f"messages[{at}].content: a text part needs text.")
    return faults


_BLOCKS = {
    "user": {"text", "image", "document", "search_result", "tool_result", "container_upload"},
    "assistant": {
        "text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result",
        "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result",
    },
}  # fmt: skip


def find_anthropic_faults(body: object) -> list[str]:
    """Return a sentence for each thing in a body that Anthropic refuses; none if it takes the body."""
    if not isinstance(body, dict):
        return ["The body must be an object."]
    faults = [] if _is_count(body.get("max_tokens")) else ["max_tokens: Field required."]
    if not isinstance(body.get("model"), str) or not body["model"]:
        faults.append("model: Field required.")
    faults += _system_faults(body.get("system"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*faults, "messages: at least one message is required."]
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or str(message.get("role")) not in _BLOCKS:
            faults.append(
                f"messages.{at}: the role must be user or assistant; what the system says stands in `system`."
            )
            continue
        if at == 0 and message["role"] != "user":
            faults.append("messages.0: the first message must be the user's.")
        unknown = sorted(set(message) - {"role", "content"})
        faults += [f"messages.{at}.{name}: Extra inputs are not permitted." for name in unknown]
        faults += _anthropic_content_faults(at, message, last=at == len(messages) - 1)
        results = [str(block.get("tool_use_id")) for block in _blocks(message, "tool_result")]
        faults += [f"messages.{at}: tool_result {call} has no tool_use in the message before." for call in results
                   if call not in waiting]  # fmt: skip
        if missing := [call for call in waiting if call not in results]:
            faults.append(f"messages.{at}: tool_result blocks are missing right behind tool_use {', '.join(missing)}.")
        if len(set(results)) < len(results):
            faults.append(f"messages.{at}: each tool_use must have a single result.")
        waiting = [str(block.get("id")) for block in _blocks(message, "tool_use")]
    if waiting:
        faults.append(f"messages.{len(messages)}: tool_use {', '.join(waiting)} has no tool_result.")
    return faults


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
    faults: list[str] = []
    for at, block in enumerate(system):
        match block:
            case {"type": "text", "text": str(text)} if text:
                pass
            case _:
                faults.append(f"system.{at}: text content blocks must be non-empty.")
    return faults


def _anthropic_content_faults(at: int, message: dict[str, Any], *, last: bool) -> list[str]:
    content, role = message.get("content"), str(message["role"])
    if isinstance(content, str):
        faults = [] if content.strip() else [f"messages.{at}: the content must not be empty."]
        if last and role == "assistant" and content != content.rstrip():
            faults.append("messages: the last message of the assistant cannot end with white space.")
        return faults
    if not isinstance(content, list) or not content:
        return [f"messages.{at}: the content must not be empty."]
    faults = []
    others = False
    for place, block in enumerate(content):
        kind = str(block.get("type")) if isinstance(block, dict) else ""
        where = f"messages.{at}.content.{place}"
        if kind not in _BLOCKS[role]:
            faults.append(f"{where}: {kind!r} is no block of the {role}.")
            continue
        faults += _block_faults(where, block)
        if kind == "tool_result" and others:
            faults.append(f"{where}: tool_result blocks must come before all else.")
        others = others or kind != "tool_result"
    return faults


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


_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"}
_OTHERS = {
    "reasoning", "message", "item_reference", "compaction", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request",
    "mcp_approval_response",
}  # fmt: skip
_OUTPUTS = {f"{call}_output" for call in _CALLS}
_ROLES = {"user", "assistant", "system", "developer"}
_ITEM_PARTS = {
    "assistant": {"output_text", "refusal"},
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text", "input_image", "input_file"},
    "developer": {"input_text", "input_image", "input_file"},
}


def find_responses_faults(items: object, *, earlier: bool = False) -> list[str]:
    """Return a sentence for each thing in an input that OpenAI refuses; none if it takes the input.

    `earlier`: the request goes on from another response.
    """
    if isinstance(items, str):
        return [] if items else ["input: it must not be empty."]
    if not isinstance(items, list) or not items:
        return [] if earlier and items == [] else ["input: text or a list with at least one item is needed."]
    faults: list[str] = []
    called: dict[str, str] = {}
    answered: set[str] = set()
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            faults.append(f"input[{at}]: this is no item.")
            continue
        kind = str(item.get("type", "message"))
        call_id = str(item.get("call_id") or item.get("id"))
        if kind == "message":
            faults += _message_faults(at, item)
        elif kind in _CALLS:
            called[call_id] = kind
        elif kind in _OUTPUTS:
            if call_id in answered or (called.get(call_id) != kind.removesuffix("_output") and not earlier):
                faults.append(f"input[{at}]: No tool call found for {kind} with call_id {call_id}.")
            answered.add(call_id)
        elif kind not in _OTHERS:
            faults.append(f"input[{at}].type: {kind!r} is no kind of item.")
        if kind == "reasoning" and not _is_followed(items, at):
            faults.append(
                f"input[{at}]: the item {item.get('id')} of type reasoning stands without what must follow it."
            )
    left = [call for call in called if call not in answered]
    return faults + [f"input: No tool output found for {called[call]} {call}." for call in left]


def _is_followed(items: list[Any], at: int) -> bool:
    """Return whether something that the model gave together with its reasoning stands right behind it."""
    following = items[at + 1] if at + 1 < len(items) else None
    if not isinstance(following, dict):
        return False
    kind = str(following.get("type", "message"))
    return following.get("role") == "assistant" if kind == "message" else kind not in _OUTPUTS


def _message_faults(at: int, item: dict[str, Any]) -> list[str]:
    role, content = str(item.get("role")), item.get("content")
    if role not in _ROLES:
        return [f"input[{at}].role: {role!r} is no role."]
    unknown = sorted(set(item) - {"type", "role", "content", "id", "status", "phase"})
    faults = [f"input[{at}].{name}: this is no field of a message." for name in unknown]
    if isinstance(content, str):
        return faults
    if not isinstance(content, list) or not content:
        return [*faults, f"input[{at}].content: text or a list with at least one part is needed."]
    for part in content:
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind not in _ITEM_PARTS[role]:
            faults.append(f"input[{at}].content: {kind!r} is no part of a message of role {role}.")
    return faults
