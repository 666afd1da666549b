"""Random scans agree with an oracle that looks at every entry in every step: groups, recursion and room."""

from __future__ import annotations

from math import log

from hypothesis import given, settings
from hypothesis import strategies as st

from previously.lore.decisions import ScanInput, ScanMessage
from previously.lore.entry import KeyedEntry
from previously.lore.scan import roll, scan
from tests.effort import cases

WORDS = ("ash", "bay", "cat", "dew", "elm")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)

ENTRIES = st.lists(
    st.builds(
        KeyedEntry,
        st.integers(0, 40).map(str),
        st.just("x"),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
        st.lists(st.sampled_from(WORDS), max_size=3, unique=True).map(tuple),
        constant=st.sampled_from([False, False, False, True]),
        order=st.integers(0, 3),
        exclude_recursion=st.booleans(),
        prevent_recursion=st.booleans(),
        delay_until_recursion=st.sampled_from([0, 0, 0, 1, 2]),
        ignore_budget=st.sampled_from([False, False, True]),
        scan_depth=st.sampled_from([None, None, 1]),
        groups=st.sampled_from([(), (), ("g",), ("h",), ("g", "h")]),
        group_override=st.sampled_from([False, False, True]),
        group_weight=st.sampled_from([0, 1, 100]),
        group_scoring=st.sampled_from([None, None, True, False]),
    ),
    unique_by=lambda one: one.uid,
    max_size=10,
)


def judge(entries: list[KeyedEntry], turn: ScanInput) -> set[str]:
    """The entries that fire, found the slow way."""
    fired: list[KeyedEntry] = []
    out: set[str] = set()
    told: list[str] = []
    levels = sorted({one.delay_until_recursion for one in entries} - {0})
    level = levels.pop(0) if levels else 0
    left = turn.budget_tokens or 0
    for step in range(turn.most_steps + 1):
        scores = {entry.uid: count_keys(entry, turn, told) for entry in entries}
        able = [
            entry
            for entry in entries
            if entry not in fired
            and entry.uid not in out
            and (entry.constant or scores[entry.uid])
            and not (step == 0 and entry.delay_until_recursion)
            and not (step and (entry.delay_until_recursion > level or entry.exclude_recursion))
        ]
        able.sort(key=lambda entry: (not entry.constant, -entry.order))
        losers = find_losers(able, fired, turn, scores)
        out |= losers
        fed: list[str] = []
        for entry in able:
            if entry.uid in losers:
                continue
            if len(entry.content) > left and not entry.ignore_budget:
                out.add(entry.uid)
                continue
            left -= len(entry.content)
            fired.append(entry)
            fed += [] if entry.prevent_recursion else [entry.content]
        told += fed
        if not fed:
            if not levels:
                break
            level = levels.pop(0)
    return {entry.uid for entry in fired}


def count_keys(entry: KeyedEntry, turn: ScanInput, told: list[str]) -> int:
    """How many keys of an entry stand in what it reads."""
    depth = turn.depth if entry.scan_depth is None else entry.scan_depth
    said = " ".join([*(one.text for one in turn.messages[:depth]), *told]).split()
    return sum(key in said for key in entry.keys)


def find_losers(able: list[KeyedEntry], fired: list[KeyedEntry], turn: ScanInput, scores: dict[str, int]) -> set[str]:
    """Those that a group leaves out: by their scores, then by priority, then by lot."""
    losers: set[str] = set()
    for group in ("g", "h"):
        members = [entry for entry in able if group in entry.groups]
        scored = {
            one.uid for one in members if (turn.group_scoring if one.group_scoring is None else one.group_scoring)
        }
        best = max((scores[one.uid] for one in members), default=0)
        losers |= {uid for uid in scored if scores[uid] < best}

    def lot(entry: KeyedEntry) -> tuple[float, float]:
        if entry.group_override:
            return 0, -entry.order
        drawn = roll(turn.seed, turn.turn, f"group/{entry.uid}") / 100
        return 1, -log(drawn) / entry.group_weight if entry.group_weight else float("inf")

    taken = {group for entry in fired for group in entry.groups}
    for entry in sorted((one for one in able if one.groups and one.uid not in losers), key=lot):
        if taken.isdisjoint(entry.groups):
            taken |= set(entry.groups)
        else:
            losers.add(entry.uid)
    return losers


@settings(max_examples=cases(300))
@given(
    ENTRIES,
    st.lists(TEXTS, max_size=4),
    st.integers(0, 60),
    st.integers(0, 4),
    st.integers(0, 3),
    st.booleans(),
    st.integers(0, 9).map(str),
)
def test_a_scan_is_what_the_rules_say(
    entries: list[KeyedEntry], texts: list[str], budget: int, steps: int, depth: int, scoring: bool, turn: str
) -> None:
    given_turn = ScanInput(
        tuple(map(ScanMessage, texts)),
        depth=depth,
        budget_tokens=budget,
        counter=len,
        most_steps=steps,
        group_scoring=scoring,
        seed="s",
        turn=turn,
    )
    found = scan(entries, given_turn)
    assert {one.entry.uid for one in found.fired} == judge(entries, given_turn)
    for group in ("g", "h"):
        assert sum(group in one.entry.groups for one in found.fired) <= 1
    assert found.tokens <= budget or any(one.entry.ignore_budget for one in found.fired)
