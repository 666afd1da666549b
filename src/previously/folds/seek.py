"""Search words: other words for a question, in which the messages that answer it may be told.

It is asked like a fold, with the same bounds, but no memory becomes of it. A model that knows the story's memory writes
a few lines, and each is searched beside the question. Nothing of them is shown as the story's: they say where to look.
So they are judged by their shape alone; what cannot be searched is dropped line by line, and an answer without any line
is refused, once and for all: a search does not wait for a second try.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from previously.core.model_io import ModelReply, ModelRequest
from previously.core.patterns import lazy_pattern
from previously.core.scripts import count_words
from previously.folds.ask import is_not_said
from previously.folds.checks import Accepted, RefusalKind, Refused, is_open_block, is_tool_call, strip_reasoning
from previously.folds.checks.shape import tidy_answer
from previously.folds.fold import QuestionFold
from previously.folds.prompts.templates import Template, defuse_tags, fill_template

MOST_LINES = 8
"""Lines that are searched: what is asked for. Each has a share of the room, so more of them would leave little to
each."""

MOST_WORDS = 40
"""Words of a line: twice what is asked for. A longer one is a paragraph, and tells of many things a little."""

FRESH_SHARE = 0.5
"""Of the words of a line at least this share must be different ones: small models go round in circles."""

_LEAD = lazy_pattern(r"(?:[-*•‣◦▪●・>#]+\s*|\(?\d{1,2}[.):]\s+)+")
_QUOTES = "\"'“”„«»‘’`* \t"


@dataclass(frozen=True, slots=True)
class SeekFold(QuestionFold):
    """A question, and what is known of the story."""

    prompt: ClassVar[str] = "seek"
    answer_tokens: ClassVar[int] = 300
    """Eight lines of twenty words are 220 tokens in English."""

    question: str
    known: str

    @property
    def words_read(self) -> int:
        return count_words(self.known) + count_words(self.question)

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        system, user = fill_template(
            template,
            {
                "known": defuse_tags(self.known),
                "question": defuse_tags(self.question),
                "hint": f" {hint}" if hint else "",
            },
        )
        return ModelRequest(system, user, max_output_tokens=self.answer_tokens, temperature=0.0)

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        return self.judge_text(reply.text)

    def judge_text(self, text: str) -> Accepted | Refused:
        lines = read_lines(text, self.question)
        if not lines:
            return Refused(RefusalKind.REFUSAL, "it has no line that could be searched")
        return Accepted("\n".join(lines))


def read_lines(text: str, question: str) -> list[str]:
    """Return the lines of an answer that can be searched: no two alike, and none that is the question itself."""
    if is_open_block(text) or is_tool_call(text):
        return []
    lines: dict[str, str] = {}
    for raw in tidy_answer(strip_reasoning(text)).splitlines():
        lead = _LEAD.match(raw.strip())
        line = " ".join(raw.strip()[lead.end() if lead else 0 :].strip(_QUOTES).split())
        if _can_be_searched(line) and line.casefold() != " ".join(question.split()).casefold():
            lines.setdefault(line.casefold(), line)
    return list(lines.values())[:MOST_LINES]


def _can_be_searched(line: str) -> bool:
    words = line.casefold().split()
    is_mark = line.startswith("<") and line.endswith(">")  # a tag of the question, echoed
    if is_mark or not any(character.isalnum() for character in line) or line.endswith((":", "：")):
        return False
    return count_words(line) <= MOST_WORDS and len(set(words)) >= FRESH_SHARE * len(words) and not is_not_said(line)
