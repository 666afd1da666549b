"""The door: who asks, for which story, and which text they have read.

Names stand in addresses as one segment each. A slash in a name comes as `%2F`; since a path is decoded before it is
routed, `Segments` keeps such a slash apart from those between segments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request, Response
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from previously.app import Memory
from previously.models.client import Model
from previously.server.api.confirmations import Confirmations
from previously.server.api.fold_runs import FoldRuns
from previously.server.api.uploads import Uploads
from previously.server.api.watches import Watches
from previously.server.callers import Caller, Callers
from previously.server.game_table import GameTable
from previously.server.guard import get_caller
from previously.server.model_choice import ModelChoice
from previously.server.reply_desk import ReplyDesk
from previously.server.server_facts import ServerFacts
from previously.story.story import Story
from previously.story.thing_name import Thing, parse_thing

INNER_SLASH = "\0"
"""A slash inside a name, on its way through the routes: no name has this character."""

MOST_LISTED = 500
"""The most items of one page of a list: a page of messages is below a megabyte then."""


class NameConvertor(Convertor[str]):
    """A name of any characters in one segment of an address."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace(INNER_SLASH, "/")

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("name", NameConvertor())


class Segments:
    """An application whose addresses are split before they are decoded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and b"%2f" in raw.lower():
            path = raw.partition(b"?")[0].decode("latin-1")
            segments = [unquote(segment).replace("/", INNER_SLASH) for segment in path.split("/")]
            scope = {**scope, "path": "/".join(segments)}
        await self._app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of the server that routes use."""

    memory_of: Callable[[str], Memory]
    open_to_fold: Callable[[str, str, str], Awaitable[Story]] | None = None
    """Opens a story of an owner with the model that folds it, or another model there."""
    describe: Callable[[], ServerFacts] = ServerFacts
    folds: FoldRuns = field(default_factory=FoldRuns)
    uploads: Uploads = field(default_factory=Uploads)
    confirmations: Confirmations = field(default_factory=Confirmations)
    watches: Watches = field(default_factory=Watches)
    callers: Callers | None = None
    """Knows who signed in."""
    describe_model: Callable[[], Awaitable[dict[str, Any] | None]] | None = None
    """Asks the model that writes memory what it says of itself."""

    def __post_init__(self) -> None:
        self.folds.listeners.append(self.watches.tell_fold)

    async def close(self) -> None:
        """Give up what is under way."""
        await self.folds.close()
        await self.watches.close()
        self.uploads.close()

    async def open_folding(self, owner: str, story: str, model: str = "") -> Story:
        """Return a story with the model that writes its memory."""
        if self.open_to_fold is None:
            return await self.memory_of(owner).story(story, create=False)
        return await self.open_to_fold(owner, story, model)

    desk: ReplyDesk = field(default_factory=ReplyDesk)
    """The desk at which replies are written."""
    find_model: Callable[[str], Awaitable[Model | None]] | None = None
    """Gives the model that writes on for somebody, where it is not the one that the stories were opened with."""
    games: GameTable | None = None
    list_notices: Callable[[str, Story], list[str]] = lambda _owner, _story: []
    """Gives sentences about memory that is missing in a story, or waits."""

    choice: ModelChoice | None = None
    """The model, where a person may choose it."""

    async def model_of(self, owner: str) -> Model | None:
        """Return the model that writes on for somebody; None for the one that the stories were opened with."""
        return await self.find_model(owner) if self.find_model else None


def find_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def find_caller(request: Request) -> Caller:
    return get_caller(request.scope)


def find_memory(request: Request) -> Memory:
    """Return the stories of whoever asks."""
    return find_services(request).memory_of(get_caller(request.scope).owner)


Asked = Annotated[Memory, Depends(find_memory)]
Asker = Annotated[Caller, Depends(find_caller)]
Served = Annotated[Services, Depends(find_services)]


async def open_story(memory: Asked, story: Annotated[str, Path(description="The story, by its name.")]) -> Story:
    """Return the story that an address names."""
    if "\0" in story:
        raise HTTPException(404)
    return await memory.story(story, create=False)


Opened = Annotated[Story, Depends(open_story)]


def read_thing_name(thing: Annotated[str, Path(description="`recap`, `chapter:2`, `lore:NAME`, …")]) -> Thing:
    return parse_thing(thing)


def read_condition(if_match: Annotated[str | None, Header()] = None) -> str | None:
    """Return the ETag that a change is based on; None if it may be any."""
    if if_match is None or if_match.strip() == "*":
        return None
    return if_match.strip().removeprefix("W/").strip('"')


Named = Annotated[Thing, Depends(read_thing_name)]
Condition = Annotated[str | None, Depends(read_condition)]
OnceKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


def tag(response: Response, etag: str) -> None:
    """Put an ETag on an answer."""
    response.headers["ETag"] = f'"{etag}"'


Limit = Annotated[int, Query(ge=1, le=MOST_LISTED, description="The most items of one page.")]
Cursor = Annotated[str | None, Query(description="Where the page begins: `next` of the page before.")]
