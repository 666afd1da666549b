"""Opening files: ours, empty, broken, another program's, from a newer version; and that what was written stays."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from previously import BlockingMemory, Draft, StoreProblem, message
from previously.storage.queries import load_migrations, load_queries, parse_queries
from previously.storage.sqlite.writing import PathWriter


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place) as memory:
        memory.story("tale").add("user", "Hello.", name="Maya")
    with BlockingMemory(place) as memory:
        assert memory.story("tale", create=False).messages()[0].entry.message.text == "Hello."


def test_two_openings_of_one_file_see_each_others_messages(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place) as one, BlockingMemory(place) as other:
        for number in range(20):
            (one if number % 2 else other).story("tale").add("user", str(number))
        assert [item.entry.message.text for item in one.story("tale").messages()] == [str(n) for n in range(20)]


def test_every_acknowledged_write_is_on_disk(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place) as memory:
        story = memory.story("tale")
        connection = story._story._store._file._connection  # type: ignore[attr-defined]
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 2


def refused(place: Path, words: str) -> None:
    before = place.read_bytes() if place.is_file() else None
    with pytest.raises(StoreProblem, match=words):
        BlockingMemory(place)
    if before is not None:
        assert place.read_bytes() == before, "a file that is refused is left untouched"


def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    place = tmp_path / "other.db"
    connection = apsw.Connection(str(place))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    refused(place, "another program")


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    place = tmp_path / "letter.txt"
    place.write_text("Dear Odalys, " * 200)
    refused(place, "not a database")


def test_a_file_from_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    BlockingMemory(place).close()
    connection = apsw.Connection(str(place))
    connection.execute("INSERT INTO migration VALUES ('9999_from_the_future')")
    connection.pragma("journal_mode", "delete")
    connection.close()
    refused(place, "newer version")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere" / "stories.db", "no folder")
    refused(tmp_path, "cannot be opened")


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    memory = BlockingMemory(tmp_path / "stories.db")
    story = memory.story("tale")
    runner = memory._runner
    runner.run(memory._memory.close())
    with pytest.raises(StoreProblem, match="closed"):
        story.add("user", "too late")
    runner.close()


def test_queries_are_named_once() -> None:
    assert parse_queries("-- name: one\nSELECT 1\n-- name: two\nSELECT 2\n") == {"one": "SELECT 1", "two": "SELECT 2"}
    for text in ("-- name: one\nSELECT 1\n-- name: one\nSELECT 2", "-- name: one\n\n"):
        with pytest.raises(ValueError, match="twice or has no statement"):
            parse_queries(text)


def test_every_query_asks_for_the_owner() -> None:
    for name, statement in load_queries("sqlite").items():
        if not name.startswith("last_"):
            assert "owner" in statement, name


def test_migrations_come_in_order() -> None:
    names = [name for name, _ in load_migrations("sqlite")]
    assert names == sorted(names)
    assert names[0] == "0001_initial"


def test_an_import_that_was_cut_off_leaves_nothing_to_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = [Draft(message("user", f"Line {number}.")) for number in range(5_000)]
    drafts[0] = Draft(message("user", "Line 0."), alternatives=(Draft(message("user", "Another line 0.")),))
    place = tmp_path / "stories.db"

    def power_cut(*_: object) -> None:
        raise apsw.IOError("cut off")

    with BlockingMemory(place) as memory:
        with monkeypatch.context() as patched:
            patched.setattr(PathWriter, "_publish", power_cut)
            with pytest.raises(StoreProblem):
                memory.story("tale").follow(drafts)
        assert memory.story("tale").messages() == []
    with BlockingMemory(place) as memory:
        story = memory.story("tale")
        story.follow(drafts)
        assert story.branch_info().messages == 5_000
        assert sorted(entry.message.text for entry in story.swipes(0)) == ["Another line 0.", "Line 0."]
