"""Messages as Anthropic's API takes them: a list of messages, or a request body with `system` and `messages`.

One message object is one message of ours, at the same place. A user message of nothing but tool results is a tool's
message; one with results and words is the user's, the results first. The `system` of a body is a message before all
others. What parts cannot tell is kept in `extra["anthropic"]`: the layout of the blocks (see `anthropic_blocks`) under
`content`, other fields under their own names.

What must stay true: `item_of(draft_of(item))` has the role and the content of `item`.
"""

from __future__ import annotations

from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import NO_ATTRIBUTES, Attributes, Draft, Message, Part, Role, Text
from previously.formats.anthropic_blocks import Block, blocks_of, parts_of
from previously.formats.fields import refuse, role_of

KEY = "anthropic"
_AS_TEXT = "text"
"""In place of a layout: the content was one text where blocks are usual."""


def draft_of(item: dict[str, Any]) -> Draft:
    """One message object, not yet cleaned. A fault names the field and what was expected there."""
    role, given = role_of(item)
    content = item.get("content")
    kept = {name: value for name, value in item.items() if name not in ("role", "content")}
    if given is not None:
        kept["role"] = given
    parts: tuple[Part, ...]
    if isinstance(content, str):
        parts = (Text(content),)
        if role not in (Role.USER, Role.SYSTEM):
            kept["content"] = _AS_TEXT
    elif isinstance(content, list):
        parts, layout = parts_of(content)
        if role is Role.USER and layout and all(rest.get("type") == "tool_result" for _, rest in layout):
            role = Role.TOOL
        parts = parts or (Text(""),)
        if content != _content(role, parts, None):
            kept["content"] = layout
    elif "content" not in item:
        raise BadInput('"content" is missing.')
    else:
        refuse("content", "text or a list of blocks", content)
    return Draft(Message(role, parts), Attributes(extra={KEY: kept}) if kept else NO_ATTRIBUTES)


def item_of(message: Message, attributes: Attributes = NO_ATTRIBUTES) -> dict[str, Any]:
    """The message object that `draft_of` read, its role and its content; a tool's message is the user's here."""
    role = Role.USER if message.role is Role.TOOL else message.role
    layout = layout_of(attributes)
    if layout == _AS_TEXT and len(message.parts) == 1:
        return {"role": role.value, "content": message.text}
    return {"role": role.value, "content": _content(message.role, message.parts, layout)}


def layout_of(attributes: Attributes) -> Any:
    """The layout that is kept with a message; None without one."""
    kept = attributes.extra.get(KEY)
    return kept.get("content") if isinstance(kept, dict) else None


def _content(role: Role, parts: tuple[Part, ...], layout: Any) -> str | list[Block]:
    if isinstance(layout, list):
        return blocks_of(parts, layout)
    if role in (Role.USER, Role.SYSTEM) and len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return blocks_of(parts)
