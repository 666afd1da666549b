"""Answers of a game's agents, read with patience: small models slip, and most slips can be repaired.

Total: any text gives an answer, or None where there is nothing in it to use. Each repair is named, so that a game's
maker sees how well a model keeps to the form. No word is added to what a model wrote; what is not the story is taken
off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold
from previously.folds.json_answer import find_object
from previously.play.game import MOOD_WORDS, NARRATOR
from previously.text.sentences import split_sentences

MOST_NARRATION = 1_600
"""Characters of a narration that are kept, whole sentences: twice what is asked for."""

MOST_SPEECH = 800
"""The same for one answer of a character."""

_FENCE = lazy_pattern(r"^\s*```[\w-]*\s*$", re.M)
_FIELD = lazy_pattern(
    r"^[\s>*_#\"'-]*(?P<key>narration|present|responding(?:[ _]characters)?|responds?|mood|hit|beats?(?:[ _]hit)?"
    r"|complete[d]?|why|reason)[\s*_\"']*[:=][\s*_\"']*(?P<value>.*?)[\s*_\"',]*$",
    re.I,
)
_ITEM = lazy_pattern(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<item>.+?)\s*$")
_NOBODY = frozenset("nobody none no-one null - n/a nothing [] no".split()) | {"no one", "not applicable"}
_END = frozenset({"end", "---", "***"})
_NAMES = {
    "narration": ("narration", "narrative", "text"),
    "present": ("present",),
    "responding": ("responding", "responding_characters", "responds", "respond"),
    "mood": ("mood",),
    "hit": ("hit", "beats", "beats_hit", "beat"),
    "complete": ("complete", "completed", "chapter_complete"),
    "why": ("why", "reason"),
}


@dataclass(frozen=True, slots=True)
class NarratorAnswer:
    """A narration, and what the narrator says of the scene."""

    narration: str
    present: tuple[str, ...] | None = None
    """None where it was not said."""
    responding: tuple[str, ...] | None = None
    mood: str = ""
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CharacterAnswer:
    """The words and deeds of a character; empty where they keep silent."""

    text: str
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """A verdict on a turn: which beats, by number, and whether the chapter is over."""

    hit: tuple[int, ...]
    complete: bool = False
    why: str = ""
    repairs: tuple[str, ...] = ()


def read_narrator(text: str, *, cut_off: bool = False) -> NarratorAnswer | None:
    """Return what the narrator tells; None where there is no narration."""
    values, prose, repairs = _take_apart(text)
    told = values.get("narration")
    if told:
        repairs.append("the narration was a field")
    words, more = _tidy(told if isinstance(told, str) and told else prose, MOST_NARRATION, cut_off=cut_off)
    words = _drop_speaker(words, NARRATOR)
    if not words:
        return None
    mood = casefold(str(values.get("mood", ""))).strip(" .")
    mood = next((known for known in MOOD_WORDS if known in mood.split()), "")
    repairs += more
    repairs += [f"no {name} was given" for name in ("present", "responding") if name not in values]
    if not mood:
        repairs.append("no mood was given")
    return NarratorAnswer(
        words, _read_names(values.get("present")), _read_names(values.get("responding")), mood, tuple(repairs)
    )


def read_character(text: str, name: str, others: tuple[str, ...], *, cut_off: bool = False) -> CharacterAnswer | None:
    """Return what a character says and does; None where there is nothing. Lines that speak for others are cut off."""
    values, prose, repairs = _take_apart(text)
    if values:
        repairs.append("fields that were not asked for")
    words, more = _tidy(prose, MOST_SPEECH, cut_off=cut_off)
    words = _drop_speaker(words, name)
    for other in (*others, NARRATOR):
        speaks = re.search(rf"^\W{{0,3}}{re.escape(other)}\W{{0,3}}:", words, re.M | re.I)
        if speaks:
            words, more = words[: speaks.start()].rstrip(), [*more, f"it spoke for {other}"]
    if casefold(words).strip(" .()*[]") in {"silence", "silent", "says nothing", *_NOBODY}:
        return CharacterAnswer("", tuple(repairs + more))
    return CharacterAnswer(words, tuple(repairs + more)) if words else None


def read_state(text: str, beats: tuple[str, ...]) -> StateAnswer | None:
    """Return the verdict of the state agent; None where there is none. Beats may be named by number or in words."""
    values, prose, repairs = _take_apart(text)
    if "hit" not in values and "complete" not in values:
        return None
    if prose.strip():
        repairs.append("more than was asked for")
    hit = _read_beats(values.get("hit"), beats, repairs)
    complete = casefold(str(values.get("complete", ""))).strip(" .").split()[:1] in (["yes"], ["true"], ["complete"])
    why = " ".join(str(values.get("why", "")).split())[:300]
    return StateAnswer(hit, complete, why, tuple(repairs))


def _read_beats(value: Any, beats: tuple[str, ...], repairs: list[str]) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value or ""]
    numbers: list[int] = []
    for item in items:
        found = [int(number) for number in re.findall(r"\b\d{1,3}\b", str(item))]
        if not found and str(item).strip() and casefold(str(item)).strip(" .") not in _NOBODY:
            found = [at for at, beat in enumerate(beats, 1) if _is_same_beat(str(item), beat)]
            repairs.append("a beat was named in words")
        numbers += [number for number in found if 0 < number <= len(beats)]
    return tuple(dict.fromkeys(numbers))


def _is_same_beat(words: str, beat: str) -> bool:
    """Return whether words name a beat: most telling words of it stand in them."""
    said, wanted = (set(re.findall(r"\w{4,}", casefold(one))) for one in (words, beat))
    return bool(wanted) and len(said & wanted) * 3 >= len(wanted) * 2


def _take_apart(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the fields of an answer by their usual names, all that is no field, and what had to be repaired."""
    repairs: list[str] = []
    bare = _FENCE.sub("", text)
    if bare != text:
        repairs.append("it stood in a fence")
    if bare.lstrip().startswith("{"):
        found = find_object(bare)
        if isinstance(found, Mapping):
            values = {name: found[key] for name, keys in _NAMES.items() for key in keys if key in found}
            prose = "" if values else bare
            return values, prose, [*repairs, "it was JSON"]
    fields: dict[str, Any] = {}
    prose_lines: list[str] = []
    key = ""
    for line in bare.splitlines():
        match = _FIELD.match(line)
        item = _ITEM.match(line)
        if match:
            key = _find_key(match["key"])
            fields[key] = match["value"].removeprefix("|").strip()
        elif key == "narration" and line.strip():
            fields[key] = f"{fields[key]}\n{line.strip()}".strip()
        elif key and item and not fields[key]:
            fields[key] = [item["item"]]
            repairs.append("a list in lines")
        elif key and item and isinstance(fields[key], list):
            fields[key].append(item["item"])
        elif casefold(line.strip()) not in _END:
            if key and line.strip():
                break  # what follows the fields is talk
            prose_lines.append(line)
    return fields, "\n".join(prose_lines).strip(), repairs


