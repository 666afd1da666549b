"""Routes of the model that writes on and folds: which it is, another one, and whether it answers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from previously.core.errors import BadInput
from previously.server.api.door import Asker, Served
from previously.server.api.files import expect_operator
from previously.server.model_choice import ModelChoice

router: APIRouter = APIRouter(prefix="/model", tags=["model"])


class ModelWish(BaseModel):
    """A model to use or to try."""

    endpoint: str = Field(default="", max_length=2_000)
    model: str = Field(default="", max_length=500)
    key: str | None = Field(default=None, max_length=5_000, description="None keeps the one that is known.")


def _expect(choice: ModelChoice | None) -> ModelChoice:
    if choice is None:
        raise BadInput("This server has no model.")
    return choice


@router.get("")
async def show_model(served: Served) -> dict[str, Any]:
    """Say which model writes on and folds. Its key is never told."""
    return _expect(served.choice).describe()


@router.put("")
async def choose_model(caller: Asker, served: Served, body: ModelWish) -> dict[str, Any]:
    """Use a model from now on."""
    expect_operator(caller.owner)
    return await _expect(served.choice).choose(body.endpoint, body.model, body.key)


@router.post("/test")
async def try_model(caller: Asker, served: Served, body: ModelWish) -> dict[str, Any]:
    """Ask a model for one word, and say how it went."""
    if body.endpoint or body.model:
        expect_operator(caller.owner)
    return await _expect(served.choice).try_out(body.endpoint, body.model, body.key)
