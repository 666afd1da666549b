"""Books turned from World Info into the book of a character card, and back, with nothing lost.

Both forms have nearly the same fields under other names; they are moved as they are, so that null stays null and true
stays true. What the other form has no field for stands in `extensions.previously`, with the order of the fields: so a
book that was turned and turned back is what it was, but for what was changed in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from previously.lore.books import CHARACTER_BOOK, OURS, WORLD_INFO, find_book, is_renamed

EXTENSIONS, _PREVIOUSLY = OURS

_AT_TOP = {
    "uid": "id",
    "key": "keys",
    "keysecondary": "secondary_keys",
    "comment": "comment",
    "content": "content",
    "constant": "constant",
    "selective": "selective",
    "order": "insertion_order",
    "disable": "enabled",
}
"""Fields of World Info, and of the entry of a card."""

_IN_EXTENSIONS = {
    "position": "position",
    "excludeRecursion": "exclude_recursion",
    "preventRecursion": "prevent_recursion",
    "delayUntilRecursion": "delay_until_recursion",
    "displayIndex": "display_index",
    "probability": "probability",
    "useProbability": "useProbability",
    "depth": "depth",
    "selectiveLogic": "selectiveLogic",
    "outletName": "outlet_name",
    "group": "group",
    "groupOverride": "group_override",
    "groupWeight": "group_weight",
    "useGroupScoring": "use_group_scoring",
    "scanDepth": "scan_depth",
    "caseSensitive": "case_sensitive",
    "matchWholeWords": "match_whole_words",
    "automationId": "automation_id",
    "role": "role",
    "vectorized": "vectorized",
    "sticky": "sticky",
    "cooldown": "cooldown",
    "delay": "delay",
    "triggers": "triggers",
    "ignoreBudget": "ignore_budget",
    "characterFilter": "character_filter",
    "matchPersonaDescription": "match_persona_description",
    "matchCharacterDescription": "match_character_description",
    "matchCharacterPersonality": "match_character_personality",
    "matchCharacterDepthPrompt": "match_character_depth_prompt",
    "matchScenario": "match_scenario",
    "matchCreatorNotes": "match_creator_notes",
}
"""Fields of World Info, and of the extensions of a card's entry, as SillyTavern names them."""

_CARD_DEFAULTS = {"keys": [], "content": "", "enabled": True, "insertion_order": 100, "use_regex": True}
_WORLD_DEFAULTS = {"key": [], "keysecondary": [], "comment": "", "content": "", "order": 100, "disable": False}
"""The fields that other programs expect every entry to have."""

Fields = dict[str, Any]


def convert_book(given: Mapping[str, Any], form: str, name: str) -> Fields:
    """Return a book of the one form in the other."""
    book = find_book(given)
    assert isinstance(book, Mapping)
    entries, rest = book["entries"], {key: value for key, value in book.items() if key not in ("entries", EXTENSIONS)}
    extensions, ours, earlier = _split_extensions(book, form)
    kept: Fields = {"fields": rest, "keys": list(book)}
    kept |= {} if "name" in rest else {"called": name}  # it had no name, and may have another file's when it comes back
    if form == WORLD_INFO:
        raw = [convert_to_world_info(place, one) for place, one in enumerate(entries)]
        made: Fields = {"entries": dict(raw)}
        made |= {"name": rest["name"]} if "name" in rest else {}
    else:
        pairs = entries.items() if isinstance(entries, Mapping) else ((str(at), one) for at, one in enumerate(entries))
        made = {"name": rest.get("name", name), "entries": [convert_to_card(key, one) for key, one in pairs]}
    made[EXTENSIONS] = extensions | {_PREVIOUSLY: ours | {_other(form): kept}}
    made = _restore(made, earlier, {"name": earlier.get("called", name) if earlier else name})
    return made if form == WORLD_INFO else {"spec": "lorebook_v3", "data": made}


def convert_to_card(key: str, entry: Mapping[str, Any]) -> Fields:
    """Return an entry of World Info, which stands under `key`, as one of a card."""
    extensions, ours, earlier = _split_extensions(entry, CHARACTER_BOOK)
    rest = {field: value for field, value in entry.items() if field != EXTENSIONS}
    made: Fields = {}
    for field, target in _AT_TOP.items():
        if field == "disable" and not isinstance(rest.get(field, False), bool):
            continue
        if field in rest:
            value = rest.pop(field)
            made[target] = not value if field == "disable" else value
    if "id" not in made and key.isdecimal():
        made["id"] = int(key)
    mapped = {target: rest.pop(field) for field, target in _IN_EXTENSIONS.items() if field in rest}
    usual = _CARD_DEFAULTS | {"position": "after_char" if mapped.get("position") else "before_char"}
    if earlier and mapped.get("position") == earlier.get("position"):  # as it was: in the words it had, or none
        usual["position"] = earlier["fields"].get("position", usual["position"])
        if earlier.get("in_words"):
            del mapped["position"]
    made = {**made, **{field: value for field, value in usual.items() if field not in made}}
    if earlier and earlier.get("named"):
        if is_renamed(entry):
            made["name"] = entry["comment"]
        ours = {field: value for field, value in ours.items() if field not in ("name", "comment")}
    kept = {"fields": rest, "keys": list(entry), "key": key, "extensions": list(extensions)}
    # SillyTavern keeps the extensions of a card beside the fields that it took from them.
    kept["shadowed"] = {field: extensions.pop(field) for field in _IN_EXTENSIONS.values() if field in extensions}
    made[EXTENSIONS] = {**extensions, **mapped, _PREVIOUSLY: ours | {WORLD_INFO: kept}}
    unsaid = {_AT_TOP[field]: not value if field == "disable" else value for field, value in _WORLD_DEFAULTS.items()}
    return _restore(made, earlier, {**unsaid, **usual, "id": made.get("id")})


