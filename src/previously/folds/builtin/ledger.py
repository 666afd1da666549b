"""The one sentence for names the prose had no room for.

Owns that sentence: which names it lists, how it is worded, and how it is recognised and taken off on the next
rewrite. What must stay true: it never lists a name the prose holds, and what `ledger_sentence` writes
`take_ledger` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from previously.core.words import count_words
from previously.folds.builtin.names import WORD, NameBook, key_of
from previously.folds.builtin.terms import NUMBER_WORDS
from previously.folds.builtin.vocabulary import is_ordinary

LEAST_COUNT = 3
"""A name counted less often is a passing mention."""

_LEDGER = re.compile(r"\s*(?:Also named so far: |\(… )(?P<names>[^\n]*?)[.)]\s*")
_SEPARATOR = re.compile(r", | and ")


def ledger_sentence(text: str, names: Mapping[str, int], book: NameBook, room: int, *, english: bool) -> str:
    """The best-known names that the prose does not hold, as many as fit the room; the oldest first among equals."""
    held = {key_of(word) for word in WORD.findall(text)}
    listed: list[str] = []
    for name, _ in sorted(names.items(), key=lambda item: -item[1]):
        keys = {key_of(word) for word in WORD.findall(name)}
        if (keys <= held if keys else name in text) or not _is_worth_listing(name, keys, names[name], book):
            continue
        if count_words(_sentence([*listed, name], english=english)) > room:
            break
        listed.append(name)
        held |= keys
    return _sentence(listed, english=english)


def _is_worth_listing(name: str, keys: set[str], count: int, book: NameBook) -> bool:
    if len(name) < 3 and name.isascii():
        return False
    if any(mark in name for mark in ",'’.()") or " and " in name or name.isupper() or keys & NUMBER_WORDS:
        return False
    several = len(keys) > 1
    if count < LEAST_COUNT and not several:
        return False
    if keys and not several and is_ordinary(next(iter(keys))) and count < 2 * LEAST_COUNT:
        return False
    return all(book.is_name(key) for key in keys if len(key) > 3)


def _sentence(names: Sequence[str], *, english: bool) -> str:
    if not names:
        return ""
    if not english:
        return f"(… {', '.join(names)})"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"Also named so far: {listed}."


def take_ledger(recap: str) -> tuple[str, list[str]]:
    """A recap without its sentence of names, and those names."""
    head, _, last = recap.rstrip().rpartition("\n")
    match = _LEDGER.fullmatch(last)
    if not match:
        return recap, []
    return head, [name.strip() for name in _SEPARATOR.split(match.group("names")) if name.strip()]
