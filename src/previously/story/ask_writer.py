"""Calls of a model that leave no memory: questions about a story, other words for a search, choices among its hits.

They are paid for all the same. So each is kept beside the versions that folds made, with its cost and without any words
of the question: the limits of spending count it, and the list of stories shows it.
"""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

from previously.core.errors import StoreProblem
from previously.core.marks import STORY_SCOPE
from previously.core.path import Span
from previously.core.versions import NewVersion, Status
from previously.folds.fold import Fold
from previously.runtime.answer_cache import AnswerSource
from previously.runtime.clock import time_at
from previously.runtime.writer import MemoryReply, MemoryWriter
from previously.storage.tables import Tables
from previously.story.access import StoryAccess


async def ask_writer(
    access: StoryAccess, writer: MemoryWriter, fold: Fold, place: AnswerSource, why: str
) -> MemoryReply:
    """Return a writer's reply to a question, and keep what it cost."""
    reply = await writer.write(fold, source=place)
    cost = reply.total_cost
    if not cost.calls:
        return reply

    def write(tables: Tables) -> None:
        last = max(0, tables.snapshot(access.key).messages - 1)
        paid = NewVersion(
            kind=fold.kind,
            scope=STORY_SCOPE,
            span=Span(0, last),
            key=uuid4().bytes,  # it is no fold of these messages, and no other call is the same one
            before=None,
            text="",
            carry="",
            status=Status.ASKED,
            made_by=reply.made_by,
            reason=why,
            at=time_at(),
            model=reply.model,
            prompt_hash=reply.prompt_hash,
            cost=cost,
        )
        tables.versions.commit(access.key, paid)

    with suppress(KeyError, StoreProblem):  # the story was forgotten meanwhile; the answer is there all the same
        await access.store.write(access.key, write)
    return reply
