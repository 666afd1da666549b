"""What the upstream is sent along with a request, and what is learned of its windows."""

from __future__ import annotations

import asyncio

import pytest

from previously import ScriptedServer
from previously.models.endpoint import parse_endpoint
from previously.server import upstream as module
from previously.server.callers import Caller
from previously.server.transport import IDLE_S, LeanTransport
from previously.server.upstream import Upstream

THEIRS = Caller("local", "sk-theirs")
THEIRS_TOO = Caller("local", "sk-theirs", by_x_api_key=True)
OURS = Caller("ann", None, ours=True)
OURS_TOO = Caller("ann", None, ours=True, by_x_api_key=True)
NOBODY = Caller("local")
ANTHROPIC = {b"anthropic-version": b"2023-06-01"}


@pytest.mark.parametrize(
    ("caller", "given", "key"),
    [
        (THEIRS, {}, (b"authorization", b"Bearer sk-theirs")),
        (THEIRS, ANTHROPIC, (b"authorization", b"Bearer sk-theirs")),
        (THEIRS_TOO, ANTHROPIC, (b"x-api-key", b"sk-theirs")),
        (THEIRS_TOO, {}, (b"x-api-key", b"sk-theirs")),
        (OURS, ANTHROPIC, (b"authorization", b"Bearer sk-operator")),
        (OURS_TOO, ANTHROPIC, (b"x-api-key", b"sk-operator")),
        (NOBODY, {}, (b"authorization", b"Bearer sk-operator")),
        (NOBODY, ANTHROPIC, (b"x-api-key", b"sk-operator")),
    ],
)
async def test_a_key_goes_on_in_the_header_by_which_the_client_gives_keys(
    caller: Caller, given: dict[bytes, bytes], key: tuple[bytes, bytes]
) -> None:
    upstream = Upstream(parse_endpoint("http://127.0.0.1:1/v1"), key="sk-operator")
    ours = {b"x-api-key": b"pk-ours", b"authorization": b"Bearer pk-ours", b"cookie": b"x", **given}
    sent = upstream.build_headers(ours, caller)
    assert sent == dict([key]) | given | {b"accept-encoding": b"identity"}
    await upstream.close()


async def test_what_was_learned_of_a_window_is_believed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("previously.server.upstream.time.monotonic", lambda: now[0])
    upstream = Upstream(parse_endpoint("http://127.0.0.1:1/v1"))
    upstream.learn("small", 4_000)
    assert upstream.limit_window("small", None) == 4_000
    assert upstream.limit_window("small", 8_000) == 4_000
    assert upstream.limit_window("small", 2_000) == 2_000
    assert upstream.limit_window("other", 8_000) == 8_000
    upstream.learn("small", 3)
    assert upstream.limit_window("small", None) == 512, "nothing is taken for less"
    now[0] += module.LEARNED_S
    assert upstream.limit_window("small", 8_000) == 8_000
    for number in range(2 * module.MOST_MODELS):
        upstream.learn(f"model {number}", 1_000)
    assert len(upstream._learned) == module.MOST_MODELS
    await upstream.close()


async def test_a_server_that_tells_nothing_is_asked_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("previously.server.upstream.time.monotonic", lambda: now[0])
    async with ScriptedServer() as server:
        upstream = Upstream(parse_endpoint(server.base_url))
        looks = []
        for minute in range(3 * 60):
            known = len(server.others)
            await upstream.find_facts("small", None)
            await asyncio.gather(*upstream._looking.values())
            looks += [minute] if len(server.others) > known else []
            now[0] += 60
        assert looks == [0, 1, 2, 4, 8, 16, 32, 64, 124], "twice as long each time, up to an hour"
        await upstream.close()


async def test_a_clients_key_goes_to_no_path_that_a_provider_may_not_have() -> None:
    async with ScriptedServer() as server:
        upstream = Upstream(parse_endpoint(server.base_url), key="sk-operator")
        for key, shown_beside in (("sk-theirs", None), (None, "Bearer sk-operator")):
            server.others.clear()
            await upstream.find_facts(f"model of {key}", key)
            keys = {request.path: request.headers.get("authorization") for request in server.others}
            assert keys.pop("/v1/models") == f"Bearer {key or 'sk-operator'}"
            keys.pop("/props", None)  # asked by the proxy itself too, for its slots, never with a key
            assert len(keys) >= 4
            assert set(keys.values()) == {shown_beside}
        await upstream.close()


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("previously.server.transport.time.monotonic", lambda: now[0])
    async with ScriptedServer() as server:
        upstream = Upstream(parse_endpoint(server.base_url))
        used = []
        for pause in (0.0, 1.0, IDLE_S):
            now[0] += pause
            async with upstream.open_response("GET", "models", {}, b"") as response:
                await response.aread()
            transport = upstream._client._transport
            assert isinstance(transport, LeanTransport)
            used.append(transport._idle[0][2])
        assert used[0] is used[1], "it is used again at once"
        assert used[2] is not used[1]
        await upstream.close()
