"""The routes that read: stories, pages of messages, views, search, memory; and what errors look like."""

from __future__ import annotations

import json
import subprocess
import sys
from urllib.parse import quote

import pytest

from tests.end_to_end.server.api.conftest import LINES, Api


async def test_stories_are_listed_a_page_at_a_time_with_their_last_words(api: Api) -> None:
    for name in ("b", "a", "c"):
        await api.tell(name)
    page = await api.get("/stories", limit=2)
    assert [story["story"] for story in page["stories"]] == ["a", "b"]
    assert page["stories"][0]["last"]["text"] == LINES[-1]
    rest = await api.get("/stories", limit=2, cursor=page["next"])
    assert [story["story"] for story in rest["stories"]] == ["c"]
    assert rest["next"] is None


async def test_a_name_may_hold_anything_a_slash_too(api: Api) -> None:
    for name in ("a/b", "ü ?#%2F", "..x"):
        await api.tell(name)
        shown = await api.get(f"/stories/{quote(name, safe='')}/messages")
        assert (shown["story"], shown["total"]) == (name, len(LINES))


async def test_pages_of_messages_lead_to_each_other(api: Api) -> None:
    await api.tell(lines=[f"Line {number}." for number in range(7)])
    newest = await api.get("/stories/ferry/messages", limit=3)
    assert [message["position"] for message in newest["messages"]] == [4, 5, 6]
    before = await api.get("/stories/ferry/messages", limit=3, cursor=newest["previous"])
    assert [message["position"] for message in before["messages"]] == [1, 2, 3]
    assert before["next"] == "4"
    assert (await api.get("/stories/ferry/messages", first=-2))["messages"][0]["text"] == "Line 5."
    await api.memory.story("empty")
    assert (await api.get("/stories/empty/messages"))["messages"] == []


async def test_a_view_says_why_each_part_is_there(api: Api) -> None:
    await api.tell()
    view = await api.get("/stories/ferry/view", budget=2_000)
    assert view["messages"][-1]["content"].endswith(LINES[-1])
    assert all(item["reason"] for item in view["items"])
    story = await api.memory.story("ferry")
    assert (await story.info()).budget_tokens is None, "to look changes nothing"


async def test_messages_are_found_in_one_story_and_in_all(api: Api) -> None:
    await api.tell("one")
    await api.tell("two", ["The brass key again."])
    assert (await api.get("/stories/one/search", q="brass key"))["hits"][0]["position"] == 1
    assert {hit["story"] for hit in (await api.get("/search", q="brass key"))["hits"]} == {"one", "two"}


@pytest.mark.parametrize(
    "noun", "recap backbone brief chapters episodes scenes lore cast threads state wishes pins analyses gaps".split()
)
async def test_memory_is_read_also_where_there_is_none(api: Api, noun: str) -> None:
    await api.tell()
    answer = await api.get(f"/stories/ferry/{noun}")
    assert answer["story"] == "ferry"
    assert answer["text"] is None if noun in ("recap", "backbone", "brief") else answer[noun] == [] or noun == "cast"


async def test_errors_are_problems_in_the_words_of_the_command_line(api: Api) -> None:
    response = await api.client.get("/stories/nowhere")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no story named 'nowhere'; `previously stories` lists those that exist.",
        "code": "unknown_story",
    }
    await api.tell()
    for path, status, code in (
        ("/stories/ferry/view?budget=0", 422, "bad_request"),
        ("/stories/ferry/view?reader=nobody", 400, "bad_input"),
        ("/nothing", 404, "not_found"),
        ("/stories/ferry/messages/99", 400, "bad_input"),
    ):
        response = await api.client.get(path)
        assert (response.status_code, response.json()["code"]) == (status, code), path
        assert response.headers["content-type"] == "application/problem+json"


async def test_what_the_guard_refuses_is_a_problem_too(api: Api) -> None:
    for headers, status, code in (
        ({"host": "evil.example"}, 421, "unknown_host"),
        ({"origin": "https://evil.example"}, 403, "foreign_origin"),
        ({"sec-fetch-site": "cross-site"}, 403, "foreign_origin"),
    ):
        response = await api.client.get("/stories", headers=headers)
        assert (response.status_code, response.json()["code"]) == (status, code)
        assert response.headers["content-type"] == "application/problem+json"


async def test_the_description_names_every_route(api: Api) -> None:
    described = await api.get("/openapi.json")
    assert "/stories/{story}/messages" in described["paths"]
    assert described["servers"] == [{"url": "/api/v1"}]


PROXY = """
import asyncio, json, sys
from tests.end_to_end.server.api.conftest import open_api

async def main():
    async with open_api() as api:
        loaded = []
        for path in sys.argv[1:]:
            body = {"model": "small", "messages": [{"role": "user", "content": "Is the ferry in?"}]}
            method, sent = ("POST", {"json": body}) if "chat" in path else ("GET", {})
            status = (await api.client.request(method, "http://127.0.0.1" + path, **sent)).status_code
            others = [task for task in asyncio.all_tasks() if "_Api" in repr(task.get_coro())]
            if others:
                await asyncio.wait(others)
            loaded.append([status, [name for name in ("fastapi", "pydantic") if name in sys.modules]])
        print(json.dumps(loaded))

asyncio.run(main())
"""


@pytest.mark.parametrize("path", ["/api/v1/stories", "/"])
def test_a_proxy_that_only_passes_chats_on_loads_no_fastapi(path: str) -> None:
    paths = ["/v1/chat/completions", "/healthz", "/page/app.js", path]
    done = subprocess.run([sys.executable, "-c", PROXY, *paths], capture_output=True, check=True, text=True)
    chat, health, file, api = json.loads(done.stdout.splitlines()[-1])
    assert chat == [502, []], "a chat goes to the upstream, which is away here"
    assert (health, file) == ([200, []], [200, []])
    assert api == [200, ["fastapi", "pydantic"]], "whoever opens the page does not wait for it at the first question"


async def test_texts_whose_messages_have_changed_are_listed_by_themselves(api: Api) -> None:
    await api.tell(lines=[f"Line {number}." for number in range(20)])
    assert (await api.get("/stories/ferry/outdated")) == {"story": "ferry", "stale": [], "flagged": []}
    story = await api.memory.story("ferry")
    await story.write("recap", "The key was lost.")
    await story.edit(1, "Nobody had a key.")
    outdated = await api.get("/stories/ferry/outdated")
    memory = await api.get("/stories/ferry/memory")
    assert outdated["flagged"] == memory["flagged"] == ["recap"]
    assert outdated["stale"] == memory["stale"]


async def test_a_story_that_continues_another_says_what_it_begins_with_and_is_not_found_twice(api: Api) -> None:
    await api.tell()
    assert (await api.get("/stories/ferry/earlier")) == {"story": "ferry", "continues": None, "text": None}
    await api.send("POST", "/stories/ferry/continue", {"story": "winter"}, 201)
    earlier = await api.get("/stories/winter/earlier")
    assert earlier["continues"] == {"story": "ferry", "messages": len(LINES)}
    assert "brass key" in earlier["text"]
    assert (await api.get("/stories/winter/memory"))["continues"] == earlier["continues"]
    assert (await api.get("/stories/winter/search", q="brass key"))["hits"][0]["from_story"] == "ferry"
    hits = (await api.get("/search", q="brass key"))["hits"]
    assert [(hit["story"], hit["position"]) for hit in hits if hit["text"] == LINES[1]] == [("ferry", 1)]
    assert not any("from_story" in hit for hit in hits)
