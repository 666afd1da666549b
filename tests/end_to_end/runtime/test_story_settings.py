"""What a story learns of a server's tokens: when it is fitted, and what is kept."""

from __future__ import annotations

import json

import pytest

from previously.core.calibration import Calibration, Sample, calibrate, make_text_sample
from previously.core.tokens import COUNTER, ESTIMATE, weigh
from previously.runtime import story_settings
from previously.runtime.story_settings import StorySettings


def report(number: int) -> Sample:
    text = f"Maya owed the harbour master {number} crowns. She laughed and went down to the sea. " * (8 + number)
    return make_text_sample([text], sum(weigh(text)) * 6 // 5_000, messages=1)


def test_it_is_fitted_when_usage_is_reported_and_not_on_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []

    def counted(samples: tuple[Sample, ...], before: Calibration | None) -> object:
        fits.append(len(samples))
        return calibrate(samples, before)

    monkeypatch.setattr(story_settings, "calibrate", counted)
    story = StorySettings((), "{}")
    kept = [story.learn(report(number), "m") for number in range(8)][-1]
    assert len(fits) == 8, "once for each report"
    assert story.counter.name.startswith(f"{COUNTER} x")
    assert story.counter is story.counter
    again = StorySettings((), "{}", kept)
    assert again.counter.name == story.counter.name
    assert len(fits) == 8


def test_usage_of_an_older_rule_is_not_used() -> None:
    story = StorySettings((), "{}")
    kept = json.loads([story.learn(report(number), "m") for number in range(8)][-1])
    kept.pop("version")
    assert StorySettings((), "{}", json.dumps(kept)).counter is ESTIMATE


def test_another_model_begins_anew() -> None:
    story = StorySettings((), "{}")
    for number in range(8):
        story.learn(report(number), "m")
    kept = story.learn(report(8), "other")
    assert story.counter is ESTIMATE
    assert json.loads(kept)["calibration"] is None
    assert StorySettings((), "{}", kept).counter is ESTIMATE


@pytest.mark.parametrize("usage", ["[]", '{"samples": 3}', '{"model": "m", "calibration": {"version": 99}}'])
def test_what_cannot_be_read_is_nothing(usage: str) -> None:
    assert StorySettings((), "{}", usage).counter is ESTIMATE
