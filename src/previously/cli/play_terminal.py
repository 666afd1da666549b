"""A game at a terminal: streaming, colours, a status line, and commands that begin with a slash.

It shows the events of a game and asks for the player's words. In a pipe it prints the story and nothing else on stdout;
colours are never the only sign of who speaks.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from previously.cli import output
from previously.core.errors import BadInput, PreviouslyError

if TYPE_CHECKING:
    from previously.models.client import Model
    from previously.play.events import Event
    from previously.play.game import Game
    from previously.play.session import GameSession

COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_cyan", "bright_green")
"""Of the characters, in the order of the game; the narrator has none."""

HELP = """\
Say what you do, in your own words. Beside that:
/undo [N]          take back the last turn, or N turns
/branch NAME       go on in a branch of that name, a new one or one that is there; /branch alone lists them
/memory NAME       what a character knows
/who-knows WORDS   who knows something of it
/recap             the story of this chapter so far
/chapters          the chapters that are over
/beats             what is to happen in this chapter, and what has (it gives things away)
/hit N, /unhit N   say that a beat has happened, or not
/end               say that the chapter is over
/view [NAME]       what the narrator, or a character, sees
/save [DIR]        write the save as files; every turn is kept anyway
/help, /quit"""


class TerminalGame:
    """Shows a game and takes the player's words to it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._console = output.console()
        names = [person.name for person in game.characters.values()]
        self._colours = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)}
        self._streamed = ""

    def show(self, event: Event) -> None:
        """Show what happens."""
        from previously.play.events import BeatHit, ChapterOver, Said, Trouble, Words

        match event:
            case Words(speaker, text) if self._console.is_terminal:
                self._stream(speaker, text)
            case Said(speaker, text):
                self._say(speaker, text)
            case Trouble(about, reason):
                output.note(f"({about}: {reason})")
            case BeatHit(beat):
                if self._console.is_terminal:
                    output.note(f"* {beat}")
            case ChapterOver(title, reason, opened):
                self._console.print(f"\n— The end of “{output.one_line(title)}” —", style="bold")
                if reason:
                    output.note(f"({reason})")
                if opened:
                    self._console.print(f"— {output.one_line(opened)} —", style="bold")
                else:
                    self._console.print("The game is complete. Go on for as long as you like, or /quit.", style="bold")
            case _:
                pass

    def _stream(self, speaker: str, text: str) -> None:
        """Show what has come since the last time."""
        shown = output.printable(text)
        if shown.startswith(self._streamed) and shown != self._streamed:
            if not self._streamed:
                self._console.print()
            self._console.out(shown[len(self._streamed) :], end="", style=self._find_style(speaker))
            self._streamed = shown

    def _say(self, speaker: str, text: str) -> None:
        """Show a whole message; of one that was shown as it came, what is missing."""
        shown = output.printable(text)
        if self._streamed and shown.startswith(self._streamed):
            self._console.out(shown[len(self._streamed) :])
        else:
            name = f"{speaker}: " if speaker in self._colours else ""
            self._console.print()
            self._console.print(f"{name}{shown}", style=self._find_style(speaker))
        self._streamed = ""

    def _find_style(self, speaker: str) -> str:
        return self._colours.get(speaker, "")

    def tell_status(self, session: GameSession) -> None:
        """Say how the game stands, on stderr."""
        state, meter = session.state, session.model.meter
        chapter = session.game.chapters[state.chapter]
        prices = session.prices
        cost = meter.compute_cost(*prices)
        money = f", {cost:.4f} spent" if any(prices) else ""
        output.note(
            f"[turn {state.turn} | {chapter.title} | {len(state.beats)} of {len(chapter.beats)} beats | view "
            f"{output.count_nouns(session.view_tokens, 'token')} | {output.count_nouns(meter.calls, 'call')}, "
            f"{output.count_nouns(meter.input_tokens + meter.output_tokens, 'token')}{money}]"
        )

    def ask_words(self) -> str | None:
        """Return the player's next words; None when there are no more."""
        if sys.stdin is None:
            return None
        if sys.stdin.isatty():
            self._console.print()
            self._console.out("> ", end="", style="bold")
            sys.stdout.flush()
        line = sys.stdin.readline()
        if line.strip() and not sys.stdin.isatty():
            self._console.print(f"\n> {output.printable(line.strip())}")
        return line.strip() if line else None

    def print_lines(self, text: str) -> None:
        self._console.print(output.printable(text))


def play_at_terminal(place: str | None, game: Game, slot: str, model: Model, prompts: Path | None) -> None:
    """Play until the player leaves."""
    from previously.app import Memory
    from previously.play.model_meter import MeteredModel
    from previously.play.session import GameSession

    shown = TerminalGame(game)
    metered = MeteredModel(model)
    with asyncio.Runner() as runner:
        memory = runner.run(Memory.open(place, model=metered))
        try:
            shown.print_lines(f"{game.title}\n{game.description}")
            session = runner.run(GameSession.open(memory, game, metered, slot=slot, tell=shown.show, prompts=prompts))
            _remind(shown, session, runner.run)
            _play(shown, session, runner.run)
        finally:
            runner.run(memory.close())


