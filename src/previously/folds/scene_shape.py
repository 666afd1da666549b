"""The shape of a scene: how it is written down, and how it is read from what a model or a file gives.

Owns the JSON of a scene, `{summary, lorebooks}` with its signals beside them, and what is forgiven in an answer: short
and other names for a field, a text where a list belongs, an object around it, another word for a type. What must stay
true: reading what was written gives the same scene; nothing here refuses, that is `scene_checks`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from previously.core.lore import TYPES, Described, Scene, known_type
from previously.core.note import LoreItem, Note, ThreadChange, ThreadItem
from previously.core.signals import Settled, Signals, folded, settled_json, settled_of, signals_of
from previously.core.state_line import parse_state_line
from previously.folds.json_answer import canonical, text_in
from previously.text.sentences import whole_sentences

_LIST = {"type": "array", "items": {"type": "string"}}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "lorebooks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "type": {"type": "string", "enum": list(TYPES)},
                    "keywords": _LIST,
                    "content": {"type": "string"},
                },
                "required": ["name", "type", "keywords", "content"],
            },
        },
        "open_threads": _LIST,
        "resolved_threads": _LIST,
        "state_changes": _LIST,
    },
    "required": ["summary", "lorebooks"],
}
"""What an answer must look like, for servers that hold a model to it."""

_WRAPPERS = ("recap", "memory", "scene", "output", "result", "response", "answer")
_SUMMARY = ("recap", "narrative")
_LOREBOOKS = ("lorebook", "setting_lore", "entities", "entries", "lore")
_FIELDS = {
    "name": ("n", "title", "entity"),
    "type": ("t", "category", "kind"),
    "keywords": ("k", "keys", "key", "keyword", "triggers"),
    "content": ("c", "description", "text", "details"),
}
_SIGNALS = tuple(one.name for one in fields(Signals))
_TEXTS = ("text", "description", "thread", "change", "event")
_COMMAS = re.compile(r"[,;|\n]+")


def readable(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a model gave with all that can be forgiven set right. It may still be refused."""
    whole = _unwrapped(given)
    read: dict[str, Any] = {key: value for key, value in whole.items() if key not in ("summary", "lorebooks")}
    _take(read, whole, "summary", _SUMMARY)
    _take(read, whole, "lorebooks", _LOREBOOKS)
    entries = read.get("lorebooks")
    if entries is None:
        read["lorebooks"] = []
    elif isinstance(entries, list):
        read["lorebooks"] = [_entry(one) if isinstance(one, Mapping) else one for one in entries]
    return read | {name: _lines(whole[name]) for name in _SIGNALS if name in whole}


def _lines(value: object, deeper: int = 3) -> list[str]:
    """What stands where a list of texts belongs, as such a list: a text, a number or an object says something too."""
    if value is None or isinstance(value, bool):
        return []
    if not isinstance(value, Mapping | list | tuple):
        return [str(value)] if str(value).strip() else []
    if not deeper:
        return []
    if isinstance(value, Mapping):
        inside = [(name, "; ".join(_lines(inner, deeper - 1))) for name, inner in value.items()]
        return [f"{name}: {said}" for name, said in inside if said]
    found = [_said(item, deeper) if isinstance(item, Mapping) else _lines(item, deeper - 1) for item in value]
    return [line for lines in found for line in lines]


def _said(item: Mapping[str, Any], deeper: int) -> list[str]:
    """An object in a list as one line: its own text, or all that it says."""
    own = next((item[name] for name in _TEXTS if isinstance(item.get(name), str)), "")
    said = own if own.strip() else "; ".join(_lines(item, deeper - 1))
    return [said] if said else []


def _unwrapped(given: Mapping[str, Any]) -> Mapping[str, Any]:
    if "summary" in given:
        return given
    for name in _WRAPPERS:
        inner = given.get(name)
        if isinstance(inner, Mapping):
            return {**{key: value for key, value in given.items() if key != name}, **inner}
    return given


def _take(read: dict[str, Any], given: Mapping[str, Any], field: str, others: Iterable[str]) -> None:
    name = next((one for one in (field, *others) if one in given), None)
    if name is not None:
        read.pop(name, None)
        read[field] = given[name]


