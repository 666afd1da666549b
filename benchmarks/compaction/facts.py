"""What must survive a fold, and what of it did: by exact match in the text of the folded request.

What must stay true: nobody judges. A fact is a string, and it survived if it stands in what the model would be sent
next, as it was written, not inside a longer word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from previously.core.messages import Message, Role, Text, ToolCall, ToolResult

CONSTRAINT, DECISION, FAILURE = "constraints", "decisions", "failed approaches"
EDITED, READ, ERROR, EXACT, TODO = "files edited", "files read", "errors", "ids and numbers", "open tasks"
LATER = "needed later"
KINDS = (CONSTRAINT, DECISION, FAILURE, EDITED, READ, ERROR, EXACT, TODO, LATER)


@dataclass(frozen=True, slots=True)
class Fact:
    """One string that was said once."""

    kind: str
    needle: str
    weight: int = 1
    """Two where it is about a file that was edited, is used again, or is still open."""
    part: int = 0
    """In which part of the session it was said."""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation to be folded, and what is known of it."""

    name: str
    source: str
    messages: tuple[Message, ...]
    rules: tuple[int, ...]
    """Where the system prompt and injected rules stand."""
    request: int
    """Where the newest request stands."""
    facts: tuple[Fact, ...]
    pins: tuple[int, ...] = ()
    """What the log itself knows to be the task."""
    budgets: tuple[tuple[str, int], ...] = field(default=())
    """Budgets by name."""


def told(messages: Iterable[Message]) -> str:
    """All that a model reads of these messages."""
    return "\n\n".join(one for message in messages for one in _pieces(message))


def _pieces(message: Message) -> Iterable[str]:
    for part in message.parts:
        match part:
            case Text(text) | ToolResult(_, text):
                yield text
            case ToolCall(_, name, arguments):
                yield f"{name} {arguments}"
            case _:
                pass


def holds(text: str, needle: str) -> bool:
    """Whether a text has the string, not as a piece of a longer word or number."""
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (_joins(needle[0]) and _joins(before)) and not (_joins(needle[-1]) and _joins(after)):
            return True
        start = text.find(needle, start + 1)
    return False


def _joins(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def identical(messages: Sequence[Message], wanted: Message) -> bool:
    """Whether the words of a message stand there byte for byte."""
    return any(wanted.text in one.text for one in messages if one.role in (Role.SYSTEM, Role.USER))


_PATH = r"(?<![\w/.\-])(?:[\w.\-]+/)+[\w.\-]+\.\w{1,5}\b|\b[\w\-]+\.(?:py|ts|js|go|rs|md|toml|ya?ml|json|sql|cfg|txt)\b"
_NAME = r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+\b"
_CODE = r"\b[A-Z]{2,6}-\d{2,6}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b|\b\d{3,}\b"
_EXACT = re.compile(f"{_PATH}|{_NAME}|{_CODE}")


def exact_in(text: str) -> list[str]:
    """Paths, names in code, ids, hashes and longer numbers, each once."""
    return list(dict.fromkeys(_EXACT.findall(text)))


def needed_later(past: Sequence[Message], later: Sequence[Message], part: int = 0) -> list[Fact]:
    """What the agent writes afterwards, in words and calls, and had read or written before."""
    known = set(exact_in(told(past)))
    used = exact_in(told(one for one in later if one.role is Role.ASSISTANT))
    return [Fact(LATER, one, 2, part) for one in used if one in known]


def held(facts: Iterable[Fact], text: str) -> list[Fact]:
    """The facts that a text still has."""
    return [one for one in facts if holds(text, one.needle)]


def share(facts: Sequence[Fact], text: str) -> float | None:
    """What of the facts survived, by weight, in percent; None where there are none."""
    whole = sum(one.weight for one in facts)
    return 100 * sum(one.weight for one in held(facts, text)) / whole if whole else None
