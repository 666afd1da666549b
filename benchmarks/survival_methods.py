"""The methods that `benchmarks.survival` compares, each from a story to what it has of it in the end.

Every method reads the story message by message and is looked at `STEPS` times on the way. What must stay true: a method
sees nothing but the messages and the answers of its model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.forgetful import ForgetfulModel
from benchmarks.planted import World
from previously import Draft, Memory, Message, Settings, Story
from previously.core.model_io import ModelRequest
from previously.core.scripts import count_words
from previously.core.tokens import estimate_tokens, message_tokens

BATCH = 10
TAIL = 12
SENTENCE_WORDS = 12
VIEW_TOKENS = 8_192
STEPS = 20
"""Points on each line of the plot."""

_REWRITE = (
    "You keep the summary of a long story. Rewrite it so that it holds the new events too. Never leave out a promise "
    "or a secret that is still open. Plain prose in the past tense, about {words} words."
)
_SENTENCE = "Summarise this message in one short sentence, about {words} words."


@dataclass(slots=True)
class Run:
    """What a method had at the end of one story, and on the way there."""

    memory: str
    view: str
    tokens: int
    words: int
    calls: int
    input_tokens: int
    shares: list[float] = field(default_factory=list)
    """Of the facts planted so far, the share still held, at each step."""


class Course:
    """Looks at a memory now and then while a story is told."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._every = max(1, len(world.messages) // STEPS)
        self.shares: list[float] = []

    def due(self, told: int) -> bool:
        """Whether to look after so many messages."""
        return told % self._every == 0

    def note(self, told: int, memory: str) -> None:
        """Take down the share of facts held."""
        planted = [fact for fact in self._world.facts if fact.position < told]
        self.shares.append(len(self._world.held_by(memory, planted)) / max(1, len(planted)))


async def memory_text(story: Story) -> tuple[str, str]:
    """All that memory holds of a story: its texts, and the messages that none of them covers."""
    chapters = await story.chapters()
    backbone, recap = await story.backbone(), await story.recap()
    texts = [backbone.text if backbone else "", *(chapter.text for chapter in chapters), recap.text if recap else ""]
    covered = max([chapter.span.last for chapter in chapters if chapter.text], default=-1)
    covered = max(covered, recap.span.last if recap else -1)
    rest = [item.entry.message for item in await story.messages()][covered + 1 :]
    return "\n\n".join(text for text in texts if text), _told(rest)


async def run_ours(world: World, model: ForgetfulModel | None) -> Run:
    """The library itself, folding every few messages."""
    course = Course(world)
    memory = await Memory.open(":memory:", settings=Settings(), model=model.model if model else None)
    async with memory:
        story = await memory.story("planted")
        for start in range(0, len(world.messages), BATCH):
            await story.add_drafts([Draft(one) for one in world.messages[start : start + BATCH]])
            await story.fold()
            told = min(start + BATCH, len(world.messages))
            if course.due(told):
                course.note(told, "\n".join(await memory_text(story)))
        texts, rest = await memory_text(story)
        view = await story.view(VIEW_TOKENS, exclude=["recall"])
        everything = f"{texts}\n\n{rest}"
        return Run(
            everything,
            "\n".join(one.text for one in view.messages),
            estimate_tokens(everything),
            count_words(texts),
            model.calls if model else 0,
            model.input_tokens if model else 0,
            course.shares,
        )


async def run_summary(world: World, model: ForgetfulModel, words: int) -> Run:
    """One text, rewritten with every batch."""
    course = Course(world)
    summary = ""
    for start in range(0, len(world.messages), BATCH):
        events = "\n\n".join(_line(one) for one in world.messages[start : start + BATCH])
        asked = f"<recap>\n{summary or '(none yet)'}\n</recap>\n\n<new_events>\n{events}\n</new_events>"
        summary = await _ask(model, _REWRITE.format(words=words), asked)
        told = start + BATCH
        if course.due(told):
            course.note(told, f"{summary}\n{_told(world.messages[max(0, told - TAIL) : told])}")
    return _finished(world, model, summary, f"{summary}\n{_told(world.messages[-TAIL:])}", course)


async def run_sentences(world: World, model: ForgetfulModel, budget: int) -> Run:
    """A sentence for each message, as many as fit."""
    course = Course(world)
    sentences: list[str] = []
    for told, one in enumerate(world.messages, 1):
        asked = f"<new_events>\n{_line(one)}\n</new_events>"
        sentences.append(await _ask(model, _SENTENCE.format(words=SENTENCE_WORDS), asked))
        if course.due(told):
            course.note(told, _newest_sentences(world, sentences, told, budget))
    memory = _newest_sentences(world, sentences, len(world.messages), budget)
    return _finished(world, model, memory, memory, course)


async def run_truncation(world: World, budget: int) -> Run:
    """Nothing but the newest messages."""
    course = Course(world)
    for told in range(1, len(world.messages) + 1):
        if course.due(told):
            course.note(told, _told(_newest(world.messages[:told], budget)))
    memory = _told(_newest(world.messages, budget))
    return _finished(world, None, "", memory, course)


def _newest_sentences(world: World, sentences: Sequence[str], told: int, budget: int) -> str:
    tail = _told(world.messages[max(0, told - TAIL) : told])
    room = budget - estimate_tokens(tail)
    kept: list[str] = []
    for sentence in reversed(sentences[: max(0, told - TAIL)]):
        room -= estimate_tokens(sentence) + 1
        if room < 0:
            break
        kept.insert(0, sentence)
    return "\n".join([*kept, tail])


def _finished(world: World, model: ForgetfulModel | None, texts: str, memory: str, course: Course) -> Run:
    shown = texts if model else ""
    room = VIEW_TOKENS - estimate_tokens(shown)
    view = f"{shown}\n{_told(_newest(world.messages, room))}"
    calls, read = (model.calls, model.input_tokens) if model else (0, 0)
    return Run(memory, view, estimate_tokens(memory), count_words(texts), calls, read, course.shares)


async def _ask(model: ForgetfulModel, system: str, user: str) -> str:
    reply = await model.model.ask(ModelRequest(system, user, max_output_tokens=4_000))
    return getattr(reply, "text", "")


def _newest(messages: Sequence[Message], budget: int) -> Sequence[Message]:
    """The newest messages that fit so many tokens."""
    taken = 0
    for one in reversed(messages):
        budget -= message_tokens(one)
        if budget < 0:
            break
        taken += 1
    return messages[len(messages) - taken :]


def _line(one: Message) -> str:
    return f"{one.speaker}: {one.text}"


def _told(messages: Sequence[Message]) -> str:
    return "\n".join(_line(one) for one in messages)
