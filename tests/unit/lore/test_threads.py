"""Threads: opened, reworded and settled by what opened them, and never by a likeness of words."""

from __future__ import annotations

import pytest

from previously.core.note import Note, ThreadChange, ThreadItem, thread_id
from previously.lore.hand_records import ThreadAction, ThreadRecord, correct_state, make_hand_thread_id
from previously.lore.state import EMPTY_STATE, PlacedNote, State, apply_note
from previously.lore.threads import (
    DORMANT_AFTER,
    MOST_OPEN,
    MOST_SETTLED,
    MOST_UNMATCHED,
    Thread,
    ThreadStatus,
    choose_shown_threads,
    find_status,
    list_awake_threads,
    rank_threads,
)

DEBT = "Bram to the widow Pell: three weeks' rent."
FIRST = thread_id(b"a", DEBT)
LAMP = thread_id(b"a", "Who lit the lamp?")


def new(text: str, at: int | None = 0) -> ThreadItem:
    return ThreadItem(ThreadChange.NEW, text, at)


def now(thread: str, text: str, at: int | None = 0) -> ThreadItem:
    return ThreadItem(ThreadChange.NOW, text, at, thread)


def settled(thread: str, text: str, at: int | None = 0) -> ThreadItem:
    return ThreadItem(ThreadChange.SETTLED, text, at, thread)


def story(*notes: tuple[ThreadItem, ...], length: int = 10) -> State:
    """Notes of spans of the same length, the keys of which are letters."""
    state = EMPTY_STATE
    for number, items in enumerate(notes):
        first = number * length
        key = bytes([ord("a") + number])
        state = apply_note(state, PlacedNote(Note(threads=items), key, first, first + length - 1))
    return state


def only(state: State) -> Thread:
    (thread,) = state.threads.threads
    return thread


def test_a_thread_goes_on_under_the_name_of_what_opened_it() -> None:
    state = story(
        (new(DEBT, 3),), (now(FIRST, "Bram to the widow: nine shillings.", 4),), (settled(FIRST, "Paid.", 5),)
    )
    assert only(state) == Thread(
        FIRST, "Bram to the widow: nine shillings.", 3, 25, settled=25, outcome="Paid.", earlier=(DEBT,)
    )
    assert state.threads.unmatched == ()


def test_a_thread_that_goes_on_after_it_was_settled_is_open() -> None:
    assert only(story((new(DEBT),), (settled(FIRST, "Paid."),), (now(FIRST, "It was paid in lead."),))).settled is None


def test_what_names_a_thread_that_is_not_there_does_nothing_and_is_listed() -> None:
    whole = story((new(DEBT), new("Who lit the lamp?")), (settled(FIRST, "Paid."), now(LAMP, "Who did?")))
    cut = story((), (settled(FIRST, "Paid."), now(LAMP, "Who did?"), new("A boat.")))
    assert [one.text for one in whole.threads.threads] == [DEBT, "Who did?"]
    assert [one.text for one in cut.threads.threads] == ["A boat."]
    assert [(one.thread, one.text) for one in cut.threads.unmatched] == [
        (FIRST, "Paid."),
        (LAMP, "Who did?"),
    ]


def test_a_note_made_anew_in_another_order_settles_the_same_thread() -> None:
    swapped = story((new("Who lit the lamp?"), new(DEBT)), (settled(FIRST, "Paid."),))
    assert [(one.text, one.settled is None) for one in swapped.threads.threads] == [
        ("Who lit the lamp?", True),
        (DEBT, False),
    ]


@pytest.mark.parametrize(
    "words", ["Bram to the widow Pell: three weeks rent", "Bram owes the widow Pell rent.", "Rent."]
)
def test_other_words_are_another_thread_and_settle_none(words: str) -> None:
    assert len(story((new(DEBT),), (new(words),)).threads.threads) == 2
    state = story((new(DEBT),), (settled("", words),))
    assert (only(state).settled, len(state.threads.unmatched)) == (None, 1)


def test_the_very_words_of_an_open_thread_are_that_thread() -> None:
    state = story((new(DEBT),), (new(DEBT.upper().replace(" ", "  ")),), (settled("", DEBT.lower()),))
    assert (only(state).id, only(state).settled, only(state).outcome) == (FIRST, 20, "")
    again = story((new(DEBT),), (settled("", DEBT),), (new(DEBT),))
    assert [one.settled for one in again.threads.threads] == [10, None], "a settled one is not opened by its words"


def test_an_item_without_a_message_of_the_span_is_passed_over() -> None:
    state = story((new("From nowhere.", 10), new("Before it.", -1), new(DEBT, 9)))
    assert (only(state).id, only(state).opened) == (FIRST, 9)
    assert only(story((new(DEBT),), (settled(FIRST, "Paid.", None),))).settled == 19, "settled earlier, noted here"


