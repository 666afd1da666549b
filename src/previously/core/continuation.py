"""A continuation: the link from a story to the one it goes on from.

It is kept as a mark before the first message, so it follows the branch, is copied, exported and undone like any other
mark. It names the earlier story by a word that was drawn for it, and a branch of it by its place in the list of all:
both are the same in every copy, whatever is renamed. That branch was made for the link and ends where the new story
begins, so no edit elsewhere in the earlier story reaches it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from previously.core.json_values import make_plain, read_plain

LINK = "link"
"""The field of a story's header by which the stories that continue it find it."""

_CONTINUED_BY = "continued by "


def name_link_branch(story: str) -> str:
    """Return the name of the branch that a new story goes on from."""
    return _CONTINUED_BY + story


def describe_link_branch(branch: str) -> str:
    """Say what a branch is for that was made for a link; empty for any other, and for one that was renamed."""
    return f"kept for {branch.removeprefix(_CONTINUED_BY)}" if branch.startswith(_CONTINUED_BY) else ""


@dataclass(frozen=True, slots=True)
class Continuation:
    """The story that another goes on from, and how far."""

    story: str
    """Its name when the link was made."""
    link: str
    """The word that its header has under `LINK`."""
    branch: int
    """The place of the branch in the list of all, the oldest first."""
    messages: int
    """The messages of it that came before."""

    def render(self) -> str:
        return json.dumps(make_plain(self), ensure_ascii=False)


def parse_continuation(text: str) -> Continuation | None:
    """Return the link that a mark holds; None for a text that is none."""
    try:
        return read_plain(Continuation, json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
