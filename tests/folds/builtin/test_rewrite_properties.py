"""What holds for any text: totality, determinism, the ceiling, the bound on the carry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.folds.builtin import Said, count_words, rewrite

SCRAPS = st.sampled_from(
    [
        *("Maya walked to Corvane. ", "I promise to pay 40 crowns by midsummer! ", '"You are late," he said. '),
        *(
            "*She nods.* ",
            '"',
            "*",
            "“",
            "」",
            "「彼は来た。」",
            "港へ行った。",
            "you ",
            "I'm ",
            "...",
            "\n",
            "((ooc) ",
        ),
        *("<b>", "``` ", "😀", "e\u0301\u0301", "Dr. Senn ", "said: ", ": ", "Also named so far: Bo and Kess."),
        *("\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\ufffd", "'", "—", "A-B-C ", "Ich bin da. "),
    ]
)
TEXT = st.one_of(st.text(max_size=200), st.lists(SCRAPS, max_size=25).map("".join))
MESSAGES = st.lists(st.builds(Said, st.one_of(st.none(), TEXT, st.just("Maya")), TEXT), max_size=8)


@settings(max_examples=150, deadline=None)
@given(previous=TEXT, carry=st.one_of(st.none(), TEXT), delta=MESSAGES, target=st.integers(0, 120))
def test_any_input_gives_a_recap_within_its_ceiling(
    previous: str, carry: str | None, delta: list[Said], target: int
) -> None:
    made = rewrite(previous, carry, delta, target_words=target)
    again = rewrite(previous, carry, delta, target_words=target)
    assert made == again
    assert len(made.carry.encode("utf-8", "replace")) <= 16_384
    if target:
        assert count_words(made.text) <= target * 1.1 + 1


@settings(max_examples=80, deadline=None)
@given(deltas=st.lists(MESSAGES, min_size=1, max_size=4))
def test_rolling_any_text_never_nests_quotations(deltas: list[list[Said]]) -> None:
    text, carry = "", None
    for delta in deltas:
        made = rewrite(text, carry, delta, target_words=60)
        text, carry = made.text, made.carry
        assert text.count('"') % 2 == 0
        assert 'said: "said:' not in text


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n ", ".!?", "a" * 1_000_000, "word " * 60_000, "a" + "\u0301" * 100_000, '"' * 100_000),
        *("“" * 100_000, "(" * 100_000, "彼女" * 100_000, "😀" * 50_000, "*a " * 20_000, "a, " * 50_000),
    ],
    ids=lambda text: repr(text[:4]),
)
def test_hard_texts_are_read_as_message_and_as_recap(text: str) -> None:
    first = rewrite("", None, [Said("Maya", text)], target_words=100)
    assert count_words(first.text) <= 110
    assert len(first.text) < 5_000
    second = rewrite(text, first.carry, [Said(None, "The bridge at Corvane fell at dawn.")], target_words=100)
    assert count_words(second.text) <= 110
    assert "Corvane" in second.text


@pytest.mark.parametrize(
    "carry",
    ["", "null", "[]", "{", '{"v":1}', '{"v":1,"n":{"A":"x"},"t":[],"s":{"B":[1]},"w":-3}', "[" * 5_000],
)
def test_a_carry_that_is_not_ours_counts_as_none(carry: str) -> None:
    delta = [Said("Maya", "I promise to bring the 40 crowns to Corvane.")]
    assert rewrite("", carry, delta, target_words=80).text == rewrite("", None, delta, target_words=80).text


def test_the_carry_stays_small_however_long_the_story() -> None:
    text, carry = "", None
    for window in range(30):
        names = " ".join(f"Then Na{window}x{i} met Zo{i}y{window} at the gate of Qu{i}." for i in range(40))
        made = rewrite(text, carry, [Said(None, names.replace("0", "a").replace("1", "b"))], target_words=200)
        text, carry = made.text, made.carry
    assert carry is not None
    assert len(carry.encode()) <= 16_384


def test_the_same_bytes_under_any_hash_seed() -> None:
    program = (
        "from previously.folds.builtin import Said, rewrite\n"
        "t, c = '', None\n"
        "for i in range(4):\n"
        "    d = [Said(n, f'{n} gave {m} {i + 2} letters for Corvane. I owe {m} {i} crowns by dawn.')\n"
        "         for n in ('Maya', 'Bo', 'Kess') for m in ('Joaquin', 'Odalys', 'Wren')]\n"
        "    r = rewrite(t, c, d, target_words=60)\n"
        "    t, c = r.text, r.carry\n"
        "print(t, c)\n"
    )
    source = Path(__file__).parents[3] / "src"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(source), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
    assert b"Maya" in outputs.pop()
