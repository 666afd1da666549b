"""Macros are put in once, as text."""

from __future__ import annotations

import pytest

from previously.text.macros import (
    MacroNames,
    find_unknown_macros,
    has_draws,
    has_macros,
    put_in_draws,
    substitute_macros,
)

VALUES = {"user": "Ada", "char": "Wren", "scenario": "{{char}} waits"}


def test_names_are_put_in_whatever_their_case() -> None:
    assert substitute_macros("{{USER}}, {{Char}}, <user>, <BOT>, <char>", VALUES) == "Ada, Wren, Ada, Wren, Wren"


def test_what_is_put_in_is_not_looked_at_again() -> None:
    assert substitute_macros("{{scenario}}.", VALUES) == "{{char}} waits."


def test_what_is_no_plain_macro_stays() -> None:
    text = "{{random:a,b}} {{unknown}} {{user {{}} <b> {{getvar::x}}"
    assert substitute_macros(text, VALUES) == text


def test_white_space_and_comments() -> None:
    assert substitute_macros("a{{newline}}b\n\n{{trim}}\nc{{// no}}{{noop}}", VALUES) == "a\nbc"


def test_somebody_who_is_not_known_stays_a_macro() -> None:
    assert substitute_macros("{{user}} and {{char}} of {{group}}", MacroNames("", "Tess").values) == (
        "{{user}} and Tess of Tess"
    )


@pytest.mark.parametrize(
    ("text", "drawn", "becomes"),
    [
        ("{{random::a::b, c::d}}", 0.5, "b, c"),
        ("{{random:a,b,c}}", 0.99, "c"),
        ("{{pick::a::b}} {{pick::a::b}}", 0.0, "a a"),
        ("{{roll:2d6+1}}", 0.99, "13"),
        ("{{roll 20}}", 0.0, "1"),
        ("{{roll:often}}", 0.0, "{{roll:often}}"),
        ("{{roll:1d0}}", 0.0, "{{roll:1d0}}"),
        ("{{char}}", 0.0, "{{char}}"),
    ],
)
def test_draws_are_decided_by_numbers(text: str, drawn: float, becomes: str) -> None:
    assert put_in_draws(text, lambda place: drawn) == becomes


def test_each_draw_has_its_own_number() -> None:
    asked: list[int] = []

    def draw(place: int) -> float:
        asked.append(place)
        return 0.0

    put_in_draws("{{random::a::b}} {{roll:3d6}} {{pick::a::b}}", draw)
    assert len(set(asked)) == len(asked) == 5


def test_what_is_there_is_known() -> None:
    assert has_macros("{{x}}")
    assert has_macros("the <User>")
    assert not has_macros("a < b")
    assert has_draws("a {{Random::b}}")
    assert not has_draws("{{user}} at random")
    assert find_unknown_macros("{{time}} {{user}} {{getvar::x}} {{time}} {{//}} {{roll:6}}") == [
        "{{time}}",
        "{{getvar::x}}",
    ]
