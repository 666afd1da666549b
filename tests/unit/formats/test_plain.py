"""Scripts and prose."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.messages import Message, Role
from previously.formats.files import Document, open_document
from previously.formats.plain import parse_messages, read, stream


def told(text: str, user: str | None = None) -> list[tuple[str, str | None, str]]:
    return [(message.role.value, message.speaker, message.text) for _, message in parse_messages(text, user)]


def test_a_script_with_narration_before_it() -> None:
    text = "\nRain on the quay.\n\nMaya: We are late.\nVery late.\n\nAgain.  \n\nYou: I know.\r\nBen:\r\n  Hush.\n"
    assert told(text) == [
        ("assistant", None, "Rain on the quay."),
        ("assistant", "Maya", "We are late.\nVery late.\n\nAgain."),
        ("user", "You", "I know."),
        ("assistant", "Ben", "  Hush."),
    ]


@pytest.mark.parametrize(
    ("line", "role", "speaker"),
    [
        ("User: x", "user", "User"),
        ("YOU: x", "user", "YOU"),
        ("me: x", "user", "me"),
        ("Human: x", "user", "Human"),
        ("Player: x", "user", "Player"),
        ("System: x", "system", None),
        ("Narrator: x", "assistant", "Narrator"),
        ("Assistant: x", "assistant", "Assistant"),
        ("Dr. Anne-Marie O'Neil: x", "assistant", "Dr. Anne-Marie O'Neil"),
        ("Guard of the Gate: x", "assistant", "Guard of the Gate"),
        ("Guard 2: x", "assistant", "Guard 2"),
        ("Étienne: x", "assistant", "Étienne"),
        ("Марья Ивановна: x", "assistant", "Марья Ивановна"),
        ("मीरा देवी: x", "assistant", "मीरा देवी"),
        ("玛雅：x", "assistant", "玛雅"),
        ("مايا: x", "assistant", "مايا"),
        ("  Maya : x", "assistant", "Maya"),
        ("Maya:\tx", "assistant", "Maya"),
    ],
)
def test_speakers(line: str, role: str, speaker: str | None) -> None:
    assert told(line) == [(role, speaker, "x")]


@pytest.mark.parametrize(
    "line",
    [
        "http://example.org/a",
        "https: the protocol",
        "12:30 we left",
        "At 12:30 we left",
        "Maya:x",
        "He said: run",
        "There was one thing left: hope",
        "Note: not a speaker",
        "P.S.: more",
        "Chapter 3: The Sea",
        "One Two Three Four Five: x",
        "A" * 41 + ": x",
        '"Maya": x',
        "Maya, Ben: x",
        "maya: only once",
        "3rd Guard: x",
        ": x",
    ],
)
def test_no_speakers(line: str) -> None:
    assert told(line) == [("assistant", None, line)]
    assert told(f"Maya: a\n{line}\nBen: b") == [("assistant", "Maya", f"a\n{line}"), ("assistant", "Ben", "b")]


def test_a_small_name_that_speaks_twice() -> None:
    assert told("maya: a\nben: b\nmaya: c") == [("assistant", "maya", "a\nben: b"), ("assistant", "maya", "c")]


def test_the_user_has_a_name() -> None:
    assert told("Ines Quillan: a\nWick: b\nme: c", user="ines quillan ") == [
        ("user", "Ines Quillan", "a"),
        ("assistant", "Wick", "b"),
        ("user", "me", "c"),
    ]
    assert told("System: a\nWick: b", user="System")[0] == ("user", "System", "a")


def test_prose_is_told_in_paragraphs() -> None:
    assert told("One line\nand another.\n\n\n \t\n  Indented.\n\nLast.") == [
        ("assistant", None, "One line\nand another."),
        ("assistant", None, "  Indented."),
        ("assistant", None, "Last."),
    ]


def test_a_stray_name_line_does_not_make_a_novel_a_script() -> None:
    paragraphs = [f"Paragraph {number} goes on." for number in range(60)]
    paragraphs[30] = "Rule One: never run."
    assert [text for _, _, text in told("\n\n".join(paragraphs))] == paragraphs


def test_front_matter_is_about_the_file() -> None:
    front = "---\ntitle: Vesper Rock\ntags:\n  - novel\n---\n"
    assert told(f"{front}\n# One\n\nIt rained.") == [("assistant", None, "# One"), ("assistant", None, "It rained.")]
    assert [line for line, _ in parse_messages(f"{front}# One")] == [6]
    assert told(f"{front}Maya: We are late.") == [("assistant", "Maya", "We are late.")]


@pytest.mark.parametrize(
    "text", ["---\nMaya: hi\nBen: no\n---\nMaya: so.", "---\n\nIt rained.\n\n---", "---\ntitle: a", "---"]
)
def test_other_lines_of_dashes_are_words_of_the_story(text: str) -> None:
    assert "\n".join(message.text for _, message in parse_messages(text)).count("---") == text.count("---")


def test_every_message_knows_its_first_line() -> None:
    assert [line for line, _ in parse_messages("intro\n\nMaya: a\nb\nBen: c")] == [1, 3, 5]
    assert [line for line, _ in parse_messages("one\n\n\ntwo\nthree\n\nfour")] == [1, 4, 7]


def test_source() -> None:
    source = read(Document("a.txt", BytesIO("\ufeffMaya: a\x00b".encode())))
    assert [draft.message for draft in source.drafts] == [
        Message(Role.ASSISTANT, source.drafts[0].message.parts, "Maya")
    ]
    assert (source.drafts[0].message.text, source.format, source.replaced) == ("a\ufffdb", "text", 1)


def test_a_message_too_large_names_its_line() -> None:
    with pytest.raises(BadInput) as caught:
        read(Document("a.txt", BytesIO(b"Maya: a\nBen: " + b"x" * (17 << 20))))
    assert str(caught.value) == "a.txt, line 2: a message of 17.0 MB is too large; a message may have at most 16 MB."


TEXTS = st.lists(
    st.sampled_from(["Ada: It rains.", "Finn: No.", "It rains.", "", "  ", "maya: hi", "Note: x", "---", "title: T"]),
    min_size=1,
    max_size=60,
)


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r", "\n\n"]), st.sampled_from([None, "Finn"]))
def test_a_text_that_is_read_as_it_goes_gives_the_same(lines: list[str], end: str, user: str | None) -> None:
    text = end.join(lines)
    if not text.strip():
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "story.txt"
        path.write_bytes(text.encode())
        with open_document(path, user) as document:
            streamed = stream(document, path).stream
        assert streamed is not None
        with open_document(path, user) as document:
            assert list(streamed) == read(document).drafts
        assert list(streamed) == list(streamed), "again from its beginning"
