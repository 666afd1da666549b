"""The state of a game, and every decision about it: who is there, who answers, which beats are hit, what is over.

Pure. A state is a value that is kept with each finished turn; the next one follows from it and from what the agents
answered. An answer that makes no sense changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from previously.core.scripts import casefold
from previously.play.answers import NarratorAnswer, StateAnswer
from previously.play.game import Game, GameChapter

MOST_RESPONDING = 2
"""Characters who answer in one turn: a third makes a turn long and a small model lose the thread."""


@dataclass(frozen=True, slots=True)
class GameState:
    """The state of a game after a turn."""

    turn: int
    chapter: str
    chapter_turn: int = 0
    """Turns played in this chapter."""
    beats: tuple[str, ...] = ()
    """Those of this chapter that are hit."""
    present: tuple[str, ...] = ()
    """Stems of those who are with the player."""
    closed: tuple[str, ...] = ()
    """Ids of chapters that are over."""
    complete: bool = False
    """The last chapter is over. Whoever likes goes on."""
    mood: str = ""
    reason: str = ""
    """Why beats were hit, or the chapter ended, in the agent's words or a person's."""
    faults: tuple[str, ...] = ()
    """The failures of this turn, in sentences."""
    repairs: int = 0
    """Answers of this turn that had to be repaired."""

    def as_record(self) -> dict[str, Any]:
        """Return it as a story keeps it."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def parse_state(record: Mapping[str, Any] | None, game: Game) -> GameState | None:
    """Return the state in a record; None where there is none. What the game does not have any more is left out."""
    if not record or record.get("chapter") not in game.chapters:
        return None
    known = {one.name for one in fields(GameState)}
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in record.items() if key in known
    }
    state = GameState(**values)
    chapter = game.chapters[state.chapter]
    return replace(
        state,
        beats=tuple(beat for beat in state.beats if beat in chapter.beats),
        present=tuple(stem for stem in state.present if stem in game.characters),
    )


def begin_game(game: Game) -> GameState:
    """Return the state before the first turn."""
    return GameState(0, game.first.id, present=game.first.present)


@dataclass(frozen=True, slots=True)
class TurnScene:
    """Who is there in a turn, and who answers, by stem."""

    present: tuple[str, ...]
    responding: tuple[str, ...]
    repairs: int = 0


def decide_scene(game: Game, state: GameState, words: str, answer: NarratorAnswer) -> TurnScene:
    """Return who is there and who answers. Only people of the chapter come in; whoever answers is there. Where the
    narrator does not say it, those who were there are, and those whom the player names answer, else the first."""
    chapter = game.chapters[state.chapter]
    repairs = 0
    present = _choose(game, chapter, answer.present)
    if present is None:
        present, repairs = state.present, repairs + 1
    responding = _choose(game, chapter, answer.responding)
    if responding is None:
        named = [stem for stem in present if _is_named(game.characters[stem].name, words)]
        responding, repairs = tuple(named or present[:1]), repairs + 1
    responding = responding[:MOST_RESPONDING]
    return TurnScene((*present, *(stem for stem in responding if stem not in present)), responding, repairs)


def _choose(game: Game, chapter: GameChapter, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return those of a chapter who are named; None where nothing was said, or nobody could be made out."""
    if names is None:
        return None
    stems = [stem for name in names if (stem := game.find_character(name)) in chapter.characters]
    chosen = tuple(dict.fromkeys(stem for stem in stems if stem))
    return None if names and not chosen else chosen


def _is_named(name: str, words: str) -> bool:
    said = set(casefold(words).replace(",", " ").replace(".", " ").replace("?", " ").split())
    return any(part in said for part in casefold(name).split() if len(part) > 2)


@dataclass(frozen=True, slots=True)
class TurnStep:
    """The state after a turn, and the chapter that ended with it."""

    state: GameState
    closed: GameChapter | None = None
    opened: GameChapter | None = None
    hit: tuple[str, ...] = ()
    """The beats that happened in this turn."""


def decide_step(game: Game, state: GameState, scene: TurnScene, verdict: StateAnswer | None) -> TurnStep:
    """Return how the game stands after a turn. Without a verdict no beat is hit and no chapter ends."""
    chapter = game.chapters[state.chapter]
    hit = [chapter.beats[number - 1] for number in verdict.hit if 0 < number <= len(chapter.beats)] if verdict else []
    beats = tuple(dict.fromkeys((*state.beats, *hit)))
    new = replace(
        state,
        turn=state.turn + 1,
        chapter_turn=state.chapter_turn + 1,
        beats=beats,
        present=scene.present,
        reason=verdict.why if verdict else "",
    )
    is_over = verdict is not None and not state.complete and is_complete(chapter, beats, says=verdict.complete)
    step = close_chapter(game, new) if is_over else TurnStep(new)
    return replace(step, hit=tuple(beat for beat in beats if beat not in state.beats))


def is_complete(chapter: GameChapter, beats: Sequence[str], *, says: bool) -> bool:
    """Return whether a chapter is over: enough beats are hit and, where more is asked for, the agent says it is so."""
    return len(beats) >= chapter.completion.beats and (says or not chapter.completion.when)


def close_chapter(game: Game, state: GameState) -> TurnStep:
    """Return the game with this chapter over and the next one open."""
    chapter = game.chapters[state.chapter]
    closed = (*state.closed, chapter.id)
    if not chapter.next:
        return TurnStep(replace(state, closed=closed, complete=True), chapter)
    opened = game.chapters[chapter.next]
    state = replace(state, chapter=opened.id, chapter_turn=0, beats=(), present=opened.present, closed=closed)
    return TurnStep(state, chapter, opened)


def overrule_beats(game: Game, state: GameState, beats: Sequence[int], *, hit: bool, reason: str) -> GameState:
    """Return the state in which a person says that beats, by number, are hit or not."""
    named = [game.chapters[state.chapter].beats[number - 1] for number in beats]
    kept = [beat for beat in state.beats if beat not in named]
    return replace(state, beats=tuple([*kept, *named] if hit else kept), reason=reason)
