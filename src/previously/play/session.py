"""A game that is being played: a save slot, its turns, taking them back, branches, and a person's word.

A slot is a story of its own. A turn counts when it is finished; what a killed process left of one is taken back when
the slot is opened again, and the player is told what they had said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from previously.app import Memory
from previously.core.errors import BadInput
from previously.core.model_io import ModelRequest
from previously.core.path import OnPath
from previously.folds.prompts.templates import Template, parse_template
from previously.models.client import Model
from previously.play.agents import PLACEHOLDERS, make_character_question, make_model_request, make_narrator_question
from previously.play.events import ChapterOver, Said, Tell, ignore_event
from previously.play.game import NARRATOR, Game
from previously.play.model_meter import MeteredModel
from previously.play.progress import GameState, begin_game, close_chapter, overrule_beats, parse_state
from previously.play.turn import BEGINS, TurnDone, TurnPlayer, make_draft
from previously.story.story import Story
from previously.story.turns import RECORD
from previously.view.view import View

LONGEST_WORDS = 1_000
"""Characters a player may say at once: 250 tokens, beside a prompt, memory and three turns."""

READ_AT_ONCE = 256
"""Messages that are read at a time to find where turns begin: about fifty turns."""

TAIL_TURNS = 2
"""Turns that are never folded: so many fit beside a narrator's prompt and memory."""

