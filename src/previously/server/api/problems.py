"""Problems: every error of the API as `application/problem+json`, in the sentence that the command line says."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from previously.core.errors import (
    BadInput,
    HeadMoved,
    PreviouslyError,
    StoreProblem,
    StoryGone,
    TextChanged,
    UnknownBranch,
    UnknownStory,
)
from previously.server.refusals import Refusal
from previously.story.json_shapes import make_etag

log: logging.Logger = logging.getLogger("previously.server")

MEDIA = "application/problem+json"

STATUSES: list[tuple[type[Exception], int, str]] = [
    (UnknownStory, 404, "unknown_story"),
    (StoryGone, 404, "unknown_story"),
    (UnknownBranch, 404, "unknown_branch"),
    (BadInput, 400, "bad_input"),
    (HeadMoved, 409, "moved"),
    (StoreProblem, 503, "store_unavailable"),
    (PreviouslyError, 502, "failed"),  # what remains: a model that cannot be asked
]
"""The status and the code of each error, the first that it is."""

DESCRIPTIONS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "It could not be done; `detail` says why in a sentence.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""The description of all errors, for the document that describes the API."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
    },
}


class Problem(Exception):
    """An error of the API itself, with more fields than a sentence."""

    def __init__(self, status: int, code: str, detail: str, **more: object) -> None:
        super().__init__(detail)
        self.status: int = status
        self.code: str = code
        self.detail: str = detail
        self.more: dict[str, object] = more


def write_problem(
    status: int, code: str, detail: str, more: Mapping[str, object] = {}, headers: Mapping[str, str] = {}
) -> Response:
    """Return a problem as a response."""
    title = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Error"
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code, **more}
    return Response(json.dumps(body).encode(), status, {"cache-control": "no-store", **headers}, MEDIA)


async def _answer_error(_: Request, error: Exception) -> Response:
    if isinstance(error, TextChanged):
        current = {"text": error.current, "etag": make_etag(error.current)}
        return write_problem(412, "changed", str(error), {"current": current}, {"etag": f'"{current["etag"]}"'})
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            return write_problem(status, code, str(error))
    raise error


async def _answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return write_problem(error.status, error.code, error.detail, error.more)


async def _answer_refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    headers = {name.decode(): value.decode("latin-1") for name, value in error.headers}
    return write_problem(error.status, error.code, error.message, headers=headers)


async def _answer_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    code = "not_found" if error.status_code == 404 else "bad_request"
    detail = words.get(error.status_code, str(error.detail))
    return write_problem(error.status_code, code, detail, headers=error.headers or {})


async def _answer_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    broken = next((fault for fault in error.errors() if fault["type"] == "json_invalid"), None)
    if broken:
        detail = f"The body is no JSON: {broken['ctx']['error']} at character {broken['loc'][-1]}."
        return write_problem(422, "bad_request", detail)
    faults = [
        {"field": ".".join(str(part) for part in fault["loc"][1:]) or "body", "fault": str(fault["msg"])}
        for fault in error.errors()
    ]
    first = faults[0] if faults else {"field": "body", "fault": "cannot be read"}
    detail = f"{first['field']}: {first['fault'][:1].lower()}{first['fault'][1:].rstrip('.')}."
    return write_problem(422, "bad_request", detail, {"errors": faults})


async def _answer_odd_value(_: Request, error: Exception) -> Response:
    """Refuse a value that no database keeps: half a character, or a number of more than 64 bits."""
    what = "a number that is too large" if isinstance(error, OverflowError) else "half of a character"
    return write_problem(400, "bad_input", f"The request holds {what}; nothing was changed.")


async def refuse_half_characters(request: Request) -> None:
    """Raise `UnicodeEncodeError` for a body with half of a character, which JSON can spell and nobody can keep."""
    if request.headers.get("content-type", "").startswith("application/json"):
        body = await request.body()
        if b"\\ud" in body.lower():
            json.dumps(json.loads(body), ensure_ascii=False).encode()


async def _answer_failure(_: Request, error: Exception) -> Response:
    if type(error).__module__.partition(".")[0] in ("apsw", "psycopg", "psycopg_pool"):
        return write_problem(503, "store_unavailable", f"The stories cannot be read or written: {error}.")
    log.error("A request of the API failed: %s", type(error).__name__, exc_info=error)
    return write_problem(500, "internal", "Something went wrong here; the log says what.")


def add_handlers(app: FastAPI) -> None:
    """Let the application answer every error as a problem."""
    app.add_exception_handler(PreviouslyError, _answer_error)
    app.add_exception_handler(Problem, _answer_problem)
    app.add_exception_handler(Refusal, _answer_refusal)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(UnicodeEncodeError, _answer_odd_value)
    app.add_exception_handler(OverflowError, _answer_odd_value)
    app.add_exception_handler(Exception, _answer_failure)
