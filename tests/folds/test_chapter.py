"""Where a chapter ends by itself."""

from __future__ import annotations

import pytest

from previously.core.digests import digest
from previously.core.messages import Attributes, Entry, message
from previously.core.paths import OnPath
from previously.folds.chapter import boundary

PLAIN = "Maya went to the mill."


def items(
    *texts: str, first: int = 0, times: tuple[str, ...] = (), names: dict[int, object] | None = None
) -> list[OnPath]:
    found = []
    for at, text in enumerate(texts, first):
        said = message("user", text)
        extra = {"chapter": names[at]} if names and at in names else {}
        attributes = Attributes(at=times[at - first] if times else None, extra=extra)
        found.append(OnPath(at, at + 1, b"", Entry(at, said, digest(said), attributes)))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "* * *",
        "---\nRain fell.",
        "# The fair",
        "Chapter 12",
        "**Chapter IV**\nRain.",
        "第三章 雨",
        "The next morning Maya woke.",
        "*Later that night, the mill burned.*",
        "Three weeks later nobody spoke of it.",
        "At dawn they left.",
        "Meanwhile, at the inn, Odalys waited.",
        "Am nächsten Morgen ging Maya.",
        "Zwei Tage später regnete es.",
        "Le lendemain, Maya partit.",
        "Al día siguiente, Maya salió.",
        "На следующее утро Майя ушла.",
        "翌朝、マヤは出かけた。",
        "第二天，玛雅走了。",
    ],
)
def test_a_scene_begins(text: str) -> None:
    found = boundary(0, "", items(PLAIN, PLAIN, text, PLAIN), 2)
    assert found is not None
    assert (found.position, found.title) == (1, "")


@pytest.mark.parametrize("text", [f"{PLAIN}\n\n***", "Fade to black.", "Exeunt all. The end."])
def test_a_scene_ends(text: str) -> None:
    found = boundary(0, "", items(PLAIN, text, PLAIN), 2)
    assert found is not None
    assert found.position == 1


@pytest.mark.parametrize(
    "text",
    [
        "I will come the next morning.",
        "He counted: one, two, three.",
        "She said: chapter and verse.",
        "*Maya nods.*",
        "**Maya** nods --- slowly.",
        "Part of me wants to stay.",
        "Act natural.",
        "By the way, the mill is shut.",
    ],
)
def test_ordinary_words_end_nothing(text: str) -> None:
    assert boundary(0, "", items(PLAIN, PLAIN, text, PLAIN), 2) is None


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


@pytest.mark.parametrize("count", [0, 1])
def test_the_last_message_is_no_end(count: int) -> None:
    assert boundary(0, "", items(*["***"] * count), 1) is None
