"""Routes of games: which there are, their slots, turns as they are told, and what each character knows."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from previously.server.api.door import Asked, Asker, Served, Services
from previously.server.api.problems import Problem
from previously.server.api.replies import EVENTS, Key, start_run, stream_run
from previously.server.game_table import GameTable
from previously.server.reply_desk import ReplyRun

router: APIRouter = APIRouter(prefix="/games", tags=["games"])


class GameTurn(BaseModel, extra="forbid"):
    """A turn to play."""

    text: str = Field(max_length=10_000, description="What the player says and does.")


class TurnsBack(BaseModel, extra="forbid"):
    """Turns to take back."""

    turns: int = Field(default=1, ge=1, le=1_000)


@router.get("")
async def list_games(memory: Asked, services: Served) -> dict[str, Any]:
    """List the games, and the slots of each."""
    games = await services.games.list_games(memory) if services.games else []
    return {"games": games}


@router.get("/{game:name}/{slot:name}")
async def show_slot(memory: Asked, services: Served, game: str, slot: str) -> dict[str, Any]:
    """Return how things stand in a slot: the chapter, who is there, and what each knows."""
    return await (await _find_slot(services, memory, game, slot)).describe(memory, game, slot)


@router.post("/{game:name}/{slot:name}")
async def open_slot(memory: Asked, services: Served, game: str, slot: str) -> dict[str, Any]:
    """Open a slot; a new one begins with the opening of the first chapter."""
    return await _find_table(services).describe(memory, game, slot)


@router.post("/{game:name}/{slot:name}/turn", responses={200: EVENTS}, response_class=StreamingResponse)
async def take_turn(
    memory: Asked, asker: Asker, services: Served, game: str, slot: str, body: GameTurn, key: Key = None
) -> StreamingResponse:
    """Play a turn, and send what is told and said as it comes."""
    table = _find_table(services)
    model = await services.model_of(asker.owner) or memory.model
    name = table.name_story(game, slot)

    async def work(run: ReplyRun) -> dict[str, Any]:
        return await table.take_turn(memory, asker.owner, model, game, slot, body.text, run.tell)

    return stream_run(start_run(services, asker.owner, name, key or "", model.name if model else "", work))


@router.post("/{game:name}/{slot:name}/undo")
async def undo_turns(memory: Asked, services: Served, game: str, slot: str, body: TurnsBack) -> dict[str, Any]:
    """Take back turns, with all the memory they made."""
    return await (await _find_slot(services, memory, game, slot)).undo(memory, game, slot, body.turns)


def _find_table(services: Services) -> GameTable:
    if services.games is None:
        raise Problem(404, "not_found", "No games are played on this server.")
    return services.games


async def _find_slot(services: Services, memory: Any, game: str, slot: str) -> GameTable:
    """Return the table at which a save is played; `Problem` 404 if there is no such save."""
    table = _find_table(services)
    games = await table.list_games(memory)
    if not any(slot == known["slot"] for listed in games if listed["game"] == game for known in listed["slots"]):
        raise Problem(404, "not_found", f"There is no save {slot!r} of this game.")
    return table
