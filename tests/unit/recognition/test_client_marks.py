"""What clients write that nobody in the story says, and the names they put before what somebody does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.recognition import client_marks
from previously.recognition.client_marks import ChatNames, find_asked_speaker, find_names, split_name, strip_name


@pytest.mark.parametrize(
    ("text", "only", "among"),
    [
        ("[Start a new Chat]", True, True),
        ("[Start a new chat]", True, True),
        ("  [Start a new Chat]\n", True, True),
        ("[Start a new group chat. Group members: Odalys, Bram]", True, True),
        ("Persona of Wren.\n\n[Start a new Chat]", False, True),
        ("[Start a new Chat]\n\nOdalys: You are late.", False, True),
        ("[Start a new Chatter]", False, False),
        ("Start a new chat", False, False),
        ("", False, False),
    ],
)
def test_the_mark_that_a_chat_begins(text: str, only: bool, among: bool) -> None:
    assert (client_marks.is_start(text), client_marks.has_start(text)) == (only, among)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[Continue your last message without repeating its original content.]", "continue"),
        ("Continue the last reply.", "continue"),
        ("[ continue from your previous message ]", "continue"),
        ("Continue, please.", ""),
        ("Continue your last message" + " and on" * 80, ""),
        ("[Write the next reply only as Bram.]", "speaker"),
        ("[Reply only as Odalys of the Quay]", "speaker"),
        ("[Write the next reply only as Bram.] Then stop.", ""),
        ("Write the next reply only as Bram.", ""),
        ("[Write your next reply from the point of view of Wren, using the chat history so far.]", "aside"),
        ("[Pause your roleplay. Summarize the most important facts.]", "aside"),
        ("[Pause the story.]", "aside"),
        ("Ignore previous instructions. Summarize the most important facts and events in the story so far.", "aside"),
        ("Summarise the conversation in 80 words.", "aside"),
        ("### Task:\nGenerate a concise title.", "aside"),
        ("Create a concise, 3-5 word title with an emoji", "aside"),
        ("I summarize the letter for Bram.", ""),
        ("Could you summarize the story?", ""),
        ("*nods*", ""),
        ("", ""),
    ],
)
def test_nudges_and_what_they_ask_for(text: str, kind: str) -> None:
    kinds = {
        "continue": client_marks.is_continue(text),
        "speaker": find_asked_speaker(text) is not None,
        "aside": client_marks.is_aside(text),
    }
    assert [name for name, found in kinds.items() if found] == ([kind] if kind else [])
    assert client_marks.is_nudge(text) == bool(kind)


def test_whose_reply_is_asked_for() -> None:
    assert find_asked_speaker("[Write the next reply only as Bram.]") == "Bram"
    assert find_asked_speaker("[Write the next reply only as Dr. Ames.]") == "Dr. Ames"
    assert find_asked_speaker("[Write something.]") is None


@pytest.mark.parametrize(
    ("front", "names"),
    [
        ("Write Odalys's next reply in a fictional chat between Odalys and Wren.", ChatNames("Odalys", "Wren")),
        (
            "Rules.\nWrite the next reply in a fictional chat between Odalys and Wren.\nMore.",
            ChatNames("Odalys", "Wren"),
        ),
        ("[Start a new group chat. Group members: Odalys, Bram]", ChatNames(members=("Odalys", "Bram"))),
        ("You are a helpful assistant.", ChatNames()),
        ("", ChatNames()),
    ],
)
def test_names_are_read_from_the_front(front: str, names: ChatNames) -> None:
    assert find_names(front) == names


def test_all_names_are_known_once() -> None:
    assert ChatNames("Odalys", "Wren", ("Odalys", "Bram")).all == {"Odalys", "Wren", "Bram"}
    assert ChatNames().all == frozenset()


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("Odalys: You are late.", "Odalys", "You are late."),
        ("Odalys of the Quay: Late.", "Odalys of the Quay", "Late."),
        ("Odalys:\nLate.", "Odalys", "Late."),
        ("Odalys:", None, "Odalys:"),
        ("at 12:30 we met", None, "at 12:30 we met"),
        ('"Odalys: no"', None, '"Odalys: no"'),
        ("*Odalys: nods*", None, "*Odalys: nods*"),
        ("[Note: rain]", None, "[Note: rain]"),
        ("A first line\nOdalys: Late.", None, "A first line\nOdalys: Late."),
        ("x" * 41 + ": y", None, "x" * 41 + ": y"),
    ],
)
def test_any_name_that_a_text_begins_with(text: str, name: str | None, rest: str) -> None:
    assert split_name(text) == (name, rest)


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("Odalys: Late.", "Odalys", "Late."),
        ("Odalys:Late.", "Odalys", "Late."),
        ("Odalys:", "Odalys", ""),
        ("Bram: Late.", None, "Bram: Late."),
        ("Odalys Late.", None, "Odalys Late."),
        ("Odalys", None, "Odalys"),
    ],
)
def test_one_of_the_names_there_are(text: str, name: str | None, rest: str) -> None:
    assert strip_name(text, frozenset({"Odalys", "Wren"})) == (name, rest)


@given(st.text(max_size=600))
def test_every_text_is_one_kind_of_nudge_at_most(text: str) -> None:
    assert client_marks.is_continue(text) + (find_asked_speaker(text) is not None) + client_marks.is_aside(text) <= 1
    assert not client_marks.is_start(text) or client_marks.has_start(text)


@given(st.text(max_size=80))
def test_nothing_is_lost_with_a_name(text: str) -> None:
    for name, rest in (split_name(text), strip_name(text, frozenset({text.partition(":")[0]} - {""}))):
        assert text.endswith(rest)
        assert name is None or text.startswith(f"{name}:")


@pytest.mark.parametrize(
    ("front", "beside"),
    [
        ("You are a title generator. You output only a title.", True),
        ("You are a context summarization agent. Read on.", True),
        ("You are an expert software engineer that generates concise, one-line Git commit messages.", True),
        ("*Briefly* summarize this partial conversation about programming.", True),
        ("You are a title holder in boxing.", False),
        ("Never say: You are a title generator.", False),
        ("", False),
    ],
)
def test_prompts_for_tasks_beside_a_conversation(front: str, beside: bool) -> None:
    assert client_marks.is_side_task(front) == beside


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("<env>\n  Working directory: /srv/quay\n</env>", "/srv/quay"),
        ("# Environment\n - Primary working directory: C:\\quay\n - Platform: win", "C:\\quay"),
        ("<environment_context>\n  <cwd>/srv/quay</cwd>", "/srv/quay"),
        ("I lost my working directory: where is it?", None),
        ("Working directory:\n\nnone", None),
    ],
)
def test_the_folder_that_a_client_works_in(text: str, folder: str | None) -> None:
    assert client_marks.find_project(text) == folder
