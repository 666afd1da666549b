"""Timed effects: entries that stay for a while, rest for a while, or come late.

Nothing is kept here. What is recorded is which entry fired when which message was answered; the rest follows. A path
that goes back, by an edit, a swipe or a deletion, simply holds fewer of these records, and so no effect has to be
undone.

What must stay true: the same records, entries and length always give the same effects, in whatever order the records
come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from previously.lore.entries import KeyedEntry


@dataclass(frozen=True, slots=True, order=True)
class Activation:
    """An entry fired when the path had `position` messages, that is for the answer at that position."""

    uid: str
    position: int


@dataclass(frozen=True, slots=True)
class TimedEffects:
    """What holds now, each with the position at which it ends."""

    sticky: Mapping[str, int] = field(default_factory=dict, hash=False)
    cooldown: Mapping[str, int] = field(default_factory=dict, hash=False)


NO_EFFECTS = TimedEffects()


def compute_effects(activations: Iterable[Activation], entries: Mapping[str, KeyedEntry], now: int) -> TimedEffects:
    """The effects on an answer at position `now`, from what fired for earlier ones on this path.

    An entry is sticky for so many messages from its activation on; firing again meanwhile does not make it longer. It
    rests from the end of that, or from its activation if it is not sticky. What fired for this very position does not
    count: the answer is being made again.
    """
    starts: dict[str, int] = {}
    for one in sorted(activations, key=lambda one: one.position):
        entry = entries.get(one.uid)
        if entry is None or one.position >= now:
            continue
        before = starts.get(one.uid)
        if before is None or one.position >= before + max(entry.sticky, 1):
            starts[one.uid] = one.position
    sticky: dict[str, int] = {}
    cooldown: dict[str, int] = {}
    for uid, start in starts.items():
        entry = entries[uid]
        end = start + max(entry.sticky, 0)
        if now < end:
            sticky[uid] = end
        elif now < end + entry.cooldown:
            cooldown[uid] = end + entry.cooldown
    return TimedEffects(sticky, cooldown)


def has_effects(entry: KeyedEntry) -> bool:
    """Whether it matters later that an entry has fired."""
    return entry.sticky > 0 or entry.cooldown > 0
