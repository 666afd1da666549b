"""The two forms of book that others write: SillyTavern's World Info, and the book inside a character card.

Both hold nearly the same, under other names. What a card's entry cannot hold in its own fields stands in its
`extensions`; what is left over on the way from one form to the other waits in `extensions.previously`, and finds back
from there.

What must stay true: an entry that goes to the other form and back says the same and has lost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from previously.lore.book_fields import (
    OURS,
    Field,
    Form,
    Switch,
    at,
    flag,
    level,
    logic,
    number,
    opposite_flag,
    patched,
    put,
    text,
    texts,
    whole,
)
from previously.lore.entries import Entry

_NAME = Field("name", (*OURS, "name"), text)
_TYPE = Field("type", (*OURS, "type"), text)


def _opposite(value: object) -> bool:
    return not value


WORLD_INFO = Form(
    "world-info",
    (
        Field("keys", ("key",), texts, list),
        Field("secondary", ("keysecondary",), texts, list, switch=Switch(("selective",))),
        Field("comment", ("comment",), text),
        Field("content", ("content",), text),
        Field("constant", ("constant",), flag),
        Field("logic", ("selectiveLogic",), logic, int),
        Field("order", ("order",), number),
        Field("enabled", ("disable",), opposite_flag, _opposite),
        Field("ignore_budget", ("ignoreBudget",), flag),
        Field("exclude_recursion", ("excludeRecursion",), flag),
        Field("prevent_recursion", ("preventRecursion",), flag),
        Field("delay_until_recursion", ("delayUntilRecursion",), level),
        Field("probability", ("probability",), number, switch=Switch(("useProbability",))),
        Field("scan_depth", ("scanDepth",), whole),
        Field("case_sensitive", ("caseSensitive",), flag),
        Field("whole_words", ("matchWholeWords",), flag),
        Field("sticky", ("sticky",), whole),
        Field("cooldown", ("cooldown",), whole),
        Field("delay", ("delay",), whole),
        _TYPE,
        _NAME,
    ),
    {
        "uid": 0, "key": [], "keysecondary": [], "comment": "", "content": "", "constant": False, "vectorized": False,
        "selective": True, "selectiveLogic": 0, "addMemo": True, "order": 100, "position": 0, "disable": False,
        "ignoreBudget": False, "excludeRecursion": False, "preventRecursion": False, "delayUntilRecursion": 0,
        "probability": 100, "useProbability": True, "depth": 4, "role": 0, "outletName": "", "group": "",
        "groupOverride": False, "groupWeight": 100, "useGroupScoring": None, "scanDepth": None, "caseSensitive": None,
        "matchWholeWords": None, "automationId": "", "sticky": None, "cooldown": None, "delay": None, "triggers": [],
        "displayIndex": 0,
    },
)  # fmt: skip

CHARACTER_BOOK = Form(
    "character-book",
    (
        Field("keys", ("keys",), texts, list),
        Field("secondary", ("secondary_keys",), texts, list, switch=Switch(("selective",), absent=False)),
        Field("comment", ("comment",), text),
        Field("content", ("content",), text),
        Field("constant", ("constant",), flag),
        Field("logic", ("extensions", "selectiveLogic"), logic, int),
        Field("order", ("insertion_order",), number),
        Field("enabled", ("enabled",), flag),
        Field("ignore_budget", ("extensions", "ignore_budget"), flag),
        Field("exclude_recursion", ("extensions", "exclude_recursion"), flag),
        Field("prevent_recursion", ("extensions", "prevent_recursion"), flag),
        Field("delay_until_recursion", ("extensions", "delay_until_recursion"), level),
        Field("probability", ("extensions", "probability"), number, switch=Switch(("extensions", "useProbability"))),
        Field("scan_depth", ("extensions", "scan_depth"), whole),
        Field("case_sensitive", ("extensions", "case_sensitive"), flag, otherwise=("case_sensitive",)),
        Field("whole_words", ("extensions", "match_whole_words"), flag),
        Field("sticky", ("extensions", "sticky"), whole),
        Field("cooldown", ("extensions", "cooldown"), whole),
        Field("delay", ("extensions", "delay"), whole),
        _TYPE,
        Field("name", (*OURS, "name"), text, otherwise=("name",)),
    ),
    {
        "id": 0, "keys": [], "secondary_keys": [], "comment": "", "content": "", "constant": False, "selective": True,
        "insertion_order": 100, "enabled": True, "position": "before_char", "use_regex": True,
    },
)  # fmt: skip

_IN_EXTENSIONS = {
    "position": "position",
    "depth": "depth",
    "role": "role",
    "vectorized": "vectorized",
    "outletName": "outlet_name",
    "group": "group",
    "groupOverride": "group_override",
    "groupWeight": "group_weight",
    "useGroupScoring": "use_group_scoring",
    "automationId": "automation_id",
    "triggers": "triggers",
    "displayIndex": "display_index",
    "matchPersonaDescription": "match_persona_description",
    "matchCharacterDescription": "match_character_description",
    "matchCharacterPersonality": "match_character_personality",
    "matchCharacterDepthPrompt": "match_character_depth_prompt",
    "matchScenario": "match_scenario",
    "matchCreatorNotes": "match_creator_notes",
}
"""Fields that an entry of ours does not have: their names in World Info, and in the extensions of a card's entry."""


