"""Inclusion groups, filters, minimum activations, directives and macros: who fires, and the words that say why."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from previously.lore.decisions import FiredEntry, ScanInput, ScanMessage, TimedEffects
from previously.lore.entry import CharacterFilter, EntryPosition, KeyedEntry, SecondaryLogic, find_problems
from previously.lore.index import index_books
from previously.lore.placement import describe_place, order_by_place
from previously.lore.scan import scan
from previously.text.macros import MacroNames
from tests.unit.lore.test_scan_rules import OURS, THEIRS, Case, entry, run

TESS = CharacterFilter(("Tess", "Old_Grim"))
SCENARIO = {"match_scenario": "The tide comes in."}
SAILORS = CharacterFilter(tags=("sailor",))

CASES = [
    # inclusion groups
    Case("of a group one fires: the one with priority",
         [entry("a", "grim", groups=("g",)), entry("b", "grim", groups=("g",), group_override=True)], "b",
         reasons={"a": 'lost in the inclusion group "g": "B" has priority (key "grim" in message 0 by P0)'}),
    Case("of two with priority the larger order",
         [entry("a", "grim", groups=("g",), group_override=True, order=5),
          entry("b", "grim", groups=("g",), group_override=True, order=9)], "b"),
    Case("without priority the lot decides, and a weight of 0 never wins",
         [entry("a", "grim", groups=("g",), group_weight=0), entry("b", "grim", groups=("g",))], "b", quirks=OURS,
         reasons={"a": 'lost in the inclusion group "g": "B" was drawn (key "grim" in message 0 by P0)'}),
    Case("alone in a group it fires, whatever its weight", [entry("a", "grim", groups=("g",), group_weight=0)], "a"),
    Case("groups do not touch each other",
         [entry("a", "grim", groups=("g",), order=1), entry("b", "grim", groups=("h",), order=2)], "a b"),
    Case("who is sticky stays", [entry("a", "grim", groups=("g",), group_override=True),
                                 entry("b", "x", groups=("g",), sticky=9)], "b",
         turn={"timed": TimedEffects({"b": 40}, {})},
         reasons={"a": 'lost in the inclusion group "g": "B" is sticky (key "grim" in message 0 by P0)'}),
    Case("who fired in an earlier step closes the group",
         [entry("a", "grim", "k", groups=("g",)), entry("b", "k", groups=("g",), group_override=True)], "a",
         reasons={"b": 'lost in the inclusion group "g": "A" fired before it (key "k" found in the entry "A")'},
         quirks=OURS),
    Case("also one of several groups",
         [entry("a", "grim", "k", groups=("g", "h")), entry("b", "k", groups=("g",), group_override=True)], "a",
         quirks=OURS),
    Case("which SillyTavern overlooks",
         [entry("a", "grim", "k", groups=("g", "h"), order=1), entry("b", "k", groups=("g",), order=2)], "a b",
         quirks=THEIRS),
    Case("nobody loses to one that loses itself",
         [entry("a", "grim", groups=("g",), order=1), entry("b", "grim", groups=("g", "h"), order=2, group_weight=1e9),
          entry("c", "grim", groups=("h",), order=3, group_override=True)], "a c", quirks=OURS),
    Case("in SillyTavern a group can be left with nobody",
         [entry("a", "grim", groups=("g",), group_weight=0, order=0),
          entry("b", "grim", groups=("g", "h"), order=2, group_weight=1e9),
          entry("c", "grim", groups=("h",), order=3, group_override=True)], "c", quirks=THEIRS),
    Case("who fails its roll does not compete",
         [entry("a", "grim", groups=("g",), group_override=True, probability=0), entry("b", "grim", groups=("g",))],
         "b", quirks=OURS),
    Case("in SillyTavern it wins the group, and fails then",
         [entry("a", "grim", groups=("g",), group_override=True, probability=-1), entry("b", "grim", groups=("g",))],
         "", quirks=THEIRS),
    # group scoring
    Case("scoring: who matches fewer keys is out",
         [entry("a", "grim", groups=("g",)), entry("b", "grim,ann", groups=("g",))], "b",
         turn={"group_scoring": True},
         reasons={"a": 'lost in the inclusion group "g": "B" matches 2 keys, it matches 1 '
                       '(key "grim" in message 0 by P0)'}),
    Case("scoring goes before priority",
         [entry("a", "grim", groups=("g",), group_override=True), entry("b", "grim,ann", groups=("g",))], "b",
         turn={"group_scoring": True}),
    Case("an entry may be left out of it",
         [entry("a", "grim", groups=("g",), group_override=True, group_scoring=False),
          entry("b", "grim,ann", groups=("g",))], "a", turn={"group_scoring": True}),
    Case("or ask for it by itself",
         [entry("a", "grim", groups=("g",), group_override=True, group_scoring=True),
          entry("b", "grim,ann", groups=("g",))], "b"),
    Case("secondary keys count with AND_ANY",
         [entry("a", "grim", groups=("g",), group_override=True),
          entry("b", "grim", secondary=("ann", "x"), groups=("g",))], "b", turn={"group_scoring": True}),
    Case("with AND_ALL where all are there",
         [entry("a", "grim", groups=("g",), group_override=True),
          entry("b", "grim", secondary=("ann", "met"), logic=SecondaryLogic.AND_ALL, groups=("g",))], "b",
         turn={"group_scoring": True}),
    Case("and not with NOT_ALL",
         [entry("a", "grim", groups=("g",), group_override=True),
          entry("b", "grim", secondary=("ann", "x"), logic=SecondaryLogic.NOT_ALL, groups=("g",))], "a",
         turn={"group_scoring": True}),
    # filters
    Case("for this character", [entry("a", "grim", characters=TESS)], "a", turn={"character": "tess"}),
    Case("a picture's name may have underscores", [entry("a", "grim", characters=TESS)], "a",
         turn={"character": "Old Grim"}),
    Case("for others", [entry("a", "grim", characters=TESS)], "", turn={"character": "Ann"},
         reasons={"a": "character filter: only for Tess or Old_Grim, and Ann answers"}),
    Case("for others, and nobody is known", [entry("a", "grim", characters=TESS)], "",
         reasons={"a": "character filter: only for Tess or Old_Grim, and nobody answers"}),
    Case("not for this one", [entry("a", "grim", characters=CharacterFilter(("Tess",), exclude=True))], "",
         turn={"character": "Tess"}, reasons={"a": "character filter: not for Tess"}),
    Case("for all but one", [entry("a", "grim", characters=CharacterFilter(("Tess",), exclude=True))], "a",
         turn={"character": "Ann"}),
    Case("by a tag", [entry("a", "grim", characters=SAILORS)], "a", turn={"tags": frozenset({"sailor", "old"})}),
    Case("by a tag that is not there", [entry("a", "grim", characters=SAILORS)], "", turn={"tags": frozenset({"old"})},
         reasons={"a": "character filter: only for characters tagged sailor"}),
    Case("not by a tag", [entry("a", constant=True, characters=CharacterFilter(tags=("sailor",), exclude=True))], "",
         turn={"tags": frozenset({"sailor"})}, reasons={"a": "character filter: not for characters tagged sailor"}),
    Case("where no tags are known, they say nothing", [entry("a", "grim", characters=SAILORS)], "a"),
    Case("for another kind of answer", [entry("a", "grim", triggers=("swipe", "continue"))], "",
         reasons={"a": "trigger: only for swipe or continue, and this is a normal answer"}),
    Case("for this kind", [entry("a", "grim", triggers=("swipe",))], "a",
         turn={"triggers": frozenset({"swipe", "regenerate"})}),
    # texts beside the messages
    Case("in the scenario", [entry("a", "tide", match_scenario=True)], "a", turn={"sources": SCENARIO},
         reasons={"a": 'key "tide" in the scenario'}),
    Case("only for those who name it", [entry("a", "tide", match_persona_description=True)], "",
         turn={"sources": SCENARIO | {"match_persona_description": "A girl."}},
         reasons={"a": "no key found in the newest 4 messages"}),
    Case("which is not there", [entry("a", "tide", match_creator_notes=True)], "",
         reasons={"a": "no key found in the newest 4 messages; there is no text for the creator's notes here"}),
    Case("a message goes first", [entry("a", "grim", match_scenario=True)], "a",
         turn={"sources": {"match_scenario": "Grim."}}, reasons={"a": 'key "grim" in message 0 by P0'}),
    Case("as a pattern", [entry("a", "/t[ia]de/", match_scenario=True)], "a", turn={"sources": SCENARIO}),
    Case("a secondary key", [entry("a", "grim", secondary=("tide",), match_scenario=True)], "a",
         turn={"sources": SCENARIO}),
    Case("a secondary key for nobody else", [entry("a", "grim", secondary=("tide",))], "", turn={"sources": SCENARIO}),
    Case("whatever its scan depth", [entry("a", "tide", match_scenario=True, scan_depth=0)], "a", quirks=OURS,
         turn={"sources": SCENARIO}),
    Case("but not with none in SillyTavern", [entry("a", "tide", match_scenario=True, scan_depth=0)], "",
         quirks=THEIRS, turn={"sources": SCENARIO}),
    Case("what it brings up brings up others",
         [entry("a", "tide", "of kelp", match_scenario=True, order=1), entry("b", "kelp", order=2)], "a b",
         turn={"sources": SCENARIO}),
    Case("sticky is no way round a filter", [entry("a", "grim", characters=TESS, sticky=4)], "",
         turn={"timed": TimedEffects({"a": 40}, {})}),
    # directives
    Case("@@activate needs no key", [entry("a", decorators=("activate",))], "a",
         reasons={"a": "its content begins with @@activate"}),
    Case("@@dont_activate stops all", [entry("a", "grim", constant=True, decorators=("dont_activate",))], "",
         reasons={"a": "its content begins with @@dont_activate"}),
    Case("what is found by meaning says so", [entry("a", vectorized=True)], "",
         reasons={"a": "it has no keys and is not constant; it is vectorized, and found by meaning in other programs "
                       "only"}),
    # minimum activations
    Case("too few: older messages are read", [entry("a", "grim")], "a", ["x", "y", "Grim"],
         turn={"depth": 1, "least_fired": 1}, reasons={"a": 'key "grim" in message 0 by P2'}),
    Case("patterns too", [entry("a", "/gr.m/i")], "a", ["x", "y", "Grim"], turn={"depth": 1, "least_fired": 1}),
    Case("but only until there are enough", [entry("a", "grim"), entry("b", "ann")], "b", ["x", "Ann", "Grim"],
         turn={"depth": 1, "least_fired": 1}, reasons={"a": "no key found in the newest 2 messages"}),
    Case("and only so deep", [entry("a", "grim")], "", ["x", "y", "Grim"],
         turn={"depth": 1, "least_fired": 1, "deepest": 2}),
    Case("an entry's own depth stays", [entry("a", "grim", scan_depth=1)], "", ["x", "Grim"],
         turn={"depth": 1, "least_fired": 1}),
    Case("who fires there brings up others", [entry("a", "grim", "k"), entry("b", "k")], "a b", ["x", "Grim"],
         turn={"depth": 1, "least_fired": 1}, quirks=OURS),
]  # fmt: skip


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
    if not quirks:  # there, an entry that lost is asked again in each later step
        assert {uid: found.explain(uid).reason for uid in case.reasons} == case.reasons
    assert {uid for uid, one in found.explain_all().items() if one.fired} == {one.entry.uid for one in found.fired}


@pytest.mark.parametrize("quirks", [False, True])
def test_the_lot_follows_the_weights(quirks: bool) -> None:
    lore = [
        entry(name, "grim", groups=("g",), group_weight=weight) for name, weight in (("a", 10), ("b", 30), ("c", 60))
    ]
    won = Counter(
        found.entry.uid
        for turn in range(2_000)
        for found in scan(lore, ScanInput((ScanMessage("Grim"),), seed="s", turn=str(turn)), quirks=quirks).fired
    )
    assert won.total() == 2_000
    assert 150 < won["a"] < 250
    assert 530 < won["b"] < 670


def test_a_new_rival_takes_wins_and_shuffles_none() -> None:
    """The lot of an entry is its own: with one more in the group, whoever does not lose to it goes on winning."""
    lore = [entry(name, "grim", groups=("g",)) for name in "ab"]
    for turn in range(200):
        given = ScanInput((ScanMessage("Grim"),), seed="s", turn=str(turn))
        (before,), (now,) = scan(lore, given).fired, scan([*lore, entry("c", "grim", groups=("g",))], given).fired
        assert now.entry.uid in (before.entry.uid, "c")


def test_names_are_put_in_for_macros_in_keys_and_contents() -> None:
    written = entry("a", "{{char}}'s boat,/<user>'s oar/i", "{{user}} rows {{char}}.{{// nobody sees this}}")
    lore = index_books([written, entry("b", "grim")], ())
    tess = lore.with_names(MacroNames("Wren", "Tess"))
    (fired,) = scan(tess.index, ScanInput((ScanMessage("She took tess's boat."),))).fired
    assert fired.entry.content == "Wren rows Tess."
    assert fired.reason == 'key "Tess\'s boat" in message 0'
    assert scan(tess.index, ScanInput((ScanMessage("wren's oar"),))).fired
    grim = tess.with_names(MacroNames("Wren", "Grim"))
    assert not scan(grim.index, ScanInput((ScanMessage("Tess's boat"),))).fired
    assert [one.entry.content for one in scan(grim.index, ScanInput((ScanMessage("Grim's boat"),))).fired] == [
        "Wren rows Grim.",
        "about b",
    ]
    assert grim.with_names(MacroNames("Wren", "Grim")) is grim


def test_what_is_drawn_is_drawn_once_for_a_turn() -> None:
    lore = [entry("a", "grim", "It rains {{random::cats::dogs::frogs}}, {{roll:2d6}} of them.")]
    texts = [
        [one.entry.content for one in scan(lore, ScanInput((ScanMessage("Grim"),), seed="s", turn=str(turn))).fired]
        for turn in (*range(30), *range(30))
    ]
    assert texts[:30] == texts[30:]
    assert len({text for (text,) in texts}) > 10
    assert not any("{{" in text for (text,) in texts)


def at(position: EntryPosition, **rest: Any) -> KeyedEntry:
    return entry(f"{position.name} {rest.get('depth', '')}".strip(), "k", position=position, **rest)


def test_entries_stand_in_the_order_of_a_prompt() -> None:
    shuffled = [
        at(EntryPosition.AT_DEPTH, depth=0),
        at(EntryPosition.NOTE_BOTTOM),
        at(EntryPosition.OUTLET, outlet="o"),
        at(EntryPosition.AFTER_CHARACTER),
        at(EntryPosition.NOTE_TOP),
        at(EntryPosition.AT_DEPTH, depth=9),
        at(EntryPosition.BEFORE_EXAMPLES),
        at(EntryPosition.BEFORE_CHARACTER),
        at(EntryPosition.AFTER_EXAMPLES),
    ]
    ordered = [one.entry.uid for one in order_by_place(FiredEntry(one, "", 0) for one in shuffled)]
    assert ordered == [
        "BEFORE_CHARACTER",
        "AFTER_CHARACTER",
        "BEFORE_EXAMPLES",
        "AFTER_EXAMPLES",
        "OUTLET",
        "AT_DEPTH 9",
        "NOTE_TOP",
        "NOTE_BOTTOM",
        "AT_DEPTH 0",
    ]
    assert describe_place(shuffled[0]) == "newest message, as at depth 0"
    assert describe_place(shuffled[2]) == 'newest message, as outlet "o"'
    assert describe_place(shuffled[2], ["o"]) == 'outlet "o" of the prompt'
    assert (
        describe_place(at(EntryPosition.AT_DEPTH, depth=2, role=1)) == "newest message, as at depth 2, without its role"
    )


@pytest.mark.parametrize(
    "conditions",
    [
        {"probability": 50}, {"delay": 3}, {"cooldown": 2}, {"delay_until_recursion": 1}, {"groups": ("g",)},
        {"triggers": ("swipe",)}, {"characters": TESS}, {"decorators": ("dont_activate",)},
        {"position": EntryPosition.AT_DEPTH}, {"position": EntryPosition.NOTE_TOP}, {"content": "{{random::a::b}}"},
    ],
)  # fmt: skip
def test_only_what_nothing_holds_back_is_stable_memory(conditions: dict[str, Any]) -> None:
    assert entry("a", constant=True).stands_always
    assert describe_place(entry("a", constant=True)) == "stable memory"
    assert not entry("a", constant=True, **conditions).stands_always


def test_problems_of_the_newer_fields() -> None:
    odd = entry("a", "grim", "It is {{time}}.", triggers=("sometimes",), position=EntryPosition.OUTLET, group_weight=-1)
    assert find_problems(odd) == [
        "Its group weight must not be negative, and is -1.",
        "It is only for answers of the kind sometimes, which is not known.",
        "It stands in an outlet that has no name.",
        "The macro {{time}} stands for nothing here.",
    ]
