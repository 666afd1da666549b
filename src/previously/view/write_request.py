"""The request with which a model writes on: a story's setup as furniture of its view, and the view as a list to send.

Pure. A chat goes out as its messages, a text in prose as one question that holds its newest passages. What is ours (the
author's note, the direction) never stands as a message of its own beside one of the same role, and the list begins with
the user, so that strict chat templates take it.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from previously.core.messages import Message, Part, Role, Text, Thinking
from previously.core.model_io import ModelRequest
from previously.view.render import PlacedMessage, ViewPart, place_messages
from previously.view.setup import WritingSetup
from previously.view.turn import remove_echoes
from previously.view.view import Furniture, View


class WantedPassage(StrEnum):
    """The passage that a model is asked for."""

    NEXT = "next"
    """The one after the newest message."""
    MORE = "more"
    """More of the newest message."""


CHAT_SYSTEM = """You play {{char}} in a story that you tell together with {{user}}. Write the next reply, as {{char}} \
alone: what {{char}} does, says and notices. Never speak or act for {{user}}. Keep to what has happened, to the voice \
of the story and to its language. What is told below of earlier events is true; what is not told, {{char}} does not \
know. Write nothing but the reply."""

PROSE_SYSTEM = """You write a story together with its author. Write the next passage, in the person, tense, voice and \
language of the text. Keep to what has happened: what is told below of earlier events is true. Write nothing but the \
passage."""

CHAT_BEGINS = "[The chat goes on from here.]"
PROSE_BEGINS = "The newest passages, word for word:"
NEXT_PASSAGE = "Write the next passage."
MORE_OF_REPLY = (
    "[Go on with your last message from the very word at which it ends. Repeat nothing of it, and add no remark.]"
)
MORE_OF_PASSAGE = "Go on with the last passage from the very word at which it ends. Repeat nothing of it."

SHORTEST_REPEAT = 12
"""Characters at the end of a text that are taken for a repetition when its continuation begins with them: two or three
words; fewer may be a figure of speech."""

LONGEST_REPEAT = 2_000
"""Characters that are looked at for it: a model that begins a longer message anew does not go on with it."""


def build_furniture(
    setup: WritingSetup, form: str, passage: WantedPassage, direction: str = "", speaker: str = ""
) -> Furniture:
    """Return what a model is told beside the story: prompt, card and persona before it, the author's note at its
    depth, and the direction at the end. `speaker`: who answers, where several could."""
    prose = form == "prose"
    front = [Message(Role.SYSTEM, (Text(_write_system(setup, prose=prose)),))]
    if not prose:
        front.append(_say(CHAT_BEGINS))
    notes = []
    if note := setup.fill(setup.note).strip():
        notes.append((setup.note_depth, _say(f"[Author's note: {note}]")))
    if task := _write_task(setup, passage, direction.strip(), speaker, prose=prose):
        notes.append((0, _say(task)))
    return Furniture(tuple(front), tuple(notes))


def build_write_request(view: View, setup: WritingSetup, form: str, answer_tokens: int) -> ModelRequest:
    """Return the question that a view comes to."""
    placed = place_messages(view.parts)
    messages = _write_prose(placed) if form == "prose" else _write_chat(placed)
    return ModelRequest(
        "", "", answer_tokens, temperature=setup.temperature, messages=messages, sampling=setup.sampling
    )


def clean_reply(text: str, speaker: str, mark: str, said: str | None = None) -> str:
    """Return what a model has answered so far as the story keeps it: without what it repeats of memory, and without
    its own name. `said`: the text that it goes on with."""
    words = remove_echoes(text, mark).rstrip()
    if speaker and words.lstrip().startswith(f"{speaker}:"):
        words = words.lstrip()[len(speaker) + 1 :].lstrip()
    return words.lstrip() if said is None else _cut_repeat(said, words)


def make_reply(text: str, speaker: str, reasoning: str = "") -> Message:
    """Return a model's answer as a message."""
    parts: list[Part] = [Thinking(reasoning)] if reasoning.strip() else []
    return Message(Role.ASSISTANT, (*parts, Text(text)), speaker or None)


