"""The bounds of a brief: what is put back when a model left it out, and what goes when it grows too long.

Sure is what rules read off calls, results, the user's own words and what the agent said that it decided, and what an
earlier brief held and nothing has settled since. Nothing is put back that the brief says already, and the user's rules
come back word for word. The goal, the user's constraints, what is blocked and what was tried without success go only
when nothing else is left; of each section the oldest go first, of the goal and the next steps the last. From
`count_least_tokens` on the result fits, whatever the brief.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from previously.core.patterns import lazy_pattern
from previously.core.tokens import estimate_tokens
from previously.folds.builtin.brief import RAN, split_file
from previously.folds.conversation.sections import (
    EARLIER_REQUEST,
    NEWEST_REQUEST,
    REMARK,
    REPORTED,
    TITLES,
    Brief,
    extend_brief,
    is_failure,
    render_brief,
)
from previously.text.cuts import clip
from previously.text.words import find_words

_LONG, _SHORT = 400, 160
"""Characters to which long items are cut before any is left out."""

_CUT_FIRST: Final = ("done", "in_progress", "decisions", "next_steps", "context", "files")
"""The sections in which long items are cut: not the user's words, nor those that tell what is wrong."""

_USER_WORDS: Final = (EARLIER_REQUEST, REPORTED)

FAILURES: Final = "failures"
TOLD: Final = "told"
REMARKS: Final = "remarks"
"""Items of the context that are not in the user's words, and those of them that are of no known sort."""

_ORDER: Final = (
    (REMARKS, 12),
    ("done", 6),
    ("read", 12),
    (REMARKS, 4),
    (TOLD, 6),
    ("done", 2),
    ("decisions", 6),
    ("next_steps", 6),
    (REMARKS, 0),
    ("read", 0),
    (TOLD, 2),
    ("context", 8),
    ("files", 12),
    ("in_progress", 3),
    ("done", 0),
    ("decisions", 2),
    ("next_steps", 2),
    (TOLD, 0),
    ("context", 4),
    ("files", 4),
    ("decisions", 0),
    ("next_steps", 0),
    ("in_progress", 0),
    ("context", 0),
    ("files", 0),
    (FAILURES, 2),
    ("blocked", 2),
    ("constraints", 4),
    (FAILURES, 0),
    ("blocked", 0),
    ("goal", 1),
    ("constraints", 0),
)
"""The items that go, in their order, and how many of each stay for the time being."""


@dataclass(frozen=True, slots=True)
class BoundedBrief:
    """A brief that fits, and what was left out of it."""

    brief: Brief
    shed: tuple[str, ...] = ()


def count_least_tokens() -> int:
    """Return what a brief takes that says nothing: no cap can be kept below."""
    return estimate_tokens(render_brief(Brief()))


def bound_brief(brief: Brief, most_tokens: int) -> BoundedBrief:
    """The brief in at most so many tokens, and what had to go."""
    if estimate_tokens(render_brief(brief)) <= most_tokens:
        return BoundedBrief(brief)
    for longest in (_LONG, _SHORT):
        brief = _clipped(brief, longest, _CUT_FIRST)
        if estimate_tokens(render_brief(brief)) <= most_tokens:
            return BoundedBrief(brief)
    left = _Held(brief)
    for name, kept in _ORDER:
        if left.shed(name, kept, most_tokens):
            break
    return _to_the_word(left, most_tokens)


class _Held:
    """The items that are still there, with what each takes; together never less than what they take as one text."""

    def __init__(self, brief: Brief) -> None:
        self._items = {name: list(getattr(brief, name)) for name in TITLES}
        self._total = count_least_tokens() + sum(_count_item(one) for items in self._items.values() for one in items)
        self.gone: list[str] = []

    def shed(self, what: str, kept: int, most: int) -> bool:
        """Let the oldest of these go until all fits or only so many of them are left. Whether it fits."""
        name = {"read": "files", TOLD: "context", REMARKS: "context", FAILURES: "decisions"}.get(what, what)
        of_it = [one for one in self._items[name] if _is_of(one, what)]
        going = max(0, len(of_it) - kept)
        # Of the goal and of what is to be done next the last is needed least, of all else the oldest.
        for item in reversed(of_it[kept:]) if name in ("goal", "next_steps") else of_it[:going]:
            if self._total <= most:
                return True
            self._items[name].remove(item)
            self._total -= _count_item(item)
            self.gone.append(item)
        return self._total <= most

    def brief(self) -> Brief:
        """Return what is left."""
        return Brief(**{name: tuple(items) for name, items in self._items.items()})


def _count_item(item: str) -> int:
    return estimate_tokens(f"- {item}\n")


def _is_of(item: str, what: str) -> bool:
    match what:
        case "read":
            return item.endswith(": read")
        case "remarks":
            return item.startswith(REMARK)
        case "told":
            return not item.startswith(_USER_WORDS)
        case "decisions":
            return not is_failure(item)
        case "failures":
            return is_failure(item)
        case _:
            return True


def _to_the_word(kept: _Held, most: int) -> BoundedBrief:
    """The last resort: what cannot go is cut, by half and half again."""
    brief, longest = kept.brief(), 8_000
    left = brief.items()
    while estimate_tokens(render_brief(brief)) > most and longest > 8:
        longest //= 2
        brief = _clipped(brief, longest, tuple(TITLES))
    if estimate_tokens(render_brief(brief)) > most:
        return BoundedBrief(Brief(), (*kept.gone, *left))
    return BoundedBrief(brief, tuple(kept.gone))


