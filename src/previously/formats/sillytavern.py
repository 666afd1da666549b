"""SillyTavern chats: one object per line, after an optional header line.

How a line becomes a draft:

- `is_user` makes it the user's, anything else is the assistant's. A narrator's line (`extra.type` is "narrator", made
  by /sys and /sysgen) is a system message, since that is what SillyTavern sends it as; it is story all the same.
- `is_system` hides it. SillyTavern uses the flag for /hide, for comments and for its own notes on tool calls, and
  writes other values than true and false into it: what JavaScript takes for false is false.
- `mes` is the truth. The swipe that is shown is the one `swipe_id` names; if its text is not `mes`, another one of
  that very text; else the one named is an earlier form of `mes` (a greeting before its macros were resolved) and no
  reply of its own. All other swipes are alternatives, except blank and repeated ones.
- `extra.reasoning` becomes thinking, in alternatives too (from their `swipe_info`), so that a reply stays the same
  message when another swipe is shown.

Everything else goes to `extra["sillytavern"]`, laid out so that the line can be written again byte for byte: see
`sillytavern_fields`.
"""

from __future__ import annotations

from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json
from previously.core.messages import Attributes, Draft, Message, Part, Role, Text, Thinking, clean_draft
from previously.formats.fields import optional_text, refuse
from previously.formats.reading import Document, Source, parse_object
from previously.formats.sillytavern_fields import KEY, alternative_fields, message_fields, time_of

NAME = "sillytavern"


def is_header(item: dict[str, Any]) -> bool:
    """Whether an object is the line that stands before the messages."""
    return "mes" not in item and ("chat_metadata" in item or "user_name" in item)


def read(document: Document) -> Source:
    """A chat file."""
    drafts: list[Draft] = []
    header: dict[str, Any] = {}
    replaced = 0
    for number, line in document.lines():
        try:
            item = parse_object(line)
            if number == document.first_number and is_header(item):
                new_header, count = clean_json(item)
                assert isinstance(new_header, dict)
                header = new_header
            else:
                draft, count = clean_draft(draft_of(item))
                drafts.append(draft)
        except (BadInput, RecursionError) as error:
            raise document.fault(error, number) from None
        replaced += count
    return Source(drafts, NAME, header, replaced)


def draft_of(item: dict[str, Any]) -> Draft:
    """One message object with its swipes, not yet cleaned."""
    text = item.get("mes")
    if not isinstance(text, str):
        if "mes" not in item:
            raise BadInput('"mes" is missing.')
        refuse("mes", "text", text)
    role = Role.USER if item.get("is_user") else Role.ASSISTANT
    if _object(item.get("extra")).get("type") == "narrator":
        role = Role.SYSTEM
    speaker = optional_text(item, "name")
    hidden = bool(item.get("is_system"))
    message = Message(role, _parts(text, item), speaker)
    shown = shown_swipe(item)
    alternatives = _alternatives(item, message, shown, hidden)
    fields = message_fields(item, message, shown, {place for place, _ in alternatives})
    return Draft(
        message,
        Attributes(time_of(item), None, {KEY: fields}, hidden),
        tuple(draft for _, draft in alternatives),
    )


def shown_swipe(item: dict[str, Any]) -> int | None:
    """Which of the swipes `mes` is; None if it is none of them."""
    swipes = item.get("swipes")
    if not isinstance(swipes, list) or not swipes:
        return None
    given = item.get("swipe_id", 0)
    named = given if type(given) is int and 0 <= given < len(swipes) else None
    if named is not None and swipes[named] == item["mes"]:
        return named
    return swipes.index(item["mes"]) if item["mes"] in swipes else named


def _alternatives(item: dict[str, Any], message: Message, shown: int | None, hidden: bool) -> list[tuple[int, Draft]]:
    swipes, infos = item.get("swipes"), item.get("swipe_info")
    if not isinstance(swipes, list) or (len(swipes) == 1 and shown == 0):
        return []
    if not isinstance(infos, list):
        infos = []
    found: list[tuple[int, Draft]] = []
    seen = {message.parts}
    for place, text in enumerate(swipes):
        if place == shown or not isinstance(text, str) or not text.strip():
            continue
        given = infos[place] if place < len(infos) else None
        info = _object(given)
        parts = _parts(text, info)
        if parts in seen:
            continue
        seen.add(parts)
        fields = alternative_fields(place, info if info is given else None)
        attributes = Attributes(time_of(info), None, {KEY: fields}, hidden)
        found.append((place, Draft(Message(message.role, parts, message.speaker), attributes)))
    return found


def _parts(text: str, item: dict[str, Any]) -> tuple[Part, ...]:
    reasoning = _object(item.get("extra")).get("reasoning")
    if isinstance(reasoning, str) and reasoning.strip():
        return (Thinking(reasoning), Text(text))
    return (Text(text),)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
