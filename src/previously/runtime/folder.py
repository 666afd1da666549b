"""Who writes memory: a folder is asked with a request and answers with text.

`BuiltinFolder` needs no model; `runtime.model_folder.ModelFolder` asks one. Anything that keeps this protocol can take
their place. A folder never raises because a model failed, and what it gives back has been checked, or is checked by
the loop before it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost, Kind, Status
from previously.folds.applying import carry_of, cuts_of
from previously.folds.builtin.quotes import quote
from previously.folds.chapter import ChapterFold
from previously.folds.questions import Question, words_read
from previously.folds.request import FoldRequest
from previously.folds.update import UpdateFold
from previously.runtime.kept_answers import Source


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer that could not be kept, or a call that failed."""

    reason: str
    text: str
    cost: Cost
    model: str = ""
    prompt_hash: str = ""


@dataclass(frozen=True, slots=True)
class FolderReply:
    """What a folder wrote, what it wants back next time, what it cost and what was tried on the way."""

    text: str
    carry: str
    cost: Cost
    made_by: str = "builtin"
    checked: bool = False
    """Whether the folder has judged the text itself, part by part."""
    status: Status = Status.COMMITTED
    reason: str = ""
    """Why it is provisional; empty where it is not."""
    model: str = ""
    prompt_hash: str = ""
    attempts: tuple[Attempt, ...] = ()
    shed: tuple[str, ...] = ()
    """Names and numbers of the earlier text that are gone."""
    unverified: tuple[str, ...] = ()
    """Sentences without support in what was read."""
    warnings: tuple[str, ...] = ()
    """What is not as it should be in a note that was kept."""
    beside: tuple[tuple[Kind, str], ...] = ()
    """Texts of other kinds that the same answer gave."""


class Folder(Protocol):
    """Writes memory."""

    @property
    def made_by(self) -> str:
        """Who writes when all goes well: `builtin` makes no calls."""

    @property
    def amends(self) -> bool:
        """Whether it can set a text right after earlier words were changed. If not, the text is folded again, and
        `write` is never asked to amend."""

    async def ready(self) -> bool:
        """Whether what it would write now is as good as it can: with a model behind it, that it would be asked."""

    async def write(self, asked: Question, *, source: Source | None = None, anew: bool = False) -> FolderReply:
        """Return the text that this request asks for. A reply with status `refused` says that there is none; only an
        amend may end so. `source` is what an answer would be about; with `anew` no answer that was kept is taken again.
        """


class BuiltinFolder:
    """The built-in folder: it quotes, and calls no model."""

    made_by = "builtin"
    amends = False

    async def ready(self) -> bool:
        """Always: it depends on nothing."""
        return True

    async def write(
        self,
        asked: Question,
        *,
        source: Source | None = None,  # noqa: ARG002
        anew: bool = False,  # noqa: ARG002
    ) -> FolderReply:
        """The text, written in this process in a few milliseconds."""
        if isinstance(asked, UpdateFold | ChapterFold):
            text, beside = asked.builtin()
            written = sum(estimate_tokens(one) for one in (text, *(one for _, one in beside)))
            # What the recap told no more, quotations of it do not tell either.
            carry = carry_of(cuts_of(asked.carry)) if isinstance(asked, ChapterFold) else ""
            return FolderReply(text, carry, Cost(0, words_read(asked) * 4 // 3, written), checked=True, beside=beside)
        if not isinstance(asked, FoldRequest):
            noted = asked.builtin()
            cost = Cost(0, words_read(asked) * 4 // 3, estimate_tokens(noted.text))
            return FolderReply(noted.text, "", cost, checked=True, warnings=noted.warnings)
        text = quote(asked.previous, asked.delta, asked.first, asked.target_words)
        return FolderReply(text, "", Cost(0, words_read(asked) * 4 // 3, estimate_tokens(text)))
