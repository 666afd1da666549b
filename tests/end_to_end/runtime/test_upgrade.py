"""A database of version 0.1.0: it opens, its texts stay in force, all of it can be made anew, and it is kept as it was.

`data/stories-0.1.0.db.gz` was written by that version: a story of 90 messages that a scripted model folded (a chapter
closed, its recap rewritten by hand, a pin) and one of 60 that the built-in writer did. So was
`stories-0.1.0-by-hand.db.gz`, in which a person had done all that a person could: a story of 13 messages, edited,
deleted, hidden, branched, with settings, a recap and a chapter locked, a pin, lore, a book, a thread, a state, somebody
who left, and a key.
"""

from __future__ import annotations

import errno
import gzip
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BadInput, BlockingMemory, Settings, StoreProblem, __version__
from previously.core.versions import Kind
from previously.storage.queries import load_migrations
from previously.storage.sqlite import file, page_checksums
from tests.end_to_end.runtime.faithful import PEOPLE, Asked, said

DATA = Path(__file__).parent / "data"
RULES = Settings(
    tail_messages=6, fold_messages=10, fold_words=120, fold_tokens=900, recap_words=60, chapter_messages=30
)
RECAP = "Maya, Joaquin and Odalys carried parcels to the mill, 79 by then."
BY_HAND = "Maya, Joaquin and Odalys sold the mill with 59 parcels in it."


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "stories.db"
    path.write_bytes(gzip.decompress((DATA / "stories-0.1.0.db.gz").read_bytes()))
    return path


@pytest.fixture
def memory(place: Path, asked: Asked) -> Iterator[BlockingMemory]:
    with BlockingMemory(place, settings=RULES, writer=asked.writer) as opened:
        yield opened


def kept(place: Path) -> Path:
    """The copy that is kept of a file before it is changed."""
    return place.with_name(f"{place.name}.before-{__version__}")


