"""Games, models and sessions for tests of play."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from previously import Memory
from previously.core.model_io import ModelRequest
from previously.play.events import Event
from previously.play.game import Game
from previously.play.game_files import read_game
from previously.play.model_meter import MeteredModel, identify_agent
from previously.play.script_model import ScriptedGameModel
from previously.play.session import GameSession
from previously.testing.model import Scripted, ScriptedModel

FILES = {
    "game.yaml": """
id: mill
title: The Mill
description: Two people, a key and a room.
player: Tess
characters: [maya, bram, odalys]
chapters: [one, two]
""",
    "world.yaml": "setting: A mill by a river.\nrules: [Nothing here is magic.]\n",
    "characters/maya.yaml": """
name: Maya
role: the miller
personality: Speaks slowly and means it.
secret: The brass key lies under the third stair of the mill.
relationships: {bram: her brother}
""",
    "characters/bram.yaml": """
name: Bram
role: a carter
personality: Laughs first.
secret: He sold the horse to Conrad for eleven crowns in spring.
""",
    "characters/odalys.yaml": "name: Odalys\nrole: a guest\npersonality: Watches.\n",
    "chapters/one.yaml": """
title: The Door
summary: Tess comes to the mill and wants to get in.
beats: [Tess knocks at the door, Maya opens the door, The key is named]
completion: {beats: 2, when: Maya has opened the door}
characters: [maya, bram, odalys]
present: [maya, bram]
opening: The mill stood by the river, and its wheel did not turn.
next: two
""",
    "chapters/two.yaml": """
title: The Room
summary: Behind the door is a room that nobody speaks of.
beats: [Tess sees the room]
completion: {beats: 1}
characters: [maya, bram]
opening: Behind the door it was warmer than it should have been.
""",
}
"""A small game of two chapters."""


def write_game(folder: Path, **changes: str) -> Path:
    """Write the small game, with other texts for some of its files."""
    for name, text in {**FILES, **changes}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def read_small_game(folder: Path) -> Game:
    return read_game(write_game(folder / "mill"))


Answer = Scripted | Callable[[ModelRequest], Scripted | Awaitable[Scripted]]

USUAL: Mapping[str, Answer] = {
    "narrator": "The wheel creaked once.\nPRESENT: Maya, Bram\nRESPONDING: Maya\nMOOD: tense",
    "state": "HIT: none\nCOMPLETE: no\nWHY: Nothing yet.",
    "Maya": '"Who is there?" Maya asked.',
    "Bram": 'Bram laughed. "Nobody."',
    "Odalys": "Odalys looked up.",
}


@dataclass
class Table:
    """The answers of a model by who is asked; each may be changed between turns."""

    answers: dict[str, Answer] = field(default_factory=lambda: dict(USUAL))
    asked: list[tuple[str, ModelRequest]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    async def answer(self, request: ModelRequest) -> Scripted:
        who = identify_agent(request)
        self.asked.append((who, request))
        given = self.answers[who] if who in self.answers else _remember(who, request)
        answer = given(request) if callable(given) else given
        return await answer if isinstance(answer, Awaitable) else answer

    def prompts(self, who: str) -> list[str]:
        """Return every question to somebody, whole."""
        return [f"{request.system}\n{request.user}" for agent, request in self.asked if agent == who]


def _remember(who: str, request: ModelRequest) -> str:
    if not who.startswith("memory of "):
        return ScriptedGameModel().answer(request)
    lines = request.user.partition("<new_events>")[2].partition("</new_events>")[0].strip().splitlines()
    told = [line for line in lines if line.strip()]
    return json.dumps({"summary": f"{who[10:]} saw it. {told[-1]}", "add": told[:5], "remove": [], "update": []})


@asynccontextmanager
async def open_session(
    game: Game, table: Table, place: str = ":memory:", slot: str = "main"
) -> AsyncIterator[GameSession]:
    model = MeteredModel(ScriptedModel(table.answer))
    async with await Memory.open(place, model=model) as memory:
        yield await GameSession.open(memory, game, model, slot=slot, tell=table.events.append)


async def digest_memory(session: GameSession) -> str:
    """Return what stands for the words, the memory and the state of a game: equal digests, equal game."""
    story = session.story
    count = (await story.branch_info()).messages
    told: list[Any] = [[item.entry.message.text, item.entry.message.witnesses] for item in await _read(story, count)]
    told.append([repr(await story.recap()), repr(await story.backbone()), repr(await story.chapters())])
    told.append([repr(one) for one in (await story.cast(), await story.episodes(), await story.notes())])
    told.append([repr(await story.threads()), repr(await story.state()), repr(await story.lore())])
    told.append(repr(session.state))
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


async def _read(story: Any, count: int) -> list[Any]:
    return await story.messages(0, -1) if count else []
