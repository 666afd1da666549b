"""What any fold asks, text or note, in one shape: the question, the verdict on its answer, and its parts.

What must stay true: whatever is asked, an answer is kept only after its checks, and what does not fit a model's window
is split so that every word is read and none twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from previously.core.messages import Message
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.scripts import count_words
from previously.core.versions import Kind
from previously.folds import request
from previously.folds.chapter import ChapterFold
from previously.folds.checks import Accepted, Refusal, Refused
from previously.folds.noting import Note, Unusable, judge_reply
from previously.folds.rendering import Template, told, transcript
from previously.folds.request import FoldRequest
from previously.folds.update import UpdateFold, in_steps

Question = FoldRequest | UpdateFold | ChapterFold | Note


def build(template: Template, asked: Question, hint: str = "") -> ModelRequest:
    """The question for a model. `hint` says why its last answer could not be kept."""
    return request.build(template, asked, hint) if isinstance(asked, FoldRequest) else asked.build(template, hint)


def check_reply(asked: Question, question: ModelRequest, reply: ModelReply) -> Accepted | Refused:
    """Whether a model's answer may be kept."""
    if isinstance(asked, FoldRequest):
        return request.check_reply(asked, question, reply)
    if isinstance(asked, UpdateFold | ChapterFold):
        return asked.judge(reply)
    noted = judge_reply(asked, reply)
    if isinstance(noted, Unusable):
        return Refused(Refusal.REFUSAL if noted.final else Refusal.SHAPE, noted.reason)
    return Accepted(noted.text, (), warnings=(*noted.faults, *noted.warnings), mendable=noted.faults)


def check_text(asked: Question, text: str, *, made_by: str) -> Accepted | Refused:
    """The same for a text that came another way."""
    if isinstance(asked, FoldRequest):
        return request.check(asked, text, made_by=made_by)
    if isinstance(asked, UpdateFold):
        return asked.judge_recap(text)
    if isinstance(asked, ChapterFold):
        return asked.judge_own(text)
    noted = asked.judge(text)
    if isinstance(noted, Unusable):
        return Refused(Refusal.SHAPE, noted.reason)
    return Accepted(noted.text, (), warnings=(*noted.faults, *noted.warnings))


def amends(asked: Question) -> bool:
    """Whether an earlier text is to be set right."""
    return isinstance(asked, FoldRequest) and asked.amends is not None


def has_no_substitute(asked: Question) -> bool:
    """Return whether nothing can be written in a model's place: the built-in folder sets no text right and has no short
    form."""
    return amends(asked) or (isinstance(asked, ChapterFold) and asked.kind is Kind.SHORT)


def in_parts(asked: Question) -> Question:
    """Return the first of several questions for a model that cannot answer all at once; the same where it is one."""
    if isinstance(asked, ChapterFold):
        return asked.alone()
    return in_steps(asked) if isinstance(asked, UpdateFold) else asked


def says_nothing(asked: Question) -> bool:
    """Whether there is nothing to read in what is new."""
    if isinstance(asked, ChapterFold):
        return asked.says_nothing
    return not transcript(asked.delta) and not amends(asked)


def so_far(asked: Question) -> str:
    """What is gone on from."""
    if isinstance(asked, UpdateFold):
        return asked.context.recap
    if isinstance(asked, ChapterFold):
        return asked.recap
    return asked.previous if isinstance(asked, FoldRequest) else asked.so_far


def parts(asked: Question, fits: Callable[[Question], bool], most: int | None = None) -> list[tuple[Message, ...]]:
    """The messages in runs that each fit a model's window together with what is gone on from. After `most` of them the
    rest is one more, whether it fits or not."""
    if amends(asked):
        return [asked.delta]
    before = so_far(asked)
    return request.parts(asked.delta, lambda delta: fits(part(asked, before, [delta])), most)


def part(asked: Question, text: str, runs: Sequence[tuple[Message, ...]]) -> Question:
    """The question for the first of the runs that are left, after `text`."""
    if isinstance(asked, UpdateFold | ChapterFold):
        return asked.of_run(runs, text)
    if not isinstance(asked, FoldRequest):
        return asked.part(runs[0], text)
    return replace(asked, previous=text, delta=runs[0])


def words_read(asked: Question) -> int:
    """How many words the folder is given to read."""
    if isinstance(asked, FoldRequest):
        return request.words_read(asked)
    if isinstance(asked, UpdateFold):
        return sum(map(count_words, (asked.context.recap, *asked.context.texts, *map(told, asked.delta))))
    if isinstance(asked, ChapterFold):
        return sum(map(count_words, (asked.recap, *asked.texts, *map(told, asked.delta))))
    return count_words(asked.so_far) + sum(count_words(told(message)) for message in asked.delta)
