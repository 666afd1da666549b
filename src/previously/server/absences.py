"""Absences of memory: the stories whose newest turn had no room for it, and the sentence that says so."""

from __future__ import annotations

from collections import OrderedDict

from previously.core.errors import BudgetTooSmall

MOST_STORIES = 512
"""Stories that are known; the next turn of a forgotten one tells it again."""


class Absences:
    """Knows the stories that go on without memory, in this process."""

    def __init__(self) -> None:
        self._stories: OrderedDict[tuple[str, str], BudgetTooSmall] = OrderedDict()

    def get(self, owner: str, story: str) -> BudgetTooSmall | None:
        return self._stories.get((owner, story))

    def keep(self, owner: str, story: str, error: BudgetTooSmall) -> None:
        """Remember that the newest turn of a story had no room."""
        self._stories[owner, story] = error
        self._stories.move_to_end((owner, story))
        if len(self._stories) > MOST_STORIES:
            self._stories.popitem(last=False)

    def forget(self, owner: str, story: str) -> None:
        """Forget it, since the newest turn had."""
        self._stories.pop((owner, story), None)

    def describe(self, owner: str, story: str) -> str:
        """Return the sentence for a person; empty where the newest turn had memory."""
        error = self.get(owner, story)
        if error is None:
            return ""
        return (
            f"The newest turn went on without memory: the client's prompt, its tools and the newest messages take "
            f"{error.needed_tokens:,} tokens, and there are {error.budget_tokens:,} for them. A larger window of the "
            "model helps, or fewer tools in the client."
        )
