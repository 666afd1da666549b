"""A question about a story: what a model is asked, and which of its answers may be shown.

It is asked like a fold, with the same bounds, but no memory becomes of it: the answer is only shown. The model is given
numbered sources and must name the numbers that its answer rests on. An answer that names none, or one that is not
there, is refused; so is one with a person or a number that neither the question nor a source *that it names* has heard
of. Where the sources do not answer, it says so in a fixed sentence, `NOT_SAID`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from previously.core.model_io import ModelReply, ModelRequest
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words
from previously.folds.checks import Accepted, RefusalKind, Refused, TextRequest, judge, judge_text, strip_reasoning
from previously.folds.checks.shape import tidy_answer
from previously.folds.fold import QuestionFold
from previously.folds.prompts.templates import Template, defuse_tags, fill_template

NOT_SAID = "The story does not say."

MOST_WORDS = 150
"""Words of an answer: three long sentences, which is what is asked for. More is a retelling of the sources."""

_CITED = lazy_pattern(r"\s*\[\s*(\d{1,4}(?:\s*(?:[,;–-]|and|und|et|y)\s*\[?\d{1,4}\]?)*)\s*\]")
_RANGE = lazy_pattern(r"(\d+)\s*[–-]\s*\[?(\d+)|(\d+)")
_NOT_SAID = lazy_pattern(r"\W*the story does(?: not|n[’']t) say\b")


@dataclass(frozen=True, slots=True)
class AskedSource:
    """A source as a model is shown it."""

    label: str
    """The place it comes from: `recap, messages 0 to 41`, `message 12, Maya`."""
    text: str

    def __str__(self) -> str:
        return f"{self.label}: {self.text}"


@dataclass(frozen=True, slots=True)
class AskFold(QuestionFold):
    """A question and its sources."""

    prompt: ClassVar[str] = "ask"
    answer_tokens: ClassVar[int] = 400
    """150 words are 200 tokens in English and twice that in many other languages."""

    question: str
    sources: tuple[AskedSource, ...]

    @property
    def words_read(self) -> int:
        return sum(count_words(str(source)) for source in self.sources) + count_words(self.question)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        numbered = (f"[{number}] {source}" for number, source in enumerate(self.sources, 1))
        system, user = fill_template(
            template,
            {
                "sources": defuse_tags("\n".join(numbered)),
                "question": defuse_tags(self.question),
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, max_output_tokens=self.answer_tokens, temperature=0.0)

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        return self._judge(reply.text, lambda asked, bare: judge(asked, replace(reply, text=bare)))

    def judge_text(self, text: str) -> Accepted | Refused:
        return self._judge(text, judge_text)

    def _judge(self, raw: str, judge_bare: Callable[[TextRequest, str], Accepted | Refused]) -> Accepted | Refused:
        """Judge an answer without the numbers of its sources, which are no part of what it says; then these."""
        text = tidy_answer(strip_reasoning(raw))
        cited = find_cited(text)
        if not cited and is_not_said(text):
            return Accepted(NOT_SAID)
        verdict = judge_bare(self._request(cited), remove_cited(raw))
        if isinstance(verdict, Refused):
            return verdict
        return self._find_fault(cited) or Accepted(" ".join(text.split()))

    def _request(self, cited: Sequence[int]) -> TextRequest:
        """Return what an answer is held against: the question, and the sources that it names itself."""
        named = [self.sources[number - 1] for number in cited if 0 < number <= len(self.sources)]
        heard = tuple(map(str, named or self.sources))
        return TextRequest(
            "", (), ceiling_words=MOST_WORDS, retells=True, sources=heard, question=self.question, third_person=True
        )

    def _find_fault(self, cited: Sequence[int]) -> Refused | None:
        if not cited:
            return Refused(
                RefusalKind.SHAPE,
                f"it names no source; put the number of a source in square brackets behind every sentence, or write "
                f"exactly: {NOT_SAID}",
            )
        unknown = [number for number in cited if not 0 < number <= len(self.sources)]
        if unknown:
            return Refused(
                RefusalKind.SHAPE, f"it names a source [{unknown[0]}]; there are only [1] to [{len(self.sources)}]"
            )
        return None


def find_cited(text: str) -> tuple[int, ...]:
    """Return the numbers of sources that an answer names, each once, in order."""
    numbers: dict[int, None] = {}
    for cited in _CITED.finditer(text):
        for first, last, single in _RANGE.findall(cited[1]):
            if single:
                numbers[int(single)] = None
            else:
                # A range that is no range is two numbers: nothing is made up between them.
                between = range(int(first), int(last) + 1) if int(first) < int(last) <= int(first) + 50 else ()
                numbers |= dict.fromkeys(between or (int(first), int(last)))
    return tuple(numbers)


def remove_cited(text: str) -> str:
    """Return an answer without the numbers of its sources."""
    return _CITED.sub("", text)


def is_not_said(text: str) -> bool:
    """Return whether an answer is that the story does not say; some models go on to say what it does not."""
    return _NOT_SAID.match(text.strip().casefold()) is not None