DEFAULT_SLOT = "main"
PREFIX = "play-"


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The place where a turn begins, and the newest version of any memory then."""

    turn: int
    position: int
    after: int
    words: str


class GameSession:
    """One slot of one game."""

    def __init__(
        self,
        game: Game,
        story: Story,
        model: MeteredModel,
        state: GameState,
        templates: Mapping[str, Template],
        tell: Tell = ignore_event,
    ) -> None:
        self.game: Game = game
        self.story: Story = story
        self.model: MeteredModel = model
        self.state: GameState = state
        self.interrupted: str = ""
        """The words of a turn that was cut short and is taken back; empty if none was."""
        self.resumed: bool = False
        """True for a slot that was there."""
        self.prices: tuple[float, float] = (0.0, 0.0)
        """Of a million tokens read and written, as the settings have them."""
        self.view_tokens: int = 0
        self._tell = tell
        self._templates = templates

    @classmethod
    async def open(
        cls,
        memory: Memory,
        game: Game,
        model: MeteredModel,
        *,
        slot: str = DEFAULT_SLOT,
        tell: Tell = ignore_event,
        prompts: Path | None = None,
    ) -> GameSession:
        """Open a slot, a new one if there is none of that name. The memory of the story is written by the model that
        `memory` was opened with."""
        story = await memory.story(name_story(game, slot))
        templates = load_templates(prompts)
        rules = await story.set(["preset=game", f"tail_turns={TAIL_TURNS}"])
        if not (await story.header()).get("play"):
            await story.keep_header({"play": {"game": game.id, "title": game.title, "slot": slot}})
        interrupted = await _take_back_unfinished(story)
        state = parse_state(await story.turn_record(), game)
        session = cls(game, story, model, state or begin_game(game), templates, tell)
        session.interrupted, session.prices = interrupted, (rules.input_price, rules.output_price)
        session.resumed = state is not None
        if state is None:
            if (await story.branch_info()).messages:
                raise BadInput(f"{story.name} is no save of this game, or one of a chapter that it has no more.")
            await session._begin()
        return session

    async def take_turn(self, words: str) -> TurnDone:
        """Play one turn. If it cannot be finished, the story is as it was before."""
        said = words.strip()
        if not said:
            raise BadInput("Say what you do.")
        if len(said) > LONGEST_WORDS:
            raise BadInput(f"At most {LONGEST_WORDS:,} characters can be said at once; these are {len(said):,}.")
        player = TurnPlayer(self.game, self.story, self.model, self._templates, self._tell)
        try:
            done = await player.play(self.state, said)
        except BaseException:
            await _take_back_unfinished(self.story)
            raise
        self.state, self.view_tokens = done.state, done.view_tokens
        return done

    async def undo(self, turns: int = 1) -> int:
        """Take back so many turns, words and memory; return how many there were to take back."""
        if turns < 1:
            raise BadInput("Take back at least one turn.")
        starts = await _find_starts(self.story, turns)
        if starts:
            first = starts[-1]
            await self.story.rewind(first.position, after=first.after)
        await self._read_state()
        return len(starts)

    async def branch(self, name: str) -> None:
        """Go on in a branch of that name: a new one from here, or one that is there."""
        if name not in [branch.name for branch in await self.story.branches()]:
            await self.story.branch(name)
        await self.story.switch(name)
        self.interrupted = await _take_back_unfinished(self.story)
        await self._read_state()

    async def overrule(self, beats: Sequence[int] = (), *, hit: bool = True, reason: str = "") -> None:
        """Say that beats of the chapter, by number, have happened or not. Whether the chapter is over is said with
        `end_chapter`."""
        most = len(self.game.chapters[self.state.chapter].beats)
        for number in beats:
            if not 1 <= number <= most:
                raise BadInput(f"There is no beat {number}; this chapter has beats 1 to {most}.")
        await self._expect_turn()
        state = overrule_beats(self.game, self.state, beats, hit=hit, reason=reason or "said by a person")
        await self.story.overrule_turn(state.as_record())
        self.state = state

    async def end_chapter(self, reason: str = "") -> None:
        """Say that the chapter is over, whatever the state agent thinks. The next one opens."""
        if self.state.complete:
            raise BadInput("The game is complete already.")
        await self._expect_turn()
        step = close_chapter(self.game, self.state)
        state = replace(step.state, reason=reason or "said by a person")
        opening = None
        if step.opened and step.opened.opening:
            opening = make_draft(self.game, "assistant", NARRATOR, step.opened.opening, step.opened.present)
        closed = self.game.chapters[self.state.chapter]
        await self.story.overrule_turn(state.as_record(), closes=closed.title, opening=opening)
        self.state = state
        self._tell(ChapterOver(closed.title, state.reason, step.opened.title if step.opened else ""))
        if step.opened and opening:
            self._tell(Said(NARRATOR, step.opened.opening))
        await self.story.fold(cast=False)

    async def show_view(self, stem: str | None = None) -> tuple[View, ModelRequest]:
        """Return what the narrator, or a character, would be asked now. Nothing is kept of it."""
        if stem is None:
            question = make_narrator_question(self._templates["narrator"], self.game, self.state)
        else:
            person = self.game.characters[stem]
            question = make_character_question(self._templates["character"], self.game, person)
        budget = question.agent.budget_tokens
        view = await self.story.view(budget, reader=question.reader, furniture=question.furniture, aside=True)
        return view, make_model_request(question, view)

    async def _expect_turn(self) -> None:
        if not (await self.story.branch_info()).messages:
            raise BadInput("Nothing has happened yet.")

    async def _begin(self) -> None:
        """Read out the opening of the first chapter."""
        opening = self.game.first.opening
        if opening:
            extra = {RECORD: self.state.as_record()}
            present = self.game.first.present
            await self.story.add_drafts([make_draft(self.game, "assistant", NARRATOR, opening, present, extra)])
            self._tell(Said(NARRATOR, opening))

    async def _read_state(self) -> None:
        self.state = parse_state(await self.story.turn_record(), self.game) or begin_game(self.game)


def name_story(game: Game, slot: str) -> str:
    """Return the name of the story that a slot of a game is."""
    if not re.fullmatch(r"[\w .-]{1,60}", slot) or slot != slot.strip():
        raise BadInput(f"{slot!r} is no name for a save: letters, digits, spaces, dots and - only.")
    return f"{PREFIX}{game.id}-{slot}"


async def list_slots(memory: Memory, game: Game) -> list[str]:
    """Return the slots of a game, by name."""
    begins = f"{PREFIX}{game.id}-"
    return sorted(info.name.removeprefix(begins) for info in await memory.stories() if info.name.startswith(begins))


def load_templates(folder: Path | None = None) -> dict[str, Template]:
    """Return the prompts of the agents; files of the same name in a folder stand in for the package's own."""
    templates: dict[str, Template] = {}
    for name, placeholders in PLACEHOLDERS.items():
        own = folder / f"{name}.md" if folder else None
        text = (files("previously.play") / "prompts" / f"{name}.md").read_text("utf-8")
        if own is not None and own.is_file():
            text = own.read_text("utf-8-sig")
        templates[name] = parse_template(str(own or name), text, placeholders)
    return templates


async def _take_back_unfinished(story: Story) -> str:
    """Take back what is left of a turn that was cut short; return what the player had said."""
    if not (await story.branch_info()).messages or await story.turn_record() is not None:
        return ""
    starts = await _find_starts(story, 1)
    if not starts:
        return ""
    await story.rewind(starts[0].position, after=starts[0].after)
    return starts[0].words


async def _find_starts(story: Story, turns: int) -> list[TurnStart]:
    """Return where the newest turns begin, the newest first."""
    starts: list[TurnStart] = []
    end = (await story.branch_info()).messages
    while end and len(starts) < turns:
        first = max(0, end - READ_AT_ONCE)
        read = await story.messages(first, end - 1)
        starts += [start for item in reversed(read) if (start := _read_start(item))]
        end = first
    return starts[:turns]


def _read_start(item: OnPath) -> TurnStart | None:
    begins = item.entry.attributes.extra.get(BEGINS)
    if not isinstance(begins, Mapping):
        return None
    return TurnStart(int(begins["turn"]), item.position, int(begins["after"]), item.entry.message.text)


def meter_model(model: Model) -> MeteredModel:
    """Return a model whose calls are counted. Open the memory of a game with the same one."""
    return MeteredModel(model)
