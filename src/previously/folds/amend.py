"""Amending: one fold that sets a text right after messages under it were changed.

A link whose earlier messages changed is stale. Instead of reading the story again, the text is given to the folder with
the old and the new words of what changed. What must stay true: only what really changed is given, found by digest; what
is too much to be amended is folded again instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

from previously.core.path import OnPath
from previously.core.scripts import count_words
from previously.core.versions import NewVersion
from previously.folds.recap import story_messages
from previously.folds.rendering import told
from previously.folds.request import Amends, FoldRequest

AMENDED = "an earlier message was changed"

MOST_WORDS = 3_000
"""More changed words than this are not amended but folded again: a small model would lose its way."""


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two runs of messages."""

    removed: tuple[OnPath, ...]
    added: tuple[OnPath, ...]
    kept: tuple[OnPath, ...]
    """Unchanged messages of the new run: what they say is no residue."""


def change(old: Sequence[OnPath], new: Sequence[OnPath]) -> Change:
    """What was removed and added between two runs, in path order."""
    same = sum(1 for _ in takewhile(_equal, zip(old, new, strict=False)))
    most = min(len(old), len(new)) - same
    same_end = min(most, sum(1 for _ in takewhile(_equal, zip(reversed(old), reversed(new), strict=False))))
    old_middle, new_middle = old[same : len(old) - same_end], new[same : len(new) - same_end]
    digests = [[item.entry.digest for item in run] for run in (old_middle, new_middle)]
    matcher = SequenceMatcher(None, digests[0], digests[1], autojunk=False)
    removed: list[OnPath] = []
    added: list[OnPath] = []
    kept = [*new[:same], *new[len(new) - same_end :]]
    for tag, old_first, old_end, new_first, new_end in matcher.get_opcodes():
        if tag == "equal":
            kept += new_middle[new_first:new_end]
        else:
            removed += old_middle[old_first:old_end]
            added += new_middle[new_first:new_end]
    return Change(tuple(removed), tuple(added), tuple(kept))


def _equal(pair: tuple[OnPath, OnPath]) -> bool:
    return pair[0].entry.digest == pair[1].entry.digest


def request(stale: NewVersion, found: Change, target_words: int, before: str = "") -> FoldRequest | None:
    """What to ask so that the stale text is true of the new run; None when that is too much to amend. `before` is a
    text about what comes before the run: what it names is no residue."""
    removed, added = story_messages(found.removed), story_messages(found.added)
    words = sum(count_words(told(message)) for message in (*removed, *added))
    if words > MOST_WORDS:
        return None
    return FoldRequest(
        kind=stale.kind,
        previous=stale.text,
        delta=added,
        target_words=target_words,
        carry=stale.carry,
        amends=Amends(removed, (before, *(told(message) for message in story_messages(found.kept)))),
    )
