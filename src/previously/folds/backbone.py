"""The backbone: the summary of the whole story, into which each chapter is folded as it closes.

What must stay true: it reads the text before and one chapter's recap, never the story, so its size and cost stay flat
while chapters accumulate; the older ones tighten.
"""

from __future__ import annotations

from previously.core.messages import Message, Role, Text
from previously.core.versions import Kind, LiveVersion
from previously.folds.builtin.quotes import text_now
from previously.folds.request import FoldRequest


def request(before: LiveVersion | None, title: str, chapter: str, target_words: int) -> FoldRequest:
    """What to ask when a chapter with that recap has closed."""
    return FoldRequest(
        kind=Kind.BACKBONE,
        previous=text_now(before) if before else "",
        delta=(Message(Role.ASSISTANT, (Text(chapter),)),),
        target_words=target_words,
        title=title,
    )
