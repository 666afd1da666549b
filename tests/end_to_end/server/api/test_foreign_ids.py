"""What is another's and what is not there are the same to whoever asks, on every route."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.end_to_end.server.api.conftest import LINES, Api, open_api
from tests.end_to_end.server.api.routes import Operation, list_operations

TOLD = LINES * 3
THEIRS, NOBODYS = "theirs", "nobodys"
THEIR = {"book": THEIRS, "name": THEIRS, "shared": "their-world"}
"""What is Odalys's, by what routes call it."""


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    """The API as Wren asks it. Odalys has a story, a book, a key and a file there."""
    async with open_api() as opened:
        odalys = opened.memory.sharing("odalys")
        story = await odalys.story(THEIRS)
        for line in TOLD:
            await story.add("user", line)
        await odalys.keep_book(THEIRS, [{"name": "Key", "keys": ["key"], "content": "Of brass."}])
        await odalys.share("their-world", "world")
        await odalys.add_shared("their-world", "The tide is high at noon.")
        key, _ = await opened.memory.add_key(THEIRS, owner="odalys")
        THEIR["key"] = key
        opened.client.headers["Authorization"] = f"Bearer {key}"
        await opened.send("PATCH", f"/stories/{THEIRS}/settings", {"set": ["tail_messages=2", "fold_messages=2"]})
        await (await odalys.story(THEIRS)).fold()
        kind = {"content-type": "application/octet-stream"}
        looked = await opened.client.post("/imports?name=chat.txt", content=b"Odalys: In?", headers=kind)
        THEIR["upload"] = looked.json()["id"]
        await opened.memory.sharing("wren").story("mine")
        key, _ = await opened.memory.add_key("wren", owner="wren")
        opened.client.headers["Authorization"] = f"Bearer {key}"
        yield opened
        opened.client.headers["Authorization"] = f"Bearer {THEIR['key']}"
        await opened.client.delete(f"/imports/{THEIR['upload']}")


async def test_the_place_of_the_stories_is_told_to_nobody_with_a_key(api: Api) -> None:
    assert (await api.get("/server"))["place"] is None


async def ask(api: Api, operation: Operation, **names: str) -> tuple[int, str, Any]:
    """Return status, kind and body of the answer, without the name that was asked for."""
    response = await send(api, operation, **names)
    text = response.text
    for name in names.values():
        text = text.replace(name, "NAME")
    return response.status_code, response.headers["content-type"], text


async def send(api: Api, operation: Operation, **names: str) -> httpx.Response:
    return await api.client.request(**operation.make_request(**names))


def list_with(name: str) -> list[Operation]:
    return [operation for operation in list_operations() if f"{{{name}}}" in operation.path]


async def test_a_story_of_another_is_not_there_on_any_route(api: Api) -> None:
    operations = list_with("story")
    assert len(operations) > 80, "the routes are found"
    for operation in operations:
        answer = await ask(api, operation, story=THEIRS)
        assert answer == await ask(api, operation, story=NOBODYS), operation
        assert answer[:2] == (404, "application/problem+json"), (operation, answer)
    story = await api.memory.sharing("odalys").story(THEIRS, create=False)
    assert [item.entry.message.text for item in await story.messages()] == TOLD, "nothing was changed"


@pytest.mark.parametrize("name", ["book", "name", "upload", "shared"])
async def test_a_book_a_key_and_a_file_of_another_are_not_there(api: Api, name: str) -> None:
    for operation in list_with(name):
        if operation.method == "PUT" and operation.path == "/books/{book}":
            continue  # it makes one's own book of that name
        answer = await ask(api, operation, story="mine", **{name: THEIR[name]})
        assert answer == await ask(api, operation, story="mine", **{name: NOBODYS}), operation
        if "{story}" not in operation.path:
            assert answer[0] in (400, 404), (operation, answer)
    assert THEIRS in [book.name for book in await api.memory.sharing("odalys").books()]
    assert THEIRS in [key.name for key in await api.memory.keys()]
    world = await api.memory.sharing("odalys").shared_memory("their-world")
    assert [fact.text for fact in world.facts] == ["The tide is high at noon."], "nothing was changed"
    api.client.headers["Authorization"] = f"Bearer {THEIR['key']}"
    assert len((await api.send("POST", f"/imports/{THEIR['upload']}"))["stories"]) == 1, "the file waits for her"


async def test_a_version_of_another_is_not_there(api: Api) -> None:
    story = await api.memory.sharing("odalys").story(THEIRS, create=False)
    recap = await story.recap()
    version = str((await story.log())[0].id)
    for operation in list_with("version"):
        answer = await ask(api, operation, story="mine", version=version)
        assert answer == await ask(api, operation, story="mine", version="999"), operation
        assert answer[0] in (400, 404), (operation, answer)
    assert recap == await story.recap(), "nothing was changed"


async def test_no_list_shows_what_is_anothers(api: Api) -> None:
    for operation in list_operations():
        if operation.method != "GET" or "{" in operation.path or operation.path == "/events":
            continue
        response = await send(api, operation)
        assert response.status_code < 500, (operation, response.text)
        for secret in (THEIRS, "their-world", "odalys", *LINES):
            assert secret not in response.text, operation
