"""Names exactly as they were given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.exact_names import (
    LONGEST_NAME,
    check_new_name,
    is_walled_name,
    make_new_name,
    make_story_key,
    make_user_key,
    make_walled_name,
    show_name,
)
from previously.core.json_values import clean

NAMES = st.text(st.characters(), min_size=1, max_size=12) | st.text(
    st.sampled_from("a /\\\u200b\x00\x01\ud800u0f"), min_size=1
)
VALUES = st.recursive(
    NAMES | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False), st.lists
)


@given(VALUES, VALUES)
def test_users_that_differ_have_keys_that_differ(one: Any, two: Any) -> None:
    keys = make_user_key(one), make_user_key(two)
    assert (keys[0] == keys[1]) is (repr(one) == repr(two))
    assert all(clean(key)[1] == 0 and len(key) <= LONGEST_NAME for key in keys)


@given(NAMES, NAMES)
def test_stories_that_differ_have_names_that_differ(one: str, two: str) -> None:
    assert (make_story_key(one) == make_story_key(two)) is (one == two)


@given(NAMES | st.text(min_size=LONGEST_NAME, max_size=LONGEST_NAME + 20))
def test_a_storys_name_can_be_kept_and_given_back(name: str) -> None:
    kept = make_story_key(name)
    assert kept.strip() and not clean(kept)[1] and len(kept) <= LONGEST_NAME
    assert make_story_key(kept) == kept


@given(NAMES, NAMES)
def test_what_is_shown_can_be_read_and_told_apart(one: str, two: str) -> None:
    assert show_name(one).isprintable()
    assert show_name(one) == " ".join(show_name(one).split())
    assert (show_name(one) == show_name(two)) is (one == two)


@given(NAMES, NAMES)
def test_a_walled_name_is_known_for_one(user: str, story: str) -> None:
    assert is_walled_name(make_walled_name(user, story))
    assert not is_walled_name(f"{user}/{story} 00000000")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("The lamp", "The lamp"),
        ("eve\u200b", "eve\\u200b"),
        ("eve\\u200b", "eve\\\\u200b"),
        (" eve  b ", "\\u0020eve \\u0020b\\u0020"),
        ("caf\u00e9 \u2603", "caf\u00e9 \u2603"),
        ("a\u202eb", "a\\u202eb"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_how_a_name_is_shown(name: str, shown: str) -> None:
    assert show_name(name) == shown


def test_no_new_name_is_another_place_in_an_address() -> None:
    for name in (".", ".."):
        with pytest.raises(BadInput, match="no address could lead to it"):
            check_new_name("A story", name)
    check_new_name("A story", "...")


@given(NAMES | st.sampled_from([".", "..", "two\nlines", "x" * 300]), NAMES | st.sampled_from([".", ".."]))
def test_whatever_a_program_calls_a_new_story_is_a_name_that_a_person_could_give(one: str, two: str) -> None:
    named = make_new_name(one)
    check_new_name("A story", named)
    assert make_new_name(named) == named
    assert (named == make_new_name(two)) is (one == two)


def test_a_plain_name_and_a_walled_one_stay_as_they_are() -> None:
    for name in ("The lamp", make_walled_name("alice", ".."), make_walled_name("a\nb", "x")):
        assert make_new_name(name) == name
