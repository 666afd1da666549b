"""From reports to factors: what is learned, what is not, and how well it holds on texts that were not seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import le
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.token_reports import SERVERS, Request, miss_after_odd_reports
from benchmarks.token_texts import demo_story, halves
from benchmarks.tokens import language_requests, miss, reported, story_requests, tokenizers
from previously.core.calibration import (
    FEWEST_SAMPLES,
    GREATEST_FACTOR,
    KEPT_SAMPLES,
    LEAST_FACTORS,
    MOST_MESSAGE_TOKENS,
    MOST_REQUEST_TOKENS,
    Calibrated,
    Calibration,
    Sample,
    add_sample,
    calibrate,
    find_estimate,
    make_counter,
    make_sample,
    make_text_sample,
    read_samples,
)
from previously.core.messages import Image, Message, Role, message
from previously.core.tokens import COUNTER, ESTIMATE, MARGINS, SCRIPTS, Counter, weigh

ENGLISH, JAPANESE = halves("english")[0], halves("japanese")[0]

FACTORS = st.integers(round(1_000 * max(LEAST_FACTORS)), round(1_000 * GREATEST_FACTOR)).map(
    lambda value: value / 1_000
)


def said_by(
    texts: Sequence[str], factors: Mapping[str, float], per_message: int = 4, per_request: int = 0, messages: int = 0
) -> Sample:
    """The sample that a server would give which counts each script so much more or less than the estimate."""
    count = messages or len(texts)
    tokens = sum(factors.get(script, 1) * w for text in texts for script, w in zip(SCRIPTS, weigh(text), strict=True))
    said = round(tokens / 1_000) + per_message * count + per_request
    return make_text_sample(texts, said, messages=count)


def shared_out(calibration: Calibration, texts: Sequence[str]) -> int:
    """What a request with these texts takes, by a calibration."""
    counter = Calibrated(calibration)
    each = sum(counter.tokens(text) + counter.message_overhead_tokens for text in texts)
    return each + counter.request_overhead_tokens


def mixed(english: int, japanese: int) -> list[str]:
    return [*ENGLISH[:english], *JAPANESE[:japanese]]


def test_a_common_factor_is_found_and_named() -> None:
    texts = [text for _ in range(20) for text in ENGLISH]
    everything = dict.fromkeys(SCRIPTS, 1.25)
    found = calibrate([said_by(texts[: 40 + n], everything) for n in range(FEWEST_SAMPLES)])
    assert found is not None
    factors = dict(zip(SCRIPTS, found.factors, strict=True))
    assert factors["latin"] == pytest.approx(1.25, abs=0.005)
    assert factors["signs"] == pytest.approx(1.25, abs=0.03)
    assert factors["cjk"] == MARGINS[SCRIPTS.index("cjk")]  # nothing was heard of it
    assert Calibration((1.083,) * len(SCRIPTS)).name == f"{COUNTER} x1.083"
    assert Calibration((1.083,) * len(SCRIPTS), 6, 120).name == f"{COUNTER} x1.083 m6 r120"


def test_scripts_in_one_story_are_told_apart() -> None:
    truth = {"latin": 1.2, "signs": 1.2, "cjk": 0.6}
    samples = [said_by(mixed(n, 8 - n), truth) for n in range(1, 8)]
    found = calibrate(samples)
    assert found is not None
    for script, factor in zip(SCRIPTS, found.factors, strict=True):
        if script in ("latin", "cjk"):
            assert factor == pytest.approx(truth[script], rel=0.06)
    for texts in (ENGLISH, JAPANESE):
        assert shared_out(found, texts) == pytest.approx(said_by(texts, truth).reported, rel=0.03)


@pytest.mark.parametrize("odd", [0.3, 0.5, 2.5])
def test_one_odd_report_changes_little(odd: float) -> None:
    truth = {"latin": 1.1, "signs": 1.1, "cjk": 0.7}
    samples = [said_by(mixed(8 - n, n), truth) for n in range(6)]
    wrong = replace(samples[0], reported=round(odd * samples[0].reported))
    found = calibrate([samples[0], wrong, *samples[1:]])
    assert found is not None
    # The mean of all reports would be off by a tenth or more.
    assert shared_out(found, ENGLISH) == pytest.approx(said_by(ENGLISH, truth).reported, rel=0.03)


def test_too_few_reports_or_odd_ones_alone_leave_the_plain_estimate() -> None:
    good = [said_by(ENGLISH, {"latin": 0.9})] * (FEWEST_SAMPLES - 1)
    assert make_counter(calibrate(good)) is ESTIMATE
    older = replace(good[0], counter="estimate-1")
    tiny = said_by(["Rain."], {})
    nothing = replace(good[0], reported=0)
    cached = replace(good[0], reported=good[0].reported // 2)
    absurd = replace(good[0], reported=100 * good[0].reported)
    for useless in (older, tiny, nothing, cached, absurd):
        assert make_counter(calibrate([*good, useless])) is ESTIMATE
        assert add_sample(good, useless) == tuple(good)
    assert make_counter(calibrate([*good, good[0]])) is not ESTIMATE


def test_reports_that_do_not_hang_together_teach_nothing() -> None:
    sample = said_by(ENGLISH, {})
    reports = [replace(sample, reported=round(part * sample.reported)) for part in (0.8, 2, 0.9, 3.5, 1.2, 5)]
    assert calibrate(reports) is None


def test_what_a_template_takes_is_learned_from_messages_of_all_lengths() -> None:
    everything = dict.fromkeys(SCRIPTS, 1.1)
    samples = [said_by(ENGLISH, everything, per_message=9, messages=count) for count in (6, 10, 20, 30, 40)]
    found = calibrate(samples)
    assert found is not None
    assert found.message_tokens == pytest.approx(9, abs=1)
    assert found.request_tokens == 0
    assert found.factors[0] == pytest.approx(1.1, abs=0.02)


def test_what_every_request_carries_is_learned_where_sizes_differ() -> None:
    story = demo_story()
    for hidden in (0, 700, 3_000):
        samples = [said_by(story[:count], dict.fromkeys(SCRIPTS, 1.1), 5, hidden) for count in (10, 20, 35, 50, 70)]
        found = calibrate(samples)
        assert found is not None
        assert found.request_tokens == pytest.approx(hidden, rel=0.05)
        asked = said_by(story[:150], dict.fromkeys(SCRIPTS, 1.1), 5, hidden)
        assert shared_out(found, story[:150]) == pytest.approx(asked.reported, rel=0.02)
    # In requests of one size it shows in the factor instead, and those come right as well.
    alike = [said_by(story[count : count + 40], {}, 5, 300) for count in range(5)]
    found = calibrate(alike)
    assert found is not None and found.request_tokens == 0
    assert shared_out(found, story[20:60]) == pytest.approx(said_by(story[20:60], {}, 5, 300).reported, rel=0.03)


def test_factors_stay_within_bounds() -> None:
    # As if an ideograph took nine tokens, then as if it took none: nobody's tokenizer does either.
    for absurd in (8.0, 0.01):
        samples = [said_by(mixed(8, n), {"cjk": absurd}) for n in (0, 1, 2, 0, 1, 2)]
        found = calibrate(samples)
        assert found is not None
        assert all(map(le, LEAST_FACTORS, found.factors))
        assert max(found.factors) <= GREATEST_FACTOR


def test_the_newest_samples_are_kept_and_the_same_ones_teach_the_same() -> None:
    samples: tuple[Sample, ...] = ()
    for number in range(KEPT_SAMPLES + 5):
        samples = add_sample(samples, said_by(mixed(3 + number % 5, number % 3), {"latin": 1.1}, messages=1 + number))
    assert [sample.messages for sample in samples] == list(range(6, KEPT_SAMPLES + 6))
    assert add_sample(samples, None) == samples
    assert calibrate(samples) == calibrate(list(samples))
    forwards, backwards = calibrate(samples), calibrate(samples[::-1])
    assert forwards is not None and backwards is not None
    assert forwards.factors == pytest.approx(backwards.factors, abs=0.002)


def test_a_calibration_stays_while_it_foretells_what_is_reported() -> None:
    def say(factor: float) -> Sample:
        return said_by(ENGLISH[:5], {"latin": factor})

    many = [say(1.1)] * KEPT_SAMPLES
    fitted = calibrate(many)
    assert fitted is not None
    before = replace(fitted, factors=(fitted.factors[0] + 0.002, *fitted.factors[1:]))
    assert calibrate(many, before) is before
    assert calibrate(many[1:], before) == calibrate(many[1:]) != before, "few reports are worth a fit each"
    others = [*many[1:], say(1.15)]
    assert calibrate(others, before) == calibrate(others), "a report that is off is learnt from"


def test_messages_make_a_sample_unless_there_are_pictures() -> None:
    said = [message("user", "Rain falls here.", speaker="Maya"), message("assistant", "雨が降る。")]
    sample = make_sample(said, 30)
    assert sample is not None
    assert (sample.messages, sample.fixed, sample.reported) == (2, 1, 30)
    assert sample.weights == tuple(
        map(sum, zip(weigh("Maya"), weigh("Rain falls here."), weigh("雨が降る。"), strict=True))
    )
    assert make_sample([*said, Message(Role.USER, (Image("data:,"),))], 1_030) is None


@given(
    st.tuples(*[FACTORS] * len(SCRIPTS)),
    st.integers(0, MOST_MESSAGE_TOKENS),
    st.integers(0, MOST_REQUEST_TOKENS),
    st.text(),
)
def test_a_calibration_can_be_stored_and_named(factors: tuple[float, ...], m: int, r: int, text: str) -> None:
    calibration = Calibration(factors, m, r)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration
    counter, again = Calibrated(calibration), find_estimate(calibration.name)
    assert again is not None
    assert again.name == counter.name == calibration.name
    assert counter.name.startswith(f"{COUNTER} x")
    assert again.tokens(text) == counter.tokens(text)
    assert (again.message_overhead_tokens, again.request_overhead_tokens, again.exact) == (m, r, False)
    assert (counter.tokens(text) > 0) == bool(text)


@given(
    st.text(st.characters(), max_size=40),
    st.text(st.characters(), max_size=40),
    st.tuples(*[FACTORS] * len(SCRIPTS)),
)
def test_a_calibrated_counter_is_additive_but_for_rounding(one: str, other: str, factors: tuple[float, ...]) -> None:
    count = Calibrated(Calibration(factors)).tokens
    together, apart = count(one + other), count(one) + count(other)
    # A word and a row of signs may run across the seam; each text is rounded by itself.
    assert together - apart <= 1
    assert apart - together <= 2 + 2 * GREATEST_FACTOR


def test_samples_can_be_stored() -> None:
    sample = said_by(mixed(4, 4), {})
    assert Sample.from_json(json.loads(json.dumps(sample.to_json()))) == sample
    kept = add_sample([sample] * KEPT_SAMPLES, said_by(mixed(8, 0), {}))
    stored = json.dumps([one.to_json() for one in kept])
    assert read_samples([None, *json.loads(stored), {}]) == kept
    assert len(stored) < 4_000
    assert read_samples(None) == read_samples({"a": 1}) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)
KEYS = "version counter factors message_tokens request_tokens weights messages fixed reported".split()


@given(st.dictionaries(st.sampled_from(KEYS), st.just(COUNTER) | st.just(1) | JSON))
def test_reading_back_never_fails(value: dict[str, object]) -> None:
    for found in (Calibration.from_json(value), Sample.from_json(value)):
        assert found is None or found.to_json().keys() <= set(KEYS)
    assert len(read_samples([value, value])) in (0, 2)


@given(st.text() | st.from_regex(r"estimate-2 x[\d./]{1,9}( m\d+)?( r\d+)?", fullmatch=True))
def test_any_name_is_a_counter_or_none(name: str) -> None:
    found = find_estimate(name)
    assert found is None or found.tokens("rain") > 0


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"version": 1},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"version": 2},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"counter": "estimate-1"},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"factors": {"latin": 1.0}},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"factors": dict.fromkeys(SCRIPTS, 99.0)},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"factors": dict.fromkeys(SCRIPTS, float("nan"))},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"factors": dict.fromkeys(SCRIPTS, None)},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"message_tokens": -1},
        Calibration((1.0,) * len(SCRIPTS)).to_json() | {"request_tokens": 1.5},
        {"counter": COUNTER, "weights": [1], "messages": 1, "fixed": 0, "reported": 1},
        {"counter": COUNTER, "weights": [-1] * len(SCRIPTS), "messages": 1, "fixed": 0, "reported": 1},
        {"counter": COUNTER, "weights": ["1"] * len(SCRIPTS), "messages": 1, "fixed": 0, "reported": 1},
        {"counter": COUNTER, "weights": [1] * len(SCRIPTS), "messages": True, "fixed": 0, "reported": 1},
    ],
)
def test_what_is_no_calibration_is_none(value: object) -> None:
    assert Calibration.from_json(value) is None
    assert Sample.from_json(value) is None


@pytest.mark.parametrize(
    "name",
    [
        "estimate-1",
        "estimate-1 x1.1",
        f"{COUNTER} x",
        f"{COUNTER} xx",
        f"{COUNTER} x99",
        f"{COUNTER} x1/1",
        "o200k_base",
    ],
)
def test_other_names_are_not_ours(name: str) -> None:
    assert find_estimate(name) is None


@pytest.fixture(scope="module")
def exact() -> dict[str, Counter]:
    pytest.importorskip("rs_bpe", reason="the extra `tokens` is not installed")
    return tokenizers([])


def learned(requests: Sequence[Request], tokenizer: Counter, replies: int = 5) -> Counter:
    samples: tuple[Sample, ...] = ()
    for request in requests[:replies]:
        samples = add_sample(samples, make_sample(request, reported(request, tokenizer)))
    return make_counter(calibrate(samples))


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


@pytest.mark.parametrize("language", ["japanese", "chinese", "python"])
def test_after_the_fewest_replies_no_text_takes_a_tenth_more_than_counted(
    language: str, exact: dict[str, Counter]
) -> None:
    first, (later,) = language_requests(language)
    for tokenizer in exact.values():
        counter = learned(first, tokenizer, FEWEST_SAMPLES)
        assert abs(miss(later, counter, tokenizer)) <= 0.1, tokenizer.name


@pytest.mark.parametrize("oddity", SERVERS)
def test_odd_reports_on_a_story_in_english_do_not_spoil_it(oddity: str, exact: dict[str, Counter]) -> None:
    assert miss_after_odd_reports([story_requests(demo_story())], exact.values(), SERVERS[oddity]) <= 2


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
        samples = [make_sample(request, reported(request, tokenizer)) for request in first]
        ratio = fmean((one.reported - 4 * one.messages) / one.weighed for one in samples if one)
        common = find_estimate(f"{COUNTER} x{ratio:.3f}")
        assert common is not None
        assert abs(miss(japanese, common, tokenizer)) > abs(miss(japanese, counter, tokenizer)), tokenizer.name
