"""What a fold noted leads recall to messages that share no word with the question."""

from __future__ import annotations

import re

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.core.versions import Kind
from tests.end_to_end.runtime.echoing import make_writer
from tests.end_to_end.runtime.update_answers import answer, is_update, messages

SETTINGS = Settings(
    window_tokens=2_000, answer_tokens=0, fold_messages=40, tail_messages=4, cast="off", chapter_messages=0
)
RAIN = "The rain goes on over the fields and nobody has anything to say about it."
QUESTION = "Has the chimney been repaired yet?"
DONE = 21


def note(request: ModelRequest) -> str:
    """Note at its message that the chimney is repaired, in words that the story does not use."""
    if not is_update(request):
        return "It rained."
    found = re.search(r"(#\d+)[^#]*Odalys climbs down, sooty", messages(request))
    state = f"- {found[1]} Chimney / condition: repaired" if found else ""
    return answer(request, "It rained. Odalys climbed down, sooty and content.", state=state)


def tell(memory: BlockingMemory, *, witnesses: list[str] | None = None) -> BlockingStory:
    story = memory.story("tale")
    for at in range(44):
        if at == DONE:
            story.add("assistant", "Odalys climbs down, sooty and content.", name="Odalys", witnesses=witnesses)
        elif at in (4, 33):
            story.add("user", "The chimney smokes.", name="Bram")
        else:
            story.add("user" if at % 2 else "assistant", f"{at}: {RAIN}", name="Bram")
    return story


def score(story: BlockingStory, witness: str | None = None) -> float:
    """Return how well the message is found for the question; 0 where it is not."""
    return max(
        (hit.score for hit in story.search(QUESTION, top=44, witness=witness) if hit.position == DONE), default=0.0
    )


@pytest.fixture
def memory() -> BlockingMemory:
    return BlockingMemory(":memory:", settings=SETTINGS, writer=make_writer(ScriptedModel(note)))


def test_a_note_brings_its_message_though_it_shares_no_word_with_the_question(memory: BlockingMemory) -> None:
    with memory:
        story = tell(memory)
        before = score(story)
        story.fold()
        assert score(story) > before + 0.2


def test_what_is_taken_back_leads_nowhere(memory: BlockingMemory) -> None:
    with memory:
        story = tell(memory)
        before = score(story)
        story.fold()
        assert score(story) > before
        for version in [one.id for one in story.log() if one.made.kind is Kind.NOTE and one.made.span.last >= DONE]:
            story.take_back(version)
        assert score(story) == before


def test_an_edit_of_the_message_takes_the_note_with_it(memory: BlockingMemory) -> None:
    with memory:
        story = tell(memory)
        story.fold()
        noted = score(story)
        story.edit(DONE, "Odalys climbs down, sooty and cross.")
        assert score(story) < noted - 0.2


def test_whoever_was_not_there_is_led_nowhere(memory: BlockingMemory) -> None:
    with memory:
        story = tell(memory, witnesses=["Odalys"])
        story.add("assistant", "I was away.", name="Pim", witnesses=["Pim", "Bram"])
        story.fold()
        assert score(story) > 0
        assert score(story, "Pim") == 0