def convert_to_world_info(place: int, entry: Mapping[str, Any]) -> tuple[str, Fields]:
    """Return an entry of a card, at that place, as one of World Info, behind its key."""
    extensions, ours, earlier = _split_extensions(entry, WORLD_INFO)
    order = list(extensions)
    rest = {field: value for field, value in entry.items() if field != EXTENSIONS}
    made: Fields = {}
    for field, source in _AT_TOP.items():
        wanted = {"disable": bool, "uid": int}.get(field, object)
        if source in rest and isinstance(rest[source], wanted):
            value = rest.pop(source)
            made[field] = not value if field == "disable" else value
    made |= {field: extensions.pop(source) for field, source in _IN_EXTENSIONS.items() if source in extensions}
    is_told_in_words = "position" not in made and isinstance(rest.get("position"), str)
    if is_told_in_words:
        made["position"] = 0 if rest["position"] == "before_char" else 1
    is_named = isinstance(rest.get("name"), str) and bool(rest["name"].strip()) and "name" not in ours
    if is_named:
        ours |= {"name": rest["name"], "comment": made.get("comment") or ""}
    made.setdefault("uid", place)
    usual = {**_WORLD_DEFAULTS, "uid": place}
    made = {**made, **{field: value for field, value in usual.items() if field not in made}}
    extensions |= earlier.get("shadowed", {}) if earlier else {}
    kept = {"fields": rest, "keys": list(entry), "named": is_named, "extensions": order}
    kept |= {"position": made.get("position"), "in_words": is_told_in_words}
    made[EXTENSIONS] = {**extensions, _PREVIOUSLY: ours | {CHARACTER_BOOK: kept}}
    key = str(earlier.get("key", made["uid"])) if earlier else str(made["uid"])
    unsaid = {**_WORLD_DEFAULTS, "uid": made["uid"], "position": 1 if rest.get("position") == "after_char" else 0}
    return key, _restore(made, earlier, unsaid)


def _other(form: str) -> str:
    return CHARACTER_BOOK if form == WORLD_INFO else WORLD_INFO


def _split_extensions(given: Mapping[str, Any], form: str) -> tuple[Fields, Fields, Fields | None]:
    """Return the extensions of others, those of ours, and what the thing was when it had that form, if it ever had."""
    found = given.get(EXTENSIONS)
    extensions = dict(found) if isinstance(found, Mapping) else {}
    kept = extensions.pop(_PREVIOUSLY, None)
    ours = dict(kept) if isinstance(kept, Mapping) else {}
    earlier = ours.pop(form, None)
    is_usable = isinstance(earlier, Mapping) and isinstance(earlier.get("keys"), list)
    return extensions, ours, dict(earlier) if is_usable and isinstance(earlier["fields"], Mapping) else None


def _restore(made: Fields, earlier: Fields | None, usual: Mapping[str, Any]) -> Fields:
    """Return the fields in the order they had when the thing was of this form before, with those that the other form
    had no place for, and without those that it did not have and that say what is usual."""
    if earlier is None:
        return made
    extensions = dict(made.pop(EXTENSIONS))
    ours = {key: value for key, value in extensions.pop(_PREVIOUSLY).items() if key not in (WORLD_INFO, CHARACTER_BOOK)}
    extensions |= {_PREVIOUSLY: ours} if ours else {}
    extensions = _reorder(extensions, earlier.get("extensions", ()))
    keys = earlier["keys"]
    kept = earlier["fields"]
    is_usual = {key: key in usual and value == usual[key] for key, value in made.items()}
    made = kept | {key: made[key] for key in made if not is_usual[key] or (key in keys and key not in kept)}
    made |= {EXTENSIONS: extensions} if extensions or EXTENSIONS in keys else {}
    return _reorder(made, keys)


def _reorder(fields: Fields, keys: Sequence[str]) -> Fields:
    """Return the fields with these first, as far as they are there."""
    return {key: fields[key] for key in dict.fromkeys((*(key for key in keys if key in fields), *fields))}
