"""Calls and results: what belongs together, what is wrong with a list, and that mending it always helps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.pairing import INTERRUPTED, find_answered_calls, find_units, find_unpaired, mend


def call(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCall(one, "look", "{}") for one in ids))


def result(*ids: str, text: str = "seen") -> Message:
    return Message(Role.TOOL, tuple(ToolResult(one, text) for one in ids))


def answer(*ids: str, text: str = "and now this") -> Message:
    """Results and a user's words in one message."""
    return Message(Role.USER, (*(ToolResult(one, "seen") for one in ids), Text(text)))


USER = message("user", "look around")
SAID = message("assistant", "I see a door.")
THOUGHT = Message(Role.ASSISTANT, (Thinking("hm"),))


def spans(*messages: Message) -> list[list[int]]:
    return [list(unit) for unit in find_units(messages)]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((), []),
        ((USER, SAID), [[0], [1]]),
        ((USER, call("a"), result("a"), USER), [[0], [1, 2], [3]]),
        ((USER, call("a", "b"), result("b"), result("a"), SAID), [[0], [1, 2, 3], [4]]),
        ((call("a"), call("b"), result("a"), result("b"), SAID), [[0, 1, 2, 3], [4]]),
        ((call("a"), THOUGHT, call("b"), result("b"), result("a")), [[0, 1, 2, 3, 4]]),
        ((call("a"), result("a"), call("b"), result("b")), [[0, 1], [2, 3]]),
        ((call("x"), result("x"), call("x"), result("x")), [[0, 1], [2, 3]]),
        ((USER, THOUGHT, call("a"), result("a")), [[0], [1, 2, 3]]),
        ((USER, THOUGHT, SAID, THOUGHT), [[0], [1, 2], [3]]),
        ((call("a", "b"), result("a", "b"), SAID), [[0, 1], [2]]),
        ((call("a"), answer("a"), SAID), [[0, 1], [2]]),
        ((call("a"), USER, result("a"), SAID), [[0, 1, 2], [3]]),
        ((call("a"), USER), [[0], [1]]),
        ((call("a"), call("b"), result("b"), USER), [[0, 1, 2], [3]]),
        ((result("a"), USER), [[0], [1]]),
        ((call("", ""), result(""), result(""), SAID), [[0, 1, 2], [3]]),
    ],
)
def test_units(messages: tuple[Message, ...], expected: list[list[int]]) -> None:
    assert spans(*messages) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((USER, call("a"), result("a"), SAID), []),
        ((call("a"), call("b"), result("b"), result("a")), []),
        ((call("", ""), result(""), result("")), []),
        ((call("a"), USER), ["Message 0 waits for the result of look (a)."]),
        ((USER, result("a")), ["Message 1 holds a result (a) that no call asked for."]),
        (
            (result("a"), call("a")),
            [
                "Message 0 holds a result (a) that comes before its call.",
                "Message 1 waits for the result of look (a).",
            ],
        ),
        ((call("a"), result("a"), result("a")), ["Message 2 holds a second result (a) for one call."]),
        ((call("a"), USER, result("a")), ["Message 2 holds the result of look (a) apart from it."]),
        ((call("a", "b"), answer("a"), result("b")), ["Message 2 holds the result of look (b) apart from it."]),
        ((call("a"), result("")), ["Message 1 does not name the call that it answers, look (a)."]),
        ((Message(Role.TOOL, (Text("seen"),)),), ["Message 0 comes from a tool and holds no result."]),
    ],
)
def test_every_fault_has_its_sentence(messages: tuple[Message, ...], expected: list[str]) -> None:
    assert find_unpaired(messages) == expected


def test_an_interrupted_call_gets_a_result_that_says_so() -> None:
    found = mend([USER, call("a", "b"), result("a"), USER])
    assert found.origin == (0, 1, 2, None, 3)
    assert found.messages[3].parts == (ToolResult("b", INTERRUPTED, "error"),)
    assert (found.interrupted, found.orphans) == (1, ())


def test_a_result_of_no_call_is_left_out() -> None:
    found = mend([result("z"), USER, call("a"), result("a"), result("a")])
    assert found.origin == (1, 2, 3)
    assert (found.interrupted, found.orphans) == (0, (0, 4))


def test_a_late_result_moves_up_to_its_call() -> None:
    late = result("a")
    found = mend([call("a"), USER, SAID, late])
    assert found.origin == (0, 3, 1, 2)
    assert found.messages[1] is late
    assert (found.interrupted, found.orphans) == (0, ())


