"""Views from turn to turn: what stays as it was, what was shown, and why."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pytest

from previously import BlockingMemory, BuiltinWriter, Draft, Furniture, Memory, Message, Settings, message
from previously.blocking import BlockingStory
from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Role, ToolCall, ToolResult
from previously.core.snapshot import KeptRecipe
from previously.core.tokens import message_tokens
from previously.core.versions import IN_FORCE
from previously.settings import make_layer
from previously.storage.sqlite import SqliteStore
from previously.view import epoch
from previously.view.recipe import digest_messages, parse_recipe, write_recipe
from previously.view.view import Section, View
from tests.contract.storage.postgres_server import shared_server
from tests.effort import mark_slow

SMALL = Settings(
    window_tokens=2_000,
    answer_tokens=0,
    fold_messages=10,
    tail_messages=4,
    chapter_messages=0,
    recap_words=60,
    recall_percent=0,
)
WORDS = "and the rain went on over the quay while nobody said anything more about the lamp or the boat"


@pytest.fixture(params=["in_memory", *mark_slow("sqlite", "postgres", reason="the same on another store")])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlockingMemory]:
    place: Any = ":memory:" if request.param == "in_memory" else tmp_path / "s.db"
    if request.param == "postgres":
        place = shared_server().emptied()
    with BlockingMemory(place, settings=SMALL) as opened:
        yield opened


def turn(story: BlockingStory, number: int) -> View:
    """A user message, the view of it, an answer, and folding."""
    story.add("user", f"Ines counts lamp {number} {WORDS}.", name="Ines")
    view = story.view()
    story.add("assistant", f"Bram owes {number} crowns {WORDS}.", name="Bram")
    story.fold()
    return view


def test_the_front_stays_byte_for_byte_until_an_epoch_begins(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    story.add("system", "You are the narrator.")
    before: View | None = None
    begun = []
    for number in range(60):
        view = turn(story, number)
        assert view.tokens <= 2_000
        if before and not view.epoch:
            assert view.messages[: len(before.messages)] == before.messages
            assert view.unchanged_tokens == before.tokens
        if view.epoch:
            begun.append(number)
        before = view
    assert 2 < len(begun) < 15
    assert story.view().report.sections.keys() >= {Section.SYSTEM, Section.RECAP, Section.TAIL}


def test_every_view_can_be_made_again(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    story.add("system", "You are the narrator.")
    views = [turn(story, number) for number in range(40)]
    story.pin("Bram is left-handed.")
    story.undo()
    story.hide(5)
    for number, view in enumerate(views):
        for position in (2 * number + 1, 2 * number + 2):
            again = story.why(position)
            assert again.as_shown, position
            assert again.messages == view.messages
            assert again.items == view.items
            assert (again.tokens, again.epoch, again.unchanged_tokens) == (
                view.tokens,
                view.epoch,
                view.unchanged_tokens,
            )
    with pytest.raises(BadInput, match="No view for narrator"):
        story.why(3, reader="narrator")
    with pytest.raises(BadInput, match="position 99"):
        story.why(99)


def test_what_was_hidden_since_was_seen_then(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    views = [turn(story, number) for number in range(4)]
    story.hide(2)
    assert story.why(7).messages == views[3].messages
    assert story.why(7).as_shown


def test_asking_twice_gives_the_same_and_keeps_one_recipe(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(3):
        turn(story, number)
    story.add("user", "And now?", name="Ines")
    first, second = story.view(), story.view()
    assert first == second
    kept = recipes_of(story, "chat", 99)
    assert len(kept) == 4
    assert len({one.epoch for one in kept}) == 1


def test_other_budgets_and_readers_have_epochs_of_their_own(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(8):
        turn(story, number)
    assert story.view().epoch == ""
    assert story.view(1_500).epoch == epoch.FIRST_VIEW
    assert story.view(reader="narrator").epoch == epoch.FIRST_VIEW
    assert story.view(exclude=["recap"]).epoch == epoch.FIRST_VIEW
    assert story.view(1_500).epoch == story.view(reader="narrator").epoch == epoch.FIRST_VIEW, "asked for once more"


def test_an_edit_in_the_tail_keeps_what_stands_before_it(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(6):
        turn(story, number)
    before = story.view()
    story.edit(9, "Bram owes nothing.")
    after = story.view()
    assert after.epoch == ""
    assert after.messages[:9] == before.messages[:9]
    assert after.messages[9] != before.messages[9]


def test_an_edit_of_what_memory_tells_is_seen_at_once(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    while not any(item.section is Section.RECAP for item in story.view().items):
        turn(story, story.branch_info().messages)
    story.edit(3, "Bram owes nothing at all.")
    assert "owes 3 crowns" not in str(story.view().messages)
    for number in range(20):
        assert "owes 3 crowns" not in str(turn(story, 1_000 + number).messages)


def test_switching_back_goes_on_where_it_was(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(20):
        turn(story, number)
    before = story.view()
    story.branch("aside", 11)
    story.switch("aside")
    for number in range(4):
        turn(story, 100 + number)
    story.switch("main")
    assert story.view() == before


def test_pins_and_words_of_people_are_shown_at_once(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(8):
        turn(story, number)
    pin = story.pin("Bram is left-handed.")
    view = story.view()
    assert view.epoch == epoch.BY_HAND and "left-handed" in view.messages[0].text
    story.unpin(pin.id)
    assert "left-handed" not in str(story.view().messages)
    story.fold()
    story.write("recap", "Nothing but rain.")
    assert "Nothing but rain." in story.view().messages[0].text


def test_a_tool_loop_only_adds(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    story.add("user", "How many lamps?")
    views = [story.view()]
    for number in range(4):
        call = Message(Role.ASSISTANT, (ToolCall(f"c{number}", "count", "{}"),))
        result = Message(Role.TOOL, (ToolResult(f"c{number}", "forty"),))
        story.add_drafts([Draft(call), Draft(result)])
        views.append(story.view())
    for before, after in pairwise(views):
        assert after.messages[: len(before.messages)] == before.messages
    story.add("assistant", "Forty.")
    assert story.why(-1).messages == views[-1].messages


def test_furniture_is_part_of_what_was_seen(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    furniture = Furniture((message("system", "House rules."),), ((1, message("system", "Be brief.")),), "[]")
    story.add("user", "Hello?")
    story.add("assistant", "Yes?")
    story.add("user", "Well.")
    view = story.view(furniture=furniture)
    again = story.why(2)
    assert again.messages == view.messages and again.as_shown
    story.add("assistant", "Well what?")
    story.add("user", "Never mind.")
    assert story.view(furniture=furniture).unchanged_tokens not in (None, 0)
    story.add("assistant", "Fine.")
    story.add("user", "Fine.")
    assert story.view(furniture=Furniture((message("system", "Other rules."),))).unchanged_tokens == 0


def test_what_is_forgotten_is_in_no_recipe(memory: BlockingMemory, tmp_path: Path) -> None:
    story = memory.story("tale")
    for number in range(30):
        turn(story, number)
    memory.forget("tale", first=0, last=3)
    with pytest.raises(BadInput):
        story.why(20)
    kept = recipes_of(story, "chat", 9_999)
    assert kept == []
    assert story.view().epoch == epoch.FIRST_VIEW


def test_a_store_that_cannot_keep_recipes_still_gives_views() -> None:
    class Full(SqliteStore):
        async def write(self, *_: object) -> NoReturn:
            raise StoreProblem("The disk is full.")

    async def run() -> None:
        async with Memory(Full(":memory:"), owner="me", layers=[make_layer(SMALL)], writer=BuiltinWriter()) as memory:
            story = await memory.story("tale")
            await story.add("user", "Hello?")
            assert (await story.view()).messages

    asyncio.run(run())


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "{", '{"shown": 3}', '{"shown": [], "recalled": [{}]}', "0"])
def test_what_is_no_recipe_is_none(text: str) -> None:
    assert parse_recipe(text, text) is None


def test_recipes_are_read_as_they_were_written(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(12):
        turn(story, number)
    kept = recipes_of(story, "chat", 999)
    for one in kept:
        recipe = parse_recipe(one.body, one.epoch)
        assert recipe is not None
        assert write_recipe(recipe) == (one.body, one.epoch)


def test_the_digest_tells_apart_what_a_model_could() -> None:
    said = message("user", "a", speaker="Ines")
    others = [message("user", "a"), message("assistant", "a", speaker="Ines"), message("user", "b", speaker="Ines")]
    assert len(set(digest_messages([said, *others]))) == 4
    assert len(set(digest_messages([said, said]))) == 1


def test_why_knows_how_it_was_counted(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(12):
        story.add("user", f"{number}: {WORDS}, {WORDS}.")
    seen = story.view(300)
    for _ in range(6):
        story.report_usage(seen, int(seen.tokens * 1.25), model="x")
    again = story.why(-1)
    assert (again.messages, again.tokens, again.counter) == (seen.messages, seen.tokens, seen.counter)
    story.set(["tokenizer=cl100k"])
    assert story.why(-1).tokens == seen.tokens


def test_memory_that_was_taken_back_is_not_shown(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for part in range(3):
        for number in range(24):
            story.add(
                "user" if number % 2 else "assistant", f"{part} {number}: Bram owes {part}{number} crowns, {WORDS}."
            )
        story.close_chapter(f"Part {part}")
        story.fold()
    assert "version" in str(story.view(700).items)
    for _ in range(6):
        story.take_back()
        in_force = {version.id for version in story.log() if version.made.status in IN_FORCE}
        told = [int(found) for item in story.view(700).items for found in re.findall(r"version (\d+)", item.reason)]
        assert set(told) <= in_force


def recipes_of(story: BlockingStory, reader: str, last: int) -> list[KeptRecipe]:
    return story._run(story._inner._access.read(lambda moment: moment.snapshot.recipes(reader, None, 999, last=last)))


def test_a_recipe_that_read_what_was_forgotten_meanwhile_is_not_kept(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(6):
        story.add("user", f"{number}: {WORDS}.")
    inner = story._inner

    async def race() -> list[KeptRecipe]:
        views, key, store = inner._parts.views, inner._access.key, inner._access.store
        asked = views._ask(None, "chat", (), Furniture())
        made = await views._make(lambda _: asked)
        entries = await store.read(
            key.owner, lambda tables: tables.forgetting.standing_at(key, tables.branch(key, "main"), 0, 0)
        )
        await store.forget_entries(key, entries)
        await views._keep(made)
        return await inner._access.read(lambda moment: moment.snapshot.recipes("chat", None, 9, last=99))

    assert memory._runner.run(race()) == []


def test_why_shows_the_last_view_that_was_asked_for(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(8):
        story.add("user", f"{number}: {WORDS}.")
    for budget in (500, 300, 500):
        story.view(budget)
    assert story.why(-1).budget_tokens == 500
    for _ in range(5):
        story.view(reader="state")
    kept = recipes_of(story, "state", 99)
    assert len(kept) == 1


def test_an_answer_is_not_part_of_what_it_came_from(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    for number in range(4):
        story.add("assistant", f"{number}: {WORDS}.")
        story.view(500)
    assert len(story.why(2).messages) == 2
    with pytest.raises(BadInput):
        story.why(0)


def test_what_is_unchanged_is_counted_message_by_message(memory: BlockingMemory) -> None:
    story = memory.story("tale")
    furniture = Furniture(notes=((3, message("system", "A note.")),))
    before: View | None = None
    for number in range(10):
        story.add("user", f"{number}: {WORDS}.")
        view = story.view(furniture=furniture)
        if before and not view.epoch:
            same = 0
            for one, other in zip(before.messages, view.messages, strict=False):
                if one != other:
                    break
                same += message_tokens(other)
            assert view.unchanged_tokens == same
        before = view
        story.add("assistant", f"{number}: {WORDS}.")


def test_a_long_story_that_was_never_folded_does_not_slide() -> None:
    with BlockingMemory(":memory:", settings=Settings(recall_percent=0)) as memory:
        story = memory.story("tale")
        story.add_drafts([Draft(message("user" if at % 2 else "assistant", f"line {at}")) for at in range(2_600)])
        first = story.view(200_000)
        assert not first.left_out
        story.add("user", "one more")
        second = story.view(200_000)
        assert second.epoch == "" and second.messages[: len(first.messages)] == first.messages


def test_a_small_budget_does_not_begin_an_epoch_every_turn() -> None:
    with BlockingMemory(":memory:", settings=SMALL) as memory:
        story = memory.story("tale")
        begun = 0
        for number in range(60):
            story.add("user", f"Ines counts lamp {number} {WORDS}.", name="Ines")
            begun += bool(story.view(500).epoch)
            story.add("assistant", f"Bram owes {number} crowns {WORDS}.", name="Bram")
            story.fold()
        assert begun <= 30
