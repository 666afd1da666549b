"""The server behind the proxy: requests passed on, and what is known of it.

Owns the connections. Only the address that the operator gave, at the start or on the page, is ever asked; redirects
are not followed; of a client's headers only those on a short list go on, and the key that opens this proxy never does.
A client's own key is meant for the server of the start: another one never sees it. A connection is closed the moment
nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx

from previously.app import describe_model, model_at
from previously.models.endpoint import Endpoint
from previously.models.server_facts import find_usual_window, read_slots
from previously.server.callers import X_API_KEY, Caller
from previously.server.transport import LeanTransport, needs_proxy
from previously.wire.errors import SMALLEST_WINDOW
from previously.wire.model_call import parse_body

log: logging.Logger = logging.getLogger("previously.server")

UNKNOWN_WINDOW_TOKENS = 8_192
"""The window of a model of which nothing is known: what most local servers are started with."""

CONNECT_S = 10.0
LOOK_S = 3.0
"""The time that the upstream may take to tell about itself: it answers without thinking."""

FACTS_S = 300.0
"""The time that what it told is believed: models are changed by hand."""

RETRY_S, MOST_RETRY_S = 30.0, 3_600.0
"""The time that it is believed to tell nothing: at first as long as a local server takes to load a model, then twice as
long each time, up to an hour, since a provider that tells nothing will not begin to."""

MOST_MODELS, MOST_LOOKS = 256, 4
"""The number of models of which something is known, and of looks at a time: clients name them, so both are bounded."""

WAIT_FOR_FACTS_S = 1.0
"""The time that the first request for a model waits to know its window: less than a user notices."""

PASSED_ON = frozenset(
    b"accept content-type user-agent openai-organization openai-project openai-beta http-referer x-title "
    b"idempotency-key x-request-id anthropic-version anthropic-beta x-app originator".split()
)
"""The headers of a client that the upstream sees, besides its key."""

HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
"""The headers of one connection, which mean nothing on the next."""

OURS = frozenset(b"host content-length authorization x-api-key cookie origin referer".split())
"""The headers of a client that are meant for this proxy: its name, its key, and what a browser tells of its page."""

PASSED_BACK = frozenset(
    "content-type retry-after retry-after-ms x-request-id openai-processing-ms openai-version openai-organization "
    "openai-model request-id anthropic-organization-id x-should-retry".split()
)
_LIMITS = ("x-ratelimit-", "anthropic-ratelimit-")

LEARNED_S = 1_800.0
"""The time that a model is believed to read no more than it did when something was too long for it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that are known of the upstream and one of its models."""

    window_tokens: int | None = None
    slots: int | None = None
    """The number of requests that it works on at a time; None when that is not known."""

    @property
    def is_single(self) -> bool:
        """True when a fold would keep the user waiting; so it is taken to be where nothing else is known."""
        return self.slots is None or self.slots < 2


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Facts, and for how long they are believed."""

    facts: Facts
    at: float
    """By the monotonic clock."""
    fresh_s: float


