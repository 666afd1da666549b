"""Picks: which of the messages that a search found help to answer a question.

It is asked like a fold, with the same bounds, but no memory becomes of it. A model reads an excerpt of each message and
answers with their numbers, the best first. Nothing of its answer is shown: it is an order, and the messages are the
story's. So it is judged by its shape alone. Numbers that stand for no message are dropped with a warning. An answer
that is more than numbers, or that counts, is refused, once and for all: the order stays as it was, and a search does
not wait for a second try.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from previously.core.model_io import ModelReply, ModelRequest
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words
from previously.folds.ask import AskedSource
from previously.folds.checks import Accepted, RefusalKind, Refused, is_open_block, is_tool_call, strip_reasoning
from previously.folds.checks.shape import tidy_answer
from previously.folds.fold import QuestionFold
from previously.folds.prompts.templates import Template, defuse_tags, fill_template

NONE = "none"

MOST_PICKED = 20
"""Numbers of an answer: twice what is asked for. A model that gives more does not choose."""

COUNTED = 8
"""So many numbers at equal steps are counted, not chosen: small models write 14, 16, 18 and go on. Fewer may be a scene
that answers, chosen whole."""

_NONE = lazy_pattern(r"\W*none\b\W*")
_LABEL = lazy_pattern(r"[^\W\d][^\d\n:]{0,40}:\s*")
"""A few words before the numbers: "Numbers:"."""
_NUMBERS = lazy_pattern(r"[\s0-9,;.#()\[\]*•-]+")
_DIGITS = lazy_pattern("[0-9]+")


@dataclass(frozen=True, slots=True)
class PickFold(QuestionFold):
    """A question, who looks for the answer, and what was found."""

    prompt: ClassVar[str] = "pick"
    answer_tokens: ClassVar[int] = 100
    """Twenty numbers with commas are 60 tokens."""

    question: str
    excerpts: tuple[AskedSource, ...]
    reader: str = ""
    """The character who asks, and who witnessed all that was found; empty for nobody in particular."""

    @property
    def words_read(self) -> int:
        return sum(count_words(str(excerpt)) for excerpt in self.excerpts) + count_words(self.question)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        numbered = (f"[{number}] {excerpt}" for number, excerpt in enumerate(self.excerpts, 1))
        system, user = fill_template(
            template,
            {
                "excerpts": defuse_tags("\n".join(numbered)),
                "question": defuse_tags(self.question),
                "reader": f"{defuse_tags(self.reader)} asks, and witnessed all of this.\n" if self.reader else "",
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, max_output_tokens=self.answer_tokens, temperature=0.0)

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        return self.judge_text(reply.text)

    def judge_text(self, text: str) -> Accepted | Refused:
        """Accept the numbers that stand for an excerpt, as `14, 3, 22`, or `none`."""
        answer = "" if is_open_block(text) or is_tool_call(text) else tidy_answer(strip_reasoning(text))
        if _NONE.fullmatch(answer.casefold()):
            return Accepted(NONE)
        label = _LABEL.match(answer)
        listed = answer[label.end() if label else 0 :]
        if not _NUMBERS.fullmatch(listed):
            return Refused(RefusalKind.REFUSAL, "it is not a list of numbers")
        named = dict.fromkeys(digits.lstrip("0") for digits in _DIGITS.findall(listed))
        known = {str(number) for number in range(1, len(self.excerpts) + 1)}
        picked = [digits for digits in named if digits in known]
        steps = {later - earlier for earlier, later in pairwise(map(int, picked))}
        if len(picked) > MOST_PICKED or (len(picked) >= COUNTED and len(steps) == 1):
            return Refused(RefusalKind.REFUSAL, f"it counts {len(picked)} messages, which is no choice")
        if not picked:
            return Refused(RefusalKind.REFUSAL, "none of its numbers stands for a message")
        dropped = len(named) - len(picked)
        warnings = (f"{dropped} of its numbers {'stand' if dropped > 1 else 'stands'} for no message",)
        return Accepted(", ".join(picked), warnings=warnings if dropped else ())


def read_picked(text: str) -> list[int]:
    """Return the numbers of an answer that was accepted."""
    return [int(digits) for digits in _DIGITS.findall(text)]
