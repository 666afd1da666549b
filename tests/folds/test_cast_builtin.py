"""What a character knows without a model."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.cast import MOST_FACTS, Fact, Knowledge, knowledge_of
from previously.core.messages import message
from previously.core.words import count_words
from previously.folds.cast import MOST_SENTENCES, MOST_WORDS, CastNote
from previously.folds.noting import canonical
from previously.text.sentences import whole_sentences

EVENING = (
    message("assistant", "Rain beats on the mill all evening. Maya and Bram sit by the fire and share a loaf."),
    message("assistant", '"I hid the brass key under the third stair of the mill."', speaker="Bram"),
    message("assistant", '"I promise to bring the boat before dawn, Maya."', speaker="Bram"),
    message("user", '"My brother is somewhere in Lethen." *I put another log on the fire.*', speaker="Maya"),
    message("assistant", "Maya found a torn letter behind the clock. The miller's cat washed itself."),
    message("assistant", "Bram told Maya that Joaquin owes the harbour master forty crowns."),
)


def known_of(name: str, *, before: Knowledge = Knowledge(), at: int = 5) -> Knowledge:  # noqa: B008 - a value
    return knowledge_of(CastNote.of(name, EVENING, so_far=canonical(before.as_json()), at=at).builtin().text)


def test_the_summary_is_three_to_five_sentences_of_what_was_witnessed() -> None:
    summary = known_of("Maya").summary
    assert 3 <= len(whole_sentences(summary)) <= MOST_SENTENCES
    assert count_words(summary) <= MOST_WORDS
    assert "Maya" in summary
    assert "Also named so far" not in summary


def test_facts_are_commitments_what_is_told_of_them_and_what_they_were_told() -> None:
    facts = {fact.text: fact.source for fact in known_of("Maya").facts}
    assert facts["Bram promised Maya to bring the boat before dawn."] == "told by Bram"
    assert facts["Bram told Maya that Joaquin owes the harbour master forty crowns."] == "told by Bram"
    assert facts["Maya found a torn letter behind the clock."] == "witnessed"
    assert not any("cat" in text for text in facts)


def test_what_they_say_themselves_is_not_what_they_were_told() -> None:
    assert not any(fact.source == "told by Bram" for fact in known_of("Bram").facts)


def test_what_was_settled_is_let_go() -> None:
    owed = Fact("Bram owes Maya forty crowns.", 2)
    so_far = canonical(Knowledge("Maya waits.", (owed, Fact("Bram owns the mill", 3))).as_json())
    scene = "Fog lay on the harbour while they watched the boats come in. Bram paid Maya the forty crowns."
    paid = [message("assistant", scene)]
    facts = knowledge_of(CastNote.of("Maya", paid, so_far=so_far, at=9).builtin().text).facts
    assert owed not in facts
    assert Fact("Bram owns the mill", 3) in facts


def test_nothing_new_leaves_what_is_known() -> None:
    before = Knowledge("Maya waits.", (Fact("Bram owns the mill", 3),))
    for quiet in ((), (message("system", "Be brief."),), (message("user", "  "),)):
        note = CastNote.of("Maya", quiet, so_far=canonical(before.as_json()), at=9)
        assert knowledge_of(note.builtin().text) == before


def test_the_same_messages_again_add_nothing() -> None:
    once = known_of("Maya")
    assert known_of("Maya", before=once, at=9).facts == once.facts


def test_the_bounds_hold_over_many_updates() -> None:
    so_far = ""
    for at in range(12):
        said = message("assistant", f'"I promise to bring you chest {at + 20}, Maya, before dawn."', speaker="Bram")
        so_far = CastNote.of("Maya", [said], so_far=so_far, at=at).builtin().text
    facts = knowledge_of(so_far).facts
    assert len(facts) == MOST_FACTS
    assert "31" in facts[-1].text
    assert all("20" not in fact.text for fact in facts)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["Maya", "Bram", None]), st.text(max_size=120)), max_size=5),
    st.text(max_size=40),
)
def test_it_is_total_and_within_its_bounds(lines: list[tuple[str | None, str]], so_far: str) -> None:
    note = CastNote.of("Maya", [message("assistant", text, speaker=who) for who, text in lines], so_far=so_far, at=1)
    made = note.builtin()
    known = knowledge_of(made.text)
    assert made.text == canonical(known.as_json())
    assert len(known.facts) <= MOST_FACTS
    assert len(whole_sentences(known.summary)) <= MOST_SENTENCES
    assert note.builtin() == made
