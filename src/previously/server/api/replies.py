"""Routes of writing on: a model's reply as it comes, another one, more of it, its end; and how the model is asked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Role
from previously.models.client import Model
from previously.server.api.door import Asked, Asker, Opened, Served, Services
from previously.server.api.messages import raise_moved
from previously.server.api.problems import STATUSES, Problem
from previously.server.reply_desk import Busy, ReplyRun
from previously.story.json_shapes import message_json
from previously.story.replies import NO_MODEL, StoryReply
from previously.story.story import Story
from previously.view.setup import list_setup

router: APIRouter = APIRouter(prefix="/stories/{story:name}", tags=["chat"])

EVENTS: dict[str, Any] = {
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
    "description": "Events of the reply.",
}

HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Nobody on the way keeps the words back."""


TELLING = 8
"""Newest messages that are looked at for whether anybody speaks: in a chat, two in a row have a user's among them."""


class ReplyWanted(BaseModel, extra="forbid"):
    """A reply that is wanted."""

    text: str = Field(default="", max_length=1_000_000, description="What the user says; none to write on.")
    direction: str = Field(default="", max_length=20_000, description="Told to the model once, and kept nowhere.")
    speaker: str = Field(default="", max_length=200, description="Who answers, where several could.")
    way: Literal["next", "again", "longer"] = Field(
        default="next", description="The next passage, another one in place of the newest, or more of the newest."
    )


class SetupChanges(BaseModel, extra="forbid"):
    """Changes of how the model is asked, by key; null takes a value back."""

    setup: dict[str, str | float | list[str] | None]


Head = Annotated[str | None, Header(alias="If-Match", description="The head that the reply is to follow.")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="A reply is written once for each.")]


@router.get("/chat")
async def show_chat(story: Opened, asker: Asker, services: Served) -> dict[str, Any]:
    """Return how the model is asked, which it is, and whether it writes now."""
    model = await services.model_of(asker.owner)
    run = services.desk.find(asker.owner, story.name)
    setup = await story.setup()
    return {
        "story": story.name,
        "setup": list_setup(setup),
        "form": setup.form or await _find_form(story),
        "model": model.name if model else story.writes_with,
        "running": run is not None and not run.is_over,
        "key": run.key if run is not None and not run.has_failed else "",
    }


async def _find_form(story: Story) -> str:
    """Return the form in which a story is read where nobody has said one: a novel, and what nobody says to anybody, is
    prose."""
    if story.preset == "novel":
        return "prose"
    count = (await story.branch_info()).messages
    newest = [one.entry.message for one in await story.messages(max(0, count - TELLING), count - 1)] if count else []
    told = len(newest) > 1 and all(one.role is Role.ASSISTANT and not one.speaker for one in newest)
    return "prose" if told else "chat"


@router.get("/tree")
async def show_tree(story: Opened) -> dict[str, Any]:
    """Return every way that the story went: branches and swipes."""
    active = (await story.branch_info()).name
    ways = [{**asdict(way), "branches": list(way.branches)} for way in await story.tree()]
    return {"story": story.name, "active": active, "ways": ways}


class NextStory(BaseModel, extra="forbid"):
    """A story that continues another."""

    story: str = Field(description="The name of the new story.")
    at: int | None = Field(default=None, description="The last message that it knows of; all if none is given.")


@router.post("/continue", status_code=201)
async def continue_story(memory: Asked, story: Opened, body: NextStory) -> dict[str, Any]:
    """Begin a new story with the memory of this one."""
    continued = await memory.continue_story(story.name, body.story, at=body.at)
    return {"story": body.story, "continues": story.name, "messages": continued.messages}


@router.patch("/chat/setup")
async def change_setup(story: Opened, body: SetupChanges) -> dict[str, Any]:
    """Change how the model is asked, all of it or nothing."""
    changes = {key: _make_whole(value) for key, value in body.setup.items()}
    return {"story": story.name, "setup": list_setup(await story.change_setup(changes)), "done": "Saved."}


