"""An agent works for hours through the proxy, in each interface: what reaches the upstream is always one that it takes,
always fits its window, and always holds what the user asked last, untouched."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from previously import Memory, ScriptedAnswer, ScriptedServer
from previously.core.messages import ToolCall
from previously.core.tokens import ESTIMATE
from previously.testing import ServedRequest
from tests.effort import mark_slow
from tests.end_to_end.server.agents import FIRST, RULE, STEPS, Agent, agents_rig, folded, holds, sent_list
from tests.end_to_end.server.running import running_proxy, stories_with

WINDOW = 2_500


def count_densely(text: str) -> int:
    """Count as a tokenizer does that makes a tenth more of every kind of text than is estimated. The scripted server's
    own counter, by words, takes punctuation for nothing: what a proxy learns of it from calls is wrong for prose."""
    return -(-ESTIMATE.tokens(text) * 11 // 10)


@pytest.mark.parametrize("dialect", FIRST)
async def test_a_long_conversation_goes_on(dialect: str, tmp_path: Path) -> None:
    upstream = {"window_tokens": WINDOW, "on_overflow": "refuse", "count_tokens": count_densely}
    async with agents_rig(tmp_path, window=WINDOW, upstream=upstream) as rig:
        agent = Agent(rig.proxy.base_url, rig.client, dialect)
        asked = await agent.works(4 * STEPS)
        await folded(rig.proxy.db)
        asked += await agent.works(4 * STEPS)
        assert rig.upstream.faults == []
        assert len(rig.upstream.requests) == 8 * STEPS, "none had to be sent twice"
        for request, message in zip(rig.upstream.requests, asked, strict=True):
            assert holds(request, message), f"request {request.number} is without {message}"
        last = rig.upstream.requests[-1]
        assert len(sent_list(last)) < len(agent.history) * 0.75, "much of it is no longer sent"
        assert RULE in json.dumps(last.json)
        assert "# Earlier in this conversation" in json.dumps(last.json), "and still remembered"
        stories = await stories_with(rig.proxy.db, "Request 0")
        assert len(stories) == 1
        (path,) = stories.values()
        assert len([role for role, _ in path if role == "user"]) == 8
        assert len([role for role, _ in path if role == "assistant"]) == 8 * STEPS, "each answer once"


def always_calls(request: ServedRequest) -> ScriptedAnswer:
    call = ToolCall(f"call_{request.number}", "read", json.dumps({"path": f"src/part_{request.number}.py"}))
    return ScriptedAnswer(text="", tool_calls=[call])


@pytest.mark.parametrize("dialect", FIRST)
async def test_what_takes_more_than_a_window_of_work_is_never_forgotten(dialect: str, tmp_path: Path) -> None:
    async with agents_rig(tmp_path, window=WINDOW, upstream={}) as rig:
        rig.upstream.new_plan(always_calls)
        agent = Agent(rig.proxy.base_url, rig.client, dialect)
        agent.results = 150
        message = agent.asks("Mend all of the bridge, from the north bank to the south, and paint none of it.")
        for _ in range(60):
            await agent.step()
        assert rig.upstream.faults == []
        assert all(holds(request, message) for request in rig.upstream.requests)
        shown = sent_list(rig.upstream.requests[-1])
        assert len(shown) < 100, "the oldest calls are no longer shown"
        noted = [request for request in rig.upstream.requests if "characters, left out; " in json.dumps(request.json)]
        assert noted, "before a fold told of them, of older ones the outputs were not"
        assert "call_58" in json.dumps(shown), "the newest are"


@pytest.mark.parametrize("dialect", FIRST)
async def test_where_there_is_no_room_for_a_view_pairs_stay_whole(dialect: str, tmp_path: Path) -> None:
    """What the user asked fills the window by itself: the client's own list is cut."""
    async with agents_rig(tmp_path, window=600, upstream={}) as rig:
        agent = Agent(rig.proxy.base_url, rig.client, dialect)
        states = set()
        for step in range(2 * STEPS):
            if not agent.calls:
                message = agent.asks(f"Request {step}: " + "mend the bridge, stone by stone, " * 70)
            states.add((await agent.step()).headers["x-previously-memory"])
            assert holds(rig.upstream.requests[-1], message)
        assert states == {"off; reason=no-room"}
        assert rig.upstream.faults == []
        assert len(sent_list(rig.upstream.requests[-1])) < 6


def pairs(count: int, letters: int) -> list[dict[str, str]]:
    """Calls of a tool that takes no JSON, as Codex makes them, with what they gave."""
    return [
        item
        for number in range(count)
        for item in (
            {"type": "custom_tool_call", "call_id": f"c{number}", "name": "apply_patch", "input": "*** Begin Patch"},
            {"type": "custom_tool_call_output", "call_id": f"c{number}", "output": f"{number} stone " * letters},
        )
    ]


