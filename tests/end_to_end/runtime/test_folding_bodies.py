"""What a fold keeps besides the messages: the system prompt in every dialect, the fields of a request, and the mark by
which the next fold knows the brief."""

from __future__ import annotations

import json
from typing import Any

import pytest

from previously import fold_conversation
from previously.formats.conversations import parse_conversation
from previously.testing.request_faults import find_anthropic_faults
from previously.wire.anthropic_request import to_anthropic
from previously.wire.responses import to_responses
from tests.end_to_end.runtime.test_fold_conversation import chat

RULES = "Never touch db/migrations. Write tests first."
TOOLS = [{"name": f"tool_{at}", "description": "does it. " * 40} for at in range(4)]
Raw = dict[str, Any]


def responses_body() -> Raw:
    items = to_responses(parse_conversation(chat()[1:]).messages)
    return {"model": "m", "instructions": RULES, "tools": TOOLS, "store": False, "input": items}


def anthropic_body(system: Any = RULES) -> Raw:
    listed = to_anthropic(parse_conversation(chat()[1:]).messages)["messages"]
    return {"model": "m", "max_tokens": 9, "system": system, "tools": TOOLS, "messages": listed}


@pytest.mark.parametrize(
    "given", [responses_body(), anthropic_body(), anthropic_body([{"type": "text", "text": RULES}])]
)
@pytest.mark.parametrize("to", ["openai", "anthropic", "responses"])
def test_the_system_prompt_is_where_the_dialect_has_it(given: Raw, to: str) -> None:
    done = fold_conversation(given, budget=4_000, to=to)
    assert done.status == "folded"
    whole = json.dumps([done.body, done.messages])
    assert whole.count(RULES) == 1
    own = parse_conversation(given).dialect
    if to == own:
        assert done.body == {name: value for name, value in given.items() if name not in ("messages", "input")}
    elif to == "anthropic":
        assert (done.system, done.body) == (RULES, {"system": RULES})
    else:
        assert (done.messages[0]["role"], done.system, done.body) == ("system", None, {})
    assert done.tokens <= 4_000


def test_a_prompt_that_goes_into_the_list_moves_no_pin_and_no_place() -> None:
    given = anthropic_body()
    done = fold_conversation(given, budget=4_000, to="openai", pins=[0])
    assert done.messages[1]["content"] == given["messages"][0]["content"]
    assert done.result is not None
    said = parse_conversation(given).messages
    assert done.result.origin[0] is None
    assert all(done.result.messages[new] == said[old] for new, old in enumerate(done.result.origin) if old is not None)


@pytest.mark.parametrize("to", ["openai", "anthropic", "responses"])
def test_a_growing_conversation_has_one_brief(to: str) -> None:
    given: Any = {"messages": chat()}
    for turn in range(10):
        done = fold_conversation(given, budget=3_000, to=to)
        assert done.status == "folded", turn
        assert json.dumps(done.messages).count("Notes on what happened earlier") == 1, turn
        if to == "anthropic":
            assert find_anthropic_faults({"model": "m", "max_tokens": 9, **done.body, "messages": done.messages}) == []
        more = {
            "openai": chat(6)[1:],
            "anthropic": to_anthropic(parse_conversation(chat(6)[1:]).messages)["messages"],
            "responses": to_responses(parse_conversation(chat(6)[1:]).messages),
        }[to]
        if to == "responses":
            more = [{**one, "call_id": f"{turn}_{one['call_id']}"} if "call_id" in one else one for one in more]
        listed = "input" if to == "responses" else "messages"
        given = {**done.body, listed: [*done.messages, *more], "previously": dict(done.earlier)}


def test_what_did_not_change_is_the_very_object_that_came() -> None:
    given = chat()
    done = fold_conversation(given, budget=3_000)
    assert done.messages[0] is given[0]
    assert done.messages[-1] is given[-1]
