"""Answers of models, so that no request is paid twice, and what is known of models.

An answer is kept by the hash of its whole request, and is its owner's: another story of the owner that asks the very
same is answered too. It belongs to the story it was kept for, and goes with it, or with any message of it that is
forgotten, since its text may hold the forgotten words. Answers are a cache: no copy or backup of a story holds any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from previously.core.text import clean

if TYPE_CHECKING:
    pass

MOST_ANSWERS = 2_000
"""Of one owner; the newest stay. An update reads about 40 messages and is answered with about 1,800 tokens, 7 kB: so
these are the answers for some 80,000 messages, in 15 MB."""

MOST_MODEL_FACTS = 500
"""Of one owner; those set last stay. More models than anybody asks: the bound is there for a client that makes up a
name for each request."""


def is_storable(text: str) -> bool:
    """Return whether every store gives this text back as it is."""
    return clean(text)[1] == 0