@pytest.mark.parametrize("window", [4_000, *mark_slow(16_000, reason="a roomier window")])
async def test_outputs_that_are_shown_in_part_stay_what_they_are(window: int, tmp_path: Path) -> None:
    async with agents_rig(tmp_path, window=window, upstream={}) as rig:
        agent = Agent(rig.proxy.base_url, rig.client, "responses")
        agent.asks("Patch the bridge.")
        agent.history += pairs(20, 300)
        message = agent.asks("And now the toll house.")
        assert (await agent.post()).status_code == 200
        assert rig.upstream.faults == []
        sent = rig.upstream.requests[-1]
        assert holds(sent, message)
        assert {item.get("type") for item in sent_list(sent)} >= {"custom_tool_call", "custom_tool_call_output"}
        assert "function_call_output" not in {item.get("type") for item in sent_list(sent)}


@pytest.mark.parametrize("window", [2_500, *mark_slow(4_000, reason="a roomier window")])
async def test_words_of_the_user_that_come_with_results_are_not_parted_from_the_call(
    window: int, tmp_path: Path
) -> None:
    async with agents_rig(tmp_path, window=window, upstream={}) as rig:
        rig.upstream.new_plan(always_calls)
        agent = Agent(rig.proxy.base_url, rig.client, "messages")
        agent.results = 150
        agent.asks("Mend all of the bridge.")
        for step in range(30):
            await agent.step()
            if step % 7 == 6:
                agent.history[-1]["content"].append({"type": "text", "text": f"Also look at pier {step}."})
        assert rig.upstream.faults == []
        assert "Also look at pier 27." in json.dumps(rig.upstream.requests[-1].json)


async def test_outputs_of_calls_that_were_made_together_share_their_room(tmp_path: Path) -> None:
    def five(request: ServedRequest) -> ScriptedAnswer:
        calls = [ToolCall(f"call_{request.number}_{at}", "read", "{}") for at in range(5)]
        return ScriptedAnswer(text="I read all of it.", tool_calls=calls)

    async with agents_rig(tmp_path, window=8_000, upstream={"window_tokens": 8_000, "on_overflow": "refuse"}) as rig:
        rig.upstream.new_plan(five)
        agent = Agent(rig.proxy.base_url, rig.client, "chat")
        agent.results = 3_000
        message = agent.asks("Read the whole bridge.")
        for _ in range(4):
            assert (await agent.step()).headers["x-previously-memory"] == "on"
        assert all(holds(request, message) for request in rig.upstream.requests)
        assert rig.upstream.faults == []


CALLED = [
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "A bridge."},
]


@pytest.mark.parametrize(
    ("system", "since", "chosen", "preset"),
    [
        ("You mend bridges.", CALLED, {}, "agent"),
        ("You mend bridges.", [], {}, None),
        ("Write Odalys's next reply in a fictional chat between Odalys and Wren.", CALLED, {}, None),
        ("You mend bridges.", CALLED, {"PREVIOUSLY_PRESET": "novel"}, None),
    ],
)
async def test_whose_story_is_an_agents(
    system: str, since: list[Any], chosen: dict[str, str], preset: str | None, tmp_path: Path
) -> None:
    """Calls make one, unless characters speak in it or somebody has chosen; tools alone do not."""
    async with (
        ScriptedServer("Fine.") as upstream,
        running_proxy(upstream.base_url, db=tmp_path / "s.db", env=chosen) as proxy,
    ):
        tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
        said: list[Any] = [
            {"role": "system", "content": system},
            {"role": "user", "content": "Begin to mend the bridge over the river."},
        ]
        for messages in (said, [*said, *since]):
            await proxy.client.post(
                f"{proxy.base_url}/chat/completions", json={"model": "m", "messages": messages, "tools": [tool]}
            )
        async with await Memory.open(tmp_path / "s.db") as memory:
            (info,) = await memory.stories()
            assert (await (await memory.story(info.name)).settings()).get("preset") == preset


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{number}",
            "description": f"Look at part {number} of the bridge. " + "Give the path, and nothing but the path. " * 25,
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
    for number in range(20)
]
"""About half of a window of 12,000 tokens."""


def count_sent(request: ServedRequest) -> int:
    """The prompt as a server counts it: everything that was sent, tools too."""
    return len(json.dumps([request.json["messages"], request.json["tools"]])) // 4


async def test_tools_are_counted_once_and_the_window_stays_in_use(tmp_path: Path) -> None:
    window = 12_000

    def reads(request: ServedRequest) -> ScriptedAnswer:
        return replace(always_calls(request), usage=lambda asked, _: {"prompt_tokens": count_sent(asked)})

    async with agents_rig(tmp_path, window=window, upstream={}) as rig:
        rig.upstream.new_plan(reads)
        agent = Agent(rig.proxy.base_url, rig.client, "chat")
        agent.results = 300
        agent.asks("Look at all of the bridge.")
        for _ in range(45):
            response = await agent.post(tools=TOOLS)
            assert response.headers["x-previously-memory"] == "on"
            agent._take(response.json())
        assert {count_sent(request) <= window for request in rig.upstream.requests} == {True}
        used = [count_sent(request) / window for request in rig.upstream.requests[-15:]]
        assert min(used) > 0.7, "what is reported for tools is no reason to leave room for them twice"
        assert "seems to cut prompts" not in rig.proxy.written()
