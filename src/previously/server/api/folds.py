"""Routes of folding: what is due, a run with its progress, analyses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from previously.core.errors import BadInput
from previously.runtime.fold_loop import Progress
from previously.runtime.fold_report import FoldReport
from previously.server.api.door import Asker, Opened, Served
from previously.server.api.fold_runs import FoldRun
from previously.server.api.responses import answer_events, write_event
from previously.story.json_results import report_json
from previously.story.json_shapes import analysis_json
from previously.story.story import Story

router: APIRouter = APIRouter(prefix="/stories/{story:name}", tags=["folding"])


class FoldWish(BaseModel):
    """A wish to fold."""

    once: bool = Field(default=False, description="One span at most.")
    anew: bool = Field(default=False, description="Everything anew, what is folded already too.")
    model: str = Field(default="", description="Another model at the same endpoint.")


class AnalysisWish(BaseModel):
    """A wish to analyse."""

    position: int | None = None
    again: bool = False


@router.get("/fold/plan")
async def plan_fold(
    story: Opened, caller: Asker, served: Served, anew: bool = False, once: bool = False
) -> dict[str, Any]:
    """Say what would be folded."""
    opened = await served.open_folding(caller.owner, story.name)
    report = await opened.plan(anew=anew, once=once)
    return report_json(story.name, report, opened.compute_price(report))


@router.post("/fold", status_code=202)
async def start_fold(story: Opened, caller: Asker, served: Served, body: FoldWish) -> dict[str, Any]:
    """Begin to fold all that is due."""
    if body.anew and body.once:
        raise BadInput("To fold everything anew does not go with folding once.")
    opened = await served.open_folding(caller.owner, story.name, body.model)

    async def fold(progress: Progress) -> FoldReport:
        if body.anew:
            return await opened.rebuild(progress=progress)
        return await opened.fold(once=body.once, progress=progress)

    return describe_run(opened, served.folds.start(caller.owner, story.name, fold))


@router.get("/fold")
async def show_fold(story: Opened, caller: Asker, served: Served) -> dict[str, Any]:
    """Return the run that is under way, or the last one."""
    return describe_run(story, served.folds.find(caller.owner, story.name))


@router.delete("/fold")
async def cancel_fold(story: Opened, caller: Asker, served: Served) -> dict[str, Any]:
    """Stop folding; what was folded stays."""
    return describe_run(story, await served.folds.cancel(caller.owner, story.name))


@router.get("/fold/events", response_class=StreamingResponse)
async def follow_fold(story: Opened, caller: Asker, served: Served) -> StreamingResponse:
    """Tell how a run goes on, as server-sent events."""
    run = served.folds.find(caller.owner, story.name)

    async def tell() -> AsyncIterator[bytes]:
        if run is not None:
            async for progress in served.folds.follow(run):
                yield write_event("fold", {"story": story.name, "id": run.id, **progress})
        yield write_event("end", describe_run(story, run))

    return answer_events(tell())


@router.post("/analyze")
async def analyze(story: Opened, caller: Asker, served: Served, body: AnalysisWish) -> dict[str, Any]:
    """Analyse fragments as the librarian does."""
    opened = await served.open_folding(caller.owner, story.name)
    report = await opened.analyze(body.position, again=body.again)
    wanted = {done.span.first for done in report.folds}
    rows = [
        analysis_json(at, one)
        for at, one in await story.analyses()
        if (at in wanted if body.position is None else at == body.position)
    ]
    return {**report_json(story.name, report, opened.compute_price(report)), "analyses": rows}


def describe_run(story: Story, run: FoldRun | None) -> dict[str, Any]:
    """Return how a run stands."""
    if run is None:
        return {"story": story.name, "id": None, "state": "none", "done": 0, "total": 0, "report": None, "cause": None}
    report = run.report
    return {
        "story": story.name,
        "id": run.id,
        "state": run.state,
        "done": run.done,
        "total": run.total,
        "report": report_json(story.name, report, story.compute_price(report)) if report else None,
        "cause": run.cause,
    }
