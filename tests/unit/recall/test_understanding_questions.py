"""Questions: whose words are meant, what is looked up, and what is too much or too little."""

from __future__ import annotations

import pytest

from previously.core.errors import BadInput
from previously.recall.query import (
    LONGEST_QUERY,
    MOST_QUESTIONS,
    MOST_TERMS,
    find_mentions,
    find_named,
    join_question,
    split_questions,
    split_speaker,
    understand,
)

CREW = ("Mara Voss", "Old Bram", "Will", "José", "田中", "Narrator")


def test_a_named_speaker_is_taken_out_of_the_words() -> None:
    query = understand("What did Mara promise?", speakers=CREW)
    assert query.speakers == ("Mara Voss",)
    assert query.terms == ("promis",)


def test_several_speakers() -> None:
    assert set(understand("What did Mara and Bram's friend say?", speakers=CREW).speakers) == {"Mara Voss", "Old Bram"}


def test_a_name_that_is_also_a_word_needs_its_capital() -> None:
    assert understand("Where is Will going?", speakers=CREW).speakers == ("Will",)
    assert understand("where will the boat land?", speakers=CREW).speakers == ()


@pytest.mark.parametrize("text", ["What did Jose cook?", "What did JOSÉ cook?"])
def test_names_with_accents(text: str) -> None:
    assert understand(text, speakers=CREW).speakers == ("José",)


def test_names_without_spaces_around_them() -> None:
    query = understand("田中さんは何を約束した？", speakers=CREW)
    assert query.speakers == ("田中",)
    assert "約束" in query.terms


def test_the_first_person_is_whoever_asks() -> None:
    query = understand("What did I promise Mara?", speakers=CREW, asker="Old Bram")
    assert query.speakers == ("Old Bram",)
    assert "mara" in query.terms
    assert understand("What is my favourite tea?", asker="Old Bram").speakers == ("Old Bram",)
    assert understand("What did I promise Mara?", speakers=CREW).speakers == ("Mara Voss",)


def test_the_second_person_is_whoever_is_asked() -> None:
    assert understand("What did you suggest for dinner?", asker="A", asked="B").speakers == ("B",)
    assert understand("Did I tell you about it?", asker="A", asked="B").speakers == ("A",)
    assert understand("I told the crew what you said.", asker="A", asked="B").speakers == ()


ADDRESSED = [
    ("Mara, who has the key?", "who has the key?"),
    ("Who has the key, Mara?", "Who has the key?"),
    ("Do you remember, Mara Voss, who has the key?", "Do you remember who has the key?"),
    ("Hey Mara, who has the key?", "Hey, who has the key?"),
    ("“Mara,” she says, “who has the key?”", "“” she says, “who has the key?”"),
    ("*She looks up.* Mara! Who has the key?", "*She looks up.* Who has the key?"),
    ("¿José, recuerdas la llave?", "¿recuerdas la llave?"),
    ("Weißt du noch, Bram, wer den Schlüssel hat?", "Weißt du noch, wer den Schlüssel hat?"),
    ("田中さん、鍵はどこ？", "鍵はどこ？"),
    ("鍵はどこ、田中？", "鍵はどこ？"),
]


@pytest.mark.parametrize(("spoken_to", "plain"), ADDRESSED)
def test_who_is_addressed_is_not_sought(spoken_to: str, plain: str) -> None:
    query = understand(spoken_to, speakers=CREW)
    assert query.speakers == ()
    assert query == understand(plain, speakers=CREW)


@pytest.mark.parametrize(
    ("text", "sought"),
    [
        ("What did Mara say about the cub?", ("Mara Voss",)),
        ("Mara", ("Mara Voss",)),
        ("What did Bram, Mara, and José promise?", ("Old Bram", "Mara Voss", "José")),
        ("Who stole it, Bram or José?", ("Old Bram", "José")),
        ("Mara, what did Bram say?", ("Old Bram",)),
        ("What about Mara, the captain?", ("Mara Voss",)),
    ],
)
def test_who_is_named_is_sought(text: str, sought: tuple[str, ...]) -> None:
    assert understand(text, speakers=CREW).speakers == sought


def test_you_is_who_is_addressed() -> None:
    assert understand("Mara, what did you promise?", speakers=CREW, asked="Old Bram").speakers == ("Mara Voss",)
    asked = "Mara, do you remember what you did to the cub?"  # what others told of it counts as much
    assert understand(asked, speakers=CREW, asked="Mara Voss").speakers == ()


def test_a_text_of_nothing_but_names_is_read_in_no_time() -> None:
    text = "Mara, Bram; " * 1_400
    assert len(find_mentions(text, CREW)) == 2_800
    assert set(find_named(text, CREW)) == {"Mara Voss", "Old Bram"}


