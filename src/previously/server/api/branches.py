"""Routes of branches."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from previously.server.api.door import Opened
from previously.story.json_shapes import branch_json

router: APIRouter = APIRouter(prefix="/stories/{story:name}/branches", tags=["branches"])


class NewBranch(BaseModel):
    """A branch to make."""

    branch: str
    at: int | None = Field(default=None, description="The last message it takes over; else all.")


class BranchName(BaseModel):
    """A new name of a branch."""

    branch: str


@router.get("")
async def list_branches(story: Opened) -> dict[str, Any]:
    """List the branches, the oldest first."""
    active = (await story.branch_info()).name
    rows = [branch_json(branch, active) for branch in await story.branches()]
    return {"story": story.name, "active": active, "branches": rows}


@router.post("", status_code=201)
async def add_branch(story: Opened, body: NewBranch) -> dict[str, Any]:
    """Make a branch; the active one stays active."""
    made = await story.branch(body.branch, body.at)
    active = (await story.branch_info()).name
    done = f"Made branch {made.name} with {made.messages:,} messages; {active} is still active."
    return {"story": story.name, **branch_json(made, active), "active": active, "done": done}


@router.patch("/{branch:name}")
async def rename_branch(story: Opened, branch: str, body: BranchName) -> dict[str, Any]:
    """Give a branch another name."""
    made = await story.rename_branch(branch, body.branch)
    active = (await story.branch_info()).name
    done = f"{branch} is called {made.name} now."
    return {"story": story.name, **branch_json(made, active), "active": active, "done": done}


@router.post("/{branch:name}/switch")
async def switch_branch(story: Opened, branch: str) -> dict[str, Any]:
    """Go on with another branch."""
    now = await story.switch(branch)
    done = f"{story.name} goes on with branch {now.name}, {now.messages:,} messages."
    return {"story": story.name, **branch_json(now, now.name), "active": now.name, "done": done}
