"""The one shape of every memory: a fold builds a question, judges the answer, and can be written without a model.

A fold is a frozen dataclass in a module of its own, with a prompt of the same name. Whoever writes memory knows nothing
but this shape; what differs between memories is a method or a field of the fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast

from previously.core.messages import Message
from previously.core.model_io import ModelReply, ModelRequest
from previously.core.scripts import count_words
from previously.core.versions import Cost, Kind
from previously.folds.checks import Accepted, Refused
from previously.folds.json_answer import read_answer
from previously.folds.prompts.templates import Template, render_message, render_transcript

MOST_PARTS = 24
"""The most parts in which a model is asked: more calls than this for one fold are mostly a waste."""

NOTE_TOKENS = 300
"""About how long a note is, for a rehearsal."""


@dataclass(frozen=True, slots=True)
class Amends:
    """A change under a text: the words that were removed, and words near them that stayed. What is new is the delta."""

    removed: tuple[Message, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An estimate of what a fold would give, and of what it would take."""

    accepted: Accepted
    cost: Cost


class Fold(Protocol):
    """A memory to be written, with all that is needed to ask for it and to judge the answer."""

    @property
    def kind(self) -> Kind:
        """Return the kind of the version that its own text becomes."""

    @property
    def prompt(self) -> str:
        """Return the name of its prompt."""

    @property
    def delta(self) -> tuple[Message, ...]:
        """Return the messages that are new."""

    @property
    def so_far(self) -> str:
        """Return the text that is gone on from; empty at first."""

    @property
    def again(self) -> bool:
        """Return whether it was asked for before and something provisional stands in its place."""

    @property
    def amends(self) -> Amends | None:
        """Return the change after which the text so far is to be set right; None where it is gone on from."""

    @property
    def most_parts(self) -> int:
        """Return in how many parts a model may be asked."""

    @property
    def words_read(self) -> int:
        """Return how many words a writer is given to read."""

    @property
    def is_silent(self) -> bool:
        """Return whether there is nothing to read in what is new."""

    @property
    def has_builtin(self) -> bool:
        """Return whether something can be written in a model's place."""

    @property
    def splits_for_good(self) -> bool:
        """Return whether a model that once had to be asked in steps is asked so from then on."""

    def build(self, template: Template, hint: str = "") -> ModelRequest:
        """Return the question for a model. `hint` says why its last answer could not be kept."""

    def judge(self, reply: ModelReply) -> Accepted | Refused:
        """Return what may be kept of a model's answer, or why nothing may. No answer makes it raise."""

    def judge_text(self, text: str) -> Accepted | Refused:
        """Return the same for a text of its own that came another way."""

    def builtin(self) -> Accepted:
        """Return what is written without a model, by rules."""

    def rehearse(self, *, by_model: bool) -> Rehearsal:
        """Return an estimate of the answer and its cost: texts are as long as they should be."""

    def take_run(self, runs: Sequence[tuple[Message, ...]], so_far: str) -> Fold:
        """Return the same for the first of the runs of messages that are left to ask, after `so_far`."""

    def take_first_step(self) -> Fold:
        """Return the first of several questions for a model that cannot answer all at once; itself where it is one."""

    def find_leaner(self, *, fits_whole: bool, fits_run: bool) -> Fold | None:
        """Return a question that takes less room where the whole does not fit a window, or not even the first run of
        it; None if it cannot be made smaller or need not be."""

    def explain_overflow(self, window_tokens: int) -> str:
        """Return why it is not asked where it fits no window; empty where it is asked all the same."""

    def count_growth(self, question: ModelRequest) -> int:
        """Return how many tokens the text so far may have in the question for the next run."""


class FoldDefaults:
    """The members that most folds share."""

    __slots__ = ()

    most_parts: ClassVar[int] = MOST_PARTS
    splits_for_good: ClassVar[bool] = False

    @property
    def amends(self) -> Amends | None:
        return None

    @property
    def has_builtin(self) -> bool:
        return True

    @property
    def is_silent(self: Fold) -> bool:
        return not render_transcript(self.delta)

    def take_first_step(self) -> Self:
        return self

    def find_leaner(self, *, fits_whole: bool, fits_run: bool) -> Fold | None:  # noqa: ARG002
        return None

    def explain_overflow(self, window_tokens: int) -> str:  # noqa: ARG002
        return ""

    def count_growth(self, question: ModelRequest) -> int:
        return question.max_output_tokens


class NoteFold(FoldDefaults):
    """The members that notes share: one text for a run of messages, which goes on from that of the runs before."""

    __slots__ = ()

    @property
    def words_read(self: Fold) -> int:
        return count_words(self.so_far) + count_told(self.delta)

    def judge(self: Fold, reply: ModelReply) -> Accepted | Refused:
        answer = read_answer(reply)
        return answer if isinstance(answer, Refused) else self.judge_text(answer)

    def take_run(self, runs: Sequence[tuple[Message, ...]], so_far: str) -> Self:
        return cast("Self", replace(cast("Any", self), delta=runs[0], so_far=so_far))

    def rehearse(self: Fold, *, by_model: bool) -> Rehearsal:
        cost = Cost(int(by_model), estimate_read(self), NOTE_TOKENS)
        return Rehearsal(Accepted(self.builtin().text), cost)


class QuestionFold(FoldDefaults):
    """The members of what is asked like a fold, but becomes no memory: one call, and nothing stands in for it."""

    __slots__ = ()

    kind: ClassVar[Kind] = Kind.QUESTION
    most_parts: ClassVar[int] = 1
    delta: ClassVar[tuple[Message, ...]] = ()
    so_far: ClassVar[str] = ""
    again: ClassVar[bool] = False
    answer_tokens: ClassVar[int]
    """Room for the answer."""

    @property
    def has_builtin(self) -> bool:
        return False

    @property
    def is_silent(self) -> bool:
        return False

    def builtin(self) -> Accepted:
        """Return nothing: without a model there is no answer."""
        return Accepted("")

    def rehearse(self, *, by_model: bool) -> Rehearsal:
        cost = Cost(int(by_model), estimate_read(cast("Fold", self)), self.answer_tokens)
        return Rehearsal(Accepted(""), cost)

    def take_run(self, runs: Sequence[tuple[Message, ...]], so_far: str) -> Self:  # noqa: ARG002
        return self

    def explain_overflow(self, window_tokens: int) -> str:
        return explain_window(window_tokens)

    def count_growth(self, question: ModelRequest) -> int:  # noqa: ARG002
        return 0


def count_told(messages: Sequence[Message]) -> int:
    """Return how many words messages tell."""
    return sum(count_words(render_message(message)) for message in messages)


def estimate_read(fold: Fold) -> int:
    """Return about how many tokens a writer reads: three words are four of them."""
    return fold.words_read * 4 // 3


def explain_window(window_tokens: int) -> str:
    """Return why a question that fits no window is not asked."""
    return (
        f"it does not fit the model's window, which is taken for {window_tokens:,} tokens; if it is larger, say so "
        "with memory_window_tokens"
    )


def blank_text(words: int) -> str:
    """Return a text of so many words that stands for one which is not written yet."""
    return "word " * words
