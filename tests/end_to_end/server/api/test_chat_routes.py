"""Writing on over HTTP: replies as they come, stopped, again, longer; one at a time; and games."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from previously import Memory, ScriptedAnswer, ScriptedServer
from previously.models.endpoint import parse_endpoint
from previously.play.table import PlayTable
from previously.server.app import ServerOptions, make_app
from previously.server.process import make_server
from previously.server.reply_desk import ReplyRun
from previously.testing import Plan


@asynccontextmanager
async def serve(plan: Plan | None = None) -> AsyncIterator[tuple[httpx.AsyncClient, Memory, ScriptedServer]]:
    """A real server over a scripted upstream."""
    async with ScriptedServer(plan, strict=True) as upstream:
        memory = await Memory.open(":memory:")
        options = ServerOptions(parse_endpoint(upstream.base_url), idle_s=0.0)
        server = make_server(make_app(memory, options, games=lambda: PlayTable(scripted=True)), "127.0.0.1", 0)
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1", trust_env=False, timeout=60) as client:
            try:
                yield client, memory, upstream
            finally:
                server.should_exit = True
                await serving


async def read_events(response: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in response.aiter_lines():
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            yield name, json.loads(line[5:])


async def write(client: httpx.AsyncClient, story: str, body: dict[str, Any], **headers: str) -> list[tuple[str, Any]]:
    async with client.stream("POST", f"/stories/{story}/chat", json=body, headers=headers) as response:
        if response.status_code != 200:
            await response.aread()
            return [("refused", response.json())]
        assert response.headers["content-type"].startswith("text/event-stream")
        return [event async for event in read_events(response)]


def join(events: list[tuple[str, Any]]) -> str:
    return "".join(data["text"] for name, data in events if name == "delta")


async def test_a_reply_comes_word_by_word_and_is_kept() -> None:
    async with serve(["It is late.", "It is in.", "Come aboard."]) as (client, memory, upstream):
        await client.post("/stories", json={"story": "ferry"})
        setup = {"name": "Odalys", "temperature": 0.5, "note_depth": 2}
        changed = await client.patch("/stories/ferry/chat/setup", json={"setup": setup})
        assert {key: changed.json()["setup"][key] for key in setup} == setup
        events = await write(client, "ferry", {"text": "Is the ferry in?", "direction": "Short."})
        assert join(events) == "It is late."
        assert len(events) > 2
        name, done = events[-1]
        assert name == "done"
        assert (done["finish"], done["messages"], done["message"]["text"]) == ("stop", 2, "It is late.")
        assert (done["message"]["position"], done["message"]["speaker"]) == (1, "Odalys")
        again = (await write(client, "ferry", {"way": "again"}, **{"If-Match": f'"{done["head"]}"'}))[-1][1]
        assert again["message"]["text"] == "It is in."
        assert [swipe.message.text for swipe in await (await memory.story("ferry")).swipes()] == [
            "It is late.",
            "It is in.",
        ]
        longer = (await write(client, "ferry", {"way": "longer"}))[-1][1]
        assert longer["message"]["text"] == "It is in. Come aboard."
        saw = await client.get("/stories/ferry/messages/1/saw")
        assert saw.status_code == 200, saw.text
        shown = await client.get("/stories/ferry/chat")
        assert (shown.json()["running"], shown.json()["model"]) == (False, "scripted")
        assert upstream.faults == []


async def test_a_reply_is_stopped_and_another_tab_waits_its_turn() -> None:
    hold = asyncio.Event()
    async with serve(ScriptedAnswer(text=["It is ", "late ", "today."], hold={2: hold})) as (client, memory, _):
        await client.post("/stories", json={"story": "ferry"})
        async with client.stream("POST", "/stories/ferry/chat", json={"text": "In?"}) as response:
            events = read_events(response)
            said = ""
            while "late" not in said:
                said += (await anext(events))[1]["text"]
            refused = (await write(client, "ferry", {"text": "And me?"}))[0][1]
            assert (refused["status"], refused["code"]) == (409, "busy")
            assert "already" in refused["detail"]
            assert (await client.get("/stories/ferry/chat")).json()["running"]
            stopped = await client.delete("/stories/ferry/chat")
            assert stopped.json() == {"story": "ferry", "stopped": True}
            rest = [event async for event in events]
        assert rest[-1][1]["finish"] == "stopped"
        assert [item.entry.message.text for item in await (await memory.story("ferry")).messages()] == [
            "In?",
            "It is late",
        ]
        assert (await client.delete("/stories/ferry/chat")).json()["stopped"] is False
        hold.set()


async def test_a_reply_goes_on_without_its_browser_and_is_heard_again_from_its_beginning() -> None:
    hold = asyncio.Event()
    async with serve(ScriptedAnswer(text=["It is ", "late."], hold={1: hold})) as (client, _, _upstream):
        await client.post("/stories", json={"story": "ferry"})
        async with client.stream("POST", "/stories/ferry/chat", json={"text": "In?"}) as response:
            await anext(read_events(response))  # and away
        async with client.stream("GET", "/stories/ferry/chat/events") as response:
            hold.set()
            events = [event async for event in read_events(response)]
        assert join(events) == "It is late."
        assert events[-1][1]["finish"] == "stop"
        nothing = await client.get("/stories/ferry/chat/events")
        assert (nothing.status_code, nothing.json()["code"]) == (404, "not_found")


async def test_the_same_key_writes_once() -> None:
    async with serve(["Late.", "Other."]) as (client, memory, upstream):
        await client.post("/stories", json={"story": "ferry"})
        body, key = {"text": "In?"}, {"Idempotency-Key": "abc"}
        first, second = await write(client, "ferry", body, **key), await write(client, "ferry", body, **key)
        assert first == second
        assert len(upstream.requests) == 1
        assert len(await (await memory.story("ferry")).messages()) == 2


@pytest.mark.parametrize(
    ("body", "headers", "status", "sentence"),
    [
        ({"way": "longer"}, {}, None, "newest message is none"),
        ({"text": "x", "colour": "red"}, {}, 422, "colour"),
        ({"way": "sideways"}, {}, 422, "way"),
        ({"text": "x"}, {"If-Match": '"7"'}, None, "moved on"),
        ({"text": "x"}, {"If-Match": "seven"}, 400, "head of a branch"),
    ],
)
async def test_bad_input_is_one_sentence(
    body: dict[str, Any], headers: dict[str, str], status: int | None, sentence: str
) -> None:
    async with serve() as (client, memory, upstream):
        await (await memory.story("ferry")).add("user", "Hello.")
        ((name, problem),) = await write(client, "ferry", body, **headers)
        assert name == ("refused" if status else "error")
        assert problem["status"] in (status, 400, 412, 422)
        assert sentence in problem["detail"]
        assert upstream.requests == []
        assert len(await (await memory.story("ferry")).messages()) == 1


async def test_a_failure_is_told_and_what_was_said_is_kept() -> None:
    async with serve([ScriptedAnswer(status=500, body={"error": {"message": "no room"}}), "Here."]) as (client, _, _u):
        await client.post("/stories", json={"story": "ferry"})
        done = (await write(client, "ferry", {"text": "In?"}))[-1][1]
        assert (done["finish"], done["messages"], done["message"]) == ("failed", 1, None)
        assert "no room" in done["failure"]
        assert join(await write(client, "ferry", {"way": "again"})) == "Here."


async def test_folds_run_after_a_reply() -> None:
    async with serve() as (client, memory, upstream):
        story = await memory.story("ferry")
        await story.set(["fold_messages=6", "tail_messages=2"])
        for number in range(12):
            await story.add("user", f"Crossing {number} was calm.")
        await write(client, "ferry", {"text": "And the last?"})
        async with asyncio.timeout(60):
            while not await story.log():  # noqa: ASYNC110 - a fold in the background tells nobody
                await asyncio.sleep(0.05)
        assert len(upstream.requests) > 1


async def test_a_game_is_played_with_its_cast_beside_it() -> None:
    async with serve() as (client, _, _upstream):
        games = (await client.get("/games")).json()["games"]
        game = games[0]["game"]
        assert games[0]["slots"] == []
        assert (await client.get(f"/games/{game}/main")).status_code == 404
        opened = (await client.post(f"/games/{game}/main", json={})).json()
        assert (opened["turn"], opened["slot"]) == (0, "main")
        assert {person["name"] for person in opened["cast"]} <= set(games[0]["characters"])
        events = []
        async with client.stream("POST", f"/games/{game}/main/turn", json={"text": "I look around."}) as response:
            events = [event async for event in read_events(response)]
        names = [name for name, _ in events]
        assert "said" in names
        assert names[-1] == "done"
        done = events[-1][1]
        assert done["turn"] == 1
        assert any(person["knows"] for person in done["cast"])
        assert (await client.get(f"/games/{game}/main")).json()["turn"] == 1
        undone = (await client.post(f"/games/{game}/main/undo", json={})).json()
        assert (undone["undone"], undone["turn"]) == (1, 0)
        missing = await client.post("/games/nowhere/main", json={})
        assert (missing.status_code, "no game" in missing.json()["detail"]) == (400, True)
        empty = []
        async with client.stream("POST", f"/games/{game}/main/turn", json={"text": " "}) as response:
            empty = [event async for event in read_events(response)]
        assert empty == [("error", {"status": 400, "code": "bad_input", "detail": "Say what you do."})]


async def test_stories_of_others_are_not_there() -> None:
    async with serve() as (client, memory, _):
        await memory.sharing("other").story("theirs")
        for method, path in (("GET", "chat"), ("DELETE", "chat"), ("GET", "chat/events")):
            answer = await client.request(method, f"/stories/theirs/{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "unknown_story")
        assert (await write(client, "theirs", {"text": "x"}))[0][1]["code"] == "unknown_story"


async def test_the_tree_is_told() -> None:
    async with serve() as (client, memory, _):
        story = await memory.story("ferry")
        await story.add("user", "In?")
        await story.add("assistant", "No.")
        await story.regenerate("Yes.")
        tree = (await client.get("/stories/ferry/tree")).json()
        assert (tree["active"], [way["text"] for way in tree["ways"]]) == ("main", ["In?", "No.", "Yes."])
        assert tree["ways"][2]["branches"] == ["main"]


async def test_a_new_story_goes_on_from_here() -> None:
    async with serve("Nothing to tell.") as (client, memory, _):
        await (await memory.story("ferry")).add("user", "Odalys hid the ledger under the stair.")
        begun = await client.post("/stories/ferry/continue", json={"story": "winter"})
        assert (begun.status_code, begun.json()) == (201, {"story": "winter", "continues": "ferry", "messages": 1})
        view = await (await memory.story("winter")).view(1_000)
        assert "ledger" in view.messages[0].text
        again = await client.post("/stories/ferry/continue", json={"story": "winter"})
        assert (again.status_code, again.json()["code"]) == (400, "bad_input")


async def test_of_what_is_said_in_a_game_the_newest_words_are_kept() -> None:
    run = ReplyRun("")
    heard = run.stream()
    run.tell("words", {"speaker": "Bram", "text": "I"})
    assert b'"I"' in await anext(heard)
    for text in ("I heard", "I heard it."):
        run.tell("words", {"speaker": "Bram", "text": text})
    run.tell("words", {"speaker": "Wren", "text": "So"})
    run.tell("done", {})
    assert len(run._events) == 3
    rest = [event async for event in heard]
    assert [b"I heard it." in rest[0], b"Wren" in rest[1], rest[2][:11]] == [True, True, b"event: done"]
    assert len([event async for event in run.stream()]) == 3, "who comes late hears the same"
