"""How much time a text lets pass, and by when something is due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.states import Label, change_in, label_of
from previously.core.story_time import due_in, hours_of, hours_told, messages_of, without_due


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Three days later, Maya woke.", 72),
        ("A week passed.", 168),
        ("After two months they met again.", 1_440),
        ("The next morning it rained.", 24),
        ("Days passed.", 48),
        ("An hour later she left; the following day she returned.", 25),
        ("A couple of weeks later", 336),
        ("20 years had passed", 175_200),
        ("翌朝、雨が降った。", 24),
        ("Am nächsten Morgen kam sie.", 24),
        ('"Three days later he was dead," she said.', 0),
        ("She waited for three days.", 0),
        ("three of the days", 0),
        ("", 0),
    ],
)
def test_told_time(text: str, hours: int) -> None:
    assert hours_told(text) == hours


@pytest.mark.parametrize(
    ("text", "due", "hours"),
    [
        ("Maya will be back within three days", "within three days", 72),
        ("Maya has two weeks to pay", "has two weeks", 336),
        ("Pay before dawn!", "before dawn", 24),
        ("The report is due by Tuesday.", "by Tuesday", 168),
        ("It is due on Tuesday the twenty-fourth.", "on Tuesday the twenty-fourth", 720),
        ("Pay by the 24th", "by the 24th", 720),
        ("She leaves tomorrow", "tomorrow", 24),
        ("Pay by midsummer", "by midsummer", 8_760),
        ("Return before the full moon", "before the full moon", 720),
        ("Maya will be back", "", None),
        ("İ by dawn", "", None),
    ],
)
def test_due_times(text: str, due: str, hours: int | None) -> None:
    assert due_in(text) == due
    assert hours_of(due) == hours
    assert not due or due not in without_due(text)


def test_due_in_messages() -> None:
    assert messages_of(due_in("Find it within 10 messages")) == 10
    assert messages_of(due_in("Find it in three turns")) == 3
    assert messages_of("within three days") is None
    assert hours_of("within 10 messages") is None


@given(st.text(max_size=120))
def test_no_text_makes_it_fail(text: str) -> None:
    assert hours_told(text) >= 0
    assert due_in(text) in text
    assert label_of(text) in Label


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("Maya broke her wrist.", Label.INJURY),
        ("Wren's wounds had healed.", Label.INJURY),
        ("The miller was killed.", Label.STATUS),
        ("Odalys was arrested at the gate.", Label.STATUS),
        ("Maya handed Wren the key.", Label.POSSESSION),
        ("They arrived at the inn.", Label.PLACE),
        ("Night fell.", Label.TIME),
        ("Maya married Joaquin.", Label.RELATION),
        ("Maya took a deep breath.", None),
        ("Maya came to terms with it.", None),
        ("He would have reached the mill.", None),
        ("Wren was not wounded.", None),
        ("Was Wren wounded?", None),
        ("Maya smiled at the sea.", None),
    ],
)
def test_a_plain_change_is_noticed(sentence: str, label: Label | None) -> None:
    assert change_in(sentence) is label
