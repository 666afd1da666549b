"""Routes of shared memories: what a character, a world or a project keeps for every story that attaches it."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from previously.app import Memory
from previously.core.fact_book import SharedMemory
from previously.server.api.door import Asked, Asker, Served
from previously.server.api.messages import OwnWords
from previously.server.api.problems import Problem
from previously.story.json_shapes import shared_json

router: APIRouter = APIRouter(prefix="/shared", tags=["shared memories"])


class NewShared(BaseModel):
    """A shared memory to begin."""

    name: str
    kind: Literal["character", "world", "project"]
    of: str = Field(default="", description="The character whose it is.")


class SharedSource(BaseModel):
    """A story to keep something of."""

    story: str


class SharedRule(BaseModel):
    """The rule of a shared memory."""

    learns: bool = Field(description="What the character learns in one story is known in the others.")


@router.get("")
async def list_shared(memory: Asked) -> dict[str, Any]:
    """List your shared memories, and the stories that have each attached."""
    return {"shared": [await _show(memory, one) for one in await memory.shared()]}


@router.post("", status_code=201)
async def begin_shared(memory: Asked, body: NewShared) -> dict[str, Any]:
    """Begin a shared memory."""
    return await _show(memory, await memory.share(body.name, body.kind, body.of), f"{body.name} is begun.")


@router.get("/{shared:name}")
async def show_shared(memory: Asked, shared: str) -> dict[str, Any]:
    """Show the facts of a shared memory, each with where it is from."""
    return await _show(memory, await memory.shared_memory(shared))


@router.delete("/{shared:name}")
async def forget_shared(memory: Asked, caller: Asker, served: Served, shared: str, confirm: str = "") -> dict[str, Any]:
    """Destroy a shared memory. Without a `confirm` nothing is done, and the refusal tells it."""
    facts = len((await memory.shared_memory(shared)).facts)
    if not confirm:
        sentence = f"{shared} goes for good, {facts:,} facts, from every story."
        made = served.confirmations.make(caller.owner, "shared", shared, facts)
        raise Problem(428, "confirm", sentence, confirm=made)
    served.confirmations.check(confirm, caller.owner, "shared", shared, facts)
    await memory.forget_book(shared)
    return {"forgotten": shared, "facts": facts, "done": f"Forgot {shared}."}


@router.post("/{shared:name}/facts", status_code=201)
async def add_fact(memory: Asked, shared: str, body: OwnWords) -> dict[str, Any]:
    """Put a fact there."""
    return await _show(memory, await memory.add_shared(shared, body.text), "The fact is kept.")


@router.put("/{shared:name}/facts/{fact}")
async def edit_fact(memory: Asked, shared: str, fact: int, body: OwnWords) -> dict[str, Any]:
    """Put your words in place of a fact."""
    made = await memory.edit_shared(shared, fact, body.text)
    return await _show(memory, made, f"Fact {fact} of {shared} is yours now.")


@router.delete("/{shared:name}/facts/{fact}")
async def remove_fact(memory: Asked, shared: str, fact: int) -> dict[str, Any]:
    """Take a fact away; `undo` brings it back."""
    return await _show(memory, await memory.remove_shared(shared, fact), f"Fact {fact} of {shared} is gone.")


@router.post("/{shared:name}/undo")
async def undo_shared(memory: Asked, shared: str) -> dict[str, Any]:
    """Take back the last change of the facts."""
    return await _show(memory, await memory.undo_shared(shared), f"The last change of {shared} is taken back.")


@router.post("/{shared:name}/keep")
async def keep_facts(memory: Asked, shared: str, body: SharedSource) -> dict[str, Any]:
    """Keep what the character knows in a story now, for the others."""
    made = await memory.keep_shared(shared, body.story)
    return await _show(memory, made, f"{shared} holds {len(made.facts):,} facts.")


@router.put("/{shared:name}/rule")
async def set_rule(memory: Asked, shared: str, body: SharedRule) -> dict[str, Any]:
    """Say whether stories that attach a character's memory know what the character learns in the others."""
    made = await memory.rule_shared(shared, learns=body.learns)
    told = "is known in the others" if made.learns else "stays there"
    return await _show(memory, made, f"What {made.of or shared} learns in a story {told}.")


async def _show(memory: Memory, shared: SharedMemory, done: str = "") -> dict[str, Any]:
    said = {"done": done} if done else {}
    return {**shared_json(shared), "stories": await memory.sharing_stories(shared.name), **said}
