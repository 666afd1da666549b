"""What may not be lost: sure facts are put back into a model's brief when it left them out.

Sure is what rules read off calls, results, the user's own words and what the agent said that it decided, and what an
earlier brief held and nothing has settled since. What must stay true: nothing is put back that the brief says already;
what the brief says is not changed; the user's rules come back word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from previously.folds.briefs.sections import (
    EARLIER_REQUEST,
    NEWEST_REQUEST,
    REMARK,
    REPORTED,
    Brief,
    is_failure,
    joined,
    render,
)
from previously.folds.builtin.agents.told_files import split_file
from previously.folds.builtin.briefing import RAN
from previously.text.words import find_words

MOST_READ_FILES = 20
"""Files that were only read and are put back, the newest; all that were changed are."""

MOST_COMMANDS = 8
MOST_DECISIONS = 10
"""Decisions in the agent's words that are put back, the newest; of what failed, all are."""

_IDENTIFIER = re.compile(
    r"`[^`\n]{2,200}`|(?<![\w/])(?:[\w.~@\-]{0,80}/){1,20}[\w.@\-]{1,80}|\b\w{1,80}[._]\w[\w.]{0,80}\b|"
    r"\b[a-z]+[A-Z]\w{0,80}\b|"
    r"\b[A-Z][a-z]+[A-Z]\w{0,80}\b|#?\b\d[\d.,:]{1,40}\b|\b[a-f0-9]{7,40}\b|\"[^\"\n]{3,200}\""
)
_COVERED = 0.75
"""The share of a rule's words that one item must have to say the same."""


def identifiers_in(text: str) -> list[str]:
    """What must be written exactly to mean anything: paths, names in code, numbers, quotations; each once."""
    return list(dict.fromkeys(found.strip('`".,:;') for found in _IDENTIFIER.findall(text)))


def with_sure_facts(
    brief: Brief, sure: Brief, earlier: Brief, pins: Iterable[str] = ()
) -> tuple[Brief, tuple[str, ...]]:
    """The brief with all that is sure and missing, and what was put back.

    `sure` is what rules make of the conversation after `earlier`, what was settled since left out.
    """
    text = render(brief)
    lower = text.casefold()
    rules = [_words(one) for one in (*brief.constraints, *brief.goal)]
    items = [_words(one) for one in brief.items()]
    held = set(earlier.items())
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
            one for one in sure.context if _belongs(one, one in held, text) and not _is_said(_bare(one), lower, items)
        ],
        "files": _files(sure, text),
    }
    told = replace(brief, goal=(*first, *brief.goal))
    return joined(told, **missing), (*first, *(one for found in missing.values() for one in found))


def _belongs(item: str, held: bool, text: str) -> bool:
    """Whether an item of the context is to be put back: a request, and what holds something exact that is missing."""
    if item.startswith(EARLIER_REQUEST):
        return True
    sure = held or item.startswith((REPORTED, REMARK, "http"))
    return sure and bool(identifiers_in(item)) and not _all_in(item, text)


def _files(sure: Brief, text: str) -> list[str]:
    gone = [one for one in sure.files if split_file(one)[0] not in text]
    read = [one for one in gone if one.endswith(": read")]
    dropped = set(read[: max(0, len(read) - MOST_READ_FILES)])
    return [one for one in gone if one not in dropped]


def _all_in(item: str, text: str) -> bool:
    """Whether a text has all that is exact in an item, or, where nothing is, the item itself."""
    exact = identifiers_in(item)
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
        and all(one.casefold() in lower for one in identifiers_in(rule))
        and any(len(words & item) >= _COVERED * len(words) for item in items)
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in find_words(text.casefold()) if len(word) > 1)
