"""An entry of lore: one thing with all that was ever said of it, and what of that is shown.

What must stay true: nothing said is lost, it is live, archived or superseded; what is shown of a thing stays within
`MOST_TOKENS`, unless a person wrote it, whose text is shown byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.cutting import beginning_of
from previously.core.tokens import estimate_tokens
from previously.lore.keywords import key_of
from previously.lore.statements import Statement, joined, state_of

MOST_TOKENS = 200
"""What is shown of an entry takes no more."""

Key = tuple[str, str]
"""What an entry is found by: its name, folded, and its type."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a scene would change in a field that a person wrote."""

    field: str
    text: str
    source: int


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One thing."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    """Other names under which it was described."""
    keywords: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    """What holds, in the order in which it was learned."""
    superseded: tuple[Statement, ...] = ()
    """What held once, or was said more fully since."""
    touched: int = 0
    """Where it was last described."""
    retired: bool = False
    """Not described for long while many others were: shown only when a key names it."""
    locked: frozenset[str] = frozenset()
    """The fields that a person wrote."""
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def key(self) -> Key:
        """What it is found by."""
        return entry_key(self.name, self.type)

    @property
    def content(self) -> str:
        """What is shown of it: all that holds, or the most important of it where there is too much."""
        if "content" in self.locked:
            return "\n".join(one.text for one in self.statements if one.by != "model")
        return joined(shown_of(self))

    @property
    def archived(self) -> tuple[Statement, ...]:
        """What holds and is not shown for want of room."""
        if "content" in self.locked:
            return tuple(one for one in self.statements if one.by == "model")
        shown = set(_chosen(self))
        return tuple(one for index, one in enumerate(self.statements) if index not in shown)


def entry_key(name: str, kind: str) -> Key:
    """What an entry of that name and type is found by."""
    return key_of(name), kind


def shown_of(entry: LoreEntry) -> list[str]:
    """The statements that are shown, in order; one that is too long by itself is cut."""
    chosen = [entry.statements[index].text for index in _chosen(entry)]
    if len(chosen) == 1 and estimate_tokens(chosen[0]) > MOST_TOKENS:
        return [beginning_of(chosen[0], MOST_TOKENS)]
    return chosen


def _chosen(entry: LoreEntry) -> list[int]:
    """Which statements are shown: how it stands with it, then the first, which says what it is, then the newest."""
    statements = entry.statements
    if estimate_tokens(joined([one.text for one in statements])) <= MOST_TOKENS:
        return list(range(len(statements)))

    def importance(index: int) -> tuple[bool, bool, bool, int, int]:
        one = statements[index]
        return one.by != "model", state_of(one.text, entry.name) is not None, index == 0, one.newest, index

    chosen: list[int] = []
    for index in sorted(range(len(statements)), key=importance, reverse=True):
        with_it = sorted([*chosen, index])
        if estimate_tokens(joined([statements[one].text for one in with_it])) <= MOST_TOKENS:
            chosen = with_it
        elif not chosen:
            return [index]
    return chosen
