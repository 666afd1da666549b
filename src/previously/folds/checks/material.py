"""What was read, looked at once for all checks.

What must stay true: system messages and thinking are no part of the story; names and numbers count as heard where the
earlier text, a message, its speaker or a source has them; the work is linear in what was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from previously.core.messages import Error, Image, Message, Role, Text, ToolCall, ToolResult
from previously.core.words import count_words
from previously.folds.checks.verdict import Asked
from previously.text.language import main_language
from previously.text.names import Heard
from previously.text.numbers import values_in

_KEPT = 2
"""One fold asks up to three times of the same material: it is read once."""


@dataclass(frozen=True, slots=True)
class Material:
    """The earlier text, the messages told since, and what both are made of."""

    told: tuple[Message, ...]
    texts: tuple[str, ...]
    """One per told message."""
    story: str
    """All that was shown in one text, speakers included."""
    language: str
    heard: Heard
    values: frozenset[float]
    words: int
    """How many words there were to read."""


@lru_cache(maxsize=_KEPT)
def material_of(asked: Asked) -> Material:
    """Gather what an answer may be made of."""
    told = tuple(message for message in asked.delta if message.role is not Role.SYSTEM and text_of(message).strip())
    texts = tuple(text_of(message) for message in told)
    speakers = "\n".join(dict.fromkeys(message.speaker for message in told if message.speaker))
    story = "\n".join([asked.previous, speakers, *texts, *asked.sources])
    language = main_language("\n".join([asked.previous, *texts])) or "English"
    words = count_words(asked.previous) + sum(map(count_words, texts))
    # "One thousand, one hundred" is one number, "a hundred and two, three of them" two: both readings were heard.
    values = values_in(story, language) | values_in(story.replace(",", " "), language)
    return Material(told, texts, story, language, Heard([story]), values, words)


def reckons(material: Material, value: float) -> bool:
    """Return whether a value is the sum or the difference of two that stand in one message, or in two that follow one
    another: sixty paid of a hundred and sixty leave a hundred, and the story need not say so."""
    found: set[float] = set()
    for text in material.texts:
        here = values_in(text, material.language)
        near = found | here
        if any(not near.isdisjoint((value - one, one - value, value + one)) for one in here):
            return True
        found = set(here)
    return False


def text_of(message: Message) -> str:
    """All of a message that a text may tell of: what was said, what tools were given and gave back."""
    said = [part.text for part in message.parts if isinstance(part, Text | ToolResult | Error)]
    said += [f"{part.name} {part.arguments}" for part in message.parts if isinstance(part, ToolCall)]
    said += [part.caption for part in message.parts if isinstance(part, Image)]
    return "\n".join(piece for piece in said if piece)
