"""Epochs: the time during which the front of a view stays the same, byte for byte.

New memory is taken up all at once: when the tail has outgrown its ceiling and memory has caught up with it, when there
is no room for the tail, when memory now tells of what had to be left out, or when a person changed what is shown. Until
then the tail only grows. An epoch never shows what is no longer true of the path: whoever reads it from a store asks
whether the message before its tail is still there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from previously.view.agent import WHOLE, Trim
from previously.view.memory import Remembered
from previously.view.view import LeftOut, Reason, Section

FIRST_VIEW = "this is the first view"
PATH_CHANGED = "an earlier message was changed"
TAKEN_BACK = "memory was taken back"
BY_HAND = "what people wrote has changed"
RENEWED = "memory of the same messages is told anew"
TOLD_NOW = "memory now tells of what had been left out"
OUTGROWN = "the tail had outgrown its ceiling"
NO_ROOM = "there was no room for the tail"
COUNTED_ANEW = "tokens are counted another way"

_SHORTER = (Section.BRIEF, Section.RECAP, Section.EPISODES, Section.CHAPTERS, Section.BACKBONE)
"""The sections that a text becomes part of when time goes on."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The part of a view that stays the same."""

    first: int
    """The position at which what is shown word for word begins."""
    memories: tuple[Remembered, ...]
    """The memory shown, as far as there was room for it."""
    cut: tuple[LeftOut, ...]
    """The memory that gave way."""
    told: Mapping[str, str]
    """All memory there was when it began: which messages each text stands for, and a digest of its words."""
    by_hand: str
    """A digest of what people wrote."""
    counter: str
    """The name of what counts the tokens."""
    trim: Trim = WHOLE
    """The part of tool outputs that is shown."""
    held: int | None = None
    """The position of the request that an agent is shown before the tail."""
    tail: int | None = None
    """The position at which the tail begins; the messages before it are told by memory too, and shown because there was
    room. None = there are none."""

    @property
    def tail_first(self) -> int:
        return self.first if self.tail is None else self.tail


def digest_memories(memories: Sequence[Remembered]) -> dict[str, str]:
    """Return which messages each text stands for, and a digest of its words."""
    return {_name_place(memory): _digest(memory.shown) for memory in memories if memory.span}


def digest_hand_written(memories: Sequence[Remembered]) -> str:
    """Return a digest of what people wrote, and of what comes from elsewhere: nothing of it is shown that is there no
    more."""
    written = (one for one in memories if one.by_hand or one.origin or one.section is Section.PINS)
    return _digest("\0".join(one.text for one in written))


def find_end_reason(
    epoch: Epoch, fresh: Sequence[Remembered], left_out: Sequence[LeftOut], *, guarded: bool = False
) -> str:
    """Return why the epoch cannot go on now that memory is this, whatever room there is; empty if it can. `left_out` is
    what it does not show. `guarded`: whoever reads it may not know all, so no line is shown that is not for them
    now."""
    lines = {(one.section, one.text) for one in fresh}
    own = (one for one in epoch.memories if not one.origin)  # the digest below sees to the others, which may be cut
    if guarded and any(one.span is None and (one.section, one.text) not in lines for one in own):
        return TAKEN_BACK
    if epoch.by_hand != digest_hand_written(fresh):
        return BY_HAND
    now = digest_memories(fresh)
    if any(digest != now.get(place, digest) for place, digest in epoch.told.items()):
        return RENEWED
    still_stale = {memory.section for memory in fresh if memory.stale}
    if any(memory.stale and memory.section not in still_stale for memory in epoch.memories):
        return RENEWED
    if not all(_is_still_told(memory, fresh) for memory in epoch.memories if memory.span):
        return TAKEN_BACK
    if not _are_still_there([one for one in epoch.memories if one.beside], [one for one in fresh if one.beside]):
        return TAKEN_BACK
    missing = [one.span for one in left_out if one.span and one.reason in (Reason.BUDGET, Reason.WAITING)]
    new = [memory.span for memory in fresh if memory.span and _name_place(memory) not in epoch.told]
    if any(span.first <= gap.last and gap.first <= span.last for gap in missing for span in new):
        return TOLD_NOW
    return ""


def _name_place(memory: Remembered) -> str:
    return f"{memory.section.value} {memory.span}"


def _is_still_told(memory: Remembered, fresh: Sequence[Remembered]) -> bool:
    """Return whether what a text told last is still told by a text of its kind, or by one that tells it shorter."""
    assert memory.span is not None
    shorter = _SHORTER[_SHORTER.index(memory.section) :]
    return any(one.span and memory.span.last in one.span and one.section in shorter for one in fresh)


def _are_still_there(shown: Sequence[Remembered], fresh: Sequence[Remembered]) -> bool:
    """Return whether the episodes shown are still there, as far back as was looked."""
    looked = min((one.beside.first for one in fresh if one.beside), default=None)
    texts = {one.text for one in fresh}
    return all(
        one.text in texts or (looked is not None and one.beside is not None and one.beside.first < looked)
        for one in shown
    )


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
