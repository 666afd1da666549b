"""SillyTavern chats, written: the way back of `formats.sillytavern`.

A line that came from a file has its layout in `extra["sillytavern"]` and is written as it was, but for what was changed
in the story. A message that was never in a file gets the fields that SillyTavern itself writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from previously.core.messages import Entry, Role, Thinking
from previously.formats.sillytavern import KEY, OWN_KEYS, copy_fields, is_header

USER, NARRATOR = "You", "Narrator"
"""The names of speakers who have none: SillyTavern shows a name with every message."""

_NEW_HEADER = {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A message of a chat, and the replies that stand beside it as swipes."""

    shown: Entry
    others: tuple[Entry, ...] = ()


def write_chat(header: Mapping[str, Any], lines: Sequence[ChatLine]) -> str:
    """Return the text of a chat's file, as SillyTavern writes it: no line end behind the last line."""
    texts = [_dump(write_line(line)) for line in lines]
    if is_header(dict(header)):
        texts.insert(0, _dump(dict(header)))
    elif not any(_is_layout(entry) for line in lines for entry in _list_entries(line)):
        texts.insert(0, _dump(_NEW_HEADER))  # old files of groups have none, and get none
    return "\n".join(texts)


def write_line(line: ChatLine) -> dict[str, Any]:
    """Return one message object with its swipes."""
    base = next((entry for entry in _list_entries(line) if _is_layout(entry)), None)
    if base is None:
        return _write_new_line(line)
    return _write_known_line(line, base)


def _write_known_line(line: ChatLine, base: Entry) -> dict[str, Any]:
    """Return a line along the layout of the entry that was read from it; another swipe may be shown by now."""
    layout = base.attributes.extra[KEY]
    fields = {key: _restore(base, key, value) for key, value in layout.items()}
    fields["mes"] = base.message.text
    original = copy_fields(fields)
    swipes, infos = layout.get("swipes"), layout.get("swipe_info")
    first_shown = swipes["shown"] if _is_counted(swipes) else None
    places = {first_shown: base} if first_shown is not None else {}
    places |= {entry.attributes.extra[KEY]["swipe_id"]: entry for entry in _list_entries(line) if _is_swipe(entry)}
    now_shown = next((place for place, entry in places.items() if entry is line.shown), first_shown)
    if line.shown is not base:
        fields["mes"] = line.shown.message.text
        fields |= _restore_info(line.shown) or {}
        if "is_system" in fields:
            fields["is_system"] = line.shown.attributes.hidden
    new = [entry for entry in line.others if not _is_layout(entry) and not _is_swipe(entry)]
    if "swipes" not in layout and (new or line.shown is not base):
        return _add_swipes(line, base, fields, original)
    if not _is_counted(swipes):
        return fields
    if line.shown not in places.values() and line.shown is not base:
        new.append(line.shown)
        now_shown = swipes["count"] + len(new) - 1
    texts = {place: entry.message.text for place, entry in places.items()}
    texts |= {swipes["count"] + number: entry.message.text for number, entry in enumerate(new)}
    kept = {int(place): text for place, text in swipes.get("kept", {}).items()}
    if base.replaces is not None and first_shown is not None:
        kept.pop(first_shown, None)  # an earlier form of what was shown; whoever edits a message edits its swipe
    fields["swipes"] = [kept.get(place, texts.get(place, "")) for place in range(swipes["count"] + len(new))]
    if "swipe_id" in fields and now_shown != first_shown:
        fields["swipe_id"] = now_shown
    if _is_counted(infos):
        fields["swipe_info"] = [
            _find_info(place, places, first_shown, original, infos.get("kept", {})) for place in range(infos["count"])
        ]
        fields["swipe_info"] += [_describe_new(entry) for entry in new if infos["count"] == swipes["count"]]
    return fields


def _add_swipes(line: ChatLine, base: Entry, fields: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """Return a line that had no swipes in its file, with those that were made since."""
    entries = sorted(_list_entries(line), key=lambda entry: entry.id)
    if line.shown is not base:
        fields = {key: value for key, value in fields.items() if key not in copy_fields(fields)}
        fields |= _describe_new(line.shown)
    return fields | {
        "swipe_id": entries.index(line.shown),
        "swipes": [entry.message.text for entry in entries],
        "swipe_info": [original if entry is base else _describe_new(entry) for entry in entries],
    }


def _find_info(
    place: int,
    places: Mapping[int, Entry],
    first_shown: int | None,
    original: dict[str, Any],
    kept: Mapping[str, Any],
) -> Any:
    if str(place) in kept:
        return kept[str(place)]
    if place == first_shown or place not in places:
        return original
    return _restore_info(places[place]) or {}


def _restore(entry: Entry, key: str, value: Any) -> Any:
    """Return the value of a field as the file has it; null stands for what the entry itself holds."""
    message, attributes = entry.message, entry.attributes
    if key in OWN_KEYS and isinstance(value, dict) and "was" in value:
        return value["was"]
    if value is not None:
        if key == "is_system" and bool(value) is not attributes.hidden:
            return attributes.hidden
        return value
    match key:
        case "name":
            return message.speaker
        case "is_user":
            return message.role is Role.USER
        case "is_system":
            return attributes.hidden
        case "send_date":
            return attributes.at
        case _:
            return None


def _restore_info(swipe: Entry) -> dict[str, Any] | None:
    """Return times and extra of a swipe, as `swipe_info` has them."""
    info = swipe.attributes.extra[KEY].get("swipe_info") if _is_swipe(swipe) else None
    if info is None:
        return None
    return {key: swipe.attributes.at if key == "send_date" and value is None else value for key, value in info.items()}


def _write_new_line(line: ChatLine) -> dict[str, Any]:
    entry = line.shown
    message, is_user = entry.message, entry.message.role is Role.USER
    is_told = message.role in (Role.USER, Role.ASSISTANT)
    fields = {
        "name": message.speaker or (USER if is_user else NARRATOR),
        "is_user": is_user,
        # Calls and their results are no words of anybody: SillyTavern would show a tool as a character.
        "is_system": entry.attributes.hidden or message.role is Role.TOOL,
        "send_date": entry.attributes.at or "",
        "mes": message.text,
        "extra": _describe_new(entry)["extra"] | ({} if is_told else {"type": "narrator"}),
    }
    if line.others:
        entries = sorted(_list_entries(line), key=lambda one: one.id)  # as they were made
        fields["swipe_id"] = entries.index(entry)
        fields["swipes"] = [swipe.message.text for swipe in entries]
        fields["swipe_info"] = [_describe_new(swipe) for swipe in entries]
    return fields


def _describe_new(entry: Entry) -> dict[str, Any]:
    thinking = "\n".join(part.text for part in entry.message.parts if isinstance(part, Thinking))
    return {"send_date": entry.attributes.at or "", "extra": {"reasoning": thinking} if thinking else {}}


def _list_entries(line: ChatLine) -> tuple[Entry, ...]:
    return (line.shown, *line.others)


def _is_layout(entry: Entry) -> bool:
    """Return whether an entry has the layout of a whole line."""
    fields = entry.attributes.extra.get(KEY)
    return isinstance(fields, dict) and "mes" in fields


def _is_swipe(entry: Entry) -> bool:
    fields = entry.attributes.extra.get(KEY)
    return isinstance(fields, dict) and "mes" not in fields and isinstance(fields.get("swipe_id"), int)


def _is_counted(value: object) -> bool:
    """Return whether a list is laid out by its places."""
    return isinstance(value, dict) and "count" in value


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
