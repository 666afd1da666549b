"""Requests as clients send them, odd ones too, through the whole application: what goes upstream, what is stored."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.types import ASGIApp

from previously import Memory, ScriptedServer
from previously.core.exact_names import check_new_name, make_story_key, make_user_key, make_walled_name
from previously.models.endpoint import parse_endpoint
from previously.recognition.choose_story import choose_lookup_keys
from previously.recognition.client_list import parse_client_list
from previously.runtime.clock import time_at
from previously.server.app import ServerOptions, make_app
from tests.unit.recognition.lists import drafts


class Rig:
    """A proxy in this process before a scripted upstream."""

    def __init__(self, client: httpx.AsyncClient, upstream: ScriptedServer, memory: Memory) -> None:
        self.client, self.upstream, self.memory = client, upstream, memory

    async def ask(self, *said: str, headers: dict[str, str | bytes] | None = None, **body: Any) -> httpx.Response:
        roles = {"s": "system", "u": "user", "a": "assistant"}
        messages = [{"role": roles[line[0]], "content": line[2:]} for line in said]
        sent = {"model": "m", "messages": messages, **body}
        return await self.client.post(
            "/v1/chat/completions",
            content=json.dumps(sent).encode(),
            headers=[(b"content-type", b"application/json"), *_as_bytes(headers or {})],
        )

    async def stories(self) -> dict[str, list[str]]:
        found = {}
        for info in await self.memory.stories():
            story = await self.memory.story(info.name)
            found[info.name] = [item.entry.message.text for item in await story.messages()]
        return found

    def last_sent(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.upstream.requests[-1].json["messages"]
        return found


def _as_bytes(headers: dict[str, str | bytes]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value if isinstance(value, bytes) else value.encode()) for name, value in headers.items()]


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with ScriptedServer() as upstream:
        memory = await Memory.open(":memory:")
        serving = ServerOptions(
            parse_endpoint(upstream.base_url), window_tokens=2_048, upstream_key="sk-operator", memory="builtin"
        )
        app = make_app(memory, serving)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642")
        async with running(app), client:
            yield Rig(client, upstream, memory)


@asynccontextmanager
async def running(app: ASGIApp) -> AsyncIterator[None]:
    """The application between its beginning and its end."""
    to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    from_app: asyncio.Queue[Any] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
    life: asyncio.Task[None] = asyncio.ensure_future(app(scope, to_app.get, from_app.put))
    await to_app.put({"type": "lifespan.startup"})
    assert (await from_app.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        await life


@pytest.mark.parametrize("path", ["%2e%2e/%2e%2e/slots", "a/%2e%2e/b", "x%0d%0ay", "a//b", "%2e"])
async def test_no_path_of_the_upstream_is_reached_but_those_of_models(rig: Rig, path: str) -> None:
    answer = await rig.client.get(f"/v1/models/{path}")
    assert answer.status_code == 404
    assert not rig.upstream.requests and not rig.upstream.others


async def test_what_there_is_not_is_said_in_the_shape_of_the_interface(rig: Rig) -> None:
    for method, path, status in (("GET", "/v1/nothing", 404), ("DELETE", "/metrics", 405)):
        answer = await rig.client.request(method, path)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]


E_ACUTE, E_AND_ACUTE = "\u00e9", "e\u0301"
NEVER_MEET: list[tuple[Any, Any]] = [
    ("eve", "eve\u200b"),
    ("eve", "\u2060eve"),
    ("eve", "eve "),
    ("eve", " eve"),
    ("a b", "a  b"),
    ("a b", "a\u00a0b"),
    ("a b", "a\tb"),
    ("a b", "a\nb"),
    ("eve", "Eve"),
    (E_ACUTE, E_AND_ACUTE),
    ("eve", "\u0435ve"),
    ("\ufb01n", "fin"),
    ("a\x00", "a\ufffd"),
    ("a\x00", "a\x01"),
    ("a\ud800", "a\udfff"),
    (" ", "  "),
    ("u" * 200 + "1", "u" * 200 + "2"),
    ("u" * 300, make_story_key("u" * 300)[:-1]),
]
"""Names that look alike, or that some program takes for the same."""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        *(({"user": first}, {"user": second}) for first, second in NEVER_MEET),
        *(({"metadata": {"story": first}}, {"metadata": {"story": second}}) for first, second in NEVER_MEET),
        *(({"user": first, "story": "x"}, {"user": second, "story": "x"}) for first, second in NEVER_MEET),
        *(
            (
                {"user": "u", "story": quote(first, errors="surrogatepass")},
                {"user": "u", "story": quote(second, errors="surrogatepass")},
            )
            for first, second in NEVER_MEET
        ),
        ({"user": 1}, {"user": 2}),
        ({"user": 5}, {"user": "5"}),
        ({"user": 1}, {"user": True}),
        ({"user": 1}, {"user": 1.5}),
        ({"user": False}, {"user": "False"}),
        ({"user": "True"}, {"user": True}),
        ({"user": ["a"]}, {"user": ["b"]}),
        ({"user": ["a"]}, {}),
        ({"user": " "}, {}),
        ({"user": "null"}, {"user": None}),
        ({"user": make_user_key(5)}, {"user": 5}),
        ({"user": "u" * 300}, {"user": make_user_key("u" * 300)}),
        ({"user": "alice", "story": "x"}, {"user": json.dumps(["alice", make_walled_name("alice", "x")])}),
        ({"user": "alice", "story": "x"}, {"story": "alice/x"}),
        ({"user": "a/b", "story": "c"}, {"user": "a", "story": "b/c"}),
        ({"story": "s" * 300 + "1"}, {"story": "s" * 300 + "2"}),
        ({"user": "alice", "story": "x"}, {"user": "bob", "story": "x"}),
        ({"story": "%FF"}, {"story": "%FE"}),
        ({"story": "%FF"}, {"story": "%C3%BF"}),
        ({"chat_meta": {"group": "a b", "uid": "c"}}, {"chat_meta": {"group": "a", "uid": "b c"}}),
        ({"chat_meta": {"uid": "7"}}, {"chat_meta": {"uid": 7}}),
        ({"chat_meta": {"uid": "7"}}, {"chat_meta": {"uid": "7", "group": "chat"}}),
    ],
    ids=lambda named: ascii(named)[:40],
)
async def test_people_and_names_are_told_apart(rig: Rig, one: dict[str, Any], two: dict[str, Any]) -> None:
    said = ["a Welcome to the archive, traveller.", "u I have come for the old harbour maps."]
    for named, more in ((one, ["a Which?", "u The secret of the first is a brass key."]), (two, [])):
        headers = {"x-previously-story": named["story"]} if "story" in named else {}
        body = {name: value for name, value in named.items() if name != "story"}
        answer = await rig.ask(*said, *more, headers=headers, **body)
        assert answer.status_code == 200
    assert "brass" not in json.dumps(rig.last_sent())
    assert len(await rig.stories()) == 2


@pytest.mark.parametrize("nobody", [{"user": ""}, {"user": None}, {}])
async def test_who_says_no_name_is_nobody(rig: Rig, nobody: dict[str, Any]) -> None:
    await rig.ask("a Welcome to the archive, traveller.", "u A brass key.")
    await rig.ask("a Welcome to the archive, traveller.", "u A brass key.", "a Ok.", "u Where?", **nobody)
    assert len(await rig.stories()) == 1


async def test_plain_names_are_the_names_of_their_stories(rig: Rig) -> None:
    """So were they before names were compared exactly: whoever has such stories keeps them."""
    await rig.ask("u Good evening.", headers={"x-previously-story": "The lamp"})
    await rig.ask("u Good morning.", headers={"x-previously-story": "The lamp"}, user="alice")
    await rig.ask("u Good night.", chat_meta={"uid": "2026-11-15-20:33-7", "group": "Ines, Tom"})
    assert set(await rig.stories()) == {"The lamp", "alice/The lamp f9ef5732", "Ines, Tom 2026-11-15-20:33-7"}


async def test_nobody_can_take_the_name_of_a_users_story_first(rig: Rig) -> None:
    taken = await rig.ask("u Mine now.", headers={"x-previously-story": make_walled_name("alice", "x")})
    assert taken.status_code == 400
    answer = await rig.ask("u The secret is a brass key.", headers={"x-previously-story": "x"}, user="alice")
    assert answer.status_code == 200


async def test_a_story_made_just_before_the_power_went_is_still_its_users(rig: Rig) -> None:
    await rig.memory.story(make_walled_name("alice", "x"))  # and whose it is was not written down any more
    answer = await rig.ask("u The secret is a brass key.", headers={"x-previously-story": "x"}, user="alice")
    assert answer.status_code == 200
    assert "a brass key." in str(await rig.stories())


async def test_a_story_of_another_user_is_not_given_out_by_its_name(rig: Rig) -> None:
    await rig.ask("u The secret is a brass key.", headers={"x-previously-story": "x"}, user="alice")
    [name] = await rig.stories()
    answer = await rig.ask("u What is the secret?", headers={"x-previously-story": name})
    assert answer.status_code == 400
    assert "another user" in answer.json()["error"]["message"]


async def test_a_name_that_was_told_in_an_answer_is_taken_back(rig: Rig) -> None:
    first = await rig.ask("u Good evening.", headers={"x-previously-story": "Café of the trunk".encode()})
    await rig.ask("u And now?", headers={"x-previously-story": first.headers["x-previously-story"]})
    assert list(await rig.stories()) == ["Café of the trunk"]


async def test_half_a_character_goes_on_as_it_came(rig: Rig) -> None:
    answer = await rig.ask("u a \ud800 b")
    assert answer.status_code == 200
    assert rig.last_sent()[-1]["content"] == "a \ud800 b"
    assert [texts[0] for texts in (await rig.stories()).values()] == ["a \ufffd b"]


async def test_headers_of_any_bytes_are_passed_on(rig: Rig) -> None:
    answer = await rig.client.post(
        "/v1/chat/completions",
        content=b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}',
        headers=[(b"content-type", b"application/json"), (b"x-title", "Café ☃".encode()), (b"accept", b"\xff")],
    )
    assert answer.status_code == 200


async def test_a_body_may_begin_with_a_byte_order_mark(rig: Rig) -> None:
    body = b'\xef\xbb\xbf{"model":"m","messages":[{"role":"user","content":"Hello"}]}'
    answer = await rig.client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200


async def test_what_leaves_no_room_for_memory_is_cut_and_said(rig: Rig) -> None:
    history = [f"{'ua'[at % 2]} Message {at} " + "word " * 60 for at in range(41)]
    answer = await rig.ask("s " + "prompt " * 1_500, *history)
    assert answer.headers["x-previously-memory"] == "off; reason=no-room"
    assert len(rig.last_sent()) < 10
    assert rig.last_sent()[-1]["content"] == history[-1][2:]
    for _ in range(200):  # the answer of a turn without memory is kept beside it, perhaps after its last byte
        kept = len(next(iter((await rig.stories()).values())))
        if kept == 42:
            break
        await asyncio.sleep(0.05)
    assert kept == 42, "all of it is kept"


@pytest.mark.parametrize("last", ["u //help", "u !!help", "u Wren: //help"])
@pytest.mark.parametrize("behind", [(), ("s [Stay in character.]",)])
async def test_commands_are_answered_wherever_clients_put_what_steers_the_model(
    rig: Rig, last: str, behind: tuple[str, ...]
) -> None:
    await rig.ask("s You are Odalys.", "a Late.", "u Yes, and wet.")
    asked = len(rig.upstream.requests)
    answer = await rig.ask("s You are Odalys.", "a Late.", "u Yes, and wet.", "a Sit.", last, *behind)
    words = answer.json()["choices"][0]["message"]["content"]
    assert words.startswith("[Previously]")
    assert ("`!!recap`" in words, "`//recap`" in words) == ("!!" in last, "!!" not in last)
    assert len(rig.upstream.requests) == asked


async def test_a_mistyped_command_is_answered_and_prose_goes_to_the_model(rig: Rig) -> None:
    history = ["s You are Odalys.", "a Late.", "u Yes, and wet.", "a Sit."]
    await rig.ask(*history[:-1])
    asked = len(rig.upstream.requests)
    words = (await rig.ask(*history, "u !!recpa")).json()["choices"][0]["message"]["content"]
    assert words == (
        "[Previously] There is no command `!!recpa`; did you mean `!!recap`? `!!help` lists all of them. "
        "If it belongs to the story, put a space behind !!."
    )
    assert len(rig.upstream.requests) == asked
    await rig.ask(*history, "u !!recpa", f"a {words}", "u !!stay with me")
    assert len(rig.upstream.requests) == asked + 1
    [texts] = (await rig.stories()).values()
    assert "!!stay with me" in texts
    assert "!!recpa" not in texts


async def test_why_names_parts_as_newcomers_do(rig: Rig) -> None:
    await rig.ask("s You are Odalys.", "a Late.", "u Yes, and wet.")
    words = (await rig.ask("s You are Odalys.", "a Late.", "u Yes, and wet.", "a Sit.", "u //why")).json()
    told = words["choices"][0]["message"]["content"]
    assert "- what your chat program adds (system prompt, card, notes): " in told
    assert "- newest messages: " in told
    assert "furniture" not in told


async def test_a_user_may_ask_for_a_summary_in_their_own_words(rig: Rig) -> None:
    await rig.ask("a Late.", "u Summarize the story so far, captain, said Wren.")
    assert [texts[1] for texts in (await rig.stories()).values()] == ["Summarize the story so far, captain, said Wren."]


@pytest.mark.parametrize("kind", ["continue", "turn"])
async def test_an_answer_is_never_joined_to_what_the_user_said(rig: Rig, kind: str) -> None:
    await rig.ask("a Late.", "u Yes, and wet to the bone.", headers={"x-previously-kind": kind})
    [texts] = (await rig.stories()).values()
    assert (len(texts), texts[1]) == (3, "Yes, and wet to the bone.")


async def test_a_nudge_without_a_history_makes_no_story(rig: Rig) -> None:
    assert (await rig.ask("u [Continue your last message without repeating its original content.]")).status_code == 200
    assert await rig.stories() == {}


def test_looking_for_a_story_takes_no_longer_for_many_paragraphs() -> None:
    """Measured as a ratio: a hundred times the paragraphs must not take ten thousand times the work."""

    def work(paragraphs: int) -> float:
        heard = parse_client_list(
            drafts("a Hello.", "u " + "\n\n".join(f"Paragraph {at} of many." for at in range(paragraphs)))
        )
        begun = time.process_time()
        for _ in range(5):
            choose_lookup_keys(heard)
        return time.process_time() - begun

    work(20)
    assert work(2_000) < 1_000 * max(work(20), 0.001)


@pytest.mark.parametrize("name", [".", "..", "two%0Alines"])
async def test_a_name_that_is_another_place_is_no_name_of_a_story(rig: Rig, name: str) -> None:
    """No address and no file could be called so; the chat is one story all the same, from turn to turn."""
    for text in ("u Good evening.", "u Good evening. a Evening. u Is the ferry in?"):
        assert (await rig.ask(text, headers={"x-previously-story": name})).status_code == 200
    (called,) = await rig.stories()
    check_new_name("A story", called)


async def test_a_story_that_has_such_a_name_already_goes_on(rig: Rig) -> None:
    await rig.memory._store.create_story(rig.memory._owner, "..", at=time_at())
    await rig.ask("u Good evening.", headers={"x-previously-story": ".."})
    assert list(await rig.stories()) == [".."]
