"""What entries may cost: the room a turn has for lore, and the roll some of them must win.

Two ways to keep account. `Room` counts every entry that fires once; one that does not fit costs nothing, and a
smaller one after it may still fit. `LooseRoom` does what SillyTavern does.

What must stay true: a roll depends on nothing but the story's seed, the turn and the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Protocol

from previously.lore.entries import Entry


class Account(Protocol):
    """How the room for lore is kept account of."""

    @property
    def overflowed(self) -> bool:
        """Whether entries are turned away from here on, and nothing recurses any more."""

    def refusal(self, entry: Entry, tokens: int) -> str | None:
        """Why an entry has no room; None if it has, and then it is paid for."""

    def step_ends(self, fed: Sequence[Entry]) -> None:
        """A step is over, and these entries are read for keys in the next one."""


class Room:
    """Exact: everything that fires counts once."""

    overflowed = False

    def __init__(self, budget: int | None) -> None:
        self._left = budget

    def refusal(self, entry: Entry, tokens: int) -> str | None:
        """Why an entry has no room; None if it has, and then it is paid for."""
        if self._left is None:
            return None
        if tokens > self._left and not entry.ignore_budget:
            return f"no room: needs {tokens} tokens, {max(self._left, 0)} left"
        self._left -= tokens
        return None

    def step_ends(self, fed: Sequence[Entry]) -> None:
        """Nothing to do: what fired is already paid for."""


class LooseRoom:
    """As SillyTavern: an entry that did not fit still counts within its step, the first one closes the door, and of
    earlier steps only what feeds recursion counts."""

    def __init__(self, budget: int | None, counter: Callable[[str], int]) -> None:
        self._budget = budget
        self._counter = counter
        self._before = ""
        self._step = ""
        self.overflowed = False

    def refusal(self, entry: Entry, tokens: int) -> str | None:  # noqa: ARG002
        """Why an entry has no room; None if it has, and then it is paid for."""
        if self._budget is None:
            return None
        if self.overflowed and not entry.ignore_budget:
            return "no room: the budget was used up before it"
        self._step += entry.content + "\n"
        needed = self._counter(self._before) + self._counter(self._step)
        if needed >= self._budget and not entry.ignore_budget:
            self.overflowed = True
            return f"no room: with it {needed} of {self._budget} tokens"
        return None

    def step_ends(self, fed: Sequence[Entry]) -> None:
        """What feeds recursion counts from now on, the rest no longer."""
        self._before += "".join(entry.content + "\n" for entry in fed)
        self._step = ""


def roll(seed: str, turn: str, uid: str) -> float:
    """A number from 0 up to 100 for one entry on one turn."""
    state = blake2b(digest_size=8, person=b"prev.lore.1")
    for text in (seed, turn, uid):
        encoded = text.encode("utf-8", "replace")
        state.update(b"%d:%s" % (len(encoded), encoded))
    return int.from_bytes(state.digest(), "big") / 2**64 * 100


def wins(entry: Entry, seed: str, turn: str, *, quirks: bool = False) -> bool:
    """Whether an entry passes the roll that its probability asks for."""
    if entry.probability >= 100:
        return True
    rolled = roll(seed, turn, entry.uid)
    return rolled <= entry.probability if quirks else rolled < entry.probability
