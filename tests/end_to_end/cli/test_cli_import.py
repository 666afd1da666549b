"""`previously import`: cards, books, memories, directories and dry runs, through the command."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from previously.story.transcript import Transcript
from tests.end_to_end.cli.running import Cli

CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "Sera",
        "first_mes": "Hello, {{user}}.",
        "alternate_greetings": ["Hi, {{user}}."],
        "character_book": {"entries": [{"keys": ["glade"], "content": "A glade.", "enabled": True}]},
    },
}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_a_card_opens_a_story_with_its_book(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "sera.json", CARD)
    first = cli("import", file, "--user", "Ada", "--json").json
    assert (first["story"], first["added"], first["format"]) == ("sera", 1, "card")
    assert first["books"] == [{"book": "sera", "entries": 1, "status": "added"}]
    assert cli.texts("sera") == ["Hello, Ada."]
    assert [entry["name"] for entry in cli("lore", "list", "sera", "--json").json["entries"]] == ["glade"]
    again = cli("import", file, "--user", "Ada", "--json").json
    assert (again["added"], again["unchanged"], again["books"][0]["status"]) == (0, 1, "unchanged")


def test_a_story_that_has_gone_on_is_not_opened_again(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "sera.json", CARD)
    cli("import", file)
    cli("add", "sera", "--role", "user", "--text", "Who are you?")
    again = cli("import", file, "--json")
    assert again.json["unchanged"] == 2
    assert "sera has messages already: a card opens a story" in again.err
    assert cli.texts("sera") == ["Hello, User.", "Who are you?"]


def test_a_book_of_the_same_name_that_is_somebody_elses_stays(cli: Cli, tmp_path: Path) -> None:
    mine = [{"name": "Grim", "type": "character", "keywords": ["Grim"], "content": "A barkeeper."}]
    cli("books", "add", write(tmp_path / "sera.json", mine))
    card = cli("import", write(tmp_path / "card.json", CARD), "--story", "sera", "--json").json
    assert card["books"][0]["book"] == "sera (2)"
    assert len(cli("books", "list", "--json").json["books"]) == 2


@pytest.mark.parametrize(
    "book",
    [
        {"type": "risu", "ver": 1, "data": [{"key": "mill", "comment": "Mill", "content": "It burned."}]},
        {"spec": "lorebook_v3", "data": {"entries": [{"keys": ["mill"], "name": "Mill", "content": "It burned."}]}},
        [{"name": "Mill", "type": "location", "keywords": ["mill"], "content": "It burned."}],
    ],
    ids=["risu", "lorebook_v3", "plain"],
)
def test_a_book_of_any_form_is_attached_to_the_story_it_comes_into(cli: Cli, tmp_path: Path, book: object) -> None:
    cli("add", "tale", "--role", "user", "--text", "What of the mill?")
    cli("import", write(tmp_path / "world.json", book), "--story", "tale")
    assert [entry["name"] for entry in cli("lore", "list", "tale", "--json").json["entries"]] == ["Mill"]


def test_a_book_that_was_changed_since_stays(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path / "sera.json", CARD)
    cli("import", file)
    mine = [{"name": "Glade", "type": "location", "keywords": ["glade"], "content": "Mine."}]
    cli("books", "add", write(tmp_path / "mine.json", mine), "--book", "sera")
    ran = cli("import", file, "--json")
    assert ran.json["books"][0]["status"] == "kept"
    assert "was changed since" in ran.err
    assert cli("books", "show", "sera", "--json").json["entries"][0]["content"] == "Mine."


def test_a_dry_run_writes_nothing(cli: Cli, jsonl: Callable[..., Path], tmp_path: Path) -> None:
    lines = [{"role": "user", "content": text} for text in ("one", "two", "three")]
    file = jsonl("tale.jsonl", lines)
    planned = cli("import", file, "--dry-run", "--json").json
    assert (planned["added"], planned["dry_run"]) == (3, True)
    assert cli.stories() == []
    cli("import", file)
    jsonl("tale.jsonl", [lines[0], {"role": "user", "content": "two!"}, *lines[2:], *lines[:1]])
    planned = cli("import", file, "--dry-run", "--json").json
    done = cli("import", file, "--json").json
    assert {key: planned[key] for key in done} | {"books": [], "memories": done["memories"]} == done
    assert "Nothing was written." in cli("import", write(tmp_path / "sera.json", CARD), "--dry-run").err
    assert cli("books", "list", "--json").json["books"] == []


def test_a_directory_is_taken_file_by_file(cli: Cli, tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    folder = tmp_path / "all"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.jsonl", "deep/a.jsonl"):
        (folder / name).write_text(json.dumps({"role": "user", "content": name}))
    (folder / "bad.jsonl").write_text('{"role": "king", "content": "x"}')
    (folder / "picture.jpg").write_bytes(b"x")
    write(folder / "world.json", {"entries": {"0": {"key": ["mill"], "content": "A mill."}}})
    ran = cli("import", folder, "--json")
    assert ran.code == 1
    assert [Path(one["file"]).name for one in json.loads(ran.out)["failed"]] == ["bad.jsonl"]
    assert "role" in ran.err
    assert cli.stories() == ["all a", "deep a"]
    assert [book["book"] for book in cli("books", "list", "--json").json["books"]] == ["world"]


def test_an_empty_directory_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert "no files to import in this directory" in cli.fails(2, "import", tmp_path)


MEMORIES = {
    "entries": {
        "0": {"key": [], "comment": "[1] Dawn", "content": "They met at dawn.", "stmemorybooks": True,
              "STMB_start": 0, "STMB_end": 3},
        "1": {"key": [], "comment": "[2] Noon", "content": "They ate at noon.", "stmemorybooks": True,
              "STMB_start": 6, "STMB_end": 9},
    }
}  # fmt: skip


@pytest.fixture
def chat(cli: Cli, jsonl: Callable[..., Path]) -> Callable[..., Any]:
    def make(count: int = 20) -> None:
        cli("import", jsonl("tale.jsonl", [{"role": "user", "content": f"message {at}"} for at in range(count)]))

    return make


def list_chapters(cli: Cli) -> list[tuple[list[int], str, str]]:
    chapters = cli("show", "tale", "--json").json["chapters"]
    return [(one["span"], one["title"], one["recap"] or "") for one in chapters]


def test_memories_of_memory_books_are_chapters_with_their_words(
    cli: Cli, chat: Callable[..., None], tmp_path: Path
) -> None:
    chat()
    file = write(tmp_path / "world.json", MEMORIES)
    first = cli("import", file, "--story", "tale", "--json").json
    assert first["memories"] == {"found": 2, "added": 2, "updated": 0, "unchanged": 0, "left": []}
    expected = [([0, 3], "Dawn", "They met at dawn."), ([4, 5], "", ""), ([6, 9], "Noon", "They ate at noon.")]
    assert list_chapters(cli) == expected
    seen = "\n".join(one["content"] for one in cli("view", "tale", "--budget", 2000, "--json").json["messages"])
    assert "They met at dawn." in seen and "They ate at noon." in seen
    assert cli("import", file, "--story", "tale", "--json").json["memories"]["unchanged"] == 2
    assert list_chapters(cli) == expected
    assert cli("verify").code == 0


def test_a_summary_of_summarize_is_the_recap_of_a_chapter(cli: Cli, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"name": "Sera", "is_user": False, "mes": f"Line {at}.", "extra": {}} for at in range(6)
    ]
    lines[3]["extra"]["memory"] = "Sera spoke of rain."
    file = tmp_path / "tale.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert cli("import", file, "--json").json["memories"]["added"] == 1
    (chapter,) = cli("show", "tale", "--json").json["chapters"]
    assert (chapter["span"], chapter["recap"], chapter["made_by"]) == ([0, 3], "Sera spoke of rain.", "import")
    assert cli("import", file, "--json").json["memories"]["unchanged"] == 1
    out = tmp_path / "out.jsonl"
    cli("export", "tale", "--to", "sillytavern-chat", "--out", out)
    assert [json.loads(line)["extra"] for line in out.read_text("utf-8").splitlines()[-6:]] == [
        line["extra"] for line in lines
    ]
    cli("edit", "tale", "chapter:1", "--text", "Mine.")
    assert cli("show", "tale", "--json").json["chapters"][0]["made_by"] == "person"


def test_what_a_person_wrote_wins_over_a_memory(cli: Cli, chat: Callable[..., None], tmp_path: Path) -> None:
    chat()
    file = write(tmp_path / "world.json", MEMORIES)
    cli("import", file, "--story", "tale")
    cli("edit", "tale", "chapter:1", "--text", "My own words.")
    changed = json.loads(json.dumps(MEMORIES))
    for entry in changed["entries"].values():
        entry["content"] += " More."
    ran = cli("import", write(file, changed), "--story", "tale", "--json")
    assert (ran.json["memories"]["updated"], len(ran.json["memories"]["left"])) == (1, 1)
    assert "a person wrote the recap of that chapter" in ran.err
    assert [text for _, _, text in list_chapters(cli)] == ["My own words.", "", "They ate at noon. More."]


def test_a_memory_without_its_messages_is_left_out_and_named(
    cli: Cli, chat: Callable[..., None], tmp_path: Path
) -> None:
    chat(8)
    ran = cli("import", write(tmp_path / "world.json", MEMORIES), "--story", "tale")
    assert "left out a memory of MemoryBooks, messages 6 to 9: the story has no such messages" in ran.err
    assert list_chapters(cli) == [([0, 3], "Dawn", "They met at dawn.")]


@pytest.fixture
def few_bytes_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a kilobyte are read as they are taken in, a few messages at a time."""
    monkeypatch.setattr("previously.formats.detect_format.LARGE", 1_000)
    monkeypatch.setattr("previously.storage.tables.path_writer.ROWS_PER_STAGE", 7)
    monkeypatch.setattr("previously.story.follow_stream.COMPARED_AT_ONCE", 5)


