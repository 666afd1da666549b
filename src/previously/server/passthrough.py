"""Requests passed on as they are, without memory: everything under `/v1` that is no chat.

Models, embeddings, text completions, audio, pictures, files, batches, whatever a provider has or will have. The body
goes on byte for byte and so does the answer, with all headers but those of the connection and those that are ours.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from previously.core.patterns import lazy_pattern
from previously.server.guard import WITH_BODY, get_caller, read_whole_body
from previously.server.refusals import Header, Refusal
from previously.server.relay import Outgoing, relay
from previously.server.upstream import Upstream
from previously.wire.errors import find_error_format

log: logging.Logger = logging.getLogger("previously.server")

KNOWN = frozenset({"models", "embeddings", "completions", "messages", "responses"})
"""The beginnings of paths that clients of chats use beside them. Others are logged, once each."""

MOST_LOGGED = 100
"""The most beginnings that are logged: providers have some dozens, and a client may invent any number."""

_PATH = lazy_pattern(r"[A-Za-z0-9._:@+ /-]{1,300}")


class Passthrough:
    """Passes requests on to the same path of the upstream."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_whole_body(receive) if scope["method"] in WITH_BODY else b""
        await self.pass_on(scope, body, receive, send)

    async def pass_on(
        self, scope: Scope, body: bytes, receive: Receive, send: Send, told: Sequence[Header] = ()
    ) -> None:
        """Pass a request on whose body was read; the client gets the headers `told` besides those of the answer."""
        path = _check_path(scope["path"].removeprefix("/v1/"))
        self._log(path)
        headers = self._upstream.build_headers(dict(scope["headers"]), get_caller(scope), all_of_them=True)
        errors = find_error_format(scope["path"])
        out = Outgoing(
            scope["method"], path, headers, body, scope["query_string"], told=told, errors=errors, as_is=True
        )
        await relay(self._upstream, out, receive, send)

    def _log(self, path: str) -> None:
        begins = path.partition("/")[0]
        if begins not in KNOWN and begins not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(begins)
            log.info("Requests to /v1/%s are passed on without memory", begins)


def _check_path(path: str) -> str:
    """Return a path of the upstream: names of models may hold slashes, and nothing that leads anywhere else."""
    if not _PATH.fullmatch(path) or any(part in ("", ".", "..") for part in path.split("/")):
        raise Refusal(404, "not_found", "There is nothing at this address.")
    return quote(path, safe="/:@+")