def _find_key(word: str) -> str:
    word = casefold(word).replace(" ", "_")
    return next(name for name, keys in _NAMES.items() if word in keys or word.startswith(name))


def _read_names(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = value if isinstance(value, list) else re.split(r"[,;/&]|\band\b", str(value))
    names = [str(item).strip(" .\"'*_[]()") for item in items]
    return tuple(name for name in names if name and casefold(name) not in _NOBODY)


def _tidy(text: str, most: int, *, cut_off: bool) -> tuple[str, list[str]]:
    """Return a text without its last half sentence where it was cut off, and whole sentences where it is too long."""
    repairs: list[str] = []
    text = re.sub(r"\n{3,}", "\n\n", text.strip())
    if cut_off and not re.search(r"[.!?…\"”’']\s*$", text):
        sentences = split_sentences(text)
        if len(sentences) > 1:
            text = text[: text.rindex(sentences[-1])].rstrip()
            repairs.append("it was cut off")
    if len(text) > most:
        kept = text[:most]
        ends = [match.end() for match in re.finditer(r"[.!?…][\"”’']?(?=\s)", kept)]
        text, repairs = (kept[: ends[-1]] if ends else kept), [*repairs, "it was too long"]
    return text, repairs


def _drop_speaker(text: str, name: str) -> str:
    return re.sub(rf"^\W{{0,3}}{re.escape(name)}\W{{0,3}}:\s*\**", "", text, count=1, flags=re.I).strip()


def find_spoken(text: str) -> str:
    """Return as much of a narration that is still being written as may be shown: no line that may become a field."""
    head, newline, line = text.rpartition("\n")
    start = line.lstrip(" *_#>\"'-").split(":")[0].upper()
    names = ("PRESENT", "RESPONDING", "RESPONDS", "MOOD", "NARRATION")
    if any(name.startswith(start) or start.startswith(name) for name in names) or _FENCE.match(line):
        line = ""
    shown = f"{head}{newline}{line}" if line else head
    lines = shown.splitlines()
    fields = [at for at, one in enumerate(lines) if _FIELD.match(one)]
    return "\n".join(lines[: fields[0]] if fields else lines).strip()
