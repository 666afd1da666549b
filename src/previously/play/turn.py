"""One turn: narrator, then those who answer, then the memory of all witnesses and the game's state at once.

It performs what `progress` decides. Each agent sees its own view and has a bounded number of tries. A character, a
memory or the state agent that fails is told of, and the turn goes on; without a narration there is no turn, and the
story is as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from previously.core.errors import BudgetTooSmall, PreviouslyError
from previously.core.messages import Attributes, Draft, message
from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.core.versions import Status
from previously.folds.prompts.templates import Template
from previously.models.retry import GiveUp, decide_retry
from previously.play.agents import (
    Question,
    make_character_question,
    make_model_request,
    make_narrator_question,
    make_state_question,
)
from previously.play.answers import StateAnswer, find_spoken, read_character, read_narrator, read_state
from previously.play.events import Asked, BeatHit, ChapterOver, Said, Tell, Trouble, Words
from previously.play.game import NARRATOR, Game
from previously.play.model_meter import MeteredModel
from previously.play.progress import GameState, TurnScene, TurnStep, decide_scene, decide_step
from previously.runtime.fold_loop import OTHERS
from previously.runtime.fold_report import FoldReport
from previously.story.story import Story
from previously.view.view import Reason, View

RETRIES = 2
"""Tries after the first, for failures and unusable answers together: a third unusable answer will not be the last."""

WARMER = 0.1
"""Added to the temperature with each try: the same question at the same temperature often gives the same answer."""

ROOMIER = 4
"""A model that thinks aloud used up the room of its answer: it has so many times as much the next time."""

BEGINS = "turn_begins"
"""The name under which the first message of a turn says which turn it begins, and what was remembered before it."""

PRESSED_MESSAGES = 6
"""Messages for which the narrator's view had no room before they are folded: two turns. A fold of one message costs as
much as one of six."""

UNUSABLE = "its answers could not be used"

T = TypeVar("T")


class NoNarration(PreviouslyError):
    """The narrator gave nothing to go on with; the story is as it was before the player spoke."""


@dataclass(frozen=True, slots=True)
class TurnDone:
    """A finished turn."""

    state: GameState
    view_tokens: int
    """The size of what the narrator saw."""
    witnesses: int
    """Characters who were there."""
    responses: int
    hit: tuple[str, ...]
    """The beats that happened in it."""


class TurnPlayer:
    """Plays turns of one story."""

    def __init__(
        self, game: Game, story: Story, model: MeteredModel, templates: Mapping[str, Template], tell: Tell
    ) -> None:
        self._game, self._story, self._model = game, story, model
        self._templates, self._tell = templates, tell
        self._faults: list[str] = []
        self._view_tokens = 0
        self._pressed = False

    async def play(self, state: GameState, words: str) -> TurnDone:
        """Play a turn that begins with what the player says. What it leaves unfinished, the caller takes back."""
        self._faults = []
        scene, repairs, mood = await self._narrate(state, words)
        responses = 0
        for stem in scene.responding:
            repaired = await self._answer(stem, scene)
            responses += repaired is not None
            repairs += repaired or 0
        report, verdict = await asyncio.gather(self._story.fold_cast(), self._judge(state))
        self._note_memory(report)
        repairs += len(verdict.repairs) if verdict else 0
        step = decide_step(self._game, state, scene, verdict)
        final = replace(step.state, mood=mood, faults=tuple(self._faults), repairs=repairs + scene.repairs)
        await self._finish(replace(step, state=final))
        await self._recap()
        return TurnDone(
            replace(final, faults=tuple(self._faults)), self._view_tokens, len(scene.present), responses, step.hit
        )

    async def _narrate(self, state: GameState, words: str) -> tuple[TurnScene, int, str]:
        """Put the player's words and the narration on the path, each with those who were there."""
        game, before = self._game, await self._story.branch_info()
        extra = {BEGINS: {"turn": state.turn + 1, "after": await self._story.newest_version()}}
        said = self._make_draft("user", game.player, words, state.present, extra)
        await self._story.add_drafts([said])
        question = make_narrator_question(self._templates["narrator"], game, state)
        answer = await self._ask(
            question, lambda reply: read_narrator(reply.text, cut_off=_is_cut(reply)), speaker=NARRATOR
        )
        if answer is None:
            raise NoNarration(self._faults[-1] if self._faults else UNUSABLE)
        scene = decide_scene(game, state, words, answer)
        told = self._make_draft("assistant", NARRATOR, answer.narration, scene.present)
        if set(scene.present) == set(state.present):
            await self._story.add_drafts([told])
        else:  # the narrator says who heard it, so the player's words are put down once more, before those
            heard = self._make_draft("user", game.player, words, scene.present, extra)
            await self._story.replace_end(before.messages, [heard, told])
        self._tell(Said(NARRATOR, answer.narration))
        return scene, len(answer.repairs), answer.mood

    async def _answer(self, stem: str, scene: TurnScene) -> int | None:
        """Put a character's answer on the path; return how much of it had to be repaired, None where there is none."""
        person = self._game.characters[stem]
        others = tuple(other.name for other in self._game.characters.values() if other.name != person.name)
        others = (*others, self._game.player)
        question = make_character_question(self._templates["character"], self._game, person)
        answer = await self._ask(
            question, lambda reply: read_character(reply.text, person.name, others, cut_off=_is_cut(reply))
        )
        if answer is None or not answer.text:
            return None
        await self._story.add_drafts([self._make_draft("assistant", person.name, answer.text, scene.present)])
        self._tell(Said(person.name, answer.text))
        return len(answer.repairs)

    async def _judge(self, state: GameState) -> StateAnswer | None:
        if state.complete:
            return StateAnswer(())  # the story goes on for its own sake
        chapter = self._game.chapters[state.chapter]
        question = make_state_question(self._templates["state"], chapter, state.beats)
        return await self._ask(question, lambda reply: read_state(reply.text, chapter.beats))

    async def _finish(self, step: TurnStep) -> None:
        opening = None
        if step.opened and step.opened.opening:
            opening = self._make_draft("assistant", NARRATOR, step.opened.opening, step.opened.present)
        title = step.closed.title if step.closed else None
        await self._story.finish_turn(step.state.as_record(), closes=title, opening=opening)
        for beat in step.hit:
            self._tell(BeatHit(beat))
        if step.closed:
            opened = step.opened.title if step.opened else ""
            self._tell(ChapterOver(step.closed.title, step.state.reason, opened))
        if opening and step.opened:
            self._tell(Said(NARRATOR, step.opened.opening))

    async def _recap(self) -> None:
        """Fold what has become due. The turn is finished: what fails here is due again after the next one."""
        try:
            report = await self._story.fold(cast=False, pressed=self._pressed)
        except PreviouslyError as error:
            self._blame("memory", str(error))
        else:
            self._note_memory(report)

    def _note_memory(self, report: FoldReport) -> None:
        if report.stopped == OTHERS:  # what is missed now is read with the next turn
            self._blame("memory", OTHERS)
        for done in report.folds:
            if done.status not in (Status.COMMITTED, Status.PENDING):
                whose = f"the memory of {done.scope.lstrip('@')}" if done.kind == "cast" else f"the {done.kind.value}"
                self._blame(whose, done.reason)

    async def _ask(self, question: Question, read: Callable[[ModelReply], T | None], *, speaker: str = "") -> T | None:
        """Return an agent's answer; None when its tries are used up, which is told of."""
        self._tell(Asked(question.about))
        try:  # aside: an agent's prompt changes with each beat, so that an unchanged front would only cost room
            view = await self._story.view(
                question.agent.budget_tokens, reader=question.reader, furniture=question.furniture, aside=True
            )
        except BudgetTooSmall as error:
            self._blame(question.about, str(error))
            return None
        if speaker == NARRATOR:
            self._view_tokens, self._pressed = view.tokens, is_pressed(view)
        request, reason = make_model_request(question, view), UNUSABLE
        for tries in range(1, RETRIES + 2):
            reply = await self._call(request, speaker)
            if isinstance(reply, ModelFailure):
                reason = reply.reason
                decision = decide_retry(reply, tries, jitter=0.5)
                if isinstance(decision, GiveUp):
                    self._blame(question.about, decision.reason)
                    return None
                if tries <= RETRIES:
                    await asyncio.sleep(decision.seconds)
                continue
            answer = read(reply)
            if answer is not None:
                return answer
            reason = UNUSABLE
            room = request.max_output_tokens * (ROOMIER if _is_cut(reply) else 1)
            request = replace(request, temperature=request.temperature + WARMER, max_output_tokens=room)
        self._blame(question.about, reason)
        return None

    async def _call(self, request: ModelRequest, speaker: str) -> ModelReply | ModelFailure:
        if not speaker:
            return await self._model.ask(request)
        return await self._model.ask_aloud(request, lambda text: self._tell(Words(speaker, find_spoken(text))))

    def _blame(self, about: str, reason: str) -> None:
        self._faults.append(f"{about}: {reason}")
        self._tell(Trouble(about, reason))

    def _make_draft(
        self, role: str, speaker: str, text: str, present: Sequence[str], extra: Mapping[str, object] | None = None
    ) -> Draft:
        return make_draft(self._game, role, speaker, text, present, extra)


def make_draft(
    game: Game, role: str, speaker: str, text: str, present: Sequence[str], extra: Mapping[str, object] | None = None
) -> Draft:
    """Return a message of a game that the player and those present witness."""
    witnesses = [*game.list_names(present), game.player]
    return Draft(message(role, text, speaker=speaker, witnesses=witnesses), Attributes(extra=dict(extra or {})))


def is_pressed(view: View) -> bool:
    """Return whether so much of the story is neither shown nor told that it is worth a fold."""
    waiting = (left.span for left in view.left_out if left.reason in (Reason.BUDGET, Reason.WAITING) and left.span)
    return sum(map(len, waiting)) >= PRESSED_MESSAGES


def _is_cut(reply: ModelReply) -> bool:
    return reply.finish_reason == "length"
