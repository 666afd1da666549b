"""Calls and their results in the tail: whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from previously.core.digests import digest
from previously.core.errors import BudgetTooSmall
from previously.core.messages import Entry, Message, Role, Text, Thinking, ToolCall, ToolResult, message
from previously.core.path import OnPath
from previously.view import tail
from previously.view.agent import Trim, UnitCost, fill_with_outputs
from previously.view.build import Material, ViewRequest, build_view
from previously.view.render import place_messages
from previously.view.view import Furniture, Reason, View, ViewParts


def path(*messages: Message) -> list[OnPath]:
    return [OnPath(at, at + 1, b"", Entry(at, said, digest(said))) for at, said in enumerate(messages)]


def call(*ids: str, arguments: str = "{}") -> Message:
    return Message(Role.ASSISTANT, tuple(ToolCall(one, "look", arguments) for one in ids))


def result(ident: str, text: str = "seen") -> Message:
    return Message(Role.TOOL, (ToolResult(ident, text),))


USER = message("user", "look around")


def positions(*messages: Message) -> list[list[int]]:
    return [[item.position for item in unit] for unit in tail.group_units(path(*messages))]


def view(*messages: Message, budget: int = 500) -> View:
    asked = ViewRequest(budget, recall_percent=0)
    return build_view(Material(len(messages), (), (), path(*messages), 4), asked)[0]


def test_units() -> None:
    assert positions(USER, call("a"), result("a"), USER) == [[0], [1, 2], [3]]
    assert positions(USER, call("a", "b"), result("b"), result("a"), USER) == [[0], [1, 2, 3], [4]]
    assert positions(USER, call("a", "b"), result("a"), USER) == [[0], [3]], "b was never answered"
    assert positions(USER, call("a", "b"), result("a")) == [[0], [1, 2]], "b may still be"
    assert positions(result("a"), USER) == [[1]], "a result of nothing"
    assert positions(call("x"), result("x"), call("x"), result("x")) == [[0, 1], [2, 3]], "ids may be used again"
    assert positions(call("a"), USER, result("a")) == [[1]], "a result must follow its call"
    assert positions(call("a"), call("b"), result("a"), result("b"), USER) == [[0, 1, 2, 3], [4]], "one item each"
    both = Message(Role.ASSISTANT, (Text("so"), ToolCall("b", "look", "{}")))
    assert positions(call("a"), result("a"), both, result("b")) == [[0, 1], [2, 3]]


def test_units_of_clients_that_write_an_item_for_each_call() -> None:
    thinking = Message(Role.ASSISTANT, (Thinking("Hm."),))
    assert positions(USER, call("a"), call("b"), result("a"), result("b"), USER) == [[0], [1, 2, 3, 4], [5]]
    assert positions(USER, thinking, call("a"), result("a")) == [[0], [1, 2, 3]]
    assert positions(USER, call("a"), call("b"), result("a"), USER) == [[0], [4]], "b was never answered"
    assert positions(USER, call("a"), Message(Role.USER, (ToolResult("a", "seen"), Text("So?")))) == [[0], [1, 2]]
    assert positions(Message(Role.TOOL, (Text("seen"),)), USER) == [[1]], "a tool's words without a result"


def test_parallel_calls_wait_together() -> None:
    seen = view(USER, call("a", "b"), result("a"))
    assert len(seen.messages) == 3


def test_ids_that_are_used_again_belong_to_the_call_before_them() -> None:
    turns = [one for _ in range(6) for one in (USER, call("call_0"), result("call_0", "word " * 20))]
    for budget in range(80, 400, 5):
        seen = view(*turns, budget=budget)
        assert seen.messages[0].role is not Role.TOOL
        calls = sum(isinstance(part, ToolCall) for one in seen.messages for part in one.parts)
        results = sum(isinstance(part, ToolResult) for one in seen.messages for part in one.parts)
        assert calls == results


def test_the_newest_unit_is_fixed() -> None:
    long = (USER, call("a", arguments="word " * 500), result("a"))
    with pytest.raises(BudgetTooSmall) as caught:
        view(*long, budget=300)
    seen = view(*long, budget=caught.value.needed_tokens)
    assert len(seen.messages) == 2
    assert [one.reason for one in seen.left_out] == [Reason.BUDGET]


def test_half_of_a_unit_is_listed_as_such() -> None:
    seen = view(USER, call("a"), USER)
    assert [(str(one.span), one.reason) for one in seen.left_out] == [("message 1", Reason.HALF_A_PAIR)]


def cost(first: int, words: int, output: int) -> UnitCost:
    return UnitCost(first, first + 1, words + output, words, output * 4)


def test_an_agents_room_is_filled_with_outputs_the_newest_first() -> None:
    """Ten tokens of words and a hundred or a thousand of output in each unit."""
    needed = [cost(10, 10, 1_000), cost(12, 10, 1_000), cost(14, 10, 100)]
    older = [cost(6, 10, 100), cost(8, 10, 1_000)]
    fill = partial(fill_with_outputs, Trim(), needed, older)
    assert fill(30) == (Trim(16), 10), "all of them are notes"
    assert fill(150) == (Trim(14), 10)
    assert fill(630) == (Trim(14, cut_from=12, cut_characters=2_000), 10), "half of an output"
    assert fill(1_130) == (Trim(12), 10)
    assert fill(2_130) == (Trim(10), 10)
    assert fill(2_640) == (Trim(10, cut_from=8, cut_characters=2_000), 8), "and half of an older one"
    assert fill(9_000) == (Trim(6), 6)


def test_an_agents_view_uses_its_window() -> None:
    steps = [said for n in range(20) for said in (call(str(n)), result(str(n), f"{n} " + "def f(): pass " * 150))]
    messages = (USER, *steps)
    asked = ViewRequest(5_000, recall_percent=0, for_agent=True, tail_percent=90)
    material = Material(len(messages), (), (), path(*messages), 4)
    seen, epoch = build_view(material, asked)
    assert 0.85 * 5_000 <= seen.tokens <= 5_000
    assert [item.position for item in seen.parts.tail] == list(range(len(messages))), "every call is there"
    more = [*messages, call("20"), result("20")]
    later, same = build_view(Material(len(more), (), (), path(*more), 4), asked, epoch)
    assert same == epoch and later.messages[: len(seen.messages)] == seen.messages, "and its front stays"


def test_an_output_that_would_fill_a_quarter_is_whole_as_long_as_everything_fits() -> None:
    large = result("a", "def f(): pass " * 500)
    messages = [USER, call("a"), large]
    asked = ViewRequest(5_000, recall_percent=0, for_agent=True, tail_percent=90)
    seen, _ = build_view(Material(3, (), (), path(*messages), 4), asked)
    assert seen.parts.tail[-1].entry.message == large
    tight, _ = build_view(Material(3, (), (), path(*messages), 4), replace(asked, budget_tokens=1_500))
    assert "characters left out]" in str(tight.parts.tail[-1].entry.message)


def test_the_newest_read_of_each_file_stays_where_older_reads_of_it_give_way() -> None:
    """One file is read once, early; another again and again since. By age alone the first would be gone."""

    def read(number: int, name: str) -> tuple[Message, Message]:
        asked = ToolCall(str(number), "Read", f'{{"file_path": "{name}"}}')
        return Message(Role.ASSISTANT, (asked,)), result(str(number), f"{number} of {name} " + "def f(): pass " * 150)

    messages = [USER, *read(0, "map.py"), *(said for n in range(1, 9) for said in read(n, "quay.py"))]
    asked = ViewRequest(2_500, recall_percent=0, for_agent=True, tail_percent=90)
    seen, epoch = build_view(Material(len(messages), (), (), path(*messages), 4), asked)
    shown = {
        part.id: part.text
        for item in seen.parts.tail
        for part in item.entry.message.parts
        if isinstance(part, ToolResult)
    }
    assert shown["0"].startswith("0 of map.py"), "the newest read of this file"
    assert shown["8"].startswith("8 of quay.py"), "and of that one"
    assert [
        number for number in map(str, range(1, 8)) if "left out; it was read again later]" not in shown[number]
    ] == []
    more = [*messages, call("9"), result("9")]
    later, same = build_view(Material(len(more), (), (), path(*more), 4), asked, epoch)
    assert same == epoch and later.messages[: len(seen.messages)] == seen.messages, "and its front stays"


def test_a_note_stands_before_as_many_messages_as_the_client_had_behind_it() -> None:
    said = [message("user", "one"), message("assistant", "two"), message("user", "three")]
    notes = ((1, message("system", "before three")), (0, message("system", "behind")), (9, message("system", "first")))
    shown = place_messages(ViewParts(Furniture(notes=notes), (), (), tuple(path(*said))))
    assert [item.message.text for item in shown] == ["first", "one", "two", "before three", "three", "behind"]
