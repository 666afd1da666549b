"""The one sentence for names the prose had no room for.

Owns that sentence: which names it lists, how it is worded, and how it is recognised and taken off on the next
rewrite. What must stay true: it never lists a name the prose holds, and what `ledger_sentence` writes
`take_ledger` reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from previously.core.words import count_words
from previously.folds.builtin.cues import NUMBER_WORDS, TITLES
from previously.folds.builtin.names import NameBook
from previously.folds.builtin.vocabulary import is_ordinary
from previously.folds.builtin.words import keys_in, worded

LEAST_COUNT = 3
"""A name counted less often is a passing mention."""

_LEDGER = re.compile(r"\s*(?:Also named so far: |\(… )(?P<names>[^\n]*?)[.)]\s*")
_NOT_LISTED = re.compile(r"[,’()]| and |'(?!s\b)|\.(?! )")
_SEPARATOR = re.compile(r", | and ")


def ledger_sentence(text: str, names: Mapping[str, int], book: NameBook, room: int, *, english: bool) -> str:
    """The best-known names that the prose does not hold, as many as fit the room; the oldest first among equals."""
    held = {word.key for word in worded(text).words}
    listed: list[str] = []
    for name, _ in sorted(names.items(), key=lambda item: -item[1]):
        every_key = keys_in(name)
        keys = [key for key in every_key if key not in TITLES]
        if every_key and not keys:
            continue
        if (held.issuperset(keys) if keys else name in text) or not _is_worth_listing(name, keys, names[name], book):
            continue
        longer = _with(listed, name, keys)
        if count_words(_sentence(longer, english=english)) > room:
            break
        listed = longer
        held.update(keys)
    return _sentence(listed, english=english)


def _with(listed: Sequence[str], name: str, keys: Sequence[str]) -> list[str]:
    """The list with one more name, which takes the place of its own parts."""
    parts = [index for index, other in enumerate(listed) if set(keys_in(other)) - TITLES < set(keys)]
    if not parts:
        return [*listed, name]
    kept = [other for index, other in enumerate(listed) if index not in parts[1:]]
    kept[parts[0]] = name
    return kept


def _is_worth_listing(name: str, keys: Sequence[str], count: int, book: NameBook) -> bool:
    several = len(keys) > 1
    if (count < LEAST_COUNT and not several) or (len(name) < 3 and name.isascii()):
        return False
    if _NOT_LISTED.search(name) or name.isupper() or not NUMBER_WORDS.isdisjoint(keys):
        return False
    if keys and not several and is_ordinary(keys[0]) and count < 2 * LEAST_COUNT:
        return False
    return all(book.is_name(key) for key in keys if len(key) > 3 or not several)


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
