"""Every setting, its default and its bounds. A leaf: read by `app` and the surfaces; the layers below get plain values.

The defaults are those of role-play. A value out of bounds is refused and named, never bent silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from previously.core.errors import BadInput
from previously.folds.recap import RecapRules

PREFIX = "PREVIOUSLY_"


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

    def __post_init__(self) -> None:
        for name, lowest in _LOWEST.items():
            value = getattr(self, name)
            if value < lowest:
                raise BadInput(f"{name} is {value}; it must be at least {lowest}.")

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
}


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The defaults with whatever `PREVIOUSLY_…` variables say otherwise."""
    given: dict[str, int] = {}
    for field in fields(Settings):
        variable = PREFIX + field.name.upper()
        if variable not in environment:
            continue
        try:
            given[field.name] = int(environment[variable])
        except ValueError:
            raise BadInput(f"{variable} is {environment[variable]!r}; it must be a whole number.") from None
    return Settings(**given)
