"""A model behind any OpenAI-compatible server: llama.cpp, vLLM, Ollama, LM Studio, KoboldCpp, OpenRouter, OpenAI, …

This module owns the connection and nothing else: `wire.model_call`, `wire.errors` and `server_facts` decide what to
send, how to read it and what a failure means.

- One `ask` is one HTTP request. Where a server turns down an optional part of it (a JSON schema, a temperature, the
  name of the token limit), the part is left out from then on, and *this* `ask` returns a `BAD_REQUEST` with
  `retry_after_s=0`: `decide_retry` asks again at once, and the call is counted like any other.
- Nothing waits without end: a deadline for the whole call stands above the connection's own timeouts, and an answer
  larger than `MAX_ANSWER_BYTES` is not read on.
- Redirects are not followed: they could take prompt and key to another server.
- The key is sent in one header and appears nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from previously.core.errors import BadInput
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.models.endpoint import Endpoint, parse_endpoint
from previously.models.server_facts import (
    SCHEMA_PROBE,
    WINDOW_PATHS,
    find_listed_window,
    is_schema_kept,
    read_model_names,
)
from previously.wire.model_call import (
    RequestOptions,
    build_request,
    find_refused_option,
    parse_body,
    read_answer,
    read_streamed,
)
from previously.wire.reasoning import split_reasoning
from previously.wire.sse import ReplyReader

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Far above any answer that was asked for; a larger one is not read on."""

DEFAULT_TIMEOUT_S = 300.0
"""A model of 7 billion parameters without a graphics card may take minutes for one fold."""

DEFAULT_CONNECT_TIMEOUT_S = 10.0
"""A server that takes longer to say hello is down or behind a wrong address."""

LOOK_TIMEOUT_S = 10.0
"""For questions about the server itself, which it answers without thinking."""


@dataclass(frozen=True, slots=True)
class _Received:
    status: int
    headers: dict[str, str]
    body: bytes