@router.post("/chat", responses={200: EVENTS}, response_class=StreamingResponse)
async def write_on(
    story: Opened, asker: Asker, services: Served, body: ReplyWanted, head: Head = None, key: Key = None
) -> StreamingResponse:
    """Let the model write, and send its words as they come. It goes on if nobody listens any more."""
    model = await services.model_of(asker.owner)
    name = model.name if model else story.writes_with
    if not name:
        raise BadInput(NO_MODEL)
    expected = _read_head(head)

    async def work(run: ReplyRun) -> dict[str, Any]:
        return await _write(story, model, body, run, expected, key)

    run = start_run(services, asker.owner, story.name, key or "", name, work)
    return stream_run(run)


@router.get("/chat/events", responses={200: EVENTS}, response_class=StreamingResponse)
async def watch_reply(story: Opened, asker: Asker, services: Served) -> StreamingResponse:
    """Hear the reply that is under way, from its beginning."""
    run = services.desk.find(asker.owner, story.name)
    if run is None or run.is_over:
        raise Problem(404, "not_found", "No reply is being written in this story.")
    return stream_run(run)


@router.delete("/chat")
async def stop_reply(story: Opened, asker: Asker, services: Served) -> dict[str, Any]:
    """Stop the reply that is under way; what came is kept."""
    run = services.desk.find(asker.owner, story.name)
    stops = run is not None and not run.is_over
    if run is not None:
        run.stop.set()
    return {"story": story.name, "stopped": stops}


def start_run(services: Services, owner: str, story: str, key: str, model: str, work: Any) -> ReplyRun:
    """Begin a run; a problem where one is under way."""
    try:
        return services.desk.start(owner, story, key, model, work, explain_error)
    except Busy as busy:
        raise Problem(409, "busy", str(busy)) from busy


def stream_run(run: ReplyRun) -> StreamingResponse:
    """Return the events of a run."""
    return StreamingResponse(run.stream(), media_type="text/event-stream", headers=HEADERS)


def explain_error(error: Exception) -> dict[str, Any]:
    """Return an error as a problem inside a stream."""
    if isinstance(error, Problem):
        return {"status": error.status, "code": error.code, "detail": error.detail, **error.more}
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            return {"status": status, "code": code, "detail": str(error)}
    return {"status": 500, "code": "internal", "detail": "Something went wrong here; the log says what."}


async def _write(
    story: Story, model: Model | None, wanted: ReplyWanted, run: ReplyRun, head: int | None, key: str | None
) -> dict[str, Any]:
    shared: dict[str, Any] = {"direction": wanted.direction, "told": run.tell_words, "stop": run.stop, "model": model}
    if wanted.way == "next":
        expected = head if wanted.text.strip() else None
        try:
            reply = await story.reply(
                wanted.text, speaker=wanted.speaker, expected_head=expected, idempotency_key=key, **shared
            )
        except HeadMoved as moved:
            if expected is None:
                raise
            await raise_moved(story, str(moved), wanted.text)
    else:
        if head is not None and (await story.branch_info()).head != head:
            await raise_moved(story, "The branch has changed meanwhile: look at it again.", None)
        reply = await (story.reply_again if wanted.way == "again" else story.reply_longer)(**shared)
    return await _describe(story, reply)


async def _describe(story: Story, reply: StoryReply) -> dict[str, Any]:
    items = await story.messages(reply.position, reply.position) if reply.position is not None else []
    return {
        "story": story.name,
        "branch": reply.branch.name,
        "head": reply.branch.head,
        "messages": reply.branch.messages,
        "finish": reply.finish,
        "failure": reply.failure,
        "message": message_json(items[0]) if items else None,
    }


def _read_head(given: str | None) -> int | None:
    if given is None or given.strip() == "*":
        return None
    text = given.strip().removeprefix("W/").strip('"')
    if not text.isdecimal() or len(text) > 18:
        raise BadInput(f"{given[:60]!r} is not the head of a branch.")
    return int(text)


def _make_whole(value: str | float | list[str] | None) -> Any:
    """Return whole numbers as such: JSON does not tell them apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
