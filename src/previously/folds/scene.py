"""The scene: what a span leaves behind, `{summary, lorebooks}` and its signals.

One question gives both, what happened and what things are. Structural faults refuse, all of them named at once so that
one repair ask can mend them; faults of meaning lead to one such ask and then warn. What was noted of the parts before
is never lost, and the summary stays under its ceiling. Much is forgiven in an answer: short and other names for a
field, a text where a list belongs, an object around it, another word for a type. Reading what was written gives the
same scene.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from previously.core.messages import Message
from previously.core.model_io import ModelRequest
from previously.core.note import LoreItem, Note
from previously.core.patterns import lazy_pattern
from previously.core.scene import (
    NO_SIGNALS,
    TYPES,
    Described,
    Scene,
    Signals,
    find_type,
    join_signals,
    parse_settled,
    parse_signals,
    render_settled,
)
from previously.core.scripts import casefold
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.builtin.quotes import quote
from previously.folds.checks import Accepted, Refused
from previously.folds.combine import join_summaries
from previously.folds.context import (
    ASPECTS,
    NO_CONTEXT,
    NoteContext,
    build_signals_note,
    build_stranger_finder,
    find_state_faults,
    name_threads,
    render_language_rule,
)
from previously.folds.fold import NoteFold
from previously.folds.json_answer import (
    accept_note,
    dump_canonical,
    find_object,
    list_faults,
    read_text_value,
    refuse_shape,
)
from previously.folds.prompts.templates import Template, defuse_tags, fill_template, render_transcript
from previously.folds.scene_checks import MOST_SUMMARY_TOKENS, validate_scene
from previously.text.cuts import cut_to_tokens
from previously.text.sentences import split_sentences

ANSWER_TOKENS = 2_500
"""Room for an answer: a summary and a dozen entries of ordinary size."""

BUILTIN_WORDS = 180
"""The words a summary without a model may have; well under its ceiling in most scripts."""

NOTHING_TOLD = "Nothing was told."
"""The summary of messages without a word: a scene has one."""


@dataclass(frozen=True, slots=True)
class SceneFold(NoteFold):
    """A scene to be noted."""

    kind: ClassVar[Kind] = Kind.SCENE
    prompt: ClassVar[str] = "scene"

    delta: tuple[Message, ...]
    so_far: str = ""
    """The scene that was noted of the parts before, as `render_scene` writes it."""
    context: NoteContext = NO_CONTEXT
    """The story before it."""
    title: str = ""
    again: bool = False
    first: int = 0
    """The position of the first message."""

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        earlier = parse_scene(self.so_far)
        described = [LoreItem(one.name, one.type, one.keywords, one.content) for one in earlier.entries]
        anew = {casefold(one.name) for one in described}
        known = (*described, *(one for one in self.context.known if casefold(one.name) not in anew))
        beginning = "This was noted of how the scene begins, which is not shown; do not tell it again."
        system, user = fill_template(
            template,
            {
                "types": ", ".join(TYPES),
                "aspects": ASPECTS,
                "title": f"The scene is called {defuse_tags(self.title)!r}.\n\n" if self.title else "",
                **replace(self.context, known=known).render(),
                "language": render_language_rule(self.delta, "scene", 'keys, types, aspects and the word "ended"'),
                "noted": f"\n{beginning}\n<noted>\n{defuse_tags(earlier.summary)}\n</noted>\n"
                if earlier.summary
                else "",
                "events": render_transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, max_output_tokens=ANSWER_TOKENS, schema=SCHEMA)

    def judge_text(self, text: str) -> Accepted | Refused:
        """The scene in an answer, with what was noted so far; or every fault of it in one sentence."""
        answer = find_object(text)
        if isinstance(answer, Refused):
            return answer
        given = forgive_shape(answer)
        validation = validate_scene(given)
        if not validation.valid:
            return refuse_shape(list_faults(validation.faults))
        scene = read_scene(given)
        signals, settled = name_threads(scene.signals, self.context.threads)
        scene = replace(scene, signals=signals, settled=settled)
        scene, strangers = self._without_strangers(scene)
        faults = [str(one) for one in validation.warnings if one.mendable]
        faults += [f"the name {name} stands neither in the scene nor in what you were given" for name in strangers]
        warnings = [str(one) for one in validation.warnings if not one.mendable]
        warnings += find_state_faults(signals)
        return accept_note(render_scene(self._with_earlier(scene)), warnings, faults)

    def builtin(self) -> Accepted:
        """The scene without a model: sentences of it, word for word. What things are, a model or a person says."""
        words = BUILTIN_WORDS
        earlier = parse_scene(self.so_far)
        summary = quote(earlier.summary, self.delta, self.first, words)
        while estimate_tokens(summary) > MOST_SUMMARY_TOKENS and words > 1:
            words //= 2
            summary = quote(earlier.summary, self.delta, self.first, words)
        bounded = cut_to_tokens(summary, MOST_SUMMARY_TOKENS) or NOTHING_TOLD
        return Accepted(render_scene(replace(earlier, summary=bounded)))

    def _without_strangers(self, scene: Scene) -> tuple[Scene, list[str]]:
        """Return a scene without entries of people nobody has heard of, and the names that stand nowhere. What else
        says such a name stays: it is all that is remembered of the scene."""
        find_strangers = build_stranger_finder(self.context, self.delta, self.so_far)
        texts = (scene.summary, *(one.content for one in scene.entries))
        strangers = [name for text in texts for name in find_strangers(text)]
        made_up = [one for one in scene.entries if one.type == "character" and find_strangers(f"of {one.name}.")]
        strangers += [one.name for one in made_up]
        entries = tuple(one for one in scene.entries if one not in made_up)
        return replace(scene, entries=entries), list(dict.fromkeys(strangers))

    def _with_earlier(self, scene: Scene) -> Scene:
        """Return what was noted of the parts before, and this."""
        if not self.so_far.strip():
            return scene
        return join_scenes([parse_scene(self.so_far), scene])


def join_scenes(scenes: Iterable[Scene]) -> Scene:
    """Several parts of one scene as one: their summaries one after the other, each thing once, all signals."""
    listed = list(scenes)
    signals = NO_SIGNALS
    for scene in listed:
        signals = join_signals(signals, scene.signals)
    summary = " ".join(scene.summary for scene in listed if scene.summary)
    if estimate_tokens(summary) > MOST_SUMMARY_TOKENS:
        summary = join_summaries([scene.summary for scene in listed], MOST_SUMMARY_TOKENS)
    settled = tuple(one for scene in listed for one in scene.settled)
    return Scene(summary, keep_newest_entries(entry for scene in listed for entry in scene.entries), signals, settled)


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
"""The form of an answer, for servers that hold a model to it."""

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
_COMMAS = lazy_pattern(r"[,;|\n]+")


def forgive_shape(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model gave with all that can be forgiven set right. It may still be refused."""
    whole = _unwrap_object(given)
    read: dict[str, Any] = {key: value for key, value in whole.items() if key not in ("summary", "lorebooks")}
    _take(read, whole, "summary", _SUMMARY)
    _take(read, whole, "lorebooks", _LOREBOOKS)
    entries = read.get("lorebooks")
    if entries is None:
        read["lorebooks"] = []
    elif isinstance(entries, list):
        read["lorebooks"] = [_read_entry(one) if isinstance(one, Mapping) else one for one in entries]
    return read | {name: _read_lines(whole[name]) for name in _SIGNALS if name in whole}