class Upstream:
    """The connections to the upstream, and what it tells about itself."""

    def __init__(self, endpoint: Endpoint, *, key: str = "", timeout_s: float = 600.0) -> None:
        self.endpoint: Endpoint = endpoint
        self.key: str = key
        self._timeout_s = timeout_s
        self._client = self._connect()
        self._under_way: Counter[httpx.AsyncClient] = Counter()
        """Requests by the client that carries them."""
        self._facts: dict[str, KnownFacts] = {}
        self._looking: dict[tuple[Endpoint, str], asyncio.Task[Facts]] = {}
        self._learned: dict[str, tuple[float, int]] = {}
        self._has_turned = False
        self.is_reachable: bool = True
        """False from a request for which there was no connection until one is answered."""

    async def turn_to(self, endpoint: Endpoint, key: str) -> None:
        """Ask another server from now on, with this key alone. Answers that are under way still come from the one
        before; behind the last of them the connections to it are closed."""
        earlier = self._client
        self.endpoint, self.key, self.is_reachable, self._has_turned = endpoint, key, True, True
        self._client = self._connect()
        self._facts.clear()
        self._learned.clear()
        if not self._under_way[earlier]:
            await earlier.aclose()

    @asynccontextmanager
    async def _use_client(self) -> AsyncIterator[httpx.AsyncClient]:
        client = self._client
        self._under_way[client] += 1
        try:
            yield client
        finally:
            self._under_way[client] -= 1
            if client is not self._client and not self._under_way[client]:
                del self._under_way[client]
                await client.aclose()

    def _connect(self) -> httpx.AsyncClient:
        trusts, address = not self.endpoint.loopback, httpx.URL(self.endpoint.join(""))
        behind_proxy = trusts and needs_proxy(address.scheme, address.host)
        return httpx.AsyncClient(
            timeout=httpx.Timeout(self._timeout_s, connect=CONNECT_S, pool=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            trust_env=trusts,
            transport=None if behind_proxy else LeanTransport(trust_env=trusts),
            follow_redirects=False,
        )

    def build_headers(
        self, given: Mapping[bytes, bytes], caller: Caller, *, all_of_them: bool = False
    ) -> dict[bytes, bytes]:
        """Return the headers of a request: a client's own, and its key or ours, in the header by which the client gives
        keys. For a chat they are those that a model's server needs; else all of them, but for ours."""
        if all_of_them:
            ended = list_end_to_end(given.items())
            passed = {name: value for name, value in ended if name not in OURS and not name.startswith(b"x-previously")}
        else:
            passed = {name: value for name, value in given.items() if name in PASSED_ON}
            passed[b"accept-encoding"] = b"identity"
        if key := self._choose_key(caller.upstream_key):
            if caller.by_x_api_key or (caller.gave_none and b"anthropic-version" in given):
                passed[X_API_KEY] = key.encode("latin-1", "replace")
            else:
                passed[b"authorization"] = f"Bearer {key}".encode("latin-1", "replace")
        return passed

    def _choose_key(self, given: str | None) -> str:
        """Return the key to ask with: the one that a client gave, else ours."""
        return self.key if self._has_turned else given or self.key

    def learn(self, model: str, window_tokens: int) -> None:
        """Note that a request of more than that was too long for a model."""
        self._learned.pop(model, None)
        self._learned[model] = time.monotonic(), max(SMALLEST_WINDOW, window_tokens)
        if len(self._learned) > MOST_MODELS:
            self._learned.pop(next(iter(self._learned)))

    def limit_window(self, model: str, window_tokens: int | None) -> int | None:
        """Return a window, or what was learned lately, if that is less."""
        at, learned = self._learned.get(model, (-LEARNED_S, 0))
        if time.monotonic() - at >= LEARNED_S:
            return window_tokens
        return min(window_tokens, learned) if window_tokens else learned

    @asynccontextmanager
    async def open_response(
        self, method: str, path: str, headers: Mapping[bytes, bytes], body: bytes, query: bytes = b""
    ) -> AsyncIterator[httpx.Response]:
        """Send one request; the body of its response comes in as it is read."""
        url = self.endpoint.join(path)
        if query:
            url = f"{url}{'&' if '?' in url else '?'}{query.decode('latin-1')}"
        try:
            async with (
                self._use_client() as client,
                client.stream(method, url, headers=headers, content=body or None) as response,
            ):
                self.is_reachable = True
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout):
            self.is_reachable = False
            raise

    async def find_facts(self, model: str, key: str | None) -> Facts:
        """Return what is known of a model; the first who asks waits a moment for it."""
        known = self._facts.get(model)
        if known and time.monotonic() - known.at < known.fresh_s:
            return known.facts
        looking = self._looking.get((self.endpoint, model))
        if looking is None and len(self._looking) >= MOST_LOOKS:
            return known.facts if known else Facts()
        if looking is None:
            looking = self._looking[self.endpoint, model] = asyncio.create_task(self._look(model, key))
        if known:
            return known.facts
        try:
            return await asyncio.wait_for(asyncio.shield(looking), WAIT_FOR_FACTS_S)
        except TimeoutError:
            return Facts()

    def get_facts(self, model: str) -> Facts:
        """Return what is known of a model by now."""
        known = self._facts.get(model)
        return known.facts if known else Facts()

    async def _look(self, model: str, key: str | None) -> Facts:
        """Ask the upstream about itself. `key` is the client's own: it is shown where every provider takes it, and to
        no path that this one may not have."""
        endpoint, before = self.endpoint, self._facts.get(model)
        try:
            address = endpoint.join("").rstrip("/")
            asked = model_at(address, model or "default", self._choose_key(key), LOOK_S)
            is_ours = key is None or self._has_turned
            description = await describe_model(asked, probe_schema=False, shows_key=is_ours)
            slots = None
            if endpoint.loopback or description.get("window_from") == "/props":
                slots = await self._slots()
            facts = Facts(description.get("window_tokens"), slots)
        except Exception as error:
            log.warning("The upstream does not tell about itself: %s", type(error).__name__)
            facts = Facts()
        finally:
            self._looking.pop((endpoint, model), None)
        if endpoint != self.endpoint:
            return facts  # of a server that is asked no more
        fresh_s = FACTS_S
        if facts.window_tokens is None:
            fresh_s = min(2 * before.fresh_s, MOST_RETRY_S) if before else RETRY_S
            facts = replace(facts, window_tokens=find_usual_window(model))
        if facts.window_tokens is None and before is None:
            log.warning(
                "The upstream does not tell its window: %d tokens are taken for it; --window says otherwise.",
                UNKNOWN_WINDOW_TOKENS,
            )
        self._facts.pop(model, None)
        self._facts[model] = KnownFacts(facts, time.monotonic(), fresh_s)
        if len(self._facts) > MOST_MODELS:
            self._facts.pop(next(iter(self._facts)))
        return facts

    async def _slots(self) -> int | None:
        try:
            async with self._use_client() as client:
                response = await client.get(self.endpoint.join_beside("props"), timeout=LOOK_S)
        except httpx.HTTPError:
            return None
        return read_slots(parse_body(response.content)) if response.status_code == 200 else None

    async def close(self) -> None:
        for looking in list(self._looking.values()):
            looking.cancel()
        for client in {*self._under_way, self._client}:
            await client.aclose()


def list_end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers that are not those of one connection; a header may name more of them."""
    lower = [(name.lower(), value) for name, value in headers]
    named = {
        word.strip() for name, value in lower if name == b"connection" for word in value.lower().split(b",") if word
    }
    return [(name, value) for name, value in lower if name not in HOP_BY_HOP and name not in named]


def select_headers(headers: httpx.Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response that the client sees."""
    return [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in headers.items()
        if name in PASSED_BACK or name.startswith(_LIMITS)
    ]
