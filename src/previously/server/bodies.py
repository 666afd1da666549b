"""Bodies of requests, which the guard has read and bounded before."""

from __future__ import annotations

from starlette.types import Receive


async def body_of(receive: Receive) -> bytes:
    """All of it."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)
