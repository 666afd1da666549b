"""The agents of a game and the questions they are asked: each with its own prompt, reader, budget and temperature.

Pure. What an agent is told of the game is furniture of its view, so that it counts against the agent's budget; memory
and the newest turns come from the view. The narrator is told all. A character is told of the place and of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from previously.core.messages import Message, Role, Text
from previously.core.model_io import ModelRequest
from previously.folds.prompts.templates import Template, fill_template
from previously.play.game import (
    MOOD_WORDS,
    NARRATOR,
    Character,
    Game,
    GameChapter,
    describe_cast,
    describe_chapter,
    describe_person,
    describe_world,
)
from previously.play.progress import GameState
from previously.view.render import ViewPart, place_messages
from previously.view.view import Furniture, View

STORY_BEGINS = "What was told and said, the newest last:"
NOBODY = "nobody"

TRANSITION = "\nThis chapter has just begun: lead the story into it."


@dataclass(frozen=True, slots=True)
class Agent:
    """One who is asked in a turn."""

    name: str
    prompt: str
    window_tokens: int
    """All it may read and write."""
    answer_tokens: int
    temperature: float

    @property
    def budget_tokens(self) -> int:
        """The size its view may have."""
        return self.window_tokens - self.answer_tokens


NARRATOR_AGENT = Agent("narrator", "narrator", 2_000, 450, 1.0)
"""120 words and three lines are about 220 tokens: twice that is room enough, and what else could be kept free tells
half a turn more of the story."""
CHARACTER_AGENT = Agent("character", "character", 1_000, 200, 1.0)
STATE_AGENT = Agent("state", "state", 1_000, 120, 0.2)
"""A turn of a narration and two answers takes about 400 tokens and the beats about 200; what is longer still fits."""

PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "narrator": ("player", "world", "chapter", "transition", "cast", "present", "names", "moods"),
    "character": ("name", "setting", "person"),
    "state": ("title", "beats", "completion", "form"),
}
"""Every prompt of a game, and what it is filled with."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to an agent, before its view is made."""

    agent: Agent
    reader: str
    furniture: Furniture
    about: str
    """Whom a failure is blamed on, in words."""


def make_narrator_question(template: Template, game: Game, state: GameState) -> Question:
    """Return the question to the narrator: world, chapter, cast with secrets, and who was there."""
    chapter = game.chapters[state.chapter]
    values = {
        "player": game.player,
        "world": describe_world(game),
        "chapter": describe_chapter(chapter, state.beats),
        "transition": TRANSITION if state.chapter_turn == 0 and state.turn > 0 else "",
        "cast": describe_cast(game, chapter),
        "present": ", ".join(game.list_names(state.present)) or NOBODY,
        "names": ", ".join(game.list_names(chapter.characters)),
        "moods": " or ".join((", ".join(MOOD_WORDS[:-1]), MOOD_WORDS[-1])),
    }
    return _make_question(NARRATOR_AGENT, "narrator", template, values, NARRATOR)


def make_character_question(template: Template, game: Game, person: Character) -> Question:
    """Return the question to a character: the place, and nobody's secret but their own."""
    values = {"name": person.name, "setting": game.world.setting, "person": describe_person(game, person)}
    return _make_question(CHARACTER_AGENT, find_character_reader(person), template, values, person.name)


def find_character_reader(person: Character) -> str:
    """Return the reader whose view a character is shown. This is the wall between what people know."""
    return f"character:{person.name}"


def make_state_question(template: Template, chapter: GameChapter, hit: Sequence[str]) -> Question:
    """Return the question to the state agent: the beats by number, and when the chapter is over."""
    beats = "\n".join(
        f"{number}. {beat} ({'hit before' if beat in hit else 'open'})" for number, beat in enumerate(chapter.beats, 1)
    )
    when = chapter.completion.when
    values = {
        "title": chapter.title,
        "beats": beats,
        "completion": f"\nThe chapter is complete when: {when}" if when else "",
        "form": "\nCOMPLETE: yes if the chapter is complete now, else no" if when else "",
    }
    return _make_question(STATE_AGENT, "state", template, values, "the game's state")


def _make_question(agent: Agent, reader: str, template: Template, values: Mapping[str, str], about: str) -> Question:
    system, task = fill_template(template, values)
    front = (Message(Role.SYSTEM, (Text(system),)),)
    notes = ((0, Message(Role.USER, (Text(task),))),)
    return Question(agent, reader, Furniture(front, notes), about)


def make_model_request(question: Question, view: View) -> ModelRequest:
    """Return the question with the view that was made for it: memory behind the prompt, then the story, then the
    task."""
    system, story, task = "", [], ""
    for placed in place_messages(view.parts):
        match placed.part:
            case ViewPart.SYSTEM:
                system = placed.message.text
            case ViewPart.NOTE:
                task = placed.message.text
            case _:
                speaker = placed.message.speaker
                story.append(f"{speaker}: {placed.message.text}" if speaker else placed.message.text)
    told = "\n\n".join([STORY_BEGINS, *story, "---", task] if story else [task])
    agent = question.agent
    return ModelRequest(system, told, agent.answer_tokens, None, agent.temperature)
