"""The state as one person may know it."""

from __future__ import annotations

from collections.abc import Collection

from previously.core.messages import Message, Role, Text
from previously.core.note import (
    Aspect,
    LearntItem,
    LoreItem,
    Note,
    StateItem,
    ThreadChange,
    ThreadItem,
    WishItem,
    said_key,
    thread_id,
)
from previously.lore.reader_state import apply_note_for, choose_key_facts, collect_facts
from previously.lore.state import EMPTY_STATE, PlacedNote, State

DEBT = "Ada to Finn: ten crowns"
KEY = b"first"


def known(known: Collection[int], *notes: Note, name: str = "Finn") -> State:
    """What somebody knows of notes of ten messages each."""
    state = EMPTY_STATE
    said = (Message(Role.USER, (Text("hm"),)),) * 10
    for number, note in enumerate(notes):
        noted = PlacedNote(note, KEY if not number else b"later", number * 10, number * 10 + 9, messages=said)
        state = apply_note_for(state, noted, lambda at: at in known, lambda one: one == name)
    return state


def test_an_item_is_known_to_those_who_witnessed_its_message() -> None:
    note = Note(
        threads=(ThreadItem(ThreadChange.NEW, DEBT, 2),),
        state=(StateItem("Knife", Aspect.HOLDER, "Finn", 3), StateItem("Story", Aspect.TIME, "noon")),
        learnt=(LearntItem(("Ada", "Finn"), "Ada is the heir", 5), LearntItem(("Ada",), "The tower burns", 5)),
        wishes=(WishItem("no romance", 6),),
    )
    state = known({2, 6}, note)
    assert [one.text for one in state.threads.threads] == [DEBT]
    assert state.current.items == (), "a line without a message is of the whole span"
    assert [one.text for one in state.wishes] == ["no romance"]
    assert {name: [fact.text for fact in one.facts] for name, one in state.learnt.items()} == {
        "finn": ["Ada is the heir"]
    }
    assert known(range(10), note).current.items[-1].value == "noon"


def test_a_thread_has_the_newest_words_they_witnessed_and_is_settled_where_they_saw_it() -> None:
    ident = thread_id(KEY, DEBT)
    opened = Note(threads=(ThreadItem(ThreadChange.NEW, DEBT, 2),))
    reworded = Note(threads=(ThreadItem(ThreadChange.NOW, "Ada to Finn: five crowns", 4, ident),))
    settled = Note(threads=(ThreadItem(ThreadChange.SETTLED, "Ada paid", 5, ident),))
    (one,) = known({2}, opened, reworded, settled).threads.threads
    assert (one.text, one.settled) == (DEBT, None)
    (one,) = known({2, 14}, opened, reworded, settled).threads.threads
    assert (one.id, one.text, one.opened, one.settled) == (ident, "Ada to Finn: five crowns", 2, None)
    (one,) = known({2, 14, 25}, opened, reworded, settled).threads.threads
    assert (one.settled, one.outcome) == (25, "Ada paid")
    nothing = known({14, 25}, opened, reworded, settled).threads
    assert nothing.threads == () and nothing.unmatched == (), "new words tell what was opened without them"


def test_a_thread_is_for_those_between_whom_it_is() -> None:
    """Whoever writes a note knows all: that two others keep silent is no news to the one at the same table."""
    kept = Note(threads=(ThreadItem(ThreadChange.NEW, "Ada to Tess: not to tell Finn who his parents are", 2),))
    assert not known({2}, kept).threads.threads, "it is kept from him"
    assert known({2}, kept, name="Tess").threads.threads
    asked = Note(threads=(ThreadItem(ThreadChange.NEW, "Where are the peppermints? Ada and Finn know.", 2),))
    assert not known({2}, asked).threads.threads, "it is between nobody"


def test_what_sums_up_is_for_those_who_knew_what_it_sums_up() -> None:
    stolen = Note(
        state=(StateItem("Crumb", Aspect.HOLDS, "a stolen censer", 3), StateItem("Key", Aspect.HOLDER, "Ada", 3))
    )
    summed = Note(
        state=(StateItem("Crumb", Aspect.HOLDS, "a censer, 60 silver", 4), StateItem("Key", Aspect.HOLDER, "Finn", 4))
    )
    assert [one.text for one in known({14}, stolen, summed).current.standing] == ["Key / holder: Finn"]
    assert len(known({3, 14}, stolen, summed).current.standing) == 2


def test_an_entry_is_known_to_those_who_witnessed_all_it_comes_from() -> None:
    def of(content: str, *at: int) -> Note:
        return Note(lore=(LoreItem("Ilse Marrow", "person", ("Ilse",), content, at),))

    assert not known({1}, of("A clockmaker.", 1, 2)).lore
    assert known({1, 2}, of("A clockmaker.", 1, 2)).lore
    assert not known({1}, of("A clockmaker.")).lore, "without messages it comes from the whole span"
    whole = known({1, 2}, of("A clockmaker.", 1, 2), of("A clockmaker who was paid by Hale.", 5))
    assert [one.content for one in whole.lore.values()] == ["A clockmaker."], "the newer one is not theirs"
    later = known({15}, of("A clockmaker.", 1), Note(lore=(LoreItem("Ilse", "person", (), "Clockmaker, paid.", (5,)),)))
    assert not later.lore, "it was written in sight of what they did not witness"


def test_a_description_is_not_theirs_where_what_it_was_written_in_sight_of_was_not() -> None:
    shown = LoreItem("Ferry", "place", (), "Where Ada hid.", (5,), said_key("Where Finn waited."))
    assert not known({15}, Note(), Note(lore=(shown,))).lore, "what it was shown was taken back since"
    first = Note(lore=(LoreItem("Ferry", "place", (), "Where Finn waited.", (1,)),))
    assert [one.content for one in known({1, 15}, first, Note(lore=(shown,))).lore.values()] == ["Where Ada hid."]


def test_facts_are_what_was_told_then_what_is_open_then_how_things_stand_then_what_they_are() -> None:
    note = Note(
        threads=(ThreadItem(ThreadChange.NEW, DEBT, 2), ThreadItem(ThreadChange.NEW, "Finn: who rang for him?", 4)),
        state=(StateItem("Knife", Aspect.HOLDER, "Finn", 3),),
        learnt=(LearntItem(("Finn",), "Ada is the heir", 5),),
        lore=(LoreItem("Ilse", "person", (), "A clockmaker.", (1, 6)),),
    )
    found = collect_facts(known(range(10), note), lambda one: one == "Finn")
    assert [(one.fact.text, one.fact.since, one.fact.source) for one in found] == [
        ("Ada is the heir", 5, "told"),
        ("Finn: who rang for him?", 4, "witnessed"),
        (DEBT, 2, "witnessed"),
        ("Knife / holder: Finn", 3, "witnessed"),
        ("Ilse: A clockmaker.", 6, "witnessed"),
    ]
    many = Note(state=tuple(StateItem(f"Thing {at}", Aspect.PLACE, "the mill", at % 10) for at in range(20)))
    assert len(choose_key_facts(collect_facts(known(range(10), many), lambda _: False))) == 10
