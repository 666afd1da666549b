"""Every error that a caller may meet.

`BadInput` is the caller's to mend and carries one clear sentence; the command line shows it and exits with 2.
The others tell of a state of the world. Nothing here is raised after something was half done: an error means that
the story is as it was.
"""

from __future__ import annotations


class PreviouslyError(Exception):
    """Something could not be done; the story is unchanged."""


class BadInput(PreviouslyError):
    """Something was given that cannot be used. The message is one sentence that names the fault."""


class UnknownStory(BadInput):
    """No story of that name belongs to this owner."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no story named {name!r}; `previously stories` lists those that exist.")


class StoryGone(BadInput, KeyError):
    """The story that a handle was opened for is no longer there."""

    def __init__(self) -> None:
        super().__init__("This story is gone: it was forgotten meanwhile.")

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show its sentence in quotes


class UnknownBranch(BadInput):
    """The story has no branch of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"There is no branch named {name!r}; this story has: {', '.join(known)}.")


class BudgetTooSmall(BadInput):
    """The view's fixed parts alone need more than the budget. `needed_tokens` would be enough for them."""

    def __init__(self, budget_tokens: int, needed_tokens: int) -> None:
        self.budget_tokens = budget_tokens
        self.needed_tokens = needed_tokens
        super().__init__(
            f"A budget of {budget_tokens} tokens is too small: the system message, pins, what the client adds "
            f"and the newest message need {needed_tokens}."
        )


class HeadMoved(PreviouslyError):
    """The branch no longer ends where the caller expected; read it again and decide anew."""


class TextChanged(PreviouslyError):
    """Others have put other words there since the writer read it; `current` is what stands there now."""

    def __init__(self, current: str) -> None:
        self.current = current
        super().__init__("Somebody else changed this text meanwhile; nothing was saved.")


class StoreProblem(PreviouslyError):
    """The store cannot be opened or used: not one of our files, written by a newer version, or not writable."""
