"""The route of events: a stream that tells which story changed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse

from previously.server.api.door import Asked, Asker, Served
from previously.server.api.responses import answer_events

router: APIRouter = APIRouter(tags=["events"])


@router.get("/events", response_class=StreamingResponse)
async def follow_events(
    memory: Asked, caller: Asker, served: Served, last_event_id: Annotated[str, Header(max_length=100)] = ""
) -> StreamingResponse:
    """Tell which stories change, for as long as the connection is open."""
    return answer_events(served.watches.listen(caller.owner, memory, last_event_id))
