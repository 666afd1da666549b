"""From reports to factors: what is learned, what is not, and how well it holds on texts that were not seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.token_texts import demo_story, halves
from benchmarks.tokens import Request, language_requests, miss, reported, story_requests, tokenizers
from previously.core.calibration import (
    FEWEST_SAMPLES,
    GREATEST_FACTOR,
    KEPT_SAMPLES,
    LEAST_FACTOR,
    Calibrated,
    Calibration,
    Sample,
    calibrate,
    calibrated_counter,
    counter_named,
    sample_of,
    sample_of_texts,
    with_sample,
)
from previously.core.messages import Image, Message, Role, message
from previously.core.tokens import COUNTER, ESTIMATE, MARGINS, SCRIPTS, Counter, weigh

ENGLISH, JAPANESE = halves("english")[0], halves("japanese")[0]

FACTORS = st.integers(round(1_000 * LEAST_FACTOR), round(1_000 * GREATEST_FACTOR)).map(lambda value: value / 1_000)


def said_by(texts: Sequence[str], factors: Mapping[str, float], fixed: int = 40) -> Sample:
    """The sample that a server would give which counts each script so much more or less than the estimate."""
    tokens = sum(factors.get(script, 1) * w for text in texts for script, w in zip(SCRIPTS, weigh(text), strict=True))
    return sample_of_texts(texts, fixed, fixed + round(tokens / 1_000))


def mixed(english: int, japanese: int) -> list[str]:
    return [*ENGLISH[:english], *JAPANESE[:japanese]]


def test_a_common_factor_is_found_and_named() -> None:
    texts = [text for _ in range(20) for text in ENGLISH]
    everything = dict.fromkeys(SCRIPTS, 1.25)
    found = calibrate([said_by(texts[: 40 + n], everything) for n in range(FEWEST_SAMPLES)])
    assert found is not None
    assert found.samples == FEWEST_SAMPLES
    factors = dict(zip(SCRIPTS, found.factors, strict=True))
    assert factors["latin"] == pytest.approx(1.25, abs=0.005)
    assert factors["signs"] == pytest.approx(1.25, abs=0.005)
    assert factors["cjk"] == MARGINS[SCRIPTS.index("cjk")]  # nothing was heard of it
    assert Calibration((1.083,) * len(SCRIPTS), 5).name == f"{COUNTER}×1.083"


def test_scripts_in_one_story_are_told_apart() -> None:
    truth = {"latin": 1.2, "signs": 1.2, "cjk": 0.6}
    samples = [said_by(mixed(n, 8 - n), truth) for n in range(1, 8)]
    found = calibrate(samples)
    assert found is not None
    for script, factor in zip(SCRIPTS, found.factors, strict=True):
        if script in ("latin", "cjk"):
            assert factor == pytest.approx(truth[script], rel=0.06)
    for texts in (ENGLISH, JAPANESE):
        alone = said_by(texts, truth, fixed=0).reported
        assert sum(map(Calibrated(found).text, texts)) == pytest.approx(alone, rel=0.03)


@pytest.mark.parametrize("odd", [0.3, 0.5, 2.5])
def test_one_odd_report_changes_little(odd: float) -> None:
    truth = {"latin": 1.1, "signs": 1.1, "cjk": 0.7}
    samples = [said_by(mixed(8 - n, n), truth) for n in range(6)]
    wrong = Sample(samples[0].weights, samples[0].fixed, round(odd * samples[0].reported))
    found = calibrate([samples[0], wrong, *samples[1:]])
    assert found is not None
    # The mean of all reports would be off by a tenth or more.
    assert sum(map(Calibrated(found).text, ENGLISH)) == pytest.approx(said_by(ENGLISH, truth, 0).reported, rel=0.03)


def test_too_few_reports_or_odd_ones_alone_leave_the_plain_estimate() -> None:
    good = [said_by(ENGLISH, {"latin": 0.9})] * (FEWEST_SAMPLES - 1)
    assert calibrated_counter(good) is ESTIMATE
    older = Sample(good[0].weights, good[0].fixed, good[0].reported, "estimate-1")
    tiny = said_by(["Rain."], {})
    nothing = Sample(good[0].weights, good[0].fixed, 0)
    absurd = Sample(good[0].weights, good[0].fixed, 100 * good[0].reported)
    for useless in (older, tiny, nothing, absurd):
        assert calibrated_counter([*good, useless]) is ESTIMATE
        assert with_sample(good, useless) == tuple(good)
    assert calibrated_counter([*good, good[0]]) is not ESTIMATE


def test_reports_that_do_not_hang_together_teach_nothing() -> None:
    sample = said_by(ENGLISH, {})
    reports = [Sample(sample.weights, 0, round(part * sample.reported)) for part in (0.3, 2, 0.6, 3.5, 1.2, 0.4)]
    assert calibrate(reports) is None


def test_factors_stay_within_bounds() -> None:
    # As if an ideograph took nine tokens, then as if it took none: nobody's tokenizer does either.
    for absurd, bound in ((8.0, GREATEST_FACTOR), (0.01, LEAST_FACTOR)):
        samples = [said_by(mixed(8, n), {"cjk": absurd}) for n in (0, 1, 2, 0, 1, 2)]
        found = calibrate(samples)
        assert found is not None
        assert dict(zip(SCRIPTS, found.factors, strict=True))["cjk"] == bound


def test_the_newest_samples_are_kept_and_the_same_ones_teach_the_same() -> None:
    samples: tuple[Sample, ...] = ()
    for number in range(KEPT_SAMPLES + 5):
        samples = with_sample(samples, said_by(mixed(3 + number % 5, number % 3), {"latin": 1.1}, fixed=number))
    assert [sample.fixed for sample in samples] == list(range(5, KEPT_SAMPLES + 5))
    assert with_sample(samples, None) == samples
    assert calibrate(samples) == calibrate(list(samples))
    forwards, backwards = calibrate(samples), calibrate(samples[::-1])
    assert forwards is not None and backwards is not None
    assert forwards.factors == pytest.approx(backwards.factors, abs=0.002)


def test_messages_make_a_sample_unless_there_are_pictures() -> None:
    said = [message("user", "Rain falls here.", speaker="Maya"), message("assistant", "雨が降る。")]
    sample = sample_of(said, 30)
    assert sample is not None
    assert sample.fixed == 9
    assert sample.weights == tuple(
        map(sum, zip(weigh("Maya"), weigh("Rain falls here."), weigh("雨が降る。"), strict=True))
    )
    assert sample_of([*said, Message(Role.USER, (Image("data:,"),))], 1_030) is None


@given(st.tuples(*[FACTORS] * len(SCRIPTS)), st.integers(5, 20), st.text())
def test_a_calibration_can_be_stored_and_named(factors: tuple[float, ...], samples: int, text: str) -> None:
    calibration = Calibration(factors, samples)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration
    counter, again = Calibrated(calibration), counter_named(calibration.name)
    assert again is not None
    assert again.name == counter.name == calibration.name
    assert counter.name.startswith(f"{COUNTER}×")
    assert again.text(text) == counter.text(text)
    assert (counter.text(text) > 0) == bool(text)


@given(
    st.text(st.characters(), max_size=40),
    st.text(st.characters(), max_size=40),
    st.tuples(*[FACTORS] * len(SCRIPTS)),
)
def test_a_calibrated_counter_is_additive_but_for_rounding(one: str, other: str, factors: tuple[float, ...]) -> None:
    count = Calibrated(Calibration(factors, 5)).text
    together, apart = count(one + other), count(one) + count(other)
    # A word and a row of signs may run across the seam; each text is rounded by itself.
    assert together - apart <= 1
    assert apart - together <= 2 + 2 * GREATEST_FACTOR


def test_samples_can_be_stored() -> None:
    sample = said_by(mixed(4, 4), {})
    assert Sample.from_json(json.loads(json.dumps(sample.to_json()))) == sample


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"version": 1},
        Calibration((1.0,) * len(SCRIPTS), 5).to_json() | {"version": 2},
        Calibration((1.0,) * len(SCRIPTS), 5).to_json() | {"counter": "estimate-1"},
        Calibration((1.0,) * len(SCRIPTS), 5).to_json() | {"factors": {"latin": 1.0}},
        Calibration((1.0,) * len(SCRIPTS), 5).to_json() | {"factors": dict.fromkeys(SCRIPTS, 99.0)},
        Calibration((1.0,) * len(SCRIPTS), 5).to_json() | {"factors": dict.fromkeys(SCRIPTS, float("nan"))},
        Calibration((1.0,) * len(SCRIPTS), 5).to_json() | {"factors": dict.fromkeys(SCRIPTS, None)},
        {"counter": COUNTER, "weights": [1], "fixed": 0, "reported": 1},
        {"counter": COUNTER, "weights": [-1] * len(SCRIPTS), "fixed": 0, "reported": 1},
        {"counter": COUNTER, "weights": ["1"] * len(SCRIPTS), "fixed": 0, "reported": 1},
    ],
)
def test_what_is_no_calibration_is_none(value: object) -> None:
    assert Calibration.from_json(value) is None
    assert Sample.from_json(value) is None


@pytest.mark.parametrize(
    "name",
    ["estimate-1", "estimate-1×1.1", f"{COUNTER}×", f"{COUNTER}×x", f"{COUNTER}×99", f"{COUNTER}×1/1", "cl100k-1"],
)
def test_other_names_are_not_ours(name: str) -> None:
    assert counter_named(name) is None


@pytest.fixture(scope="module")
def exact() -> dict[str, Counter]:
    pytest.importorskip("rs_bpe", reason="the extra `tokens` is not installed")
    return tokenizers([])


def learned(requests: Sequence[Request], tokenizer: Counter) -> Counter:
    samples: tuple[Sample, ...] = ()
    for request in requests[:FEWEST_SAMPLES]:
        samples = with_sample(samples, sample_of(request, reported(request, tokenizer)))
    return calibrated_counter(samples)


def test_after_five_replies_a_story_in_english_is_within_two_per_cent(exact: dict[str, Counter]) -> None:
    first, later = story_requests(demo_story())
    for tokenizer in exact.values():
        counter = learned(first, tokenizer)
        misses = [abs(miss(request, counter, tokenizer)) for request in later]
        assert fmean(misses) <= 0.02, tokenizer.name
        assert max(misses) <= 0.035, tokenizer.name


@pytest.mark.parametrize("language", ["japanese", "chinese", "python"])
def test_after_five_replies_other_texts_are_within_five_per_cent(language: str, exact: dict[str, Counter]) -> None:
    first, (later,) = language_requests(language)
    for tokenizer in exact.values():
        counter = learned(first, tokenizer)
        assert abs(miss(later, counter, tokenizer)) <= 0.05, tokenizer.name
        assert counter.name != COUNTER


def test_after_five_replies_a_mix_of_english_and_japanese_is_right_in_both(exact: dict[str, Counter]) -> None:
    story = demo_story()
    for tokenizer in exact.values():
        first = [
            [message("user", text) for text in (*story[7 * n : 7 * n + 6], *JAPANESE[n : n + 1 + n])] for n in range(5)
        ]
        counter = learned(first, tokenizer)
        english = [message("user", text) for text in story[120:180]]
        japanese = [message("user", text) for text in halves("japanese")[1]]
        assert abs(miss(english, counter, tokenizer)) <= 0.03, tokenizer.name
        assert abs(miss(japanese, counter, tokenizer)) <= 0.08, tokenizer.name
        assert abs(miss(english[:10] + japanese, counter, tokenizer)) <= 0.05, tokenizer.name
        # One factor for all cannot be right in both.
        samples = [sample_of(request, reported(request, tokenizer)) for request in first]
        ratio = fmean(1_000 * (one.reported - one.fixed) / sum(one.weights) for one in samples if one)
        common = counter_named(f"{COUNTER}×{ratio:.3f}")
        assert common is not None
        assert abs(miss(japanese, common, tokenizer)) > abs(miss(japanese, counter, tokenizer)), tokenizer.name
