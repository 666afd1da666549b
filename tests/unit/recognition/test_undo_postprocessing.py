"""What a client has done to messages on their way is undone, where the path tells how."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.align import KnownEntry
from previously.core.digests import match_key
from previously.core.messages import Draft, Image, Message, Role, Text
from previously.recognition.client_list import ClientList, ClientMessage
from previously.recognition.client_marks import ChatNames
from previously.recognition.undo_postprocessing import PathKeys, list_edges, name_speaker, undo_postprocessing
from tests.unit.recognition.lists import ANY_LINES, LINES, MAIN, START, heard, line_of, lines_of, path, said

PATH = path("a Late.", "u One.", "u Two.", "a Sit.", "a Now.", "s The bell rings.", "u I sit.")


def lines(known: Sequence[KnownEntry], *sent: str, names: ChatNames | None = None) -> list[str]:
    return lines_of(undo_postprocessing(heard(*sent, names=names), PathKeys(known)))


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (["a Late.", "u One."], ["a Late.", "u One."]),
        (["a Odalys: Late.", "u Wren: One."], ["a Late.", "u One."]),
        (["a Somebody: Late.", "u One."], ["a Late.", "u One."]),
        (["a Odalys: Now then.", "u Wren: Six."], ["a Now then.", "u Six."]),
        (["a Somebody: Now then.", "u Six: seven."], ["a Somebody: Now then.", "u Six: seven."]),
        (["a Odalys:", "u Wren"], ["a ", "u Wren"]),
    ],
)
def test_names_before_messages(sent: list[str], found: list[str]) -> None:
    assert lines(PATH, MAIN, START, *sent) == found


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (["a Late.", "u One.\n\nTwo.", "a Sit.\n\nNow."], ["a Late.", "u One.", "u Two.", "a Sit.", "a Now."]),
        (["u The bell rings.\n\nI sit."], ["s The bell rings.", "u I sit."]),
        (["u One.\n\n[Style: short.]\n\nTwo.", "a Sit."], ["u One.", "u Two.", "a Sit."]),
        (["u [Style: short.]\n\nOne.", "a Sit."], ["u One.", "a Sit."]),
        (["u One.\n\n[Write the next reply only as Bram.]", "a Sit."], ["u One.", "a Sit."]),
        (["u Never.\n\nHeard.", "a Sit."], ["u Never.\n\nHeard.", "a Sit."]),
        (["a Odalys: Sit.\n\nBram: Now.", "u No."], ["a Sit.", "a Now.", "u No."]),
    ],
)
def test_joined_neighbours_are_those_of_the_path(sent: list[str], found: list[str]) -> None:
    assert lines(PATH, MAIN, *sent) == found


ONE, TWO = "I hang my coat on the nail.", "Then I look for a chair."
LONGER = path("a Late.", f"u {ONE}", f"u {TWO}", "a Sit.")


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (["a Late.", f"u {ONE}\n\n{TWO}\n\nThree."], ["a Late.", f"u {ONE}", f"u {TWO}", "u Three."]),
        ([f"u One, or so.\n\n{TWO}", "a Sit."], ["u One, or so.", f"u {TWO}", "a Sit."]),
        ([f"u {ONE}\n\nTwo, or so.", "a Sit."], [f"u {ONE}", "u Two, or so.", "a Sit."]),
        ([f"u {ONE}\n\n{TWO}\n\nAnd half.", "a Sit."], [f"u {ONE}", f"u {TWO}\n\nAnd half.", "a Sit."]),
    ],
)
def test_of_joined_neighbours_one_may_be_new_or_another_than_it_was(sent: list[str], found: list[str]) -> None:
    assert lines(LONGER, MAIN, *sent) == found


def test_a_message_that_begins_with_common_words_is_not_two() -> None:
    known = path("a Late.", "u ok", "a Sit.", "u Well then.")
    sent = ["a Sit.", "u ok\n\nI sit down."]
    assert lines(known, MAIN, *sent) == sent
    assert lines(known[:2], MAIN, *sent) == ["a Sit.", "u ok", "u I sit down."], "unless nobody has answered them"


def test_a_message_of_several_paragraphs_is_one_where_the_path_has_it_so() -> None:
    known = path("a Late.\n\nSit.", "u One.", "u Two.\n\nThree.")
    assert lines(known, MAIN, "a Late.\n\nSit.", "u One.\n\nTwo.\n\nThree.") == [
        "a Late.\n\nSit.",
        "u One.",
        "u Two.\n\nThree.",
    ]


@pytest.mark.parametrize(
    "sent",
    [
        [MAIN, START, "a Late.", "u One.\n\nWell then."],
        [MAIN, "a Late.", "a Sit.", "u One.\n\nWell then."],
    ],
)
def test_where_neighbours_of_one_role_stand_apart_nothing_was_joined(sent: list[str]) -> None:
    assert lines(PATH, *sent)[-1] == "u One.\n\nWell then."


def test_a_paragraph_that_was_said_before_and_stands_in_the_list_is_not_said_again() -> None:
    known = path("a Late.", "u ok", "a Sit.")
    sent = [MAIN, "a Late.", "u ok", "a Sit.", "u ok\n\nI sit down."]
    assert lines(known, *sent) == sent[1:]


def test_what_is_said_anew_does_not_stand_for_what_was_said_before() -> None:
    known = path("a Late.", "u ok", "a Sit.", "u ...", "a Well?")
    assert lines(known, MAIN, "a Late.", "u ok\n\n...", "a Well?", "u ok") == [
        "a Late.", "u ok", "u ...", "a Well?", "u ok",
    ]  # fmt: skip


def test_what_is_no_text_is_not_taken_apart() -> None:
    message = Message(Role.USER, (Text("One.\n\nLook here."), Image("data:,")))
    pieces = undo_postprocessing(ClientList((), (ClientMessage(0, Draft(message)),)), PathKeys(PATH))
    assert [piece.message for piece in pieces] == [message]


SINGLE = (
    "u Write Odalys's next reply in a fictional chat between Odalys and Wren.\n\nWren: an example.\n\n"
    "[Start a new chat]\n\nOdalys: Late.\n\nWren: One.\n\nOdalys: Sit.\n\nDown.\n\nWren: Two.\n\n[Style: short.]"
)


@pytest.mark.parametrize("known", [path(), path("a Late.", "u One."), path("a Late.", "u One.", "a Sit.\n\nDown.")])
def test_a_list_of_one_message_is_read_by_the_names_in_it(known: list[KnownEntry]) -> None:
    assert lines(known, SINGLE) == ["a Late.", "u One.", "a Sit.\n\nDown.", "u Two."]


def test_in_a_list_of_one_message_a_narrator_of_the_path_is_found() -> None:
    single = SINGLE.replace("Wren: Two.", "The bell rings.\n\nWren: Two.")
    known = path("a Late.", "u One.", "a Sit.\n\nDown.", "s The bell rings.")
    assert lines(known, single) == ["a Late.", "u One.", "a Sit.\n\nDown.", "s The bell rings.", "u Two."]


def test_a_new_message_is_said_by_who_is_in_the_chat() -> None:
    sent = heard(MAIN, START, "a Odalys: Well.", "u I see.")
    assert [piece.message.speaker for piece in undo_postprocessing(sent, PathKeys(()))] == ["Odalys", "Wren"]
    group = ChatNames("Odalys", "Wren", ("Odalys", "Bram"))
    sent = heard(MAIN, START, "a Bram: Well.", "a Who said this?", "u I see.", names=group)
    assert [piece.message.speaker for piece in undo_postprocessing(sent, PathKeys(()))] == ["Bram", None, "Wren"]


@pytest.mark.parametrize("line", ["s Odalys: prompt", "t 1 Odalys: done"])
def test_only_people_have_names(line: str) -> None:
    piece = ClientMessage(0, Draft(said(line)))
    assert name_speaker(piece, ChatNames("Odalys", "Wren")) is piece


def test_a_message_keeps_its_place_in_the_list() -> None:
    found = undo_postprocessing(heard(MAIN, "a Late.", "u One.\n\nTwo.", "a Sit."), PathKeys(PATH))
    assert [piece.index for piece in found] == [1, 2, 2, 3]


def test_a_joined_message_is_looked_up_by_its_first_and_last_paragraphs() -> None:
    found = [one.text for one in list_edges(said("u One.\n\nTwo.\n\nThree."))]
    assert found == ["One.", "Three.", "One.\n\nTwo.", "Two.\n\nThree."]
    assert list(list_edges(said("u One."))) == []


def _joined(sent: Sequence[str]) -> list[str]:
    """As a client that joins neighbours sends them."""
    joined: list[str] = []
    for line in sent:
        if joined and joined[-1][0] == line[0]:
            joined[-1] += f"\n\n{line[2:]}"
        else:
            joined.append(line)
    return joined


SPOKEN = LINES.filter(lambda line: "[" not in line and line[0] != "s")


@given(st.lists(SPOKEN, max_size=8), st.lists(SPOKEN, max_size=8))
def test_no_word_is_lost_or_doubled_and_no_role_changes(stored: list[str], sent: list[str]) -> None:
    for body in (sent, _joined(sent)):
        for front in ([MAIN], [MAIN, START]):
            found = lines(path(*stored), *front, *body)
            assert _joined(found) == _joined(body)


@given(st.lists(SPOKEN, max_size=8))
def test_what_is_joined_of_the_path_is_the_path(stored: list[str]) -> None:
    found = undo_postprocessing(heard(MAIN, *_joined(stored)), PathKeys(path(*stored)))
    assert [match_key(piece.message) for piece in found] == [one.match_key for one in path(*stored)]


@given(st.lists(st.one_of(ANY_LINES, LINES), max_size=8), st.lists(st.one_of(ANY_LINES, LINES), max_size=8))
def test_no_list_and_no_path_break_it(stored: list[str], sent: list[str]) -> None:
    found = heard(*sent)
    for piece in undo_postprocessing(found, PathKeys(path(*stored))):
        assert piece.index in {one.index for one in found.body}
        assert line_of(piece.message)
