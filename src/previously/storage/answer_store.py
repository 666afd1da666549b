"""Answers of models, so that no request is paid twice, and what is known of models.

An answer is kept by the hash of its whole request, and is its owner's: another story of the owner that asks the very
same is answered too. It belongs to the story it was kept for, and goes with it, or with any message of it that is
forgotten, since its text may hold the forgotten words. Answers are a cache: no copy or backup of a story holds any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from previously.core.json_values import clean

if TYPE_CHECKING:
    from previously.storage.store import StoryKey

MOST_ANSWERS = 2_000
"""Of one owner; the newest stay. An update reads about 40 messages and is answered with about 1,800 tokens, 7 kB: so
these are the answers for some 80,000 messages, in 15 MB."""

MOST_MODEL_FACTS = 500
"""Of one owner; those set last stay. More models than anybody asks: the bound is there for a client that makes up a
name for each request."""


class AnswerStore(Protocol):
    """Keeps answers of models, and facts about them."""

    async def answer(self, owner: str, request: bytes) -> str | None:
        """Return the text that answered the owner's request of that hash; None if none is kept."""

    async def keep_answer(
        self, key: StoryKey, request: bytes, text: str, *, model: str, at: str, node: int = 0, seen: bytes = b""
    ) -> None:
        """Keep what answered a request, in place of what answered the same before; the owner's oldest answers beyond
        `MOST_ANSWERS` go. `KeyError` if the owner has no such story.

        With a `node`, the last message the request was made of, no-op unless its hash is the one seen: something before
        it was forgotten while the model wrote. No-op too for a text that not every store could give back."""

    async def model_fact(self, owner: str, model: str) -> str:
        """Return what the owner's stories have learnt of a model; empty if nothing is known."""

    async def set_model_fact(self, owner: str, model: str, fact: str, at: str) -> None:
        """Keep that, in place of what was known before; those set longest ago beyond `MOST_MODEL_FACTS` go."""


def is_storable(text: str) -> bool:
    """Return whether every store gives this text back as it is."""
    return clean(text)[1] == 0
