"""Forgetting: nothing of what was said is left anywhere, and all else is as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from previously import Memory, Settings
from previously.core.errors import BadInput, HeadMoved, UnknownStory
from previously.core.versions import Status
from previously.storage import layout
from previously.storage.sqlite.page_checksums import connect
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from previously.story.story import Story
from tests.contract.storage.letters import Letters
from tests.contract.storage.postgres_server import shared_server
from tests.effort import mark_slow

SECRET = "Wilhelmina keeps the brass key under the third stair"
WORD = "Wilhelmina"
SMALL = Settings(fold_messages=6, tail_messages=4, fold_words=10_000, recap_words=200)


@pytest.fixture(params=["sqlite", *mark_slow("in_memory", "postgres", reason="the same on another store")])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Memory]:
    place = {"in_memory": ":memory:", "sqlite": str(tmp_path / "stories.db")}.get(request.param)
    async with await Memory.open(place or shared_server().emptied(), settings=SMALL) as opened:
        yield opened


async def told(memory: Memory, at: int = 5, messages: int = 30) -> Story:
    story = await memory.story("tale")
    for number in range(messages):
        words = SECRET if number == at else f"Ines walks on to house {number} of the long street and knocks there."
        await story.add("user", f"{words}.", name="Ines", extra={"note": WORD} if number == at else None)
    await story.fold()
    return story


def bytes_of(path: str) -> bytes:
    return Path(path).read_bytes()


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


def remove(path: str) -> None:
    Path(path).unlink()


async def everything(story: Story) -> str:
    """All that the story gives out."""
    found: list[object] = [await story.view(4_000), await story.log(), await story.messages(), await story.recap()]
    for branch in await story.branches():
        await story.switch(branch.name)
        found += [await story.view(4_000), await story.messages()]
        found += [await story.swipes(at) for at in range((await story.branch_info()).messages)]
    return repr(found)


async def test_a_message_is_gone_with_the_memory_of_it(memory: Memory) -> None:
    story = await told(memory)
    before = await story.messages()
    assert WORD in await everything(story)
    done = await memory.forget("tale", 5)
    assert (done.messages, done.others) == (1, 0) and done.texts >= 1
    assert WORD not in await everything(story)
    assert [item.entry for item in await story.messages()] == [item.entry for item in before if item.position != 5]
    assert {version.made.status for version in await story.log()} == {Status.FORGOTTEN}
    assert (await story.fold()).folds, "what is left is folded anew"
    assert WORD not in await everything(story)
    recap = await story.recap()
    assert recap is not None and recap.text


async def test_memory_from_before_the_message_stays(memory: Memory) -> None:
    story = await told(memory, at=25)
    kept = [version for version in await story.log() if version.made.span.last < 25]
    assert kept
    await memory.forget("tale", 25)
    assert [version for version in await story.log() if version.made.span.last < 25] == kept


async def test_earlier_wordings_swipes_and_every_branch_are_forgotten_too(memory: Memory) -> None:
    story = await told(memory, messages=12)
    await story.edit(5, f"{SECRET}, she said.")
    await story.edit(5, "Nobody knows where the key is.")
    await story.branch("other", at=8)
    await story.switch("other")
    await story.add("user", "Elsewhere.")
    await story.switch("main")
    plan = await memory.to_forget("tale", 5)
    assert (plan.messages, plan.others) == (1, 2)
    done = await memory.forget("tale", 5)
    assert (done.messages, done.others) == (1, 2)
    shown = await everything(story)
    assert WORD not in shown and "where the key is" not in shown
    await story.switch("other")
    assert [item.entry.message.text for item in await story.messages()][-1] == "Elsewhere."
    assert (await story.branch_info()).messages == 9


async def test_what_stands_on_another_branch_in_that_place_stays(memory: Memory) -> None:
    story = await told(memory, messages=8)
    await story.branch("other", at=6)
    await story.switch("other")
    await story.edit(5, "On this branch there never was a key.")
    await story.switch("main")
    await memory.forget("tale", 5)
    await story.switch("other")
    texts = [item.entry.message.text for item in await story.messages()]
    # It is another wording of the same message, and a wording of what is forgotten is forgotten.
    assert "On this branch there never was a key." not in texts
    assert WORD not in await everything(story)


async def test_several_messages_and_positions_from_the_end(memory: Memory) -> None:
    story = await told(memory, messages=10)
    await memory.forget("tale", 4, -4)
    assert [
        item.entry.message.text.split()[5] for item in await story.messages() if "house" in item.entry.message.text
    ][:1] == ["0"]
    assert (await story.branch_info()).messages == 7
    with pytest.raises(BadInput):
        await memory.forget("tale", 5, 4)
    with pytest.raises(BadInput):
        await memory.forget("tale", 99)
    with pytest.raises(BadInput):
        await memory.forget("tale", None, 4)
    assert (await story.branch_info()).messages == 7


async def test_what_a_person_wrote_stays_and_is_counted(memory: Memory) -> None:
    story = await told(memory)
    await story.write("recap", f"By hand: {WORD} has a key.")
    plan = await memory.to_forget("tale", 5)
    assert plan.by_hand == 1
    await memory.forget("tale", 5)
    recap = await story.recap()
    assert recap is not None and recap.text.startswith("By hand")


async def test_a_forgotten_version_cannot_be_put_in_force_again(memory: Memory) -> None:
    story = await told(memory)
    version = (await story.log())[0].id
    await memory.forget("tale", 5)
    with pytest.raises(BadInput, match="forgotten"):
        await story.restore(version)
    assert (await memory.forget("tale", 3)).texts == 0, "what is forgotten is not forgotten twice"


async def test_a_whole_story_goes_and_its_name_is_free(memory: Memory) -> None:
    await told(memory)
    other = await memory.story("other")
    await other.add("user", "Stays.")
    plan = await memory.to_forget("tale")
    assert plan.span is None and plan.messages == 30
    await memory.forget("tale")
    assert [info.name for info in await memory.stories()] == ["other"]
    with pytest.raises(UnknownStory):
        await memory.story("tale", create=False)
    with pytest.raises(UnknownStory):
        await memory.forget("tale")
    again = await memory.story("tale")
    assert await again.messages() == [] and await again.log() == []
    assert [item.entry.message.text for item in await other.messages()] == ["Stays."]


async def test_interrupted_between_words_and_places_it_is_done_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = await told(memory)

    async def cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("previously.runtime.forget.take_off", cut)
    with pytest.raises(KeyboardInterrupt):
        await memory.forget("tale", 5)
    monkeypatch.undo()
    assert WORD not in await everything(story), "the words go first"
    await memory.forget("tale", 5)
    assert (await story.branch_info()).messages == 29


async def test_the_store_is_sound_afterwards(tmp_path: Path) -> None:
    for place in (str(tmp_path / "stories.db"), shared_server().emptied()):
        async with await Memory.open(place, settings=SMALL) as memory:
            story = await told(memory)
            await story.branch("other", at=9)
            await story.edit(3, "Another beginning.")
            await story.fold()
            await memory.forget("tale", 5)
            assert (await memory.verify()).faults == ()
            await story.fold()
            assert (await memory.verify()).faults == ()
            await memory.forget("tale")
            assert (await memory.verify()).faults == ()


async def test_no_byte_of_it_is_left_in_the_file(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    async with await Memory.open(place, settings=SMALL) as memory:
        story = await told(memory)
        await story.edit(5, f"{SECRET}, she said.")
        await story.fold()
        await memory._store.index(story._access.key, None)
        on_disk = bytes_in(tmp_path)
        assert WORD.encode() in on_disk and WORD.lower().encode() in on_disk
        await memory.forget("tale", 5)
        on_disk = bytes_in(tmp_path)
        assert WORD.encode() not in on_disk and WORD.lower().encode() not in on_disk


@pytest.mark.parametrize("whole", [False, True])
async def test_no_row_of_the_index_tells_of_it(memory: Memory, whole: bool) -> None:
    story = await told(memory)
    store, key = memory._store, story._access.key
    await story.add("user", "Only she was there.", name=WORD, witnesses=[WORD])
    while await store.index(key, Letters(), most=7):
        pass
    found = await store.database.reading(key.owner, rows_of_the_index)
    assert WORD.lower() in found and WORD in found
    for at in () if whole else (5, 30):
        entries = await store.read(key.owner, lambda tables, at=at: standing_at(tables, key, at))  # type: ignore[misc]
        await store.forget_entries(key, entries)
    if whole:
        await memory.forget("tale")
    found = await store.database.reading(key.owner, rows_of_the_index)
    assert WORD.lower() not in found and WORD not in found and "stair" not in found
    assert ("street" in found) is not whole


def standing_at(tables: Tables, key: StoryKey, at: int) -> set[int]:
    return tables.forgetting.standing_at(key, tables.branch(key, "main"), at, at)


def rows_of_the_index(tables: Tables) -> str:
    """All rows of all its tables, as text."""
    connection = cast(Any, tables.session)._connection
    return repr([list(connection.execute(f"SELECT * FROM {name}")) for name in layout.NOT_COPIED])


@pytest.mark.parametrize("whole", [False, True])
async def test_backups_forget_too(tmp_path: Path, whole: bool) -> None:
    (tmp_path / "backups").mkdir()
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        story = await told(memory)
        other = await memory.story("other")
        await other.add("user", "Stays.")
        first = await memory.backup(tmp_path / "backups" / "one.db")
        await story.edit(2, "The beginning was another.")
        await story.fold()
        second = await memory.backup(tmp_path / "backups" / "two.db")
        lost = await memory.backup(tmp_path / "backups" / "three.db")
        remove(lost.path)
        plan = await memory.to_forget("tale", None if whole else 5)
        assert set(plan.backups) == {first.path, second.path} and plan.missing == (lost.path,)
        done = await memory.forget("tale", None if whole else 5)
        assert set(done.backups) == {first.path, second.path} and done.still_in == (lost.path,)
    assert WORD.encode() not in bytes_in(tmp_path / "backups")
    async with await Memory.open(tmp_path / "new.db", settings=SMALL) as fresh:
        await fresh.restore(first.path)
        assert [info.name for info in await fresh.stories()] == (["other"] if whole else ["other", "tale"])
        if not whole:
            tale = await fresh.story("tale")
            assert (await tale.branch_info()).messages == 29
            assert WORD not in await everything(tale)
        assert (await fresh.verify()).faults == ()


async def test_backups_can_be_left_alone(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        await told(memory)
        made = await memory.backup(tmp_path / "one.db")
        before = bytes_of(made.path)
        done = await memory.forget("tale", 5, backups=False)
        assert done.backups == () and done.still_in == (made.path,)
        assert bytes_of(made.path) == before


async def test_of_two_equal_messages_only_the_one_that_is_meant_goes_from_a_backup(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        story = await memory.story("tale")
        for text in ("Yes.", "No.", "Yes.", "Well."):
            await story.add("user", text)
        made = await memory.backup(tmp_path / "one.db")
        await memory.forget("tale", 0)
        assert [item.entry.message.text for item in await story.messages()] == ["No.", "Yes.", "Well."]
    async with await Memory.open(made.path) as backup:
        copy = await backup.story("tale")
        assert [item.entry.message.text for item in await copy.messages()] == ["No.", "Yes.", "Well."]


async def test_a_backup_that_missed_one_forgetting_still_takes_part_in_the_next(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        await told(memory, at=9)
        made = await memory.backup(tmp_path / "backups" / "one.db")
        await memory.forget("tale", 5, backups=False)
        done = await memory.forget("tale", 8)
        assert done.backups == (made.path,)
    assert WORD.encode() not in bytes_in(tmp_path / "backups")


async def test_backups_are_known_by_the_story_not_by_its_name(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        await told(memory)
        made = await memory.backup(tmp_path / "one.db")
        await memory.forget("tale", backups=False)
        other = await memory.story("tale")
        await other.add("user", "A quite different story.")
        done = await memory.forget("tale")
        assert done.backups == (), "another story of the same name"
        await memory.restore(made.path, name="under another name")
        plan = await memory.to_forget("under another name", 5)
        assert plan.backups == (made.path,)
        done = await memory.forget("under another name", 5)
        assert done.backups == (made.path,)
    assert WORD.encode() not in bytes_of(made.path)


async def test_a_moved_store_knows_the_backups(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        await told(memory)
        made = await memory.backup(tmp_path / "one.db")
        await memory.move(tmp_path / "moved.db")
    async with await Memory.open(tmp_path / "moved.db", settings=SMALL) as moved:
        assert [one.path for one in await moved.backups()] == [made.path]
        assert (await moved.forget("tale", 5)).backups == (made.path,)


async def test_a_fold_of_what_was_forgotten_meanwhile_is_not_kept(memory: Memory) -> None:
    story = await told(memory)
    (version, *_) = await story.log()
    made = replace(version.made, text=SECRET, replaces=version.id)
    await memory.forget("tale", 5)
    with pytest.raises(HeadMoved):
        await story._access.change(lambda change: change.tables.versions.commit(change.key, made))
    assert WORD not in await everything(story)


async def test_a_pin_that_only_repeats_the_message_goes_with_it(memory: Memory) -> None:
    story = await told(memory)
    await story.pin(at=5)
    await story.pin("Something of my own.")
    await memory.forget("tale", 5)
    assert [pin.text for pin in await story.pins()] == ["Something of my own."]


async def test_somebody_who_reads_is_no_reason_to_claim_that_all_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("previously.storage.sqlite.file.READER_WAIT_MS", 10)
    place = tmp_path / "stories.db"
    async with await Memory.open(place, settings=SMALL) as memory:
        await told(memory)
        reader = connect(str(place))
        reader.execute("BEGIN; SELECT count(*) FROM entry").fetchall()
        assert not (await memory.forget("tale", 5)).cleared
        reader.execute("COMMIT")
        reader.close()
        assert (await memory.forget("tale", 6)).cleared
        assert WORD.encode() not in bytes_in(tmp_path)


async def test_looking_into_a_backup_changes_nothing_of_what_it_holds(tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as memory:
        await told(memory)
        made = await memory.backup(tmp_path / "one.db")
    async with await Memory.open(made.path) as looking:
        await (await looking.story("tale")).view(2_222)
    async with await Memory.open(tmp_path / "new.db") as fresh:
        assert [one.status for one in (await fresh.restore(made.path)).stories] == ["restored"]
        await (await fresh.story("tale")).view(3_333)
        assert [one.status for one in (await fresh.restore(made.path)).stories] == ["already there"]


async def test_nothing_of_a_forgotten_story_is_known_of_the_next(memory: Memory) -> None:
    """Numbers of nodes and versions are given again after a story has gone; what was remembered of it must not be."""
    first = await memory.story("first")
    for number in range(4):
        name = ("Alice", "Bob")[number % 2]
        await first.add("user", "I hid the knife.", name=name, witnesses=["Alice", "Bob"])
    assert {name for stretch in await first.presence() for name in stretch.names or ()} == {"Alice", "Bob"}
    await memory.forget("first")
    second = await memory.story("second")
    for number in range(4):
        await second.add("user", "It rains.", name=("Carol", "Dave")[number % 2], witnesses=["Carol", "Dave"])
    assert {name for stretch in await second.presence() for name in stretch.names or ()} == {"Carol", "Dave"}
    assert (await second.view(500, reader="character:Carol")).messages
    with pytest.raises(BadInput, match="Nobody called 'Alice'"):
        await second.view(500, reader="character:Alice")


async def test_a_handle_on_a_forgotten_story_says_that_it_is_gone(memory: Memory) -> None:
    story = await told(memory, messages=12)
    await memory.forget("tale")
    for use in (
        story.view(500),
        story.add("user", "Hello?"),
        story.recap(),
        story.info(),
        story.fold(),
        story.messages(),
    ):
        with pytest.raises(BadInput, match="This story is gone: it was forgotten meanwhile"):
            await use
