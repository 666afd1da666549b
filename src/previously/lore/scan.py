"""The scan: find the entries that fire for a turn, and the order in which they are shown.

First the newest messages are read for keys; then, if the story wants recursion, the content of what fired, a few
steps deep; then, while fewer entries fired than the story wants, one older message after the other. In each step the
entries that are found, constant or sticky are ordered by what they mean to the story (constant, sticky, then larger
`order` first), roll if they must, settle their inclusion groups, and are given room while there is some.

As SillyTavern does it, where the index says `quirks`: constants come in no special order; groups are settled before
anybody rolls, and who loses may come up in a later step; room is kept by `LooseBudget`; no recursion after the first
entry that did not fit; an entry that did not fit still feeds it; `most_steps` counts the first reading too, and 0 means
no end; entries of equal order are shown last first; with a depth of 0 nothing is found.

The same entries and the same turn give the same scan: a roll depends on nothing but the story's seed, the turn and the
entry. An entry fires at most once. The work follows the text and the entries it mentions, not the number of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Protocol

from previously.lore.decisions import (
    Decision,
    FiredEntry,
    ScanInput,
    ScanResult,
    count_keys,
    explain_filter,
    explain_key,
    explain_no_key,
    explain_rest,
    explain_secondary,
)
from previously.lore.entry import KeyedEntry
from previously.lore.groups import GroupRules, Rival, find_losers, find_losers_by_group
from previously.lore.index import LoreIndex, build_index
from previously.lore.matches import KeyMatches
from previously.text.macros import put_in_draws

_CONSTANT, _STICKY, _FOUND = range(3)


def scan(lore: LoreIndex | Iterable[KeyedEntry], given: ScanInput, *, quirks: bool = False) -> ScanResult:
    """Return the entries that fire for a turn. `quirks` is for bare entries; an index knows how it was built."""
    index = lore if isinstance(lore, LoreIndex) else build_index(lore, quirks=quirks)
    return _ScanRun(index, given).scan()


@dataclass(slots=True)
class _Candidate:
    entry: KeyedEntry
    reason: str
    standing: int
    """Its rank for the story: constant, sticky or found."""


@dataclass(slots=True)
class _ScanRun:
    """One scan under way."""

    index: LoreIndex
    given: ScanInput
    matches: KeyMatches = field(init=False)
    budget: LoreBudget = field(init=False)
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
        self.matches = KeyMatches(self.index, max(self.given.depth, 0))
        room = self.given.budget_tokens
        self.budget = LooseBudget(room, self.given.counter) if self.index.quirks else ExactBudget(room)
        self.later_levels = sorted(self.index.levels)
        if self.later_levels:
            self.level = self.later_levels.pop(0)

    def scan(self) -> ScanResult:
        """Read the messages, then what fired, as long as that brings up more entries; then older messages."""
        given = self.given
        lines, furthest = given.lines(), given.depth
        if given.least_fired:
            furthest = min(given.deepest or len(lines), len(lines))
        uids = dict.fromkeys([*self._constants(), *self._sticky()])
        uids |= self.matches.read_messages(lines, furthest) | self.matches.read_sources(given.sources)
        while True:
            fed = self._fire(self._ordered(self._candidates(uids)))
            if self._goes_on(fed):
                self.budget.end_step(fed)
                self.step += 1
                uids = self.waiting | (self.matches.read_entries(fed) if fed else {})
            elif len(self.fired) < given.least_fired and self.matches.depth < furthest and not self.budget.overflowed:
                self.budget.end_step(fed)
                uids = self.waiting | self.matches.read_further(lines)
            else:
                return self._result()

    def _constants(self) -> list[str]:
        return [uid for segment in self.index.segments for uid in self.index.owners(segment, segment.constants)]

    def _sticky(self) -> list[str]:
        placed = self.index.placed
        return [uid for uid in self.given.timed.sticky if uid in placed and placed[uid].segment is not None]

    def _candidates(self, uids: Iterable[str]) -> list[_Candidate]:
        """Return the entries that may fire in this step; of the others note what they lack."""
        candidates: list[_Candidate] = []
        for uid in uids:
            if uid in self.fired or uid in self.out:
                continue
            entry = self.index.entries[uid]
            blocked = explain_filter(entry, self.given) or explain_rest(entry, self.given)
            if blocked:
                self.out[uid] = blocked
                continue
            candidate = self._judged(entry)
            if isinstance(candidate, str):
                self.waiting[uid] = candidate
            else:
                candidates.append(candidate)
        return candidates

    def _judged(self, entry: KeyedEntry) -> _Candidate | str:
        """Return an entry that may fire in this step, or what it lacks."""
        until = self.given.timed.sticky.get(entry.uid)
        if until is not None:
            standing = _CONSTANT if entry.needs_no_key else _STICKY
            return _Candidate(entry, f"sticky until message {until}", standing)
        if entry.needs_no_key:
            why = "constant" if entry.constant else "its content begins with @@activate"
            return self._lacks_step(entry, why) or _Candidate(entry, why, _CONSTANT)
        reason = explain_key(entry, self.matches, self.given)
        if reason is None:
            return explain_no_key(entry, self.matches.depth)
        return (
            self._lacks_step(entry, reason)
            or explain_secondary(entry, self.matches)
            or _Candidate(entry, reason, _FOUND)
        )

    def _lacks_step(self, entry: KeyedEntry, reason: str) -> str | None:
        """Return what keeps an entry from firing in this step."""
        wanted = entry.delay_until_recursion
        if wanted > 0 and self.step == 0:
            return f"waits for recursion ({reason})"
        if self.step > 0 and wanted > self.level:
            return f"waits for level {wanted} of recursion ({reason})"
        if self.step > 0 and entry.exclude_recursion and self.given.recursion:
            return self.waiting.get(entry.uid) or f"kept out of recursion ({reason})"
        return None

    def _ordered(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Return the candidates, those that are served first at the front."""

        def rank(candidate: _Candidate) -> tuple[float, ...]:
            standing = candidate.standing
            if self.index.quirks:
                standing = 0 if candidate.entry.uid in self.given.timed.sticky else 1
            return (standing, -candidate.entry.order, self.index.placed[candidate.entry.uid].rank)

        return sorted(candidates, key=rank)

    def _fire(self, candidates: list[_Candidate]) -> list[KeyedEntry]:
        """Let the candidates fire that win and have room; return those that are read for keys next."""
        given, quirks = self.given, self.index.quirks
        chosen = self._roll(self._settle_groups(candidates)) if quirks else self._settle_groups(self._roll(candidates))
        fed: list[KeyedEntry] = []
        for candidate in chosen:
            entry = self._draw(candidate.entry)
            tokens = given.counter(given.told(entry))
            refusal = self.budget.claim(entry, tokens)
            if refusal is None:
                ignored = ", outside the budget" if entry.ignore_budget else ""
                self.fired[entry.uid] = FiredEntry(entry, candidate.reason + ignored, tokens, self.step)
            else:
                self.out[entry.uid] = f"{refusal} ({candidate.reason})"
            if not entry.prevent_recursion and (refusal is None or quirks):
                fed.append(entry)
        return fed

    def _roll(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Return the candidates that win their roll."""
        given, winners = self.given, []
        for candidate in candidates:
            uid = candidate.entry.uid
            if uid in given.timed.sticky or is_roll_won(
                candidate.entry, given.seed, given.turn, quirks=self.index.quirks
            ):
                winners.append(candidate)
            else:
                self.out[uid] = f"failed its {candidate.entry.probability:g} % roll ({candidate.reason})"
        return winners

    def _settle_groups(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Return the candidates that do not lose in an inclusion group."""
        given = self.given
        rivals = [
            Rival(one.entry, one.entry.uid in given.timed.sticky, count_keys(one.entry, self.matches))
            for one in candidates
            if one.entry.groups
        ]
        if not rivals:
            return candidates
        rules = GroupRules(lambda name: roll(given.seed, given.turn, f"group/{name}"), given.group_scoring)
        fired = (one.entry for one in self.fired.values())
        losers = (find_losers_by_group if self.index.quirks else find_losers)(rivals, fired, rules)
        reasons = {one.entry.uid: one.reason for one in candidates}
        lost = self.waiting if self.index.quirks else self.out
        lost |= {uid: f"{why} ({reasons[uid]})" for uid, why in losers.items()}
        return [one for one in candidates if one.entry.uid not in losers]

    def _draw(self, entry: KeyedEntry) -> KeyedEntry:
        """Return the entry with what its macros draw for this turn."""
        given = self.given
        content = put_in_draws(entry.content, lambda place: roll(given.seed, given.turn, f"{entry.uid}/{place}") / 100)
        return entry if content == entry.content else replace(entry, content=content)

    def _goes_on(self, fed: Sequence[KeyedEntry]) -> bool:
        """Return whether there is another step; a level of recursion is gone up to where nothing else leads there."""
        given = self.given
        if self.index.quirks:
            if given.most_steps and self.step + 1 >= given.most_steps:
                return False
        elif not given.recursion or self.step >= given.most_steps:
            return False
        if fed and given.recursion and not self.budget.overflowed:
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
        tokens = sum(one.tokens for one in fired)
        return ScanResult(tuple(fired), decisions, tokens, self.index, self.given, self.matches.depth)


class LoreBudget(Protocol):
    """The room that a turn has for lore."""

    @property
    def overflowed(self) -> bool:
        """True if entries are turned away from here on, and nothing recurses any more."""

    def claim(self, entry: KeyedEntry, tokens: int) -> str | None:
        """Pay for an entry and return None; or return why it has no room."""

    def end_step(self, fed: Sequence[KeyedEntry]) -> None:
        """End a step; these entries are read for keys in the next one."""


class ExactBudget:
    """Everything that fires counts once; what does not fit costs nothing, and a smaller entry may still fit."""

    overflowed = False

    def __init__(self, budget: int | None) -> None:
        self._left = budget

    def claim(self, entry: KeyedEntry, tokens: int) -> str | None:
        """Pay for an entry and return None; or return why it has no room."""
        if self._left is None:
            return None
        if tokens > self._left and not entry.ignore_budget:
            return f"no room: needs {tokens} tokens, {max(self._left, 0)} left"
        self._left -= tokens
        return None

    def end_step(self, fed: Sequence[KeyedEntry]) -> None:
        """Do nothing: what fired is already paid for."""


class LooseBudget:
    """SillyTavern's: an entry that did not fit still counts within its step, the first one closes the door, and of
    earlier steps only what feeds recursion counts."""

    def __init__(self, budget: int | None, counter: Callable[[str], int]) -> None:
        self._budget = budget
        self._counter = counter
        self._before = ""
        self._step = ""
        self.overflowed: bool = False

    def claim(self, entry: KeyedEntry, tokens: int) -> str | None:  # noqa: ARG002
        """Pay for an entry and return None; or return why it has no room."""
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

    def end_step(self, fed: Sequence[KeyedEntry]) -> None:
        """Count from now on what feeds recursion, and the rest no longer."""
        self._before += "".join(entry.content + "\n" for entry in fed)
        self._step = ""


def roll(seed: str, turn: str, uid: str) -> float:
    """Return a number from 0 up to 100 for one entry on one turn."""
    state = blake2b(digest_size=8, person=b"prev.lore.1")
    for text in (seed, turn, uid):
        encoded = text.encode("utf-8", "replace")
        state.update(b"%d:%s" % (len(encoded), encoded))
    return int.from_bytes(state.digest(), "big") / 2**64 * 100


def is_roll_won(entry: KeyedEntry, seed: str, turn: str, *, quirks: bool = False) -> bool:
    """Return whether an entry passes the roll that its probability asks for."""
    if entry.probability >= 100:
        return True
    rolled = roll(seed, turn, entry.uid)
    return rolled <= entry.probability if quirks else rolled < entry.probability
