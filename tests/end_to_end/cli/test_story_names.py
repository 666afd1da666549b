"""Names of new stories: one rule for every way in, and stories that were named before it still open."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import BadInput, Memory, UnknownStory
from previously.runtime.clock import time_at
from tests.end_to_end.cli.running import Cli

BAD = ("", "  ", "x" * 201, "two\nlines", "a\rb", "tab\there", "nul\0", "\ud800", "line\u2028apart", "\x1b[2J")
REFUSAL = r"^A story needs a name of 1 to 200 characters, none of them a line break or another control character\.$"


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_name_is_refused_wherever_a_story_gets_one(name: str, tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db") as memory:
        await (await memory.story("tale")).add("user", "Hi.")
        await memory.backup(tmp_path / "backup.db")
        for work in (
            memory.story(name),
            memory.rename("tale", name),
            memory.continue_story("tale", name),
            memory.restore(tmp_path / "backup.db", stories=["tale"], name=name),
        ):
            with pytest.raises(BadInput, match=REFUSAL):
                await work
        with pytest.raises(UnknownStory):
            await memory.story(name, create=False)
        assert [info.name for info in await memory.stories()] == ["tale"]
        assert [branch.name for branch in await (await memory.story("tale")).branches()] == ["main"]


@pytest.mark.parametrize("name", ["雨の町", "The 2nd—“war”", "👩‍👩‍👧", "x" * 200])
async def test_any_other_name_will_do(name: str) -> None:
    async with await Memory.open(":memory:") as memory:
        assert (await memory.story(name)).name == name


@pytest.mark.parametrize("name", ["x" * 5_000, "two\nlines"])
async def test_a_story_that_has_such_a_name_opens_and_is_copied(name: str, tmp_path: Path) -> None:
    async with await Memory.open(tmp_path / "stories.db") as memory:
        await memory._store.create_story(memory._owner, name, at=time_at())
        story = await memory.story(name)
        await story.add("user", "Hi.")
        await memory.write_story_file(name, tmp_path / "story.jsonl")
        await memory.backup(tmp_path / "backup.db")
    async with await Memory.open(tmp_path / "others.db") as other:
        await other.read_story_file(tmp_path / "story.jsonl")
        assert [item.entry.message.text for item in await (await other.story(name)).messages()] == ["Hi."]
        await other.rename(name, "tale")
        await other.restore(tmp_path / "backup.db")
        assert {info.name for info in await other.stories()} == {"tale", name}


def test_the_command_line_says_it_in_one_sentence(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / ("x" * 220 + ".txt")
    file.write_text("Wren: Is the ferry in?")
    for arguments in (
        ("add", "two\nlines", "--role", "user", "--text", "Hi."),
        ("import", str(file)),
        ("import", str(file), "--story", "y" * 5_000),
    ):
        ran = cli(*arguments)
        assert ran.code == 2
        assert ran.err.endswith(
            "A story needs a name of 1 to 200 characters, none of them a line break or another control character.\n"
        )
        assert ran.err.count("\n") == 1
    refused = cli("import", str(file)).err
    assert f"{file} cannot give its story a name; import it by itself with --story NAME." in refused
    assert cli("import", str(file), "--story", "tale").code == 0


def test_of_a_directory_only_the_file_with_a_bad_name_is_left(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for name in ("ferry.txt", "two\nlines.txt", " .txt"):
        (folder / name).write_text("Wren: Is the ferry in?")
    ran = cli("import", str(folder))
    assert (ran.code, ran.out) == (1, "ferry: 1 added, 0 updated, 0 removed, 0 unchanged (text).\n")
    assert ran.err.count("import it by itself with --story NAME") == 2
