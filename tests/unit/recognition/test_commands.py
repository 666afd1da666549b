"""What is a command to memory, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.recognition.commands import (
    COMMANDS,
    MARK,
    Command,
    find_command_messages,
    parse_command,
    parse_mistyped,
)
from tests.unit.recognition.lists import said


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("//recap", Command("recap")),
        ("  //recap\n", Command("recap")),
        ("// recap", Command("recap")),
        ("//RECAP", Command("recap")),
        ("//pin Bram owes a boat.", Command("pin", "Bram owes a boat.")),
        ("//pin two\nlines", Command("pin", "two\nlines")),
        ("//leave  Maya of the Quay ", Command("leave", "Maya of the Quay")),
        ("//pin //why", Command("pin", "//why")),
        ("Wren: //recap", Command("recap")),
        ("!!pin Bram owes a boat.", Command("pin", "Bram owes a boat.", "!!")),
        ("Wren of the Quay: //pin rain: today", Command("pin", "rain: today")),
        ("I write: 'go', then: //recap", None),
        ("//recaps", None),
        ("//", None),
        ("//unknown words", None),
        ("/recap", None),
        ("I write //recap on the wall", None),
        ("//recap\nand then I leave", None),
        ("http://recap", None),
        ("///recap", None),
        ("", None),
    ],
)
def test_a_command_is_the_whole_message_and_begins_with_a_word_we_know(text: str, command: Command | None) -> None:
    assert parse_command(text) == command


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("!!recpa", "recap"),
        ("//reacp", "recap"),
        ("//recaps", "recap"),
        ("Wren: //wyh", "why"),
        ("//hepl", "help"),
        ("!!chatper The mill", "chapter"),
        ("//continu ferry", "continue"),
        ("//folidng ask", "folding"),
        ("//undoo", "undo"),
    ],
)
def test_a_mistyped_command_is_known_by_what_was_meant(text: str, meant: str) -> None:
    assert parse_command(text) is None
    mistyped = parse_mistyped(text)
    assert mistyped is not None
    assert (mistyped.meant, text.endswith(mistyped.argument)) == (meant, True)


@pytest.mark.parametrize(
    "text",
    [
        "//recap", "!! recpa", "// leaves fall", "!!Hell", "!!Leaves fall.", "!!hell no", "!!more", "!!stay!", "!!stay",
        "//start of the day\n//end", "!!wait", "!!pain", "//love", "!!", "//!recpa", "!!no", "//unknown words",
        "I write //recpa", "http://recpa", "///recpa", "!!recpa!!", "//TODO: recap", "!!help!",
    ],
)  # fmt: skip
def test_prose_behind_the_sign_goes_through(text: str) -> None:
    assert parse_mistyped(text) is None


def test_a_mistyped_command_is_ours_if_it_is_asked_now_or_was_answered() -> None:
    lines = ("u //recpa", f"a {MARK} There is no command.", "u !!statee", "a The state nods.", "u Hi.", "a Hi.")
    assert find_command_messages([said(line) for line in lines]) == {0, 1}
    assert find_command_messages([said("u Hi."), said("a Hi."), said("u //recpa"), said("s Go on.")]) == {2}


def test_an_answer_names_commands_as_the_question_did() -> None:
    words = "- `//recap` so far; say //fold, or see http://recap and // pin"
    assert Command("help").tell(words) == words
    assert Command("help", mark="!!").tell(words) == "- `!!recap` so far; say !!fold, or see http://recap and // pin"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_known_with_and_without_an_argument(name: str) -> None:
    assert parse_command(f"//{name}") == Command(name)
    assert parse_command(f"//{name} Maya") == Command(name, "Maya")


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("u //recap", True),
        ("a //recap", False),
        (f"a {MARK} Nothing has been folded yet.", True),
        (f"a \n{MARK} Nothing.", True),
        (f"a Odalys: {MARK} Nothing.", True),
        (f"u {MARK} Nothing.", False),
        (f"s {MARK} Nothing.", False),
        (f"a He wrote {MARK} on the wall.", False),
        ("u Hello", False),
    ],
)
def test_commands_of_users_and_our_answers_are_no_part_of_the_story(line: str, ours: bool) -> None:
    assert (1 in find_command_messages([said("u //why"), said(line)])) is ours


def test_a_line_of_the_story_may_begin_with_the_mark() -> None:
    lines = (
        "u Tell me.",
        f"a {MARK} on the show, Wren met Odalys.",
        "u //recap",
        f"a {MARK} Nothing.",
        "u So?",
        "a So.",
    )
    assert find_command_messages([said(line) for line in lines]) == {2, 3}
    assert find_command_messages([said(f"a {MARK} Nothing."), said("u So?")]) == {0}, (
        "the command before it was trimmed"
    )


@given(st.text(max_size=60))
def test_no_text_breaks_it_and_a_command_holds_nothing_that_was_not_said(text: str) -> None:
    for tried in (text, f"//{text}", f"//pin {text}"):
        found = parse_command(tried)
        if found is not None:
            assert found.name in COMMANDS
            assert found.argument in tried
