"""What is given to the fold of a conversation is used, or refused in one sentence that names it."""

from __future__ import annotations

from typing import Any

import pytest

from previously import fold_conversation
from previously.core.errors import BadInput
from tests.end_to_end.runtime.test_fold_conversation import chat


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"budget": "4000"}, "budget"),
        ({"budget": 4000.5}, "budget"),
        ({"budget": True}, "budget"),
        ({"tail_turns": "two"}, "tail_turns"),
        ({"tail_tokens": []}, "tail_tokens"),
        ({"brief_tokens": "many"}, "brief_tokens"),
        ({"model_window": "8k"}, "model_window"),
        ({"pins": 3}, "pins"),
        ({"pins": "3"}, "pins"),
        ({"pins": ["first"]}, "pin"),
        ({"system": 7}, "system"),
        ({"system": ["rules"]}, "system"),
        ({"tools": "edit"}, "tools"),
        ({"tools": {"name": "edit"}}, "tools"),
        ({"tools": [3]}, "tools"),
        ({"model": "gpt-4"}, "model"),
    ],
)
def test_what_cannot_be_used_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput, match=named) as caught:
        fold_conversation(chat(), **given)
    assert "\n" not in str(caught.value)


def test_nothing_is_none_and_blocks_of_a_system_prompt_are_counted() -> None:
    alone = fold_conversation(chat(), budget=3_000, system=None, tools=None, pins=None)
    assert alone.status == "folded"
    text = "Never touch db/migrations. " * 20
    blocks = fold_conversation(chat(), budget=3_000, system=[{"type": "text", "text": text}])
    assert blocks.before_tokens == fold_conversation(chat(), budget=3_000, system=text).before_tokens
    assert blocks.before_tokens > alone.before_tokens


def test_one_is_one() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    long: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "line\n" * 9_000},
        {"role": "user", "content": "And now?"},
    ]
    assert "1 tool output was left out" in fold_conversation(long, budget=3_000, tail_turns=5, pins=[1]).reason
