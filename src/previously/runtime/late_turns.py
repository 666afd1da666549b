"""Bring in turns that have waited, whatever was said in their stories meanwhile.

The order in which turns come in makes no difference to the path: what a path holds already is not put there again, what
went another way becomes a branch of its own, and an answer that came late is one of several replies at its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from previously.core.messages import Draft, Message, Role
from previously.recognition.choose_story import ClientRequest
from previously.recognition.client_list import ClientMessage
from previously.recognition.follow import continue_message
from previously.runtime.follow_client import ClientFollower


async def bring_in(
    follower: ClientFollower,
    request: ClientRequest,
    new_name: str,
    replies: Sequence[Message],
    *,
    partial: bool,
    answered_at: str | None,
) -> None:
    """Put a turn and the answer to it where they belong, unless they are there. `new_name` is for a new story."""
    if not shows_newest_only(request):
        for body in _list_bodies(request, replies):
            if await follower.is_told(replace(request, client_list=replace(request.client_list, body=body))):
                return
    place = await follower.follow(request, new_name)
    if place and replies:
        await follower.answer(place, replies, partial=partial, at=answered_at)


def shows_newest_only(request: ClientRequest) -> bool:
    """Return whether a client names its story and sends nothing but what is said now: then only the order in which its
    requests come in tells what was said before what."""
    return bool(request.story) and [piece.message.role for piece in request.client_list.body] == [Role.USER]


def _list_bodies(request: ClientRequest, replies: Sequence[Message]) -> Iterator[tuple[ClientMessage, ...]]:
    """Yield a list as its client would show it after the answer: behind it, or as more of its last message."""
    body = request.client_list.body
    if not body or not replies:
        yield body
        return
    last = body[-1]
    yield (*body, ClientMessage(last.index + 1, Draft(replies[0])))
    if last.message.role is Role.ASSISTANT:
        yield (*body[:-1], replace(last, draft=Draft(continue_message(last.message, replies[0].text))))