def _entry(given: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for field, others in _FIELDS.items():
        _take(entry, given, field, others)
    if isinstance(entry.get("type"), str):
        entry["type"] = known_type(entry["type"])
    keywords = entry.get("keywords")
    if isinstance(keywords, str):
        entry["keywords"] = [one.strip() for one in _COMMAS.split(keywords) if one.strip()]
    elif isinstance(keywords, list):
        entry["keywords"] = [one for one in keywords if isinstance(one, str) and one.strip()]
    if isinstance(entry.get("content"), list):
        entry["content"] = text_in(entry["content"])
    return entry


def scene_in(given: Mapping[str, Any]) -> Scene:
    """The scene in an object that has its shape; what has not is passed over."""
    summary = given.get("summary")
    entries = given.get("lorebooks")
    found = [_described(one) for one in entries if isinstance(one, Mapping)] if isinstance(entries, list) else []
    described = tuple(one for one in found if one.name)
    return Scene(text_in(summary), described, signals_of(given), settled_of(given.get("settled")))


def _described(given: Mapping[str, Any]) -> Described:
    keywords = given.get("keywords")
    listed = [one for one in keywords if isinstance(one, str)] if isinstance(keywords, list) else []
    return Described(
        " ".join(text_in(given.get("name")).split()),
        text_in(given.get("type")),
        once(listed),
        text_in(given.get("content")),
    )


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts on one line, none empty, each once whatever its case."""
    found: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        if line:
            found.setdefault(folded(line), line)
    return tuple(found.values())


def scene_of(text: str) -> Scene:
    """The scene in the text of a version. Plain text, as a person may write it, is a summary."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    return scene_in(given) if isinstance(given, dict) else Scene(text.strip())


def scene_text(scene: Scene) -> str:
    """A scene as the text of a version: canonical JSON. Signals that are not there take no room."""
    lists = {name: items for name, items in scene.signals.as_json().items() if items}
    entries = [entry_json(one) for one in scene.entries]
    return canonical({"summary": scene.summary, "lorebooks": entries, **lists, **settled_json(scene.settled)})


def scene_note(text: str) -> Note:
    """Return the note in the text of a scene's version."""
    scene = scene_of(text)
    lore = tuple(LoreItem(one.name, one.type, one.keywords, one.content) for one in scene.entries)
    return replace(signals_note(scene.signals, scene.settled), lore=lore)


def signals_note(signals: Signals, settled: Iterable[Settled]) -> Note:
    """Return the note in signals. Threads are settled before others are opened: what is opened and settled at once
    stays open, since a settled promise told again costs a line and a lost one costs the story."""
    known = list(settled)
    named = {folded(one.text) for one in known}
    threads = [ThreadItem(ThreadChange.SETTLED, one.text, thread=one.thread) for one in known]
    worded = [one for one in signals.resolved_threads if folded(one) not in named]
    threads += [ThreadItem(ThreadChange.SETTLED, one) for one in worded]
    threads += [ThreadItem(ThreadChange.NEW, one) for one in signals.open_threads]
    state = [item for line in signals.state_changes if (item := parse_state_line(line))]
    return Note(threads=tuple(threads), state=tuple(state))


def entry_json(entry: Described) -> dict[str, Any]:
    """One entry as it is written down."""
    return {"name": entry.name, "type": entry.type, "keywords": list(entry.keywords), "content": entry.content}


def newest_of_each(entries: Iterable[Described]) -> tuple[Described, ...]:
    """Each thing once, where it came first, as it was described last, with the keywords of all its descriptions."""
    found: dict[tuple[str, str], Described] = {}
    for one in entries:
        known = found.get(same_thing(one))
        both = replace(one, name=known.name, keywords=once([*known.keywords, *one.keywords])) if known else one
        found[same_thing(one)] = both
    return tuple(found.values())


def same_thing(entry: Described) -> tuple[str, str]:
    """What two descriptions of one thing have in common: name and type, folded."""
    return folded(entry.name), folded(entry.type)


def united(entries: Iterable[Described]) -> tuple[Described, ...]:
    """Each thing once, where it came first: the keywords of all its descriptions, and every sentence of them once."""
    found: dict[tuple[str, str], Described] = {}
    for one in entries:
        known = found.get(same_thing(one))
        found[same_thing(one)] = one if known is None else _both(known, one)
    return tuple(found.values())


def _both(first: Described, second: Described) -> Described:
    known = {folded(sentence) for sentence in whole_sentences(first.content)}
    fresh = [sentence for sentence in whole_sentences(second.content) if folded(sentence) not in known]
    content = " ".join([first.content, *fresh]).strip()
    return Described(first.name, first.type, once([*first.keywords, *second.keywords]), content)