def world_info_object(entry: Entry, uid: int) -> dict[str, Any]:
    """An entry as a World Info file holds it; `uid` is used where it has no number yet."""
    if entry.form == WORLD_INFO.name:
        return patched(entry.extra, WORLD_INFO, entry)
    made = fresh(WORLD_INFO) | {"uid": uid, "displayIndex": uid}
    if entry.form == CHARACTER_BOOK.name:
        made |= _found_again(entry.extra, "world_info")
        for name, named in _IN_EXTENSIONS.items():
            found = at(entry.extra, ("extensions", named))
            if found is not None:
                made[name] = found
        if at(entry.extra, ("extensions", "position")) is None and entry.extra.get("position") is not None:
            made["position"] = 0 if entry.extra["position"] == "before_char" else 1
        extensions = _others(entry.extra.get("extensions"), _in_extensions(), but=("world_info", "character_book"))
        if extensions:
            made["extensions"] = extensions
        _leave(made, "character_book", _others(entry.extra, {*_tops(CHARACTER_BOOK), "id", "position", "use_regex"}))
    return patched(made, WORLD_INFO, _titled(entry))


def character_book_object(entry: Entry, number: int) -> dict[str, Any]:
    """An entry as a character card holds it; `number` is used where it has no id yet."""
    if entry.form == CHARACTER_BOOK.name:
        return patched(entry.extra, CHARACTER_BOOK, entry)
    made = fresh(CHARACTER_BOOK) | {"id": number}
    if entry.form == WORLD_INFO.name:
        made |= _found_again(entry.extra, "character_book")
        made["extensions"] = _others(entry.extra.get("extensions"), set(), but=("world_info", "character_book"))
        for name, named in _IN_EXTENSIONS.items():
            if name in entry.extra:
                made["extensions"][named] = entry.extra[name]
        made["position"] = "after_char" if entry.extra.get("position") else "before_char"
        _leave(made, "world_info", _others(entry.extra, {*_tops(WORLD_INFO), *_IN_EXTENSIONS}))
    return patched(made, CHARACTER_BOOK, _titled(entry))


def fresh(form: Form) -> dict[str, Any]:
    """A new object of a form, that shares nothing with another."""
    return {key: list(one) if isinstance(one, list) else one for key, one in form.template.items()}


def _titled(entry: Entry) -> Entry:
    """What comes from no file has its name for a comment, which is what others show as its title."""
    return entry if entry.form or entry.comment else replace(entry, comment=entry.name)


def _tops(form: Form) -> set[str]:
    """The fields of an object that say something of an entry, wherever inside them."""
    switches = [field.switch.path[0] for field in form.fields if field.switch is not None]
    return {*(field.path[0] for field in form.fields), *switches}


def _in_extensions() -> set[str]:
    """The extensions of a card's entry that have a field of their own in World Info."""
    paths = [
        path for field in CHARACTER_BOOK.fields for path in (field.path, field.switch.path if field.switch else ())
    ]
    return {path[1] for path in paths if path[:1] == ("extensions",) and path[1] != OURS[1]} | {
        *_IN_EXTENSIONS.values()
    }


def _others(given: object, known: set[str], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of an object besides the known ones, and of what is ours in it all but those named."""
    kept = {key: value for key, value in given.items() if key not in known} if isinstance(given, Mapping) else {}
    ours = kept.get(OURS[1])
    if but and isinstance(ours, Mapping):
        kept[OURS[1]] = {key: value for key, value in ours.items() if key not in but}
        if not kept[OURS[1]]:
            del kept[OURS[1]]
    return kept


def _leave(made: dict[str, Any], name: str, left: Mapping[str, Any]) -> None:
    """Keep what the form has no place for."""
    if left:
        put(made, (*OURS, name), left)


def _found_again(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What was left of the other form when the object was made from it."""
    found = at(given, (*OURS, name))
    return dict(found) if isinstance(found, Mapping) else {}
