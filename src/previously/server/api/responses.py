"""Answers that are no JSON object: files to save, and streams of server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from urllib.parse import quote

from fastapi import Response
from fastapi.responses import StreamingResponse


def answer_file(content: bytes, name: str, kind: str) -> Response:
    """Return a file to be saved under a name. No browser shows it as a page of ours."""
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
        "cache-control": "no-store",
    }
    return Response(content, headers=headers, media_type=kind)


def write_event(name: str, data: object, ident: str = "") -> bytes:
    """Return one event as it is sent."""
    head = f"id: {ident}\n" if ident else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=True)}\n\n".encode()


def answer_events(events: AsyncIterator[bytes]) -> StreamingResponse:
    """Return an answer that stays open as long as there are events."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # nobody on the way may hold them back
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")
