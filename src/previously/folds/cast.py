"""Cast: what one character knows, kept up to date from what they witnessed.

One note per character and update: their memory before, and new events. A message that the character did not witness is
in no note of theirs, whoever makes the note. An answer about somebody else is not kept. After an update there are at
most five sentences and ten facts, whatever a model wrote. Notes share nothing, so that one that fails changes nobody
else. An answer may be the JSON object that was asked for, the same in lines like YAML, or a whole list of facts where a
change was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from previously.core.cast import Fact, Knowledge, cut_line, parse_knowledge
from previously.core.json_values import clean
from previously.core.messages import Message
from previously.core.model_io import ModelRequest
from previously.core.patterns import lazy_pattern
from previously.core.presence import may_know
from previously.core.scripts import casefold, count_words
from previously.core.versions import Kind
from previously.folds.cast_facts import CastAnswer, FactPointer, apply_diff, resolve_answer
from previously.folds.checks import Accepted, Refused
from previously.folds.checks.judgement import clip_words
from previously.folds.fold import NoteFold
from previously.folds.json_answer import (
    LONGEST_ANSWER,
    MOST_BRACKETS,
    dump_canonical,
    find_object,
    read_text_value,
    refuse_shape,
)
from previously.folds.prompts.templates import Template, defuse_tags, fill_template, render_transcript
from previously.text.sentences import split_sentences

MOST_SENTENCES = 5
LEAST_SENTENCES = 3
MOST_WORDS = 120
MOST_CHARACTERS = 12 * MOST_WORDS
"""The bounds of a summary, in sentences, words and, where there are no words, characters: a memory is read in each
turn."""

LONGEST_NAME = 60
OUTPUT_TOKENS = 700
"""A summary of that length and a handful of facts, with room to spare: an answer that is cut off ran away."""

TEMPERATURE = 0.2

_TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
SCHEMA: Mapping[str, Any] = {
    "title": "cast",
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "add": _TEXTS,
        "remove": {"type": "array", "items": {"type": "integer"}},
        "update": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "integer"}, "new": {"type": "string"}},
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["summary", "add", "remove", "update"],
    "additionalProperties": False,
}
"""The answer that is asked for; what is accepted is wider."""


@dataclass(frozen=True, slots=True)
class CastFold(NoteFold):
    """Messages that one character has just witnessed, to be taken into their memory."""

    kind: ClassVar[Kind] = Kind.CAST
    prompt: ClassVar[str] = "cast"

    name: str
    delta: tuple[Message, ...]
    """The messages they witnessed. Whatever else it is made with is left out."""
    so_far: str = ""
    """Their memory before, as canonical JSON; empty at first."""
    at: int = 0
    """The position of the newest message: since when they know what is new."""
    again: bool = False

    def __post_init__(self) -> None:
        # The one rule that may never be forgotten is not left to those who make notes. Nobody witnesses nothing.
        known = (one for one in self.delta if self.name.strip() and may_know(self.name, one))
        object.__setattr__(self, "delta", tuple(known))

    @classmethod
    def of(
        cls, name: str, messages: Sequence[Message], *, so_far: str = "", at: int = 0, again: bool = False
    ) -> CastFold:
        """The note for a character of a run of messages, witnessed or not."""
        return cls(name, tuple(messages), so_far, at, again)

    @property
    def before(self) -> Knowledge:
        return parse_knowledge(self.so_far)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        before = self.before
        facts = "\n".join(f"{number}. {fact.text}" for number, fact in enumerate(before.facts, 1))
        system, user = fill_template(
            template,
            {
                "name": defuse_tags(cut_line(self.name, LONGEST_NAME)),
                "summary": defuse_tags(before.summary) or "(nothing yet)",
                "facts": defuse_tags(facts) or "(no facts yet)",
                "events": render_transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, OUTPUT_TOKENS, SCHEMA, TEMPERATURE)

    def judge_text(self, text: str) -> Accepted | Refused:
        """Return what they know now, by a model's answer. An empty summary leaves the earlier one."""
        wanted = read_cast_answer(text)
        if isinstance(wanted, Refused):
            return wanted
        if wanted.about and not is_self(wanted.about, self.name):
            return refuse_shape(f"it is about {clip_words(wanted.about)}, not about {clip_words(self.name)}")
        before = self.before
        facts = apply_diff(before.facts, resolve_answer(before.facts, wanted, self._learnt))
        summary, cut = bound_summary(wanted.summary)
        now = Knowledge(summary or before.summary, facts)
        if render_transcript(self.delta) and (now.is_empty or wanted.is_empty):
            return refuse_shape("it tells nothing")
        return Accepted(dump_canonical(now.as_json()), warnings=_list_warnings(wanted, cut=cut))

    def builtin(self) -> Accepted:
        """Return what they knew before: without a model nothing is learnt."""
        return Accepted(dump_canonical(self.before.as_json()))

    def _learnt(self, text: str) -> Fact:
        return Fact(text, self.at)


