"""The blocking fronts have every public method, with the types that the stub says."""

from __future__ import annotations

import asyncio
import gc
import inspect
from pathlib import Path

import pytest

from previously import BlockingMemory, PreviouslyError
from previously.app import Memory
from previously.blocking import NOT_BLOCKING, BlockingStory
from previously.story.parts import PARTS
from previously.story.story import Story
from tests.blocking_stub import STUB, make_stub


def test_the_stub_says_what_the_methods_take_and_give() -> None:
    assert STUB.read_text(encoding="utf-8") == make_stub(), "write it anew: python -m tests.blocking_stub"


INNER = {"is_pressed", "add_witnesses"}
"""Methods that parts have for one another."""


def test_a_story_has_every_public_async_method_of_its_parts() -> None:
    for name, part in PARTS.items():
        kind = part.load()
        public = {
            method for method, _ in inspect.getmembers(kind, inspect.iscoroutinefunction) if not method.startswith("_")
        }
        assert set(part.methods.split()) == public - INNER, f"write the methods of {name} into story/parts.py"
        for method in part.methods.split():
            assert inspect.unwrap(getattr(Story, method)) is getattr(kind, method)
    with BlockingMemory(":memory:") as memory:
        parts = memory.story("s")._inner._parts
        assert all(type(getattr(parts, name)) is part.load() for name, part in PARTS.items())


def test_every_public_async_method_has_a_blocking_twin() -> None:
    for front, owner in ((BlockingStory, Story), (BlockingMemory, Memory)):
        wanted = {
            name for name, _ in inspect.getmembers(owner, inspect.iscoroutinefunction) if not name.startswith("_")
        }
        there = {name for name, _ in inspect.getmembers(front, inspect.isfunction)}
        assert wanted - there <= NOT_BLOCKING | {"open"}


def test_a_twin_blocks_and_has_the_words_of_the_method() -> None:
    assert not inspect.iscoroutinefunction(BlockingStory.add)
    assert BlockingStory.add.__doc__ == Story.add.__doc__
    with BlockingMemory(":memory:") as memory:
        story = memory.story("s")
        assert story.add("user", "Hello.").messages == 1
        assert [item.entry.message.text for item in story.messages()] == ["Hello."]


def test_a_story_is_opened_with_a_window(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "stories.db") as memory:
        assert memory.story("tale", window_tokens=4_096).name == "tale"


@pytest.mark.filterwarnings("error")
def test_what_is_closed_says_so_and_may_be_closed_again(tmp_path: Path) -> None:
    memory = BlockingMemory(tmp_path / "stories.db")
    story = memory.story("tale")
    memory.close()
    memory.close()
    for ask in (story.messages, memory.stories):
        with pytest.raises(PreviouslyError, match="closed"):
            ask()
    gc.collect()  # a coroutine that nobody waited for would warn now


@pytest.mark.filterwarnings("error")
def test_inside_an_event_loop_the_other_front_is_named(tmp_path: Path) -> None:
    memory = BlockingMemory(tmp_path / "stories.db")
    story = memory.story("tale")

    async def work() -> None:
        for ask in (story.messages, memory.close):
            with pytest.raises(PreviouslyError, match="use `Memory` instead"):
                ask()

    asyncio.run(work())
    gc.collect()
    memory.close()
