"""Signing in and out, and who may ask: keys, cookies, hosts and origins."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest_asyncio

from previously.server.sessions import COOKIE, TRIES_PER_MINUTE
from tests.end_to_end.server.api.conftest import Api, open_api
from tests.end_to_end.server.api.routes import list_operations

OURS = {"Origin": "http://127.0.0.1"}


@pytest_asyncio.fixture
async def locked() -> AsyncIterator[tuple[Api, str]]:
    """An API that asks for a key, and the key."""
    async with open_api() as api:
        await api.memory.sharing("wren").story("ferry")
        key, _ = await api.memory.add_key("wren", owner="wren")
        yield api, key


async def sign_in(api: Api, key: str) -> httpx.Response:
    return await api.client.post("/session", json={"key": key}, headers=OURS)


async def test_nothing_but_the_session_answers_who_has_no_key(locked: tuple[Api, str]) -> None:
    api, _ = locked
    for operation in list_operations():
        if operation.path != "/session":
            response = await api.client.request(**operation.make_request(story="ferry"))
            assert (response.status_code, response.json()["code"]) == (401, "invalid_api_key"), operation
            assert response.headers["content-type"] == "application/problem+json"
    assert await api.get("/session") == {"signed_in": False, "owner": None, "keys_required": True}


async def test_a_key_opens_a_session_in_a_cookie_that_no_script_reads(locked: tuple[Api, str]) -> None:
    api, key = locked
    response = await sign_in(api, key)
    assert (response.status_code, response.json()) == (200, {"owner": "wren"})
    cookie = response.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=") and key not in cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert (await api.get("/session"))["owner"] == "wren"
    assert [story["story"] for story in (await api.get("/stories"))["stories"]] == ["ferry"]


async def test_a_cookie_changes_things_only_for_our_own_page(locked: tuple[Api, str]) -> None:
    api, key = locked
    await sign_in(api, key)
    for headers in ({}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:9"}, {"Origin": "null"}):
        refused = await api.client.post("/stories", json={"story": "boat"}, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "foreign_origin"), headers
    for number, headers in enumerate((OURS, {"Sec-Fetch-Site": "same-origin"})):
        done = await api.client.post("/stories", json={"story": f"boat {number}"}, headers=headers)
        assert done.status_code == 201, done.text


async def test_signing_out_ends_the_session_also_for_a_copy_of_its_cookie(locked: tuple[Api, str]) -> None:
    api, key = locked
    await sign_in(api, key)
    copy = api.client.cookies[COOKIE]
    assert (await api.client.delete("/session", headers=OURS)).status_code == 204
    assert (await api.client.get("/stories")).status_code == 401
    assert (await api.client.get("/stories", headers={"Cookie": f"{COOKIE}={copy}"})).status_code == 401


async def test_a_wrong_key_is_refused_and_too_many_are_stopped(locked: tuple[Api, str]) -> None:
    api, key = locked
    for _ in range(TRIES_PER_MINUTE):
        wrong = await sign_in(api, "pk-wrong")
        assert (wrong.status_code, wrong.headers["content-type"]) == (401, "application/problem+json")
        assert "set-cookie" not in wrong.headers
    stopped = await sign_in(api, key)
    assert (stopped.status_code, stopped.json()["code"]) == (429, "rate_limit_exceeded")
    assert int(stopped.headers["retry-after"]) > 0
    assert (await api.client.get("/stories", headers={"Authorization": f"Bearer {key}"})).status_code == 200


async def test_every_route_refuses_other_hosts_and_origins(api: Api) -> None:
    await api.tell()
    for headers, status in (
        ({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403),
    ):  # fmt: skip
        for operation in list_operations():
            response = await api.client.request(
                operation.method, operation.fill_path(story="ferry"), json=operation.make_body(), headers=headers
            )
            assert response.status_code == status, (operation, headers)
            assert "access-control-allow-origin" not in response.headers
    assert (await api.get("/stories/ferry"))["messages"] == 4, "nothing was changed"
