"""The settings of one story: its own over those that hold for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from previously.core.calibration import Calibration, Sample, add_sample, calibrate, make_counter, read_samples
from previously.core.tokens import ESTIMATE, Counter
from previously.models.tokenizers import find_counter
from previously.settings import Layer, Origin, Settings, change_settings, resolve

USAGE_VERSION = 2
"""Of what is kept of reports. Those of version 1 left out the schemas of tools, and so taught a count that is too
high."""


class StorySettings:
    """The settings in force for a story. A handle keeps what it was opened with, and what was set through it."""

    def __init__(self, layers: Sequence[Layer], own: str, usage: str = "{}") -> None:
        """`own` are the story's settings as a store keeps them, `usage` what was reported of its views."""
        kept = json.loads(own)
        self._layers = layers
        self.own: dict[str, Any] = kept if isinstance(kept, dict) else {}
        self.in_force: Settings = self._resolved(self.own)
        self._model, self._samples, self._calibration = _read_usage(usage)
        self._estimate = make_counter(self._calibration)

    @property
    def has_window(self) -> bool:
        """Return whether anybody has said how large the window of the model is."""
        return "window_tokens" in self.own or any("window_tokens" in layer.values for layer in self._layers)

    @property
    def counter(self) -> Counter:
        """Return the counter of the story's views: an exact one if the settings name one, else an estimate that has
        learnt from what was reported."""
        chosen = find_counter(self.in_force.tokenizer)
        return self._estimate if chosen is ESTIMATE else chosen

    def of_story(self, own: str) -> StorySettings:
        """Return the settings of another story under the same ones for all."""
        return StorySettings(self._layers, own)

    def learn(self, sample: Sample | None, model: str) -> str:
        """Return what was reported of views, one more included, as a store keeps it, with the calibration that follows
        from it: it is fitted here, once for a report, and only applied on a turn. Another model counts otherwise: then
        all that was learnt is forgotten."""
        known = self._samples if model == self._model else ()
        self._model, self._samples = model, add_sample(known, sample)
        calibration = calibrate(self._samples, self._calibration if known else None)
        if calibration != self._calibration:
            self._calibration, self._estimate = calibration, make_counter(calibration)
        samples = [sample.to_json() for sample in self._samples]
        fitted = calibration.to_json() if calibration else None
        return json.dumps({"version": USAGE_VERSION, "model": model, "samples": samples, "calibration": fitted})

    def change(self, own: str, assignments: Sequence[str]) -> str:
        """Return the story's settings after `key=value` assignments, as a store keeps them; `BadInput` if they cannot
        hold."""
        new = change_settings(json.loads(own), assignments)
        self._resolved(new)
        return json.dumps(new)

    def put_in_force(self, own: str) -> Settings:
        """Take settings that a store has kept for those of the story; return all that hold now."""
        self.own = json.loads(own)
        self.in_force = self._resolved(self.own)
        return self.in_force

    def _resolved(self, own: dict[str, Any]) -> Settings:
        return resolve([*self._layers, Layer(Origin.STORY, own, "the story's own settings")])


def _read_usage(usage: str) -> tuple[str, tuple[Sample, ...], Calibration | None]:
    """Return the model, the samples and the calibration that were kept; none of what cannot be read, or was learnt by
    an older rule."""
    kept = json.loads(usage)
    if not isinstance(kept, dict) or kept.get("version") != USAGE_VERSION:
        return "", (), None
    calibration = Calibration.from_json(kept.get("calibration"))
    return str(kept.get("model", "")), read_samples(kept.get("samples")), calibration
