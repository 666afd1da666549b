"""Commands to memory that a user can give in any chat: a message that begins with `//` or `!!` and one of these words.
(Some clients keep what begins with `/` to themselves.)

Neither such a message nor its answer is part of the story. An answer is known again by the mark it begins with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.messages import Message, Role
from previously.core.patterns import lazy_pattern

MARK = "[Previously]"

COMMANDS = {
    "recap": "what happened so far, as it is remembered",
    "ask": "QUESTION: what the story says about it, and where",
    "why": "what the model saw in the last turn, and why",
    "threads": "what is still open; with TEXT, that this is settled",
    "state": "how things stand",
    "lore": "what is known of things; with a NAME, of that one",
    "knows": "NAME: what a character knows; without one, who is who",
    "scene": "end the scene here",
    "pin": "TEXT: words that the model is always shown",
    "undo": "take back the last thing you did to memory; with `fold`, the newest fold",
    "fold": "fold now what is due",
    "folding": "who decides that something is folded; with automatic, ask or off, set it",
    "chapter": "TITLE: close the chapter here",
    "leave": "NAME: who is not there from now on",
    "enter": "NAME: who is there (again)",
    "continue": "STORY: let this chat go on from another story; without one, which it goes on from",
    "help": "this list",
}
"""Each with what it does."""

_NAMED = r"\s*(?:[^\s:/*\"“\[][^\n:/]{0,39}:\s+)?"
"""Some clients put a name before everything that is said."""

_NEAR = 80
"""Characters at the beginning of a text that hold its mark, a name before it included. They are looked at first, since
most texts have none."""

_COMMAND = lazy_pattern(rf"{_NAMED}(//|!!)\s?(\w+)(?:[ \t]+(.*))?\s*", re.DOTALL)
_MISTYPED = lazy_pattern(rf"{_NAMED}(//|!!)([a-z]{{2,12}})(?:[ \t]+(.*))?\s*")
"""One line with a small word right behind the sign: who writes prose there begins with a capital, or leaves a space."""

_LONG_NAME = 7
"""Letters of a command from which two slips are forgiven: of shorter ones two make other words ("state", "start")."""

_SHORT_NAME = 4
"""Letters of a command up to which only its own may stand there, in another order or twice: "pain" is no slip for
"pin"."""

_TOLD = lazy_pattern(rf"(?<![^\s`])//(?=(?:{'|'.join(COMMANDS)})\b)")
_ANSWER = lazy_pattern(rf"{_NAMED}{re.escape(MARK)}")


@dataclass(frozen=True, slots=True)
class Command:
    """A word and what stands behind it."""

    name: str
    argument: str = ""
    mark: str = "//"
    """The sign it was given with."""
    meant: str = ""
    """Of a word that is no command, the command that it is like."""

    def tell(self, words: str) -> str:
        """Return an answer that names commands as this one was given: a client that keeps slashes to itself would
        not send the others."""
        return words if self.mark == "//" else _TOLD.sub(self.mark, words)


def parse_command(text: str) -> Command | None:
    """Return the command that a text is; None if it is none of ours."""
    if "//" not in text[:_NEAR] and "!!" not in text[:_NEAR]:
        return None
    match = _COMMAND.fullmatch(text)
    if match is None or match.group(2).lower() not in COMMANDS:
        return None
    return Command(match.group(2).lower(), (match.group(3) or "").strip(), match.group(1))


def parse_mistyped(text: str) -> Command | None:
    """Return the command that a text was meant to be, one or two slips away from it; None if nobody can tell."""
    if "//" not in text[:_NEAR] and "!!" not in text[:_NEAR]:
        return None
    match = _MISTYPED.fullmatch(text)
    if match is None or match[2] in COMMANDS:
        return None
    meant = next((name for name in COMMANDS if _is_slip(match[2], name)), "")
    return Command(match[2], (match[3] or "").strip(), match[1], meant) if meant else None


def _is_slip(word: str, name: str) -> bool:
    if word[0] != name[0] or (len(name) <= _SHORT_NAME and set(word) != set(name)):
        return False
    return _count_slips(word, name) <= (2 if len(name) >= _LONG_NAME else 1)


def _count_slips(word: str, name: str) -> int:
    """Return how many letters are wrong, missing, too many, or changed places with their neighbour."""
    earlier: list[int] = []
    before = list(range(len(name) + 1))
    for row, letter in enumerate(word, 1):
        now = [row]
        for column, other in enumerate(name, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != other)))
            if row > 1 and column > 1 and (word[row - 2], letter) == (other, name[column - 2]):
                now[-1] = min(now[-1], earlier[column - 2] + 1)
        earlier, before = before, now
    return before[-1]


def find_command_messages(messages: Sequence[Message]) -> frozenset[int]:
    """Return which messages of a list are commands or answers to one. What looks like an answer is one only behind a
    command, or where a trimmed list begins: a story may well begin a line with that mark."""
    ours: set[int] = set()
    after_command = True
    said = [(at, message) for at, message in enumerate(messages) if message.role is not Role.SYSTEM]
    for number, (at, message) in enumerate(said, 1):
        following = said[number][1] if number < len(said) else None
        if message.role is Role.USER and _is_command(message.text, following):
            ours.add(at)
            after_command = True
            continue
        if after_command and message.role is Role.ASSISTANT and _is_answer(message.text):
            ours.add(at)
        after_command = False
    return frozenset(ours)


def _is_command(text: str, following: Message | None) -> bool:
    """Return whether a user's text is a command. A mistyped one is if it is asked now or had an answer of ours: else it
    was told to the model, and is part of the story."""
    if parse_command(text) is not None:
        return True
    return (following is None or _is_answer(following.text)) and parse_mistyped(text) is not None


def _is_answer(text: str) -> bool:
    return MARK in text[:_NEAR] and _ANSWER.match(text) is not None
