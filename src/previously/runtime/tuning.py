"""The settings of one story: its own over those that hold for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from previously.core.tokens import Counter
from previously.models.tokenizers import counter_for
from previously.settings import Layer, Origin, Settings, changed, resolve


class Tuning:
    """What is in force for a story. A handle keeps what it was opened with, and what was set through it."""

    def __init__(self, layers: Sequence[Layer], own: str) -> None:
        """`own` are the story's settings as a store keeps them."""
        kept = json.loads(own)
        self._layers = layers
        self.own: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self.in_force = self._resolved(self.own)

    @property
    def counter(self) -> Counter:
        """What counts tokens in the story's views."""
        return counter_for(self.in_force.tokenizer)

    def change(self, own: str, assignments: Sequence[str]) -> str:
        """The story's settings after `key=value` assignments, as a store keeps them; from now on they are in force."""
        new = changed(json.loads(own), assignments)
        self.in_force = self._resolved(new)
        self.own = new
        return json.dumps(new)

    def _resolved(self, own: dict[str, Any]) -> Settings:
        return resolve([*self._layers, Layer(Origin.STORY, own, "the story's own settings")])
