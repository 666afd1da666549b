"""The checks of a scene: `{summary, lorebooks}` as it must be, and as it should be.

Structural rules refuse. Rules of meaning tell a summary, which says what happened, from an entry, which says what a
thing is; they see the plain cases, mostly in English, and a model is asked once to mend what they find. Any object at
all can be judged, and every fault says where it is. An empty list of entries is no fault, since a scene may leave
nothing to describe.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from previously.core.patterns import lazy_pattern
from previously.core.scene import TYPES, Signals
from previously.core.scripts import casefold
from previously.core.tokens import estimate_tokens
from previously.folds.checks.judgement import clip_words
from previously.text.compare import find_terms
from previously.text.sentences import QUOTED, split_sentences
from previously.text.stopwords import is_generic

MOST_SUMMARY_TOKENS = 500
"""A longer summary is refused."""

SUMMARY_TOKENS = (100, 300)
"""The tokens a summary should have, as the prompt asks for them."""

ENTRY_TOKENS = (50, 200)
"""The tokens the content of an entry should have, as the prompt asks for them."""

KEYWORDS = (2, 8)
"""The number of keywords an entry should have, as the prompt asks for them."""

LONGEST_NAME = 100
"""Characters; what is longer is no name but a sentence."""

HARD_LIMIT = 200
"""Characters of a name or a keyword; what is longer is refused."""

_SIGNALS = tuple(one.name for one in fields(Signals))


@dataclass(frozen=True, slots=True)
class SceneFault:
    """A fault and its place: `summary`, `lorebooks[2].keywords`."""

    where: str
    reason: str
    mendable: bool = dataclasses.field(default=False, compare=False)
    """True if it is one of meaning, for which a model is asked once more; then it only warns."""

    def __str__(self) -> str:
        return f"{self.where} {self.reason}"


@dataclass(frozen=True, slots=True)
class Validation:
    """The outcome of the checks: faults refuse, warnings do not."""

    faults: tuple[SceneFault, ...]
    warnings: tuple[SceneFault, ...]

    @property
    def valid(self) -> bool:
        """Return whether it may be kept."""
        return not self.faults


def validate_scene(given: object) -> Validation:
    """Judge a scene memory, whatever it is."""
    if not isinstance(given, Mapping):
        return Validation((SceneFault("scene", f"must be an object, not {_name_kind(given)}"),), ())
    faults = (*_check_summary(given), *_list_faults(given), *_check_signals(given))
    return Validation(faults, tuple(_list_warnings(given)))


def _check_summary(given: Mapping[str, Any]) -> Iterator[SceneFault]:
    wrong = _text_fault(given, "summary")
    if wrong:
        yield SceneFault("summary", wrong)
        return
    tokens = estimate_tokens(given["summary"])
    if tokens > MOST_SUMMARY_TOKENS:
        yield SceneFault("summary", f"has about {tokens} tokens, over the limit of {MOST_SUMMARY_TOKENS}")


def _list_faults(given: Mapping[str, Any]) -> Iterator[SceneFault]:
    if "lorebooks" not in given:
        return
    entries = given["lorebooks"]
    if not isinstance(entries, list):
        yield SceneFault("lorebooks", f"must be a list, not {_name_kind(entries)}")
        return
    seen: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(entries):
        where = f"lorebooks[{index}]"
        if not isinstance(entry, Mapping):
            yield SceneFault(where, f"must be an object, not {_name_kind(entry)}")
            continue
        yield from _entry_faults(where, entry)
        name, kind = entry.get("name"), entry.get("type")
        if isinstance(name, str) and isinstance(kind, str) and name.strip():
            first = seen.setdefault((casefold(name), casefold(kind)), index)
            if first != index:
                yield SceneFault(where, f"has the same name and type as lorebooks[{first}]: {clip_words(name)}")


def _check_signals(given: Mapping[str, Any]) -> Iterator[SceneFault]:
    """The lists beside the entries need not be there; where they are, they hold texts."""
    for name in _SIGNALS:
        items = given.get(name, [])
        if not isinstance(items, list):
            yield SceneFault(name, f"must be a list, not {_name_kind(items)}")
            continue
        for index, item in enumerate(items):
            if not isinstance(item, str):
                yield SceneFault(f"{name}[{index}]", f"must be a text, not {_name_kind(item)}")


def _entry_faults(where: str, entry: Mapping[str, Any]) -> Iterator[SceneFault]:
    for field in ("name", "type", "content"):
        wrong = _text_fault(entry, field)
        if wrong:
            yield SceneFault(f"{where}.{field}", wrong)
        elif field == "type" and casefold(entry["type"]) not in TYPES:
            yield SceneFault(f"{where}.type", f"{clip_words(entry['type'])!r} is not one of {', '.join(TYPES)}")
        elif field == "name" and len(entry["name"]) > HARD_LIMIT:
            yield SceneFault(f"{where}.name", f"has {len(entry['name'])} characters, over the limit of {HARD_LIMIT}")
    if "keywords" not in entry:
        yield SceneFault(f"{where}.keywords", "is missing")
        return
    keywords = entry["keywords"]
    if not isinstance(keywords, list):
        yield SceneFault(f"{where}.keywords", f"must be a list, not {_name_kind(keywords)}")
        return
    others = [one for one in keywords if not isinstance(one, str)]
    if others:
        yield SceneFault(f"{where}.keywords", f"must hold texts only, not {_name_kind(others[0])}")
    elif not any(one.strip() for one in keywords):
        yield SceneFault(f"{where}.keywords", "is empty")
    elif longest := max((len(one) for one in keywords if len(one) > HARD_LIMIT), default=0):
        yield SceneFault(f"{where}.keywords", f"has one of {longest} characters, over the limit of {HARD_LIMIT}")


def _text_fault(given: Mapping[str, Any], field: str) -> str:
    """Return what is wrong with a field that must be a text; nothing where it is one."""
    if field not in given:
        return "is missing"
    value = given[field]
    if not isinstance(value, str):
        return f"must be a text, not {_name_kind(value)}"
    return "" if value.strip() else "is empty"


def _list_warnings(given: Mapping[str, Any]) -> Iterator[SceneFault]:
    """Return what should be otherwise in those parts that have the right shape."""
    summary = given.get("summary")
    summary = summary if isinstance(summary, str) and summary.strip() else ""
    if summary:
        yield from _check_size("summary", summary, SUMMARY_TOKENS)
        described = find_description(summary)
        if described:
            yield SceneFault(
                "summary", f"describes instead of telling what happened: {clip_words(described)}", mendable=True
            )
    entries = given.get("lorebooks")
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, Mapping):
            yield from _entry_warnings(f"lorebooks[{index}]", entry, summary)


def _entry_warnings(where: str, entry: Mapping[str, Any], summary: str) -> Iterator[SceneFault]:
    name, kind, content, keywords = (entry.get(field) for field in ("name", "type", "content", "keywords"))
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        yield SceneFault(f"{where}.name", f"has {len(name)} characters; a name is shorter")
    if isinstance(kind, str) and kind not in TYPES and casefold(kind) in TYPES:
        yield SceneFault(f"{where}.type", f"should be written {casefold(kind)!r}")
    if isinstance(keywords, list):
        yield from _check_keywords(f"{where}.keywords", [one for one in keywords if isinstance(one, str)])
    if not isinstance(content, str) or not content.strip():
        return
    yield from _check_size(f"{where}.content", content, ENTRY_TOKENS)
    event = find_timeline(content, kind if isinstance(kind, str) else "")
    if event:
        yield SceneFault(
            f"{where}.content", f"tells what happened instead of what it is: {clip_words(event)}", mendable=True
        )
    if summary and repeats(summary, content):
        yield SceneFault(f"{where}.content", "repeats the summary", mendable=True)


def _check_keywords(where: str, keywords: list[str]) -> Iterator[SceneFault]:
    least, most = KEYWORDS
    if keywords and not least <= len(keywords) <= most:
        yield SceneFault(where, f"has {len(keywords)} keywords; {least} to {most} are best")
    blank = sum(1 for one in keywords if not one.strip())
    if blank and blank < len(keywords):
        yield SceneFault(where, "has an empty keyword")
    for keyword in keywords:
        if keyword.strip() and is_generic(keyword):
            yield SceneFault(where, f"has a generic keyword: {clip_words(keyword)!r}", mendable=True)


def _check_size(where: str, text: str, bounds: tuple[int, int]) -> Iterator[SceneFault]:
    tokens = estimate_tokens(text)
    if not bounds[0] <= tokens <= bounds[1]:
        yield SceneFault(where, f"has about {tokens} tokens; {bounds[0]} to {bounds[1]} are best")


def _name_kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list | tuple) else "an object"


LONGEST_READ = 5_000
"""Characters of a text that are looked at: all of any summary that can be kept, and more than an entry should have."""

# A sentence that opens with one of these sets a place or a time: what follows its comma describes nobody.
_SETTING = lazy_pattern(
    r"(?:In|At|On|After|Before|Near|Outside|Inside|By|From|During|When|While|As|Upon|Once|Later|Then|With|For|To|"
    r"Under|Over|Along|Back|Despite|Since|Until|If|Without|Through|Beyond|Behind|Of|Among|Between)\b"
)
_APPOSITION = lazy_pattern(
    r"[A-Z][\w'’-]+, (?:an?|the) (?!(?:[\w'-]+ )?and\b)[a-z][\w'-]+,? (?!and\b)[\w'-]+[^,.;]{0,200}"
)
_FEATURES = (
    "hair|eyes|beard|complexion|build|physique|skin|features|demeanou?r|personality|temperament|accent|posture|stature|"
    "loyalties|reputation|architecture|atmosphere"
)
_LOOKS = lazy_pattern(
    rf"\b(?:with|has|had|have|having) (?!(?:her|his|their|its|the|my|your|no) )(?:[\w'-]+,? ){{1,4}}(?:{_FEATURES})\b|"
    r"\b\w+-(?:haired|eyed|skinned|bearded)\b"
)
_IS_A = lazy_pattern(
    r"\b(?:is|was) an? (?:[a-z][\w-]*,? (?:and )?){1,3}"
    r"(?:man|woman|girl|boy|person|figure|place|building|city|town|village|creature|warrior|rogue|site)\b"
)


def find_description(summary: str) -> str:
    """The first words of a summary that describe someone or something; empty where none do."""
    for sentence in split_sentences(QUOTED.sub('""', summary[:LONGEST_READ])):
        match = _LOOKS.search(sentence) or _IS_A.search(sentence)
        if not match and not _SETTING.match(sentence):
            match = _APPOSITION.search(sentence)
        if match:
            return match.group()
    return ""


TELLING_TYPES = ("event", "lore", "document")
"""Entries of these may well tell what happened."""

_NEXT = lazy_pattern(
    r"(?:Then|Next|After that|Afterwards?|Finally|Meanwhile|Suddenly|Soon after|Moments later|Later that|"
    r"The (?:next|following) \w+|That (?:night|evening|morning|day))\b|(?:,| and) then\b"
)
_ACTS = lazy_pattern(
    r"(?:(?:The )?[A-Z][\w'’-]+(?: (?:and|&) (?:the )?[A-Z][\w'’-]+)?|The [a-z]+) "
    r"(?:then |finally |suddenly |quickly |slowly )?([a-z]+)\b"
)
_WENT = frozenset(
    "went came ran fought found took gave met saw said told left fell broke drew struck flew rode slept woke stole "
    "caught threw shot hit ate drank sang bought sold sent brought began became stood sat rose fled slew shook".split()
)
_STANDING = frozenset(
    "lived owned loved served named called used trained married wanted believed trusted hated respected feared armed "
    "located based dedicated wounded scarred skilled needed seemed appeared remained looked belonged kept".split()
)


def find_timeline(content: str, kind: str) -> str:
    """The first words of an entry that tell what happened, where it mostly does that; empty where it does not."""
    if kind.strip().lower() in TELLING_TYPES:
        return ""
    sentences = split_sentences(QUOTED.sub('""', content[:LONGEST_READ]))
    acts = [sentence for sentence in sentences if _is_act(sentence)]
    marks = [sentence for sentence in sentences if _NEXT.search(sentence)]
    telling = list(dict.fromkeys([*marks, *acts]))
    several = len(telling) >= 2 and (bool(marks) or len(acts) == len(sentences))
    mostly = len(acts) >= 3 and len(acts) >= 0.6 * len(sentences)
    alone = len(marks) == len(sentences) == 1
    return telling[0] if several or mostly or alone else ""


def _is_act(sentence: str) -> bool:
    match = _ACTS.match(sentence)
    if not match:
        return False
    verb = match.group(1)
    return verb in _WENT or (verb.endswith("ed") and len(verb) > 4 and verb not in _STANDING)


COVERED = 0.8
"""The share of an entry's telling words that make it a repetition when the summary has them all."""

ALIKE = 0.8
"""The share of their words that two sentences have in common when one repeats the other."""

_LEAST_TERMS = 5


def repeats(summary: str, content: str) -> bool:
    """Return whether an entry says again what the summary says: nearly all of it, or one long sentence of it."""
    summary, content = summary[:LONGEST_READ], content[:LONGEST_READ]
    in_summary, in_entry = set(find_terms(summary)), set(find_terms(content))
    if len(in_entry) >= _LEAST_TERMS and len(in_entry & in_summary) >= COVERED * len(in_entry):
        return True
    of_summary = [set(find_terms(sentence)) for sentence in split_sentences(summary)]
    for sentence in split_sentences(content):
        terms = set(find_terms(sentence))
        if len(terms) > _LEAST_TERMS and any(len(terms & one) >= ALIKE * len(terms | one) for one in of_summary):
            return True
    return False
