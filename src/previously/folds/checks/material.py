"""What was read, looked at once for all checks.

Owns the material an answer is compared with: the earlier text, the new messages as a reader reads them, their speakers,
and the names in all of it. What must stay true: system messages and thinking are no part of the story; the material is
linear in what was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from previously.core.messages import Error, Image, Message, Role, Text, ToolCall, ToolResult
from previously.core.words import count_words
from previously.folds.builtin.names import NameBook
from previously.folds.checks.traces import content_of, keys_of
from previously.folds.checks.verdict import Asked
from previously.text.sentences import split_sentences

_KEPT = 2
"""One fold asks up to three times of the same material: it is read once."""


@dataclass(frozen=True, slots=True)
class Material:
    """The previous text, the messages told since, and what both are made of."""

    previous: str
    told: tuple[Message, ...]
    texts: tuple[str, ...]
    """One per told message."""
    story: str
    """All of it in one text, speakers included."""
    keys: frozenset[str]
    """Every word of it, as names are looked up."""
    terms: frozenset[str]
    """Its telling words."""
    words: int
    """How many words there were to read."""


@lru_cache(maxsize=_KEPT)
def material_of(asked: Asked) -> Material:
    """Gather what an answer may be made of."""
    told = tuple(message for message in asked.delta if message.role is not Role.SYSTEM and text_of(message).strip())
    texts = tuple(text_of(message) for message in told)
    speakers = "\n".join(dict.fromkeys(message.speaker for message in told if message.speaker))
    story = "\n".join([asked.previous, speakers, *texts])
    return Material(
        previous=asked.previous,
        told=told,
        texts=texts,
        story=story,
        keys=keys_of(story),
        terms=frozenset(content_of(story)),
        words=count_words(asked.previous) + sum(count_words(text) for text in texts),
    )


def text_of(message: Message) -> str:
    """All of a message that a recap may tell of: what was said, what tools were given and gave back."""
    if len(message.parts) == 1 and isinstance(message.parts[0], Text):
        return message.parts[0].text
    pieces: list[str] = []
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(_, text) | Error(text):
                pieces.append(text)
            case ToolCall(_, name, arguments):
                pieces.append(f"{name} {arguments}")
            case Image(_, caption):
                pieces.append(caption)
            case _:
                pass
    return "\n".join(piece for piece in pieces if piece)


def book_of(material: Material, *texts: str) -> NameBook:
    """The names of the material and of these texts."""
    speakers = [message.speaker for message in material.told if message.speaker]
    book = NameBook((), speakers)
    for sentence in _sentences(material):
        book.read(sentence)
    for text in texts:
        for sentence in split_sentences(text):
            book.read(sentence)
    return book


@lru_cache(maxsize=_KEPT)
def _sentences(material: Material) -> tuple[str, ...]:
    return tuple(sentence for text in (material.previous, *material.texts) for sentence in split_sentences(text))
