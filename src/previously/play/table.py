"""The table of games for a server: each call opens a slot, does one thing, and tells how things stand.

All it gives is JSON: events of a turn by name, and the state of a slot with the cast and what each of them knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from previously.app import Memory
from previously.core.errors import BadInput
from previously.models.client import Model
from previously.play.events import Asked, BeatHit, ChapterOver, Event, Said, Trouble, Words, ignore_event
from previously.play.game import Game
from previously.play.game_files import read_game, read_shipped_game
from previously.play.script_model import ScriptedGameModel
from previously.play.session import GameSession, list_slots, meter_model, name_story
from previously.story.json_shapes import cast_json

NAMES: dict[type[Any], str] = {
    Asked: "asked", Words: "words", Said: "said", Trouble: "trouble", BeatHit: "beat", ChapterOver: "chapter"
}  # fmt: skip
"""The events of a turn, by the names under which they are told."""


class PlayTable:
    """Games that are played in a browser: the one that comes along, and those of some folders."""

    def __init__(self, folders: Sequence[Path] = (), *, scripted: bool = False) -> None:
        """With `scripted`, the model that comes along plays, also where another is configured."""
        games = [read_shipped_game(), *(read_game(folder) for folder in folders)]
        self._games = {game.id: game for game in games}
        self._scripted = scripted

    async def list_games(self, memory: Memory) -> list[dict[str, Any]]:
        """Return every game with its slots, each with the name of its story."""
        return [
            {
                "game": game.id,
                "title": game.title,
                "player": game.player,
                "chapters": len(game.chapters),
                "characters": [person.name for person in game.characters.values()],
                "slots": [{"slot": slot, "story": name_story(game, slot)} for slot in await list_slots(memory, game)],
            }
            for game in self._games.values()
        ]

    def name_story(self, game: str, slot: str) -> str:
        """Return the story that a slot is."""
        return name_story(self._find(game), slot)

    async def describe(self, memory: Memory, game: str, slot: str) -> dict[str, Any]:
        """Open a slot, a new one if there is none of that name, and return how things stand in it."""
        return await _describe(await self._open(memory, game, slot))

    async def take_turn(
        self,
        memory: Memory,
        owner: str,
        model: Model | None,
        game: str,
        slot: str,
        words: str,
        tell: Callable[[str, dict[str, Any]], None],
    ) -> dict[str, Any]:
        """Play one turn, and return how things stand then. Without a model, a script plays along."""

        def tell_event(event: Event) -> None:
            tell(NAMES[type(event)], asdict(event))

        metered = meter_model(ScriptedGameModel() if model is None or self._scripted else model)
        shared = memory.sharing(owner, metered)
        try:
            session = await GameSession.open(shared, self._find(game), metered, slot=slot, tell=tell_event)
            done = await session.take_turn(words)
            state = await _describe(session)
        finally:
            await shared.close()
        return {**state, "hit": list(done.hit), "calls": metered.meter.calls}

    async def undo(self, memory: Memory, game: str, slot: str, turns: int) -> dict[str, Any]:
        """Take back turns, and return how things stand then."""
        session = await self._open(memory, game, slot)
        undone = await session.undo(turns)
        return {**await _describe(session), "undone": undone}

    async def _open(self, memory: Memory, game: str, slot: str) -> GameSession:
        """Open a slot to look at it: no model is asked."""
        return await GameSession.open(
            memory, self._find(game), meter_model(ScriptedGameModel()), slot=slot, tell=ignore_event
        )

    def _find(self, game: str) -> Game:
        if game not in self._games:
            raise BadInput(f"There is no game {game!r} here; there are {', '.join(self._games)}.")
        return self._games[game]


async def _describe(session: GameSession) -> dict[str, Any]:
    game, state = session.game, session.state
    chapter = game.chapters[state.chapter]
    known = {item.name: cast_json(item) for item in await session.story.cast()}
    return {
        "game": game.id,
        "title": game.title,
        "slot": session.story.name.removeprefix(f"play-{game.id}-"),
        "story": session.story.name,
        "player": game.player,
        "turn": state.turn,
        "chapter": chapter.title,
        "beats": [{"beat": beat, "hit": beat in state.beats} for beat in chapter.beats if beat in state.beats],
        "complete": state.complete,
        "mood": state.mood,
        "interrupted": session.interrupted,
        "cast": [
            {"name": person.name, "present": stem in state.present, "knows": known.get(person.name)}
            for stem, person in game.characters.items()
            if stem in chapter.characters or person.name in known
        ],
    }
