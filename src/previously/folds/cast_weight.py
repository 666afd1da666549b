"""How much a fact matters to the one who knows it.

What binds people, a promise or a debt, is forgotten last. The weight of a fact depends on its words alone.
"""

from __future__ import annotations

from previously.folds.builtin.quotes import is_promise

BINDS, HAPPENED = 1, 0
"""The weights, heaviest first."""


def weight_of(fact: str) -> int:
    """Return how much a fact matters: `BINDS` or `HAPPENED`."""
    return BINDS if is_promise(fact) else HAPPENED
