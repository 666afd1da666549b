"""What one character knows: a short summary and a few key facts, each with when and how they learnt it.

These are plain values; changing them is `folds.cast_facts`. What must stay true: there are never more than `MOST_FACTS`
facts, oldest first, each one line and none twice; reading what was stored never fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from previously.core.signals import folded
from previously.core.text import clean

MOST_FACTS = 10
"""How many facts a character keeps."""

LONGEST_FACT = 200
"""How many characters of a fact are kept."""

WITNESSED = "witnessed"
"""The source of what a character saw or did themselves."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing a character knows."""

    text: str
    since: int
    """The position of the message by which they knew it."""
    source: str = WITNESSED
    """`witnessed`, or `told by NAME`."""

    def as_json(self) -> dict[str, Any]:
        """The fact by field."""
        return {"text": self.text, "since": self.since, "source": self.source}


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that is kept of what one character knows."""

    summary: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether they know nothing worth keeping yet."""
        return not self.summary and not self.facts

    def as_json(self) -> dict[str, Any]:
        """The summary and the facts, oldest first."""
        return {"summary": self.summary, "facts": [fact.as_json() for fact in self.facts]}


NOTHING_KNOWN = Knowledge()


def told_by(name: str) -> str:
    """The source of what a character heard from someone."""
    return f"told by {name}"


def one_line(text: str, longest: int = LONGEST_FACT) -> str:
    """A text as every store can keep it, on one line and no longer than it may be."""
    line = " ".join(clean(text)[0].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def each_once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts without those that say the same in the same words; the first of them stays."""
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(folded(fact.text), fact)
    return tuple(found.values())


def knowledge_of(text: str) -> Knowledge:
    """The knowledge in a stored text; what cannot be read is left out, so that any text is some knowledge."""
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        given = {}
    if not isinstance(given, dict):
        return NOTHING_KNOWN
    summary, listed = given.get("summary"), given.get("facts")
    facts = [fact for one in listed if (fact := _fact_of(one))] if isinstance(listed, list) else []
    return Knowledge(
        " ".join(clean(summary)[0].split()) if isinstance(summary, str) else "", each_once(facts)[-MOST_FACTS:]
    )


def _fact_of(given: object) -> Fact | None:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, dict):
        return None
    text, since, source = given.get("text"), given.get("since"), given.get("source")
    line = one_line(text) if isinstance(text, str) else ""
    if not line:
        return None
    return Fact(
        line,
        since if isinstance(since, int) and not isinstance(since, bool) else 0,
        one_line(source) if isinstance(source, str) and source.strip() else WITNESSED,
    )
