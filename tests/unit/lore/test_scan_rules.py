"""Which entries fire, row by row: what World Info means, how ours is stricter, and what SillyTavern really does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.lore.decisions import ScanInput, ScanMessage, ScanResult, TimedEffects
from previously.lore.entry import KeyedEntry, SecondaryLogic, find_problems
from previously.lore.index import build_index
from previously.lore.scan import roll, scan
from tests.effort import cases

BOTH = (False, True)
OURS = (False,)
THEIRS = (True,)


def entry(uid: str, keys: str = "", content: str = "", **rest: Any) -> KeyedEntry:
    """An entry with comma-separated keys; its content is its uid unless given."""
    return KeyedEntry(uid, uid.title(), content or f"about {uid}", tuple(filter(None, keys.split(","))), **rest)


def letters(text: str) -> int:
    """A counter that is easy to follow."""
    return len(text)


@dataclass
class Case:
    """One sentence about scanning, and a turn that shows it."""

    says: str
    lore: list[KeyedEntry]
    fired: str
    """Who fires, in the order shown."""
    messages: list[str] = field(default_factory=lambda: ["Ann met Grim"])
    quirks: tuple[bool, ...] = BOTH
    reasons: dict[str, str] = field(default_factory=dict)
    turn: dict[str, Any] = field(default_factory=dict)


SECONDARY: dict[str, Any] = {"keys": "grim", "secondary": ("ann", "dragon")}

CASES = [
    # what is read
    Case("any primary key is enough", [entry("a", "dragon,grim")], "a"),
    Case("no key, no entry", [entry("a", "dragon")], "", reasons={"a": "no key found in the newest 4 messages"}),
    Case("the default depth counts messages from the newest", [entry("a", "grim")], "", ["x", "Grim"],
         turn={"depth": 1}, reasons={"a": "no key found in the newest message"}),
    Case("an entry's own depth goes before the story's", [entry("a", "grim", scan_depth=2)], "a", ["x", "Grim"],
         turn={"depth": 1}, reasons={"a": 'key "grim" in message 0 by P1'}),
    Case("a smaller one too", [entry("a", "grim", scan_depth=1)], "", ["x", "Grim"]),
    Case("names are read", [entry("a", "P0")], "a", reasons={"a": 'key "P0" in message 0 by P0'}),
    Case("unless they shall not be", [entry("a", "P0")], "", turn={"include_names": False}),
    Case("a depth of 0 reads no messages", [entry("a", "grim", scan_depth=0)], "",
         reasons={"a": "no key found: it reads no messages"}),
    Case("but what other entries say", [entry("b", "grim", "dragon"), entry("a", "dragon", scan_depth=0)], "b a",
         quirks=OURS),
    Case("which SillyTavern leaves out", [entry("b", "grim", "dragon"), entry("a", "dragon", scan_depth=0)], "b",
         quirks=THEIRS),
    Case("a key does not reach over messages", [entry("a", "grim ann")], "", ["Grim", "Ann"],
         turn={"include_names": False}),
    # secondary keys
    Case("AND_ANY: one of them", [entry("a", **SECONDARY)], "a"),
    Case("AND_ANY: none", [entry("a", **SECONDARY)], "", ["Grim"],
         reasons={"a": 'secondary key missing: needs "ann" or "dragon"'}),
    Case("AND_ALL: one of them missing", [entry("a", logic=SecondaryLogic.AND_ALL, **SECONDARY)], "",
         reasons={"a": 'secondary key missing: needs "dragon"'}),
    Case("AND_ALL: all there, in other messages too", [entry("a", logic=SecondaryLogic.AND_ALL, **SECONDARY)], "a",
         ["Ann met Grim", "a dragon"]),
    Case("NOT_ANY: one there", [entry("a", logic=SecondaryLogic.NOT_ANY, **SECONDARY)], "",
         reasons={"a": 'secondary key "ann" found, and none of them may be'}),
    Case("NOT_ANY: none there", [entry("a", logic=SecondaryLogic.NOT_ANY, **SECONDARY)], "a", ["Grim"]),
    Case("NOT_ALL: one missing", [entry("a", logic=SecondaryLogic.NOT_ALL, **SECONDARY)], "a"),
    Case("NOT_ALL: all there", [entry("a", logic=SecondaryLogic.NOT_ALL, **SECONDARY)], "", ["Ann, Grim, dragon"],
         reasons={"a": "all secondary keys found, and one of them must be missing"}),
    Case("secondary keys alone do nothing", [entry("a", secondary=("grim",))], "",
         reasons={"a": "it has no keys and is not constant"}),
    Case("secondary keys are read as deep as the entry says",
         [entry("a", "grim", secondary=("dragon",), scan_depth=1)], "", ["Grim", "dragon"]),
    Case("blank keys count for nothing", [entry("a", "grim", secondary=(" ",))], "a"),
    # who fires at all
    Case("a constant needs no key", [entry("a", constant=True)], "a", reasons={"a": "constant"}),
    Case("nor do its secondary keys matter", [entry("a", constant=True, secondary=("dragon",))], "a"),
    Case("what is disabled does not fire",
         [entry("a", "grim", enabled=False), entry("b", constant=True, enabled=False)], "",
         reasons={"a": "disabled", "b": "disabled"}),
    Case("what says nothing does not either", [entry("a", "grim", content=" ")], "",
         reasons={"a": "its content is empty"}),
    Case("a pattern that cannot be used never matches", [entry("a", "/(?!x)grim/")], "", quirks=OURS,
         reasons={"a": "none of its keys can be used: invalid perl operator: (?!"}),
    Case("shown by order, the largest last",
         [entry("a", "grim", order=200), entry("b", "grim", order=-1), entry("c", "grim", order=100.5)], "b c a"),
    Case("equal order: as they come", [entry("a", "grim"), entry("b", "grim")], "a b", quirks=OURS),
    Case("equal order in SillyTavern: the other way round", [entry("a", "grim"), entry("b", "grim")], "b a",
         quirks=THEIRS),
    Case("a probability of 0 never wins", [entry("a", "grim", probability=0)], "", quirks=OURS,
         reasons={"a": 'failed its 0 % roll (key "grim" in message 0 by P0)'}),
    # timed effects
    Case("sticky needs no key", [entry("a", "dragon", sticky=9)], "a", turn={"timed": TimedEffects({"a": 40}, {})},
         reasons={"a": "sticky until message 40"}),
    Case("sticky does not roll", [entry("a", "grim", sticky=9, probability=0)], "a",
         turn={"timed": TimedEffects({"a": 40}, {})}),
    Case("sticky fires in the first step whatever recursion says",
         [entry("a", "x", sticky=9, delay_until_recursion=2)], "a", turn={"timed": TimedEffects({"a": 40}, {})}),
    Case("sticky goes before cooldown", [entry("a", "dragon", sticky=9)], "a",
         turn={"timed": TimedEffects({"a": 40}, {"a": 60})}),
    Case("cooldown stops keys and constants alike", [entry("a", "grim"), entry("b", constant=True)], "",
         turn={"timed": TimedEffects({}, {"a": 44, "b": 45})},
         reasons={"a": "cooldown until message 44", "b": "cooldown until message 45"}),
    Case("an effect of an entry that is gone or disabled does nothing", [entry("a", "x", enabled=False)], "",
         turn={"timed": TimedEffects({"a": 40, "gone": 40}, {})}),
    Case("delay waits for a length of the story", [entry("a", "grim", delay=10)], "", turn={"message_count": 9},
         reasons={"a": "delayed until message 10"}),
    Case("and no longer", [entry("a", "grim", delay=10)], "a", turn={"message_count": 10}),
    Case("delay stops sticky ones as well", [entry("a", "grim", delay=10)], "",
         turn={"message_count": 9, "timed": TimedEffects({"a": 40}, {})}),
    # recursion
    Case("what fires is read for keys", [entry("a", "grim", "he owns a Dragon"), entry("b", "dragon")], "a b",
         quirks=OURS, reasons={"b": 'key "dragon" found in the entry "A"'}),
    Case("patterns too", [entry("a", "grim", "he owns a Dragon"), entry("b", "/dra.on/i")], "a b", quirks=OURS,
         reasons={"b": 'key "/dra.on/i" found in the entry "A"'}),
    Case("constants are read as well", [entry("a", constant=True, content="dragon"), entry("b", "dragon")], "a b",
         quirks=OURS),
    Case("unless recursion is off", [entry("a", "grim", "dragon"), entry("b", "dragon")], "a",
         turn={"recursion": False}),
    Case("prevent_recursion: its content is not read",
         [entry("a", "grim", "dragon", prevent_recursion=True), entry("b", "dragon")], "a"),
    Case("exclude_recursion: fires for messages only",
         [entry("a", "grim", "dragon"), entry("b", "dragon", exclude_recursion=True)], "a",
         reasons={"b": 'kept out of recursion (key "dragon" found in the entry "A")'}),
    Case("exclude_recursion: and it does fire for those", [entry("a", "grim", exclude_recursion=True)], "a"),
    Case("a missing secondary key may come by recursion",
         [entry("a", "grim", "dragon"), entry("b", "ann", secondary=("dragon",))], "a b", quirks=OURS),
    Case("but not for one that is kept out of it",
         [entry("a", "grim", "dragon"), entry("b", "ann", secondary=("dragon",), exclude_recursion=True)], "a",
         reasons={"b": 'secondary key missing: needs "dragon"'}),
    Case("recursion ends after so many steps",
         [entry("a", "grim", "k1"), entry("b", "k1", "k2"), entry("c", "k2", "k3"), entry("d", "k3", "k4")],
         "a b c", quirks=OURS, turn={"most_steps": 2}),
    Case("SillyTavern counts the first reading too",
         [entry("a", "grim", "k1"), entry("b", "k1", "k2"), entry("c", "k2")], "b a", quirks=THEIRS,
         turn={"most_steps": 2}),
    Case("and takes 0 for no end",
         [entry(chr(97 + step), f"k{step}", f"k{step + 1}", order=step) for step in range(9)], "a b c d e f g h i",
         ["k0"], quirks=THEIRS, turn={"most_steps": 0}),
    Case("0 steps are none", [entry("a", "grim", "dragon"), entry("b", "dragon")], "a", quirks=OURS,
         turn={"most_steps": 0}),
    Case("two entries that name each other fire once", [entry("a", "grim", "dragon"), entry("b", "dragon", "grim")],
         "a b", quirks=OURS),
    Case("delay_until_recursion: not for messages alone", [entry("a", "grim", delay_until_recursion=1)], "",
         reasons={"a": 'waits for recursion (key "grim" in message 0 by P0)'}),
    Case("delay_until_recursion: but once something recurses",
         [entry("a", "grim", "x", delay_until_recursion=1), entry("b", "ann", order=1)], "b a"),
    Case("delay_until_recursion holds constants up too",
         [entry("a", constant=True, delay_until_recursion=1), entry("b", "ann", order=1)], "b a"),
    Case("levels are gone up to one by one, once a step brings up nothing",
         [entry("a", "grim", "k", order=1, delay_until_recursion=1),
          entry("b", "k", "l", order=2, delay_until_recursion=2), entry("c", "ann", order=0)], "c a b",
         turn={"most_steps": 9}),
    Case("a level that is not reached in time waits",
         [entry("a", "grim", "k", order=1, delay_until_recursion=1),
          entry("b", "grim", delay_until_recursion=7), entry("c", "ann", order=0)], "c a", quirks=OURS,
         turn={"most_steps": 1}, reasons={"b": 'waits for level 7 of recursion (key "grim" in message 0 by P0)'}),
    Case("where recursion is off, nothing waits for it in vain",
         [entry("a", "grim", delay_until_recursion=1), entry("b", "grim", delay_until_recursion=2)], "", quirks=OURS,
         turn={"recursion": False}),
    Case("SillyTavern goes up to later levels even then",
         [entry("a", "grim", delay_until_recursion=1), entry("b", "grim", delay_until_recursion=2)], "b a",
         quirks=THEIRS, turn={"recursion": False, "most_steps": 0}),
    # room
    Case("no room: the smaller order stays out", [entry("a", "grim", "x" * 60), entry("b", "ann", "y" * 50, order=200)],
         "b", turn={"budget_tokens": 100}, quirks=OURS,
         reasons={"a": 'no room: needs 60 tokens, 50 left (key "grim" in message 0 by P0)'}),
    Case("an exact fit fits", [entry("a", "grim", "x" * 100)], "a", turn={"budget_tokens": 100}, quirks=OURS),
    Case("not in SillyTavern", [entry("a", "grim", "x" * 99)], "", turn={"budget_tokens": 100}, quirks=THEIRS),
    Case("what does not fit costs nothing, and a smaller one may still fit",
         [entry("a", "grim", "x" * 60, order=3), entry("b", "grim", "y" * 60, order=2),
          entry("c", "grim", "z" * 40, order=1)], "c a", turn={"budget_tokens": 100}, quirks=OURS),
    Case("in SillyTavern the first that does not fit closes the door",
         [entry("a", "grim", "x" * 60, order=3), entry("b", "grim", "y" * 60, order=2),
          entry("c", "grim", "z" * 20, order=1)], "a", turn={"budget_tokens": 100}, quirks=THEIRS),
    Case("ignore_budget has room always", [entry("a", "grim", "x" * 60, order=2, ignore_budget=True)], "a",
         turn={"budget_tokens": 10}),
    Case("and counts for the others",
         [entry("a", "grim", "x" * 60, order=900, ignore_budget=True), entry("b", "grim")], "a",
         turn={"budget_tokens": 62}),
    Case("constants are given room first", [entry("a", "grim", "x" * 60, order=900),
                                            entry("b", constant=True, content="y" * 60)], "b",
         turn={"budget_tokens": 100}, quirks=OURS),
    Case("not in SillyTavern", [entry("a", "grim", "x" * 60, order=900),
                                entry("b", constant=True, content="y" * 60)], "a",
         turn={"budget_tokens": 100}, quirks=THEIRS),
    Case("then what is sticky", [entry("a", "grim", "x" * 60, order=900), entry("b", "k", "y" * 60)], "b",
         turn={"budget_tokens": 100, "timed": TimedEffects({"b": 9}, {})}),
    Case("each step adds to what was spent",
         [entry("a", "grim", "k" + "x" * 49, order=9, prevent_recursion=True), entry("b", "ann", "k"),
          entry("c", "k", "y" * 55)], "a b", turn={"budget_tokens": 100}, quirks=OURS),
    Case("what feeds no recursion is free in SillyTavern's next step",
         [entry("a", "grim", "k" + "x" * 49, order=9, prevent_recursion=True), entry("b", "ann", "k", order=8),
          entry("c", "k", "y" * 55)], "b a c", turn={"budget_tokens": 100, "most_steps": 0}, quirks=THEIRS),
    Case("what has no room brings up nothing",
         [entry("a", "grim", "dragon" * 30), entry("b", "ann", "x"), entry("c", "dragondragon", whole_words=False)],
         "b", turn={"budget_tokens": 100}, quirks=OURS),
    Case("others still do", [entry("a", "grim", "x" * 300, order=9), entry("b", "ann", "dragon"), entry("c", "dragon")],
         "b c", turn={"budget_tokens": 100}, quirks=OURS),
    Case("in SillyTavern nothing recurses once the room is used up",
         [entry("a", "grim", "x" * 300), entry("b", "ann", "dragon", order=900), entry("c", "dragon")], "b",
         turn={"budget_tokens": 100}, quirks=THEIRS),
    Case("in SillyTavern what feeds recursion counts in the next step",
         [entry("a", "grim", "k " + "x" * 60), entry("c", "k", "y" * 60)], "a", turn={"budget_tokens": 100},
         quirks=THEIRS),
    Case("and what had no room is read all the same, where a later level leads on",
         [entry("a", "grim", "dragon " + "x" * 300), entry("b", "x", delay_until_recursion=1),
          entry("c", "dragon", delay_until_recursion=2, ignore_budget=True)], "c",
         turn={"budget_tokens": 100, "most_steps": 0}, quirks=THEIRS),
    Case("what had no room once is not asked again",
         [entry("a", "grim,k", "x" * 60), entry("b", "ann", "k" + " " * 49, order=900),
          entry("c", "k", "y" * 9, order=200)], "c b", turn={"budget_tokens": 100}, quirks=OURS,
         reasons={"a": 'no room: needs 60 tokens, 50 left (key "grim" in message 0 by P0)'}),
    Case("a room of 0 has room for nothing", [entry("a", "grim")], "", turn={"budget_tokens": 0}),
    Case("no messages, no keys", [entry("a", "grim"), entry("b", constant=True)], "b", []),
]  # fmt: skip


def run(case: Case, *, quirks: bool) -> ScanResult:
    """The scan of a case."""
    messages = tuple(ScanMessage(text, f"P{at}") for at, text in enumerate(case.messages))
    return scan(case.lore, ScanInput(messages, counter=letters, **case.turn), quirks=quirks)


@pytest.mark.parametrize(
    ("case", "quirks"),
    [
        pytest.param(case, quirks, id=f"{case.says}{' (SillyTavern)' if quirks else ''}")
        for case in CASES
        for quirks in case.quirks
    ],
)
def test_a_turn(case: Case, quirks: bool) -> None:
    found = run(case, quirks=quirks)
    assert " ".join(one.entry.uid for one in found.fired) == case.fired
    for uid, reason in case.reasons.items():
        assert found.explain(uid).reason == reason
    assert {uid for uid, one in found.explain_all().items() if one.fired} == {one.entry.uid for one in found.fired}
    assert found.tokens == sum(letters(one.entry.content) for one in found.fired)


def test_messages_are_named_by_their_position_where_they_have_one() -> None:
    lore = [entry("a", "grim")]
    assert scan(lore, ScanInput((ScanMessage("Grim", "Bob", 7),), message_count=30)).explain("a").reason == (
        'key "grim" in message 7 by Bob'
    )
    assert scan(lore, ScanInput((ScanMessage("x"), ScanMessage("Grim")), message_count=30)).explain("a").reason == (
        'key "grim" in message 28'
    )
    assert scan(lore, ScanInput(())).explain("b").reason == "there is no such entry"


def test_the_newest_message_that_holds_a_key_is_named() -> None:
    messages = tuple(ScanMessage(text, name) for text, name in (("x", "A"), ("grimm Grim", "B"), ("Grim", "C")))
    assert scan([entry("a", "grim")], ScanInput(messages)).explain("a").reason == 'key "grim" in message 1 by B'


def test_rolls_depend_on_seed_turn_and_entry_and_come_out_even() -> None:
    rolls = [roll("story", f"turn {turn}", f"b/{uid}") for turn in range(40) for uid in range(50)]
    assert len(set(rolls)) == len(rolls)
    assert all(0 <= one < 100 for one in rolls)
    assert 560 < sum(one < 30 for one in rolls) < 640
    assert roll("a", "bc", "d") != roll("ab", "c", "d")
    assert roll("other", "turn 1", "b/1") != roll("story", "turn 1", "b/1")


def test_a_turn_that_is_scanned_again_rolls_the_same() -> None:
    lore = build_index(entry(f"e{number}", "grim", probability=30) for number in range(50))
    first, again, other = (
        [one.entry.uid for one in scan(lore, ScanInput((ScanMessage("Grim"),), seed="s", turn=turn)).fired]
        for turn in ("1", "1", "2")
    )
    assert first == again
    assert first != other
    assert 0 < len(first) < 50


@settings(max_examples=cases(100))
@given(
    st.lists(
        st.builds(
            KeyedEntry,
            st.integers(0, 30).map(str),
            st.just("x"),
            st.text("ab ", min_size=1, max_size=9),
            st.lists(st.text("ab", min_size=1, max_size=2), max_size=3).map(tuple),
            constant=st.booleans(),
            order=st.integers(0, 3),
            probability=st.sampled_from([0, 50, 100]),
            ignore_budget=st.just(False),
            prevent_recursion=st.booleans(),
            delay_until_recursion=st.integers(0, 3),
        ),
        unique_by=lambda one: one.uid,
        max_size=12,
    ),
    st.lists(st.text("ab ", max_size=8), max_size=3),
    st.integers(0, 30),
    st.booleans(),
)
def test_room_is_kept_and_every_entry_is_explained(
    lore: list[KeyedEntry], messages: list[str], budget: int, quirks: bool
) -> None:
    turn = ScanInput(tuple(map(ScanMessage, messages)), budget_tokens=budget, counter=letters)
    found = scan(lore, turn, quirks=quirks)
    assert found == scan(lore, turn, quirks=quirks)
    assert found.tokens <= budget or quirks
    explained = found.explain_all()
    assert set(explained) == {one.uid for one in lore}
    assert all(one.reason for one in explained.values())
    uids = [one.entry.uid for one in found.fired]
    assert len(set(uids)) == len(uids)
    assert [one.entry.order for one in found.fired] == sorted(one.entry.order for one in found.fired)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (entry("a", "grim"), []),
        (entry("a", constant=True), []),
        (entry("a"), ["It has no keys and is not constant, so it never fires."]),
        (entry("a", "grim", " "), ["Its content is empty."]),
        (KeyedEntry("a", " ", "x", ("grim",)), ["It has no name."]),
        (entry("a", "grim, "), ["One of its keys is empty."]),
        (entry("a", "/a(/"), ["The key /a(/ cannot be used: missing ): a(."]),
        (entry("a", "/(?<=a)b/"), ["The key /(?<=a)b/ cannot be used: invalid perl operator: (?<=."]),
        (entry("a", "/" + "a" * 2_001 + "/"), None),
        (entry("a", "/x/y"), ['The key /x/y has the flag "y", which does nothing here.']),
        (entry("a", "grim", probability=0), ["Its probability is 0 %, so it never fires."]),
        (entry("a", "grim", probability=120), ["Its probability must be from 0 to 100, not 120."]),
        (entry("a", "grim", scan_depth=-1), ["Its scan depth must not be negative, and is -1."]),
        (entry("a", "grim", delay=-1), ["Its delay must not be negative, and is -1."]),
        (
            entry("a", "grim", exclude_recursion=True, delay_until_recursion=1),
            ["It waits for recursion and is kept out of recursion, so it never fires."],
        ),
    ],
)
def test_problems_are_told(found: KeyedEntry, expected: list[str] | None) -> None:
    told = find_problems(found)
    if expected is None:
        assert len(told) == 1
        assert told[0].endswith("cannot be used: it is longer than 2,000 characters.")
    else:
        assert told == expected
