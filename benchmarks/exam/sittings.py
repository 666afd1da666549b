"""Sittings: one memory, one story, one budget, and the texts that are scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.exam import rolling
from benchmarks.exam.exams import CHARACTERS, Exam, newest_messages, render
from benchmarks.exam.presence import read_presence, score_presence
from previously import Memory, Message, Story
from previously.core.messages import message
from previously.core.tokens import Counter, message_tokens
from previously.core.versions import Cost
from previously.folds.prompts.templates import Template
from previously.models.client import Model
from previously.runtime.fold_report import FoldReport
from previously.runtime.prompts import load_prompts
from previously.runtime.story_settings import StorySettings
from previously.runtime.writer import BuiltinWriter
from previously.settings import make_layer


@dataclass(frozen=True, slots=True)
class Sitting:
    """What a memory shows of a story in one budget."""

    end: str
    """The view at the story's end."""
    asked: tuple[str, ...]
    """The view with each question as the newest message, without the question."""
    tokens: int
    """What the largest of these views takes."""
    cost: Cost = field(default_factory=Cost)
    presence: dict[str, Any] | None = None


def prompts() -> Mapping[str, Template]:
    """Return every prompt that a recorded answer may be to."""
    return {**load_prompts(), rolling.KIND: rolling.TEMPLATE}


def sit_newest(exam: Exam, budget: int, front: str = "", cost: Cost | None = None) -> Sitting:
    """Show the newest messages, whole, behind a text that is always there."""
    opening = [message("system", front)] if front else []
    room = budget - sum(message_tokens(one, CHARACTERS) for one in opening)
    views = [[*opening, *newest_messages(exam.messages, room)]]
    for question in exam.questions:
        asked = message_tokens(message("user", question.text), CHARACTERS)
        views.append([*opening, *newest_messages(exam.messages, room - asked)])
    end, *texts = map(render, views)
    tokens = max(sum(message_tokens(one, CHARACTERS) for one in view) for view in views)
    return Sitting(end, tuple(texts), tokens, cost or Cost())


async def sit_engine(exam: Exam, budget: int, model: Model | None) -> Sitting:
    """Show the engine's views of a fresh copy of the story, folded by a model or, without one, by the built-in writer.

    Questions are taken back one by one, and nothing is kept of their views: no question sees another.
    """
    async with await open_memory(exam, model) as memory:
        story, report = await fold_story(memory, exam, budget)
        view = await story.view(budget, aside=True)
        end, tokens = render(view.messages), view.tokens
        texts = []
        for question in exam.questions:
            await story.add("user", question.text)
            view = await story.view(budget, aside=True)
            await story.delete(-1)
            texts.append(without_question(view.messages, question.text))
            tokens = max(tokens, view.tokens)
        presence = score_presence(exam.presence, await read_presence(story), await folded_through(story))
    return Sitting(end, tuple(texts), tokens, cost_of(report), presence)


async def open_memory(exam: Exam, model: Model | None) -> Memory:
    """Open an empty store in memory. Whatever the environment names, no model means the built-in writer."""
    writer = None if model else BuiltinWriter()
    return await Memory.open(":memory:", settings=exam.settings, model=model, writer=writer)


async def fold_story(memory: Memory, exam: Exam, budget: int) -> tuple[Story, FoldReport]:
    """Tell the whole story and fold all that is due at its end for a reader with that budget."""
    story = await memory.story(exam.name)
    story._access.settings = _ExamSettings(
        [make_layer(exam.settings)], "{}"
    )  # no setting names this counter, which is for measuring
    await story.add_drafts(exam.drafts)
    key = (await story.info()).key
    await memory.store.write(key, lambda tables: tables.stories.keep(key, "budget_tokens", budget))
    return story, await story.fold()


class _ExamSettings(StorySettings):
    """Settings whose views are counted as every row is."""

    @property
    def counter(self) -> Counter:
        """Return the counter of the exam."""
        return CHARACTERS


def without_question(messages: Sequence[Message], question: str) -> str:
    """Return a view's text without the question, which stands last in the newest message; what was recalled for it
    stays."""
    before, _, after = render(messages).rpartition(question)
    return f"{before}{after}"


async def folded_through(story: Story) -> int:
    """Return the last position that memory tells of; -1 for none."""
    recap = await story.recap()
    spans = [chapter.span.last for chapter in await story.chapters() if chapter.text]
    return max([*spans, recap.span.last if recap else -1], default=-1)


def cost_of(report: FoldReport) -> Cost:
    """Return what folds took of a model. What the built-in writer reads costs nothing."""
    return sum((fold.cost for fold in report.folds if fold.cost.calls), Cost())
