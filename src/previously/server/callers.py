"""Callers: the one place where a key is taken out of a request and looked up.

A key comes in `Authorization`, or in `x-api-key` where there is no `Authorization`, and nowhere else. It is looked up
by its whole hash; one that was removed stops working within seconds, also for a stream that is open. No key is ever
printed, nor one of ours given to a server upstream. Once a key was seen to exist, keys are asked for until the process
ends: to remove the last one shuts the door and does not open it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from previously.core.errors import StoreProblem
from previously.core.patterns import lazy_pattern
from previously.runtime.keys import LOCAL_OWNER
from previously.server.hosts import values
from previously.server.refusals import Header, Refusal, make_retry_header
from previously.server.sessions import Sessions, find_session
from previously.storage.tables.keys import KEY_PREFIX, hash_key

FRESH_S = 2.0
"""Seconds that an answer of the store is believed: a removed key stops working after that."""

GRACE_S = 300.0
"""Seconds that a known key goes on working while the store cannot be asked: memory may be down, the story goes on."""

LOOKUP_S = 2.0
"""Seconds that the store may take to answer: as long as memory may take in a turn."""

MOST_KNOWN = 1_000
"""The most keys that are remembered: each is a hash and a name."""

X_API_KEY = b"x-api-key"
_KEY = lazy_pattern(r"[\x21-\x7e]{1,1024}")
_OURS = lazy_pattern(rf"{KEY_PREFIX}[A-Za-z0-9_-]{{43}}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody on whose behalf a request is made."""

    owner: str
    key: str | None = field(default=None, repr=False)
    """The key that the client gave, for the server upstream; None if it gave none, or one of ours."""
    ours: bool = False
    """True if it was let in by a key of ours."""
    hashed: bytes = field(default=b"", repr=False)
    """Of the key that let it in."""
    by_x_api_key: bool = False
    """True if the key came in `x-api-key`."""
    by_session: bool = False
    """True if a cookie stands for the key."""

    @property
    def upstream_key(self) -> str | None:
        """The key that the server upstream gets; None for the one that the operator gave."""
        return None if self.ours else self.key

    @property
    def gave_none(self) -> bool:
        """True if it came without any key."""
        return self.key is None and not self.ours


NOBODY_YET = Caller("")
"""Somebody who has not signed in, where that is allowed."""


class Callers:
    """Knows callers by their keys, from a store that is asked seldom."""

    def __init__(
        self,
        owner_of: Callable[[bytes], Awaitable[str | None]],
        any_keys: Callable[[], Awaitable[bool]],
        *,
        required: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._owner_of = owner_of
        self._any_keys = any_keys
        self._required = required
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[str | None, float]] = OrderedDict()
        self.sessions: Sessions = Sessions(clock)
        self._open_since: float | None = None
        """When it was last seen that there are no keys."""

    async def caller(self, headers: Collection[Header], *, by_session: bool = False) -> Caller:
        """Return who sent this. `Refusal` 401 if keys are asked for and it has none of ours. `by_session`: whoever
        signed in needs no key."""
        given = find_key(headers)
        other = not values(headers, b"authorization")
        if not await self.required():
            if given is not None and _OURS.fullmatch(given):
                raise refuse_key()  # of another place, or removed: whatever is upstream must not see it
            return Caller(LOCAL_OWNER, given, by_x_api_key=given is not None and other)
        token = find_session(headers) if given is None and by_session else None
        hashed = hash_key(given) if given is not None else self.sessions.find_key(token) if token else None
        owner = await self._owner(hashed) if hashed is not None else None
        if owner is None or hashed is None:
            raise refuse_key()
        return Caller(owner, None, True, hashed, other and token is None, token is not None)

    async def sign_in(self, key: str, client: str) -> tuple[str, str]:
        """Begin a session of whoever has this key; return whose stories it opens, and the word of the session."""
        self.sessions.count_try(client)
        hashed = hash_key(key.strip())
        owner = await self._owner(hashed)
        if owner is None:
            raise Refusal(401, "invalid_api_key", "This is no key of this server.")
        return owner, self.sessions.begin(hashed)

    async def still(self, caller: Caller) -> bool:
        """Return whether the key that let a caller in is still one of ours."""
        try:
            return not caller.ours or await self._owner(caller.hashed) == caller.owner
        except Refusal:
            return True  # the store cannot be asked: what is under way goes on

    async def required(self) -> bool:
        if self._required:
            return True
        now = self._clock()
        if self._open_since is None or now - self._open_since >= FRESH_S:
            try:
                async with asyncio.timeout(LOOKUP_S):
                    self._required = await self._any_keys()
            except (StoreProblem, TimeoutError):
                if self._open_since is None:
                    raise _cannot_say() from None
                return False  # as it was when the store last answered
            self._open_since = now
        return self._required

    async def _owner(self, hashed: bytes) -> str | None:
        now = self._clock()
        owner, at = self._known.get(hashed, (None, -GRACE_S))
        if now - at < FRESH_S:
            return owner
        try:
            async with asyncio.timeout(LOOKUP_S):
                owner = await self._owner_of(hashed)
        except (StoreProblem, TimeoutError):
            if owner is not None and now - at < GRACE_S:
                return owner
            raise _cannot_say() from None
        self._known[hashed] = owner, now
        self._known.move_to_end(hashed)
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return owner


def find_key(headers: Collection[Header]) -> str | None:
    """Return the key in `Authorization`, or in `x-api-key` if there is no `Authorization`; None if there is none, or
    nothing that can be one, or more than one."""
    given = values(headers, b"authorization")
    if not given:
        others = values(headers, X_API_KEY)
        return others[0] if len(others) == 1 and _KEY.fullmatch(others[0]) else None
    if len(given) != 1:
        return None
    scheme, _, rest = given[0].partition(" ")
    key = rest.strip(" ")
    if scheme.lower() != "bearer":
        return None
    return key if _KEY.fullmatch(key) else None


def refuse_key() -> Refusal:
    """Return a refusal with the same words for every fault: whoever guesses learns nothing."""
    asks = b'Bearer realm="Previously"'
    return Refusal(401, "invalid_api_key", "This server asks for a key of its own.", [(b"www-authenticate", asks)])


def _cannot_say() -> Refusal:
    return Refusal(503, "store_unavailable", "Keys cannot be looked up at the moment.", [make_retry_header(5)])
