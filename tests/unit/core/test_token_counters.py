"""The estimate against its own promises, and against real tokenizers in many languages."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.token_texts import LANGUAGES, demo_story, paragraphs
from benchmarks.tokens import tokenizers
from previously.core.messages import Error, Image, Message, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.tokens import (
    CALL_OVERHEAD_TOKENS,
    COUNTER,
    ESTIMATE,
    IMAGE_TOKENS,
    LONGEST_KNOWN,
    MARGINS,
    MESSAGE_OVERHEAD_TOKENS,
    SCRIPTS,
    Counter,
    estimate_tokens,
    message_tokens,
    weigh,
)

ANYTHING = st.text(st.characters())
"""Lone halves of characters included."""

MIXED = st.text(st.sampled_from("aB é ß 雨の 비 Дж 1 2 .,!? \n\t👩🏽\u200d🚀️“” ’x Ω ש ع कि กำ\x00\x7f\udc00"))


@given(ANYTHING | MIXED, ANYTHING | MIXED)
@example("\ud83d", "\ude00")
@example("foo", "bar")
@example("don’", "t")
@example("(", ")")
def test_texts_together_take_no_more_than_alone_and_no_less_than_each(one: str, other: str) -> None:
    alone, beside = estimate_tokens(one), estimate_tokens(other)
    assert max(alone, beside) <= estimate_tokens(one + other) <= alone + beside


@given(ANYTHING | MIXED)
def test_nothing_weighs_less_than_nothing(text: str) -> None:
    weights = weigh(text)
    assert len(weights) == len(SCRIPTS)
    assert min(weights) >= 0
    assert (estimate_tokens(text) > 0) == bool(text)
    assert sum(weights) <= 1_000 * estimate_tokens(text)
    assert estimate_tokens(text) == ESTIMATE.tokens(text)


@given(MIXED, st.integers(2, 50))
def test_the_same_text_again_takes_as_much_again(text: str, times: int) -> None:
    # Line ends keep words and signs of neighbours apart.
    line = f"\n{text}\n"
    assert sum(weigh(line * times)) == times * sum(weigh(line))


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("rain", "latin"),
        ("é", "latin"),
        ("ắ", "latin"),
        ("1904", "digits"),
        ("?!", "signs"),
        ("\n", "signs"),
        ("“—”", "signs"),
        ("Дождь", "alphabets"),
        ("βροχή", "alphabets"),
        ("גשם", "alphabets"),
        ("مطر", "alphabets"),
        ("बारिश", "indic"),
        ("ฝน", "indic"),
        ("雨", "cjk"),
        ("あめ", "cjk"),
        ("비", "cjk"),
        ("！", "cjk"),
        ("🌧", "emoji"),
        ("☔", "emoji"),
    ],
)
def test_each_script_is_weighed_by_itself(text: str, script: str) -> None:
    weights = dict(zip(SCRIPTS, weigh(text), strict=True))
    assert weights.pop(script) > 0
    assert set(weights.values()) == {0}


def test_what_tokenizers_break_in_pieces_takes_more() -> None:
    assert estimate_tokens("the cat sat on the mat") < estimate_tokens("THE CAT SAT ON THE MAT")
    assert estimate_tokens("a longer word") < estimate_tokens("donaudampfschifffahrt")
    assert estimate_tokens("for fur") < estimate_tokens("för für")
    assert estimate_tokens("👍") < estimate_tokens("👍🏽") < estimate_tokens("👩🏽\u200d🚀")
    assert estimate_tokens("👨‍👩‍👧‍👦") >= 8
    assert estimate_tokens("    return") < estimate_tokens("a b c d return")


def test_a_text_too_long_to_be_kept_is_counted_alike() -> None:
    line = "A line, and another one.\n"
    times = LONGEST_KNOWN // len(line) + 1
    short, long = line * (times - 1), line * times
    assert len(short) <= LONGEST_KNOWN < len(long)
    assert estimate_tokens(long) - estimate_tokens(short) in (estimate_tokens(line), estimate_tokens(line) - 1)


def test_a_megabyte_takes_time_in_proportion_to_its_length() -> None:
    for text in ("a", "Rain falls here, and nobody minds.\n", " ", "(", "雨が降る。", "👩🏽\u200d🚀", "\ud800"):
        small, large = (text * (size // len(text)) for size in (60_000, 960_000))
        # Twice as slow as proportional is noise on a busy machine; quadratic would be 16 times as slow.
        assert _seconds(large) < 16 * 5 * _seconds(small) + 0.05


def _seconds(text: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        estimate_tokens(text)
        best = min(best, time.process_time() - started)
    return best


def test_the_estimate_is_a_counter_and_says_which() -> None:
    counter: Counter = ESTIMATE
    assert counter.name == COUNTER == "estimate-2"
    line = "Rain falls here, and nobody minds.\n"
    assert not counter.exact
    assert 1_000 * counter.tokens(100 * line) == pytest.approx(MARGINS[0] * sum(weigh(100 * line)), rel=0.01)
    assert min(MARGINS) >= 1
    assert len(MARGINS) == len(SCRIPTS)


class Characters:
    """Every character is a token."""

    name = "characters-1"
    exact = True
    message_overhead_tokens = 7
    request_overhead_tokens = 0

    def tokens(self, text: str) -> int:
        return len(text)


def test_a_message_is_counted_by_the_counter_that_is_given() -> None:
    counter = Characters()
    assert message_tokens(message("user", "12345"), counter) == 7 + 5
    assert message_tokens(message("user", "12345", speaker="Maya"), counter) == 7 + 5 + 5
    parts = (Thinking("not shown"), ToolCall("id", "look", "{}"), ToolResult("id", "found"), Error("bad"), Text("x"))
    expected = 7 + CALL_OVERHEAD_TOKENS + 8 + 5 + 3 + 1
    assert message_tokens(Message(Role.ASSISTANT, parts), counter) == expected
    assert message_tokens(Message(Role.USER, (Image("data:,", "a cat"),)), counter) == 7 + IMAGE_TOKENS
    plain = message("user", "rain falls here!")
    assert (
        message_tokens(plain)
        == message_tokens(plain, ESTIMATE)
        == MESSAGE_OVERHEAD_TOKENS + ESTIMATE.tokens(plain.text)
    )


@pytest.fixture(scope="module")
def exact() -> dict[str, Counter]:
    pytest.importorskip("rs_bpe", reason="the extra `tokens` is not installed")
    return tokenizers([])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_estimate_is_never_far_below_and_not_too_far_above(language: str, exact: dict[str, Counter]) -> None:
    texts = paragraphs(language)
    estimated = sum(map(ESTIMATE.tokens, texts))
    old, new = (sum(map(exact[name].tokens, texts)) for name in ("cl100k", "o200k"))
    assert (0.9 if language == "german" else 1) * old <= estimated <= 1.3 * old
    assert 1.05 * new <= estimated <= 3.3 * new
    for text in texts:
        assert 0.79 * exact["cl100k"].tokens(text) <= ESTIMATE.tokens(text) <= 2 * exact["cl100k"].tokens(text)
        assert 0.95 * exact["o200k"].tokens(text) <= ESTIMATE.tokens(text) <= 3.7 * exact["o200k"].tokens(text)


def test_paragraphs_are_rarely_counted_too_low(exact: dict[str, Counter]) -> None:
    every = [text for language in LANGUAGES for text in paragraphs(language)]
    assert len(every) > 130
    assert sum(ESTIMATE.tokens(text) < exact["o200k"].tokens(text) for text in every) <= 0.02 * len(every)
    assert sum(ESTIMATE.tokens(text) < exact["cl100k"].tokens(text) for text in every) <= 0.1 * len(every)
    assert sum(ESTIMATE.tokens(text) < 0.95 * exact["cl100k"].tokens(text) for text in every) <= 0.03 * len(every)


def test_a_story_in_english_is_near_four_characters_a_token_and_nearer_to_the_truth(exact: dict[str, Counter]) -> None:
    story = [text for text in demo_story() if text.isascii()]
    counted = sum(map(estimate_tokens, story))
    assert counted == pytest.approx(sum(map(len, story)) / 4, rel=0.15)
    for name in ("cl100k", "o200k"):
        true = [exact[name].tokens(text) for text in story]
        # Without its margin, that is.
        misses = [abs(sum(weigh(text)) / 1_000 / tokens - 1) for text, tokens in zip(story, true, strict=True)]
        quarters = [abs(-(-len(text) // 4) / tokens - 1) for text, tokens in zip(story, true, strict=True)]
        assert sum(misses) < 0.8 * sum(quarters)
        assert sum(true) <= counted <= 1.1 * sum(true)


def test_an_older_and_smaller_vocabulary_is_not_missed_by_half(exact: dict[str, Counter]) -> None:
    if "llama2" not in exact:
        pytest.skip("wordllama, which has the file of Llama 2's tokenizer, is not installed")
    for language in LANGUAGES:
        texts = paragraphs(language)
        ratio = sum(map(ESTIMATE.tokens, texts)) / sum(map(exact["llama2"].tokens, texts))
        assert 0.67 <= ratio <= 1.35, language
    assert sum(map(ESTIMATE.tokens, demo_story())) >= 0.9 * sum(map(exact["llama2"].tokens, demo_story()))


@pytest.mark.parametrize("text", ["\ud800", "\udfff" * 10, "a\ud83d", "\x00" * 50, " " * 4_000])
def test_odd_texts_are_counted_by_every_counter(text: str, exact: dict[str, Counter]) -> None:
    for counter in (ESTIMATE, *exact.values()):
        assert 0 < counter.tokens(text) <= 4 * len(text), counter.name
