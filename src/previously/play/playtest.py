"""Automatic play: so many turns with a made-up player, and figures of what came of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from previously.core.model_io import ModelRequest
from previously.core.path import OnPath
from previously.play.game import Game
from previously.play.leaks import Leak, LeakWatch
from previously.play.model_meter import find_cast_name, identify_agent
from previously.play.progress import GameState
from previously.play.session import GameSession

MOST_SHOWN = 20
"""Leaks and faults that a report tells word by word: the rest is counted."""


@dataclass
class PlaytestReport:
    """The figures of an automatic game."""

    turns: int = 0
    leaks: int = 0
    largest_view_tokens: int = 0
    """Of what the narrator saw."""
    chapters_closed: int = 0
    calls: int = 0
    repairs: int = 0
    complete: bool = False
    faults: int = 0
    """Failures that were contained."""
    beats: int = 0
    witnesses: int = 0
    """Characters who were there, summed over all turns: each of them had a memory call."""
    responses: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    view_tokens: list[int] = field(default_factory=list)
    """Of each turn."""
    shown_leaks: list[Leak] = field(default_factory=list)
    shown_faults: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class PromptLog:
    """The questions about characters since the last turn, in their order."""

    def __init__(self) -> None:
        self._asked: list[tuple[str, bool, str]] = []

    def look(self, request: ModelRequest) -> None:
        """Note a question that is about one character."""
        name, agent = find_cast_name(request), identify_agent(request)
        if agent not in ("", "narrator", "state"):
            self._asked.append((name or agent, bool(name), f"{request.system}\n{request.user}"))

    def take(self) -> list[tuple[str, bool, str]]:
        """Return each question with whom it is about and whether it asks for their memory; forget them."""
        asked, self._asked = self._asked, []
        return asked


async def play_automatically(
    session: GameSession, log: PromptLog, turns: int, seed: int, progress: Callable[[int, int], None] | None = None
) -> PlaytestReport:
    """Play so many turns; return what came of them. `log` looks at the questions of the session's model."""
    chance, watch, report = Random(seed), LeakWatch(session.game), PlaytestReport()
    heard = 0
    for turn in range(turns):
        words = choose_words(session.game, session.state, chance)
        heard = await _hear(session, watch, heard)
        done = await session.take_turn(words)
        spoken = await session.story.messages(heard, -1)
        leaks = find_turn_leaks(watch, log.take(), spoken)
        heard += len(spoken)
        report.turns += 1
        report.leaks += len(leaks)
        report.shown_leaks += leaks[: MOST_SHOWN - len(report.shown_leaks)]
        report.faults += len(done.state.faults)
        report.shown_faults += done.state.faults[: MOST_SHOWN - len(report.shown_faults)]
        report.repairs += done.state.repairs
        report.witnesses += done.witnesses
        report.responses += done.responses
        report.view_tokens.append(done.view_tokens)
        report.chapters_closed = len(done.state.closed)
        report.complete = done.state.complete
        report.beats += len(done.hit)
        if progress:
            progress(turn + 1, turns)
    meter = session.model.meter
    report.calls, report.input_tokens, report.output_tokens = meter.calls, meter.input_tokens, meter.output_tokens
    report.largest_view_tokens = max(report.view_tokens, default=0)
    return report


async def _hear(session: GameSession, watch: LeakWatch, heard: int) -> int:
    """Note what was said before the turn: an opening, or a game that goes on."""
    count = (await session.story.branch_info()).messages
    for item in await session.story.messages(heard, -1) if count > heard else ():
        _hear_message(watch, item)
    return count


def find_turn_leaks(watch: LeakWatch, asked: Sequence[tuple[str, bool, str]], spoken: Sequence[OnPath]) -> list[Leak]:
    """Return the leaks of one turn. A character is asked before their own words are heard; memory after all of them."""
    leaks: list[Leak] = []
    waiting = list(spoken)
    for name, is_memory, prompt in asked:
        speaks = next((at for at, item in enumerate(waiting) if item.entry.message.speaker == name), None)
        until = len(waiting) if is_memory else speaks
        for item in waiting[: until if until is not None else _count_told(waiting)]:
            _hear_message(watch, item)
        waiting = waiting[until if until is not None else _count_told(waiting) :]
        leaks += watch.find_leaks(name, prompt)
    for item in waiting:
        _hear_message(watch, item)
    return leaks


def _count_told(waiting: Sequence[OnPath]) -> int:
    """Return how many messages come before the first character's: the player's words and the narration."""
    return min(2, len(waiting))


def _hear_message(watch: LeakWatch, item: OnPath) -> None:
    watch.hear(item.entry.message.text, item.entry.message.witnesses or ())


def choose_words(game: Game, state: GameState, chance: Random) -> str:
    """Return what a made-up player does: asks somebody, looks, goes, waits."""
    chapter = game.chapters[state.chapter]
    people = game.list_names(state.present or chapter.characters)
    who = chance.choice(people)
    beat = chance.choice(chapter.beats)
    topic = chance.choice([word for word in beat.split() if len(word) > 4] or [chapter.title]).strip(".,")
    return chance.choice(
        (
            f"I ask {who} about the {topic.lower()}.",
            f"I look around for anything to do with {topic.lower()}.",
            f"I tell {who} what I have seen so far, all {chance.randint(2, 99)} of it.",
            f"I walk on alone, {chance.randint(20, 900)} paces, and look back once.",
            f"I wait and watch {who}.",
        )
    )
