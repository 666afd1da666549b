"""Routes of upkeep: keys, checks, cleaning."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from previously.core.errors import BadInput, PreviouslyError
from previously.runtime.keys import LOCAL_OWNER
from previously.server.api.door import Asked, Asker, Served
from previously.server.api.files import expect_operator
from previously.story.json_results import verified_json
from previously.story.json_shapes import key_json

router: APIRouter = APIRouter(tags=["upkeep"])


class NewKey(BaseModel):
    """A key to make."""

    name: str
    owner: str | None = Field(default=None, description="Whose stories it opens; else yours.")


class Cleaning(BaseModel):
    """A wish to clean."""

    older_than_s: float = Field(default=3_600.0, ge=0, allow_inf_nan=False, le=10**9)
    shrink: bool = False


@router.get("/keys")
async def list_keys(memory: Asked, caller: Asker) -> dict[str, Any]:
    """List the keys: all of them for whoever runs the server, else your own."""
    keys = await memory.keys()
    return {"keys": [key_json(key) for key in keys if caller.owner in (LOCAL_OWNER, key.owner)]}


@router.post("/keys", status_code=201)
async def add_key(memory: Asked, caller: Asker, body: NewKey) -> dict[str, Any]:
    """Make a key. It is told here, once."""
    owner, name = body.owner or caller.owner, body.name
    if owner != caller.owner:
        expect_operator(caller.owner)
    if caller.owner != LOCAL_OWNER and not name.startswith(f"{owner}/"):
        name = f"{owner}/{name}"  # the names of all keys are in one place: nobody learns which ones others have taken
    key, kept = await memory.add_key(name, owner=owner)
    return {**key_json(kept), "key": key}


@router.delete("/keys/{name:name}")
async def remove_key(memory: Asked, caller: Asker, name: str) -> dict[str, Any]:
    """Take a key away: it is refused within seconds."""
    if caller.owner != LOCAL_OWNER and name not in [
        key.name for key in await memory.keys() if key.owner == caller.owner
    ]:
        raise BadInput(f"There is no key named {name!r}.")
    gone = await memory.remove_key(name)
    return {"removed": gone.name, "owner": gone.owner, "done": f"Key {gone.name} is gone."}


@router.get("/verify")
async def verify(memory: Asked) -> dict[str, Any]:
    """Check that everything of yours is stored soundly. Nothing is changed."""
    return verified_json(await memory.verify())


@router.post("/gc")
async def clean(memory: Asked, caller: Asker, body: Cleaning) -> dict[str, Any]:
    """Take away what no story needs."""
    if body.shrink:
        expect_operator(caller.owner)
    return asdict(await memory.gc(older_than_s=body.older_than_s, shrink=body.shrink))


@router.get("/doctor")
async def check_all(memory: Asked, served: Served) -> dict[str, Any]:
    """Say whether the stories can be read and the model answers."""
    checks = []
    try:
        stories = len(await memory.stories())
        checks.append({"what": "Stories", "ok": True, "detail": f"{stories:,} can be read"})
    except PreviouslyError as error:
        checks.append({"what": "Stories", "ok": False, "detail": str(error)})
    description = await served.describe_model() if served.describe_model else None
    if description is None:
        detail = "none named; memory quotes the story, lore, cast and state need a model or a person"
        checks.append({"what": "Model", "ok": True, "detail": detail})
    else:
        reason = description.get("reason") or "the endpoint does not answer"
        is_there = bool(description.get("reachable"))
        detail = f"{description.get('model')} answers" if is_there else str(reason)
        checks.append({"what": "Model", "ok": is_there, "detail": detail})
    return {"ok": all(check["ok"] for check in checks), "checks": checks, "model": description}
