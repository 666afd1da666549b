"""Inclusion groups: of the entries that share a group, one fires.

Whoever is sticky stays. Where keys are counted (`group_scoring`), entries that match fewer than the best of their group
are out. Then the one with priority wins, the largest order first; else the lot decides: each draws a number by the
story's seed, the turn and its uid, and a larger weight makes it larger. An entry of several groups must be free of
rivals in each. Nobody loses to an entry that loses itself, so no group stays empty that has an entry to show.

As SillyTavern does it (`quirks`): groups are settled one after the other, each by itself, so two may put each other
out; one lot per group decides; an entry that fired in an earlier step counts for its group only if it has no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log

from previously.lore.entry import KeyedEntry


@dataclass(frozen=True, slots=True)
class Rival:
    """An entry that may fire, with what counts in its groups."""

    entry: KeyedEntry
    sticky: bool
    score: int
    """Number of its keys that were found."""


@dataclass(frozen=True, slots=True)
class GroupRules:
    """All that decides besides the entries themselves."""

    draw: Callable[[str], float]
    """Returns a number from 0 up to 100 for a uid or a group."""
    scoring: bool
    """True if keys are counted for entries that do not say it themselves."""


def find_losers(rivals: Sequence[Rival], fired: Iterable[KeyedEntry], rules: GroupRules) -> dict[str, str]:
    """Return the entries that must not fire, each with the reason. The rivals come in the order they are served."""
    taken = {group: f'"{entry.name}" fired before it' for entry in fired for group in entry.groups}
    losers: dict[str, str] = {}
    members = _gather([rival for rival in rivals if not rival.sticky])
    for group, rest in members.items():
        _drop_by_score(group, rest, rules, losers)
    still = [rival for rival in rivals if rival.entry.groups and rival.entry.uid not in losers]

    def rank(rival: Rival) -> tuple[float, ...]:
        if rival.sticky:
            return (0,)
        if rival.entry.group_override:
            return (1, -rival.entry.order)
        return 2, _draw_lot(rival.entry, rules)

    why = {0: "is sticky", 1: "has priority", 2: "was drawn"}
    for rival in sorted(still, key=rank):
        lost = next((group for group in rival.entry.groups if group in taken), None)
        if lost is not None:
            losers[rival.entry.uid] = f'lost in the inclusion group "{lost}": {taken[lost]}'
        else:
            told = f'"{rival.entry.name}" {why[int(rank(rival)[0])]}'
            taken |= dict.fromkeys(rival.entry.groups, told)
    return losers


def find_losers_by_group(rivals: Sequence[Rival], fired: Iterable[KeyedEntry], rules: GroupRules) -> dict[str, str]:
    """Return the same as SillyTavern has it."""
    done = {entry.groups[0] for entry in fired if len(entry.groups) == 1}
    losers: dict[str, str] = {}
    for group, members in _gather(rivals).items():
        sticky = [rival for rival in members if rival.sticky]
        if sticky:
            winners, why = sticky, f'"{sticky[0].entry.name}" is sticky'
        elif group in done:
            winners, why = [], "another entry fired before it"
        else:
            rest = _drop_by_score(group, members, rules, losers)
            winner, why = _choose_one(group, rest, rules)
            winners = [winner]
        for rival in members:
            if rival not in winners:
                losers.setdefault(rival.entry.uid, f'lost in the inclusion group "{group}": {why}')
    return losers


def _gather(rivals: Iterable[Rival]) -> dict[str, list[Rival]]:
    members: dict[str, list[Rival]] = {}
    for rival in rivals:
        for group in dict.fromkeys(rival.entry.groups):
            members.setdefault(group, []).append(rival)
    return members


def _drop_by_score(group: str, members: Sequence[Rival], rules: GroupRules, losers: dict[str, str]) -> Sequence[Rival]:
    """Note those that match fewer keys than the best, and return the rest."""

    def is_scored(rival: Rival) -> bool:
        scoring = rival.entry.group_scoring
        return rules.scoring if scoring is None else scoring

    if not any(map(is_scored, members)):
        return members
    best = max(members, key=lambda rival: rival.score)
    weaker = [rival for rival in members if is_scored(rival) and rival.score < best.score]
    for rival in weaker:
        counts = f'"{best.entry.name}" matches {best.score} keys, it matches {rival.score}'
        losers.setdefault(rival.entry.uid, f'lost in the inclusion group "{group}": {counts}')
    return [rival for rival in members if rival not in weaker]


def _choose_one(group: str, members: Sequence[Rival], rules: GroupRules) -> tuple[Rival, str]:
    prior = [rival for rival in members if rival.entry.group_override]
    if len(members) == 1 or prior:
        winner = max(prior or members, key=lambda rival: rival.entry.order)
        return winner, f'"{winner.entry.name}" has priority'
    lot = rules.draw(group) / 100 * sum(rival.entry.group_weight for rival in members)
    for rival in members:
        lot -= rival.entry.group_weight
        if lot <= 0:
            break
    return rival, f'"{rival.entry.name}" was drawn'


def _draw_lot(entry: KeyedEntry, rules: GroupRules) -> float:
    """Return a number that is smallest for each entry as often as its weight says (Efraimidis and Spirakis)."""
    lot = rules.draw(entry.uid) / 100
    return -log(max(lot, 2.0**-64)) / entry.group_weight if entry.group_weight > 0 else float("inf")