def make_chat(path: Path, count: int, *, changed: int = -1, broken: int = -1) -> Path:
    header = {"user_name": "Ada", "character_name": "Sera", "chat_metadata": {"note_prompt": "Rain."}}
    lines = [json.dumps(header)]
    for at in range(count):
        line: dict[str, Any] = {"name": "Sera", "is_user": False, "mes": f"Line {at}{'!' * (at == changed)}"}
        if at % 4 == 3:
            line |= {"swipes": [line["mes"], f"Other {at}"], "swipe_id": 0, "swipe_info": [{}, {}]}
        if at < 3:
            line["extra"] = {"qvink_memory": {"memory": f"Memory {at}."}}
        lines.append(json.dumps(line)[: 20 if at == broken else None])
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.mark.usefixtures("few_bytes_are_many")
def test_a_large_chat_comes_in_as_a_small_one_does(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = cli("import", make_chat(tmp_path / "chat.jsonl", 40), "--story", "large", "--json").json
    with monkeypatch.context() as small_files:
        small_files.setattr("previously.formats.detect_format.LARGE", 1_000_000)
        small = cli("import", tmp_path / "chat.jsonl", "--story", "small", "--json").json
    assert (large["added"], large["memories"]["added"]) == (40, 1)
    assert large | {"story": ""} == small | {"story": ""}
    for to in ("sillytavern-chat", "openai"):
        one, other = (tmp_path / f"{name}.{to}" for name in ("large", "small"))
        cli("export", "large", "--to", to, "--out", one)
        cli("export", "small", "--to", to, "--out", other)
        assert one.read_bytes() == other.read_bytes()
    assert cli("verify", "--json").json["faults"] == []


@pytest.mark.usefixtures("few_bytes_are_many")
def test_a_large_file_again_adds_only_what_it_has_more(cli: Cli, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    cli("import", make_chat(chat, 40))
    again = cli("import", chat, "--json").json
    assert (again["added"], again["updated"], again["removed"], again["unchanged"]) == (0, 0, 0, 40)
    more = cli("import", make_chat(chat, 47), "--json").json
    assert (more["added"], more["unchanged"]) == (7, 40)
    edited = cli("import", make_chat(chat, 47, changed=12), "--json").json
    assert (edited["added"], edited["updated"], edited["removed"], edited["unchanged"]) == (0, 1, 0, 46)
    fewer = cli("import", make_chat(chat, 30, changed=12), "--json").json
    assert (fewer["removed"], fewer["unchanged"]) == (17, 30)
    assert cli.texts("chat") == [f"Line {at}{'!' * (at == 12)}" for at in range(30)]


@pytest.mark.usefixtures("few_bytes_are_many")
@pytest.mark.parametrize("line", ["Ada: Line {}.\n", "Paragraph {}\nof rain.\n\n"], ids=["script", "prose"])
def test_a_large_text_is_read_as_it_comes(cli: Cli, tmp_path: Path, line: str) -> None:
    text = tmp_path / "night.txt"
    text.write_text("".join(map(line.format, range(100))), "utf-8")
    assert cli("import", text, "--json").json["added"] == 100
    text.write_text("".join(map(line.format, range(120))), "utf-8")
    again = cli("import", text, "--json").json
    assert (again["added"], again["unchanged"]) == (20, 100)
    assert cli.texts("night")[-1] == ("Line 119." if "Ada" in line else "Paragraph 119\nof rain.")


def make_log(path: Path, count: int) -> Path:
    """A transcript of Claude Code with a call in every third step, and a sub-agent's beside it."""
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": "Rain"}, {"type": "progress", "uuid": "p"}]
    for at in range(count):
        content: Any = f"Line {at}.\0"
        if at % 3 == 1:
            content = [{"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {}}]
        elif at % 3 == 2:
            content = [{"type": "tool_result", "tool_use_id": f"t{at - 1}", "content": "ok"}]
        role = "assistant" if at % 3 == 1 else "user"
        said = {"role": role, "content": content}
        lines.append({"type": role, "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else "p", "message": said})
    aside = path.with_suffix("") / "subagents" / "agent-k.jsonl"
    aside.parent.mkdir(parents=True, exist_ok=True)
    for file in (path, aside):
        file.write_text("".join(json.dumps(line | {"sessionId": "s"}) + "\n" for line in lines), "utf-8")
    return path


def make_export(path: Path, count: int) -> Path:
    said = [{"uuid": f"m{at}", "sender": "human", "text": f"Line {at}."} for at in range(count)]
    path.write_text(json.dumps([{"uuid": f"c{at}", "name": "Mill", "chat_messages": said} for at in range(3)]), "utf-8")
    return path


@pytest.mark.usefixtures("few_bytes_are_many")
@pytest.mark.parametrize("make", [make_log, make_export])
def test_a_large_log_or_export_comes_in_as_a_small_one_does(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, int], Path]
) -> None:
    file = make(tmp_path / "file.jsonl", 40)
    planned = cli("import", file, "--dry-run", "--json").json["stories"]
    large = cli("import", file, "--json")
    again = cli("import", make(file, 48), "--json").json["stories"]
    texts = {one["story"]: cli.texts(one["story"]) for one in again}
    assert [one["added"] for one in planned] == [one["added"] for one in large.json["stories"]] == [40] * len(texts)
    assert [(one["added"], one["unchanged"]) for one in again] == [(8, 40)] * len(texts)
    for story in texts:
        cli("forget", story, "--yes")
    monkeypatch.setattr("previously.formats.detect_format.LARGE", 1_000_000)
    small = cli("import", make(file, 40), "--json")
    assert (small.json, small.err) == (large.json, large.err)
    cli("import", make(file, 48))
    assert {story: cli.texts(story) for story in texts} == texts
    assert cli("verify", "--json").json["faults"] == []


@pytest.mark.usefixtures("few_bytes_are_many")
def test_a_large_file_without_messages_takes_nothing_out(cli: Cli, tmp_path: Path) -> None:
    cli.tell("tale")
    told = cli.texts("tale")
    (tmp_path / "blank.txt").write_text("---\ntitle: Rain\n---\n" + "\n" * 2_000, "utf-8")
    assert "there are no messages in the file" in cli.fails(2, "import", tmp_path / "blank.txt", "--story", "tale")
    assert cli.texts("tale") == told


@pytest.mark.usefixtures("few_bytes_are_many")
def test_of_a_large_file_with_a_fault_nothing_stays(cli: Cli, tmp_path: Path) -> None:
    broken = make_chat(tmp_path / "broken.jsonl", 60, broken=50)
    assert "line 52" in cli("import", broken).err
    assert cli("stories", "--json").json["stories"] == []
    sound = make_chat(tmp_path / "sound.jsonl", 40)
    assert "line 52" in cli("import", sound, broken).err
    assert cli("stories", "--json").json["stories"] == []
    cli("import", sound)
    assert "line 52" in cli("import", broken, "--story", "sound").err
    assert len(cli.texts("sound")) == 40
    collected = cli("gc", "--older-than", "0", "--json").json
    assert (collected["lines"], collected["entries"]) == (0, 0)


@pytest.mark.usefixtures("few_bytes_are_many")
def test_an_import_of_a_large_file_is_undone(cli: Cli, tmp_path: Path) -> None:
    cli("import", make_chat(tmp_path / "chat.jsonl", 40))
    cli("import", make_chat(tmp_path / "chat.jsonl", 47))
    cli("undo", "chat")
    assert len(cli.texts("chat")) == 40
    assert cli("import", tmp_path / "chat.jsonl", "--dry-run", "--json").json["added"] == 7


def test_an_exported_directory_is_refused(cli: Cli, tmp_path: Path) -> None:
    cli.tell("tale")
    cli("export", "tale", "--to", "directory", "--out", tmp_path / "tale.directory")
    for record in (True, False):
        if not record:
            shutil.rmtree(tmp_path / "tale.directory" / ".previously")  # as in a checkout of git
        assert "`previously apply`" in cli.fails(2, "import", tmp_path / "tale.directory")
        ran = cli("import", tmp_path)
        assert (ran.code, "`previously apply`" in ran.err) == (1, True), "of a directory of them, each is named"
    assert cli.stories() == ["tale"]


@pytest.mark.parametrize("story", ["new", "tale"])
def test_an_interrupted_import_leaves_no_story(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, story: str
) -> None:
    async def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(30)

    cli.tell("tale")
    monkeypatch.setattr(Transcript, "follow", interrupt)
    # Whoever starts the tests in the background of a shell has Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    (tmp_path / "more.jsonl").write_text('{"role": "user", "content": "One."}\n', "utf-8")
    said = cli.fails(130, "import", tmp_path / "more.jsonl", "--story", story)
    assert said.endswith("nothing was imported." if story == "new" else "or nothing of it; import it again.")
    assert cli.stories() == ["tale"]


def test_a_book_for_a_story_is_told_of(cli: Cli, tmp_path: Path) -> None:
    cli.tell("tale")
    entry = {"uid": 0, "key": ["mill"], "comment": "Mill", "content": "It burnt."}
    (tmp_path / "world.json").write_text(json.dumps({"entries": {"0": entry}}), "utf-8")
    ran = cli("import", tmp_path / "world.json", "--story", "tale")
    assert ran.out == "The book world: added, 1 entry, attached to tale.\n"
    for form in ("world-info", "character-book"):
        ran = cli("export", "tale", "--to", form, "--out", tmp_path / "out.json")
        assert "0 entries of the story's own lore." in ran.err
        assert f"`previously lore export world --to {form}` writes it." in ran.err


def test_list_is_stories(cli: Cli) -> None:
    assert cli.fails(2, "list").endswith("`previously stories` lists the stories.")


def export_chat(title: str, ident: str, *texts: str) -> dict[str, Any]:
    said = [
        {"uuid": f"{ident}{number}", "sender": ("human", "assistant")[number % 2], "text": text}
        for number, text in enumerate(texts)
    ]
    return {"uuid": ident, "name": title, "chat_messages": said}


def test_an_exported_conversation_is_the_same_story_however_many_come_with_it(cli: Cli, tmp_path: Path) -> None:
    mill = export_chat("The mill", "abcdef12-3", "Who is there?", "Finn.")
    key = export_chat("The key", "11112222-3", "Where is it?", "Under the stone.")
    file = tmp_path / "conversations.json"
    names = "conversations The mill abcdef12", "conversations The key 11112222"
    assert cli("import", write(file, [mill]), "--json").json["story"] == names[0]
    other = cli("import", write(file, [key]), "--json").json
    assert (other["story"], other["added"], other["updated"]) == (names[1], 2, 0)
    both = cli("import", write(file, [mill, key]), "--json").json["stories"]
    assert [(one["story"], one["added"], one["unchanged"]) for one in both] == [(name, 0, 2) for name in names]
    assert cli.texts(names[0]) == ["Who is there?", "Finn."]
    assert cli("import", write(file, [mill]), "--story", "mill", "--json").json["story"] == "mill"


WORLD = {"entries": {"0": {"uid": 0, "key": ["mill"], "comment": "The mill", "content": "It burned.", "odd": None}}}


def test_a_book_again_changes_nothing_and_says_so(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "valley.json"
    file.write_text(json.dumps(WORLD))
    assert cli("import", file, "--dry-run").out == "The book valley: added, 1 entry.\n"
    assert cli("books", "list", "--json").json["books"] == []
    assert cli("import", file).out == "The book valley: added, 1 entry.\n"
    before = cli("books", "list", "--json").json
    assert cli("import", file).out == "The book valley: unchanged, 1 entry.\n"
    assert cli("books", "list", "--json").json == before


def test_a_book_that_was_changed_elsewhere_says_what(cli: Cli, tmp_path: Path) -> None:
    """An entry that got another name in SillyTavern is one change, in a dry run too."""
    file = tmp_path / "valley.json"
    file.write_text(json.dumps(WORLD))
    cli("import", file)
    file.write_text(json.dumps(WORLD).replace("The mill", "The old mill"))
    told = "The book valley: updated, 1 entry.\n  The old mill: name: The mill → The old mill\n"
    assert cli("import", file, "--dry-run").out == told
    assert cli("books", "show", "valley", "--json").json["entries"][0]["name"] == "The mill"
    ran = cli("import", file, "--json").json
    assert [(one["field"], one["before"], one["after"]) for one in ran["changes"]] == [
        ("name", "The mill", "The old mill")
    ]
    assert cli("import", file, "--json").json["changes"] == []


def test_a_book_that_cannot_be_kept_is_named_with_its_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "odalys.json"
    file.write_text(json.dumps(WORLD))
    cli("shared", "add", "odalys", "Her brother drowned.", "--world")
    for options in ((), ("--dry-run",)):
        ran = cli("import", file, *options)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"previously: {file}: 'odalys' is a shared memory")


def test_a_dry_run_tells_of_the_book_of_a_card(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tess.json"
    file.write_text(
        json.dumps({"spec": "chara_card_v2", "data": {"name": "Tess", "first_mes": "Hi.", "character_book": WORLD}})
    )
    dry = cli("import", file, "--dry-run").out
    assert dry == "tess: 1 added, 0 updated, 0 removed, 0 unchanged (card, the book tess added).\n"
    assert cli("import", file).out == dry
    dry = cli("import", file, "--dry-run").out
    assert dry == "tess: 0 added, 0 updated, 0 removed, 1 unchanged (card, the book tess unchanged).\n"
    assert cli("import", file).out == dry
    cli("books", "edit", "tess", "The mill", "--text", "It stands.")
    file.write_text(file.read_text().replace("It burned.", "It fell."))
    assert "the book tess kept" in cli("import", file, "--dry-run").out


def test_files_of_one_name_in_a_directory_all_come_in(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    (folder / "old").mkdir(parents=True)
    for name in ("ferry.txt", "ferry.md", "mill.txt", "old/mill.txt"):
        (folder / name).write_text("Wren: Is the ferry in?\n\nOdalys: Not yet.")
    ran = cli("import", folder)
    assert ran.code == 0
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == [
        "ferry.md",
        "ferry.txt",
        "chats mill",
        "old mill",
    ]


def test_two_named_files_of_one_name_are_both_named(cli: Cli, tmp_path: Path) -> None:
    files = tmp_path / "ferry.txt", tmp_path / "ferry.md"
    for file in files:
        file.write_text("Wren: Is the ferry in?")
    ran = cli("import", *files)
    assert (ran.code, ran.err) == (
        2,
        f"previously: {files[0]} and {files[1]} would both become the story 'ferry'; "
        "import them one by one with --story.\n",
    )


def test_no_file_comes_in_when_another_has_a_name_that_no_story_can_have(cli: Cli, tmp_path: Path) -> None:
    good, bad = tmp_path / "ferry.txt", tmp_path / ("x" * 220 + ".txt")
    for file in (good, bad):
        file.write_text("Wren: Is the ferry in?")
    ran = cli("import", good, bad)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"previously: {bad} cannot give its story a name")
    assert cli("stories", "--json").json["stories"] == []


def test_what_came_in_before_a_failure_is_said(cli: Cli, tmp_path: Path) -> None:
    good, scene = tmp_path / "ferry.txt", tmp_path / "tale.json"
    good.write_text("Wren: Is the ferry in?")
    scene.write_text(json.dumps({"summary": "They left.", "lorebooks": []}))
    cli("add", "tale", "--role", "user", "--text", "Hi.")
    ran = cli("import", good, scene)
    assert (ran.code, ran.err.endswith("Before that, ferry came in.\n")) == (2, True)


def test_the_first_bad_file_is_the_one_that_is_named(cli: Cli, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.jsonl" for number in range(8)]
    ran = cli("import", *files)
    assert ran.err == f"previously: {files[0]}: there is no such file.\n"


def test_a_span_that_ends_before_it_begins_is_refused(cli: Cli, tmp_path: Path) -> None:
    scene = tmp_path / "scene.json"
    scene.write_text(json.dumps({"summary": "They left.", "lorebooks": []}))
    cli("add", "tale", "--role", "user", "--text", "Hi.")
    ran = cli("import", scene, "--story", "tale", "--span", "3-1")
    assert (ran.code, ran.err) == (2, "previously: '3-1' is no stretch of messages: it ends before it begins.\n")


RUN_AND_MEASURE = """
import sys
from previously.cli.command_table import main
code = main(sys.argv[1:])
status = open("/proc/self/status").read()
print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
sys.exit(code)
"""
"""A process says itself what it held: to its parent, it is never smaller than that was when it began."""


def measure_peak(*arguments: object) -> float:
    """The most megabytes that a command holds, in a process of its own."""
    command = [sys.executable, "-c", RUN_AND_MEASURE, *map(str, arguments)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells what a process held")
@pytest.mark.slow(reason="takes seconds, to be worth measuring")
def test_a_large_file_is_not_held_in_memory(tmp_path: Path) -> None:
    """Held whole, the larger file takes 40 MB more than the smaller one; as it comes in, 12."""
    line = json.dumps({"role": "user", "content": "The ferry is late again. " * 320})
    peaks = []
    for megabytes in (12, 48):
        file = tmp_path / f"{megabytes}.jsonl"
        file.write_text("\n".join(line for _ in range(megabytes * 1_000_000 // len(line))))
        peaks.append(measure_peak("--db", tmp_path / f"{megabytes}.db", "import", file))
    assert peaks[1] - peaks[0] < 24, peaks


def make_rewound(path: Path, count: int, *, changed: int = -1) -> Path:
    """Write a transcript in which every tenth line goes back by three."""
    lines = []
    before: str | None = None
    for at in range(count):
        said = {"role": "user", "content": f"Line {at}{'!' * (at == changed)}"}
        before = f"u{at - 4}" if at % 10 == 9 else before
        lines.append({"type": "user", "uuid": f"u{at}", "parentUuid": before, "sessionId": "s", "message": said})
        before = f"u{at}"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


@pytest.mark.usefixtures("few_bytes_are_many")
def test_a_large_log_with_branches_comes_in_as_a_small_one_does(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_rewound(tmp_path / "log.jsonl", 47)
    tried = cli("import", log, "--story", "large", "--dry-run", "--json").json
    large = cli("import", log, "--story", "large", "--json").json
    assert tried["added"] == large["added"] == 47
    with monkeypatch.context() as small_files:
        small_files.setattr("previously.formats.detect_format.LARGE", 1_000_000)
        small = cli("import", log, "--story", "small", "--json").json
        again = cli("import", log, "--story", "large", "--json").json
    assert large | {"story": ""} == small | {"story": ""}
    assert len(large["branches"]) == 4
    assert (again["added"], again["unchanged"]) == (0, 47)
    assert cli("branches", "large", "--json").json["branches"] == cli("branches", "small", "--json").json["branches"]
    assert cli("verify", "--json").json["faults"] == []


@pytest.mark.usefixtures("few_bytes_are_many")
def test_a_large_log_with_branches_again_changes_what_differs(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    cli("import", make_rewound(log, 47))
    again = cli("import", log, "--json").json
    assert (again["added"], again["updated"], again["removed"], again["unchanged"]) == (0, 0, 0, 47)
    more = cli("import", make_rewound(log, 55), "--json").json
    assert (more["added"], more["updated"], more["removed"]) == (8, 1, 0)  # another stands for what was taken back
    assert len(more["branches"]) == 5
    edited = cli("import", make_rewound(log, 55, changed=47), "--json").json  # on the newest branch alone
    assert (edited["added"], edited["updated"], edited["removed"]) == (0, 1, 0)
    assert cli("verify", "--json").json["faults"] == []
