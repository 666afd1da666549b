"""A story of 10,000 messages: what an edit, an import and a switch cost in folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BlockingMemory, Draft, message
from previously.blocking import BlockingStory
from previously.core.messages import Attributes
from previously.core.versions import Kind
from previously.demo.long_story import generate_story
from tests.effort import cases

COUNT = cases(10_000, quick=1_100)  # not a number at which a chapter has just closed: there is a recap to edit
EDITED, DELETED = COUNT * 7 // 10, COUNT * 9 // 10

pytestmark = pytest.mark.random


def drafts(count: int) -> list[Draft]:
    return [
        Draft(message(str(line["role"]), str(line["content"]), speaker=str(line["name"])))
        for line in generate_story(count)
    ]


@pytest.fixture(scope="module")
def long_story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingStory]:
    with BlockingMemory(tmp_path_factory.mktemp("long") / "stories.db") as memory:
        story = memory.story("long")
        story.follow(drafts(COUNT))
        assert story.fold().folds
        yield story


def test_an_edit_inside_the_tail_costs_no_fold(long_story: BlockingStory) -> None:
    long_story.branch("tail edit")
    long_story.switch("tail edit")
    for position in (-1, -5, -12):
        long_story.edit(position, "Something else was said.")
        assert long_story.fold().folds == ()


def test_an_edit_of_the_newest_folded_message_costs_one_and_switching_back_none(long_story: BlockingStory) -> None:
    long_story.switch("main")
    live = long_story.recap()
    assert live is not None
    long_story.branch("edited")
    long_story.switch("edited")
    long_story.edit(live.span.last, "Tess put the whole matter differently, and named the mill on Goose Green.")
    assert long_story.recap() != live
    folds = Counter((done.kind, done.scope) for done in long_story.fold().folds)
    assert sum(count for (kind, _), count in folds.items() if kind is Kind.RECAP) == 1
    assert set(folds.values()) == {1}, "what a scene and what each character holds of it is made anew once, too"
    long_story.switch("main")
    assert long_story.recap() == live
    assert long_story.fold().folds == ()
    long_story.switch("edited")
    assert long_story.fold().folds == ()


def test_importing_twice_changes_nothing(long_story: BlockingStory) -> None:
    long_story.switch("main")
    head = long_story.branch_info().head
    changes = long_story.follow(drafts(COUNT))
    assert (changes.added, changes.updated, changes.removed, changes.unchanged) == (0, 0, 0, COUNT)
    assert long_story.branch_info().head == head


def test_importing_a_longer_or_edited_copy_changes_only_what_changed(long_story: BlockingStory) -> None:
    long_story.switch("main")
    long_story.branch("copies")
    long_story.switch("copies")
    longer = drafts(COUNT + 25)
    changes = long_story.follow(longer)
    assert (changes.added, changes.updated, changes.removed, changes.unchanged) == (25, 0, 0, COUNT)

    kept = {item.position: item.entry.id for item in long_story.messages()}
    edited = list(longer)
    edited[EDITED] = Draft(message(longer[EDITED].message.role, "A word was mended here.", speaker="Tess Arlow"))
    del edited[DELETED]
    changes = long_story.follow(edited)
    assert (changes.added, changes.updated, changes.removed) == (0, 1, 1)
    after = long_story.messages()
    assert [item.entry.id for item in after[:EDITED]] == [kept[position] for position in range(EDITED)]
    assert [item.entry.id for item in after[DELETED:]] == [
        kept[position] for position in range(DELETED + 1, COUNT + 25)
    ]

    hidden = [Draft(draft.message, Attributes(hidden=index == 3)) for index, draft in enumerate(edited)]
    head = long_story.branch_info().head
    changes = long_story.follow(hidden)
    assert (changes.added, changes.updated, changes.removed) == (0, 1, 0)
    assert long_story.branch_info().head == head, "a hidden flag moves no node"


@pytest.mark.slow(reason="needs two long stories")
def test_the_view_does_not_grow_with_the_story(long_story: BlockingStory, tmp_path: Path) -> None:
    def largest_view(story: BlockingStory, lines: list[Draft]) -> int:
        sizes = []
        for draft in lines:
            story.add_drafts([draft])
            story.fold()
            sizes.append(story.view(8_000).tokens)
        return max(sizes)

    long_story.switch("main")
    long_story.branch("longer")
    long_story.switch("longer")
    more = drafts(COUNT + 120)
    with BlockingMemory(tmp_path / "stories.db") as memory:
        short_story = memory.story("short")
        short_story.follow(more[:2_400])
        short_story.fold()
        short = largest_view(short_story, more[2_400:2_520])
    assert largest_view(long_story, more[COUNT:]) <= 1.25 * short, (
        "what waits to be folded and how much was promised vary"
    )
