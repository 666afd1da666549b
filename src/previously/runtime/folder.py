"""Who writes memory: a folder is asked with a request and answers with text.

`BuiltinFolder` needs no model. Anything with the same two members can take its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from previously.core.messages import Message, Role
from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost
from previously.folds.builtin import Said, rewrite
from previously.folds.recap import RecapRequest


@dataclass(frozen=True, slots=True)
class FolderReply:
    """What a folder wrote, what it wants back next time, and what it cost."""

    text: str
    carry: str
    cost: Cost


class Folder(Protocol):
    """Writes recaps."""

    @property
    def made_by(self) -> str:
        """The word that versions carry in `made_by`."""

    async def recap(self, asked: RecapRequest) -> FolderReply:
        """The recap that this request asks for."""


class BuiltinFolder:
    """The built-in folder: deterministic, extractive, no model, no calls."""

    made_by = "builtin"

    async def recap(self, asked: RecapRequest) -> FolderReply:
        """The recap, written in this process in a few milliseconds."""
        delta = [said(message) for message in asked.delta if message.role is not Role.SYSTEM]
        written = rewrite(asked.previous, asked.carry or None, delta, target_words=asked.target_words)
        read = estimate_tokens(asked.previous) + sum(estimate_tokens(line.text) for line in delta)
        return FolderReply(written.text, written.carry, Cost(0, read, estimate_tokens(written.text)))


def said(message: Message) -> Said:
    """The message as the built-in folder reads it. A user without a name is called that; a nameless voice narrates."""
    speaker = message.speaker or ("The user" if message.role is Role.USER else None)
    return Said(speaker, message.text)
