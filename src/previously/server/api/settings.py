"""Routes of settings: those in force and where each comes from, a story's own, and what they would change."""

from __future__ import annotations

import ast
import inspect
import os
from functools import cache
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from previously.presets import CHOICES, describe_presets
from previously.server.api.door import Asked, Opened
from previously.settings import DEFAULTS, Layer, Origin, Settings, explain_settings
from previously.settings_file import find_effective
from previously.story.story import Story

router: APIRouter = APIRouter(tags=["settings"])


class Assignments(BaseModel):
    """Settings to give a story, all or none."""

    set: list[str] = Field(description="`key=value`; `key=` takes one back.")


class Trial(Assignments):
    """Settings to try."""

    budget: int | None = Field(default=None, ge=1, le=10**12)


@router.get("/settings")
async def show_settings() -> dict[str, Any]:
    """Return every setting that holds for all stories, and where it comes from."""
    return {"settings": _explain({})}


@router.get("/stories/{story:name}/settings")
async def show_story_settings(story: Opened) -> dict[str, Any]:
    """Return every setting of a story, and where it comes from."""
    own = await story.settings()
    return {"story": story.name, "settings": _explain(own, story.name), "own": own}


@router.patch("/stories/{story:name}/settings")
async def change_settings(story: Opened, body: Assignments) -> dict[str, Any]:
    """Give a story settings of its own, all or none."""
    await story.set(body.set)
    own = await story.settings()
    return {"story": story.name, "settings": _explain(own, story.name), "own": own}


@router.post("/stories/{story:name}/settings/preview")
async def preview_settings(memory: Asked, story: Opened, body: Trial) -> dict[str, Any]:
    """Say what settings would change in this story; nothing is kept."""
    then = await memory.story_with(story.name, body.set)
    own = await then.settings()
    return {
        "story": story.name,
        "settings": _explain(own, story.name),
        "now": await _weigh(story, body.budget),
        "then": await _weigh(then, body.budget),
    }


async def _weigh(story: Story, budget: int | None) -> dict[str, Any]:
    seen, plan = await story.view(budget, aside=True), await story.plan()
    return {
        "budget_tokens": seen.budget_tokens,
        "tokens": seen.tokens,
        "sections": {section.value: tokens for section, tokens in seen.report.sections.items()},
        "left_out": len(seen.left_out),
        "fold_due": seen.fold_due,
        "folds": len(plan.folds),
        "calls": plan.calls,
        "price": story.compute_price(plan),
    }


def _explain(own: dict[str, Any], story: str = "") -> dict[str, Any]:
    layers = find_effective(os.environ)[1]
    if story:
        layers = [*layers, Layer(Origin.STORY, own, f"the settings of {story}")]
    return {key: {**setting, **_describe(key)} for key, setting in explain_settings(layers).items()}


def _describe(key: str) -> dict[str, Any]:
    choices = {"choices": list(CHOICES[key])} if key in CHOICES else {}
    return {"default": DEFAULTS[key], "meaning": _read_meanings().get(key, ""), **choices}


@cache
def _read_meanings() -> dict[str, str]:
    """Return what each setting means: the words below it in the source; nothing where there is no source."""
    try:
        tree = ast.parse(inspect.getsource(Settings))
    except OSError:
        return {}
    (described,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {
        field.target.id: inspect.cleandoc(words.value.value).replace("\n", " ")
        for field, words in zip(described.body, described.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        and isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant) and isinstance(words.value.value, str)
    }  # fmt: skip


@router.get("/presets")
async def list_presets(preset: str | None = None) -> dict[str, Any]:
    """List the kinds of stories, and what each means."""
    return {"presets": describe_presets(preset)}
