"""Sessions of browsers: a random word in a cookie that stands for the key somebody signed in with.

The word is kept as a hash, in the memory of this process; the key itself is in no cookie. A session ends with its key,
after a month, or when its owner signs out.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from hashlib import sha256
from secrets import token_urlsafe

from previously.core.patterns import lazy_pattern
from previously.server.hosts import values
from previously.server.refusals import Header, Refusal, make_retry_header

COOKIE = "previously_session"
KEPT_S = 30 * 86_400.0
"""A month: whoever reads a story every few days signs in seldom."""

MOST_SESSIONS = 1_000
TRIES_PER_MINUTE = 10
"""Of one address: a person mistypes a key twice, and whoever guesses 256 bits gets nowhere."""

TRIES_OF_ALL = 100
"""Of everybody together, for those who guess from many addresses."""

_TOKEN = lazy_pattern(r"[A-Za-z0-9_-]{43}")


def find_session(headers: Collection[Header]) -> str | None:
    """Return the session in the cookies of a request; None if there is none, or more than one."""
    found = []
    for cookies in values(headers, b"cookie"):
        for cookie in cookies.split(";"):
            name, _, value = cookie.strip().partition("=")
            if name == COOKIE:
                found.append(value)
    return found[0] if len(found) == 1 and _TOKEN.fullmatch(found[0]) else None


class Sessions:
    """The sessions of one server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()
        self._tries: OrderedDict[str, list[float]] = OrderedDict()

    def begin(self, hashed_key: bytes) -> str:
        """Return the word of a new session for whoever has this key."""
        token = token_urlsafe(32)
        self._kept[_hash(token)] = hashed_key, self._clock() + KEPT_S
        while len(self._kept) > MOST_SESSIONS:
            self._kept.popitem(last=False)
        return token

    def find_key(self, token: str) -> bytes | None:
        """Return the hash of the key that a session stands for; None if it is over."""
        hashed_key, until = self._kept.get(_hash(token), (None, 0.0))
        return hashed_key if self._clock() < until else None

    def end(self, token: str) -> None:
        self._kept.pop(_hash(token), None)

    def count_try(self, client: str) -> None:
        """Count a try to sign in; `Refusal` 429 if there were too many in the last minute."""
        now = self._clock()
        for name, most in ((client, TRIES_PER_MINUTE), ("", TRIES_OF_ALL)):
            tries = [at for at in self._tries.pop(name, []) if now - at < 60]
            self._tries[name] = [*tries, now][-most:]
            if len(tries) >= most:
                message = "Too many tries to sign in; wait a minute."
                raise Refusal(429, "rate_limit_exceeded", message, [make_retry_header(60)])
        while len(self._tries) > MOST_SESSIONS:
            self._tries.popitem(last=False)


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
