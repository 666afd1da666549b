"""Routes of what a model sees and what is found: the view, what it was at an earlier turn, search, questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from previously.server.api.door import Asked, Asker, Opened, Served
from previously.story.json_results import answer_json, hit_json, model_search_json, view_json

router: APIRouter = APIRouter(tags=["view"])

Budget = Annotated[int | None, Query(ge=1, le=10**12, description="Tokens it may take.")]
Question = Annotated[str, Query(min_length=1, max_length=10_000, description="What to look for, in plain words.")]
Top = Annotated[int | None, Query(ge=1, le=200, description="How many at most.")]
Witness = Annotated[str | None, Query(alias="as", description="Only what this character witnessed.")]

WithModel = Annotated[bool, Query(description="Let the memory model add words and pick: two calls.")]


@router.get("/stories/{story:name}/view")
async def show_view(
    story: Opened,
    budget: Budget = None,
    reader: str = "chat",
    before: int | None = None,
    exclude: Annotated[list[str], Query()] = [],  # noqa: B006
) -> dict[str, Any]:
    """Return what the model would see now. To look at it changes nothing."""
    seen = await story.view(budget, reader=reader, before=before, exclude=exclude, aside=True)
    return view_json(seen)


@router.get("/stories/{story:name}/messages/{position}/saw")
async def show_what_was_seen(story: Opened, position: int, reader: str = "chat") -> dict[str, Any]:
    """Return what the model saw when it gave the answer at a position."""
    return view_json(await story.why(position, reader=reader))


@router.get("/stories/{story:name}/search")
async def search_story(
    story: Opened,
    caller: Asker,
    served: Served,
    q: Question,
    top: Top = None,
    budget: Budget = None,
    witness: Witness = None,
    with_model: WithModel = False,
) -> dict[str, Any]:
    """Find messages again, the best first; with a model, by other words too that it writes, and what it picks of these
    first: two calls."""
    if not with_model:
        hits = await story.search(q, top=top, budget_tokens=budget, witness=witness)
        return {"story": story.name, "query": q, "hits": [hit_json(hit) for hit in hits]}
    opened = await served.open_folding(caller.owner, story.name)
    found = await opened.search_with_model(q, top=top, budget_tokens=budget, witness=witness)
    shown = [hit_json(hit) for hit in found.hits]
    return {"story": story.name, "query": q, "hits": shown, **model_search_json(found)}


@router.get("/search")
async def search_all(memory: Asked, q: Question, top: Top = None) -> dict[str, Any]:
    """Find messages in all stories, the best first."""
    found: dict[tuple[str, int, str], dict[str, Any]] = {}
    for info in await memory.stories():
        story = await memory.story(info.name, create=False)
        for hit in await story.search(q, top=top):
            at = hit.story or info.name  # what a story inherits is told once, where it was said
            row = {"story": at, **hit_json(replace(hit, story=""))}
            known = found.setdefault((at, hit.position, hit.text), row)
            known["score"] = max(known["score"], hit.score)
    hits = sorted(found.values(), key=lambda hit: -float(hit["score"]))
    return {"query": q, "hits": hits[: top or 10]}


class Asking(BaseModel):
    """A question about a story."""

    question: str = Field(min_length=1)
    budget: int | None = Field(default=None, ge=1, le=10**12)
    witness: str | None = Field(default=None, alias="as", description="Only what this character may know.")
    sources_only: bool = Field(default=False, description="Ask no model.")


@router.post("/stories/{story:name}/ask")
async def ask_story(story: Opened, caller: Asker, served: Served, body: Asking) -> dict[str, Any]:
    """Answer a question, with the passages that answer it."""
    opened = await served.open_folding(caller.owner, story.name)
    answer = await opened.ask(
        body.question, budget_tokens=body.budget, witness=body.witness, by_model=not body.sources_only
    )
    return answer_json(story.name, answer)