def _read_lines(value: object, deeper: int = 3) -> list[str]:
    """Return what stands where a list of texts belongs, as such a list: a text, a number or an object says something
    too."""
    if value is None or isinstance(value, bool):
        return []
    if not isinstance(value, Mapping | list | tuple):
        return [str(value)] if str(value).strip() else []
    if not deeper:
        return []
    if isinstance(value, Mapping):
        inside = [(name, "; ".join(_read_lines(inner, deeper - 1))) for name, inner in value.items()]
        return [f"{name}: {said}" for name, said in inside if said]
    listed = [_said(item, deeper) if isinstance(item, Mapping) else _read_lines(item, deeper - 1) for item in value]
    return [line for lines in listed for line in lines]


def _said(item: Mapping[str, Any], deeper: int) -> list[str]:
    """An object in a list as one line: its own text, or all that it says."""
    own = next((item[name] for name in _TEXTS if isinstance(item.get(name), str)), "")
    said = own if own.strip() else "; ".join(_read_lines(item, deeper - 1))
    return [said] if said else []


def _unwrap_object(given: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _read_entry(given: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for field, others in _FIELDS.items():
        _take(entry, given, field, others)
    if isinstance(entry.get("type"), str):
        entry["type"] = find_type(entry["type"])
    keywords = entry.get("keywords")
    if isinstance(keywords, str):
        entry["keywords"] = [one.strip() for one in _COMMAS.split(keywords) if one.strip()]
    elif isinstance(keywords, list):
        entry["keywords"] = [one for one in keywords if isinstance(one, str) and one.strip()]
    if isinstance(entry.get("content"), list):
        entry["content"] = read_text_value(entry["content"])
    return entry


def read_scene(given: Mapping[str, Any]) -> Scene:
    """The scene in an object that has its shape; what has not is passed over."""
    summary = given.get("summary")
    entries = given.get("lorebooks")
    things = [_read_described(one) for one in entries if isinstance(one, Mapping)] if isinstance(entries, list) else []
    described = tuple(one for one in things if one.name)
    return Scene(read_text_value(summary), described, parse_signals(given), parse_settled(given.get("settled")))


def _read_described(given: Mapping[str, Any]) -> Described:
    keywords = given.get("keywords")
    listed = [one for one in keywords if isinstance(one, str)] if isinstance(keywords, list) else []
    return Described(
        " ".join(read_text_value(given.get("name")).split()),
        read_text_value(given.get("type")),
        list_once(listed),
        read_text_value(given.get("content")),
    )


def list_once(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts on one line, none empty, each once whatever its case."""
    lines: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        if line:
            lines.setdefault(casefold(line), line)
    return tuple(lines.values())


def parse_scene(text: str) -> Scene:
    """The scene in the text of a version. Plain text, as a person may write it, is a summary."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    return read_scene(given) if isinstance(given, dict) else Scene(text.strip())


def render_scene(scene: Scene) -> str:
    """A scene as the text of a version: canonical JSON. Signals that are not there take no room."""
    lists = {name: items for name, items in scene.signals.as_json().items() if items}
    entries = [dump_entry(one) for one in scene.entries]
    return dump_canonical({"summary": scene.summary, "lorebooks": entries, **lists, **render_settled(scene.settled)})


def parse_scene_note(text: str) -> Note:
    scene = parse_scene(text)
    lore = tuple(LoreItem(one.name, one.type, one.keywords, one.content) for one in scene.entries)
    return replace(build_signals_note(scene.signals, scene.settled), lore=lore)


def dump_entry(entry: Described) -> dict[str, Any]:
    return {"name": entry.name, "type": entry.type, "keywords": list(entry.keywords), "content": entry.content}


def keep_newest_entries(entries: Iterable[Described]) -> tuple[Described, ...]:
    """Each thing once, where it came first, as it was described last, with the keywords of all its descriptions."""
    newest: dict[tuple[str, str], Described] = {}
    for entry in entries:
        known = newest.get(build_thing_key(entry))
        both = (
            replace(entry, name=known.name, keywords=list_once([*known.keywords, *entry.keywords])) if known else entry
        )
        newest[build_thing_key(entry)] = both
    return tuple(newest.values())


def build_thing_key(entry: Described) -> tuple[str, str]:
    """Return what two descriptions of one thing have in common: name and type, folded."""
    return casefold(entry.name), casefold(entry.type)


def unite_entries(entries: Iterable[Described]) -> tuple[Described, ...]:
    """Each thing once, where it came first: the keywords of all its descriptions, and every sentence of them once."""
    united: dict[tuple[str, str], Described] = {}
    for entry in entries:
        known = united.get(build_thing_key(entry))
        united[build_thing_key(entry)] = entry if known is None else _unite(known, entry)
    return tuple(united.values())


def _unite(first: Described, second: Described) -> Described:
    known = {casefold(sentence) for sentence in split_sentences(first.content)}
    fresh = [sentence for sentence in split_sentences(second.content) if casefold(sentence) not in known]
    content = " ".join([first.content, *fresh]).strip()
    return Described(first.name, first.type, list_once([*first.keywords, *second.keywords]), content)
