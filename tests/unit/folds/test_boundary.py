"""Where a chapter ends by itself, by the structure of the text, by size, and where an update named a scene's end."""

from __future__ import annotations

import pytest

from previously.core.digests import digest
from previously.core.messages import Attributes, Entry, message
from previously.core.path import OnPath
from previously.folds.boundary import (
    Boundary,
    Grown,
    Heading,
    Opening,
    closes_at_named_end,
    find_boundary,
    find_heading,
    find_opening,
)

PLAIN = "Maya went to the mill."


def items(
    *texts: str, first: int = 0, times: tuple[str, ...] = (), names: dict[int, object] | None = None, speaker: str = ""
) -> list[OnPath]:
    found = []
    for at, text in enumerate(texts, first):
        said = message("assistant", text, speaker=speaker or None)
        extra = {"chapter": names[at]} if names and at in names else {}
        attributes = Attributes(at=times[at - first] if times else None, extra=extra)
        found.append(OnPath(at, at + 1, b"", Entry(at, said, digest(said), attributes)))
    return found


def boundary(first: int, name: str, unread: list[OnPath], chapter_messages: int) -> Boundary | None:
    return find_boundary(Opening(name), Grown(first, chapter_messages), unread)


@pytest.mark.parametrize(
    "text",
    ["* * *", "---\nRain fell.", "# The fair", "Chapter 12", "**Chapter IV**\nRain.", "第三章", "Scene two: a mill"],
)
def test_a_scene_begins(text: str) -> None:
    chat = items(PLAIN, PLAIN, text, PLAIN, speaker="Maya")
    found = boundary(0, "", chat, 2)
    assert found is not None
    assert (found.position, found.title) == (1, "")
    assert boundary(0, "", chat, 100) is None, "in a chat a heading does not close a chapter before its time"


def test_a_scene_ends() -> None:
    found = boundary(0, "", items(PLAIN, f"{PLAIN}\n\n***", PLAIN), 2)
    assert found is not None
    assert found.position == 1


@pytest.mark.parametrize(
    "text",
    [
        "The next morning Maya woke.",
        "Three weeks later nobody spoke of it.",
        "Fade to black.",
        "Exeunt all. The end.",
        "I will come the next morning.",
        "She said: chapter and verse.",
        "Chapter 3 was the best, I think",
        "*Maya nods.*",
        "**Maya** nods --- slowly.",
        "Part of me wants to stay.",
        "Act natural.",
        "#hashtag of the mill",
        "第三者 was there.",
    ],
)
def test_words_end_nothing(text: str) -> None:
    assert boundary(0, "", items(PLAIN, PLAIN, text, PLAIN), 2) is None


HEADINGS = ["# The fair", "## The fair", "Chapter 3", "Chapter Three: The Damper", "Kapitel 3", "第3章", "Chapitre IV"]


@pytest.mark.parametrize("text", HEADINGS)
def test_a_heading_in_prose_ends_a_chapter_of_any_length_and_names_the_next(text: str) -> None:
    found = boundary(0, "", items(PLAIN, text, PLAIN), 0)
    assert found is not None and found.position == 0
    opened = find_opening(items(text, PLAIN, first=1))
    assert opened.title == text.lstrip("# ")
    assert find_boundary(opened, Grown(1, 0), items(text, PLAIN, PLAIN, first=1)) is None, "it does not end its own"
    after = find_boundary(opened, Grown(1, 0), items(text, PLAIN, "# Another", PLAIN, first=1))
    assert after is not None and (after.position, after.title) == (2, opened.title)


def test_a_book_and_its_first_chapter_are_one_opening_and_sections_end_nothing() -> None:
    book = items("# The Glasshouse", "## One", PLAIN, "### A section", PLAIN, "## Two", PLAIN)
    opened = find_opening(book)
    assert (opened.title, opened.heading) == ("One", Heading("One", 2, alone=True))
    found = find_boundary(opened, Grown(0, 0), book)
    assert found is not None and found.position == 4


def test_the_same_heading_again_is_the_same_chapter() -> None:
    told = items("# One\nRain.", PLAIN, "# One\nMore rain.", PLAIN)
    assert find_boundary(find_opening(told), Grown(0, 0), told) is None


def test_a_title_may_stand_below_the_number() -> None:
    assert find_heading(message("assistant", "Chapter I\nThe Cyclone")) == Heading("The Cyclone", 0, alone=True)
    for told in ("Chapter I\nRain fell.", "Chapter I\nRain fell\non the mill"):
        assert find_heading(message("assistant", told)) == Heading("Chapter I", 0, alone=False)


def test_a_paragraph_is_no_heading() -> None:
    assert find_heading(message("assistant", f"# {'word ' * 60}")) is None
    assert find_heading(message("assistant", "")) is None


def test_before_its_time_only_a_name_ends_a_chapter() -> None:
    unread = items(PLAIN, "***", PLAIN, PLAIN, names={3: "Slate"})
    assert boundary(0, "", unread, 0) is not None
    found = boundary(0, "The Assessor", unread, 100)
    assert found is not None
    assert (found.position, found.title) == (2, "The Assessor")
    assert boundary(0, "Slate", unread, 100) is None, "the same name again is the same chapter"


@pytest.mark.parametrize("name", [7, None, "", "  ", ["Slate"], {"title": "Slate"}])
def test_a_name_that_is_none_ends_nothing(name: object) -> None:
    assert boundary(0, "", items(PLAIN, PLAIN, PLAIN, names={1: name}), 0) is None


def test_a_pause_of_the_chat_ends_no_scene() -> None:
    times = ("2026-03-14T22:00:00Z", "2026-03-14T22:05:00+00:00", "2026-03-19T09:00:00", "yesterday")
    assert boundary(0, "", items(PLAIN, PLAIN, PLAIN, PLAIN, times=times), 3) is None


def test_twice_the_length_is_enough() -> None:
    unread = items(*[PLAIN] * 30, first=100)
    assert boundary(100, "", unread, 20) is None, "no scene ended"
    found = boundary(100, "", unread, 10)
    assert found is not None
    assert (found.position, found.reason) == (119, "20 messages")


def test_long_messages_are_counted_by_their_tokens() -> None:
    unread = items(*["Maya went to the mill. " * 100] * 20)
    found = boundary(0, "", unread, 20)
    assert found is not None and found.position == 7, "eight messages at least"
    read = find_boundary(Opening(), Grown(0, 10, tokens=1_900), items(*[PLAIN * 5] * 9, first=3))
    assert read is not None and read.position < 10, "what a recap has read counts too"


@pytest.mark.parametrize("count", [0, 1])
def test_the_last_message_is_no_end(count: int) -> None:
    assert boundary(0, "", items(*["***"] * count), 1) is None


@pytest.mark.parametrize(
    ("ends", "share", "closes"),
    [([39], 1.0, True), ([30], 1.0, True), ([20], 1.0, False), ([20], 1.5, True), ([39], 0.9, False), ([], 1.9, False)],
)
def test_a_named_end_closes_a_chapter_if_it_lies_in_the_last_quarter(
    ends: list[int], share: float, closes: bool
) -> None:
    assert closes_at_named_end(ends, 40, share) is closes
