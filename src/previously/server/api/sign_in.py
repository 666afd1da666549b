"""Routes of the session: signing in with a key where keys are asked for, and signing out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from previously.server.api.door import Asker, Served
from previously.server.api.problems import Problem
from previously.server.sessions import COOKIE, KEPT_S, find_session

router: APIRouter = APIRouter(tags=["session"])


class SignIn(BaseModel):
    """A key to sign in with."""

    key: str = Field(min_length=1, max_length=1_024)


@router.get("/session")
async def show_session(caller: Asker, served: Served) -> dict[str, Any]:
    """Say who is signed in."""
    required = served.callers is not None and await served.callers.required()
    return {"signed_in": caller.ours, "owner": caller.owner or None, "keys_required": required}


@router.post("/session")
async def sign_in(request: Request, response: Response, served: Served, body: SignIn) -> dict[str, Any]:
    """Sign in with a key: the browser gets a cookie, which no script can read."""
    if served.callers is None or not await served.callers.required():
        raise Problem(400, "no_keys", "This server asks for no key.")
    client = request.client.host if request.client else ""
    owner, token = await served.callers.sign_in(body.key, client)
    secure = request.headers.get("origin", "").startswith("https://")
    response.set_cookie(COOKIE, token, max_age=int(KEPT_S), path="/", httponly=True, samesite="strict", secure=secure)
    return {"owner": owner}


@router.delete("/session", status_code=204)
async def sign_out(request: Request, response: Response, served: Served) -> None:
    """Sign out."""
    token = find_session(request.scope["headers"])
    if token is not None and served.callers is not None:
        served.callers.sessions.end(token)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
