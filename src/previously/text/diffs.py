"""Changes between two texts, word by word, and the front that they share."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from previously.core.patterns import lazy_pattern

_PIECES = lazy_pattern(r"\S+\s*|\s+")


class ChangeKind(StrEnum):
    """The fate of a run of words."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class WordChange:
    """A run of words and what became of it."""

    kind: ChangeKind
    text: str


def diff_words(old: str, new: str) -> list[WordChange]:
    """Return the runs in order. What is the same or removed makes the old text, what is the same or added the new one;
    the space behind a word belongs to it, and counts as the new text has it."""
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    matcher = SequenceMatcher(None, [piece.strip() for piece in before], [piece.strip() for piece in after], False)
    changes: list[WordChange] = []
    for what, old_first, old_end, new_first, new_end in matcher.get_opcodes():
        if what == "equal":
            changes.append(WordChange(ChangeKind.SAME, "".join(after[new_first:new_end])))
            continue
        if old_end > old_first:
            changes.append(WordChange(ChangeKind.REMOVED, "".join(before[old_first:old_end])))
        if new_end > new_first:
            changes.append(WordChange(ChangeKind.ADDED, "".join(after[new_first:new_end])))
    return changes


def find_common_front(one: str, other: str) -> str:
    """Return what two texts begin with."""
    longest = min(len(one), len(other))
    return one[: next((at for at in range(longest) if one[at] != other[at]), longest)]
