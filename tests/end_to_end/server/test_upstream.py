"""What the upstream is sent along with a request, and what is learned of its windows."""

from __future__ import annotations

import pytest

from previously.models.endpoint import parse_endpoint
from previously.server import upstream as module
from previously.server.callers import Caller
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
