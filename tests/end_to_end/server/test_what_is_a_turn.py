"""What is a turn of a conversation and what is beside it; how a story is named; a turn without room for memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

from tests.end_to_end.server.running import Rig, running_rig, stories_with

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "Which lamp burns longest in the north tower?"
SYSTEM = {"role": "system", "content": "You keep the light.\n  Working directory: /srv/lighthouse"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


async def ask(rig: Rig, *messages: dict[str, Any], session: str = "", **fields: Any) -> httpx.Response:
    headers = {"x-session-id": session} if session else {}
    body = {"model": "m", "messages": messages, **fields}
    answer = await rig.client.post(f"{rig.proxy.base_url}/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200
    return answer


def story_of(answer: httpx.Response) -> str:
    return unquote(answer.headers.get("x-previously-story", ""))


async def test_a_single_question_is_no_story_until_it_goes_on(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        first = await ask(rig, SYSTEM, user(QUESTION))
        assert (first.headers["x-previously-memory"], story_of(first)) == ("off", "")
        assert rig.upstream.requests[0].json["messages"] == [SYSTEM, user(QUESTION)]
        second = await ask(rig, SYSTEM, user(QUESTION), assistant("The third."), user("And the fourth?"))
        assert story_of(second) == f"lighthouse: {QUESTION}"
        (path,) = (await stories_with(rig.proxy.db, QUESTION)).values()
        assert [text for _, text in path][:3] == [QUESTION, "The third.", "And the fourth?"]


TITLE = [{"role": "system", "content": "You are a title generator."}, user("Generate a title:"), user(QUESTION)]
BESIDE: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    (TITLE, {"stream": True}),
    ([SYSTEM, user(QUESTION)], {"response_format": {"type": "json_schema", "json_schema": {"name": "title"}}}),
    ([user("quota")], {"max_tokens": 1}),
]


async def test_what_stands_beside_a_session_is_no_part_of_it(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        for messages, fields in BESIDE:
            aside = await ask(rig, *messages, session="ses_1", **fields)
            assert aside.headers["x-previously-memory"] == "off"
            assert rig.upstream.requests[-1].json["messages"] == messages
        work = await ask(rig, SYSTEM, user(QUESTION), session="ses_1", tools=[TOOL])
        assert work.headers["x-previously-memory"] == "on"
        assert [message["role"] for message in rig.upstream.requests[-1].json["messages"]] == ["system", "user"]
        (path,) = (await stories_with(rig.proxy.db, "")).values()
        assert path[0] == ("user", QUESTION)


async def test_a_session_keeps_its_story_whatever_its_list_shows(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        mine = await ask(rig, SYSTEM, user(QUESTION), session="ses_1", stream=True)
        other = await ask(rig, SYSTEM, user(QUESTION), session="ses_2", stream=True)
        compacted = await ask(rig, SYSTEM, user("Summary: a lamp was looked for. Go on."), session="ses_1", stream=True)
        assert story_of(mine) == story_of(compacted) == f"lighthouse: {QUESTION}"
        assert story_of(other) == f"lighthouse: {QUESTION} (2)"


async def test_helpers_of_an_agent_have_stories_of_their_own(tmp_path: Path) -> None:
    """Claude Code sends one id with its own requests and with those of its helpers."""
    work = [user(QUESTION), assistant("I let somebody look."), user("What did they find in the tower?")]
    helper = [
        user("Look for lamps in the north tower and list them."),
        assistant("I look."),
        user("Go on, look again."),
    ]
    summary = user(
        "This session is being continued from a previous conversation that ran out of context. A lamp burns."
    )
    async with running_rig(tmp_path) as rig:

        async def tell(*messages: dict[str, Any]) -> str:
            body = {"model": "m", "messages": [SYSTEM, *messages], "tools": [TOOL]}
            headers = {"x-claude-code-session-id": "5f1c"}
            url = f"{rig.proxy.base_url}/chat/completions"
            return story_of(await rig.client.post(url, json=body, headers=headers))

        mine = await tell(*work[:1])
        theirs = await tell(*helper[:1])
        assert (mine, theirs) == (f"lighthouse: {QUESTION}", f"lighthouse: {helper[0]['content']}")
        assert [await tell(*work), await tell(*helper), await tell(summary)] == [mine, theirs, mine]


async def test_a_turn_without_room_goes_on_as_it_came_and_says_so(tmp_path: Path) -> None:
    tools = [
        {"type": "function", "function": {"name": f"look_{n}", "description": "Look about. " * 60}} for n in range(20)
    ]
    async with running_rig(tmp_path, window=4_096) as rig:
        story = [user("Begin the work now."), assistant("Begun."), user("Go on with the lamp.")]
        answer = await ask(rig, SYSTEM, *story, session="ses_1", tools=tools)
        assert answer.headers["x-previously-memory"] == "off; reason=no-room"
        assert story_of(answer)
        sent = rig.upstream.requests[0].json["messages"]
        assert sent[0] == SYSTEM and sent[-1] == story[-1]
        reply = answer.json()["choices"][0]["message"]["content"]
        why = await ask(rig, SYSTEM, *story, assistant(reply), user("//why"), session="ses_1", tools=tools)
        assert "went on without memory" in why.text and "tokens" in why.text
        (listed,) = (await rig.client.get(f"{rig.proxy.origin}/api/v1/stories")).json()["stories"]
        health = f"{rig.proxy.origin}/api/v1/stories/{quote(listed['story'], safe='')}/health"
        assert "went on without memory" in (await rig.client.get(health)).text
        again = await ask(rig, SYSTEM, *story, assistant(reply), user("And now?"), session="ses_1")
        assert again.headers["x-previously-memory"] == "on"
        assert "went on without memory" not in (await rig.client.get(health)).text


async def test_nothing_is_cut_where_nobody_knows_the_window(tmp_path: Path) -> None:
    long = "Look at the lamp, then at the sea. " * 400
    story = [user(long), assistant(long), user(long), assistant(long), user("Go on with the lamp.")]
    tools = [{"type": "function", "function": {"name": f"look_{n}", "description": long}} for n in range(4)]
    async with running_rig(tmp_path, window=None) as rig:
        answer = await ask(rig, SYSTEM, *story, session="ses_1", tools=tools)
        assert answer.headers["x-previously-memory"] == "off; reason=no-room"
        assert rig.upstream.requests[0].json["messages"] == [SYSTEM, *story]


FILES = "I have *added these files to the chat* so you can go ahead and edit them.\n\nlamp.py\n```\nBURNS = 3\n```"


@pytest.mark.parametrize("depth", [1, 6, 9, 15])
@pytest.mark.parametrize("note", [("system", "[Style: short sentences.]"), ("user", FILES)], ids=["note", "files"])
async def test_what_stands_between_messages_is_there_at_any_depth(
    note: tuple[str, str], depth: int, shared_rig: Rig
) -> None:
    """An author's note, or files that a client shows with every request: they are no part of the story, and the model
    reads them in their place with every turn."""
    role, text = note
    between = [{"role": role, "content": text}, *([assistant("Ok.")] if role == "user" else [])]
    told = [user(f"Night {depth} at the tower, with {text[:12]}. Who keeps the light?")]
    for number in range(10):
        at = max(0, len(told) - depth)
        listed = [SYSTEM, *told[:at], *between, *told[at:]]
        answer = await ask(shared_rig, *listed, session=f"{role} {depth}")
        assert shared_rig.upstream.requests[-1].json["messages"] == listed
        reply = answer.json()["choices"][0]["message"]["content"]
        told += [assistant(reply), user(f"And what of lamp {number}, on night {depth}?")]
