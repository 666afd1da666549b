"""What a SillyTavern line holds besides its message, kept so that the line can be written again byte for byte.

`extra["sillytavern"]` has all keys of the line in their order. Null stands where the draft itself holds the value, so
that an edit in the story is written and no text is stored twice:

- `mes`, `name`, `is_user`, `is_system`, `send_date`: null when text, speaker, role, hidden and time give it back;
- `swipes`: `{"count", "shown", "kept"}`: how many there are, which one is the message, and those that are neither the
  message nor an alternative, by place;
- `swipe_info`: `{"count", "kept"}`: how many there are, and those that are neither an alternative's nor the mere copy
  of the line's own times and extra, by place.

An alternative has `swipe_id`, its place, and `swipe_info`, if there was one. A value of an unexpected kind stays as it
was; one that this layout would mistake for its own stands in `{"was": …}`. `to_sillytavern` writes the line again.
"""

from __future__ import annotations

from typing import Any

from previously.core.messages import Attributes, Draft, Message, Role
from previously.wire.fields import parse_time

KEY = "sillytavern"
_OWN = ("is_user", "is_system", "swipes", "swipe_info")
_COPIED = ("send_date", "gen_started", "gen_finished", "extra")


def time_of(item: dict[str, Any]) -> str | None:
    """When it was sent. What is neither text nor number is no time."""
    sent = item.get("send_date")
    if isinstance(sent, bool) or not isinstance(sent, str | int | float) or sent == "":
        return None
    return parse_time(sent)


def message_fields(item: dict[str, Any], message: Message, shown: int | None, places: set[int]) -> dict[str, Any]:
    """The fields of a line; `places` are those of its alternatives."""
    fields = dict(item)
    for key in _OWN:
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
            copy = _copied(item)
            kept = {
                str(place): info
                for place, info in enumerate(infos)
                if not (place in places and isinstance(info, dict)) and not (place == shown and _same(info, copy))
            }
            fields["swipe_info"] = {"count": len(infos)} | ({"kept": kept} if kept else {})
    return _timeless(fields)


def alternative_fields(place: int, info: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of a swipe that is not shown."""
    return {"swipe_id": place} if info is None else {"swipe_id": place, "swipe_info": _timeless(dict(info))}


def to_sillytavern(draft: Draft) -> dict[str, Any]:
    """The line of a draft: as it was read, with what the story has changed since."""
    message, attributes = draft.message, draft.attributes
    hidden, at = attributes.hidden, attributes.at
    fields: dict[str, Any] = dict(attributes.extra.get(KEY, {}))
    if "mes" not in fields:
        fields = {"name": None, "is_user": None, "is_system": None, "send_date": None, "mes": None, "extra": {}}
    fields["mes"] = message.text
    held = {"name": message.speaker, "is_user": message.role is Role.USER, "is_system": hidden, "send_date": at}
    for key, value in held.items():
        if key in fields and fields[key] is None:
            fields[key] = value
    swipes, infos = fields.get("swipes"), fields.get("swipe_info")
    if isinstance(swipes, dict) and "count" in swipes:
        others = {alternative.attributes.extra[KEY]["swipe_id"]: alternative for alternative in draft.alternatives}
        texts = _by_place(swipes) | {place: other.message.text for place, other in others.items()}
        fields["swipes"] = [texts.get(place, message.text) for place in range(swipes["count"])]
        if isinstance(infos, dict) and "count" in infos:
            known = {place: _info(other.attributes) for place, other in others.items()} | _by_place(infos)
            copy = _copied(fields)
            fields["swipe_info"] = [known.get(place, copy) for place in range(infos["count"])]
    for key in _OWN:
        value = fields.get(key)
        if isinstance(value, dict) and "was" in value:
            fields[key] = value["was"]
    if bool(fields.get("is_system")) != hidden:
        fields["is_system"] = hidden
    return fields


def _by_place(layout: dict[str, Any]) -> dict[int, Any]:
    return {int(place): value for place, value in layout.get("kept", {}).items()}


def _info(attributes: Attributes) -> dict[str, Any]:
    info = dict(attributes.extra[KEY].get("swipe_info", {}))
    if "send_date" in info and info["send_date"] is None:
        info["send_date"] = attributes.at
    return info


def _timeless(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields without the time, where the time is written as it stands in the file."""
    sent = fields.get("send_date")
    if isinstance(sent, str) and sent and parse_time(sent) == sent:
        fields["send_date"] = None
    return fields


def _copied(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in _COPIED if key in item}


def _same(info: object, copy: dict[str, Any]) -> bool:
    return isinstance(info, dict) and list(info) == list(copy) and info == copy
