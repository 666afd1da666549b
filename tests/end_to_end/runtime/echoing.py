"""A scripted model that tells all it reads, canaries first, in whatever shape it is asked for; and one that fails.

Canaries are words that occur in one message only. Whoever finds one knows which message it came from.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.runtime.model_writer import ModelWriter
from previously.runtime.prompts import load_prompts
from previously.testing.model import Scripted, ScriptedModel
from tests.end_to_end.runtime.update_answers import answer, closing_answer, is_closing, messages

CANARY = re.compile(r"\bQu[a-z]{6}\b", re.I)
PROMPTS = load_prompts()
_SYLLABLES = [first + second for first in "bdfglmnprstvz" for second in "aeiou"]


def canary(number: int) -> str:
    """The canary of that number: a name of eight letters that is part of no other."""
    count = len(_SYLLABLES)
    parts = number % count, number // count % count, number // count // count % count
    return "Qu" + "".join(_SYLLABLES[part] for part in reversed(parts))


def canaries_in(text: str) -> set[str]:
    """The canaries in a text, as they were made."""
    return {found.capitalize() for found in CANARY.findall(text)}


def part(request: ModelRequest, tag: str) -> str:
    """What stands between tags; empty if there are none."""
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", request.user, re.DOTALL)
    return found[1] if found else ""


def kind_of(request: ModelRequest) -> str:
    """Which prompt a request is made of."""
    for tag, name in _TAGS.items():
        if f"<{tag}>\n" in request.user:
            return name
    return "chapter" if is_closing(request) else "recap"


_TAGS = {
    "new_messages": "update",
    "scene": "scene",
    "fragment": "analysis",
    "memory": "cast",
    "summaries": "combine",
    "old_words": "amend",
    "conversation": "brief",
}


def about(request: ModelRequest) -> str:
    """Whose memory a request is about; empty if it is about nobody's."""
    found = re.match(r"You keep the memory of one character in a story: (.*?)\. You are", request.system)
    return found[1] if found else ""


def echo(request: ModelRequest) -> str:
    """An answer of the right shape that holds every canary of the question, wherever it can."""
    read = _canaries(request.user)
    people = re.findall(r"^(?:#\d+ )?([A-Z][a-z]+): ", request.user, re.M)
    told = " ".join(f"{who} spoke of {word} at the mill." for who, word in zip(people * len(read), read, strict=False))
    told = told or " ".join(["They spoke at the mill.", *read])
    match kind_of(request):
        case "update":
            return answer(request, told, **_lists(messages(request), people))
        case "scene":
            own = _canaries(part(request, "scene"))
            return json.dumps({"summary": told[:1_200], **_lore(own, people), **_signals(own, people)})
        case "analysis":
            own = _canaries(part(request, "fragment"))
            return json.dumps({"summary_update": told[:900], "mentions": [*people, *own], **_signals(own, people)})
        case "cast":
            return json.dumps({"summary": told[:600], "add": [f"{word} is hidden under the mill" for word in read[:9]]})
        case "chapter":
            return closing_answer(request, told)
        case _:
            return told


def _lists(said: str, people: list[str]) -> dict[str, str]:
    """The lists of an update, every one with canaries, each said of the message it stands in; all who speak in the
    messages are noted as present at all of them."""
    who = people[0] if people else "Somebody"
    heard = [(number, _canaries(text)) for number, _, text in numbered(said)]
    words = [(number, word) for number, found in heard for word in found][:4]
    speakers = list(dict.fromkeys(name for _, name, _ in numbered(said)))
    return {
        "threads": "\n".join(f"- new #{at} {who} to all: {word} brought home" for at, word in words),
        "state": "\n".join(f"- #{at} {word} / holder: {who}" for at, word in words),
        "present": f"- #1-#{len(heard)}: {', '.join(speakers)}",
        "lore": "\n".join(f"- #{at} {word} | thing | {word}, brass key | Opens the mill." for at, word in words),
        "wishes": "\n".join(f"- #{at} more of {word}" for at, word in words[:2]),
    }


def numbered(said: str) -> list[tuple[int, str, str]]:
    """The messages of an update: number, writer and text."""
    found = re.findall(r"^#(\d+) ([^:\n]*): (.*?)(?=\n\n#\d+ |\Z)", said, re.M | re.S)
    return [(int(number), name, text) for number, name, text in found]


def _canaries(text: str) -> list[str]:
    return list(dict.fromkeys(found.capitalize() for found in CANARY.findall(text)))


def _lore(read: list[str], people: list[str]) -> dict[str, object]:
    everything = " ".join(f"Knows of {word}." for word in read) or "Waits at the mill."
    things = [
        {
            "name": word,
            "type": "item",
            "keywords": [word, "brass key"],
            "content": f"{word} opens the mill. {everything}",
        }
        for word in read[:4]
    ]
    known = [
        {"name": who, "type": "character", "keywords": [who, *read[:3]], "content": everything}
        for who in dict.fromkeys(people[:3])
    ]
    rules = [{"name": "Law of the mill", "type": "rule", "keywords": ["law", "mill"], "content": everything}]
    return {"lorebooks": [*things, *known, *rules]}


def _signals(read: list[str], people: list[str]) -> dict[str, list[str]]:
    who = people[0] if people else "Somebody"
    return {
        "events": [f"{who} found {word}." for word in read[:3]],
        "state_changes": [f"{who} / holds: {word}" for word in read[:4]],
        "open_threads": [f"{who} promised to bring {word} home." for word in read[:4]],
        "resolved_threads": [],
    }


BROKEN: tuple[Scripted, ...] = (
    "",
    "I'm sorry, but I can't help with that.",
    '{"summary": "They',
    "[" * 40,
    "Of course! Here is a poem about the sea.",
    ModelFailure(FailureKind.TIMEOUT, "The model did not answer in time."),
    ModelFailure(FailureKind.SERVER, "The server said 500."),
    ModelFailure(FailureKind.FILTERED, "A filter blocked the answer."),
)


@dataclass
class Fickle:
    """Answers with what it reads, and every so often with nothing that can be used."""

    chance: random.Random
    failing: float = 0.0
    """How often it fails, from 0 to 1."""
    now: float = 0.0
    model: ScriptedModel = field(init=False)

    def __post_init__(self) -> None:
        self.model = ScriptedModel(self._answer)

    def _answer(self, request: ModelRequest) -> Scripted:
        if self.chance.random() >= self.failing:
            return echo(request)
        return self.chance.choice((*BROKEN, echo(request)[:-9], request.user))

    def writer(self) -> ModelWriter:
        """Who writes memory with it. Waiting takes no time, and the breaker never lasts."""
        return make_writer(self.model, self._clock)

    def _clock(self) -> float:
        self.now += 7_200.0
        return self.now


async def _at_once(seconds: float) -> None:
    """Wait no time at all."""


def make_writer(model: ScriptedModel, clock: Callable[[], float] = lambda: 0.0) -> ModelWriter:
    """Who writes memory with a model, without ever waiting."""
    wait: Callable[[float], Awaitable[None]] = _at_once
    return ModelWriter(model, PROMPTS, window_tokens=8_192, sleep=wait, clock=clock, jitter=lambda: 0.5)
