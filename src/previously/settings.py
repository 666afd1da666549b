"""Every setting, its default and its bounds. A leaf: read by `app` and the surfaces; the layers below get plain values.

The defaults are those of role-play. A value out of bounds is refused and named, never bent silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from previously.core.errors import BadInput
from previously.folds.recap import RecapRules

PREFIX = "PREVIOUSLY_"

OTHER_VARIABLES = frozenset(PREFIX + name for name in ("DB", "ENDPOINT", "MODEL", "API_KEY", "PROMPTS"))
"""Variables of ours that are no settings."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How memory is kept."""

    window_tokens: int = 8_192
    """The context window of the model, where nothing else is known."""
    tail_messages: int = 12
    """The newest messages, verbatim and never folded."""
    fold_messages: int = 40
    """A fold is due when this many messages wait outside the tail,"""
    fold_words: int = 3_000
    """or this many words,"""
    fold_tokens: int = 2_048
    """or this many tokens: a quarter of the window."""
    recap_words: int = 400
    """How long the recap should be; 0 = no target."""
    memory_window_tokens: int = 8_192
    """The context window of the model that folds."""
    timeout_s: int = 300
    """How long one call to that model may take, in seconds."""
    calls_per_hour: int = 0
    """The most calls to that model in an hour; 0 = no limit."""
    calls_per_day: int = 0
    """The same for a day."""
    tokens_per_hour: int = 0
    """The most tokens, read and written, that folds may take in an hour; 0 = no limit."""
    tokens_per_day: int = 0
    """The same for a day."""
    input_price: float = 0.0
    """What a million tokens read by the model cost, in any currency; for estimates."""
    output_price: float = 0.0
    """What a million tokens written by it cost."""

    def __post_init__(self) -> None:
        for name, lowest in _LOWEST.items():
            value = getattr(self, name)
            if not value >= lowest:
                raise BadInput(f"{name} is {value}; it must be at least {lowest}.")

    def check_memory_window(self) -> None:
        """`BadInput` when the model's window cannot hold the recap before, the one after, and anything new to read."""
        needed = 4 * self.recap_words + 1_000
        if self.memory_window_tokens < needed:
            raise BadInput(
                f"memory_window_tokens is {self.memory_window_tokens}; for a model to fold a recap of "
                f"{self.recap_words} words it must be at least {needed}."
            )

    @property
    def recap_rules(self) -> RecapRules:
        """What the recap's fold is given."""
        return RecapRules(self.tail_messages, self.fold_messages, self.fold_words, self.fold_tokens, self.recap_words)


_LOWEST = {
    "window_tokens": 256,
    "tail_messages": 0,
    "fold_messages": 1,
    "fold_words": 1,
    "fold_tokens": 1,
    "recap_words": 0,
    "memory_window_tokens": 2_048,
    "timeout_s": 1,
    "calls_per_hour": 0,
    "calls_per_day": 0,
    "tokens_per_hour": 0,
    "tokens_per_day": 0,
    "input_price": 0,
    "output_price": 0,
}


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The defaults with whatever `PREVIOUSLY_…` variables say otherwise."""
    given: dict[str, Any] = {}
    known = {PREFIX + field.name.upper() for field in fields(Settings)} | OTHER_VARIABLES
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable not in known:
            raise BadInput(f"{variable} is no setting of Previously; docs/settings.md lists them.")
    for field in fields(Settings):
        variable = PREFIX + field.name.upper()
        if variable not in environment:
            continue
        kind, what = (float, "a number") if isinstance(field.default, float) else (int, "a whole number")
        try:
            given[field.name] = kind(environment[variable])
        except ValueError:
            raise BadInput(f"{variable} is {environment[variable]!r}; it must be {what}.") from None
    return Settings(**given)