def test_only_questions_fall_asleep() -> None:
    for text in ("Who lit the lamp?", "誰が火をつけた？"):
        thread = only(story((new(text),)))
        assert find_status(thread, DORMANT_AFTER) is ThreadStatus.OPEN
        assert find_status(thread, DORMANT_AFTER + 1) is ThreadStatus.DORMANT
        assert list_awake_threads([thread], DORMANT_AFTER + 1) == ()
    assert find_status(only(story((new(DEBT),))), 100_000) is ThreadStatus.OPEN
    state = correct_state(EMPTY_STATE, [(0, ThreadRecord(ThreadAction.OPEN, "Who lit the lamp?"))]).state
    assert find_status(only(state), 100_000) is ThreadStatus.OPEN, "what a person wrote never sleeps"


def test_time_told_or_passed_makes_nothing_overdue() -> None:
    state = story((new("Bram must pay within three days."),), (new("Three weeks later, nobody had paid."),))
    assert {find_status(one, 50_000) for one in state.threads.threads} == {ThreadStatus.OPEN}


def test_what_a_person_wrote_comes_first_then_what_is_no_question_then_the_newest() -> None:
    state = story((new("Why?"), new("A debt."), new("A vow.", 5)))
    state = correct_state(state, [(9, ThreadRecord(ThreadAction.OPEN, "Mine?"))]).state
    assert [one.text for one in rank_threads(state.threads.threads, 10)] == ["Mine?", "A vow.", "A debt.", "Why?"]


def test_a_model_is_shown_all_threads_or_those_that_are_near() -> None:
    many = story(tuple(new(f"Debt {number} of Tobias." if number == 1 else f"Debt {number}.") for number in range(60)))
    shown = choose_shown_threads(many.threads.threads, 10, "Tobias came in.", most=10)
    assert len(shown) == 10
    assert "Debt 1 of Tobias." in [one.text for one in shown]
    tight = choose_shown_threads(many.threads.threads, 10, "Tobias paid his debt.", most_tokens=8)
    assert "Debt 1 of Tobias." in [one.text for one in tight], "however old it is, and though each has a debt"
    few = choose_shown_threads(many.threads.threads[:5], 10, most=10)
    assert [one.text for one in few][:2] == ["Debt 0.", "Debt 1 of Tobias."]


def test_what_is_kept_is_bounded() -> None:
    notes = [tuple(new(f"Debt {number} of {note}.") for number in range(8)) for note in range(60)]
    ids = [[thread_id(bytes([ord("a") + at]), item.text) for item in note] for at, note in enumerate(notes)]
    assert len(story(*notes).threads.threads) == MOST_OPEN
    paid = [tuple(settled(one, "Paid.") for one in ids[note]) for note in range(60)]
    both = [(*opened, *closed) for opened, closed in zip(notes, paid, strict=True)]
    assert len(story(*both).threads.threads) == MOST_SETTLED
    assert len(story(*([()] * 60), *paid).threads.unmatched) == MOST_UNMATCHED


def test_a_person_rewords_settles_and_opens_again() -> None:
    state = story((new(DEBT),))
    mine = ThreadRecord(ThreadAction.REWORD, "Nine shillings.", id=FIRST, was=DEBT)
    assert [only(correct_state(state, [(5, mine)]).state).text] == ["Nine shillings."]
    done = [(5, ThreadRecord(ThreadAction.RESOLVE, DEBT, id=FIRST))]
    assert only(correct_state(state, done).state).settled == 5
    again = [*done, (6, ThreadRecord(ThreadAction.OPEN, DEBT, id=FIRST))]
    assert only(correct_state(state, again).state).settled is None


def test_what_a_model_would_do_to_a_persons_words_is_suggested() -> None:
    later = story((new(DEBT),), (now(FIRST, "Ten shillings."),))
    found = correct_state(later, [(5, ThreadRecord(ThreadAction.REWORD, "Nine shillings.", id=FIRST, was=DEBT))]).state
    assert (only(found).text, [one.text for one in found.threads.suggestions]) == (
        "Nine shillings.",
        ["Ten shillings."],
    )
    own = make_hand_thread_id("Who rang?")
    settling = story((), (settled(own, "Bram did."),))
    found = correct_state(settling, [(5, ThreadRecord(ThreadAction.OPEN, "Who rang?"))]).state
    assert (only(found).settled, [one.text for one in found.threads.suggestions]) == (None, ["Bram did."])
    assert found.threads.unmatched == ()


def test_a_persons_words_stay_where_the_thread_they_reworded_is_gone() -> None:
    found = correct_state(
        EMPTY_STATE, [(5, ThreadRecord(ThreadAction.REWORD, "Nine shillings.", id=FIRST, was=DEBT))]
    ).state
    assert (only(found).text, only(found).by) == ("Nine shillings.", "person")
    assert (
        correct_state(EMPTY_STATE, [(5, ThreadRecord(ThreadAction.RESOLVE, DEBT, id=FIRST))]).state.threads.threads
        == ()
    )


def test_records_of_earlier_versions_hold_by_their_words() -> None:
    old = ThreadRecord(ThreadAction.RESOLVE, DEBT, id="0011223344556677")
    assert only(correct_state(story((new(DEBT),)), [(5, old)]).state).settled == 5
