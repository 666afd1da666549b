"""A conversation as a model reads it when it writes a brief.

Blocks under the names of those who speak; calls and what they gave back in square brackets, capped, with the count of
what was cut. What must stay true: thinking and errors that only the client saw are left out, errors of tools are not;
a message that tells nothing has no block; no secret goes out; what was said cannot pass for a block, a call or a tag of
ours; and the work is linear in the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from previously.core.messages import Image, Message, Part, Role, Text, ToolCall, ToolResult
from previously.folds.briefs.secrets import redact
from previously.folds.rendering import as_data

OUTPUT_CHARACTERS = 2_000
"""How much of a tool's output is told."""

ARGUMENTS_CHARACTERS = 1_000
"""How much of a call's arguments is told."""

TEXT_CHARACTERS = 20_000
"""How much of one text is told: what is longer was pasted."""

_LOOKED_AT = 25_000
"""Characters at either end of a text that are looked at, so that no secret is met half way."""

_AT_THE_END = 0.4
"""The share of a capped text that is its end: outputs tell what went wrong last."""

_NAMES = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System", Role.TOOL: "Tool"}

_OURS = re.compile(
    r"^(?=[ \t]*(?:#{1,6}[ \t]*(?:User|Assistant|System|Tool)[ \t]*$|\[(?:tool|tool-result|tool-error)(?:[ \]]|$)))",
    re.M | re.I,
)
_DATA_URL = re.compile(r"data:(?P<type>[\w.+/\-]{1,80});base64,(?P<data>[A-Za-z0-9+/=]{64,})")


def conversation_text(messages: Iterable[Message], most_characters: int = OUTPUT_CHARACTERS) -> str:
    """Messages in blocks, one for each that tells something; results stand under the calls they answer."""
    blocks: list[list[str]] = []
    calls = _Calls()
    for message in messages:
        lines = [line for part in message.parts if (line := _told(part, calls, most_characters))]
        if not lines:
            continue
        if message.role is Role.TOOL and blocks:
            blocks[-1] += lines
        else:
            blocks.append([f"## {_NAMES[message.role]}", *lines])
    return as_data("\n\n".join("\n".join(lines) for lines in blocks))


class _Calls:
    """The calls that wait for results, and whether several were made together: only then a result names its call."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._together = 0

    def made(self, call: ToolCall) -> None:
        self._together = self._together + 1 if self._waiting else 1
        self._waiting[call.id] = call.name

    def answered(self, call_id: str) -> str:
        """The name to be told with this result."""
        name = self._waiting.pop(call_id, "")
        return f" {_one_line(name)}" if name and self._together > 1 else ""


def _told(part: Part, calls: _Calls, most: int) -> str:
    match part:
        case Text(text):
            return capped(_as_said(text), TEXT_CHARACTERS)
        case ToolCall(_, name, arguments):
            calls.made(part)
            return f"[tool {_one_line(name)} {capped(_one_line(arguments) or '{}', ARGUMENTS_CHARACTERS)}]"
        case ToolResult(call, text):
            tag = "tool-error" if part.failed else "tool-result"
            return f"[{tag}{calls.answered(call)}] {capped(_as_said(text), most) or '(empty)'}"
        case Image(_, caption):
            return f"[image: {redact(_one_line(caption))[:300]}]" if caption.strip() else "[image]"
        case _:
            return ""


def _as_said(text: str) -> str:
    """What was said, so that no line of it looks like ours."""
    return _OURS.sub("\\\\", text.strip())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def capped(text: str, most: int) -> str:
    """At most so many characters of a text without its secrets, beginning and end, with the count of what was cut."""
    text = _DATA_URL.sub(lambda found: f"[{found['type']}, {len(found['data']):,} characters]", text)
    if len(text) <= 2 * _LOOKED_AT:
        clear = redact(text)
        cut = len(clear) - most
        if cut <= 0:
            return clear
        first, last = clear, clear
    else:
        first, last = redact(text[:_LOOKED_AT]), redact(text[-_LOOKED_AT:])
        cut = len(text) - most
    end = int(most * _AT_THE_END)
    return f"{first[: most - end].rstrip()}\n…[{cut:,} characters cut]…\n{last[len(last) - end :].lstrip()}"
