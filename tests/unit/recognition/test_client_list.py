"""A client's list taken apart: what is in front, what is the story's, what is behind; and what it is sent for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Draft, Message, Role, Text, ToolResult
from previously.recognition.client_list import Ask, ClientList, infer_ask, is_lone_task, parse_client_list
from previously.recognition.client_marks import ChatNames
from previously.recognition.commands import MARK, find_command_messages
from tests.unit.recognition.lists import (
    ANY_LINES,
    AS_BRAM,
    CONTINUE,
    IMPERSONATE,
    LINES,
    MAIN,
    START,
    drafts,
    heard,
    lines_of,
)

STYLE = "s [Style: short sentences.]"
QUIET = "s One word for the weather."
SINGLE = (
    "u Write Odalys's next reply in a fictional chat between Odalys and Wren.\n\n[Start a new chat]\n\nOdalys: Late."
)


def parts(found: ClientList) -> tuple[int, int, int]:
    return len(found.front), len(found.body), len(found.behind)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([MAIN, START, "a Late.", "u Yes."], (2, 2, 0)),
        ([MAIN, START, "a Late.", "u Yes.", "a Sit.", CONTINUE], (2, 3, 1)),
        ([MAIN, START, "a Late.", "u Yes.", STYLE, "a Sit.", "u No."], (2, 5, 0)),
        ([MAIN, "u [Start a new chat]", "a Late.", "u Yes."], (2, 2, 0)),
        ([MAIN, START, "a Late.", "u Yes.", AS_BRAM], (2, 2, 1)),
        ([MAIN, START, "a Late.", STYLE, IMPERSONATE], (2, 1, 2)),
        ([MAIN, START, "a Late.", "u " + CONTINUE[2:]], (2, 1, 1)),
        (["u ### Task:\nWrite a title.\n<chat_history>\nUSER: Hello\n</chat_history>"], (0, 0, 1)),
        ([MAIN, START], (2, 0, 0)),
        (["u Hello"], (0, 1, 0)),
        (["u [Start a new chat]"], (1, 0, 0)),
        ([SINGLE], (0, 1, 0)),
        ([], (0, 0, 0)),
    ],
)
def test_front_body_and_behind(lines: list[str], expected: tuple[int, int, int]) -> None:
    assert parts(heard(*lines)) == expected


EXAMPLES = [
    "u Mend hello().",
    "a Mended.",
    "u I switched to a new code base. Please don't consider the above files.",
    "a Ok.",
]
RULES = ["u Here are some READ ONLY files, provided for your reference.\n\nAGENTS.md", "a Ok, I will use these files."]
ADDED = [
    "u I have *added these files to the chat* so you can go ahead.",
    "a Ok, any changes I propose will be to those.",
]
REMINDER = "\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block must use this form."


def test_files_that_a_client_shows_are_no_part_of_the_story() -> None:
    """As aider sends them: examples, files to read, the talk, files to change, the newest words with rules behind."""
    found = heard("s Act as an expert.", *EXAMPLES, *RULES, "u Begin.", "a Begun.", *ADDED, f"u Go on.{REMINDER}")
    assert parts(found) == (7, 5, 1)
    assert lines_of(found.body) == ["u Begin.", "a Begun.", *ADDED, "u Go on."]
    assert found.attached == {9, 10}
    assert lines_of(found.behind) == [f"u {REMINDER.strip()}"]
    first = heard("s Act as an expert.", *EXAMPLES, *RULES, *ADDED, f"u Begin.{REMINDER}")
    assert (parts(first), first.attached) == ((9, 1, 1), frozenset())


@pytest.mark.parametrize(
    "lines",
    [
        [*EXAMPLES[:2], "u Go on."],
        [RULES[0], "a I read them all, and here is what I think of the first.", "u Go on."],
    ],
)
def test_what_people_say_to_each_other_is_the_story(lines: list[str]) -> None:
    assert parts(heard("s Act as an expert.", *lines)) == (1, len(lines), 0)


COMPACT = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary."


def test_a_request_for_a_summary_of_the_list_stands_behind_it() -> None:
    work = ["u Mend the quay.", "c 1 look", "t 1 a quay", "a Mended."]
    asked = heard("s Act.", *work, f"u {COMPACT}")
    assert (parts(asked), asked.compacts) == ((1, 4, 1), True)
    with_result = Message(Role.USER, (ToolResult("2", "a pier"), Text(COMPACT)))
    glued = parse_client_list([*drafts("s Act.", *work, "c 2 look"), Draft(with_result)])
    assert (parts(glued), glued.compacts) == ((1, 6, 1), True)
    assert glued.body[-1].message.parts == (ToolResult("2", "a pier"),)
    assert glued.behind[0].index == glued.body[-1].index
    assert not heard("s Act.", f"u {COMPACT}").compacts, "there is nothing to summarise"
    assert not heard("s Act.", *work, "u Now create a summary of the quay.").compacts


def test_commands_and_their_answers_are_in_none_of_them() -> None:
    found = heard(MAIN, "a Late.", "u //recap", f"a {MARK} Nothing yet.", "u Yes.", "u //why")
    assert lines_of(found.body) == ["a Late.", "u Yes."]
    assert [piece.index for piece in found.body] == [1, 4]


@given(st.lists(st.one_of(LINES, ANY_LINES, st.sampled_from((MAIN, START, CONTINUE, AS_BRAM, SINGLE))), max_size=12))
def test_every_message_is_in_exactly_one_of_the_three_and_keeps_its_words(lines: list[str]) -> None:
    found = heard(*lines)
    where: dict[int, list[str]] = {}
    for piece in (*found.front, *found.body, *found.behind):
        where.setdefault(piece.index, []).append(piece.message.text)
    given_drafts = drafts(*lines)
    ours = find_command_messages([draft.message for draft in given_drafts])
    assert sorted(where) == [at for at in range(len(given_drafts)) if at not in ours]
    assert list(where) == sorted(where)
    for at, texts in where.items():
        assert "\n\n".join(texts) == given_drafts[at].message.text  # a nudge that was joined to it is behind it again


@pytest.mark.parametrize(
    "nudge",
    [
        "[Write the next reply only as Bram.]",
        "[Continue your last message without repeating its original content.]",
        "[Write your next reply from the point of view of Wren.]",
    ],
)
def test_a_nudge_that_was_joined_to_what_the_user_said_is_taken_off_it(nudge: str) -> None:
    found = heard(MAIN, "a Late.", f"u Yes.\n\nI am.\n\n{nudge}")
    assert (lines_of(found.body), lines_of(found.behind)) == (["a Late.", "u Yes.\n\nI am."], [f"u {nudge}"])
    assert found.speaker == ("Bram" if "Bram" in nudge else None)


def test_what_only_looks_like_a_nudge_stays_with_what_the_user_said() -> None:
    found = heard(MAIN, "a Late.", "u Yes.\n\n[Style: short sentences.]")
    assert parts(found) == (1, 2, 0)


def test_names_come_from_beside_the_list_before_they_come_from_its_front() -> None:
    assert heard(MAIN, "u Hi").names == ChatNames("Odalys", "Wren")
    assert heard(MAIN, "u Hi", names=ChatNames("Bram", None, ("Bram", "Tess"))).names == ChatNames(
        "Bram", "Wren", ("Bram", "Tess")
    )
    assert heard(SINGLE).names == ChatNames("Odalys", "Wren")


@pytest.mark.parametrize(
    ("lines", "merged", "single"),
    [
        ([MAIN, "a Late.", "u Yes.", "a Sit."], True, False),
        ([MAIN, "a Late.", "a Well?", "u Yes."], False, False),
        ([MAIN, "a Late.", STYLE, "u Yes."], True, False),
        ([MAIN, START, "a Late.", "u Yes."], False, False),
        ([MAIN, "u [Start a new chat]", "a Late.", "u Yes."], True, False),
        ([SINGLE], True, True),
        ([MAIN, SINGLE], True, False),
        ([SINGLE, "a Late."], True, False),
        (["a" + SINGLE[1:]], True, False),
        (["u [Start a new chat] and more"], True, False),
    ],
)
def test_lists_in_which_neighbours_may_have_been_joined(lines: list[str], merged: bool, single: bool) -> None:
    found = heard(*lines)
    assert (found.is_merged, found.is_single) == (merged, single)


TURN, MORE, ASIDE = Ask.TURN, Ask.CONTINUE, Ask.ASIDE
STORY = [MAIN, START, "a Late.", "u Yes."]
ANSWERED = [*STORY, "a Sit."]


@pytest.mark.parametrize(
    ("lines", "streams", "known_last", "expected"),
    [
        (STORY, True, False, TURN),
        (STORY, False, False, TURN),
        (STORY, True, True, TURN),  # a swipe, or the same once more
        (ANSWERED, True, True, TURN),  # an empty send
        ([*ANSWERED, CONTINUE], True, True, MORE),
        ([*ANSWERED, CONTINUE], False, False, MORE),
        ([*ANSWERED, "u " + CONTINUE[2:]], True, True, MORE),
        ([*ANSWERED, IMPERSONATE], True, True, ASIDE),
        ([*STORY, IMPERSONATE], True, False, ASIDE),
        ([*ANSWERED, QUIET], False, True, ASIDE),
        ([*ANSWERED, QUIET], True, True, ASIDE),
        ([*ANSWERED, QUIET], False, False, ASIDE),
        ([*STORY, STYLE], True, False, TURN),  # what stands behind every history
        ([*STORY, STYLE], False, False, TURN),
        ([*ANSWERED, STYLE], True, False, TURN),  # the reply was edited, and more is asked for
        ([*STORY, AS_BRAM], True, False, TURN),
        ([*ANSWERED, AS_BRAM], True, True, TURN),  # the next of a group
        ([*ANSWERED, AS_BRAM], False, True, TURN),
        ([*ANSWERED, AS_BRAM, QUIET], False, True, ASIDE),
        ([*STORY, AS_BRAM, QUIET], False, True, ASIDE),
        ([*STORY, AS_BRAM, STYLE], False, False, TURN),  # a new message is there to be answered
        ([*ANSWERED, AS_BRAM, STYLE], True, True, TURN),  # nobody is asked for by name in a task that streams
        ([MAIN, START], True, False, ASIDE),
        (["u ### Task:\nWrite a title.\n<chat_history>\nUSER: Hello\n</chat_history>"], True, False, ASIDE),
        (["u ### Task:\nMend the parser."], True, False, TURN),
        (["a Well?", "u Summarize the story so far, captain."], True, False, TURN),
    ],
)
def test_what_a_request_is_for(lines: list[str], streams: bool, known_last: bool, expected: Ask) -> None:
    assert infer_ask(heard(*lines), streams=streams, known_last=known_last) is expected


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("nudge", [[STYLE], [AS_BRAM, STYLE], [STYLE, AS_BRAM]])
def test_what_stood_behind_every_turn_makes_no_aside(nudge: list[str], streams: bool) -> None:
    usual = frozenset({STYLE[2:]})
    assert infer_ask(heard(*ANSWERED, *nudge), streams=streams, usual=usual) is TURN
    assert infer_ask(heard(*ANSWERED, *nudge, QUIET), streams=False, usual=usual) is ASIDE


@pytest.mark.parametrize(
    ("lines", "streams", "expected"),
    [
        (["u Translate this."], False, True),
        (["s You are a translator.", "u Translate this."], False, True),
        (["u Translate this."], True, False),
        ([MAIN, "s Persona.", "u Hello"], False, False),
        ([MAIN + "\n\n[Start a new Chat]", "u Hello"], False, False),
        (["u Hello", "a Hi"], False, False),
        (["u Hello", CONTINUE], False, False),
        ([MAIN], False, False),
    ],
)
def test_a_task_without_any_history(lines: list[str], streams: bool, expected: bool) -> None:
    assert is_lone_task(heard(*lines), streams=streams) is expected


@given(st.lists(ANY_LINES, max_size=8), st.booleans(), st.booleans())
def test_every_list_is_for_something(lines: list[str], streams: bool, known: bool) -> None:
    found = parse_client_list(drafts(*lines))
    assert infer_ask(found, streams=streams, known_last=known) in Ask
    is_lone_task(found, streams=streams)
