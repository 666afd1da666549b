"""Statements: what is said of a thing, one sentence each, and how two of them stand to each other.

Owns the rules by which a statement repeats, says more than or contradicts another. There are few of them, so that a
person can tell why one gave way:

- it repeats another when its telling words are those of the other, or a good part of them, in the same order;
- it says more when it is the other way round;
- it contradicts another when both speak of one state that has one value ("Status: …", alive or dead), when one denies
  what the other says, or when they differ in nothing but numbers, colours or opposites.

What must stay true: all of it is a pure function of the two texts and the name of the thing; what is neither stands
beside the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Literal

from previously.core.signals import folded
from previously.lore.wording import COLOURS, DENIALS, NUMBERS, OPPOSITES, SINGLE_VALUED, SMALL_WORDS, STANDING_NOW

By = Literal["model", "person", "book"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence about a thing, and who said it when."""

    text: str
    source: int
    """Where it was first said: larger is later; what it counts is the caller's to know."""
    by: By = "model"
    again: int | None = None
    """Where it was last said again."""

    @property
    def newest(self) -> int:
        """Where it was last said."""
        return self.source if self.again is None else self.again


class Relation(Enum):
    """How a later statement stands to an earlier one."""

    APART = "apart"
    REPEATS = "repeats"
    SAYS_MORE = "says more"
    CONTRADICTS = "contradicts"


LEAST_PART = 0.5
"""The share of a longer statement that a shorter one has to be to be the same."""

_LEAST_SHARED = 2
_END = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+(?=[^\sa-z])|(?<=[。！？])(?![」』）])|(?<=[。！？][」』）])|\s*\n+\s*(?:[-*•]\s+)?"
)
_ABBREVIATED = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|sr|jr|prof|capt|lt|sgt|col|gen|rev|vs|no|ca)|\b[A-Z])\.$", re.I)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e01-\u0e7f"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:['’][^\W_]+)?")
_LABEL = re.compile(r"\s*(?P<label>[^\W\d_][\w ]{1,24}?)\s*[:：]\s*(?P<value>\S.*)", re.S)


def split(text: str, kind: str = "") -> list[str]:
    """The statements of a text, in order. A document is one: it is quoted, not told."""
    if kind == "document":
        return [text.strip()] if text.strip() else []
    found: list[str] = []
    held = ""
    for piece in _END.split(text.strip()):
        held = f"{held} {piece}".strip() if held else (piece or "").strip()
        if held and not _is_open(held):
            found.append(held)
            held = ""
    return [*found, held] if held else found


def _is_open(text: str) -> bool:
    """Whether the stop at the end of a text is not that of a statement: of "Dr.", or inside a quotation."""
    return bool(_ABBREVIATED.search(text)) or text.count('"') % 2 == 1 or text.count("“") > text.count("”")


def joined(texts: Sequence[str]) -> str:
    """Statements as one text."""
    text = ""
    for one in texts:
        gap = "" if not text or text.endswith(("。", "！", "？")) else " " if text[-1] in ".!?…\"'”’)]:" else ". "
        text += gap + one
    return text


@lru_cache(maxsize=16384)
def telling(text: str, name: str) -> tuple[str, ...]:
    """The telling words of a statement in order, the name of the thing and pronouns at its head aside."""
    words = _WORD.findall(folded(text).replace("’", "'"))
    own = {_stem(word) for word in _WORD.findall(folded(name))}
    head = 0
    while head < len(words) and (_stem(words[head]) in own or words[head] in SMALL_WORDS):
        head += 1
    kept = tuple(_stem(word) for word in words[head:] if word not in SMALL_WORDS)
    return kept or tuple(words)


def _stem(word: str) -> str:
    """A word without its ending, as far as English ones go."""
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


@lru_cache(maxsize=16384)
def relation(old: str, new: str, name: str) -> Relation:
    """How a new statement about a thing stands to an old one."""
    before, after = telling(old, name), telling(new, name)
    if before == after:
        return Relation.REPEATS
    state, other = state_of(old, name), state_of(new, name)
    if state and other and state[0] == other[0] and state[1] != other[1]:
        return Relation.CONTRADICTS
    if len(before) > 1 and set(before).isdisjoint(after):
        return Relation.APART
    if _deny_each_other(before, after) or _differ_in_values(before, after):
        return Relation.CONTRADICTS
    if _denials(before) != _denials(after):
        return Relation.APART
    if _is_part(after, before):
        return Relation.REPEATS
    return Relation.SAYS_MORE if _is_part(before, after) else Relation.APART


def _denials(words: Sequence[str]) -> int:
    return sum(word in DENIALS for word in words)


def _deny_each_other(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether both say the same, and one of them that it is not so."""
    bare, other = ([word for word in words if word not in DENIALS] for words in (before, after))
    return bool(bare) and bare == other and (_denials(before) > 0) != (_denials(after) > 0)


def _differ_in_values(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether two statements are alike but for numbers, colours or opposites; or for one word of what holds now."""
    if len(before) != len(after):
        return False
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if len(changed) == len(before) and not _are_opposites(*changed[0]):
        return False
    if all(_are_values(old, new) for old, new in changed):
        return True
    return len(changed) == 1 and len(before) > _LEAST_SHARED and bool(STANDING_NOW & set(before) & set(after))


def _are_values(old: str, new: str) -> bool:
    both_numbers = _is_number(old) and _is_number(new)
    return both_numbers or (old in COLOURS and new in COLOURS) or _are_opposites(old, new)


def _is_number(word: str) -> bool:
    return word in NUMBERS or word[:1].isdigit()


def _are_opposites(old: str, new: str) -> bool:
    if new in OPPOSITES.get(old, ()):
        return True
    short, long = sorted((old, new), key=len)
    return len(short) > 3 and any(long == f"{prefix}{short}" for prefix in ("un", "dis", "in", "im", "non"))


def _is_part(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether the words of one stand in the other in order, and are a good part of it."""
    if len(short) < max(_LEAST_SHARED, LEAST_PART * len(long)):
        return False
    rest = iter(long)
    return all(word in rest for word in short)


_DEAD = "dead|deceased|died|dies|slain"
_KILLED = "killed|murdered|assassinated|executed"
_ALIVE = "alive|resurrected|revived|survived|survives"
_LIFE = re.compile(
    r"(?:(?:he|she|it|they)\b[ ,]*)?(?:(?:is|was|are|were|has been|had been|be|got)\b )?"
    r"(?:(?:now|currently|reportedly|already|still|again|very much|believed|presumed|confirmed)\b )*"
    rf"(?:(?P<dead>(?:{_DEAD})\b|(?:{_KILLED})(?=$|\W*$| (?:by|in|at|during|on|with)\b))|(?P<alive>(?:{_ALIVE})\b))"
)


@lru_cache(maxsize=16384)
def state_of(text: str, name: str) -> tuple[str, str] | None:
    """The one state that a statement is about, and its value: ("life", "dead"), ("mood", "calm"); else None."""
    found = _LABEL.fullmatch(text)
    label = folded(found["label"]).removeprefix("current ") if found else ""
    if found and label in SINGLE_VALUED:
        value = folded(found["value"]).strip(" .!")
        life = _LIFE.match(value)
        return ("life", "dead" if life["dead"] else "alive") if life else (SINGLE_VALUED[label], value)
    said = folded(text)
    named = folded(name)
    if named and said.startswith(f"{named} "):
        said = said.removeprefix(named).strip(" ,:")
    life = _LIFE.match(said)
    return ("life", "dead" if life["dead"] else "alive") if life else None
