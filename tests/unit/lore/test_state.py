"""The reduce over notes: a snapshot and the rest give what all notes give, and a note counts where it stands."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.messages import Message, message
from previously.core.note import (
    Aspect,
    LoreItem,
    Note,
    StateItem,
    ThreadChange,
    ThreadItem,
    WishItem,
    parse_note,
    render_note,
    thread_id,
)
from previously.lore.hand_records import WishRecord, correct_state
from previously.lore.state import EMPTY_STATE, PlacedNote, State, apply_note, parse_state, render_state
from tests.effort import cases

LENGTH = 4
NAMES = ("Ilse Marrow", "Ilse", "Bram", "Salt key", "灰原")
WORDS = ("A debt.", "Who lit it?", "a DEBT.", "Paid.", "")
SPAN = tuple(message("user" if number % 2 else "assistant", f"Line {number}.") for number in range(LENGTH))


def key(number: int) -> bytes:
    return number.to_bytes(2, "big")


@st.composite
def notes(draw: st.DrawFn, count: int) -> list[Note]:
    """Notes of as many spans, whose operations name threads of any span."""
    at = st.one_of(st.none(), st.integers(-1, LENGTH))
    threads = st.lists(
        st.builds(
            lambda change, text, offset, span, words: ThreadItem(
                change, text, offset, "" if change is ThreadChange.NEW else thread_id(key(span), words)
            ),
            st.sampled_from(ThreadChange), st.sampled_from(WORDS), at, st.integers(0, count), st.sampled_from(WORDS),
        ),
        max_size=4,
    )  # fmt: skip
    state = st.lists(
        st.builds(StateItem, st.sampled_from(NAMES), st.sampled_from(Aspect), st.sampled_from(("", "a", "b")), at),
        max_size=3,
    )
    lore = st.lists(
        st.builds(LoreItem, st.sampled_from(NAMES), st.sampled_from(("person", "thing")),
                  st.tuples(st.sampled_from(NAMES)), st.sampled_from(("One.", "Two.")),
                  st.tuples(st.integers(0, LENGTH))),
        max_size=2,
    )  # fmt: skip
    wish = st.builds(WishItem, st.sampled_from(("Slower.", "Less gore.")), st.integers(0, LENGTH))
    made = st.builds(
        lambda *of: Note(threads=tuple(of[0]), state=tuple(of[1]), lore=tuple(of[2]), wishes=tuple(of[3])),
        threads, state, lore, st.lists(wish, max_size=2),
    )  # fmt: skip
    return [draw(made) for _ in range(count)]


def worded_apart(note: Note, number: int) -> Note:
    """The same note, its items in words that no other item has."""
    apart = [replace(item, text=f"{number}.{index} {item.text}") for index, item in enumerate(note.threads)]
    return replace(note, threads=tuple(apart))


def reduced(listed: list[Note], state: State = EMPTY_STATE, start: int = 0) -> State:
    for number, note in enumerate(listed, start):
        first = number * LENGTH
        state = apply_note(state, PlacedNote(note, key(number), first, first + LENGTH - 1, messages=SPAN))
    return state


@settings(max_examples=cases(200), deadline=None)
@given(st.data())
def test_a_snapshot_and_the_rest_give_what_all_notes_give(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 8))
    listed = data.draw(notes(count))
    cut = data.draw(st.integers(0, count))
    kept = parse_state(render_state(reduced(listed[:cut])))
    assert kept is not None
    assert reduced(listed[cut:], kept, cut) == reduced(listed)
    assert all(parse_note(render_note(one)) == one for one in listed)


@settings(max_examples=cases(200), deadline=None)
@given(st.data())
def test_without_the_opener_its_operations_are_unmatched_and_nothing_else_changes(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    listed = [worded_apart(note, number) for number, note in enumerate(data.draw(notes(count)))]
    opener = Note(threads=(ThreadItem(ThreadChange.NEW, "The opener.", 0),))
    with_it, without = reduced([opener, *listed]), reduced([Note(), *listed])
    gone = thread_id(key(0), "The opener.")
    assert tuple(one for one in with_it.threads.threads if one.id != gone) == without.threads.threads
    assert (with_it.lore, with_it.current, with_it.wishes) == (without.lore, without.current, without.wishes)
    cut_off = [one for one in without.threads.unmatched if one.thread == gone]
    assert [one for one in without.threads.unmatched if one.thread != gone] == list(with_it.threads.unmatched)
    items = [item for note in listed for item in note.threads if item.at is None or 0 <= item.at < LENGTH]
    assert len(cut_off) == sum(item.thread == gone for item in items)


def test_a_wish_counts_only_where_a_user_said_it() -> None:
    note = Note(wishes=(WishItem("From the model.", 0), WishItem("Slower.", 1), WishItem("From nowhere.", 9)))
    assert [(one.text, one.position) for one in reduced([note]).wishes] == [("Slower.", 1)]
    again = Note(wishes=(WishItem("slower.", 3), WishItem("Less gore.", 3)))
    assert [(one.text, one.position) for one in reduced([note, again]).wishes] == [("Slower.", 1), ("Less gore.", 7)]


def test_a_person_rewords_and_withdraws_wishes() -> None:
    state = reduced([Note(wishes=(WishItem("Slower.", 1), WishItem("Less gore.", 1)))])
    slower, gore = state.wishes
    records = [(3, WishRecord(slower.id, slower.text, "Much slower.")), (3, WishRecord(gore.id, gore.text))]
    (left,) = correct_state(state, records).state.wishes
    assert (left.id, left.text, left.position, left.by) == (slower.id, "Much slower.", 1, "person")
    (alone,) = correct_state(EMPTY_STATE, records).state.wishes
    assert (alone.text, alone.position) == ("Much slower.", 3), "a person's words stay where the message is gone"


def test_a_note_stands_where_its_span_stands() -> None:
    said: tuple[Message, ...] = SPAN
    note = Note(
        threads=(ThreadItem(ThreadChange.NEW, "A debt.", 2),),
        lore=(LoreItem("Bram", "person", ("Bram",), "Clerk.", (1, 3)), LoreItem("Wick", "person", (), "Watch.", (9,))),
    )
    moved = apply_note(EMPTY_STATE, PlacedNote(note, b"k", 100, 103, messages=said))
    assert [one.opened for one in moved.threads.threads] == [102]
    assert [(one.name, one.sources) for one in moved.lore.values()] == [("Bram", (101, 103))], "source or nothing"


def test_snapshots_of_another_form_are_none() -> None:
    for text in ("", "{", "[]", "{}", '{"lore": [], "threads": {}, "current": {}, "people": [], "names": []}'):
        assert parse_state(text) is None
