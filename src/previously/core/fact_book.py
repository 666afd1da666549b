"""Shared memory: what a character, a world or a project keeps of its own, for every story that attaches it.

It is kept as a book without entries, whose facts stand among what other programs have no field for: so it belongs to an
owner, is attached to stories and goes along in backups as books do. It holds what a person put there; with the rule
*learns*, stories that attach it also read what the character knows in the others. The facts of a character are for that
character, and for readers who are nobody in particular.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from previously.core.errors import BadInput
from previously.core.json_values import clean, make_plain, read_plain
from previously.core.scripts import casefold

MARK = '"shared"'
"""Stands in the text of every shared memory: others need not be parsed to know that they are none."""

LONGEST_FACT = 400
"""Characters of a fact: as long as a thread or a line of the state may be."""

MOST_FACTS = 200
"""Facts of a memory: twenty times what a view tells of one character."""

MOST_UNDONE = 20
"""Changes that can be taken back: more than anybody remembers having made."""


class SharedKind(StrEnum):
    """The kinds of owners that a shared memory has among the things of stories."""

    CHARACTER = "character"
    WORLD = "world"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class SharedFact:
    """One fact."""

    text: str
    story: str = ""
    """The story it was kept from, by its name then; empty for a person's words."""
    link: str = ""
    """The word in that story's header by which it is known whatever it is called."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A shared memory as it was last kept."""

    name: str
    kind: SharedKind
    of: str = ""
    """The character whose it is."""
    learns: bool = False
    """True if stories that attach it read what the character knows in the others."""
    facts: tuple[SharedFact, ...] = ()
    """The oldest first."""
    earlier: tuple[tuple[SharedFact, ...], ...] = ()
    """The facts before each of the last changes, the newest last."""

    def is_for(self, reader: str, is_self: Callable[[str], bool]) -> bool:
        """Return whether somebody may be told of it. Nobody in particular is told of all; a project is told of to
        nobody in a story."""
        if not reader or self.kind is SharedKind.WORLD:
            return True
        return self.kind is SharedKind.CHARACTER and is_self(self.of)

    def write_line(self, text: str, reader: str) -> str:
        """Return a fact as a reader is told it."""
        told = f"{self.of} knows: {text}" if self.of and not reader else text
        return f"- {' '.join(told.split())}"

    def with_facts(self, facts: tuple[SharedFact, ...]) -> SharedMemory:
        """Return the memory with other facts; those before can be had back."""
        if len(facts) > MOST_FACTS:
            raise BadInput(f"A shared memory holds at most {MOST_FACTS} facts; remove some first.")
        return replace(self, facts=facts, earlier=(*self.earlier, self.facts)[-MOST_UNDONE:])

    def add(self, fact: SharedFact) -> SharedMemory:
        """Return the memory with one more fact, unless it says that already."""
        if any(casefold(one.text) == casefold(fact.text) for one in self.facts):
            return self
        return self.with_facts((*self.facts, fact))

    def put(self, number: int, fact: SharedFact | None) -> SharedMemory:
        """Return the memory with a fact in place of the one of that number, counted from 1; without it if None."""
        if not 1 <= number <= len(self.facts):
            there = f"it has 1 to {len(self.facts)}" if self.facts else "it has none"
            raise BadInput(f"There is no fact {number} in {self.name!r}; {there}.")
        new = () if fact is None else (fact,)
        return self.with_facts((*self.facts[: number - 1], *new, *self.facts[number:]))

    def undo(self) -> SharedMemory:
        """Return the memory as it was before the last change of its facts."""
        if not self.earlier:
            raise BadInput(f"There is nothing to undo in {self.name!r}.")
        return replace(self, facts=self.earlier[-1], earlier=self.earlier[:-1])

    def forget(self, link: str) -> SharedMemory:
        """Return the memory without anything that was kept from a story, for good."""

        def stay(facts: tuple[SharedFact, ...]) -> tuple[SharedFact, ...]:
            return tuple(fact for fact in facts if fact.link != link)

        return replace(self, facts=stay(self.facts), earlier=tuple(map(stay, self.earlier)))


def check_fact(text: str) -> str:
    """Return a person's words as a fact; `BadInput` for none, or too many."""
    words = " ".join(clean(text)[0].split())
    if not words or len(words) > LONGEST_FACT:
        raise BadInput(f"A fact has 1 to {LONGEST_FACT} characters.")
    return words


def render_shared(memory: SharedMemory) -> str:
    """Return the text of the book that holds a shared memory."""
    return json.dumps({"entries": [], "extensions": {"previously": {"shared": make_plain(memory)}}}, ensure_ascii=False)


def parse_shared(body: str | None, name: str) -> SharedMemory | None:
    """Return the shared memory that a book of that name holds; None for a book of lore."""
    if body is None or MARK not in body:
        return None
    try:
        return replace(read_plain(SharedMemory, json.loads(body)["extensions"]["previously"]["shared"]), name=name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def explain_taken(name: str) -> str:
    """Return the sentence for a book that cannot be kept under the name of a shared memory."""
    return (
        f"{name!r} is a shared memory, which a book would write over: give the book another name, or remove the memory "
        f"first with `previously shared remove {name}`."
    )
