"""Quotations: word for word, by their own speaker, with their number, within the target."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Image, Message, Role, ToolCall, message
from previously.core.quote_lines import PROMISES, parse_line, renumber
from previously.core.scripts import count_words
from previously.folds.builtin.quotes import quote, quote_whole
from previously.folds.summary import compact_summary
from tests.quotations import faults

SALT = (
    message("user", "I count the sacks twice. Nothing is missing.", speaker="Ketta"),
    message("assistant", '*Dunmore sets down the lamp.* "Forty-one sacks, and 12 marks owed on them, says Harl."'),
    message("user", "Hm."),
    message("assistant", "The tide turns at nine. Old Jory Teague rows across with the ledger in oilcloth."),
)
PATH = dict(enumerate(SALT, 7))


def test_a_line_names_message_and_speaker_and_quotes_whole_sentences() -> None:
    text = quote("", SALT, 7, 100)
    assert not faults(text, PATH)
    lines = [parsed for line in text.split("\n") if (parsed := parse_line(line))]
    assert {(number, speaker) for number, speaker, _ in lines} <= {
        (7, "Ketta"), (8, "Narrator"), (9, "User"), (10, "Narrator"),
    }  # fmt: skip
    assert len(lines) >= 2
    assert '"Forty-one sacks, and 12 marks owed on them, says Harl."' in text


def test_neighbours_stand_together_and_what_is_left_out_shows() -> None:
    said = (message("user", "One two three. Ein zwei drei.\nUn deux trois, quatre cinq.", speaker="Wren"),)
    assert quote("", said, 0, 100) == "#0 Wren: “One two three. Ein zwei drei. Un deux trois, quatre cinq.”"
    apart = (message("user", "Maya hid 40 crowns. !!! Joaquin paid 12 marks.", speaker="Wren"),)
    assert quote("", apart, 0, 100) == "#0 Wren: “Maya hid 40 crowns.” … “Joaquin paid 12 marks.”"


def test_names_and_numbers_come_before_common_words() -> None:
    said = message("user", "It was what it was and it was so. He paid Harl 18 marks.")
    assert quote("", (said,), 0, 9) == "#0 User: “He paid Harl 18 marks.”"


def test_no_stretch_is_empty() -> None:
    said = [message("user", f"Boat number {at} came in with salt and rope.") for at in range(80)]
    numbers = [parsed[0] for line in quote("", said, 0, 150).split("\n") if (parsed := parse_line(line))]
    assert all(any(first <= number < first + 27 for number in numbers) for first in range(0, 80, 27))
    later = [message("user", f"Cart number {at} left with oil and lamps.") for at in range(80)]
    numbers = [
        parsed[0] for line in quote(quote("", said, 0, 150), later, 80, 150).split("\n") if (parsed := parse_line(line))
    ]
    assert all(any(first <= number < first + 54 for number in numbers) for first in range(0, 160, 54))


def test_nothing_is_said_to_be_a_promise() -> None:
    said = ("Do you promise me the boat, Jory?", "I can't promise Harl the 41 sacks.", "I promise Ketta the oilcloth.")
    text = quote("", [message("user", one, speaker="Wren") for one in said], 3, 60)
    assert text.split("\n") == [f"#{at} Wren: “{one}”" for at, one in enumerate(said, 3)]


def test_a_line_of_an_earlier_text_stays_whole_or_goes() -> None:
    first = quote("", SALT, 7, 100)
    second = quote("", [message("user", f"Boat {at} came in with salt for Harl.") for at in range(20)], 20, 100)
    kept = quote_whole([first, second], 60)
    assert kept
    assert count_words(kept) <= 60
    assert set(kept.split("\n")) <= {*first.split("\n"), *second.split("\n")}


def test_a_heading_of_an_earlier_version_is_read_over() -> None:
    listed = "#1 Ketta: “I owe Jory.”\n#2 Ketta: “I promise Jory the boat.”"
    first = f"#1 Ketta: “The tide turns at nine.”\n{PROMISES}\n{listed}"
    second = f"#5 Harl: “Forty-one sacks came in.”\n{PROMISES}\n#6 Harl: “I owe Ketta nine pence.”"
    assert quote_whole([first, second], 100).split("\n") == [
        "#1 Ketta: “The tide turns at nine.”",
        "#2 Ketta: “I promise Jory the boat.”",
        "#5 Harl: “Forty-one sacks came in.”",
        "#6 Harl: “I owe Ketta nine pence.”",
    ]
    assert PROMISES not in quote(first, [message("user", "Boat 7 came in.")], 3, 100)


def test_a_page_wrapped_by_hand_is_quoted_by_whole_sentences() -> None:
    wrapped = (
        "Nothing was said, for she did not know which of them was right, and\n"
        "decided that if she could only get back to Kansas, and to the house of\n"
        "Aunt Em, it did not matter at all. The sign on the gate said"
    )
    sign = "\nGATE\nKEEP OUT"
    text = quote("", (message("assistant", wrapped + sign),), 0, 200)
    assert "to the house of Aunt Em, it did not matter at all." in text
    for cut in ("“Aunt Em", "house of”"):
        assert cut not in text


def test_prose_of_another_writer_loses_whole_sentences_only() -> None:
    prose = "Ketta came to the saltworks in March. She owed the ferryman nine pence. She stayed.\n\nHarl smiled."
    assert quote(prose, SALT[:1], 7, 200).startswith(prose)
    short = quote(prose, SALT, 7, 25)
    assert count_words(short) <= 25
    sentences = [one for line in short.split("\n") if line and not line.startswith("#") for one in line.split(". ")]
    assert sentences
    assert all(one.rstrip(".") in prose for one in sentences)


def test_a_message_without_a_sentence_is_told_by_how_it_begins() -> None:
    assert quote("", (message("user", "!!! ..."),), 4, 50) == "#4 User: “!!! ...”"
    assert quote("", (message("user", "x" * 500),), 4, 50) == f"#4 User: “{'x' * 60}”"
    assert quote("", (Message(Role.USER, (Image("a.png", "a map"),)),), 4, 50) == "#4 User: “(shows a picture: a map)”"
    assert (
        quote("", (Message(Role.ASSISTANT, (ToolCall("1", "roll", "{}"),)),), 4, 50)
        == "#4 Narrator: “(calls roll with {})”"
    )
    assert quote("", (message("user", " "),), 4, 50) == ""
    assert quote("", (), 0, 50) == ""
    assert quote_whole([], 50) == ""


def test_an_endless_sentence_is_quoted_by_a_clause() -> None:
    said = message("user", ", and then ".join(f"boat {at} came in with salt" for at in range(40)))
    text = quote("", (said,), 0, 60)
    assert 0 < count_words(text) <= 60
    assert not faults(text, {0: said})


def test_numbers_move_with_their_messages() -> None:
    text = f"#9 A: “#3 is here.”\n{PROMISES}\n#12 B: “I swear.”\nProse #4 stays."
    assert renumber(text, -2) == f"#7 A: “#3 is here.”\n{PROMISES}\n#10 B: “I swear.”\nProse #4 stays."
    assert renumber(text, 0) == text


def test_a_line_behind_a_cut_is_a_line() -> None:
    text = compact_summary("\n".join(f"#{at} A: “Day {at} came and went.”" for at in range(1, 20)), 200, 150)
    assert text.startswith("... #16 A: ")
    assert parse_line(text.partition("\n")[0]) == (16, "A", ["Day 16 came and went."])
    assert renumber(text, -2).startswith("... #14 A: ")
    assert quote_whole([text], 0) == text.removeprefix("... ")


SENTENCES = st.sampled_from(
    [
        "Ketta counts 41 sacks.", "Hm.", '"I promise," she says. "Tonight."', "*nods*", "Er schuldet Jory 12 Mark.",
        "Дождь шёл над гаванью.", "雨が港に降っている。", "「約束する」と彼は言った。", "one\ntwo",
        "“No” … “maybe”.", "#4 A: “x”", PROMISES, "Dr. Weiss left", "!!!", "z" * 90,
    ]
)  # fmt: skip
TEXTS = st.lists(SENTENCES | st.text(max_size=40), max_size=6).map(" ".join)
SPEAKERS = st.none() | st.sampled_from(["Ketta", "Old  Jory", "A: “B", "太郎"])
MESSAGES = st.builds(
    lambda role, text, name: message(role, text, speaker=name), st.sampled_from(["user", "assistant"]), TEXTS, SPEAKERS
)


@given(st.lists(st.lists(MESSAGES, max_size=8), max_size=4), st.integers(0, 5), st.sampled_from([0, 12, 40, 150]))
def test_every_text_is_made_of_the_story_and_bounded(folds: list[list[Message]], first: int, target: int) -> None:
    text, at, path, links = "", first, dict[int, Message](), list[str]()
    for delta in folds:
        path |= dict(enumerate(delta, at))
        text = quote(text, delta, at, target)
        assert text == quote(links[-1] if links else "", delta, at, target)
        links.append(text)
        at += len(delta)
        assert not faults(text, path)
        assert not target or count_words(text) <= target or text.count("\n") == 0
    whole = quote_whole(links, target or 50)
    assert not faults(whole, path)


@given(TEXTS, TEXTS, st.integers(1, 60))
def test_any_text_before_can_be_gone_on_from(previous: str, said: str, target: int) -> None:
    text = quote(previous, (message("user", said),), 0, target)
    assert bool(text) == bool(previous.strip() or said.strip())