def _cut_repeat(said: str, more: str) -> str:
    """Return a continuation without what it repeats of the end of the text that it goes on with."""
    end = said.rstrip()[-LONGEST_REPEAT:]
    begins = more.lstrip()
    for length in range(min(len(end), len(begins)), SHORTEST_REPEAT - 1, -1):
        if end.endswith(begins[:length]):
            return begins[length:]
    return more


def _say(text: str) -> Message:
    return Message(Role.USER, (Text(text),))


def _write_system(setup: WritingSetup, *, prose: bool) -> str:
    system = setup.system.strip() or (PROSE_SYSTEM if prose else CHAT_SYSTEM)
    who, user = setup.name or "the character", setup.user_name or "the user"
    told = [
        ("", system),
        (f"About {who}:", setup.description),
        (f"The character of {who}:", setup.personality),
        ("The scene:", setup.scenario),
        (f"About {user}:", setup.user_description),
        (f"Examples of how {who} writes, which are no part of the story:", setup.examples),
    ]
    parts = [f"{title}\n{setup.fill(text).strip()}".strip() for title, text in told if text.strip()]
    return "\n\n".join(parts)


def _write_task(setup: WritingSetup, passage: WantedPassage, direction: str, speaker: str, *, prose: bool) -> str:
    """Return what is said last, and only to the model."""
    wish = setup.fill(direction)
    if prose:
        task = MORE_OF_PASSAGE if passage is WantedPassage.MORE else NEXT_PASSAGE
        return f"{task}\n\nWhat the author wants in it: {wish}" if wish else task
    words = [MORE_OF_REPLY] if passage is WantedPassage.MORE else []
    if speaker:
        words.append(f"[Write the next reply as {speaker}.]")
    if wish:
        words.append(f"[A direction for your next reply, which is no part of the story: {wish}]")
    return "\n".join(words)


def _write_prose(placed: list[PlacedMessage]) -> tuple[Message, ...]:
    """Return a text as one question: its newest passages, and the task."""
    system = [item.message for item in placed if item.part is ViewPart.SYSTEM]
    told = [item.message.text for item in placed if item.part is not ViewPart.SYSTEM]
    begins = [PROSE_BEGINS] if any(item.part is ViewPart.TAIL for item in placed) else []
    return (*system, _say("\n\n".join([*begins, *told[:-1], *(["---"] if begins else []), *told[-1:]])))


def _write_chat(placed: list[PlacedMessage]) -> tuple[Message, ...]:
    """Return a chat as a list: what is ours joined to its neighbours of the same role, and names before words where
    several characters speak."""
    speakers = {
        item.message.speaker for item in placed if item.part is ViewPart.TAIL and item.message.role is Role.ASSISTANT
    }
    named = len(speakers - {None}) > 1
    written: list[tuple[Message, bool]] = []
    for item in placed:
        ours = item.part is not ViewPart.TAIL
        message = replace(item.message, speaker=None)
        if named and item.message.speaker and not ours:
            message = replace(message, parts=_put_name(message.parts, item.message.speaker))
        before = written[-1] if written else None
        if before and before[0].role is message.role is Role.USER and (ours or before[1]):
            written[-1] = replace(message, parts=_join_parts(before[0].parts, message.parts)), ours and before[1]
        else:
            written.append((message, ours))
    return tuple(message for message, _ in written)


def _join_parts(first: tuple[Part, ...], second: tuple[Part, ...]) -> tuple[Part, ...]:
    match first, second:
        case (Text(one),), (Text(other),):
            return (Text(f"{one}\n\n{other}"),)
    return (*first, *second)


def _put_name(parts: tuple[Part, ...], name: str) -> tuple[Part, ...]:
    at = next((at for at, part in enumerate(parts) if isinstance(part, Text)), None)
    if at is None:
        return parts
    words = parts[at]
    assert isinstance(words, Text)
    return (*parts[:at], Text(f"{name}: {words.text}"), *parts[at + 1 :])