class OpenAICompatibleModel:
    """A model behind an OpenAI-compatible server. `base_url` must include `/v1` where the server wants it."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S,
        json_schema: Literal["auto"] | bool = "auto",
        client: httpx.AsyncClient | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is sent yet. A `client` that is given stays the caller's: its timeouts hold, and it is not closed.

        `json_schema`: "auto" sends schemas until the server turns one down, True always sends them, False never.
        """
        self._endpoint: Endpoint = parse_endpoint(base_url)
        if not model.strip():
            raise BadInput("The model has no name; servers with a single model take any name.")
        if not (api_key.isascii() and api_key.isprintable()) or api_key != api_key.strip():
            raise BadInput("The key holds characters that no key has, perhaps a line break at its end.")
        if not (timeout_s > 0 and connect_timeout_s > 0):
            raise BadInput("A timeout must be more than 0 seconds.")
        self._httpx = _import_httpx()
        self._model = model
        self._key = api_key
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._json_schema = json_schema
        self._clock = clock
        self._options = RequestOptions(json_schema=json_schema is not False)
        self._given = client
        self._own: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._window_tokens: int | None = None
        self._calls = 0
        self._is_retired = False

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel({self._endpoint.shown!r}, {self._model!r})"

    @property
    def name(self) -> str:
        return self._model

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Ask one question by one HTTP request; return one answer or the reason why there is none."""
        sent = self._options
        body = build_request(request, self._model, sent)
        received = await self._call("POST", self._endpoint.join("chat/completions"), body, self._timeout_s)
        return received if isinstance(received, ModelFailure) else self._read(received, request, sent)

    async def ask_aloud(self, request: ModelRequest, told: Callable[[str], None]) -> ModelReply | ModelFailure:
        """Ask by one HTTP request and tell the words as they come: `told` is given all of them each time, without
        reasoning. A server that does not stream is told of when its answer is whole."""
        reader = ReplyReader()

        def hear(chunk: bytes) -> None:
            reader.feed(chunk)
            words = split_reasoning(reader.reply().choice().text)[1]
            if words:
                told(words)

        sent = self._options
        body = {**build_request(request, self._model, sent), "stream": True}
        url = self._endpoint.join("chat/completions")
        received = await self._call("POST", url, body, self._timeout_s, hear=hear)
        if isinstance(received, ModelFailure):
            return received
        reply = reader.finish()
        if received.status == 200 and reply.streamed and reply.whole:
            return read_streamed(reply, request=request, model=self._model)
        if received.status == 200 and reply.streamed and reply.error is None:
            return ModelFailure(FailureKind.CONNECTION, "The answer broke off before it was whole.")
        answer = self._read(received, request, sent)
        if isinstance(answer, ModelReply):
            told(answer.text)
        return answer

    def _read(self, received: _Received, request: ModelRequest, sent: RequestOptions) -> ModelReply | ModelFailure:
        answer = read_answer(
            received.status,
            received.headers,
            received.body,
            request=request,
            model=self._model,
            now=self._clock(),
            key=self._key,
        )
        return self._learn(answer, received, request, sent) if isinstance(answer, ModelFailure) else answer

    def _learn(
        self, failure: ModelFailure, received: _Received, request: ModelRequest, sent: RequestOptions
    ) -> ModelFailure:
        """Add what only the client knows: that it will ask differently, or that the address is wrong."""
        payload = parse_body(received.body)
        better = find_refused_option(failure, payload, request, sent)
        if better is not None and (better.json_schema == sent.json_schema or self._json_schema == "auto"):
            self._options = self._options.intersect(better)
            reason = "The server turned down an optional part of the request, which will be left out from now on."
            return ModelFailure(FailureKind.BAD_REQUEST, reason, retry_after_s=0.0)
        lost = received.status in (404, 405) or b"unexpected endpoint" in received.body[:2_000].lower()
        if lost and not self._endpoint.versioned and b"model" not in received.body[:2_000].lower():
            reason = (
                f"There is no /chat/completions at {self._endpoint.shown}: most servers want an address ending in /v1."
            )
            return replace(failure, kind=FailureKind.BAD_REQUEST, reason=reason, retry_after_s=None)
        return failure

    async def describe(self, *, probe_schema: bool = True, shows_key: bool = True) -> dict[str, Any]:
        """Return what can be found out about server and model, for people to read. Never raises, like `ask`.

        `probe_schema` asks one short question with a JSON schema; `json_schema` is then True, False, or None where that
        could not be told. Without `shows_key` the key goes to `/models` alone, and not to paths that only some servers
        have.
        """
        known: dict[str, Any] = {
            "endpoint": self._endpoint.shown,
            "model": self._model,
            "reachable": True,
            "reason": None,
        }
        known |= {"models": [], "model_listed": None, "window_tokens": None, "window_from": None, "json_schema": None}
        received = await self._call("GET", self._endpoint.join("models"), None, LOOK_TIMEOUT_S)
        if isinstance(received, ModelFailure):
            return known | {"reachable": False, "reason": received.reason}
        listed = parse_body(received.body)
        if names := read_model_names(listed):
            known |= {"models": names, "model_listed": self._model in names}
        if (window := find_listed_window(listed, self._model)) is not None:
            known |= {"window_tokens": window, "window_from": "/models"}
        for place in WINDOW_PATHS if window is None else ():
            asked = {"model": self._model} if place.post else None
            received = await self._call(
                "POST" if place.post else "GET",
                self._endpoint.join_beside(place.path),
                asked,
                LOOK_TIMEOUT_S,
                shows_key=shows_key,
            )
            if isinstance(received, _Received) and received.status == 200:
                window = place.read(parse_body(received.body), self._model)
            if window is not None:
                known |= {"window_tokens": window, "window_from": f"/{place.path}"}
                break
        if probe_schema and self._json_schema is not False:
            answer = await self.ask(SCHEMA_PROBE)
            if isinstance(answer, ModelReply):
                known["json_schema"] = is_schema_kept(answer)
            else:
                known |= {"json_schema": False if not self._options.json_schema else None, "reason": answer.reason}
        elif not self._options.json_schema:
            known["json_schema"] = False
        return known

    async def find_window(self) -> int | None:
        """Return the window of the model, as far as its server tells it; it is asked until it has."""
        if self._window_tokens is None:
            self._window_tokens = (await self.describe(probe_schema=False))["window_tokens"]
        return self._window_tokens

    async def close(self) -> None:
        """Close the connections, unless the client was given. A later `ask` opens new ones."""
        own, self._own = self._own, None
        if own is not None and self._loop is asyncio.get_running_loop():
            await own.aclose()

    async def retire(self) -> None:
        """Close the connections behind the calls that are under way, and behind each later one."""
        self._is_retired = True
        if not self._calls:
            await self.close()

    def _client(self) -> httpx.AsyncClient:
        """Return the client to use. Connections belong to one event loop, so another loop gets another client."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._loop is not loop:
            self._own = self._httpx.AsyncClient(
                timeout=self._httpx.Timeout(self._timeout_s, connect=self._connect_timeout_s),
                trust_env=not self._endpoint.loopback,
            )
            self._loop = loop
        return self._own

    async def _call(
        self,
        method: str,
        url: str,
        body: object,
        timeout_s: float,
        *,
        shows_key: bool = True,
        hear: Callable[[bytes], None] | None = None,
    ) -> _Received | ModelFailure:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "previously"}
        if self._key and shows_key:
            headers["Authorization"] = f"Bearer {self._key}"
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode("ascii")
        try:
            client = self._client()
        except (
            ImportError,
            ValueError,
            OSError,
        ) as error:  # what httpx raises for proxies and certificates it cannot use
            reason = f"The proxy or certificate settings of the environment cannot be used ({type(error).__name__})."
            return ModelFailure(FailureKind.CONNECTION, reason)
        self._calls += 1
        try:
            async with (
                asyncio.timeout(timeout_s),
                client.stream(method, url, headers=headers, content=content, follow_redirects=False) as response,
            ):
                received = bytearray()
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if hear and response.status_code == 200:
                        hear(chunk)
                    if len(received) > MAX_ANSWER_BYTES:
                        reason = f"The server's answer is larger than {MAX_ANSWER_BYTES // 2**20} MB."
                        return ModelFailure(FailureKind.UNREADABLE, reason)
                lower = {name.lower(): value for name, value in response.headers.items()}
                return _Received(response.status_code, lower, bytes(received))
        except (TimeoutError, OSError, UnicodeError, self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            return self._explain_loss(error, timeout_s)
        finally:
            self._calls -= 1
            if self._is_retired and not self._calls:
                await self.close()

    def _explain_loss(self, error: Exception, timeout_s: float) -> ModelFailure:
        """Return why there is no response at all. The error's own words may hold the address, and with it a key."""
        where = self._endpoint.shown
        match error:
            case self._httpx.ConnectTimeout():
                reason = f"No connection to {where} within {self._connect_timeout_s:g} seconds."
                return ModelFailure(FailureKind.CONNECTION, reason)
            case TimeoutError() | self._httpx.TimeoutException():
                return ModelFailure(FailureKind.TIMEOUT, f"No answer from {where} within {timeout_s:g} seconds.")
            case self._httpx.DecodingError():
                return ModelFailure(
                    FailureKind.UNREADABLE, "The server's answer is packed in a way that cannot be undone."
                )
            case self._httpx.ConnectError() if "certificate" in str(error).lower():
                return ModelFailure(FailureKind.CONNECTION, f"The certificate of {where} cannot be trusted.")
            case self._httpx.ConnectError():
                return ModelFailure(FailureKind.CONNECTION, f"No connection to {where}: is the server running?")
            case _:
                return ModelFailure(
                    FailureKind.CONNECTION, f"The connection to {where} broke off before the answer was whole."
                )


def _import_httpx() -> Any:
    """Import httpx only when a model is used: the built-in writer needs none of it."""
    try:
        import httpx
    except ImportError:
        raise BadInput("Asking a model needs httpx: pip install 'previously[models]'.") from None
    return httpx