def is_self(name: str, other: str) -> bool:
    """Return whether two names are one person's: the same, or one a part of the other."""
    one, two = set(casefold(name).split()), set(casefold(other).split())
    return bool(one) and bool(two) and (one <= two or two <= one)


def _list_warnings(wanted: CastAnswer, *, cut: bool) -> tuple[str, ...]:
    warnings: list[str] = []
    if cut:
        warnings.append(f"the summary was cut to {MOST_SENTENCES} sentences and {MOST_WORDS} words")
    if not wanted.summary:
        warnings.append("there was no summary; the earlier one stays")
    elif len(split_sentences(wanted.summary)) < LEAST_SENTENCES:
        warnings.append(f"the summary has fewer than {LEAST_SENTENCES} sentences")
    if wanted.whole:
        warnings.append("it gave all facts instead of what changed")
    return tuple(warnings)


def bound_summary(summary: str) -> tuple[str, bool]:
    """A summary of at most five sentences and so many words, and whether it had to be cut."""
    text = " ".join(clean(summary)[0].split())
    sentences = split_sentences(text)
    kept: list[str] = []
    words = characters = 0
    for sentence in sentences[:MOST_SENTENCES]:
        words += count_words(sentence)
        characters += len(sentence)
        if words > MOST_WORDS or characters > MOST_CHARACTERS:
            break
        kept.append(sentence)
    if len(kept) == len(sentences):
        return text, False
    if kept:
        return " ".join(kept), True
    return f"{_take_first_words(sentences[0])}…", True


