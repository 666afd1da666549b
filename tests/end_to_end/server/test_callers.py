"""Who is asking: one way to give a key, looked up whole, gone within seconds, never said again."""

from __future__ import annotations

import asyncio
import base64

import pytest

from previously.core.errors import StoreProblem
from previously.server import callers as callers_module
from previously.server.callers import FRESH_S, GRACE_S, MOST_KNOWN, Caller, Callers, find_key
from previously.server.refusals import Header, Refusal
from previously.storage.tables.keys import hash_key

KEY = "pk-" + "k" * 43


class Doors:
    """A store of keys, and a clock."""

    def __init__(self, **keys: str) -> None:
        self.keys = {hash_key(key): owner for key, owner in keys.items()}
        self.now = 1_000.0
        self.asked = 0
        self.down = False
        self.slow = False
        self.has_any = bool(keys)

    async def owner_of(self, hashed: bytes) -> str | None:
        self.asked += 1
        await self._answering()
        return self.keys.get(hashed)

    async def any_keys(self) -> bool:
        self.asked += 1
        await self._answering()
        return self.has_any

    async def _answering(self) -> None:
        if self.down:
            raise StoreProblem("away")
        if self.slow:
            await asyncio.Event().wait()

    def callers(self, *, required: bool = False) -> Callers:
        return Callers(self.owner_of, self.any_keys, required=required, clock=lambda: self.now)


def bearer(key: str) -> list[Header]:
    return [(b"authorization", f"Bearer {key}".encode("latin-1"))]


def basic(user: str, key: str) -> list[Header]:
    return [(b"authorization", b"Basic " + base64.b64encode(f"{user}:{key}".encode()))]


async def refused(callers: Callers, headers: list[Header]) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        await callers.caller(headers)
    return refusal.value


async def test_without_keys_everybody_here_is_local_and_their_key_goes_on() -> None:
    callers = Doors().callers()
    assert await callers.caller([]) == Caller("local")
    assert await callers.caller(bearer("sk-upstream")) == Caller("local", "sk-upstream")


async def test_with_keys_only_theirs_open_and_none_goes_on() -> None:
    callers = Doors(**{KEY: "ann"}).callers()
    caller = await callers.caller(bearer(KEY))
    assert (caller.owner, caller.key, caller.ours) == ("ann", None, True)
    assert KEY not in repr(caller)
    for headers in ([], bearer("sk-upstream"), bearer(KEY[:-1]), bearer(KEY + "k"), bearer(KEY.upper())):
        refusal = await refused(callers, headers)
        assert (refusal.status, refusal.code) == (401, "invalid_api_key")
        assert dict(refusal.headers)[b"www-authenticate"].startswith(b"Bearer")


async def test_keys_can_be_required_before_there_are_any() -> None:
    callers = Doors().callers(required=True)
    assert (await refused(callers, [])).status == 401
    assert (await refused(callers, bearer("sk-upstream"))).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        [(b"x-api-key", KEY.encode())] * 2,
        [(b"x-api-key", f"Bearer {KEY}".encode())],
        [(b"x-api-key", KEY.encode()), *bearer("sk-other")],
        [(b"x-api-key", KEY.encode()), (b"authorization", b"")],
        [(b"api-key", KEY.encode())],
        [(b"cookie", f"authorization=Bearer {KEY}".encode())],
        [(b"proxy-authorization", f"Bearer {KEY}".encode())],
        [(b"authorization", KEY.encode())],
        [(b"authorization", f"Basic {KEY}".encode())],
        [(b"authorization", f"Token {KEY}".encode())],
        basic("ann", KEY),
        bearer(KEY) * 2,
        [*bearer(KEY), *bearer("sk-other")],
        bearer(f"{KEY} x"),
        bearer(f"{KEY}, {KEY}"),
        bearer(f"{KEY}\x00"),
        bearer(f"{KEY}é"),
        bearer(""),
        bearer("x" * 5_000),
    ],
)
async def test_there_are_two_ways_to_give_a_key_and_no_other(headers: list[Header]) -> None:
    assert (await refused(Doors(**{KEY: "ann"}).callers(), headers)).status == 401


async def test_a_key_may_come_as_anthropic_s_clients_send_it() -> None:
    callers = Doors(**{KEY: "ann"}).callers()
    caller = await callers.caller([(b"x-api-key", KEY.encode())])
    assert (caller.owner, caller.upstream_key, caller.ours, caller.by_x_api_key) == ("ann", None, True, True)
    assert (await callers.caller([(b"x-api-key", b"sk-other"), *bearer(KEY)])).owner == "ann", (
        "that one is not looked at"
    )
    theirs = await Doors().callers().caller([(b"x-api-key", b"sk-ant")])
    assert (theirs.owner, theirs.upstream_key, theirs.by_x_api_key) == ("local", "sk-ant", True)
    assert (await refused(Doors().callers(), [(b"x-api-key", KEY.encode())])).status == 401, "ours goes nowhere"


