"""Questions name days in many ways; messages near those days count."""

from __future__ import annotations

from datetime import date

import pytest

from previously.text.times import DaySpan, find_days, measure_nearness, parse_day, parse_minute, render_day

TODAY = date(2023, 5, 17).toordinal()  # a Wednesday


def day(year: int, month: int, number: int) -> int:
    return date(year, month, number).toordinal()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on 8 May 2023", (2023, 5, 8), (2023, 5, 8)),
        ("on May 8th, 2023", (2023, 5, 8), (2023, 5, 8)),
        ("in May 2023", (2023, 5, 1), (2023, 5, 31)),
        ("2023-05-08", (2023, 5, 8), (2023, 5, 8)),
        ("08.05.2023", (2023, 5, 8), (2023, 5, 8)),
        ("2023年5月8日", (2023, 5, 8), (2023, 5, 8)),
        ("2023년 5월 8일", (2023, 5, 8), (2023, 5, 8)),
        ("in 2022", (2022, 1, 1), (2022, 12, 31)),
        ("in the summer of 2022", (2022, 6, 1), (2022, 8, 30)),
        ("last Tuesday", (2023, 5, 16), (2023, 5, 16)),
        ("on Friday", (2023, 5, 12), (2023, 5, 12)),
        ("yesterday", (2023, 5, 16), (2023, 5, 16)),
        ("two weeks ago", (2023, 4, 30), (2023, 5, 6)),
        ("a few days ago", (2023, 5, 14), (2023, 5, 14)),
        ("last month", (2023, 4, 1), (2023, 4, 30)),
        ("last weekend", (2023, 5, 13), (2023, 5, 14)),
        ("last year", (2022, 1, 1), (2022, 12, 31)),
        ("last December", (2022, 12, 1), (2022, 12, 31)),
        ("last summer", (2022, 6, 1), (2022, 8, 30)),
    ],
)
def test_days_that_are_named(text: str, first: tuple[int, int, int], last: tuple[int, int, int]) -> None:
    assert DaySpan(day(*first), day(*last)) in find_days(f"What happened {text}?", TODAY)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("between August 11 and August 15 2023", (2023, 8, 11), (2023, 8, 15)),
        ("between 11 and 15 August 2023", (2023, 8, 11), (2023, 8, 15)),
        ("from 11 to 15 August 2023", (2023, 8, 11), (2023, 8, 15)),
        ("on August 11-15, 2023", (2023, 8, 11), (2023, 8, 15)),
        ("from 2023-08-11 to 2023-08-15", (2023, 8, 11), (2023, 8, 15)),
        ("from June to August 2023", (2023, 6, 1), (2023, 8, 31)),
        ("from June 2023 until August", (2023, 6, 1), (2023, 8, 31)),
        ("between 20 December and 5 January 2024", (2023, 12, 20), (2024, 1, 5)),
        ("between 20 December 2023 and 5 January", (2023, 12, 20), (2024, 1, 5)),
        ("between 2021 and 2023", (2021, 1, 1), (2023, 12, 31)),
    ],
)
def test_two_ends_are_one_stretch(text: str, first: tuple[int, int, int], last: tuple[int, int, int]) -> None:
    assert find_days(f"What happened {text}?") == (DaySpan(day(*first), day(*last)),)


def test_a_stretch_without_a_year_fits_any_year_also_over_its_end() -> None:
    spans = find_days("What happened between 20 December and 5 January?")
    assert [measure_nearness(spans, day(2021, *at)) for at in ((12, 20), (12, 31), (1, 5), (6, 1))] == [1, 1, 1, 0]


@pytest.mark.parametrize("text", ["on 3 May 2023 and 9 May 2023", "on 2023-05-03 and on 2023-05-09"])
def test_two_days_are_no_stretch(text: str) -> None:
    assert find_days(text) == tuple(DaySpan(one, one) for one in (day(2023, 5, 3), day(2023, 5, 9)))


def test_a_month_without_a_year_fits_any_year() -> None:
    (span,) = find_days("What did we plan in May?")
    assert measure_nearness((span,), day(2021, 5, 20)) == measure_nearness((span,), day(2023, 5, 2)) == 1.0
    assert measure_nearness((span,), day(2023, 8, 2)) == 0.0


@pytest.mark.parametrize("text", ["You may go.", "They march on.", "No day at all", "31.02.2023", "2023-13-45", ""])
def test_what_is_no_date(text: str) -> None:
    assert find_days(text, TODAY) == ()


def test_what_is_relative_needs_a_day_to_be_relative_to() -> None:
    assert find_days("what happened yesterday?") == ()


def test_a_long_message_that_asks_nothing_names_no_relative_day() -> None:
    told = "I slept badly last night, and the whole of the morning went by with nothing done but looking at the sea."
    assert find_days(told, TODAY) == ()
    assert find_days(told + " What did you do yesterday?", TODAY) != ()


def test_nearness_falls_off() -> None:
    named = (DaySpan(100, 100),)
    after = [measure_nearness(named, 100 + days) for days in (0, 1, 10, 45, 46)]
    assert after == sorted(after, reverse=True) and after[0] == 1.0 and after[-1] == 0.0
    assert 0 < measure_nearness(named, 98) < measure_nearness(named, 99) < 1


def test_when_a_message_was_said() -> None:
    assert (
        parse_day("2023-05-08T13:56:00")
        == parse_day("2023-05-08")
        == parse_day("1:56 pm on 8 May, 2023")
        == day(2023, 5, 8)
    )
    assert parse_day("2023-05-08T23:30:00+09:00") == day(2023, 5, 8)
    assert parse_minute("2023-05-08T01:02:03") == day(2023, 5, 8) * 1440 + 62
    assert parse_day("whenever") is None is parse_day(None)
    assert render_day("2023-05-08T13:56:00") == "8 May 2023"
    assert render_day(None) == ""


@pytest.mark.parametrize("today", [1, 2, 400, 3_652_059])
def test_the_edges_of_the_calendar(today: int) -> None:
    for text in ("last year", "999 years ago", "yesterday", "last winter", "on 29 February", "last weekend", "tonight"):
        for span in find_days(text, today):
            assert 0 <= measure_nearness((span,), today) <= 1
            assert 0 <= measure_nearness((span,), 1) <= 1
