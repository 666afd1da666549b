"""Folds in the background: they end with the memory, and nothing is lost or left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from previously import Memory, PreviouslyError, ScriptedModel, Settings, Story
from previously.core.model_io import ModelRequest
from previously.runtime.fold_report import FoldReport

RULES = Settings(tail_messages=2, fold_messages=3, recap_words=60)


async def tell(story: Story, first: int = 0, last: int = 7) -> None:
    for number in range(first, last + 1):
        await story.add("user", f"Wren promised Odalys to tune piano number {number} by Friday.", name="Wren")


def tasks_left() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_closing_waits_for_what_is_under_way(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "a.db", settings=RULES) as memory:
        story = await memory.story("tale")
        await tell(story)
        story.fold_soon()
    assert tasks_left() == []
    async with await Memory.open(tmp_path / "a.db", settings=RULES) as memory:
        recap = await (await memory.story("tale")).recap()
    assert recap and recap.span.last == 5


async def test_what_comes_in_meanwhile_is_folded_too() -> None:
    async with await Memory.open(":memory:", settings=RULES) as memory:
        story = await memory.story("tale")
        await tell(story)
        running = 0
        fold = story.fold

        async def watched() -> FoldReport:
            nonlocal running
            running += 1
            assert running == 1, "one task for a story"
            try:
                return await fold()
            finally:
                running -= 1

        story.fold = watched  # type: ignore[method-assign, assignment]
        for _ in range(5):
            story.fold_soon()
        other = await memory.story("tale")
        await tell(other, 8, 11)
        story.fold_soon()
        await memory.wait_for_folds()
        recap = await story.recap()
        assert recap and recap.span.last == 8
        assert tasks_left() == []


async def test_giving_up_loses_nothing(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def never(_: ModelRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    memory = await Memory.open(tmp_path / "a.db", settings=RULES, model=ScriptedModel(never))
    story = await memory.story("tale")
    await tell(story)
    story.fold_soon()
    await asked.wait()
    await memory.close(wait=False)
    assert tasks_left() == []
    async with await Memory.open(tmp_path / "a.db", settings=RULES) as memory:
        story = await memory.story("tale")
        assert len(await story.messages()) == 8
        assert [done.span.last for done in (await story.fold()).folds][-1] == 5, (
            "it is due as before, and nobody holds it"
        )
        assert (await memory.verify()).clean


async def test_an_error_in_the_program_does_not_wait_for_folds() -> None:
    async def never(_: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(KeyError, match="mine"):
        async with await Memory.open(":memory:", settings=RULES, model=ScriptedModel(never)) as memory:
            story = await memory.story("tale")
            await tell(story)
            story.fold_soon()
            raise KeyError("mine")
    assert tasks_left() == []


async def test_what_failed_is_raised_where_it_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: ModelRequest) -> str:
        raise RuntimeError("the model's client is broken")

    memory = await Memory.open(":memory:", settings=RULES, model=ScriptedModel(broken))
    story = await memory.story("tale")
    await tell(story)
    story.fold_soon()
    with pytest.raises(RuntimeError, match="client is broken"):
        await memory.wait_for_folds()
    assert "A fold in the background failed" in caplog.text
    await memory.wait_for_folds()
    story.fold_soon()
    with pytest.raises(RuntimeError, match="client is broken"):
        await memory.close()
    assert tasks_left() == []
    with pytest.raises(PreviouslyError, match="closed"):
        story.fold_soon()


async def test_a_fold_that_never_began_is_given_up_too() -> None:
    memory = await Memory.open(":memory:", settings=RULES)
    story = await memory.story("tale")
    story.fold_soon()
    await memory.close(wait=False)
    await memory.wait_for_folds()
    assert tasks_left() == []
