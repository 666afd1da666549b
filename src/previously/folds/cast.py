"""Cast: what one character knows, kept up to date from what they witnessed.

One note per character and update: their memory before, and new events. What must stay true: a message that the
character did not witness is in no note of theirs, whoever makes the note; an answer about somebody else is not kept;
what stands there after an update is at most five sentences and ten facts, whatever a model wrote; notes share nothing,
so that one that fails changes nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from previously.core.asking import ModelRequest
from previously.core.cast import Fact, Knowledge, knowledge_of, one_line
from previously.core.messages import Message
from previously.core.text import clean
from previously.core.versions import Kind
from previously.core.witnessing import folded_name, knows_of
from previously.core.words import count_words
from previously.folds.cast_answer import Wanted, wanted_in
from previously.folds.cast_diff import applied, resolved
from previously.folds.checks import Accepted, Refused, brief
from previously.folds.fold import NoteFold
from previously.folds.json_answer import canonical, refuse_shape
from previously.folds.rendering import Template, as_data, fill, transcript
from previously.text.sentences import whole_sentences

MOST_SENTENCES = 5
LEAST_SENTENCES = 3
MOST_WORDS = 120
MOST_CHARACTERS = 12 * MOST_WORDS
"""How long a summary may be, in sentences, words and, where there are no words, characters."""

LONGEST_NAME = 60
OUTPUT_TOKENS = 700
"""A summary of that length and a handful of facts, with room to spare: an answer that is cut off ran away."""

TEMPERATURE = 0.2

_TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
SCHEMA: Mapping[str, Any] = {
    "title": "cast",
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "add": _TEXTS,
        "remove": {"type": "array", "items": {"type": "integer"}},
        "update": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "integer"}, "new": {"type": "string"}},
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["summary", "add", "remove", "update"],
    "additionalProperties": False,
}
"""The answer that is asked for; what is accepted is wider."""


@dataclass(frozen=True, slots=True)
class CastFold(NoteFold):
    """What one character has just witnessed, to be taken into their memory."""

    name: str
    delta: tuple[Message, ...]
    """What they witnessed. Whatever else it is made with is left out."""
    so_far: str = ""
    """Their memory before, as canonical JSON; empty at first."""
    at: int = 0
    """The position of the newest message: since when they know what is new."""
    again: bool = False

    def __post_init__(self) -> None:
        # The one rule that may never be forgotten is not left to those who make notes. Nobody witnesses nothing.
        known = (one for one in self.delta if self.name.strip() and knows_of(self.name, one))
        object.__setattr__(self, "delta", tuple(known))

    @classmethod
    def of(
        cls, name: str, messages: Sequence[Message], *, so_far: str = "", at: int = 0, again: bool = False
    ) -> CastFold:
        """The note for a character of a run of messages, witnessed or not."""
        return cls(name, tuple(messages), so_far, at, again)

    @property
    def kind(self) -> Kind:
        """What kind of memory it is."""
        return Kind.CAST

    @property
    def prompt(self) -> str:
        """The name of its prompt."""
        return "cast"

    @property
    def before(self) -> Knowledge:
        """What they knew before."""
        return knowledge_of(self.so_far)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """The question for a model."""
        before = self.before
        facts = "\n".join(f"{number}. {fact.text}" for number, fact in enumerate(before.facts, 1))
        system, user = fill(
            template,
            {
                "name": as_data(one_line(self.name, LONGEST_NAME)),
                "summary": as_data(before.summary) or "(nothing yet)",
                "facts": as_data(facts) or "(no facts yet)",
                "events": transcript(self.delta) or "(nothing)",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, OUTPUT_TOKENS, SCHEMA, TEMPERATURE)

    def judge_text(self, text: str) -> Accepted | Refused:
        """What they know now, by a model's answer. An empty summary leaves the earlier one."""
        wanted = wanted_in(text)
        if isinstance(wanted, Refused):
            return wanted
        if wanted.about and not is_self(wanted.about, self.name):
            return refuse_shape(f"it is about {brief(wanted.about)}, not about {brief(self.name)}")
        before = self.before
        facts = applied(before.facts, resolved(before.facts, wanted, self._learnt))
        summary, cut = bounded(wanted.summary)
        now = Knowledge(summary or before.summary, facts)
        if transcript(self.delta) and (now.is_empty or wanted.is_empty):
            return refuse_shape("it tells nothing")
        return Accepted(canonical(now.as_json()), warnings=_warnings(wanted, cut=cut))

    def builtin(self) -> Accepted:
        """What they knew before: without a model nothing is learnt."""
        return Accepted(canonical(self.before.as_json()))

    def _learnt(self, text: str) -> Fact:
        return Fact(text, self.at)


def is_self(name: str, other: str) -> bool:
    """Whether two names are one person's: the same, or one a part of the other."""
    one, two = set(folded_name(name).split()), set(folded_name(other).split())
    return bool(one) and bool(two) and (one <= two or two <= one)


def _warnings(wanted: Wanted, *, cut: bool) -> tuple[str, ...]:
    warnings: list[str] = []
    if cut:
        warnings.append(f"the summary was cut to {MOST_SENTENCES} sentences and {MOST_WORDS} words")
    if not wanted.summary:
        warnings.append("there was no summary; the earlier one stays")
    elif len(whole_sentences(wanted.summary)) < LEAST_SENTENCES:
        warnings.append(f"the summary has fewer than {LEAST_SENTENCES} sentences")
    if wanted.whole:
        warnings.append("it gave all facts instead of what changed")
    return tuple(warnings)


def bounded(summary: str) -> tuple[str, bool]:
    """A summary of at most five sentences and so many words, and whether it had to be cut."""
    text = " ".join(clean(summary)[0].split())
    sentences = whole_sentences(text)
    kept: list[str] = []
    words = characters = 0
    for sentence in sentences[:MOST_SENTENCES]:
        words += count_words(sentence)
        characters += len(sentence)
        if words > MOST_WORDS or characters > MOST_CHARACTERS:
            break
        kept.append(sentence)
    if len(kept) == len(sentences):
        return text, False
    if kept:
        return " ".join(kept), True
    return f"{_first_words(sentences[0])}…", True


def _first_words(sentence: str) -> str:
    """The beginning of an endless sentence; in scripts without spaces by its characters."""
    text = " ".join(sentence.split()[:MOST_WORDS])
    while count_words(text) > MOST_WORDS:
        text = text[: len(text) * MOST_WORDS // count_words(text) - 1] if len(text) > MOST_WORDS else ""
    return text[:MOST_CHARACTERS].rstrip(",;: ")
