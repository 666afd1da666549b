"""`previously play`: a text game that remembers, played by a person or by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, choose_model
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.models.client import Model
    from previously.play.game import Game
    from previously.play.session import GameSession

MOST_TURNS = 100_000
"""Automatic turns: a day of play for a fast model."""

VERBS = {"new": 1, "check": 1, "slots": 0, "export": 1, "import": 1}
"""The verbs beside playing, and how many places each names at least."""


def play(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR]",
            help="A game's directory; else the game that comes with Previously. Or: new DIR, check DIR, slots [DIR], "
            "export [DIR] OUT, import [DIR] IN.",
        ),
    ] = None,
    slot: Annotated[str, typer.Option("--slot", metavar="NAME", help="The save to play.")] = "main",
    auto: Annotated[int | None, typer.Option("--auto", metavar="N", help="Play N turns by itself.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of the made-up player.")] = 0,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="With the model that comes along, from a script.")
    ] = False,
    prompts: Annotated[
        str, typer.Option("--prompts", metavar="DIR", help="Prompts of yours in place of narrator.md, character.md, …")
    ] = "",
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Play a text game whose characters remember."""
    import asyncio

    from previously.play.game_files import read_game, read_shipped_game, write_new_game

    verb, places = _split_words(words or [])
    if verb == "new":
        files = write_new_game(Path(places[0]))
        output.report({"directory": places[0], "files": files}, f"{places[0]} is a game to start from: play it, or "
                      f"edit {', '.join(files[:3])} and the rest.", as_json=as_json)  # fmt: skip
        return
    folder = places[0] if (len(places) > 1 or verb in ("", "check", "slots")) and places else ""
    game = read_game(Path(folder)) if folder else read_shipped_game()
    if verb == "check":
        beats = sum(len(chapter.beats) for chapter in game.chapters.values())
        record = {"game": game.id, "characters": len(game.characters), "chapters": len(game.chapters), "beats": beats}
        output.report(record, f"{game.title} is in order: {len(game.characters)} characters, {len(game.chapters)} "
                      f"chapters, {beats} beats.", as_json=as_json)  # fmt: skip
        return
    chosen = _choose_model(endpoint, model, scripted=scripted, seed=seed)
    asked = _Asked(ctx.obj, game, slot, Path(prompts) if prompts else None)
    if verb == "slots":
        asyncio.run(asked.list_slots(as_json=as_json))
    elif verb:
        asyncio.run(asked.move_save(verb, Path(places[-1]), as_json=as_json))
    elif auto is not None:
        if not 1 <= auto <= MOST_TURNS:
            raise BadInput(f"Give a number of turns from 1 to {MOST_TURNS:,}.")
        if chosen is None:
            raise BadInput("Playing by itself needs a model: --endpoint URL --model NAME, or --scripted.")
        asyncio.run(asked.play_by_itself(chosen, auto, seed, as_json=as_json))
    else:
        from previously.cli.play_terminal import play_at_terminal, play_recording

        if chosen is not None:
            play_at_terminal(asked.place, game, slot, chosen, asked.prompts)
        elif folder:
            raise BadInput("A game needs a model: --endpoint URL --model NAME, or --scripted to try it out.")
        else:
            play_recording(game)


def _split_words(words: list[str]) -> tuple[str, list[str]]:
    verb = words[0] if words and words[0] in VERBS else ""
    places = words[1:] if verb else words
    least = VERBS.get(verb, 0)
    if len(places) < least:
        raise BadInput(f"`previously play {verb}` needs a directory.")
    most = {"new": 1, "check": 1}.get(verb, 2 if least else 1)
    if len(places) > most:
        raise BadInput(f"{places[most]!r} is too much: see `previously play --help`.")
    return verb, places


def _choose_model(endpoint: str, model: str, *, scripted: bool, seed: int) -> Model | None:
    if not scripted:
        return choose_model(endpoint, model)
    from previously.play.script_model import ScriptedGameModel

    return ScriptedGameModel(seed)


class _Asked:
    """A game to be played, and the place where it is kept."""

    def __init__(self, place: str | None, game: Game, slot: str, prompts: Path | None) -> None:
        self.place, self.game, self.slot, self.prompts = place, game, slot, prompts

    async def list_slots(self, *, as_json: bool) -> None:
        from previously.app import Memory
        from previously.play.session import list_slots
        from previously.runtime.writer import BuiltinWriter

        async with await Memory.open(self.place, writer=BuiltinWriter()) as memory:
            slots = await list_slots(memory, self.game)
        words = ", ".join(slots) or "none yet"
        output.report({"game": self.game.id, "slots": slots}, f"Saves of {self.game.title}: {words}.", as_json=as_json)

    async def move_save(self, verb: str, folder: Path, *, as_json: bool) -> None:
        """Write a slot into a directory, or read it back."""
        from previously.app import Memory
        from previously.play.save_files import read_save, write_save
        from previously.play.script_model import ScriptedGameModel
        from previously.play.session import GameSession, list_slots, meter_model
        from previously.runtime.writer import BuiltinWriter

        async with await Memory.open(self.place, writer=BuiltinWriter()) as memory:
            if verb == "export" and self.slot not in await list_slots(memory, self.game):
                raise BadInput(f"There is no save {self.slot!r} of {self.game.title}.")
            session = await GameSession.open(memory, self.game, meter_model(ScriptedGameModel()), slot=self.slot)
            done = await (write_save if verb == "export" else read_save)(session, folder)
        record = {"game": self.game.id, "slot": self.slot, "directory": str(folder), verb: done}
        told = ", ".join(done) or "nothing: it is as it was"
        sentence = f"Written to {folder}: {told}." if verb == "export" else f"Taken over from {folder}: {told}."
        output.report(record, sentence, as_json=as_json)

    async def play_by_itself(self, model: Model, turns: int, seed: int, *, as_json: bool) -> None:
        from previously.app import IN_MEMORY, Memory
        from previously.play.model_meter import MeteredModel
        from previously.play.playtest import PromptLog, play_automatically

        log = PromptLog()
        metered = MeteredModel(model, log.look)
        async with await Memory.open(self.place or IN_MEMORY, model=metered) as memory:
            session = await self._open(memory, metered)
            with output.progress("Playing") as progress:
                report = await play_automatically(session, log, turns, seed, progress)
        record, count = {"game": self.game.id, "seed": seed, **report.as_json()}, output.count_nouns
        told = (
            f"{count(report.turns, 'turn')} of {self.game.title}: {count(report.chapters_closed, 'chapter')} closed, "
            f"{count(report.leaks, 'leak')}, the largest view {count(report.largest_view_tokens, 'token')}, "
            f"{count(report.calls, 'call')}, {count(report.repairs, 'answer')} repaired, "
            f"{count(report.faults, 'failure')} contained."
        )
        output.report(record, told, as_json=as_json)

    async def _open(self, memory: Any, metered: Any) -> GameSession:
        from previously.play.session import GameSession

        return await GameSession.open(memory, self.game, metered, slot=self.slot, prompts=self.prompts)
