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

Everything else goes to `extra["sillytavern"]`, laid out so that the line can be written again byte for byte. It has all
keys of the line in their order. Null stands where the draft itself holds the value, so that an edit in the story is
written and no text is stored twice:

- `mes`, `name`, `is_user`, `is_system`, `send_date`: null when text, speaker, role, hidden and time give it back;
- `swipes`: `{"count", "shown", "kept"}`: how many there are, which one is the message, and those that are neither the
  message nor an alternative, by place;
- `swipe_info`: `{"count", "kept"}`: how many there are, and those that are neither an alternative's nor the mere copy
  of the line's own times and extra, by place.

An alternative has `swipe_id`, its place, and `swipe_info`, if there was one. A value of an unexpected kind stays as it
was; one that this layout would mistake for its own stands in `{"was": …}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json, parse_object
from previously.core.messages import Attributes, Draft, Message, Part, Role, Text, Thinking, clean_draft
from previously.core.scene import SpanMemory
from previously.formats.chat_memories import ChatMemories, find_bound_book
from previously.formats.files import Document, DraftStream, SourceBook, StorySource
from previously.wire.fields import parse_time, read_optional_text, refuse

NAME = "sillytavern"

KEY = "sillytavern"

OWN_KEYS = ("is_user", "is_system", "swipes", "swipe_info")

_COPIED = ("send_date", "gen_started", "gen_finished", "extra")


def is_header(item: dict[str, Any]) -> bool:
    """Return whether an object is the line that stands before the messages."""
    return "mes" not in item and ("chat_metadata" in item or "user_name" in item)


def read(document: Document) -> StorySource:
    header, replaced = _read_header(document)
    books, memories = _find_books(document.path, header)
    drafts: list[Draft] = []
    told = ChatMemories(KEY, told_elsewhere=bool(memories))
    for position, (draft, count) in enumerate(_read_messages(document)):
        told.note(position, draft)
        drafts.append(draft)
        replaced += count
    return StorySource(drafts, NAME, header, replaced, books=books, memories=(*memories, *told.list_memories()))


def stream(document: Document, path: Path) -> StorySource:
    """Return a chat, to be read as its messages are asked for."""
    header, replaced = _read_header(document)
    books, memories = _find_books(path, header)
    told = ChatMemories(KEY, told_elsewhere=bool(memories))
    messages = DraftStream(path, _read_messages, told.note, told.list_memories)
    return StorySource([], NAME, header, replaced, books=books, memories=memories, stream=messages)


def _read_header(document: Document) -> tuple[dict[str, Any], int]:
    """Return the line before the messages, if there is one, and how many characters were replaced in it."""
    try:
        item = parse_object(document.first)
        header, count = clean_json(item) if is_header(item) else ({}, 0)
    except (BadInput, RecursionError) as error:
        raise document.fault(error, document.first_number) from None
    assert isinstance(header, dict)
    return header, count


def _read_messages(document: Document) -> Iterator[tuple[Draft, int]]:
    for number, line in document.lines():
        try:
            item = parse_object(line)
            if number != document.first_number or not is_header(item):
                yield clean_draft(parse_line(item))
        except (BadInput, RecursionError) as error:
            raise document.fault(error, number) from None


def _find_books(path: Path | None, header: dict[str, Any]) -> tuple[tuple[SourceBook, ...], tuple[SpanMemory, ...]]:
    bound = find_bound_book(path, header)
    return ((bound[0],), bound[1]) if bound else ((), ())


def parse_line(item: dict[str, Any]) -> Draft:
    """Return one message object with its swipes, not yet clean."""
    text = item.get("mes")
    if not isinstance(text, str):
        if "mes" not in item:
            raise BadInput('"mes" is missing.')
        refuse("mes", "text", text)
    role = Role.USER if item.get("is_user") else Role.ASSISTANT
    if "extra" in item and _object(item["extra"]).get("type") == "narrator":
        role = Role.SYSTEM
    speaker = read_optional_text(item, "name")
    hidden = bool(item.get("is_system"))
    message = Message(role, _parts(text, item), speaker)
    shown = find_shown_swipe(item)
    alternatives = _find_alternatives(item, message, shown, hidden)
    at = find_time(item)
    fields = keep_message_fields(item, message, shown, {place for place, _ in alternatives}, at)
    return Draft(message, Attributes(at, None, {KEY: fields}, hidden), tuple(draft for _, draft in alternatives))


def find_shown_swipe(item: dict[str, Any]) -> int | None:
    """Return which of the swipes `mes` is; None if it is none of them."""
    swipes = item.get("swipes")
    if not isinstance(swipes, list) or not swipes:
        return None
    given = item.get("swipe_id", 0)
    named = given if type(given) is int and 0 <= given < len(swipes) else None
    if named is not None and swipes[named] == item["mes"]:
        return named
    return swipes.index(item["mes"]) if item["mes"] in swipes else named


def _find_alternatives(
    item: dict[str, Any], message: Message, shown: int | None, hidden: bool
) -> list[tuple[int, Draft]]:
    swipes, infos = item.get("swipes"), item.get("swipe_info")
    if not isinstance(swipes, list) or (len(swipes) == 1 and shown == 0):
        return []
    if not isinstance(infos, list):
        infos = []
    alternatives: list[tuple[int, Draft]] = []
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
        at = find_time(info)
        fields = keep_alternative_fields(place, info if info is given else None, at)
        attributes = Attributes(at, None, {KEY: fields}, hidden)
        alternatives.append((place, Draft(Message(message.role, parts, message.speaker), attributes)))
    return alternatives


def _parts(text: str, item: dict[str, Any]) -> tuple[Part, ...]:
    reasoning = _object(item["extra"]).get("reasoning") if "extra" in item else None
    if isinstance(reasoning, str) and reasoning.strip():
        return (Thinking(reasoning), Text(text))
    return (Text(text),)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def find_time(item: dict[str, Any]) -> str | None:
    """Return when it was sent. What is neither text nor number is no time."""
    sent = item.get("send_date")
    if isinstance(sent, bool) or not isinstance(sent, str | int | float) or sent == "":
        return None
    return parse_time(sent)


def keep_message_fields(
    item: dict[str, Any], message: Message, shown: int | None, places: set[int], at: str | None
) -> dict[str, Any]:
    """Return the fields of a line; `places` are those of its alternatives, `at` is its time."""
    fields = dict(item)
    for key in OWN_KEYS:
        if key in fields and (fields[key] is None or isinstance(fields[key], dict)):
            fields[key] = {"was": fields[key]}
    fields["mes"] = None
    if message.speaker:
        fields["name"] = None
    if fields.get("is_user") is (message.role is Role.USER):
        fields["is_user"] = None
    if isinstance(fields.get("is_system"), bool):
        fields["is_system"] = None
    swipes, infos = item.get("swipes"), item.get("swipe_info")
    if isinstance(swipes, list):
        kept = {
            str(place): text
            for place, text in enumerate(swipes)
            if place not in places and not (place == shown and text == item["mes"])
        }
        fields["swipes"] = {"count": len(swipes), "shown": shown} | ({"kept": kept} if kept else {})
        if isinstance(infos, list):
            copy = copy_fields(item)
            kept = {
                str(place): info
                for place, info in enumerate(infos)
                if not (place in places and isinstance(info, dict)) and not (place == shown and _same(info, copy))
            }
            fields["swipe_info"] = {"count": len(infos)} | ({"kept": kept} if kept else {})
    return _timeless(fields, at)


def keep_alternative_fields(place: int, info: dict[str, Any] | None, at: str | None) -> dict[str, Any]:
    return {"swipe_id": place} if info is None else {"swipe_id": place, "swipe_info": _timeless(dict(info), at)}


def _timeless(fields: dict[str, Any], at: str | None) -> dict[str, Any]:
    """Return the fields without the time, where the time is written as it stands in the file."""
    if at is not None and fields.get("send_date") == at:
        fields["send_date"] = None
    return fields


def copy_fields(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in _COPIED if key in item}


def _same(info: object, copy: dict[str, Any]) -> bool:
    return isinstance(info, dict) and list(info) == list(copy) and info == copy
