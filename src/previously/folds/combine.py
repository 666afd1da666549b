"""Combining scenes: one timeline out of several, from their summaries alone.

Entries are no part of the question: they say what things are and are merged by code, which makes combining cheap. No
word of an entry reaches the model. The answer is plain prose and passes the checks of any such text. Without a model
the summaries are joined and cut to size, and the newest is always in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from previously.core.messages import Message, Role, Text
from previously.core.model_io import ModelRequest
from previously.core.scripts import count_words
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.builtin.quotes import quote_whole
from previously.folds.checks import Accepted, Refused, TextRequest, judge_text
from previously.folds.fold import NoteFold
from previously.folds.json_answer import refuse_shape
from previously.folds.prompts.templates import Template, defuse_tags, fill_template
from previously.text.cuts import cut_to_tokens

NEWEST_SHARE = 4
"""A quarter is kept for the newest summary: what happens next goes on from it."""

TOKENS_PER_WORD = 4 / 3
"""The usual ratio of English prose, for cutting to a number of words."""


@dataclass(frozen=True, slots=True)
class CombineFold(NoteFold):
    """Summaries that become one text."""

    kind: ClassVar[Kind] = Kind.RECAP
    prompt: ClassVar[str] = "combine"

    delta: tuple[Message, ...]
    """The summaries, in order, each as a message."""
    target_words: int
    """0 = no target."""
    so_far: str = ""
    """The text that the summaries before were combined to, where they do not fit a model together."""
    again: bool = False

    @classmethod
    def of(cls, summaries: Sequence[str], target_words: int) -> CombineFold:
        return cls(_as_messages(summaries), target_words)

    @property
    def summaries(self) -> list[str]:
        before = [self.so_far] if self.so_far.strip() else []
        return [*before, *(message.text for message in self.delta)]

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        words = self.target_words
        system, user = fill_template(
            template,
            {
                "length": f"about {words} words" if words else "as long as it needs to be",
                "summaries": defuse_tags(number_scenes(self.summaries)) or "(none)",
                "hint": f" {hint}" if hint else "",
            },
        )
        room = words or sum(map(count_words, self.summaries))
        return ModelRequest(system, user, max_output_tokens=2 * room + 100)

    def judge_text(self, text: str) -> Accepted | Refused:
        verdict = judge_text(TextRequest("", _as_messages(self.summaries), self.target_words, retells=True), text)
        return refuse_shape(verdict.reason) if isinstance(verdict, Refused) else Accepted(verdict.text)

    def builtin(self) -> Accepted:
        """Return the summaries joined, and cut to size."""
        words = self.target_words or sum(len(text.split()) for text in self.summaries)
        return Accepted(join_summaries(self.summaries, int(words * TOKENS_PER_WORD)))


def _as_messages(summaries: Sequence[str]) -> tuple[Message, ...]:
    return tuple(Message(Role.ASSISTANT, (Text(text),)) for text in summaries if text.strip())


def number_scenes(summaries: Sequence[str]) -> str:
    texts = [text.strip() for text in summaries]
    return "\n\n".join(f"Scene {number}: {text}" for number, text in enumerate(texts, 1) if text)


def join_summaries(summaries: Sequence[str], most_tokens: int) -> str:
    """Return the summaries one after the other, or the lines and sentences of them that say most, each as it stands;
    the newest has its share."""
    texts = [text.strip() for text in summaries if text.strip()]
    text = "\n".join(texts)
    words = count_words(text)
    while estimate_tokens(text) > most_tokens and words > 1:
        words = min(words * most_tokens // estimate_tokens(text), words - 1) or 1
        newest = quote_whole(texts[-1:], words // NEWEST_SHARE) if len(texts) > 1 else ""
        older = quote_whole(texts[:-1] or texts, max(1, words - count_words(newest)))
        text = quote_whole([older, newest], 0)
    return cut_to_tokens(text, most_tokens)
