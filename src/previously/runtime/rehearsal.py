"""A rehearsal: folding as it would go, with nothing written.

The same loop runs on a store that keeps what it is given to itself, and a folder that writes nothing and takes texts to
be as long as they should be. So what `fold --plan` says is what `fold` does, as far as it can be known beforehand.
"""

from __future__ import annotations

from typing import TypeVar

from previously.core.versions import Cost, Kind
from previously.folds.chapter import BACKBONE, CHAPTER, KINDS, SHORT, SHORT_WORDS, ChapterFold
from previously.folds.questions import Question, words_read
from previously.folds.request import FoldRequest
from previously.folds.update import UPDATED, UpdateFold
from previously.runtime.folder import Folder, FolderReply
from previously.runtime.kept_answers import Source

T = TypeVar("T")

PLANNED = "planned"
_WORD = "word "
INSTRUCTION_TOKENS = 1_200
"""What the question of an update takes beside the story: its instructions and headings."""

CLOSING_TOKENS = 750
"""What the question of a chapter that has closed takes beside what is known of it."""

UPDATE_TOKENS = 1_700
"""About how long an answer to an update is: 1,300 to 1,950 were seen."""

NOTE_TOKENS = 300
"""About how long a note is."""


class RehearsalFolder:
    """Says what a folder would read and write."""

    def __init__(self, folder: Folder) -> None:
        self.made_by = folder.made_by
        self.amends = folder.amends
        self._folder = folder

    async def ready(self) -> bool:
        """Whether the real one is."""
        return await self._folder.ready()

    async def write(self, asked: Question, *, source: Source | None = None, anew: bool = False) -> FolderReply:
        """A text of the length that is asked for."""
        read = words_read(asked)
        if isinstance(asked, UpdateFold):
            return self._updated(asked, read * 4 // 3)
        if isinstance(asked, ChapterFold):
            return self._closed(asked, read * 4 // 3)
        if not isinstance(asked, FoldRequest):
            cost = Cost(int(self.made_by != "builtin"), read * 4 // 3, NOTE_TOKENS)
            return FolderReply(asked.builtin().text, "", cost, made_by=self.made_by, checked=True)
        written = asked.target_words or read
        cost = Cost(int(self.made_by != "builtin"), read * 4 // 3, written * 4 // 3)
        return FolderReply(_WORD * written, asked.carry, cost, made_by=self.made_by, checked=True)

    def _closed(self, asked: ChapterFold, read_tokens: int) -> FolderReply:
        full = {Kind.CHAPTER: asked.chapter_words or read_tokens} if CHAPTER in asked.parts else {}
        wanted = full | _words_beside(asked)
        is_model = self.made_by != "builtin"
        cost = Cost(int(is_model), read_tokens + CLOSING_TOKENS * is_model, sum(wanted.values()) * 4 // 3)
        beside = tuple((kind, _WORD * count) for kind, count in wanted.items() if kind is not asked.kind)
        text, carry = _WORD * wanted[asked.kind], asked.carry if is_model else ""
        return FolderReply(text, carry, cost, made_by=self.made_by, checked=True, beside=beside)

    def _updated(self, asked: UpdateFold, read_tokens: int) -> FolderReply:
        recap = _WORD * (asked.asked_words or read_tokens) if asked.part.has_recap else ""
        if self.made_by == "builtin":
            return FolderReply(recap, "", Cost(0, read_tokens, len(recap) // 4), made_by=self.made_by, checked=True)
        kinds = [(Kind.EPISODE, asked.part.has_episode), (Kind.NOTE, asked.part.has_lists)]
        beside = tuple((kind, "{}") for kind, wanted in kinds if wanted)
        ending = _words_beside(asked.closing) if asked.closing and asked.part.has_recap else {}
        beside += tuple((kind, _WORD * count) for kind, count in ending.items())
        written = UPDATE_TOKENS if asked.part.has_lists else len(recap) // 4
        cost = Cost(1, read_tokens + INSTRUCTION_TOKENS, written + sum(ending.values()) * 4 // 3)
        return FolderReply(recap, UPDATED, cost, made_by=self.made_by, checked=True, beside=beside)


def _words_beside(asked: ChapterFold) -> dict[Kind, int]:
    """Return how long the short form and the backbone would be, of those that are asked for."""
    words = {SHORT: SHORT_WORDS, BACKBONE: asked.spine_words}
    return {KINDS[part]: count for part, count in words.items() if part in asked.parts}
