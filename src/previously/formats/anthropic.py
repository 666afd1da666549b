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
from previously.core.json_values import clean_json
from previously.core.messages import NO_ATTRIBUTES, Attributes, Draft, Message, Part, Role, Text, clean_draft
from previously.formats.anthropic_blocks import Block, blocks_of, parts_of
from previously.formats.fields import refuse, role_of
from previously.formats.reading import Document, Source, kind, read_value

NAME = "anthropic"
KEY = "anthropic"
_AS_TEXT = "text"
"""In place of a layout: the content was one text where blocks are usual."""

_OWN_BLOCKS = frozenset(["thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use"])


def is_ours(value: object) -> bool:
    """Whether a parsed file is in this format rather than in OpenAI's."""
    messages = value
    if isinstance(value, dict):
        if "system" in value and "messages" in value:
            return True
        messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    contents = [item.get("content") for item in messages if isinstance(item, dict)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(_is_own(block) for block in blocks if isinstance(block, dict))


def _is_own(block: Block) -> bool:
    kind_of = str(block.get("type"))
    return kind_of in _OWN_BLOCKS or (kind_of in ("image", "document") and isinstance(block.get("source"), dict))


def read(document: Document) -> Source:
    """A file of one JSON value."""
    return read_value(document, source_of)


def source_of(document: Document, value: Any) -> Source:
    """The messages of a parsed file."""
    header: dict[str, Any] = {}
    drafts: list[Draft] = []
    if isinstance(value, dict):
        header = {key: item for key, item in value.items() if key not in ("messages", "system")}
        if value.get("system"):
            drafts.append(draft_of({"role": "system", "content": value["system"]}))
        value = value.get("messages")
    if not isinstance(value, list):
        raise BadInput(f"the file must hold a list of messages, not {kind(value)}.")
    for number, item in enumerate(value, 1):
        try:
            if not isinstance(item, dict):
                raise BadInput(f"a message must be an object, not {kind(item)}.")
            drafts.append(draft_of(item))
        except BadInput as error:
            raise document.fault(error, f"message {number} of {len(value)}") from None
    pairs = [clean_draft(draft) for draft in drafts]
    new_header, replaced = clean_json(header)
    assert isinstance(new_header, dict)
    return Source([draft for draft, _ in pairs], NAME, new_header, replaced + sum(count for _, count in pairs))


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
