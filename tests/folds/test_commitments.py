"""What is promised, owed, secret, due or threatened is found, told by itself, and let go when it is settled."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Message, message
from previously.core.words import count_words
from previously.folds.builtin.names import NameBook
from previously.folds.commitments import LONGEST_WORDS, MOST, commitments_after, glance, openings, put_back, settling
from previously.folds.commitments.people import People
from previously.folds.commitments.vows import vow_in, will_in
from tests.folds.commitment_sentences import ABROAD, IDLE, PLAIN

FOG = message("assistant", "The fog lay over the harbour and the old clerk counted the boats.", speaker="Tomas")


def said(text: str, by: str | None = "Mara") -> Message:
    return message("user", text, speaker=by)


@pytest.mark.parametrize("sentence", PLAIN)
def test_a_plain_commitment_is_found(sentence: str) -> None:
    found = commitments_after((), [FOG, said(sentence)])
    assert len(found) == 1
    assert count_words(found[0]) <= LONGEST_WORDS


@pytest.mark.parametrize("sentence", IDLE)
def test_what_only_sounds_like_one_is_not(sentence: str) -> None:
    assert commitments_after((), [FOG, said(sentence)]) == ()


@pytest.mark.parametrize("language", ABROAD)
def test_other_languages_are_read_too(language: str) -> None:
    committing, idle = ABROAD[language]
    for speaker, sentence in committing:
        found = commitments_after((), [said(sentence, speaker)])
        assert len(found) == 1, sentence
        assert sentence.rstrip(".。") in found[0]
    for speaker, sentence in idle:
        assert commitments_after((), [said(sentence, speaker)]) == (), sentence


@pytest.mark.parametrize(
    ("spoken", "told"),
    [
        ("I promise I will bring the lantern back, Tomas.", "Mara promised Tomas to bring the lantern back."),
        ("I vow that I will never drink again.", "Mara vowed never to drink again."),
        ("I swear I will find your brother.", "Mara swore to find Tomas's brother."),
        ("I owe Odalys forty crowns.", "Mara owes Odalys forty crowns."),
        ("I promise my sister will wait.", 'Mara promised: "I promise my sister will wait."'),
        ("I'll wait at the mill. I promise.", 'Mara promised: "I\'ll wait at the mill. I promise."'),
        ("The pearl is glass. Tell no one.", 'Mara said: "The pearl is glass. Tell no one."'),
        ('*She takes the oar.* "I swear to row you home, Tomas."', "Mara swore to row Tomas home."),
        ('"I promise I will mend the net," she says.', "Mara promised to mend the net."),
        ("*She promises to guard the well.*", "Mara promises to guard the well."),
    ],
)
def test_the_first_person_becomes_the_speaker(spoken: str, told: str) -> None:
    assert commitments_after((), [FOG, said(spoken)]) == (told,)


def test_a_promise_that_was_asked_for() -> None:
    asked = [said("Promise me you will feed the goats.", "Mara"), said("I promise.", "Tomas")]
    assert commitments_after((), asked) == ('Tomas promised what Mara asked: "Promise me you will feed the goats."',)
    assert commitments_after((), [FOG, said("I promise.")]) == ()


def test_a_speaker_without_a_name_is_the_player() -> None:
    assert commitments_after((), [said("I owe the ferryman six coins.", None)]) == (
        'The player said: "I owe the ferryman six coins."',
    )


@pytest.mark.parametrize(
    ("opens", "settles"),
    [
        ("I promise I will bring the lantern back, Tomas.", "*Mara hands the lantern back to Tomas.*"),
        ("I promise I will bring the brass lantern back before winter, Tomas.", "I brought the brass lantern back."),
        ("I owe Tomas forty crowns.", "Mara paid Tomas the forty crowns."),
        ("I owe Tomas forty crowns.", "*Mara counts out the coins.* The debt to Tomas is paid."),
        ("I promise to repair the chapel roof, Tomas.", "Mara kept her word to Tomas and the chapel roof is finished."),
        ("Nobody must know that Wren is the heir.", "Tomas told the whole town that Wren is the heir."),
        ("The letter has to reach Corrin before the first snow.", "Mara delivered the letter to Corrin."),
        ("I swear to guard your gate, Tomas.", "Tomas released Mara from her oath."),
    ],
)
def test_what_is_settled_is_let_go(opens: str, settles: str) -> None:
    opened = commitments_after((), [FOG, said(opens)])
    assert len(opened) == 1
    assert commitments_after(opened, [FOG, said(settles)]) == ()
    assert commitments_after((), [FOG, said(opens), said(settles)]) == ()


@pytest.mark.parametrize(
    "idle",
    [
        "Mara has not brought the lantern back yet.",
        "Will Mara ever bring the lantern back?",
        "When Mara brings the lantern back, Tomas will be glad.",
        "Odalys brought the soup back to the kitchen.",
        "Mara paid the ferryman and sat down beside Tomas.",
        "The lantern is on Mara's mind.",
        "Mara told Tomas about the weather.",
    ],
)
def test_what_is_not_settled_stays(idle: str) -> None:
    opened = commitments_after((), [FOG, said("I promise I will bring the lantern back, Tomas.")])
    assert commitments_after(opened, [FOG, said(idle)]) == opened


def test_the_same_done_for_someone_else_settles_nothing() -> None:
    opened = commitments_after((), [FOG, said("I swear I will mend the needle for Nimstone.")])
    assert commitments_after(opened, [FOG, said("I mended the violin for Jassfold, as I promised.")]) == opened
    assert commitments_after(opened, [FOG, said("I mended the needle for Nimstone, as I promised.")]) == ()


def test_the_same_again_is_one() -> None:
    twice = [said("I promise I will bring the lantern back, Tomas."), FOG, said("I promise to bring back the lantern.")]
    assert commitments_after((), twice) == ("Mara promised Tomas to bring the lantern back.",)
    sums = [said("I owe Tomas forty crowns."), said("I owe Tomas sixty crowns.")]
    assert len(commitments_after((), sums)) == 2


def test_at_most_so_many_the_oldest_go_first() -> None:
    trades = "anvil barrel candle drum easel flute goblet hammer inkwell jug kettle ladder mirror needle oar".split()
    places = "abbey bridge cellar".split()
    told = [said(f"I promise to carry the {thing} to the {place}.") for place in places for thing in trades]
    found = commitments_after((), told)
    assert len(found) == MOST
    assert found[-1] == "Mara promised to carry the oar to the cellar."


def test_a_long_sentence_is_cut_to_what_commits() -> None:
    long = (
        "The wind had been in the wrong quarter since Tuesday and the nets were full of weed, but I promise you "
        "that I "
        "will carry the silver bell to the abbey, and after that we can talk about the goats and the hay and the "
        "roof."
    )
    (found,) = commitments_after((), [FOG, said(long)])
    assert count_words(found) <= LONGEST_WORDS
    assert "silver bell to the abbey" in found


def test_an_empty_story_has_none() -> None:
    assert commitments_after((), ()) == ()
    assert commitments_after(("Mara owes Tomas six coins.",), ()) == ("Mara owes Tomas six coins.",)
    assert commitments_after(("", "  "), [message("system", "I promise to be good.")]) == ()


def test_put_back_adds_prose_at_the_end() -> None:
    assert put_back("Mara left.", ["Mara owes Tomas six coins."]) == "Mara left. Mara owes Tomas six coins."
    assert put_back("", ["Mara owes Tomas six coins."]) == "Mara owes Tomas six coins."
    assert put_back("灯が消えた。", ["マラは誓った。"]) == "灯が消えた。マラは誓った。"
    assert put_back("Mara left.", []) == "Mara left."


EVERY = [*((None, text) for text in PLAIN), *(pair for found, _ in ABROAD.values() for pair in found)]


@given(st.lists(st.tuples(st.sampled_from(["Mara", "マラ", None]), st.text(max_size=200)), max_size=4))
def test_any_text_can_be_read(told: list[tuple[str | None, str]]) -> None:
    read = [message("user", text, speaker=by) for by, text in told]
    found = commitments_after(("Mara owes Tomas six coins.",), read)
    assert len(found) <= MOST
    assert all(one.strip() for one in found)


CUES = (
    "I we you he she they promise promised swear swore sworn vow pledge word oath my our give gave made took back pay "
    "repay owe owes debt due lent borrowed from bet return exchange for I'll we'll will shall won't must has have need "
    "needs is are to be paid by before until till on at the third bell night Friday dawn three days or else if unless "
    "kill hang threatens not never don't no one nobody none tell told know learn find out keep secret between us "
    "yourself myself let say a soul anyone that this it Tomas Mara Lethen lantern kept done now as here here's out "
    "home over said last even good everyone knows delivered settled forgave released found MYSELF Word schulde rendu "
    "долг été ’s — longer agreed marry help deliver expires honour life solemnly"
).split()
SENTENCES = st.lists(st.sampled_from(CUES), min_size=1, max_size=12).map(" ".join)


@given(st.one_of(SENTENCES, st.sampled_from([text for _, text in EVERY])))
def test_a_first_look_shuts_nothing_out(text: str) -> None:
    text = text.replace("’", "'").strip()
    low = text.lower()
    every = (
        vow_in(text, low)
        or will_in(low)
        or openings._threat(text, low)
        or openings._secret(text, low)
        or openings._debt(text, low)
        or openings._deadline(low, -1)
    )
    found = every if every and openings._HINT.search(low) else None
    assert openings.opening_of(text, english=True) == found
    signs = glance.signs_of(low)
    assert openings.opening_of(text, english=True, signs=signs) == found
    if settling._DONE.search(low) or settling._SURELY.search(low):
        assert glance.may_be_done(signs) or settling.may_be_done_abroad(low)


@given(st.lists(SENTENCES, max_size=6), SENTENCES)
def test_names_asked_for_late_are_the_same(read: list[str], asked: str) -> None:
    people = People(["Mara", "Lady Odalys Renn"], [*read, asked])
    book = NameBook((), ["Mara", "Lady Odalys Renn"])
    for text in (*read, asked):
        book.read(text)
    terms = frozenset().union(*(People.terms_of(name) for name in book.runs_in(asked)))
    assert people.terms_in(asked) == terms
    one = settling.known(asked)
    assert people.surely_in(one.capitals) <= terms
    assert terms & one.about <= one.nameable


def test_odd_letters_in_a_number_are_read_too() -> None:
    assert len(commitments_after((), [FOG, said("I owe Odalys \u017fix crowns.")])) == 1


def test_what_is_open_at_the_end_of_the_sample_story() -> None:
    lines = (files("previously.demo") / "harbour.jsonl").read_text("utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    messages = [message(line["role"], line["content"], speaker=line["name"]) for line in told]
    held: tuple[str, ...] = ()
    for start in range(0, len(messages), 40):
        held = commitments_after(held, messages[start : start + 40])
    facts = json.loads((Path(__file__).parents[2] / "examples" / "harbour-facts.json").read_text("utf-8"))
    telling = (
        "turn the handle",
        "learn to swim",
        "inquest sits",
        "pan",
        "thousand one hundred and fifty",
        "forty",
        "midsummer",
        "sixteen pence",
        "Two crowns and six",
    )
    assert len(telling) == sum(fact["open"] for fact in facts)
    assert [words for words in telling if not any(words in one for one in held)] == []
    assert len(held) <= 26


KEY = "Alice promised Bob to return the key."


@pytest.mark.parametrize(
    ("opens", "settles"),
    [
        (KEY, "Alice returned the key to Bob, and so she kept her promise."),
        (KEY, "Alice kept her promise to Bob."),
        (KEY, "At last Alice kept her promise to return the key."),
        (KEY, "Alice broke her promise."),
        (KEY, "Alice gave Bob the key."),
        ("Alice owes Bob forty crowns.", "Alice paid her debt."),
        ("Alice owes Bob forty crowns.", "Alice paid the debt to Bob."),
    ],
)
def test_plain_words_settle_a_tie_that_was_told(opens: str, settles: str) -> None:
    assert commitments_after((), [told(opens)]) == (opens,)
    assert commitments_after((opens,), [told(settles)]) == ()


@pytest.mark.parametrize(
    "idle",
    [
        "Alice returned the key to Carol.", "Alice returned the book to Bob.", "Carol kept her promise.",
        "Alice has not kept her promise.", "Alice kept her promise to Carol.", "Alice never broke her promise.",
        "If Alice kept her promise, all would be well.", "Alice kept her promise to bake the bread.",
        "Alice kept her promise in mind.", "Alice hoped that Bob kept his promise.", "Alice paid her debt.",
        "Did Alice keep her promise?",
    ],
)  # fmt: skip
def test_words_that_are_less_plain_settle_nothing(idle: str) -> None:
    assert commitments_after((KEY,), [told(idle)]) == (KEY,)


def test_of_two_promises_neither_is_settled_by_the_word_alone() -> None:
    both = (KEY, "Alice promised Carol to mend the roof.")
    assert commitments_after(both, [told("Alice kept her promise.")]) == both
    assert commitments_after(both, [told("Alice kept her promise to Carol.")]) == both[:1]


def told(text: str) -> Message:
    return message("assistant", text)
