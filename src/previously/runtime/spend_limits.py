"""The most that may be spent on calls, and whether it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from previously.core.count_nouns import count_nouns
from previously.core.versions import Cost
from previously.runtime.clock import time_at
from previously.settings import Settings
from previously.storage.store import Store

Spent = Callable[[float], Awaitable[Cost]]
"""A function that says what was spent in the last so many seconds."""

NOTHING = Cost()


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that may be spent; 0 = no limit."""

    calls_per_hour: int = 0
    calls_per_day: int = 0
    tokens_per_hour: int = 0
    tokens_per_day: int = 0


class Spending:
    """Watches the limits. What is not recorded yet is told to it."""

    def __init__(self, limits: Limits, spent: Spent) -> None:
        self._limits = limits
        self._spent = spent

    async def over_limit(self, pending: Cost = NOTHING) -> str:
        """Return which limit is reached, counting what is pending; empty when none is."""
        for seconds, word, calls, tokens in (
            (3_600.0, "hour", self._limits.calls_per_hour, self._limits.tokens_per_hour),
            (86_400.0, "day", self._limits.calls_per_day, self._limits.tokens_per_day),
        ):
            if not calls and not tokens:
                continue
            spent = await self._spent(seconds) + pending
            if calls and spent.calls >= calls:
                return f"the limit of {count_nouns(calls, 'call')} per {word} is reached"
            if tokens and spent.input_tokens + spent.output_tokens >= tokens:
                return f"the limit of {count_nouns(tokens, 'token')} per {word} is reached"
        return ""


def build_spending(store: Store, owner: str, settings: Settings) -> Spending:
    """Return what an owner's folds and questions may cost, counted by what is stored."""

    async def spent(seconds: float) -> Cost:
        since = time_at(-seconds)
        return await store.read(owner, lambda tables: tables.versions.spent(owner, since))

    limits = Limits(settings.calls_per_hour, settings.calls_per_day, settings.tokens_per_hour, settings.tokens_per_day)
    return Spending(limits, spent)
