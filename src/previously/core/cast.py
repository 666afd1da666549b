"""The knowledge of one character: a short summary and a few key facts, each with when and how they learnt it.

These are plain values; changing them is `folds.cast_facts`. There are never more than `MOST_FACTS` facts, oldest first,
each one line and none twice; reading what was stored never fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from previously.core.json_values import clean
from previously.core.scripts import casefold

MOST_FACTS = 10
"""Facts that a character keeps: as many as a model still reads one by one."""

LONGEST_FACT = 200
"""Characters of a fact that are kept: one sentence."""

WITNESSED = "witnessed"
"""The source of what a character saw or did themselves."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a character knows."""

    text: str
    since: int
    """The position of the message by which they knew it."""
    source: str = WITNESSED
    """`witnessed`, or `told by NAME`."""

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "since": self.since, "source": self.source}


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that is kept of what one character knows."""

    summary: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether they know nothing worth keeping yet."""
        return not self.summary and not self.facts

    def as_json(self) -> dict[str, Any]:
        return {"summary": self.summary, "facts": [fact.as_json() for fact in self.facts]}


NOTHING_KNOWN = Knowledge()


def cut_line(text: str, longest: int = LONGEST_FACT) -> str:
    """Return a text as every store can keep it, on one line; of a longer one the whole words that fit, and a mark."""
    line = " ".join(clean(text)[0].split())
    if len(line) <= longest:
        return line
    # A word that is longer than all there is room for, or a script without spaces, is cut where the room ends.
    end = line.rfind(" ", 0, longest) if " " in line[longest // 2 : longest] else longest - 1
    return line[:end].rstrip(" ,;:") + "…"


def drop_repeats(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Return the facts without those that say the same in the same words; the first of them stays."""
    facts_by_text: dict[str, Fact] = {}
    for fact in facts:
        facts_by_text.setdefault(casefold(fact.text), fact)
    return tuple(facts_by_text.values())


def parse_knowledge(text: str) -> Knowledge:
    """Return the knowledge in a stored text; what cannot be read is left out, so that any text is some knowledge."""
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        given = {}
    if not isinstance(given, dict):
        return NOTHING_KNOWN
    summary, listed = given.get("summary"), given.get("facts")
    facts = [fact for one in listed if (fact := _read_fact(one))] if isinstance(listed, list) else []
    return Knowledge(
        " ".join(clean(summary)[0].split()) if isinstance(summary, str) else "", drop_repeats(facts)[-MOST_FACTS:]
    )


def _read_fact(given: object) -> Fact | None:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, dict):
        return None
    text, since, source = given.get("text"), given.get("since"), given.get("source")
    line = cut_line(text) if isinstance(text, str) else ""
    if not line:
        return None
    return Fact(
        line,
        since if isinstance(since, int) and not isinstance(since, bool) else 0,
        cut_line(source) if isinstance(source, str) and source.strip() else WITNESSED,
    )