def _clipped(brief: Brief, longest: int, names: tuple[str, ...]) -> Brief:
    def cut(item: str) -> str:
        # The user's own words and what did not work are cut only when everything is.
        spared = names == _CUT_FIRST and (item.startswith(_USER_WORDS) or is_failure(item))
        return item if spared else clip(item, longest)

    return Brief(**{name: tuple(cut(one) if name in names else one for one in getattr(brief, name)) for name in TITLES})


MOST_READ_FILES = 20
"""Files that were only read and are put back, the newest; all that were changed are."""

MOST_COMMANDS = 8
MOST_DECISIONS = 10
"""Decisions in the agent's words that are put back, the newest; of what failed, all are."""

_IDENTIFIER = lazy_pattern(
    r"`[^`\n]{2,200}`|(?<![\w/])(?:[\w.~@\-]{0,80}/){1,20}[\w.@\-]{1,80}|\b\w{1,80}[._]\w[\w.]{0,80}\b|"
    r"\b[a-z]+[A-Z]\w{0,80}\b|"
    r"\b[A-Z][a-z]+[A-Z]\w{0,80}\b|#?\b\d[\d.,:]{1,40}\b|\b[a-f0-9]{7,40}\b|\"[^\"\n]{3,200}\""
)
_COVERED = 0.75
"""The share of a rule's words that one item must have to say the same."""


def find_identifiers(text: str) -> list[str]:
    """Return what must be written exactly to mean anything: paths, names in code, numbers, quotations; each once."""
    return list(dict.fromkeys(found.strip('`".,:;') for found in _IDENTIFIER.findall(text)))


def restore_facts(brief: Brief, sure: Brief, earlier: Brief, pins: Iterable[str] = ()) -> tuple[Brief, tuple[str, ...]]:
    """The brief with all that is sure and missing, and what was put back.

    `sure` is what rules make of the conversation after `earlier`, what was settled since left out.
    """
    text = render_brief(brief)
    lower = text.casefold()
    rules = [_words(one) for one in (*brief.constraints, *brief.goal)]
    items = [_words(one) for one in brief.items()]
    known = set(earlier.items())
    decided = [one for one in sure.decisions if not _is_said(_bare(one), lower, items)]
    asked = [one for one in sure.goal if not _is_said(_bare(one), lower, items)]
    first = [one for one in asked if one in sure.goal[:1]]  # what all began with, before what a model makes of it
    missing: dict[str, list[str]] = {
        "goal": [one for one in asked if one not in first and one.startswith(NEWEST_REQUEST)],
        "constraints": [
            *(one for one in pins if one.strip() and one.strip() not in text),
            *(one for one in sure.constraints if not _is_said(one, lower, rules)),
        ],
        "done": [one for one in sure.done if one.startswith(RAN) and not _all_in(one, text)][-MOST_COMMANDS:],
        "blocked": [one for one in sure.blocked if not one.endswith("?") and not _all_in(one, text)],
        "decisions": [
            *[one for one in decided if not is_failure(one)][-MOST_DECISIONS:],
            *(one for one in decided if is_failure(one)),
        ],
        "in_progress": [] if brief.in_progress else list(sure.in_progress),
        "next_steps": [one for one in sure.next_steps if not _is_said(one, lower, items)],
        "context": [
            one for one in sure.context if _belongs(one, one in known, text) and not _is_said(_bare(one), lower, items)
        ],
        "files": _files(sure, text),
    }
    with_goal = replace(brief, goal=(*first, *brief.goal))
    return extend_brief(with_goal, **missing), (*first, *(one for found in missing.values() for one in found))


def _belongs(item: str, known: bool, text: str) -> bool:
    """Return whether an item of the context is to be put back: a request, and what holds something exact that is
    missing."""
    if item.startswith(EARLIER_REQUEST):
        return True
    sure = known or item.startswith((REPORTED, REMARK, "http"))
    return sure and bool(find_identifiers(item)) and not _all_in(item, text)


def _files(sure: Brief, text: str) -> list[str]:
    gone = [one for one in sure.files if split_file(one)[0] not in text]
    read = [one for one in gone if one.endswith(": read")]
    dropped = set(read[: max(0, len(read) - MOST_READ_FILES)])
    return [one for one in gone if one not in dropped]


def _all_in(item: str, text: str) -> bool:
    """Return whether a text has all that is exact in an item, or, where nothing is, the item itself."""
    exact = find_identifiers(item)
    return all(one in text for one in exact) if exact else item.casefold() in text.casefold()


def _bare(item: str) -> str:
    """An item without the words that say what it is."""
    return (
        item.partition(": ")[2]
        if is_failure(item) or item.startswith((EARLIER_REQUEST, NEWEST_REQUEST, REMARK))
        else item
    )


def _is_said(rule: str, lower: str, items: list[frozenset[str]]) -> bool:
    if rule.casefold().rstrip(".!") in lower:
        return True
    words = _words(rule)
    return (
        bool(words)
        and all(one.casefold() in lower for one in find_identifiers(rule))
        and any(len(words & item) >= _COVERED * len(words) for item in items)
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in find_words(text.casefold()) if len(word) > 1)
