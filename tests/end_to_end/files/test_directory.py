"""A story as a directory, through the library: everything that can be edited there, and what becomes of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from previously import BadInput, BlockingMemory, Settings
from previously.blocking import BlockingStory
from previously.demo.sample_story import read_sample
from previously.formats.directory_files import read_directory, write_directory
from previously.formats.story_directory import PATHS, read_files
from previously.story.apply_directory import AppliedDirectory
from tests.contract.storage.postgres_server import shared_server

Files = dict[str, bytes]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[BlockingMemory]:
    with BlockingMemory(tmp_path / "stories.db", settings=Settings(tail_messages=10, fold_messages=20)) as opened:
        yield opened


@pytest.fixture
def story(memory: BlockingMemory) -> BlockingStory:
    """The first chapters of the sample story, with memory of every kind."""
    story = memory.story("harbour")
    story.add_drafts(read_sample()[:80])
    story.close_chapter("The ninth step", 30)
    story.fold()
    story.write_lore("Wick", "character", content="The lamp maker of the harbour.", keywords=["Wick", "lamp maker"])
    story.write_lore("The Lamp", "item", content="Cracked.")
    story.open_thread("Who broke the ninth step?", due="by Friday")
    story.hold("Wick / place: the stairs")
    story.hold("It is raining.")
    story.write_knowledge("Wick", "Knows the harbour.", ["The step is broken.", "Ines is here."])
    memory.keep_book("sea", [{"name": "Tide", "keywords": ["tide"], "content": "Twice a day."}])
    story.attach_book("sea")
    return story


def export(story: BlockingStory) -> Files:
    return {file.path: file.content for file in story.export("directory")}


def edit(files: Files, path: str, old: str, new: str) -> None:
    assert old.encode() in files[path], files[path].decode()
    files[path] = files[path].replace(old.encode(), new.encode(), 1)


def apply(story: BlockingStory, files: Files) -> AppliedDirectory:
    """Apply, and see that nothing is left to apply; `files` are up to date afterwards."""
    result = story.apply(files)
    files.clear()
    files.update(result.files)
    again = story.apply(files)
    assert (again.applied, dict(again.files)) == ((), files)
    return result


def name_edits(result: AppliedDirectory) -> list[str]:
    return [edit.name for edit in result.applied]


def test_two_exports_are_the_same_and_books_stay_in_their_books(story: BlockingStory) -> None:
    files = export(story)
    assert export(story) == files
    assert {path for path in files if path.startswith("lore/")} == {"lore/the-lamp.yaml", "lore/wick.yaml"}
    assert story.export("folder") == story.export("directory")
    assert not any(b"Tide" in content for content in files.values())


def test_texts(story: BlockingStory) -> None:
    files = export(story)
    for path in ("recap.md", "story.md", "chapters/001.md"):
        files[path] = files[path].split(b"---\n")[0] + b"---\n" + files[path].split(b"---\n")[1] + b"---\nMine now.\r\n"
    edit(files, "chapters/001.md", "The ninth step", "The tenth step")
    result = apply(story, files)
    assert sorted(name_edits(result)) == ["chapter:1/text", "chapter:1/title", "recap/text", "story/text"]
    recap, backbone = story.recap(), story.backbone()
    assert recap and backbone
    assert (recap.text, backbone.text) == ("Mine now.", "Mine now.")
    assert (story.chapters()[0].title, story.chapters()[0].text) == ("The tenth step", "Mine now.")


def test_lore(story: BlockingStory) -> None:
    files = export(story)
    edit(files, "lore/wick.yaml", "name: Wick", "# a comment\nname: Wickham")
    edit(files, "lore/wick.yaml", "lamp maker\n", "lamp maker\n  - lantern\n")
    del files["lore/the-lamp.yaml"]
    files["lore/my file.yml"] = b"name: The Bell\ntype: item\ncontent: |\n  Drowned.\n\n  Long ago.\n"
    result = apply(story, files)
    assert sorted(name_edits(result)) == ["lore:bell", "lore:lamp", "lore:wick/keywords", "lore:wick/name"]
    entries = {entry.name: entry for entry in story.lore() if not entry.book}
    assert set(entries) == {"Wickham", "The Bell"}
    assert entries["Wickham"].keywords[-1] == "lantern"
    assert entries["The Bell"].content == "Drowned.\n\nLong ago."
    assert "lore/my file.yml" in files and b"# a comment" in files["lore/wick.yaml"]
    story.rename_lore("Wickham", "Wick the Elder")
    assert apply(story, files).applied == ()
    assert b"id: wick\nname: Wick the Elder\n" in files["lore/wick.yaml"], "an entry keeps its file"


def test_cast_threads_and_state(story: BlockingStory) -> None:
    files = export(story)
    edit(files, "cast/wick.yaml", "Ines is here.", "Ines has left.")
    edit(files, "threads.yaml", "by Friday", "by Sunday\n  owner: Wick")
    files["threads.yaml"] += b"- text: Find the key\n- text: Pay the miller\n  status: settled\n"
    edit(files, "state.yaml", "the stairs", "the quay")
    files["state.yaml"] = files["state.yaml"].replace(b"- value: It is raining.\n", b"") + b"- It snows.\n"
    apply(story, files)
    (wick,) = [item for item in story.cast() if item.name == "Wick"]
    assert [fact.text for fact in wick.knowledge.facts] == ["The step is broken.", "Ines has left."]
    threads = {one.thread.text: one.thread for one in story.threads(everything=True)}
    assert (threads["Who broke the ninth step?"].due, threads["Who broke the ninth step?"].owner) == (
        "by Sunday",
        "Wick",
    )
    assert threads["Find the key"].settled is None and threads["Pay the miller"].settled is not None
    assert sorted(value.text for value in story.state()) == ["It snows.", "Wick / place: the quay"]
    edit(files, "threads.yaml", "status: open", "status: settled")
    apply(story, files)
    assert len(story.threads()) == 1


def test_messages(story: BlockingStory) -> None:
    files = export(story)
    lines = files["messages.jsonl"].decode().splitlines()
    before = [item.entry.message.text for item in story.messages()]
    lines[5] = json.dumps({**json.loads(lines[5]), "content": "Changed."})
    lines[6] = json.dumps({**json.loads(lines[6]), "hidden": True})
    lines.insert(4, '{"role": "user", "name": "Wick", "content": "Put in.", "hidden": true}')
    del lines[9]
    lines += ['{"role": "user", "content": "One."}', '{"role": "user", "content": "Two."}']
    files["messages.jsonl"] = "\n".join(lines).encode()
    assert len(apply(story, files).applied) == 6
    said = [item.entry.message.text for item in story.messages()]
    assert said == [*before[:4], "Put in.", before[4], "Changed.", *before[6:8], *before[9:], "One.", "Two."]
    assert [item.position for item in story.messages() if item.entry.attributes.hidden] == [4, 7]
    for _ in range(6):
        story.undo()
    assert [item.entry.message.text for item in story.messages()] == before


def test_what_cannot_be_done_is_refused_and_stays(story: BlockingStory) -> None:
    files = export(story)
    edit(files, "lore/wick.yaml", "type: character", "type: robot")
    edit(files, "threads.yaml", "  due: by Friday\n", "")
    edit(files, "recap.md", "chapter: 2", "chapter: 7")
    del files["chapters/001.md"]
    lines = files["messages.jsonl"].decode().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "role": "tool"})
    files["messages.jsonl"] = "\n".join(lines).encode()
    result = story.apply(files)
    assert result.applied == ()
    reasons = {edit.name: edit.reason for edit in result.left}
    assert set(reasons) == {
        "lore:wick/type", "recap/chapter", "chapter:1", "message:0/fixed",
        f"thread:{story.threads()[0].thread.id}/due",
    }  # fmt: skip
    assert all(reason and not reason.endswith(".") for reason in reasons.values())
    assert b"type: robot" in result.files["lore/wick.yaml"]
    assert "chapters/001.md" in result.files, "it is written again"
    again = story.apply(result.files)
    assert {edit.name for edit in again.left} == set(reasons) - {"chapter:1"}
    fixed = next(edit for edit in result.left if edit.field == "fixed")
    assert "role: tool" in str(fixed.files) and "role: tool" not in str(fixed.story), "one sees what is refused"


@pytest.mark.parametrize("path", ["messages.jsonl", "threads.yaml", "state.yaml"])
def test_a_missing_list_takes_nothing_away(story: BlockingStory, path: str) -> None:
    files = export(story)
    story.edit(3, "It is dark.")
    edit(files, "lore/wick.yaml", "lamp maker of", "lamp thief of")
    del files[path]
    assert [left.name for left in story.apply(files, preview=True).left] == [path]
    result = story.apply(files)
    assert name_edits(result) == ["lore:wick/content"]
    assert [(left.name, left.fate) for left in result.left] == [(path, "refused")]
    assert result.files == export(story), "it is written again"
    assert len(story.messages()) == 80 and len(story.threads()) == 1


def test_an_old_directory_is_applied_to_a_copy_of_the_database(
    memory: BlockingMemory, story: BlockingStory, tmp_path: Path
) -> None:
    files = export(story)
    edit(files, "lore/wick.yaml", "lamp maker of", "wreck of")
    lines = files["messages.jsonl"].decode().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "content": "Changed."})
    files["messages.jsonl"] = "\n".join(lines).encode()
    memory.story("before").add("user", "So that ids are others.")
    memory.write_story_file("harbour", tmp_path / "whole.jsonl")
    with BlockingMemory(tmp_path / "other.db") as other:
        other.story("first").add("user", "So that ids are others.")
        other.read_story_file(tmp_path / "whole.jsonl")
        result = apply(other.story("harbour", create=False), files)
    assert (len(result.applied), result.left) == (2, ())


def test_what_changes_while_it_is_written_stays(story: BlockingStory, tmp_path: Path) -> None:
    place = tmp_path / "harbour"
    write_directory(place, export(story), seen={})
    seen = read_directory(place)
    story.write_lore("Wick", content="Drowned.")
    result = story.apply(seen)
    (place / "lore/wick.yaml").write_text("name: Wick\ncontent: Typing right now\n")
    assert write_directory(place, result.files, seen=seen, gone=result.gone) == ["lore/wick.yaml"]
    assert "Typing" in (place / "lore/wick.yaml").read_text()
    now = story.apply(read_directory(place))
    assert "lore:wick/content" in name_edits(now), "it is an edit of what is there by now"


def test_a_chat_that_goes_on_meanwhile_is_no_obstacle(story: BlockingStory, monkeypatch: pytest.MonkeyPatch) -> None:
    files = export(story)
    lines = files["messages.jsonl"].decode().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "content": "Changed."})
    lines[9] = json.dumps({**json.loads(lines[9]), "content": "Changed too."})
    files["messages.jsonl"] = "\n".join(lines).encode()
    transcript = story._inner._parts.transcript
    edit_message, others = transcript.edit, [1]

    async def edit_late(*args: Any, **kwargs: Any) -> Any:
        if others and others.pop():
            await transcript.add("user", "Meanwhile.")
        return await edit_message(*args, **kwargs)

    monkeypatch.setattr(transcript, "edit", edit_late)
    result = story.apply(files)
    assert sorted(edit.files for edit in result.applied if isinstance(edit.files, str)) == ["Changed too.", "Changed."]
    said = [item.entry.message.text for item in story.messages()]
    assert (said[3], said[9], said[-1]) == ("Changed.", "Changed too.", "Meanwhile.")


def test_a_directory_of_another_story_is_refused(memory: BlockingMemory, story: BlockingStory) -> None:
    with pytest.raises(BadInput, match="of the story 'harbour', branch 'main'; here is 'other'"):
        memory.story("other").apply(export(story))
    with pytest.raises(BadInput, match="nobody knows what was exported"):
        story.apply({})


def test_a_directory_follows_a_story_that_was_renamed(memory: BlockingMemory, story: BlockingStory) -> None:
    files = export(story)
    memory.rename("harbour", "port")
    edit(files, "lore/wick.yaml", "lamp maker of", "lamp thief of")
    with pytest.raises(BadInput, match="--story NAME"):
        memory.story("port").apply(files)
    result = memory.story("port").apply(files, renamed=True)
    assert name_edits(result) == ["lore:wick/content"] and not result.left
    assert result.files == export(memory.story("port"))
    assert not memory.story("port").apply(result.files).applied


def test_every_file_is_one_of_a_directory(story: BlockingStory) -> None:
    story.write_lore("CON", "item", content="A name that Windows keeps.")
    story.write_lore("../../etc/passwd", "item", content="A path.")
    story.write_lore("☂", "item", content="No letters.")
    story.write_lore("é" * 90, "item", content="Long.")
    files = export(story)
    assert all(PATHS.fullmatch(path) or path.startswith(".previously/") for path in files)
    assert "lore/con-.yaml" in files and "lore/etc-passwd.yaml" in files and "lore/unnamed.yaml" in files
    assert sum(address.startswith("lore:") for address in read_files(files).things) == 6


def test_an_empty_story_can_be_begun_in_files(memory: BlockingMemory) -> None:
    story = memory.story("new")
    files = export(story)
    files["threads.yaml"] += b"- text: A debt\n"
    files["state.yaml"] += b"- Rain.\n"
    files["messages.jsonl"] += b'{"role": "user", "content": "One."}\n{"role": "user", "content": "Two."}\n'
    files["recap.md"] += b"\nToo early.\n"
    result = apply(story, files)
    assert len(result.applied) == 4
    assert [(edit.name, edit.reason[:35]) for edit in result.left] == [
        ("recap/text", "this chapter has no message outside")
    ]
    assert [item.entry.message.text for item in story.messages()] == ["One.", "Two."]
    assert [listing.thread.text for listing in story.threads()] == ["A debt"]
    assert b"Too early." in files["recap.md"]


def test_a_directory_of_a_story_in_postgresql() -> None:
    server = shared_server()
    url = server.fresh()
    with BlockingMemory(url) as memory:
        story = memory.story("tale")
        for text in ("One.", "Two.", "Three."):
            story.add("user", text)
        story.write_lore("Grim", "character", content="A barkeeper.")
        files = export(story)
        edit(files, "lore/grim.yaml", "barkeeper", "smith")
        edit(files, "messages.jsonl", "Two.", "Too.")
        assert len(apply(story, files).applied) == 2
        assert [item.entry.message.text for item in story.messages()] == ["One.", "Too.", "Three."]
    server.drop(url)