def rows(place: Path) -> list[str]:
    """All that a file holds, as a program reads it that knows nothing of Previously."""
    connection = sqlite3.connect(f"file:{place}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def files(place: Path) -> set[str]:
    return {path.name for path in place.parent.iterdir() if not path.name.endswith(("-wal", "-shm"))}


def test_old_texts_stay_in_force_and_nothing_is_paid_again(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    recap = story.recap()
    assert recap is not None and recap.text.startswith(RECAP) and not recap.stale
    assert story.chapters()[0].text == BY_HAND
    assert [one.text for one in story.pins()] == ["Odalys is left-handed."]
    assert story.fold().calls == 0, "what was folded then is not folded again"
    after = story.recap()
    assert after is not None and after.text == recap.text
    assert not asked.since()
    assert not memory.verify().faults


def test_old_chapters_have_no_short_form_until_they_are_made_anew(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    story.unlock("chapter:1")
    before = story.chapters()[0]
    assert before.text and before.text != BY_HAND and before.short == ""
    story.fold()
    assert story.chapters()[0].short == "", "no short form is asked for by itself"
    story.rebuild()
    after = story.chapters()[0]
    assert after.short and after.title
    assert story.fold().calls == 0


def test_the_lists_still_tell_what_old_notes_said(memory: BlockingMemory) -> None:
    story = memory.story("by a model")
    assert {"Maya", "Joaquin", "Odalys", "Zephyrine"} <= {one.name for one in story.lore()}
    assert any("fetch parcel" in one.thread.text for one in story.threads())


def test_what_is_new_is_folded_in_the_new_way(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    for number in range(90, 112):
        story.add("user" if number % 2 else "assistant", said(number), name=PEOPLE[number % 3])
    report = story.fold()
    assert set(asked.since()) == {"update"}
    assert all(one.beside == ("episode", "note") for one in report.folds if one.kind is Kind.RECAP)
    versions = story.log()
    first = min(one.made.span.first for one in versions if one.made.kind is Kind.EPISODE)
    assert first >= 80, "what was told before needs no episode"


def test_all_of_it_can_be_made_anew_and_hands_stay(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    report = story.rebuild()
    assert report.calls > 0
    since = asked.since()
    assert since["update"] > 0 and not since["scene"]
    covered = sorted((one.made.span.first, one.made.span.last) for one in story.log() if one.made.kind is Kind.EPISODE)
    assert covered[-1][1] >= 75, "the open chapter has its episodes now"
    assert story.chapters()[0].text == BY_HAND
    assert [one.text for one in story.pins()] == ["Odalys is left-handed."]
    assert story.fold().calls == 0


def test_a_story_of_the_built_in_writer_goes_on(memory: BlockingMemory) -> None:
    story = memory.story("without a model")
    story.set(["fold_messages=60", "fold_words=3000", "tail_messages=12"])
    recap = story.recap()
    assert recap is not None and recap.text
    assert story.fold().calls == 0
    assert story.recap() == recap


def test_messages_hand_edits_and_locks_are_what_they_were(tmp_path: Path) -> None:
    place = tmp_path / "by-hand.db"
    place.write_bytes(gzip.decompress((DATA / "stories-0.1.0-by-hand.db.gz").read_bytes()))
    connection = sqlite3.connect(place)
    texts = "SELECT e.text, e.hidden FROM path p JOIN entry e ON e.id = p.entry WHERE p.line = 1 ORDER BY p.depth"
    then = [(text, bool(hidden)) for text, hidden in connection.execute(texts)]
    connection.close()
    assert len(then) == 13 and then[3] == ("Joaquin dropped parcel 3 into the river.", False) and then[6][1]
    with BlockingMemory(place) as memory:
        story = memory.story("by hand")
        assert [(one.entry.message.text, one.entry.attributes.hidden) for one in story.messages()] == then
        assert [(one.name, one.messages) for one in story.branches()] == [("main", 13), ("the other way", 9)]
        assert memory.verify().clean
        assert story.settings()["fold_messages"] == 4
        for _ in range(2):
            recap, (chapter,) = story.recap(), story.chapters()
            assert recap is not None and recap.text == "Odalys owed Joaquin nine coins."
            assert "Joaquin dropped parcel 3 into the river." in chapter.text
            assert [one.text for one in story.pins()] == ["Odalys is left-handed."]
            lore = {one.name: one for one in story.lore()}
            assert set(lore["The mill"].locked) == {"content", "keywords", "name", "type"}
            assert lore["The Alder"].book == "Rivers"
            assert [(one.thread.text, one.thread.by) for one in story.threads()] == [
                ("Joaquin owes Odalys a new parcel", "person")
            ]
            assert [one.text for one in story.state()] == ["Odalys is in the mill"]
            assert story.absent() == ["Joaquin"]
            (key,) = memory.keys()
            assert (key.name, key.owner) == ("phone", "maya")
            story.fold()  # what a person wrote is still there after a fold
        story.unlock("chapter:1")
        with pytest.raises(BadInput, match="Nobody wrote or locked"):
            story.unlock("chapter:1")


def test_the_file_is_kept_as_it_was_and_one_sentence_says_so(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = rows(place)
    with caplog.at_level(logging.WARNING, "previously"), BlockingMemory(place) as memory:
        (made,) = memory.backups()
    copy = kept(place)
    assert rows(copy) == before
    assert copy.stat().st_mode & 0o777 == 0o600
    assert caplog.messages == [
        f"{place} was made by an earlier version and is up to date now; it is kept as it was in {copy}."
    ]
    assert made.path == str(copy)
    assert {(one.story, one.messages) for one in made.stories} == {("by a model", 90), ("without a model", 60)}
    caplog.clear()
    with BlockingMemory(place) as memory:
        assert len(memory.backups()) == 1
    assert not caplog.messages
    assert files(place) == {place.name, copy.name}


def test_what_another_process_has_not_brought_into_the_file_is_in_the_copy(place: Path) -> None:
    other = sqlite3.connect(place)
    other.execute("UPDATE mark SET text = 'Odalys is right-handed.' WHERE kind = 'pin'")
    other.commit()
    with BlockingMemory(place) as memory:  # while the other process has it open, with the change in its log
        assert [one.text for one in memory.story("by a model").pins()] == ["Odalys is right-handed."]
    before = [line for line in rows(kept(place)) if "right-handed" in line]
    assert before
    other.close()


def test_a_copy_of_an_earlier_time_stays(place: Path) -> None:
    kept(place).write_text("from an earlier time")
    kept(place).with_name(f"{kept(place).name}-2.partial").write_text("interrupted")
    before = rows(place)
    BlockingMemory(place).close()
    assert kept(place).read_text() == "from an earlier time"
    second = kept(place).with_name(f"{kept(place).name}-2")
    assert rows(second) == before
    assert files(place) == {place.name, kept(place).name, second.name}


@pytest.mark.parametrize("failing", range(1, 4))
def test_an_upgrade_that_fails_midway_leaves_the_file_as_it_was(
    place: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows(place)
    good = load_migrations("sqlite")
    bad = [*good[: len(good) - 3 + failing], ("9999_bad", "CREATE TABLE half_done (a); SELECT no_such_function();")]
    with monkeypatch.context() as broken:
        broken.setattr(file, "load_migrations", lambda _: bad)
        with pytest.raises(StoreProblem, match="cannot be used"):
            BlockingMemory(place)
    assert rows(place) == before
    assert files(place) == {place.name}
    connection = page_checksums.connect(str(place))
    assert not page_checksums.has_checksums(connection), "an earlier version would write pages without them"
    connection.close()
    with BlockingMemory(place) as memory:
        assert memory.verify().clean
        assert len(memory.story("by a model").messages()) == 90
    assert rows(kept(place)) == before


def test_without_room_for_the_copy_nothing_is_changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(place)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(file, "keep_copy", full)
        with pytest.raises(StoreProblem, match=r"cannot be brought up to date.*No space left on device"):
            BlockingMemory(place)
    assert rows(place) == before
    assert files(place) == {place.name}


def test_stories_come_back_from_the_copy(place: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    BlockingMemory(place).close()
    before = kept(place).read_bytes()
    caplog.clear()
    with BlockingMemory(tmp_path / "other.db") as other:
        assert {one.story for one in other.restore(kept(place)).stories} == {"by a model", "without a model"}
        assert other.story("by a model").chapters()[0].text == BY_HAND
    assert kept(place).read_bytes() == before
    assert not caplog.messages


def test_what_is_forgotten_is_gone_from_the_copy_too(place: Path) -> None:
    with BlockingMemory(place) as memory:
        text = memory.story("without a model").messages()[3].entry.message.text
        assert any(text in line for line in rows(kept(place)))
        done = memory.forget("without a model", 3)
        assert done.backups == (str(kept(place)),)
        done = memory.forget("by a model")
        assert done.backups == (str(kept(place)),)
    dump = "\n".join(rows(kept(place)))
    assert text not in dump and "left-handed" not in dump
    assert files(place) == {place.name, kept(place).name}
