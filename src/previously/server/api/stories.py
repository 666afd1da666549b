"""Routes of stories: the list of all, one of them, its name, its health, its end."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from previously import __version__
from previously.core.exact_names import show_name
from previously.runtime.forget import ToForget
from previously.runtime.keys import LOCAL_OWNER
from previously.server.api.door import Asked, Asker, Cursor, Limit, Opened, Served, tag
from previously.story.json_results import forgotten_json
from previously.story.json_shapes import branch_json, glance_json, version_json
from previously.story.story import Story

router: APIRouter = APIRouter(tags=["stories"])


class NewStory(BaseModel):
    """A story to begin."""

    story: str
    settings: list[str] = Field(default=[], description="Settings of its own, `key=value`.")


class NewName(BaseModel):
    """A new name of a story."""

    story: str


@router.get("/stories")
async def list_stories(memory: Asked, limit: Limit = 100, cursor: Cursor = None) -> dict[str, Any]:
    """List the stories by name, with their last words and what their memory has cost."""
    page = await memory.glance(after=cursor or "", most=limit + 1)
    rows = [glance_json(glance) for glance in page[:limit]]
    return {"stories": rows, "next": rows[-1]["story"] if len(page) > limit else None}


@router.post("/stories", status_code=201)
async def begin_story(memory: Asked, body: NewStory) -> dict[str, Any]:
    """Begin a story. One of that name that is there already is taken as it is."""
    story = await memory.story(body.story)
    if body.settings:
        await story.set(body.settings)
    return await describe_story(story)


@router.get("/stories/{story:name}")
async def show_story(story: Opened, response: Response) -> dict[str, Any]:
    """Return one story: its branches, and where it ends."""
    described = await describe_story(story)
    tag(response, described["etag"])
    return described


@router.patch("/stories/{story:name}")
async def rename_story(memory: Asked, story: Opened, body: NewName) -> dict[str, Any]:
    """Give a story another name."""
    await memory.rename(story.name, body.story)
    return {"story": body.story, "was": story.name, "done": f"{story.name} is called {body.story} now."}


class Forgetting(BaseModel):
    """A confirmed wish to destroy."""

    confirm: str = ""
    first: int | None = None
    last: int | None = None
    keep_backups: bool = False


@router.get("/stories/{story:name}/forget")
async def plan_to_forget(
    memory: Asked, caller: Asker, served: Served, story: Opened, first: int | None = None, last: int | None = None
) -> dict[str, Any]:
    """Say what would be destroyed: messages, or the whole story. `confirm` is for doing it."""
    plan = await memory.to_forget(story.name, first, last)
    confirm = served.confirmations.make(caller.owner, _plan_json(plan))
    return {**_hide_places(caller.owner, _plan_json(plan)), "confirm": confirm}


@router.post("/stories/{story:name}/forget")
async def forget_story(memory: Asked, caller: Asker, served: Served, story: Opened, body: Forgetting) -> dict[str, Any]:
    """Destroy messages, or the whole story, for good."""
    plan = await memory.to_forget(story.name, body.first, body.last)
    served.confirmations.check(body.confirm, caller.owner, _plan_json(plan))
    done = await memory.forget(story.name, body.first, body.last, backups=not body.keep_backups)
    what = f"the story {done.story}" if plan.span is None else f"{done.messages:,} message(s)"
    return {**_hide_places(caller.owner, forgotten_json(done)), "done": f"Forgot {what}."}


def _hide_places(owner: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return the same with numbers for the files of backups, for whoever does not run the server: where its files lie
    is not for them."""
    if owner == LOCAL_OWNER:
        return told
    files = {name: told[name] for name in ("backups", "missing", "still_in") if name in told}
    return told | {name: [f"backup {at}" for at in range(1, len(paths) + 1)] for name, paths in files.items()}


def _plan_json(plan: ToForget) -> dict[str, Any]:
    return {
        "story": plan.story,
        "span": [plan.span.first, plan.span.last] if plan.span else None,
        "messages": plan.messages,
        "others": plan.others,
        "texts": plan.texts,
        "by_hand": plan.by_hand,
        "backups": list(plan.backups),
        "missing": list(plan.missing),
        "copies": [show_name(name) for name in plan.copies],
    }


@router.get("/stories/{story:name}/undo")
async def plan_to_undo(story: Opened) -> dict[str, Any]:
    """Say what would be taken back, and how many messages would leave the story with it."""
    what, messages = await story.to_undo()
    return {"story": story.name, "what": what, "messages": messages}


@router.post("/stories/{story:name}/undo")
async def undo(story: Opened) -> dict[str, Any]:
    """Take back the last thing that a person did."""
    undone = await story.undo()
    return {"story": story.name, "undone": undone, "done": f"Undone: {undone}."}


@router.get("/stories/{story:name}/health")
async def show_health(story: Opened, caller: Asker, served: Served) -> dict[str, Any]:
    """List the folds that failed, each with its cause, and what waits."""
    failures = [
        {**version_json(version), "cause": version.made.reason, "version": version.id}
        for version in await story.failures()
    ]
    run = served.folds.find(caller.owner, story.name)
    return {
        "story": story.name,
        "ok": not failures and (run is None or run.cause is None),
        "failures": failures,
        "waiting": len(await story.pending()),
        "flagged": await story.flagged(),
        "folding": run.state if run else "none",
        "cause": run.cause if run else None,
        "notices": served.list_notices(caller.owner, story),
    }


@router.get("/server")
async def show_server(caller: Asker, served: Served) -> dict[str, Any]:
    """Return what the page shows of the server."""
    facts = served.describe()
    return {
        "version": __version__,
        "owner": caller.owner,
        "model": facts.model or None,
        "endpoint": facts.endpoint or None,
        "proxy": facts.proxy or None,
        "upstream": facts.upstream or None,
        "place": (facts.place or None) if caller.owner == LOCAL_OWNER else None,
        "signed_in": caller.ours,
    }


async def describe_story(story: Story) -> dict[str, Any]:
    """Return a story as it is now."""
    info = await story.info()
    return {
        "story": info.name,
        "branch": info.active.name,
        "head": info.active.head,
        "messages": info.active.messages,
        "branches": [branch_json(branch, info.active.name) for branch in await story.branches()],
        "books": await story.attached_books(),
        "folding": story.folding,
        "etag": str(info.active.head),
    }