def test_the_scheme_is_read_as_the_standard_says() -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert find_key([(b"authorization", f"{scheme}  {KEY}".encode())]) == KEY


async def test_a_removed_key_stops_working_within_seconds() -> None:
    doors = Doors(**{KEY: "ann"})
    callers = doors.callers()
    caller = await callers.caller(bearer(KEY))
    doors.keys.clear()
    doors.now += FRESH_S
    assert (await refused(callers, bearer(KEY))).status == 401
    assert not await callers.still(caller)
    assert FRESH_S <= 5


async def test_a_new_key_works_within_seconds_also_when_it_was_tried_before() -> None:
    doors = Doors(other="bob")
    callers = doors.callers()
    await refused(callers, bearer(KEY))
    doors.keys[hash_key(KEY)] = "ann"
    doors.now += FRESH_S
    assert (await callers.caller(bearer(KEY))).owner == "ann"


async def test_the_store_is_asked_seldom() -> None:
    doors = Doors(**{KEY: "ann"})
    callers = doors.callers()
    for _ in range(100):
        await callers.caller(bearer(KEY))
    assert doors.asked == 2


async def test_keys_that_differ_are_never_taken_for_each_other() -> None:
    doors = Doors(**{f"pk-{'same' * 8}{number:011}": f"owner {number}" for number in range(50)})
    callers = doors.callers()
    for _ in range(2):
        for number in range(50):
            assert (await callers.caller(bearer(f"pk-{'same' * 8}{number:011}"))).owner == f"owner {number}"


async def test_what_is_remembered_of_strangers_is_bounded() -> None:
    callers = Doors(**{KEY: "ann"}).callers()
    for number in range(MOST_KNOWN + 50):
        await refused(callers, bearer(f"sk-{number}"))
    assert len(callers._known) == MOST_KNOWN
    assert (await callers.caller(bearer(KEY))).owner == "ann"


async def test_to_remove_the_last_key_shuts_the_door() -> None:
    doors = Doors(**{KEY: "ann"})
    callers = doors.callers()
    await callers.caller(bearer(KEY))
    doors.keys.clear()
    doors.has_any = False
    doors.now += 1_000
    assert (await refused(callers, [])).status == 401


async def test_the_first_key_shuts_it_too() -> None:
    doors = Doors()
    callers = doors.callers()
    assert (await callers.caller([])).owner == "local"
    doors.has_any = True
    doors.now += FRESH_S
    assert (await refused(callers, [])).status == 401


async def test_a_key_of_ours_is_never_sent_on_even_where_none_is_asked_for() -> None:
    assert (await refused(Doors().callers(), bearer(KEY))).status == 401


async def test_with_the_store_away_known_keys_work_for_a_while_and_others_wait() -> None:
    doors = Doors(**{KEY: "ann"})
    callers = doors.callers()
    caller = await callers.caller(bearer(KEY))
    doors.down = True
    doors.now += FRESH_S + 1
    assert (await callers.caller(bearer(KEY))).owner == "ann"
    assert await callers.still(caller)
    refusal = await refused(callers, bearer("pk-unknown"))
    assert (refusal.status, refusal.code) == (503, "store_unavailable")
    assert b"retry-after" in dict(refusal.headers)
    doors.now += GRACE_S
    assert (await refused(callers, bearer(KEY))).status == 503
    assert await callers.still(caller), "a stream that is under way goes on"
    doors.down = False
    assert (await callers.caller(bearer(KEY))).owner == "ann"


async def test_a_store_that_hangs_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers_module, "LOOKUP_S", 0.01)
    doors = Doors()
    callers = doors.callers()
    doors.slow = True
    assert (await refused(callers, [])).status == 503
    doors.slow = False
    await callers.caller([])
    doors.slow = True
    doors.now += 60
    assert (await callers.caller([])).owner == "local", "as it was when the store last answered"


async def test_no_refusal_says_what_was_sent() -> None:
    callers = Doors(**{KEY: "ann"}).callers()
    for secret in ("sk-canary", KEY[:-1] + "x"):
        refusal = await refused(callers, bearer(secret))
        assert secret not in f"{refusal.message}{refusal.body()!r}{refusal.headers}{refusal!r}"
