"""Combining as a fold: the question that makes one recap of several summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, Role, Text
from previously.core.model_io import ModelRequest
from previously.core.versions import Kind
from previously.folds import combine
from previously.folds.checks import Refused
from previously.folds.noting import MOST_PARTS, Noted, Unusable
from previously.folds.rendering import Template

TOKENS_PER_WORD = 4 / 3


@dataclass(frozen=True, slots=True)
class CombineNote:
    """Summaries that become one text. It keeps the protocol `Note`, though its answer is plain prose."""

    delta: tuple[Message, ...]
    """The summaries, in order, each as a message."""
    target_words: int
    so_far: str = ""
    """What the summaries before were combined to, where they do not fit a model together."""
    again: bool = False

    @classmethod
    def of(cls, summaries: Sequence[str], target_words: int) -> CombineNote:
        """The question for these summaries."""
        told = tuple(Message(Role.ASSISTANT, (Text(one),)) for one in summaries if one.strip())
        return cls(told, target_words)

    @property
    def kind(self) -> Kind:
        """What kind of memory it is."""
        return Kind.RECAP

    @property
    def prompt(self) -> str:
        """The name of its prompt."""
        return combine.PROMPT

    @property
    def summaries(self) -> list[str]:
        """All that is to be combined."""
        return [one for one in (self.so_far, *(message.text for message in self.delta)) if one.strip()]

    @property
    def most_parts(self) -> int:
        """In how many parts a model may be asked."""
        return MOST_PARTS

    def part(self, delta: tuple[Message, ...], so_far: str) -> CombineNote:
        """The same for a run of the summaries."""
        return replace(self, delta=delta, so_far=so_far)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """The question for a model."""
        return combine.build(template, self.summaries, self.target_words, hint)

    def judge(self, answer: str) -> Noted | Unusable:
        """The combined text, if it may be kept."""
        verdict = combine.check(self.summaries, answer, self.target_words)
        if isinstance(verdict, Refused):
            return Unusable(verdict.reason, answer)
        return Noted(verdict.text)

    def builtin(self) -> Noted:
        """The summaries joined, and cut to size."""
        words = self.target_words or sum(len(one.split()) for one in self.summaries)
        return Noted(combine.joined(self.summaries, int(words * TOKENS_PER_WORD)))
