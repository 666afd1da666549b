"""The kinds of calls of OpenAI's Responses API, and an output for each: the API refuses one of another kind.

What must stay true: an output that is of its call's kind and shape is left as it is; one that was made or shortened
says the same in the shape of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from previously.core.pairing import INTERRUPTED

Item = dict[str, Any]

CALLS: Mapping[str, tuple[str | None, str]] = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "local_shell_call": (None, "action"),
    "shell_call": (None, "action"),
    "apply_patch_call": (None, "operation"),
    "computer_call": (None, "action"),
}
"""Calls that the client answers: the field of the name, and that of the arguments. One without a name is named like its
kind, and its arguments are an object."""
OUTPUTS = frozenset(f"{call}_output" for call in CALLS)

NO_SCREENSHOT = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""The smallest picture there is: a computer's output is a picture, even where none was taken or it was left out."""


class Kinds:
    """The calls of a list as far as it has been written, and what each is to be answered with."""

    def __init__(self) -> None:
        self._calls: dict[str, Item] = {}

    def note(self, item: Item) -> None:
        """The next item, which stays as it is."""
        if item.get("type") in CALLS:
            self._calls[_id_of(item)] = item

    def fitting(self, item: Item) -> Item:
        """The next item; an output in the kind and the shape that its call wants."""
        self.note(item)
        call = self._calls.get(_id_of(item)) if item.get("type") in OUTPUTS else None
        if call is None:
            return item
        kind = f"{call['type']}_output"
        if item["type"] != kind:
            named = "call_id" if isinstance(call.get("call_id"), str) else "id"
            item = {"type": kind, named: _id_of(item), "output": item.get("output")}
        return _in_shape(kind, item)


def named_otherwise(items: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Outputs that name their call by its own id rather than by the id that both share, and that one, by place."""
    shared: dict[str, str] = {}
    found: dict[int, str] = {}
    for at, item in enumerate(items):
        own, call_id = item.get("id"), item.get("call_id")
        if item.get("type") in CALLS and isinstance(own, str) and isinstance(call_id, str):
            shared[own] = call_id
        elif item.get("type") in OUTPUTS and call_id is None and isinstance(own, str) and own in shared:
            found[at] = shared[own]
    return found


def _id_of(item: Item) -> str:
    return str(item.get("call_id") or item.get("id"))


def _in_shape(kind: str, item: Item) -> Item:
    output = item.get("output")
    match kind:
        case "shell_call_output" if not _is_of_a_shell(output):
            failed = _text(output) == INTERRUPTED
            outcome = {"type": "exit", "exit_code": 1 if failed else 0}
            return item | {"output": [{"stdout": _text(output), "stderr": "", "outcome": outcome}]}
        case "apply_patch_call_output":
            status = "failed" if _text(output) == INTERRUPTED else item.get("status", "completed")
            return item | ({"output": _text(output)} if output is not None else {}) | {"status": status}
        case "local_shell_call_output":
            return item | {"output": _text(output)}
        case "computer_call_output" if not is_screenshot(output):
            return item | {"output": {"type": "computer_screenshot", "image_url": _picture(output)}}
    return item


def is_screenshot(output: object) -> bool:
    """Whether it is what a computer's call gave."""
    return isinstance(output, dict) and output.get("type") == "computer_screenshot"


def shell_text(output: object) -> str | None:
    """What the commands of a shell's call gave, as one text; None if it is no output of such a call."""
    if not isinstance(output, list) or not _is_of_a_shell(output):
        return None
    told = (one[stream] for one in output for stream in ("stdout", "stderr"))
    return "\n".join(text for text in told if text)


def shortened_shell(output: list[Item], text: str) -> list[Item]:
    """The output of a shell's call with another text in place of what it gave."""
    return [{**output[-1], "stdout": text, "stderr": ""}]


def _is_of_a_shell(output: object) -> bool:
    return (
        isinstance(output, list)
        and bool(output)
        and all(
            isinstance(one, dict) and isinstance(one.get("stdout"), str) and isinstance(one.get("stderr"), str)
            for one in output
        )
    )


def _text(output: object) -> str:
    if isinstance(output, list):
        return "\n\n".join(str(one.get("text", "[a picture]")) for one in output if isinstance(one, dict))
    return output if isinstance(output, str) else ""


def _picture(output: object) -> str:
    parts = [one for one in output if isinstance(one, dict)] if isinstance(output, list) else []
    return next((one["image_url"] for one in parts if isinstance(one.get("image_url"), str)), NO_SCREENSHOT)