def test_late_results_in_a_message_of_the_user_leave_the_words_where_they_are() -> None:
    found = mend([call("a"), USER, answer("a", text="go on")])
    assert found.origin == (0, 2, 1, 2)
    assert found.messages == (call("a"), result("a"), USER, message("user", "go on"))


def test_what_comes_after_the_users_words_is_put_before_them() -> None:
    found = mend([call("a", "b"), answer("a"), result("b"), SAID])
    assert found.messages == (call("a", "b"), result("b"), answer("a"), SAID)
    assert mend([call("a", "b"), answer("a"), SAID]).origin == (0, None, 1, 2)


def test_ids_that_are_used_again_belong_to_the_nearest_call_before_them() -> None:
    found = mend([call("x"), USER, call("x"), result("x"), result("x")])
    assert found.origin == (0, None, 1, 2, 3)
    assert found.orphans == (4,)


def test_pictures_of_a_tool_go_where_its_result_goes() -> None:
    seen = Message(Role.TOOL, (ToolResult("a", ""), Image("data:,x")))
    assert mend([call("a"), USER, seen]).messages == (call("a"), seen, USER)
    assert mend([USER, seen]).messages == (USER,)


def test_what_names_no_call_is_paired_by_order() -> None:
    found = mend([call("a", "b"), result("", text="one"), result("", text="two")])
    assert found.messages[1:] == (result("a", text="one"), result("b", text="two"))


def test_the_call_of_each_result_is_known() -> None:
    asked = Message(Role.ASSISTANT, (ToolCall("a", "read", "{}"), ToolCall("b", "run", "{}")))
    assert {place: one.name for place, one in find_answered_calls([asked, result("b", "a")]).items()} == {
        (1, 0): "run",
        (1, 1): "read",
    }


IDS = st.sampled_from(["a", "b", "c", ""])
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, st.just("word")),
    st.builds(Thinking, st.just("hm")),
    st.builds(lambda one: ToolCall(one, "look", "{}"), IDS),
    st.builds(lambda one: ToolResult(one, "seen"), IDS),
    st.just(Image("data:,x")),
)
ANY = st.builds(lambda role, parts: Message(role, tuple(parts)), st.sampled_from(Role), st.lists(PARTS, max_size=4))
LIKELY = st.sampled_from(
    [
        USER,
        SAID,
        THOUGHT,
        call("a"),
        call("b"),
        call("a", "b"),
        result("a"),
        result("b"),
        answer("a"),
        call(""),
        result(""),
    ]
)
LISTS = st.lists(st.one_of(ANY, LIKELY), max_size=10)


@given(LISTS)
def test_mending_always_helps_and_once_is_enough(messages: list[Message]) -> None:
    found = mend(messages)
    assert find_unpaired(found.messages) == []
    again = mend(found.messages)
    assert again.messages == found.messages
    assert again.origin == tuple(range(len(found.messages)))
    assert (again.interrupted, again.orphans) == (0, ())


@given(LISTS)
def test_what_is_well_is_left_as_it_is(messages: list[Message]) -> None:
    found = mend(messages)
    assert (found.origin == tuple(range(len(messages))) and found.messages == tuple(messages)) == (
        find_unpaired(messages) == []
    )
    for said, place in zip(found.messages, found.origin, strict=True):
        if place is not None and said == messages[place]:
            assert said is messages[place]


@given(LISTS)
def test_nothing_that_was_said_is_lost(messages: list[Message]) -> None:
    def said(of: tuple[Message, ...]) -> list[str]:
        kinds = (Text, Thinking, ToolCall)
        return sorted(
            str(part) for one in of if one.role is not Role.TOOL for part in one.parts if isinstance(part, kinds)
        )

    assert said(mend(messages).messages) == said(tuple(messages))


@given(LISTS)
def test_units_cover_every_message_once_and_part_no_call_from_its_result(messages: list[Message]) -> None:
    whole = find_units(messages)
    assert [at for unit in whole for at in unit] == list(range(len(messages)))
    assert all(whole)
    for (at, place), asked in find_answered_calls(messages).items():
        unit = next(one for one in whole if at in one)
        part = messages[at].parts[place]
        assert isinstance(part, ToolResult)
        calls = [one for where in unit for one in messages[where].parts if isinstance(one, ToolCall)]
        assert asked in calls


@given(LISTS)
def test_any_row_of_units_of_a_mended_list_is_well(messages: list[Message]) -> None:
    whole = mend(messages).messages
    parted = find_units(whole)
    for start in range(len(parted)):
        assert find_unpaired([whole[at] for unit in parted[start:] for at in unit]) == []
        assert find_unpaired([whole[at] for unit in parted[:start] for at in unit]) == []
