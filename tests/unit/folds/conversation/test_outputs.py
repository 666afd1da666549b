"""Leaving out old outputs and pictures: what goes, what stays, and that the originals are untouched."""

from __future__ import annotations

from previously.core.messages import Message, Role, ToolCall, ToolResult, message
from previously.core.pairing import find_unpaired
from previously.core.tokens import ESTIMATE, message_tokens
from previously.folds.conversation.rules import (
    choose_largest_outputs,
    choose_old_outputs,
    drop_outputs,
    find_outputs,
    group_outputs,
)

LOG = "a line of a long log\n" * 200
TOKENS = ESTIMATE.tokens(LOG)


def run(*tools: str, text: str = LOG) -> list[Message]:
    said = [message("user", "Go.")]
    for at, tool in enumerate(tools):
        said.append(Message(Role.ASSISTANT, (ToolCall(f"c{at}", tool, "{}"),)))
        said.append(Message(Role.TOOL, (ToolResult(f"c{at}", text),)))
    return said


def test_the_newest_outputs_stay() -> None:
    outputs = find_outputs(run("read", "read", "read", "read"), ESTIMATE)
    assert [one.message for one in outputs] == [2, 4, 6, 8]
    assert [one.message for one in choose_old_outputs(outputs, 2 * TOKENS, 0, 7)] == [2, 4]
    assert [one.message for one in choose_old_outputs(outputs, 0, 0, 7)] == [2, 4, 6], "the newest unit is left alone"


def test_too_little_is_not_worth_it() -> None:
    outputs = find_outputs(run("read", "read"), ESTIMATE)
    assert choose_old_outputs(outputs, TOKENS, outputs[0].frees, 3) == [outputs[0]]
    assert choose_old_outputs(outputs, TOKENS, outputs[0].frees + 1, 3) == []
    assert find_outputs(run("read", text="ok"), ESTIMATE) == []


def test_protected_tools_are_left_alone() -> None:
    outputs = find_outputs(run("Skill", "read"), ESTIMATE, {"skill"})
    assert [one.message for one in outputs] == [4]


def test_a_note_takes_the_place_of_an_output_and_frees_what_was_said() -> None:
    said = run("read", "bash")
    outputs = find_outputs(said, ESTIMATE)
    after = drop_outputs(said, group_outputs(outputs[:1]))
    assert after[2].parts == (
        ToolResult("c0", "[output of read, 4,200 characters, left out; ask for it again if it is needed]"),
    )
    assert [one is other for one, other in zip(said, after, strict=True)] == [True, True, False, True, True]
    assert find_unpaired(after) == []
    assert said == run("read", "bash"), "the originals are untouched"
    freed = sum(map(message_tokens, said)) - sum(map(message_tokens, after))
    assert freed == outputs[0].frees


def test_an_error_stays_an_error() -> None:
    said = [
        Message(Role.ASSISTANT, (ToolCall("a", "bash", "{}"),)),
        Message(Role.TOOL, (ToolResult("a", LOG, "error"),)),
    ]
    (part,) = drop_outputs(said, {1: ("a",)})[1].parts
    assert isinstance(part, ToolResult)
    assert part.failed and part.text.startswith("[error of bash, 4,200 characters")


def test_pruning_again_changes_nothing() -> None:
    said = run("read", "bash", "grep")
    once = drop_outputs(said, group_outputs(find_outputs(said, ESTIMATE)))
    assert find_outputs(once, ESTIMATE) == []


def test_the_largest_outputs_go_first_and_no_more_than_needed() -> None:
    said = [*run("read", text=LOG * 3), *run("bash"), *run("grep", text=LOG * 2)]
    outputs = find_outputs(said, ESTIMATE)
    assert choose_largest_outputs(outputs, 0) == []
    assert [one.message for one in choose_largest_outputs(outputs, 1)] == [2]
    assert [one.message for one in choose_largest_outputs(outputs, 4 * TOKENS)] == [2, 8]
    assert len(choose_largest_outputs(outputs, 10**9)) == 3


def test_calls_of_one_message_are_told_apart() -> None:
    said = [
        Message(Role.ASSISTANT, (ToolCall("a", "read", "{}"), ToolCall("b", "bash", "{}"))),
        Message(Role.TOOL, (ToolResult("b", LOG), ToolResult("a", LOG))),
    ]
    assert group_outputs(find_outputs(said, ESTIMATE)) == {1: ("b", "a")}
    one, other = drop_outputs(said, {1: ("b",)})[1].parts
    assert isinstance(one, ToolResult) and one.text.startswith("[output of bash")
    assert other == ToolResult("a", LOG)
