"""What a brief keeps from fold to fold: what the user asked for, what was decided and committed, what was given up."""

from __future__ import annotations

import pytest

from previously.core.messages import Message, message
from previously.core.tokens import estimate_tokens
from previously.folds.brief import MOST_TOKENS, BriefFold
from previously.folds.brief_checks import bound_brief
from previously.folds.builtin.brief import write_brief
from previously.folds.builtin.shell import find_telling_line
from previously.folds.builtin.statements import find_rules, read_claims
from previously.folds.checks import Accepted
from previously.folds.conversation.sections import (
    EARLIER_REQUEST,
    REMARK,
    Brief,
    parse_brief,
    render_brief,
    render_failure,
)
from previously.folds.prompts.templates import Template
from previously.folds.split import split_messages
from previously.runtime.prompts import load_prompts
from tests.unit.folds.builtin.agent_conversations import ROTATION, does, gives

REQUESTS = [f"Please fix ticket OPS-{number}, it is about the depot." for number in range(6)]


def asked(*texts: str) -> tuple[Message, ...]:
    """Requests, each answered."""
    return tuple(one for text in texts for one in (message("user", text), message("assistant", "It is done now.")))


def test_every_request_is_still_there_after_several_folds() -> None:
    brief = write_brief(asked(*REQUESTS[:2]))
    for first in (2, 4):
        brief = write_brief(asked(*REQUESTS[first : first + 2]), brief)
    text = render_brief(brief)
    assert all(text.count(f"OPS-{number}") == 1 for number in range(6))
    assert brief.goal[0] == REQUESTS[0]
    assert brief.goal[-1] == f"Latest request before the newest messages: {REQUESTS[5]}"
    assert brief.context == tuple(f"{EARLIER_REQUEST}{one}" for one in REQUESTS[1:5])


def test_a_commit_is_told_by_its_hash() -> None:
    output = "running hooks\n[main (root-commit) 3f2a91c] Add rotation\n 2 files changed, 3 insertions(+)"
    assert find_telling_line(output) == "[main (root-commit) 3f2a91c] Add rotation"
    assert find_telling_line("one\n2 passed in 0.3s\n") == "2 passed in 0.3s"


@pytest.mark.parametrize(
    ("said", "given_up"),
    [
        ("Reverting this. The index made writes slower.", ["Reverting this. The index made writes slower."]),
        ("So the thread pool is out, the driver refuses it.", ["So the thread pool is out, the driver refuses it."]),
        ("It did not work.", ["It did not work."]),
        ("The release is out in the open.", []),
    ],
)
def test_an_approach_that_was_given_up(said: str, given_up: list[str]) -> None:
    assert read_claims([message("assistant", said)]).gave_up == given_up


@pytest.mark.parametrize(
    ("said", "decided"),
    [
        ("The file is gone, so that must have worked.", False),
        ("Picked optimistic locking; reads are frequent.", True),
        ("Decision: keep the index in memory.", True),
        ("Let me look at the serializer because it is shared.", False),
        ("The serializer has four methods.", False),
    ],
)
def test_a_decision_is_known_by_its_words(said: str, decided: bool) -> None:
    assert read_claims([message("assistant", said)]).decided == ([said] if decided else [])


def test_what_has_to_be_is_a_rule() -> None:
    assert find_rules("Jana has to review every change. It has to work offline. We have seen it.") == [
        "Jana has to review every change.",
        "It has to work offline.",
    ]


def test_of_what_a_careless_model_leaves_out_only_the_users_words_come_back() -> None:
    delta = (*asked(*REQUESTS[:3]), message("assistant", "I'll use a queue instead of a table, because it is simpler."))
    noted = BriefFold(delta).judge_text("## Goal\n- Tickets.")
    assert isinstance(noted, Accepted)
    brief = parse_brief(noted.text)
    assert brief.goal == ("Tickets.",)
    assert brief.context == tuple(f"{EARLIER_REQUEST}{request}" for request in REQUESTS[:3])
    assert brief.decisions == ()


def test_the_users_words_go_last_and_whole() -> None:
    words = f"{EARLIER_REQUEST}{'please ' * 30}OPS-1"
    brief = Brief(
        goal=("first", "second"), context=(words, *(f"a cause of some length, number {n}" for n in range(30)))
    )
    found = bound_brief(brief, estimate_tokens(render_brief(brief)) - 300).brief
    assert words in found.context
    assert len(found.context) < 12
    assert found.goal == brief.goal


def test_a_model_is_not_asked_for_more_because_the_cap_is_larger() -> None:
    template: Template = load_prompts()["brief"]
    small, large = (BriefFold(ROTATION, most_tokens=most).build(template) for most in (MOST_TOKENS, 4 * MOST_TOKENS))
    assert small == large


def test_splitting_asks_seldom() -> None:
    asked_for: list[int] = []

    def fits(delta: tuple[Message, ...]) -> bool:
        asked_for.append(len(delta))
        return len(delta) <= 700

    delta = asked(*REQUESTS) * 200
    assert [len(run) for run in split_messages(delta, fits)] == [700, 700, 700, 300]
    assert len(asked_for) < 80


def test_what_was_said_before_something_was_taken_back_is_why() -> None:
    delta = (
        message("user", "Fix the clock."),
        does("", ("1", "edit", {"path": "src/clock.py", "old": "a", "new": "b"})),
        gives(("1", "ok")),
        message("assistant", "Mocking the clock hides the bug. Let me try it without."),
        does("", ("2", "bash", {"command": "git checkout -- src/clock.py"})),
        gives(("2", "Updated 1 path from the index")),
    )
    why = "Mocking the clock hides the bug."
    taken_back = "changes to src/clock.py, taken back by `git checkout -- src/clock.py`"
    assert write_brief(delta).decisions == (render_failure(f"{why} ({taken_back})"),)
    assert write_brief(delta[:3] + delta[4:]).decisions == (render_failure(taken_back),)


STATED = "The column becomes nullable; backfilling 51234 rows would lock the table for an hour."


def test_a_statement_of_no_known_sort_is_kept_while_there_is_room() -> None:
    delta = (*asked(*REQUESTS[:2]), message("assistant", f"{STATED} I see the file. Let me look at all of the others."))
    brief = write_brief(delta)
    assert brief.context == (f"{REMARK}{STATED}",)
    assert write_brief(asked(REQUESTS[2]), brief).context[-1] == f"{REMARK}{STATED}"
    short = bound_brief(brief, estimate_tokens(render_brief(brief)) - 5)
    assert short.shed[0] == f"{REMARK}{STATED}"
