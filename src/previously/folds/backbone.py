"""The backbone: the summary of the whole story, into which each chapter is folded as it closes.

What must stay true: it reads the text before and one chapter's recap, never the story, so its size and cost stay flat
while chapters accumulate; the older ones tighten.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.messages import Message, Role, Text
from previously.core.paths import OnPath
from previously.core.versions import Kind, LiveVersion
from previously.folds.commitments import commitments_after
from previously.folds.recap import story_messages
from previously.folds.request import FoldRequest

MOST_COMMITMENTS = 24
"""How many open commitments of all chapters it keeps, the newest; its size must stay flat. The others are in the recaps
of their chapters."""


def request(
    before: LiveVersion | None, title: str, chapter: str, run: Sequence[OnPath], target_words: int
) -> FoldRequest:
    """What to ask when a chapter with that recap, of these messages, has closed. They are not told again; they say what
    has been promised and what was kept."""
    held = before.version.made.commitments if before else ()
    return FoldRequest(
        kind=Kind.BACKBONE,
        previous=before.version.made.text if before else "",
        carry=before.version.made.carry if before else "",
        bridge=None,
        delta=(Message(Role.ASSISTANT, (Text(chapter),)),),
        target_words=target_words,
        title=title,
        commitments=commitments_after(held, story_messages(run))[-MOST_COMMITMENTS:],
    )
