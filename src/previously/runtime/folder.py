"""Who writes memory: a folder is asked with a request and answers with text.

`BuiltinFolder` needs no model; `runtime.model_folder.ModelFolder` asks one. Anything that keeps this protocol can take
their place. A folder never raises because a model failed, and what it gives back has been checked, or is checked by
the loop before it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from previously.core.messages import Message, Role
from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost, Kind, Status
from previously.core.words import count_words
from previously.folds.builtin import Said, rewrite
from previously.folds.builtin.ledger import take_ledger
from previously.folds.questions import Question, words_read
from previously.folds.rendering import told
from previously.folds.request import FoldRequest

EXCERPT_CHARACTERS = 60


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

    async def write(self, asked: Question) -> FolderReply:
        """The text that this request asks for. A reply with status `refused` says that there is none; only an amend
        may end so."""


class BuiltinFolder:
    """The built-in folder: deterministic, extractive, no model, no calls."""

    made_by = "builtin"
    amends = False

    async def ready(self) -> bool:
        """Always: it depends on nothing."""
        return True

    async def write(self, asked: Question) -> FolderReply:
        """The text, written in this process in a few milliseconds."""
        if not isinstance(asked, FoldRequest):
            noted = asked.builtin()
            cost = Cost(0, words_read(asked) * 4 // 3, estimate_tokens(noted.text))
            return FolderReply(noted.text, "", cost, checked=True, warnings=noted.warnings)
        delta = [said(message) for message in asked.delta]
        if asked.kind is Kind.BACKBONE:  # what is new is a text of its own making, or a model's: told, not said
            delta = [Said(None, take_ledger(line.text)[0]) for line in delta]
        written = rewrite(asked.previous, asked.carry or None, delta, target_words=_room(asked))
        text = written.text if written.text.strip() else excerpt(delta)
        read = estimate_tokens(asked.previous) + sum(estimate_tokens(line.text) for line in delta)
        carry = "" if asked.kind is Kind.CHAPTER else written.carry  # no fold goes on from a chapter's recap
        return FolderReply(text, carry, Cost(0, read, estimate_tokens(text)))


def _room(asked: FoldRequest) -> int:
    """How many words to write: in a recap some are set aside for commitments that may have to be put back."""
    if asked.kind is not Kind.RECAP:
        return asked.target_words
    open_words = sum(count_words(one) for one in asked.commitments)
    return asked.target_words - min(asked.target_words // 4, open_words // 2)


_UNNAMED = {Role.USER: "The user", Role.TOOL: "A tool"}


def said(message: Message) -> Said:
    """The message as the built-in folder reads it. A user without a name is called that; a nameless voice narrates."""
    return Said(message.speaker or _UNNAMED.get(message.role), told(message))


def excerpt(delta: Sequence[Said]) -> str:
    """What is left to tell of messages that hold nothing to retell: who wrote the longest, and how it begins."""
    longest = max(delta, key=lambda line: len(line.text), default=Said(None, ""))
    begins = " ".join(longest.text.split())[:EXCERPT_CHARACTERS].strip()
    return f"{longest.speaker or 'Someone'} wrote: {begins}" if begins else ""
