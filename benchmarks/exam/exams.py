"""The stories with their exams, and the characters ÷ 4 by which everything here is counted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from previously import BadInput, Draft, Message, Settings
from previously.core.tokens import message_tokens
from previously.formats import read_story

TRUTHS = ("closed", "open_at_end", "state_at_end")
"""What an exam says of how its story ends."""

STORIES = Path(__file__).parent / "stories"

WINDOW_TOKENS = 16_384
"""The window of the model that reads the views: large enough that a fold waits for its 3,000 tokens."""

MEMORY_WINDOW_TOKENS = 32_768
"""The window of the model that folds: what the endpoint with answers in files says of itself."""

SETTINGS: Mapping[str, Settings] = {
    "saltworks-duet": Settings.of("roleplay", window_tokens=WINDOW_TOKENS, memory_window_tokens=MEMORY_WINDOW_TOKENS),
    "table-of-four": Settings.of("roleplay", window_tokens=WINDOW_TOKENS, memory_window_tokens=MEMORY_WINDOW_TOKENS),
    "glasshouse-novel": Settings.of(
        "novel", timeline="recap", window_tokens=WINDOW_TOKENS, memory_window_tokens=MEMORY_WINDOW_TOKENS
    ),
}
"""The settings of each story, in the order of the report. The novel has a recap, as the others do, so that costs can
be compared."""


class Characters:
    """Count characters ÷ 4, to the nearest and at least one, and nothing for what chat templates add.

    Every row is counted so: no row gains by a counter of its own.
    """

    name: Final = "characters / 4"
    exact: Final = True
    """It is the measure itself, so no view may calibrate it."""
    message_overhead_tokens: Final = 0
    request_overhead_tokens: Final = 0

    def tokens(self, text: str) -> int:
        """Return the characters ÷ 4 of a text."""
        return max(1, (len(text) + 2) // 4) if text else 0


CHARACTERS: Final = Characters()


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an exam, with the patterns that tell whether a text answers it."""

    id: str
    text: str
    answers: tuple[re.Pattern[str], ...]
    trap: re.Pattern[str] | None
    importance: int


@dataclass(frozen=True, slots=True)
class Present:
    """Who was there and could hear the message at a position."""

    position: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exam:
    """A story and what is asked about it."""

    name: str
    drafts: tuple[Draft, ...]
    questions: tuple[Question, ...]
    presence: tuple[Present, ...]
    settings: Settings
    truth: Mapping[str, Any] = field(default_factory=dict)
    """What is closed, open and standing at the end, as the exam's file has it; empty where it does not say."""

    @property
    def messages(self) -> list[Message]:
        """Return the messages of the story."""
        return [draft.message for draft in self.drafts]

    @property
    def tokens(self) -> float:
        """Return the characters ÷ 4 of the whole story, names included."""
        return len(render(self.messages)) / 4


def load_exams(folder: Path = STORIES) -> list[Exam]:
    """Return every exam of a folder; `BadInput` where one is missing."""
    return [load_exam(name, folder) for name in SETTINGS]


def load_exam(name: str, folder: Path = STORIES) -> Exam:
    """Return one exam with its story."""
    try:
        value = json.loads((folder / f"{name}.exam.json").read_text("utf-8"))
    except OSError:
        raise BadInput(f"{folder} holds no {name}.exam.json.") from None
    return Exam(
        name,
        tuple(read_story(folder / value["story"]).drafts),
        tuple(read_question(item) for item in value["questions"]),
        tuple(Present(item["index"], tuple(item["present"])) for item in value.get("presence", ())),
        SETTINGS[name],
        {key: value[key] for key in TRUTHS} if all(key in value for key in TRUTHS) else {},
    )


def read_question(value: Mapping[str, Any]) -> Question:
    """Return a question as an exam's file has it."""
    trap = value["trap"]
    return Question(
        value["id"],
        value["question"],
        tuple(_pattern(answer) for answer in value["answers"]),
        _pattern(trap) if trap else None,
        value["importance"],
    )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def newest_messages(messages: Sequence[Message], budget_tokens: float) -> list[Message]:
    """Return the newest messages that fit a budget, whole."""
    first = len(messages)
    for message in reversed(messages):
        budget_tokens -= message_tokens(message, CHARACTERS)
        if budget_tokens < 0:
            break
        first -= 1
    return list(messages[first:])


def render(messages: Sequence[Message]) -> str:
    """Return messages as they are scored: each with its writer's name, where it has one."""
    return "\n\n".join(f"{one.speaker}: {one.text}" if one.speaker else one.text for one in messages)
