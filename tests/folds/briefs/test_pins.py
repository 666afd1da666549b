"""What no fold touches: rules by their form, and the newest request."""

from __future__ import annotations

import pytest

from previously.core.messages import Image, Message, Role, Text, ToolCall, ToolResult, message
from previously.core.pairing import units
from previously.folds.briefs.pins import find_pins, holds_rules, is_request

AGENTS = "# AGENTS.md instructions for /project\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>"


def user(*texts: str) -> Message:
    return Message(Role.USER, tuple(Text(text) for text in texts))


CALL = Message(Role.ASSISTANT, (ToolCall("a", "read", "{}"),))
RESULT = Message(Role.TOOL, (ToolResult("a", "seen"),))


@pytest.mark.parametrize(
    "said",
    [
        user(AGENTS),
        user("<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>"),
        user("<user_instructions>Never push.</user_instructions>"),
        user('<project-rules source="x">Never push.</project-rules>'),
        user("# CLAUDE.md\n\nUse tabs."),
        user("<system-reminder>\nContents of /p/CLAUDE.md:\nUse tabs.\n</system-reminder>", "Fix it."),
        user("<environment_context>cwd</environment_context>\n<user_instructions>Never push.</user_instructions>"),
    ],
)
def test_rules_are_known_by_their_form(said: Message) -> None:
    assert holds_rules(said)


@pytest.mark.parametrize(
    "said",
    [
        user("Read AGENTS.md and follow it."),
        user("Why does <user_instructions>x</user_instructions> not work?"),
        user("<user_instructions> is never closed"),
        user("<system-reminder>The list of tasks is empty.</system-reminder>"),
        user("<environment_context>cwd</environment_context>"),
        user("<div>rules</div>"),
        message("assistant", AGENTS),
        Message(Role.TOOL, (ToolResult("a", AGENTS),)),
        Message(Role.USER, (ToolResult("a", "seen"), Text(AGENTS))),
    ],
)
def test_what_only_speaks_of_rules_is_none(said: Message) -> None:
    assert not holds_rules(said)


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        (user("Fix it."), True),
        (user("  \n"), False),
        (user(AGENTS), False),
        (user(f"{AGENTS}\n\nFix it."), True),
        (user(AGENTS, "Fix it."), True),
        (user("# AGENTS.md is wrong\n\nFix it."), True),
        (user("<system-reminder>x</system-reminder>"), False),
        (user("<div>Fix this page</div>"), True),
        (Message(Role.USER, (Image("data:,x"),)), True),
        (Message(Role.USER, (ToolResult("a", "seen"),)), False),
        (Message(Role.USER, (ToolResult("a", "seen"), Image("data:,x"))), False),
        (Message(Role.USER, (ToolResult("a", "seen"), Text("Fix it."))), True),
        (Message(Role.USER, (ToolResult("a", "x"), Text("<system-reminder>x</system-reminder>"))), False),
        (message("assistant", "Fix it."), False),
    ],
)
def test_a_request_is_what_the_user_says(said: Message, asks: bool) -> None:
    assert is_request(said) is asks


def test_the_pins_of_a_conversation() -> None:
    said = [
        message("system", "Be kind."),
        user(AGENTS),
        user("One."),
        CALL,
        RESULT,
        user(AGENTS),
        user("Two."),
        CALL,
        RESULT,
    ]
    found = find_pins(said, units(said))
    assert found.messages == (0, 1, 6), "rules that came again word for word are pinned once"
    assert found.request == 6
    assert found.held == {0, 1, 6}


def test_a_pin_holds_its_unit() -> None:
    said = [CALL, Message(Role.USER, (ToolResult("a", "seen"), Text("And this."))), message("assistant", "ok")]
    found = find_pins(said, units(said))
    assert (found.messages, found.held, found.request) == ((1,), frozenset({0, 1}), 1)


def test_what_a_caller_pins_is_pinned_and_a_brief_is_not() -> None:
    said = [user("Notes."), CALL, RESULT, message("assistant", "ok")]
    found = find_pins(said, units(said), brief_at=0, extra=frozenset({0, 2, 99}))
    assert (found.messages, found.held, found.request) == ((2,), frozenset({1, 2}), None)
