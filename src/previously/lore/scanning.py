"""The scan: which entries fire for a turn, and in which order they are shown.

First the newest messages are read for keys; then, if the story wants recursion, the content of what fired, a few
steps deep. In each step the entries that are found, constant or sticky are ordered by what they mean to the story
(constant, sticky, then larger `order` first), roll if they must, and are given room while there is some.

As SillyTavern does it, where the index says `quirks`: constants come in no special order; room is kept by
`LooseRoom`; no recursion after the first entry that did not fit; an entry that did not fit still feeds it;
`most_steps` counts the first reading too, and 0 means no end; entries of equal order are shown last first; with a
depth of 0 nothing is found.

What must stay true: the same entries and the same turn give the same scan; an entry fires at most once; the work
follows the text and the entries it mentions, not the number of entries there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from previously.lore.decisions import (
    Decision,
    FiredEntry,
    ScanInput,
    ScanResult,
    explain_key,
    explain_no_key,
    explain_rest,
    explain_secondary,
)
from previously.lore.entries import KeyedEntry
from previously.lore.finding import KeyMatches
from previously.lore.index import LoreIndex, build_index
from previously.lore.spending import ExactBudget, LooseBudget, LoreBudget, is_roll_won

_CONSTANT, _STICKY, _FOUND = range(3)


def scan(lore: LoreIndex | Iterable[KeyedEntry], given: ScanInput, *, quirks: bool = False) -> ScanResult:
    """Which entries fire for a turn. `quirks` is for bare entries; an index knows for itself how it was built."""
    index = lore if isinstance(lore, LoreIndex) else build_index(lore, quirks=quirks)
    return _Turn(index, given).scan()


@dataclass(slots=True)
class _Candidate:
    entry: KeyedEntry
    reason: str
    standing: int
    """What it means to the story, smaller first."""


@dataclass(slots=True)
class _Turn:
    """One scan under way."""

    index: LoreIndex
    given: ScanInput
    found: KeyMatches = field(init=False)
    account: LoreBudget = field(init=False)
    step: int = 0
    level: int = 0
    """The level of recursion that entries may wait for by now."""
    later_levels: list[int] = field(init=False)
    fired: dict[str, FiredEntry] = field(default_factory=dict)
    out: dict[str, str] = field(default_factory=dict)
    """Entries that do not fire on this turn any more, and why."""
    waiting: dict[str, str] = field(default_factory=dict)
    """Entries that lack something which recursion may still bring, and what."""

    def __post_init__(self) -> None:
        self.found = KeyMatches(self.index, max(self.given.depth, 0))
        budget = self.given.budget_tokens
        self.account = LooseBudget(budget, self.given.counter) if self.index.quirks else ExactBudget(budget)
        self.later_levels = sorted(self.index.levels)
        if self.later_levels:
            self.level = self.later_levels.pop(0)

    def scan(self) -> ScanResult:
        """Read the messages, then what fired, as long as that brings up more."""
        uids = dict.fromkeys([*self._constants(), *self._sticky()])
        uids |= self.found.read_messages(self.given.lines())
        while True:
            fed = self._fire(self._ordered(self._candidates(uids)))
            if not self._goes_on(fed):
                break
            self.account.step_ends(fed)
            self.step += 1
            uids = self.waiting | (self.found.read_entries(fed) if fed else {})
        return self._result()

    def _constants(self) -> list[str]:
        return [uid for segment in self.index.segments for uid in self.index.owners(segment, segment.constants)]

    def _sticky(self) -> list[str]:
        placed = self.index.placed
        return [uid for uid in self.given.timed.sticky if uid in placed and placed[uid].segment is not None]

    def _candidates(self, uids: Iterable[str]) -> list[_Candidate]:
        """Those of the entries that may fire in this step; of the others it is noted what they lack."""
        found: list[_Candidate] = []
        for uid in uids:
            if uid in self.fired or uid in self.out:
                continue
            entry = self.index.entries[uid]
            blocked = explain_rest(entry, self.given)
            if blocked:
                self.out[uid] = blocked
                continue
            candidate = self._judged(entry)
            if isinstance(candidate, str):
                self.waiting[uid] = candidate
            else:
                found.append(candidate)
        return found

    def _judged(self, entry: KeyedEntry) -> _Candidate | str:
        """An entry that may fire in this step, or what it lacks."""
        until = self.given.timed.sticky.get(entry.uid)
        if until is not None:
            standing = _CONSTANT if entry.constant else _STICKY
            return _Candidate(entry, f"sticky until message {until}", standing)
        if entry.constant:
            return self._lacks_step(entry, "constant") or _Candidate(entry, "constant", _CONSTANT)
        reason = explain_key(entry, self.found, self.given)
        if reason is None:
            return explain_no_key(entry, self.given.depth)
        return (
            self._lacks_step(entry, reason) or explain_secondary(entry, self.found) or _Candidate(entry, reason, _FOUND)
        )

    def _lacks_step(self, entry: KeyedEntry, reason: str) -> str | None:
        """What keeps an entry from firing in this step."""
        wanted = entry.delay_until_recursion
        if wanted > 0 and self.step == 0:
            return f"waits for recursion ({reason})"
        if self.step > 0 and wanted > self.level:
            return f"waits for level {wanted} of recursion ({reason})"
        if self.step > 0 and entry.exclude_recursion and self.given.recursion:
            return self.waiting.get(entry.uid) or f"kept out of recursion ({reason})"
        return None

    def _ordered(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """The candidates, those that are served first at the front."""

        def rank(one: _Candidate) -> tuple[float, ...]:
            standing = one.standing
            if self.index.quirks:
                standing = 0 if one.entry.uid in self.given.timed.sticky else 1
            return (standing, -one.entry.order, self.index.placed[one.entry.uid].rank)

        return sorted(candidates, key=rank)

    def _fire(self, candidates: Sequence[_Candidate]) -> list[KeyedEntry]:
        """Let the candidates fire that win their roll and have room; those whose content is read for keys next."""
        given, quirks = self.given, self.index.quirks
        fed: list[KeyedEntry] = []
        for one in candidates:
            uid = one.entry.uid
            if uid not in given.timed.sticky and not is_roll_won(one.entry, given.seed, given.turn, quirks=quirks):
                self.out[uid] = f"failed its {one.entry.probability:g} % roll ({one.reason})"
                continue
            tokens = given.counter(given.told(one.entry))
            refusal = self.account.refusal(one.entry, tokens)
            if refusal is None:
                self.fired[uid] = FiredEntry(one.entry, one.reason, tokens, self.step)
            else:
                self.out[uid] = f"{refusal} ({one.reason})"
            if not one.entry.prevent_recursion and (refusal is None or quirks):
                fed.append(one.entry)
        return fed

    def _goes_on(self, fed: Sequence[KeyedEntry]) -> bool:
        """Whether there is another step; a level of recursion is gone up to where nothing else leads there."""
        given = self.given
        if self.index.quirks:
            if given.most_steps and self.step + 1 >= given.most_steps:
                return False
        elif not given.recursion or self.step >= given.most_steps:
            return False
        if fed and given.recursion and not self.account.overflowed:
            return True
        if self.later_levels:
            self.level = self.later_levels.pop(0)
            return True
        return False

    def _result(self) -> ScanResult:
        decisions = {uid: Decision(False, reason) for uid, reason in self.waiting.items()}
        decisions |= {uid: Decision(False, reason) for uid, reason in self.out.items()}
        decisions |= {uid: Decision(True, one.reason) for uid, one in self.fired.items()}
        ties = -1 if self.index.quirks else 1
        placed = self.index.placed
        fired = sorted(self.fired.values(), key=lambda one: (one.entry.order, ties * placed[one.entry.uid].rank))
        return ScanResult(tuple(fired), decisions, sum(one.tokens for one in fired), self.index, self.given)