def test_titles_and_roles_are_no_names() -> None:
    assert split_speaker("Captain Ahab") == ("ahab",)
    assert split_speaker("User") == ()
    assert split_speaker("SAM and LIAM") == ("sam", "liam")


@pytest.mark.parametrize("text", ["", "   ", "?!…", "what is it?", "\x00", "()\"'*"])
def test_nothing_to_search_for(text: str) -> None:
    query = understand(text, speakers=CREW)
    assert query.empty
    with pytest.raises(BadInput, match="nothing to search for"):
        query.checked()


def test_a_megabyte_is_cut_to_its_front_and_its_end() -> None:
    query = understand("opening " + "filler%d " * 10 + "x " * 500_000 + " lighthouse")
    assert {"open", "lighthous"} <= set(query.terms)
    many = understand(" ".join(f"word{number}" for number in range(200_000)))
    assert len(many.terms) <= MOST_TERMS
    assert LONGEST_QUERY < 1_000_000


def test_days_are_understood_with_the_rest() -> None:
    query = understand("What did Mara say in May 2023?", speakers=CREW)
    assert query.days and query.speakers == ("Mara Voss",)


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("Bram, Mara and José swore what?", []),
        ("Bram, and Mara, swore what?", []),
        ("Bram, what did Mara and José swear?", ["Bram"]),
        ("Bram, Mara lied to me.", ["Bram"]),
    ],
)
def test_the_first_of_a_list_is_not_spoken_to(text: str, called: list[str]) -> None:
    mentions = find_mentions(text, ("Bram", "José", "Mara"))
    assert [name for mention in mentions if mention.addressed for name in mention.names] == called


def test_a_title_is_a_name_where_there_is_no_other() -> None:
    assert split_speaker("Captain Vane") == ("vane",)
    assert split_speaker("Captain") == ("captain",)
    assert split_speaker("Narrator") == ()


@pytest.mark.parametrize(
    ("text", "asked", "aside"),
    [
        ("I burnt the soup. Who has the brass key? It smells.", {"brass", "kei"}, {"burn", "soup", "smell"}),
        ("Pim, who has the brass key?", {"brass", "kei"}, {"pim"}),
        ("Do you know, Pim, who has the brass key?", {"know", "brass", "kei"}, {"pim"}),
        ("Who has the brass key, Pim?", {"brass", "kei"}, {"pim"}),
        ("The brass key turned in the lock. Nobody spoke.", {"brass", "kei", "turn", "lock", "nobodi", "speak"}, set()),
    ],
)
def test_what_stands_beside_a_question(text: str, asked: set[str], aside: set[str]) -> None:
    query = understand(text)
    assert query.aside == aside
    assert set(query.terms) - query.aside == asked


def test_small_words_of_another_language_are_not_looked_up() -> None:
    query = understand("Wer hat am Ende den Schlüssel der Schleuse, und was ist mit dem Kästchen geschehen?")
    assert not {"hat", "den", "am", "was"} & set(query.terms)
    assert "schlussel" in query.terms


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Who has the key?", ["Who has the key?"]),
        ("We sat down. Nobody spoke.", ["We sat down. Nobody spoke."]),
        (
            "Good soup! Who has the key? I saw Bram. Where is the boat? Never mind.",
            ["Good soup! Who has the key?", "I saw Bram. Where is the boat? Never mind."],
        ),
        ("Who has the key? Really?", ["Who has the key?", "Really?"]),
        ("鍵はどこ？船はどこ？", ["鍵はどこ？", "船はどこ？"]),
        ("", [""]),
    ],
)
def test_questions_of_a_message_are_asked_one_by_one(text: str, parts: list[str]) -> None:
    assert split_questions(text) == parts


def test_a_message_of_many_questions_is_cut_into_few() -> None:
    parts = split_questions(" ".join(f"Who has key {number}?" for number in range(50)))
    assert len(parts) == MOST_QUESTIONS
    assert "key 49" in parts[-1]


@pytest.mark.parametrize(
    ("question", "asks_itself"), [("And then?", False), ("Where is it?", False), ("And the lantern?", True)]
)
def test_a_question_of_few_words_is_about_the_sentence_before_it(question: str, asks_itself: bool) -> None:
    joined, asking = join_question("It rained. Mara hid the lantern under the stair.", question)
    assert joined == f"Mara hid the lantern under the stair.\n{question}"
    assert asking is asks_itself


def test_a_question_after_nothing_stands_alone() -> None:
    assert join_question(" ", "And then?") == ("And then?", False)