def _remind(shown: TerminalGame, session: GameSession, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    """Show where a save that was played before stands."""
    from previously.play.events import Said

    if session.resumed:
        for item in run(session.story.messages(-1, -1)):
            shown.show(Said(item.entry.message.speaker or "", item.entry.message.text))
    if session.interrupted:
        output.note(f"Your last turn was cut short and taken back. You had said: {session.interrupted}")
    output.note("/help lists what you can do beside playing.")


def _play(shown: TerminalGame, session: GameSession, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    while (words := shown.ask_words()) is not None:
        if words in ("/quit", "/exit"):
            return
        if not words:
            continue
        try:
            if words.startswith("/"):
                run(obey(shown, session, words))
            else:
                run(session.take_turn(words))
                shown.tell_status(session)
        except KeyboardInterrupt:
            output.note("The turn was taken back.")
        except PreviouslyError as error:
            output.complain(str(error))


async def obey(shown: TerminalGame, session: GameSession, line: str) -> None:
    """Carry out a command that the player typed."""
    command, _, rest = line[1:].partition(" ")
    rest, story = rest.strip(), session.story
    match command:
        case "help":
            shown.print_lines(HELP)
        case "undo":
            count = await session.undo(_parse_number(rest or "1"))
            shown.print_lines(f"{output.count_nouns(count, 'turn')} taken back." if count else "There is no turn yet.")
            shown.tell_status(session)
        case "branch" if not rest:
            active = (await story.branch_info()).name
            names = [f"{branch.name}{' (here)' if branch.name == active else ''}" for branch in await story.branches()]
            shown.print_lines(", ".join(names))
        case "branch":
            await session.branch(rest)
            shown.print_lines(f"You are in {rest}, turn {session.state.turn}.")
        case "memory":
            shown.print_lines(await _tell_memory(session, rest))
        case "who-knows":
            knowers = await story.who_knows(rest)
            lines = [f"{one.name}: {fact.text}" for one in knowers for fact in one.facts]
            shown.print_lines("\n".join(lines) or "Nobody knows of that.")
        case "recap":
            recap = await story.recap()
            shown.print_lines(
                recap.text if recap else "Nothing is folded yet: the story is still in view, word for word."
            )
        case "chapters":
            told = [f"{chapter.name}\n{chapter.text}" for chapter in await story.chapters()]
            shown.print_lines("\n\n".join(told) or "No chapter is over yet.")
        case "beats":
            shown.print_lines(_tell_beats(session))
        case "hit" | "unhit":
            await session.overrule([_parse_number(rest)], hit=command == "hit")
            shown.print_lines(_tell_beats(session))
        case "end":
            await session.end_chapter()
        case "view":
            shown.print_lines(await _tell_view(session, rest))
        case "save":
            shown.print_lines(await _save(session, rest))
        case _:
            raise BadInput(f"There is no command /{output.one_line(command)}; /help lists them.")


async def _tell_memory(session: GameSession, name: str) -> str:
    stem = session.game.find_character(name)
    if stem is None:
        raise BadInput(f"Whose memory? There are {', '.join(one.name for one in session.game.characters.values())}.")
    who = session.game.characters[stem].name
    for item in await session.story.cast():
        if item.name == who:
            return "\n".join([item.knowledge.summary, *(f"- {fact.text}" for fact in item.knowledge.facts)])
    return f"{who} has seen nothing yet."


def _tell_beats(session: GameSession) -> str:
    chapter, hit = session.game.chapters[session.state.chapter], session.state.beats
    lines = [f"{at}. [{'x' if beat in hit else ' '}] {beat}" for at, beat in enumerate(chapter.beats, 1)]
    return "\n".join([*lines, session.state.reason] if session.state.reason else lines)


async def _tell_view(session: GameSession, name: str) -> str:
    stem = session.game.find_character(name) if name else None
    if name and stem is None:
        raise BadInput(f"{output.one_line(name)} is nobody of this game.")
    view, request = await session.show_view(stem)
    return f"{request.system}\n\n{request.user}\n\n({view.tokens:,} of {view.budget_tokens:,} tokens)"


async def _save(session: GameSession, place: str) -> str:
    if not place:
        return f"Every turn is kept, in the story {session.story.name}. /save DIR writes it as files."
    from previously.play.save_files import write_save

    files = await write_save(session, Path(place))
    return f"Written to {place}: {', '.join(files)}."


def _parse_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 6:
        raise BadInput(f"{output.one_line(text)!r} is no number.")
    return int(text)


def play_recording(game: Game) -> None:
    """Play the first scene of the shipped game from recorded answers, and say so."""
    from previously.app import IN_MEMORY, Memory
    from previously.play.model_meter import MeteredModel
    from previously.play.sample_scene import SampleSceneModel, read_recording
    from previously.play.session import GameSession

    turns = read_recording()
    shown, metered = TerminalGame(game), MeteredModel(SampleSceneModel(turns))
    output.note(
        "No model is named, so this is the first scene from recorded answers; what is said is recorded too. To play "
        "yourself: previously play --endpoint URL --model NAME."
    )

    async def run() -> None:
        async with await Memory.open(IN_MEMORY, model=metered) as memory:
            session = await GameSession.open(memory, game, metered, tell=shown.show)
            for turn in turns:
                if sys.stdin is not None and sys.stdin.isatty():
                    output.note("(Enter goes on)")
                    if not await asyncio.to_thread(sys.stdin.readline):
                        return
                shown.print_lines(f"\n> {turn.words}")
                await session.take_turn(turn.words)
                shown.tell_status(session)

    shown.print_lines(f"{game.title}\n{game.description}")
    asyncio.run(run())
    output.note("Here the recording ends. `previously play --help` says how to go on with a model.")
