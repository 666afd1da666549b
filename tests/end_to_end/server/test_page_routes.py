"""The page over HTTP: each caller sees their own stories, behind a key where keys are asked for."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette

from previously.app import Memory
from previously.core.errors import StoreProblem
from previously.runtime.writer import BuiltinWriter
from previously.server import refusals
from previously.server.guard import Guard, GuardRules
from previously.server.logs import NOTED, RequestLog
from previously.server.page import make_page_routes
from previously.settings import Settings
from tests.contract.storage.verbs import VerbStore
from tests.end_to_end.server.asking import Answer, asked
from tests.end_to_end.server.test_callers import KEY, Doors
from tests.end_to_end.server.test_page import Parsed

BOBS = "pk-" + "b" * 43


@pytest.fixture
async def memory(store: VerbStore, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    monkeypatch.setattr(refusals, "LINGER_S", 0.01)
    opened = await Memory.open(":memory:", writer=BuiltinWriter(), settings=Settings(tail_messages=2, fold_messages=4))
    opened._store = store
    yield opened


def paged(memory: Memory, doors: Doors | None = None) -> Guard:
    app = Starlette(routes=list(make_page_routes(memory.sharing, lambda *_: ())))
    return Guard(app, GuardRules.of("127.0.0.1"), (doors or Doors()).callers())


async def told(memory: Memory, owner: str, name: str, messages: int = 8) -> int:
    story = await memory.sharing(owner).story(name)
    for at in range(messages):
        text = f"Wren promised number {at} to Odalys, who has <b>seven</b> piano keys."
        await story.add("user" if at % 2 == 0 else "assistant", text, name="Wren")
    await story.fold()
    return (await story.info()).key.story


def basic(key: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"me:{key}".encode()).decode()}


def text(answer: Answer) -> str:
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert answer.headers["cache-control"] == "no-store"
    return Parsed(answer.body.decode()).text


async def test_the_list_and_a_story(memory: Memory) -> None:
    number = await told(memory, "local", "harbour <script>")
    await (await memory.story("harbour <script>")).view(2_000)
    guard = paged(memory)
    assert "harbour <script>" in text(await asked(guard, path="/"))
    one = text(await asked(guard, path=f"/stories/{number}"))
    for words in ("harbour <script>", "of 2,000 tokens", "recap", "committed", "piano"):
        assert words in one


async def test_nothing_yet(memory: Memory) -> None:
    guard = paged(memory)
    assert "no stories here yet" in text(await asked(guard, path="/"))
    number = await told(memory, "local", "harbour", 0)
    assert "No view is known" in text(await asked(guard, path=f"/stories/{number}"))


@pytest.mark.parametrize("path", ["/stories/999", "/stories/0", "/stories/99999999999999999999999", "/stories/007000"])
async def test_what_is_not_there(memory: Memory, path: str) -> None:
    answer = await asked(paged(memory), path=path)
    assert answer.status == 404
    assert "no such story" in text(answer)


@pytest.mark.parametrize("path", ["/stories/", "/stories/x", "/stories/-1", "/stories/1/2", "/stories/1%20OR%201=1"])
async def test_what_is_no_number(memory: Memory, path: str) -> None:
    assert (await asked(paged(memory), path=path)).status == 404


async def test_each_sees_their_own_and_a_strangers_is_not_there(memory: Memory) -> None:
    anns, bobs = [await told(memory, owner, f"tale of {owner}") for owner in ("ann", "bob")]
    guard = paged(memory, Doors(**{KEY: "ann", BOBS: "bob"}))
    refused = await asked(guard, path="/")
    assert (refused.status, refused.headers["www-authenticate"][:5]) == (401, "Basic")
    assert "tale of" not in refused.body.decode()
    for key, own, theirs, foreign in ((KEY, "ann", "bob", bobs), (BOBS, "bob", "ann", anns)):
        listed = text(await asked(guard, path="/", headers=basic(key)))
        assert f"tale of {own}" in listed
        assert f"tale of {theirs}" not in listed
        missing = await asked(guard, path="/stories/999", headers=basic(key))
        found = await asked(guard, path=f"/stories/{foreign}", headers=basic(key))
        assert (found.status, found.body, found.headers) == (missing.status, missing.body, missing.headers)


async def test_looking_changes_nothing(memory: Memory) -> None:
    number = await told(memory, "local", "harbour")
    story = await memory.story("harbour")
    await story.view(2_000)
    info = await story.info()

    async def all_of_it() -> list[Any]:
        recipes = await VerbStore(memory.store.database).recipes(info.key, "chat", None, 99, last=99)
        return [await memory.stories(), await story.log(), await story.moves(), recipes]

    before = await all_of_it()
    for path in ("/", f"/stories/{number}"):
        assert (await asked(paged(memory), path=path)).status == 200
    assert await all_of_it() == before


async def test_the_last_view_is_the_newest_that_is_known(memory: Memory) -> None:
    await told(memory, "local", "harbour")
    story = await memory.story("harbour")

    async def budget() -> int | None:
        found = await story.last_view()
        return found.budget_tokens if found else None

    assert await budget() is None
    await story.add("user", "And then?")
    await story.view(2_001)
    assert await budget() == 2_001, "asked, not answered yet"
    await story.add("assistant", "Then the ferry left.")
    assert await budget() == 2_001
    await story.view(2_002)
    assert await budget() == 2_002, "to go on with an answer"
    for at in range(4):
        await story.add("user" if at % 2 == 0 else "assistant", f"Without memory {at}.")
    assert await budget() == 2_002, "turns of which none is known are passed over"
    await story.branch("other", at=3)
    await story.switch("other")
    assert await budget() is None, "that was another path"


async def test_a_store_that_is_away_is_said_in_a_sentence(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> Any:
        raise StoreProblem("canary: postgresql://user:password@host")

    monkeypatch.setattr(memory.store, "read", away)
    for path in ("/", "/stories/1"):
        answer = await asked(paged(memory), path=path)
        assert answer.status == 503
        assert "at the moment" in text(answer)
        assert b"canary" not in answer.body


async def test_the_log_knows_the_number_of_the_story(memory: Memory) -> None:
    number = await told(memory, "local", "harbour")
    notes: list[Any] = []

    async def watching(scope: Any, receive: Any, send: Any) -> None:
        await paged(memory)(scope, receive, send)
        notes.append(scope[NOTED].story)

    await asked(RequestLog(watching), path=f"/stories/{number}")
    assert notes == [number]