def _take_first_words(sentence: str) -> str:
    """The beginning of an endless sentence; in scripts without spaces by its characters."""
    text = " ".join(sentence.split()[:MOST_WORDS])
    while count_words(text) > MOST_WORDS:
        text = text[: len(text) * MOST_WORDS // count_words(text) - 1] if len(text) > MOST_WORDS else ""
    return text[:MOST_CHARACTERS].rstrip(",;: ")


MOST_ITEMS = 40
"""The most items of one list that are looked at: four times what a character keeps."""

_SUMMARIES = ("summary", "new_summary")
_ADDS = ("add", "added", "add_facts", "new_facts", "facts_to_add")
_REMOVES = ("remove", "removed", "remove_facts", "delete", "facts_to_remove")
_UPDATES = ("update", "updated", "update_facts", "updates", "facts_to_update")
_WHOLE = ("key_facts", "facts", "keyfacts")
_NAMES = ("character", "name", "character_name")
_WRAPPERS = ("memory", "diff", "changes", "result", "answer")
_FIELDS = frozenset((*_SUMMARIES, *_ADDS, *_REMOVES, *_UPDATES, *_WHOLE))

_NUMBER = lazy_pattern(r"(?:fact|no\.?|number|#)?\s*#?(\d{1,3})\.?", re.I)
_LISTED = lazy_pattern(r"\A\s*(?:\d{1,2}[.)]|[-*•])\s+(?=\S)")
_FIELD_LINE = lazy_pattern(r"\s*[\"'*]*(?P<key>[A-Za-z_ ]{2,24}?)[\"'*]*\s*:[\"'*]*(?:\s+(?P<value>.*))?$")
_ITEM_LINE = lazy_pattern(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<item>.*)$")
_PAIR = lazy_pattern(r"\s*[\"']?(?P<key>old|new|from|to)[\"']?\s*:\s*(?P<value>.*)$", re.I)
_EMPTY = frozenset({"[]", "{}", "none", "null", "nothing", "n/a", "-", "(none)", "empty", "~"})


def read_cast_answer(answer: str) -> CastAnswer | Refused:
    """Return what an answer wants, or why it cannot be read."""
    if answer.count("{") + answer.count("[") > MOST_BRACKETS:
        return refuse_shape("it is nothing but brackets")
    given = find_object(answer)
    if isinstance(given, Refused) or not _read_fields(given):
        lines = _from_lines(answer) if len(answer) <= LONGEST_ANSWER else {}
        if not lines:
            return given if isinstance(given, Refused) else refuse_shape("it has none of the fields asked for")
        given = lines
    fields = _read_fields(given)
    return CastAnswer(
        summary=" ".join(clean(read_text_value(_find_first(fields, _SUMMARIES)))[0].split()),
        add=_read_texts(_find_first(fields, _ADDS)),
        remove=_read_pointers(_find_first(fields, _REMOVES)),
        update=_read_updates(_find_first(fields, _UPDATES)),
        whole=_read_texts(_find_first(fields, _WHOLE)),
        about=cut_line(read_text_value(_find_first(fields, _NAMES))),
    )


def _read_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by their plain names, out of a wrapping they may be in; empty where there are none of ours."""
    fields = {_simplify_key(key): value for key, value in given.items()}
    if _FIELDS.isdisjoint(fields):
        inner = [fields.get(name) for name in _WRAPPERS] + (list(fields.values()) if len(fields) == 1 else [])
        for one in inner:
            if isinstance(one, dict):
                found = {_simplify_key(key): value for key, value in one.items()}
                if not _FIELDS.isdisjoint(found):
                    return {**{name: fields[name] for name in _NAMES if name in fields}, **found}
        return {}
    return fields


def _simplify_key(key: object) -> str:
    return "_".join(str(key).casefold().replace("-", " ").replace("_", " ").split())


def _find_first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _list_items(given: object) -> list[object]:
    if isinstance(given, dict):
        return list(given.values())[:MOST_ITEMS]
    return list(given)[:MOST_ITEMS] if isinstance(given, list) else [given] if given is not None else []


def _read_texts(given: object) -> tuple[str, ...]:
    lines = (cut_line(_LISTED.sub("", _said(one), count=1)) for one in _list_items(given))
    return tuple(line for line in lines if line and line.casefold() not in _EMPTY)


def _said(given: object) -> str:
    if isinstance(given, dict):
        return next((given[key] for key in ("text", "fact", "new") if isinstance(given.get(key), str)), "")
    return given if isinstance(given, str) else ""


def _read_pointers(given: object) -> tuple[FactPointer, ...]:
    return tuple(found for one in _list_items(given) if (found := _as_pointed(one)) is not None)


def _as_pointed(given: object) -> FactPointer | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, dict):
        given = next((given[key] for key in ("text", "fact", "old", "number", "id") if key in given), None)
        if isinstance(given, int) and not isinstance(given, bool):
            return given
    if not isinstance(given, str):
        return None
    number = _NUMBER.fullmatch(given.strip())
    if number:
        return int(number[1])
    line = cut_line(_LISTED.sub("", given, count=1))
    return line if line and line.casefold() not in _EMPTY else None


def _read_updates(given: object) -> tuple[tuple[FactPointer, str], ...]:
    if isinstance(given, dict) and not {"old", "new", "from", "to"}.isdisjoint(given):
        given = [given]
    elif isinstance(given, dict):
        given = [{"old": old, "new": new} for old, new in given.items()]
    updates: list[tuple[FactPointer, str]] = []
    for item in _list_items(given):
        if isinstance(item, str):  # new words of something that is not named
            updates += [("", text) for text in _read_texts([item])]
        if not isinstance(item, dict):
            continue
        old = _as_pointed(next((item[key] for key in ("old", "from", "number", "id") if key in item), None))
        new = _read_texts([next((item[key] for key in ("new", "to", "text") if key in item), None)])
        if new:
            updates.append(("" if old is None else old, new[0]))
    return tuple(updates)


def _from_lines(answer: str) -> dict[str, Any]:
    """The fields in an answer of lines: `key: value`, and items below a key."""
    fields: dict[str, Any] = {}
    key = ""
    for line in answer.replace("```", "\n").splitlines():
        pair = _PAIR.match(re.sub(r"^\s*[-*•]\s+", "", line))
        if pair and key in _UPDATES:
            _put_pair(fields.setdefault(key, []), pair["key"].casefold(), _strip_quotes(pair["value"]))
            continue
        named = _FIELD_LINE.match(line)
        name = _simplify_key(named["key"]) if named else ""
        if named and (name in _FIELDS or name in _NAMES):
            key, value = name, _strip_quotes(named["value"] or "")
            fields[key] = value if key in (*_SUMMARIES, *_NAMES) else _in_brackets(value)
            continue
        item = _ITEM_LINE.match(line)
        if item and isinstance(fields.get(key), list):
            fields[key].append(_strip_quotes(item["item"]))
        elif key in _SUMMARIES and line.strip():
            fields[key] = f"{fields[key]} {_strip_quotes(line)}".strip()
    return {name: value for name, value in fields.items() if value} if not _FIELDS.isdisjoint(fields) else {}


def _in_brackets(value: str) -> list[str]:
    """The items of a list on one line."""
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
        items = re.findall(r'"([^"]*)"', value) if '"' in value else value.split(",")
        return [item for one in items if (item := _strip_quotes(one))]
    return [value] if value else []


def _put_pair(pairs: list[Any], key: str, value: str) -> None:
    if not pairs or not isinstance(pairs[-1], dict) or key in pairs[-1]:
        pairs.append({})
    pairs[-1][key] = value


def _strip_quotes(text: str) -> str:
    text = text.strip().rstrip(",").strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return "" if text in (">", "|", ">-", "|-") or text.casefold() in _EMPTY else text
