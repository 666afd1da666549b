"""Folding beside the chat: when nobody waits, one at a time, given up for a user where the server has one slot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from previously.runtime.fold_report import FoldReport
from previously.server import background_folds
from previously.server.background_folds import BackgroundFolds
from previously.server.upstream import Facts
from previously.story.story import Story

NOTHING_DUE = FoldReport((), "nothing is due")


class Folding:
    """A story whose one fold takes until it is let go."""

    folding = "automatic"

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.given_up = 0
        self.done = asyncio.Event()
        self.at_once = self.most_at_once = 0

    async def fold(self, *, once: bool) -> FoldReport:
        assert once
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        finally:
            self.at_once -= 1
        self.done.set()
        return NOTHING_DUE


def keeper_of(
    story: object, slots: int | None, *, yields: bool = True, failed: list[int] | None = None
) -> BackgroundFolds:
    async def open_story(_owner: str, _name: str, _model: str, _key: str | None) -> Story:
        if isinstance(story, Exception):
            raise story
        return cast(Story, story)

    count = failed if failed is not None else []
    return BackgroundFolds(
        open_story, lambda _: Facts(slots=slots), idle_s=0, yields=yields, on_failure=lambda: count.append(1)
    )


async def until(is_so: Callable[[], bool]) -> None:
    """Returns when it is so."""
    for _ in range(1_000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never was")


async def test_a_fold_begins_when_nobody_waits() -> None:
    story = Folding()
    keeper = keeper_of(story, 1)
    keeper.start()
    with keeper.pause_for("me", "m", None):
        keeper.add_story("me", "tale")
        await asyncio.sleep(0.02)
        assert not story.begun.is_set()
    await asyncio.wait_for(story.begun.wait(), 5)
    await keeper.stop()
    assert story.given_up == 1, "what is under way is given up at the end"


@pytest.mark.parametrize(("slots", "yields", "given_up"), [(1, True, 1), (None, True, 1), (4, True, 0), (1, False, 0)])
async def test_a_user_ends_a_fold_only_where_it_would_keep_them_waiting(
    slots: int | None, yields: bool, given_up: int
) -> None:
    story = Folding()
    keeper = keeper_of(story, slots, yields=yields)
    keeper.start()
    keeper.add_story("me", "tale")
    await asyncio.wait_for(story.begun.wait(), 5)
    story.begun.clear()
    with keeper.pause_for("me", "m", None):
        await asyncio.sleep(0.02)
    assert (story.given_up, keeper.given_up) == (given_up, given_up)
    story.go.set()
    await asyncio.wait_for(story.done.wait(), 5)  # later, it is done in any case
    await keeper.stop()


@pytest.mark.parametrize(("slots", "yields", "folds"), [(4, True, True), (1, False, True), (1, True, False)])
async def test_a_story_does_not_wait_for_ever_where_a_fold_holds_up_nobody(
    slots: int, yields: bool, folds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent at work asks again as soon as it is answered."""
    monkeypatch.setattr(background_folds, "PATIENCE_S", 0.05)
    story = Folding()
    keeper = keeper_of(story, slots, yields=yields)
    keeper.start()
    with keeper.pause_for("me", "m", None):
        keeper.add_story("me", "tale")
        if folds:
            await asyncio.wait_for(story.begun.wait(), 5)
        else:
            await asyncio.sleep(0.2)
            assert not story.begun.is_set()
    await keeper.stop()


async def test_one_story_folds_at_a_time() -> None:
    story = Folding()
    keeper = keeper_of(story, 4)
    keeper.start()
    for name in ("one", "two", "three"):
        keeper.add_story("me", name)
    await asyncio.wait_for(story.begun.wait(), 5)
    assert keeper.waiting == 3, "one of them is looked at"
    story.go.set()
    await until(lambda: not keeper.waiting)
    await keeper.stop()
    assert story.most_at_once == 1


async def test_a_failure_is_counted_and_ends_nothing() -> None:
    failed: list[int] = []
    keeper = keeper_of(RuntimeError("no such story"), 1, failed=failed)
    keeper.start()
    keeper.add_story("me", "tale")
    await until(lambda: len(failed) == 1)
    keeper.add_story("me", "other")
    await until(lambda: len(failed) == 2)
    await keeper.stop()
