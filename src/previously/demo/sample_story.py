"""The sample story, told and folded, and the one edit that the demo makes in it."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from previously.core.messages import Draft
from previously.settings import Settings

if TYPE_CHECKING:
    from previously.blocking import BlockingStory

BUDGET_TOKENS = 3_000
"""A seventh of the sample story: memory has to stand for nearly all of it."""

QUESTIONS = (
    "What did Bram Oskett read off the stem?",
    "Who was carried up Fennel Court in a sailcloth?",
    "When is the report due now, by Mr. Tull's telegram?",
)
"""They are answered at the beginning, a third and two thirds into the story."""

EDITED = 67
"""The message that says where the second key is: a fact that no other message repeats."""
OLD_WORDS = "behind the barometer"
NEW_WORDS = "inside the clock"
EDIT_QUESTION = "Where is the second key to the padlock?"

SECRET_QUESTION = "Is Anneke Strood alive?"
SECRET_NAME = "Anneke"
WHO_IS_ASKED = ("Wick", "Corvin Ashdell")
"""One who swore to keep the secret, and the one it is kept from."""


def make_settings() -> Settings:
    """Return the settings that the answers were recorded with. What each character knows is told by presence alone:
    a question per character would be twenty more answers to ship."""
    return Settings(window_tokens=16_384, fold_tokens=3_000, memory_window_tokens=32_768, cast="off")


def read_sample() -> list[Draft]:
    """Return the messages of the sample story."""
    from previously.formats import read_story

    with as_file(files(__package__).joinpath("harbour.jsonl")) as path:
        return list(read_story(path, None).drafts)


def edit_sample(story: BlockingStory) -> None:
    """Change the message that says where the second key is."""
    before = story.messages(EDITED, EDITED)[0].entry.message.text
    story.edit(EDITED, before.replace(OLD_WORDS, NEW_WORDS))
