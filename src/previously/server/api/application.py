"""The API as an application: its routes, loaded when it is first asked for.

FastAPI, Pydantic and the routes take about 0.6 seconds of CPU and 30 MB. A server that only passes chats on never loads
them.
"""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp

from previously import __version__
from previously.server.api import (
    books,
    branches,
    directories,
    events,
    fact_books,
    files,
    folds,
    games,
    lists,
    memories,
    messages,
    models,
    prompts,
    replies,
    settings,
    sign_in,
    stories,
    things,
    upkeep,
    views,
)
from previously.server.api.door import Segments, Services
from previously.server.api.idempotency import Idempotency
from previously.server.api.problems import DESCRIPTIONS, SCHEMA, add_handlers, refuse_half_characters

MODULES = [
    stories, messages, branches, folds, views, memories, things, lists, books, settings, files, upkeep, events, sign_in,
    replies, games, prompts, fact_books, directories, models,
]  # fmt: skip
ROUTERS = [module.router for module in MODULES]


def make_api(services: Services) -> ASGIApp:
    """Return the API."""
    return Idempotency(Segments(make_application(services)), services.memory_of)


def make_application(services: Services) -> FastAPI:
    """Return the application itself, as tests ask it for its routes."""
    app = FastAPI(
        title="Previously",
        version=__version__,
        description="Stories and their memory. docs/api.md explains each route.",
        docs_url=None,
        redoc_url=None,
        responses=DESCRIPTIONS,
        dependencies=[Depends(refuse_half_characters)],
        separate_input_output_schemas=False,
    )
    app.state.services = services
    for router in ROUTERS:
        app.include_router(router)
    add_handlers(app)

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes,
                servers=[{"url": "/api/v1"}], separate_input_output_schemas=False,
            )  # fmt: skip
            components = schema.setdefault("components", {}).setdefault("schemas", {})
            components["Problem"] = SCHEMA
            for unused in ("HTTPValidationError", "ValidationError"):
                components.pop(unused, None)
            for path in schema["paths"].values():
                for route in path.values():
                    route["responses"].pop("422", None)  # it is a problem like any other
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]
    return app
