"""What OpenAI refuses in the input of a response, as sentences.

Pure and total. What must stay true: items without a fault are taken by the official API. With an earlier response,
calls may lie there: then a result may stand without its call.
"""

from __future__ import annotations

from typing import Any

_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"}
_OTHERS = {
    "reasoning", "message", "item_reference", "compaction", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request",
    "mcp_approval_response",
}  # fmt: skip
_OUTPUTS = {f"{call}_output" for call in _CALLS}
_ROLES = {"user", "assistant", "system", "developer"}
_PARTS = {
    "assistant": {"output_text", "refusal"},
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text", "input_image", "input_file"},
    "developer": {"input_text", "input_image", "input_file"},
}


def faults_of_responses(items: object, *, earlier: bool = False) -> list[str]:
    """A sentence for each thing in an input that is refused; none = it is taken. `earlier`: the request goes on from
    another response."""
    if isinstance(items, str):
        return [] if items else ["input: it must not be empty."]
    if not isinstance(items, list) or not items:
        return [] if earlier and items == [] else ["input: text or a list with at least one item is needed."]
    found: list[str] = []
    called: dict[str, str] = {}
    answered: set[str] = set()
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            found.append(f"input[{at}]: this is no item.")
            continue
        kind = str(item.get("type", "message"))
        call_id = str(item.get("call_id") or item.get("id"))
        if kind == "message":
            found += _message_faults(at, item)
        elif kind in _CALLS:
            called[call_id] = kind
        elif kind in _OUTPUTS:
            if call_id in answered or (called.get(call_id) != kind.removesuffix("_output") and not earlier):
                found.append(f"input[{at}]: No tool call found for {kind} with call_id {call_id}.")
            answered.add(call_id)
        elif kind not in _OTHERS:
            found.append(f"input[{at}].type: {kind!r} is no kind of item.")
        if kind == "reasoning" and not _is_followed(items, at):
            found.append(
                f"input[{at}]: the item {item.get('id')} of type reasoning stands without what must follow it."
            )
    left = [call for call in called if call not in answered]
    return found + [f"input: No tool output found for {called[call]} {call}." for call in left]


def _is_followed(items: list[Any], at: int) -> bool:
    """Whether something that the model gave together with its reasoning stands right behind it."""
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
    found = [f"input[{at}].{name}: this is no field of a message." for name in unknown]
    if isinstance(content, str):
        return found
    if not isinstance(content, list) or not content:
        return [*found, f"input[{at}].content: text or a list with at least one part is needed."]
    for part in content:
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind not in _PARTS[role]:
            found.append(f"input[{at}].content: {kind!r} is no part of a message of role {role}.")
    return found
