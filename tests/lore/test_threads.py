"""What becomes of threads: opened, touched, settled, opened again, asleep, overdue; what is one and what is two."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.messages import message
from previously.core.signals import Signals
from previously.lore.snapshots import threads_json, threads_of
from previously.lore.thread_operations import operations_of
from previously.lore.thread_wording import ThreadKind, kind_of
from previously.lore.threads import (
    DORMANT_AFTER,
    NO_THREADS,
    Op,
    Operation,
    Status,
    Thread,
    Threads,
    lines,
    ranked,
    reduce_threads,
    status,
)

LANTERN = "Maya promised Joaquin to bring the lantern back."


def opened(*texts: str, by: str = "model") -> Threads:
    return reduce_threads(NO_THREADS, [Operation(Op.OPEN, text, place, "q", by) for place, text in enumerate(texts)])


def after(state: Threads, op: Op, text: str, position: int = 50, by: str = "model") -> Threads:
    return reduce_threads(state, [Operation(op, text, position, "", by)])


def only(state: Threads) -> Thread:
    assert len(state.threads) == 1, [one.text for one in state.threads]
    return state.threads[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LANTERN, "maya promised  Joaquin to bring the lantern back"),
        (LANTERN, "Maya promised to bring the lantern back"),
        (LANTERN, "Maya promised Joaquin to bring back the brass lantern"),
        (LANTERN, "Maya promised Joaquin to bring the lantern back before dawn."),
        ("Maya must bring the lantern back by dawn", LANTERN),
        ("Maya owes Joaquin 40 crowns", "Maya owes Joaquin forty crowns."),
        ("Who stole the ledger?", "Who stole the ledger from the office?"),
        ("Who stole the ledgers?", "who is stealing the ledger?"),
        ("ミアは約束した", "ミアは約束した。"),
    ],
)
def test_the_same_thread_in_other_words_is_one(one: str, other: str) -> None:
    state = opened(one, other)
    assert only(state).touched == 1
    assert only(state).id == opened(one).threads[0].id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LANTERN, "Maya promised Wren to bring the lantern back."),
        (LANTERN, "Joaquin promised Maya to bring the lantern back."),
        (LANTERN, "Maya promised Joaquin to bring the rope back."),
        (LANTERN, "Maya promised Joaquin to mend the lantern."),
        (LANTERN, "Maya promised Joaquin never to bring the lantern back."),
        ("Maya owes Joaquin forty crowns", "Maya owes Joaquin fifty crowns"),
        ("Maya owes Joaquin forty crowns", "Joaquin owes Maya forty crowns"),
        ("Maya promised the brass lantern to Joaquin", "Maya promised the iron lantern to Joaquin"),
        ("Where is the ledger?", "Who has the ledger?"),
        ("Who is the stranger?", "Where did the stranger hide the ledger?"),
    ],
)
def test_different_threads_stay_two(one: str, other: str) -> None:
    assert len(opened(one, other).threads) == 2
    assert len(opened(other, one).threads) == 2


PEOPLE = ("Maya", "Joaquin", "Wren", "Odalys")
THINGS = ("lantern", "brass key", "ledger", "forty crowns", "fifty crowns", "rope")
VERBS = ("bring", "sell", "burn")
PROMISES = [
    f"{who} promised {whom} to {verb} the {thing}."
    for who, whom, verb, thing in product(PEOPLE, PEOPLE, VERBS, THINGS)
    if who != whom
]


@given(st.lists(st.sampled_from(PROMISES), unique=True, max_size=30))
def test_promises_of_different_people_or_things_are_never_one(promises: list[str]) -> None:
    assert [one.text for one in opened(*promises).threads] == promises
    assert [one.text for one in opened(*promises, *promises).threads] == promises


def test_the_fuller_words_stay_and_the_newest_time_counts() -> None:
    fullest = "Maya promised Joaquin to bring the lantern back in two days"
    thread = only(opened("Maya promised to bring the lantern back", LANTERN, fullest))
    assert thread.text == fullest
    assert thread.due == "in two days"
    assert thread.mentions == ("Maya", "Joaquin")


@pytest.mark.parametrize(
    ("settled", "which"),
    [
        (LANTERN, 0),
        ("Maya brought the lantern back to Joaquin", 0),
        ("The lantern was returned", 0),
        ("Lantern returned to Joaquin", 0),
        ("Lantern: brought back", 0),
        ("Tobias brought the lantern back", None),
        ("Ledger: Odalys stole it", 2),
        ("Maya paid Wren the forty crowns", 1),
        ("Maya's debt to Wren", 1),
        ("It turned out that Odalys stole the ledger", 2),
        ("Odalys brought the rope", None),
        ("Tobias brought the lantern to Esther", None),
        ("Maya ate an apple", None),
        ("Maya paid Wren ninety crowns", None),
        ("", None),
    ],
)
def test_a_settling_word_settles_the_thread_it_means(settled: str, which: int | None) -> None:
    state = after(opened(LANTERN, "Maya owes Wren forty crowns.", "Who stole the ledger?"), Op.RESOLVE, settled)
    expected = [50 if place == which else None for place in range(3)]
    assert [one.resolved for one in state.threads] == expected
    assert [one.text for one in state.unmatched] == ([settled] if which is None else [])


def test_a_settling_word_that_could_mean_two_settles_none() -> None:
    state = after(
        opened("Maya owes Wren forty crowns", "Maya owes Odalys forty crowns"), Op.RESOLVE, "Maya paid the forty crowns"
    )
    assert [one.resolved for one in state.threads] == [None, None]
    assert len(state.unmatched) == 1


def test_nothing_is_settled_before_it_was_opened() -> None:
    later = reduce_threads(NO_THREADS, [Operation(Op.OPEN, LANTERN, 80)])
    assert only(after(later, Op.RESOLVE, LANTERN, 50)).resolved is None


def test_a_settled_thread_that_is_opened_again_is_the_same_one() -> None:
    first = opened(LANTERN)
    settled = after(first, Op.RESOLVE, LANTERN, 10)
    again = only(after(settled, Op.OPEN, LANTERN, 30))
    assert (again.id, again.resolved, again.opened, again.touched) == (only(first).id, None, 30, 30)


def test_what_happens_touches_the_threads_it_has_to_do_with() -> None:
    state = after(opened(LANTERN, "Who stole the ledger?"), Op.TOUCH, "Maya lit the lantern", 70)
    assert [one.touched for one in state.threads] == [70, 1]
    assert state.unmatched == ()


def test_untouched_threads_sleep_and_wake() -> None:
    state = opened(LANTERN)
    assert status(only(state), DORMANT_AFTER) is Status.OPEN
    assert status(only(state), DORMANT_AFTER + 1) is Status.DORMANT
    assert status(only(state), 11, dormant_after=10) is Status.DORMANT
    assert lines(state.threads, DORMANT_AFTER + 1) == ()
    woken = after(state, Op.TOUCH, "Maya brought a lantern", 150)
    assert status(only(woken), 300) is Status.OPEN


def passed(state: Threads, *told: tuple[int, str]) -> Threads:
    return reduce_threads(state, [Operation(Op.PASS, text, position) for position, text in told])


@pytest.mark.parametrize(
    ("due", "told", "expected"),
    [
        ("within three days", ["Three days later, rain came."], Status.OVERDUE),
        ("within three days", ["Two days later, rain came."], Status.OPEN),
        ("within three days", ["Two days passed.", "The next morning Maya woke."], Status.OVERDUE),
        ("before dawn", ["The next morning Maya woke."], Status.OVERDUE),
        ("by Tuesday", ["The next day"], Status.OPEN),
        ("by Tuesday", ["A week later"], Status.OVERDUE),
        ("in a fortnight", ["Weeks passed."], Status.OVERDUE),
        ("within three days", ['"Three days later I saw him," he said.'], Status.OPEN),
        ("", ["Ten years later"], Status.OPEN),
    ],
)
def test_a_thread_is_overdue_when_its_time_is_told_to_have_passed(due: str, told: list[str], expected: Status) -> None:
    state = passed(opened(f"Maya promised Joaquin to bring the lantern back {due}"), *enumerate(told, 1))
    assert status(only(state), 20) is expected


def test_a_thread_can_be_due_in_messages() -> None:
    state = opened("Maya must find the ledger within 10 messages")
    assert only(state).kind is ThreadKind.DEADLINE
    assert status(only(state), 10) is Status.OPEN
    assert status(only(state), 11) is Status.OVERDUE


def test_time_before_a_thread_or_after_its_end_does_not_count() -> None:
    state = passed(NO_THREADS, (0, "Ten years later"))
    state = reduce_threads(state, [Operation(Op.OPEN, f"{LANTERN[:-1]} within three days", 5)])
    assert status(only(state), 6) is Status.OPEN
    settled = passed(after(state, Op.RESOLVE, LANTERN, 7), (8, "A year later"))
    assert status(only(settled), 9) is Status.RESOLVED


def test_a_new_time_counts_anew() -> None:
    state = passed(opened("Maya promised Joaquin to bring the lantern back within three days"), (5, "Two days later"))
    state = after(state, Op.OPEN, "Maya promised Joaquin to bring the lantern back within four days", 6)
    assert status(only(passed(state, (7, "Two days later"))), 8) is Status.OPEN


def test_a_person_can_say_that_the_time_has_passed() -> None:
    state = after(opened(LANTERN), Op.OVERDUE, "the lantern", 9, by="person")
    assert status(only(state), 10) is Status.OVERDUE
    assert status(only(after(state, Op.RESOLVE, LANTERN)), 60) is Status.RESOLVED


def test_a_thread_wakes_when_its_time_has_come() -> None:
    state = passed(opened("Maya promised to bring the lantern within three days"), (500, "A month later"))
    assert status(only(state), 501) is Status.OVERDUE
    assert status(only(state), 501 + DORMANT_AFTER) is Status.DORMANT


def test_what_a_person_wrote_no_model_changes() -> None:
    mine = opened("The lantern is cursed, I think", by="person")
    assert status(only(mine), 10_000) is Status.OPEN, "and it never sleeps"
    state = after(mine, Op.RESOLVE, "The lantern is no longer cursed")
    assert only(state).resolved is None
    assert len(state.suggestions) == 1
    assert only(after(mine, Op.RESOLVE, "the lantern is cursed", by="person")).resolved == 50


def test_a_model_cannot_open_what_a_person_settled() -> None:
    state = after(opened(LANTERN), Op.RESOLVE, LANTERN, 10, by="person")
    state = after(state, Op.OPEN, LANTERN, 20)
    assert only(state).resolved == 10
    assert len(state.suggestions) == 1
    assert only(after(state, Op.OPEN, LANTERN, 21, by="person")).resolved is None


def test_a_person_words_a_thread_of_a_model_better() -> None:
    thread = only(after(opened(LANTERN), Op.OPEN, "Maya promised to bring the lantern!", 3, by="person"))
    assert (thread.text, thread.by, thread.opened) == ("Maya promised to bring the lantern!", "person", 0)
    again = only(after(Threads((thread,)), Op.OPEN, LANTERN, 9))
    assert (again.text, again.touched) == (thread.text, 9)


def test_by_hand_first_then_overdue_then_by_kind_then_the_newest() -> None:
    state = opened(
        "Who stole the ledger?",
        "Odalys owes Wren forty crowns",
        "Tobias promised Esther to return the ring",
        "Wren promised Odalys to sell the boat",
        "Why did the bell ring within a day?",
    )
    state = passed(state, (5, "Two days later"))
    state = after(state, Op.OPEN, "Something about the tower", 6, by="person")
    assert lines(state.threads, 10) == (
        "Something about the tower",
        "Why did the bell ring within a day? (overdue)",
        "Wren promised Odalys to sell the boat",
        "Tobias promised Esther to return the ring",
        "Odalys owes Wren forty crowns",
        "Who stole the ledger?",
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Who stole the ledger?", ThreadKind.QUESTION),
        ("Whether Odalys lives", ThreadKind.QUESTION),
        (LANTERN, ThreadKind.PROMISE),
        ("Maya gave her word to return", ThreadKind.PROMISE),
        ("Maya owes Wren forty crowns", ThreadKind.DEBT),
        ("Odalys threatened to burn the mill", ThreadKind.THREAT),
        ("Maya keeps the letter secret from Wren", ThreadKind.SECRET),
        ("Maya must reach Lethen by Tuesday", ThreadKind.DEADLINE),
        ("Maya must be tired", ThreadKind.OTHER),
        ("The storm is coming", ThreadKind.OTHER),
    ],
)
def test_the_kind_is_told_by_the_words(text: str, kind: ThreadKind) -> None:
    assert kind_of(text) is kind


SAID = (
    message("assistant", "Two days later the rain stopped. Maya shook her head at the mill."),
    message("user", "I promise to bring the lantern back to you, Joaquin.", speaker="Maya"),
)


def test_operations_quote_the_messages_or_are_not_verified() -> None:
    signals = Signals(
        events=("Maya shook her head",),
        open_threads=("Maya promised Joaquin to bring the lantern back", "Gandalf owes Frodo ninety rings"),
        resolved_threads=("The rain that would not stop",),
    )
    found = operations_of(signals, 7, SAID, names=("Maya",))
    assert [(one.op, one.verified) for one in found] == [
        (Op.PASS, True),
        (Op.TOUCH, False),
        (Op.RESOLVE, True),
        (Op.OPEN, True),
        (Op.OPEN, False),
    ]
    assert found[3].quote == "I promise to bring the lantern back to you, Joaquin."
    state = reduce_threads(NO_THREADS, found)
    assert [(one.verified, one.mentions) for one in state.threads] == [
        (True, ("Maya", "Joaquin")),
        (False, ("Gandalf", "Frodo")),
    ]
    assert lines(state.threads, 8)[1].endswith("(unverified)")


def test_a_jump_that_messages_and_signals_tell_counts_once() -> None:
    told = operations_of(Signals(state_changes=("Two days later", "Two days passed")), 7, SAID)
    assert [one.text for one in told if one.op is Op.PASS] == ["Two days later the rain stopped."]
    noted = operations_of(Signals(state_changes=("Two days have passed", "It is two days later")), 7, ())
    assert [one.text for one in noted if one.op is Op.PASS] == ["Two days have passed"]


TEXTS = [
    *PROMISES[:24:5], "Who stole the ledger?", "The lantern", "Maya", "Two days later", "Maya must run within two days",
    "Maya's debt to Wren", "Maya owes Wren forty crowns", "the promise of the rope", "", "?",
]  # fmt: skip
operations = st.builds(
    Operation,
    st.sampled_from(Op),
    st.one_of(st.sampled_from(TEXTS), st.text(max_size=20)),
    st.integers(0, 400),
    st.sampled_from(["", "quoted"]),
    st.sampled_from(["model", "builtin", "person"]),
    st.sampled_from([(), ("Maya",), ("Maya", "Odalys")]),
)
histories = st.lists(operations, max_size=25)


@settings(max_examples=80)
@given(histories, st.integers(0, 25))
def test_a_snapshot_and_the_rest_give_what_all_operations_give(history: list[Operation], cut: int) -> None:
    whole = reduce_threads(NO_THREADS, history)
    assert whole == reduce_threads(NO_THREADS, list(history)), "and the same every time"
    assert reduce_threads(reduce_threads(NO_THREADS, history[:cut]), history[cut:]) == whole
    assert threads_of(threads_json(whole)) == whole


@settings(max_examples=80)
@given(histories, st.integers(0, 800))
def test_every_thread_that_is_not_settled_is_ranked_and_no_other(history: list[Operation], now: int) -> None:
    state = reduce_threads(NO_THREADS, history)
    shown = ranked(state.threads, now)
    assert {one.id for one in shown} == {one.id for one in state.threads if one.resolved is None}
    asleep = [status(one, now) is Status.DORMANT for one in shown]
    assert asleep == sorted(asleep)
    assert len({one.id for one in state.threads}) == len(state.threads)


@pytest.mark.parametrize("given", [None, [], {}, {"threads": [{"id": "x"}, 7, {"kind": "no such"}]}, {"threads": {}}])
def test_a_snapshot_that_cannot_be_read_is_empty(given: object) -> None:
    assert threads_of(given) == NO_THREADS
