"""Requests passed on as they are: models, text completions, embeddings, counts of tokens. No memory takes part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from previously.core.patterns import lazy_pattern
from previously.server.guard import get_caller, read_whole_body
from previously.server.refusals import Header, Refusal
from previously.server.relay import Outgoing, relay
from previously.server.upstream import Upstream
from previously.wire.errors import find_error_format

_MODEL_PATH = lazy_pattern(r"[A-Za-z0-9._:@+ /-]{1,300}")


class Passthrough:
    """Passes requests on to the same path of the upstream."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_whole_body(receive) if scope["method"] == "POST" else b""
        await self.pass_on(scope, body, receive, send)

    async def pass_on(
        self, scope: Scope, body: bytes, receive: Receive, send: Send, told: Sequence[Header] = ()
    ) -> None:
        """Pass a request on whose body was read."""
        headers = self._upstream.build_headers(dict(scope["headers"]), get_caller(scope))
        path = _check_path(scope["path"].removeprefix("/v1/"))
        wording = find_error_format(scope["path"])
        out = Outgoing(scope["method"], path, headers, body, scope["query_string"], _is_stream(body), told, wording)
        await relay(self._upstream, out, receive, send)


def _check_path(path: str) -> str:
    """Return a path of the upstream: names of models may hold slashes, and nothing that leads anywhere else."""
    if not _MODEL_PATH.fullmatch(path) or any(part in ("", ".", "..") for part in path.split("/")):
        raise Refusal(404, "not_found", "There is nothing at this address.")
    return quote(path, safe="/:@+")


def _is_stream(body: bytes) -> bool:
    """Return whether a stream is asked for; a body that cannot be read is the upstream's to complain of."""
    try:
        fields = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return False
    return isinstance(fields, dict) and fields.get("stream") is True
