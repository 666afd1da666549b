"""Scene memories of other shapes: the older structure of fourteen fields and more, and plain text.

`migrate` makes a scene of them. Nothing they say is lost: a summary that is too long keeps its beginning, and the rest
stands in an entry. What has the new structure already stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import BrokenJson, clean, clean_json, kind, parse_json, shown
from previously.core.patterns import lazy_pattern
from previously.core.scene import Described, Scene
from previously.core.tokens import estimate_tokens
from previously.folds.scene import forgive_shape, read_scene, unite_entries
from previously.folds.scene_checks import HARD_LIMIT, MOST_SUMMARY_TOKENS, validate_scene
from previously.lore.keys import refine_keywords
from previously.text.cuts import find_fitting_length
from previously.text.sentences import split_sentences

TOLD_FIELDS = ("narrative", "memorable_events")
"""Fields that tell what happened: they become the summary, in this order, with status and ties between them."""

ENTRY_FIELDS = {
    "npcs_facts": "character",
    "npcs_status": "character",
    "visited_locations": "location",
    "objects": "item",
    "factions": "faction",
    "lore": "lore",
    "secrets": "concept",
    "current_relationships": "concept",
}
"""Fields that describe things, and the type of each. Any other field is about a concept."""

STATE_FIELDS = ("npcs_status", "current_relationships")
"""Fields that say how things stand: in short in the summary, in full in an entry."""

OVERFLOW = "Earlier events"
"""The entry that holds what found no room in a summary."""

_FENCE = lazy_pattern(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.S)
_NAME_WORDS = 5
"""Words of a name: what has more is a sentence."""


def migrate(given: object) -> Scene:
    """Return the scene in a memory of any known shape. `BadInput` for what is none."""
    if isinstance(given, str):
        given = _parse_text(given)
    if isinstance(given, str):
        return _fit_scene(clean(given)[0], ())
    if not isinstance(given, Mapping):
        raise BadInput(f"A scene memory must be an object or a text, not {kind(given)}.")
    cleaned, _ = clean_json(dict(given))
    whole: Mapping[str, Any] = cleaned if isinstance(cleaned, dict) else {}
    if _is_older(whole):
        return _from_fields(whole)
    scene = _check_scene(forgive_shape(whole))
    left = {name: whole[name] for name in (*TOLD_FIELDS, *ENTRY_FIELDS) if "summary" in whole and whole.get(name)}
    if not left:
        return scene
    beside = _from_fields(left)  # half migrated: both structures in one
    return replace(_fit_scene(f"{scene.summary} {beside.summary}", (*scene.entries, *beside.entries)),
                   signals=scene.signals)  # fmt: skip


def _parse_text(text: str) -> object:
    """Return the JSON in a text, or the text where it is none."""
    fenced = _FENCE.fullmatch(text)
    bare = (fenced[1] if fenced else text).strip()
    if not bare:
        raise BadInput("A scene memory must say something; this text is empty.")
    if bare.startswith("{") and not bare.startswith("{{"):  # "{{user}} left" is plain text
        return parse_json(bare, "text")
    try:
        parsed = parse_json(bare, "text")
    except BrokenJson as error:
        if bare[0] == "[" and error.cut_off:
            raise
        return bare
    except BadInput:
        return bare
    return bare if isinstance(parsed, str) and not parsed.strip() else parsed


def _is_older(given: Mapping[str, Any]) -> bool:
    if "summary" in given or "lorebooks" in given:
        return False
    older = [name for name in (*TOLD_FIELDS, *ENTRY_FIELDS) if name in given]
    return bool(older) and not (older == ["lore"] and isinstance(given.get("recap"), str))


def _check_scene(given: Mapping[str, Any]) -> Scene:
    """Return the scene in the new structure, or refuse it; length alone is set right."""
    faults = [
        one for one in validate_scene(given).faults if not (one.where == "summary" and "over the limit" in one.reason)
    ]
    if faults:
        raise BadInput(f"This is no scene memory: {faults[0]}.")
    scene = read_scene(given)
    if estimate_tokens(scene.summary) <= MOST_SUMMARY_TOKENS:
        return scene
    return replace(_fit_scene(scene.summary, scene.entries), signals=scene.signals)


def _from_fields(given: Mapping[str, Any]) -> Scene:
    sentences = _list_texts(given.get("narrative"))
    for name in STATE_FIELDS:
        sentences += [_end_sentence(f"{who}: {' '.join(said)}") for who, said in _list_things(given.get(name), name)]
    sentences += _list_texts(given.get("memorable_events"))
    entries: list[Described] = []
    for name, value in given.items():
        if name in TOLD_FIELDS:
            continue
        entries += [_make_entry(who, said, name) for who, said in _list_things(value, name)]
    if not sentences and not entries:
        raise BadInput("This scene memory is empty: none of its fields says anything.")
    summary = " ".join(map(_end_sentence, sentences)) or f"Known: {', '.join(entry.name for entry in entries)}."
    return _fit_scene(summary, tuple(entries))


def _make_entry(who: str, said: list[str], field: str) -> Described:
    content = " ".join(map(_end_sentence, said))
    if len(who) + len(field) > HARD_LIMIT - 10:  # a sentence, not a name: it is told in full in the content
        content = f"{_end_sentence(who)} {content}"
        who, field = _first_words(who, field), field if field in ENTRY_FIELDS else shown(field, 60)
    if field in ENTRY_FIELDS:
        content = f"Status: {content}" if field == "npcs_status" else content
        return Described(who, ENTRY_FIELDS[field], refine_keywords(who, ()), content)
    name = who if who == _label(field) else f"{who} - {_label(field)}"
    return Described(name, "concept", refine_keywords(name, [who]), content)


def _fit_scene(text: str, entries: tuple[Described, ...]) -> Scene:
    """Return a summary within its limit, and what found no room in an entry of its own."""
    summary = text.strip()
    if estimate_tokens(summary) <= MOST_SUMMARY_TOKENS:
        return Scene(summary, unite_entries(entries))
    kept, rest = _cut(summary)
    overflow = Described(OVERFLOW, "event", (OVERFLOW,), rest)
    return Scene(kept, unite_entries([*entries, overflow]))


def _cut(text: str) -> tuple[str, str]:
    """Return the whole sentences that fit, and the rest; where not even one fits, as many characters."""
    kept = ""
    sentences = split_sentences(text)
    for index, sentence in enumerate(sentences):
        longer = f"{kept} {sentence}".strip()
        if estimate_tokens(longer) > MOST_SUMMARY_TOKENS:
            if kept:
                return kept, " ".join(sentences[index:])
            break
        kept = longer
    at = max(find_fitting_length(text, MOST_SUMMARY_TOKENS), 1)
    return text[:at].strip(), text[at:].strip()


def _list_things(value: object, field: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each thing that a field speaks of, with what it says of it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if said := _list_texts(inner):
                yield " ".join(str(name).split()) or _label(field), said
    elif isinstance(value, list):
        for item in value:
            yield from _list_item(item, field)
    elif said := _list_texts(value):
        yield _label(field), said


def _list_item(item: object, field: str) -> Iterator[tuple[str, list[str]]]:
    """Yield a thing in a list: an object with a name, the bare name of a place or thing, or a sentence."""
    if isinstance(item, Mapping):
        name = next((item[key] for key in ("name", "title", "who") if isinstance(item.get(key), str)), "")
        said = _list_texts({key: inner for key, inner in item.items() if inner != name})
        if name.strip() or said:
            yield (" ".join(name.split()) or _first_words(said[0], field)), said or [_label(field)]
        return
    said = _list_texts(item)
    if not said:
        return
    bare = len(said) == 1 and len(said[0].split()) <= _NAME_WORDS and not said[0].endswith((".", "!", "?"))
    yield (said[0], [_label(field)]) if bare and field in ENTRY_FIELDS else (_first_words(said[0], field), said)


def _list_texts(value: object) -> list[str]:
    """Return what a value says, piece by piece, whatever it is made of."""
    if value is None or isinstance(value, bool):
        return [] if value is None else ["yes" if value else "no"]
    if isinstance(value, Mapping):
        return [
            f"{_label(str(key))}: {', '.join(said)}" for key, inner in value.items() if (said := _list_texts(inner))
        ]
    if isinstance(value, list):
        return [sentence for item in value for sentence in _list_texts(item)]
    text = " ".join(str(value).split())
    return [text] if text else []


def _first_words(text: str, field: str) -> str:
    return shown(" ".join(text.split()[:_NAME_WORDS]).strip(" .,;:!?"), 60) or _label(field)


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。", '"', "”")) else f"{text}."


def _label(field: str) -> str:
    """Return a field's name in words."""
    words = field.replace("_", " ").strip()
    return f"{words[:1].upper()}{words[1:]}"
