"""Small values: spans, positions, turns, text, drafts, tokens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.json_values import MAX_MESSAGE_BYTES, clean, clean_json
from previously.core.messages import (
    Attributes,
    Draft,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    clean_draft,
    message,
    parse_role,
)
from previously.core.path import Span, find_position, find_spans, find_turns
from previously.core.tokens import estimate_tokens, message_tokens


@given(st.sets(st.integers(min_value=0, max_value=40)))
def test_spans_hold_exactly_their_positions_and_never_touch(positions: set[int]) -> None:
    spans = list(find_spans(sorted(positions)))
    assert {position for span in spans for position in range(span.first, span.last + 1)} == positions
    assert all(later.first > earlier.last + 1 for earlier, later in pairwise(spans))
    assert sum(len(span) for span in spans) == len(positions)
    assert all(position in span for span in spans for position in (span.first, span.last))


def test_a_span_is_never_empty() -> None:
    with pytest.raises(ValueError, match="not a span"):
        Span(3, 2)
    with pytest.raises(ValueError, match="not a span"):
        Span(-1, 2)
    assert (str(Span(3, 3)), str(Span(3, 5))) == ("message 3", "messages 3-5")


@pytest.mark.parametrize(("given", "depth"), [(0, 0), (4, 4), (-1, 4), (-5, 0)])
def test_positions_count_from_both_ends(given: int, depth: int) -> None:
    assert find_position(5, given) == depth


@pytest.mark.parametrize(("length", "given"), [(5, 5), (5, -6), (0, 0), (0, -1)])
def test_a_position_off_the_path_is_bad_input(length: int, given: int) -> None:
    with pytest.raises(BadInput, match=r"position|no messages"):
        find_position(length, given)


def test_turns_begin_at_user_messages() -> None:
    system, user, assistant, tool = Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL
    assert find_turns([]) == []
    assert find_turns([user, assistant, tool, assistant, user, assistant]) == [0, 4]
    assert find_turns([system, assistant, user]) == [0, 2]
    assert find_turns([assistant]) == [0]


@given(st.text(st.characters()))
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    result, replaced = clean(text)
    result.encode()
    assert "\x00" not in result
    assert len(result) == len(text)
    assert replaced == sum(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text)


def test_cleaning_reaches_every_corner_of_a_draft() -> None:
    draft = Draft(
        Message(Role.USER, (Text("a\x00"), Image("u\ud800", "c\x00")), "M\x00", ("W\x00",)),
        Attributes("t\x00", "i\x00", {"k\x00": ["v\ud800", {"x": "\x00"}]}),
        (Draft(message("user", "s\x00")),),
    )
    result, replaced = clean_draft(draft)
    assert replaced == 11
    assert result.message.parts == (Text("a\ufffd"), Image("u\ufffd", "c\ufffd"))
    assert (result.message.speaker, result.message.witnesses) == ("M\ufffd", ("W\ufffd",))
    assert result.attributes == Attributes("t\ufffd", "i\ufffd", {"k\ufffd": ["v\ufffd", {"x": "\ufffd"}]})
    assert result.alternatives[0].message.text == "s\ufffd"
    assert clean_draft(result) == (result, 0)


def test_a_message_may_have_sixteen_megabytes_and_no_more() -> None:
    assert clean_draft(Draft(message("user", "x" * MAX_MESSAGE_BYTES)))[1] == 0
    for text in ("x" * (MAX_MESSAGE_BYTES + 1), "é" * (MAX_MESSAGE_BYTES // 2 + 1)):
        with pytest.raises(BadInput, match="16 MB"):
            clean_draft(Draft(message("user", text)))


def test_json_may_nest_but_not_without_end() -> None:
    deep: object = "x"
    for _ in range(300):
        deep = [deep]
    with pytest.raises(BadInput, match="nested"):
        clean_json(deep)


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(BadInput, match="'narrator' is not a role"):
        parse_role("narrator")


@given(st.text(), st.text())
def test_token_estimates_are_sane(one: str, other: str) -> None:
    assert estimate_tokens("") == 0
    assert (estimate_tokens(one) > 0) == bool(one)
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


def test_dense_scripts_cost_more_per_character_and_thinking_nothing() -> None:
    assert 4 <= estimate_tokens("雨が降る") <= 5
    assert 4 <= estimate_tokens("rain falls here!") <= 5
    assert estimate_tokens("🌧️" * 4) > 8
    thought = Message(Role.ASSISTANT, (Thinking("a very long thought " * 50), Text("Yes.")))
    assert message_tokens(thought) == message_tokens(message("assistant", "Yes."))
