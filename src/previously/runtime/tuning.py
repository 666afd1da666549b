"""The settings of one story: its own over those that hold for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from previously.core.calibration import calibrated_counter
from previously.core.samples import Sample, samples_from_json, with_sample
from previously.core.tokens import ESTIMATE, Counter
from previously.models.tokenizers import find_counter
from previously.settings import Layer, Origin, Settings, changed, resolve


class Tuning:
    """What is in force for a story. A handle keeps what it was opened with, and what was set through it."""

    def __init__(self, layers: Sequence[Layer], own: str, usage: str = "{}") -> None:
        """`own` are the story's settings as a store keeps them, `usage` what was reported of its views."""
        kept = json.loads(own)
        self._layers = layers
        self.own: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self.in_force = self._resolved(self.own)
        self._model, self._samples = _read_usage(usage)

    @property
    def counter(self) -> Counter:
        """What counts tokens in the story's views: an exact counter if the settings name one, else an estimate that has
        learnt from what was reported."""
        chosen = find_counter(self.in_force.tokenizer)
        return calibrated_counter(self._samples) if chosen is ESTIMATE else chosen

    def learn(self, sample: Sample | None, model: str) -> str:
        """What was reported of views, one more included, as a store keeps it. Another model counts otherwise: then all
        that was learnt is forgotten."""
        known = self._samples if model == self._model else ()
        self._model, self._samples = model, with_sample(known, sample)
        return json.dumps({"model": model, "samples": [one.to_json() for one in self._samples]})

    def change(self, own: str, assignments: Sequence[str]) -> str:
        """The story's settings after `key=value` assignments, as a store keeps them; from now on they are in force."""
        new = changed(json.loads(own), assignments)
        self.in_force = self._resolved(new)
        self.own = new
        return json.dumps(new)

    def _resolved(self, own: dict[str, Any]) -> Settings:
        return resolve([*self._layers, Layer(Origin.STORY, own, "the story's own settings")])


def _read_usage(usage: str) -> tuple[str, tuple[Sample, ...]]:
    """The model and the samples that were kept; none of what cannot be read."""
    kept = json.loads(usage)
    if not isinstance(kept, dict):
        return "", ()
    return str(kept.get("model", "")), samples_from_json(kept.get("samples"))
