"""Where the page is asked for, and what it is filled with: the caller's own stories, and nobody else's.

What must stay true: a story that is another's and one that is not there are the same 404. What goes wrong is said in a
sentence of ours. To look at a story changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from previously.app import Memory
from previously.core.errors import BadInput, PreviouslyError, StoreProblem
from previously.server.guard import caller_of, page_headers
from previously.server.logs import noted
from previously.server.page import STYLE, message_page, stories_page, story_page

HEADERS = dict(page_headers(STYLE))


def page_routes(memory_of: Callable[[str], Memory]) -> list[Route]:
    """The list of stories at `/`, and one of them at `/stories/{number}`. `memory_of` gives the stories of an owner."""

    async def stories(request: Request) -> HTMLResponse:
        owner = caller_of(request.scope).owner
        memory = memory_of(owner)
        try:
            used = await memory.store.last_changes(owner)
            listed = [(info, used.get(info.key.story, "")) for info in await memory.stories()]
        except StoreProblem:
            return _away()
        return _sent(stories_page(listed, owner))

    async def story(request: Request) -> HTMLResponse:
        memory = memory_of(caller_of(request.scope).owner)
        try:
            wanted = int(request.path_params["number"])
            found = [info for info in await memory.stories() if info.key.story == wanted]
            if not found:
                return _sent(message_page("Not found", "There is no such story here."), 404)
            noted(request.scope).story = wanted
            opened = await memory.story(found[0].name, create=False)
            return _sent(story_page(found[0], await opened.last_view(), await opened.log()))
        except BadInput:
            return _sent(message_page("Not found", "There is no such story here."), 404)  # forgotten meanwhile
        except PreviouslyError:
            return _away()

    return [Route("/", stories), Route("/stories/{number:int}", story)]


def _away() -> HTMLResponse:
    return _sent(message_page("Not now", "The stories cannot be read at the moment; try again in a while."), 503)


def _sent(page: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(page, status, HEADERS)
