"""Stories go out in the formats of other programs, with nothing lost on the way there and back."""

from __future__ import annotations

import base64
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from previously import BadInput, BlockingMemory, read_story
from previously.blocking import BlockingStory
from previously.lore.books import parse_book
from previously.storage.layout import ATTACHED, TABLES
from previously.storage.spool import Spool
from tests.contract.storage.postgres_server import shared_server
from tests.unit.formats.test_sillytavern import ANSWER, GREETING, HEADER, QUESTION

NARRATOR = {
    "name": "System",
    "is_user": False,
    "is_system": False,
    "send_date": "2026-04-02T08:03:00.000Z",
    "mes": "Night falls.",
    "extra": {"type": "narrator", "isSmallSys": True},
}
OTHER_GREETING = "The bakery is shut, but Tamsin is inside."
HIDDEN = {**QUESTION, "is_system": True, "mes": "(out of character: a short break)"}


def dump(*lines: dict[str, Any]) -> bytes:
    """A chat as SillyTavern writes it."""
    return "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines).encode()


CHAT = dump(HEADER, GREETING, QUESTION, ANSWER, NARRATOR, HIDDEN)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with BlockingMemory(tmp_path / "stories.db") as opened:
        yield opened


def bring_in(memory: BlockingMemory, path: Path, name: str = "tale") -> BlockingStory:
    source, story = read_story(path), memory.story(name)
    story.follow(source.drafts)
    story.keep_header(source.header)
    return story


@pytest.fixture
def chat(memory: BlockingMemory, tmp_path: Path) -> BlockingStory:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(CHAT)
    return bring_in(memory, path)


def export(story: BlockingStory, to: str = "sillytavern-chat") -> bytes:
    return story.export(to)[0].content


def parse_lines(chat: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in chat.decode().split("\n")]


def find_differences(chat: bytes) -> dict[tuple[int, str], Any]:
    """The fields that are not as they were, by line and name, with what they are now."""
    before, now = parse_lines(CHAT), parse_lines(chat)
    assert len(before) == len(now)
    return {
        (number, key): new.get(key)
        for number, (old, new) in enumerate(zip(before, now, strict=True))
        for key in old | new
        if old.get(key) != new.get(key)
    }


def test_a_chat_comes_back_byte_for_byte(chat: BlockingStory) -> None:
    assert export(chat) == CHAT
    assert export(chat) == CHAT


def test_an_edit_changes_the_message_and_its_swipe(chat: BlockingStory) -> None:
    chat.edit(0, "Tamsin nods at Jory.")
    assert find_differences(export(chat)) == {
        (1, "mes"): "Tamsin nods at Jory.",
        (1, "swipes"): ["Tamsin nods at Jory.", OTHER_GREETING],
    }
    chat.edit(1, "Jory asks again.")
    changed = find_differences(export(chat))
    assert {place for place in changed if place[0] > 1} == {(2, "mes")}
    assert (3, "swipes") not in changed, "swipes stay with their message when one before it is edited"


def test_hiding_and_choosing_are_written(chat: BlockingStory) -> None:
    chat.hide(1)
    assert find_differences(export(chat)) == {(2, "is_system"): True}
    chat.unhide(1)
    first = next(number for number, swipe in enumerate(chat.swipes(0)) if swipe.message.text == OTHER_GREETING)
    chat.choose(first, 0)
    changed = find_differences(export(chat))
    assert changed[1, "mes"] == OTHER_GREETING
    assert changed[1, "swipe_id"] == 1
    assert (1, "swipes") not in changed


def test_what_is_deleted_is_nobodys_swipe(memory: BlockingMemory, tmp_path: Path) -> None:
    lines = [{**NARRATOR, "mes": text, "extra": {}} for text in ("One.", "Two.", "Three.")]
    path = tmp_path / "plain.jsonl"
    path.write_bytes(dump(HEADER, *lines))
    story = bring_in(memory, path)
    story.delete(1)
    assert export(story) == dump(HEADER, lines[0], lines[2])


def list_swipes(story: BlockingStory) -> list[list[str]]:
    return [line.get("swipes", []) for line in parse_lines(export(story))[1:]]


def test_a_passage_that_was_deleted_is_no_swipe_of_what_is_written_there_next(
    memory: BlockingMemory, tmp_path: Path
) -> None:
    """In prose all passages have one role, so the role does not tell them apart."""
    path = tmp_path / "novel.md"
    path.write_text("# One\n\nIt rained.\n\nIt stopped.\n\nThey left.\n")
    story = bring_in(memory, path)
    story.delete(3)
    story.add("assistant", "They stayed.")
    assert list_swipes(story) == [[]] * 4, "the last one was deleted"
    story.delete(1)
    story.insert(1, "assistant", "It snowed.")
    assert list_swipes(story) == [[]] * 4, "one in the middle was deleted"
    path.write_text("# One\n\nIt snowed.\n")
    story.take_in(read_story(path))
    path.write_text("# One\n\nIt snowed.\n\nNobody came.\n")
    story.take_in(read_story(path))
    assert list_swipes(story) == [[]] * 3, "the file has no such passage any more"


def test_another_reply_in_the_same_place_is_a_swipe_whatever_was_deleted(memory: BlockingMemory) -> None:
    story = memory.story("talk")
    story.add("user", "Where is it?", name="Wren")
    story.add("assistant", "Oops.", name="Odalys")
    story.delete(1)
    story.add("assistant", "In the shed.", name="Odalys")
    story.regenerate("In the mill.")
    assert list_swipes(story) == [[], ["In the shed.", "In the mill."]]
    story.delete(1)
    story.undo()
    assert list_swipes(story) == [[], ["In the shed.", "In the mill."]]


def test_each_branch_is_a_file(chat: BlockingStory) -> None:
    chat.branch("what if", 1)
    chat.switch("what if")
    chat.add("assistant", "Another way.", name="Tamsin")
    chat.switch("main")
    main, other = chat.export("sillytavern-chat")
    assert (main.content, main.branch, other.branch) == (CHAT, "", "what if")
    assert [line["mes"] for line in parse_lines(other.content)[1:]] == [
        GREETING["mes"],
        QUESTION["mes"],
        "Another way.",
    ]


def test_a_story_that_was_never_a_chat_can_be_read_as_one(memory: BlockingMemory, tmp_path: Path) -> None:
    story = memory.story("new")
    story.add("system", "Rain on the quay.")
    story.add("user", "Where is the piano?", name="Wren", at="2026-03-02T19:07:00+00:00")
    story.add("assistant", "Sold.", name="Odalys", hidden=True)
    path = tmp_path / "new.jsonl"
    path.write_bytes(export(story))
    again = bring_in(memory, path, "again")
    told = [
        [(item.entry.message.role, item.entry.message.speaker, item.entry.message.text, item.entry.attributes.hidden)]
        for item in again.messages()
    ]
    assert [one[0][2:] for one in told] == [
        ("Rain on the quay.", False),
        ("Where is the piano?", False),
        ("Sold.", True),
    ]
    assert [one[0][0] for one in told] == ["system", "user", "assistant"]
    assert export(again) == export(story)


@pytest.fixture
def harbour(memory: BlockingMemory) -> BlockingStory:
    """A story with memory of every kind that needs no model, and things that a person wrote and locked."""
    story = memory.story("harbour")
    for number in range(90):
        story.add("user" if number % 2 else "assistant", f"Ines promised Wick a lamp for pier {number}.", name="Ines")
    story.fold()
    story.write("recap", "Ines came by night. She owes Wick a lamp.")
    story.write_lore("Wick", "character", content="The lamp maker of the harbour.", keywords=["Wick", "lamp maker"])
    story.lock_lore("Wick")
    story.open_thread("Who broke the ninth step?")
    story.branch("other", 40)
    memory.keep_book("sea", [{"name": "Tide", "type": "concept", "keywords": ["tide"], "content": "Twice a day."}])
    story.attach_book("sea")
    story.close_chapter("The ninth step", 20)
    story.write("chapter:1", "Ines came, and the ninth step was broken.")
    story.pin("Nobody goes up without a lamp.")
    story.set(["tail_messages=6", "lore_depth=3"])
    story.view(2_000)
    return story


def describe(story: BlockingStory) -> dict[str, Any]:
    """All that a person can see of a story."""
    return {
        "views": [
            [(message.role, message.text) for message in story.view(budget).messages]
            for budget in (2_000, 4_000, 8_000)
        ],
        # Versions are numbered over all stories of a database.
        "texts": re.sub(r"version=\d+", "", repr([story.recap(), story.backbone(), story.chapters()])),
        "locks": [(entry.name, entry.locked) for entry in story.lore()],
        "pins": [(pin.text, pin.position, pin.made_by) for pin in story.pins()],
        "settings": story.settings(),
        "swipes": [[swipe.message.text for swipe in story.swipes(at)] for at in (0, len(story.messages()) // 3, -1)],
        "state": story.state(),
        "flagged": story.flagged(),
        "versions": [
            (version.made.kind, version.made.status, version.made.made_by, version.made.text) for version in story.log()
        ],
        "lore": story.lore(everything=True),
        "threads": [(listing.thread.text, listing.status) for listing in story.threads(everything=True)],
        "branches": [(branch.name, branch.messages) for branch in story.branches()],
        "books": story.attached_books(),
    }


def test_a_whole_story_is_taken_elsewhere_and_back(
    memory: BlockingMemory, harbour: BlockingStory, tmp_path: Path
) -> None:
    path, again = tmp_path / "whole.jsonl", tmp_path / "again.jsonl"
    before, book = describe(harbour), memory.book("sea")
    memory.write_story_file("harbour", path)
    memory.close()
    for file in tmp_path.glob("stories.db*"):
        file.unlink()
    with BlockingMemory(tmp_path / "stories.db") as other:
        assert other.stories() == []
        assert other.read_story_file(path).status == "restored"
        assert describe(other.story("harbour", create=False)) == before
        assert other.book("sea") == book
        assert other.read_story_file(path).status == "already there"
        assert other.verify().clean
        other.write_story_file("harbour", again)
    first, second = (json.loads(file.read_text().partition("\n")[0]) for file in (path, again))
    assert first["digest"] == second["digest"]


def test_everything_goes_out_and_comes_back(memory: BlockingMemory, harbour: BlockingStory, tmp_path: Path) -> None:
    """Every story as a file, the database deleted, every file imported: nothing can be told from what was."""
    harbour.edit(70, "Wick took the lamp back.")
    harbour.edit(3, "Ines promised Wick two lamps.")
    harbour.regenerate("Ines promised nothing more.")
    harbour.hide(12)
    harbour.lock("recap")
    memory.share("ines", "character", "Ines")
    memory.add_shared("ines", "She was born at sea.")
    memory.rule_shared("ines", learns=True)
    harbour.attach_book("ines")
    memory.continue_story("harbour", "winter")
    winter = memory.story("winter")
    for number in range(80):
        winter.add("user" if number % 2 else "assistant", f"Ines sold lamp {number} in the snow.", name="Ines")
    winter.fold()
    winter.write("recap", "Ines sold lamps in the snow.")
    winter.lock("recap")
    winter.branch("thaw", 30)
    winter.switch("thaw")
    winter.pin("The thaw came early.")
    other = memory.story("pier")
    other.add("user", "Ines sings on the pier.", name="Ines")
    other.attach_book("ines")
    names = ("winter", "pier", "harbour")
    readers = ("chat", "character:Ines")

    def see(at: BlockingMemory) -> dict[str, Any]:
        stories = {name: at.story(name, create=False) for name in names}
        shown = {name: describe(story) for name, story in stories.items()}
        views = {
            (name, budget, reader): [str(message) for message in story.view(budget, reader=reader).messages]
            for name, story in stories.items()
            for budget in (1_500, 4_000, 12_000)
            for reader in readers
        }
        continued = [(name, one.story, one.messages) for name in names if (one := stories[name].continues())]
        texts = [[item.entry.message for item in story.messages()] for story in stories.values()]
        facts = [fact.text for fact in at.shared_memory("ines").facts]
        return {"stories": shown, "views": views, "continued": continued, "messages": texts, "facts": facts}

    before = see(memory)
    assert "Before this story" in str(before["views"]) and "She was born at sea." in str(before["views"])
    for name in names:
        memory.write_story_file(name, tmp_path / f"{name}.jsonl")
    memory.close()
    for file in tmp_path.glob("stories.db*"):
        file.unlink()
    with BlockingMemory(tmp_path / "stories.db") as again:
        for name in names:
            assert again.read_story_file(tmp_path / f"{name}.jsonl").status == "restored"
        assert see(again) == before
        assert again.verify().clean
        for name in names:
            again.write_story_file(name, tmp_path / f"{name} again.jsonl")
    for name in names:
        first, second = (
            json.loads((tmp_path / file).read_text().partition("\n")[0])
            for file in (f"{name}.jsonl", f"{name} again.jsonl")
        )
        assert first["digest"] == second["digest"], name


def test_a_whole_story_moves_to_postgresql(memory: BlockingMemory, harbour: BlockingStory, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    before = describe(harbour)
    memory.write_story_file("harbour", path)
    server = shared_server()
    url = server.fresh()
    with BlockingMemory(url) as other:
        other.read_story_file(path, name="by another name")
        assert describe(other.story("by another name", create=False)) == before
    server.drop(url)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda text: text[: len(text) // 2], "line"),
        (lambda text: text[: text.rindex("\n", 0, -1) + 1], "cut off, damaged or was changed"),
        (lambda text: text.replace("promised Wick", "promised Nobody", 1), "cut off, damaged or was changed"),
        (lambda text: text.replace('"previously_story":1', '"previously_story":9', 1), "another version"),
        (lambda text: text.replace('"table":"entry"', '"table":"nothing"', 1), "no row of a table"),
        (lambda text: text.replace('"table":"entry","id"', '"table":"entry","ident"', 1), "no row of a table"),
        (lambda text: text.replace('"ids":{', '"ids":{"story":-4,', 1), "ids must name"),
    ],
)
def test_a_damaged_file_is_refused_and_changes_nothing(
    memory: BlockingMemory, harbour: BlockingStory, tmp_path: Path, damage: Any, sentence: str
) -> None:
    path = tmp_path / "whole.jsonl"
    memory.write_story_file("harbour", path)
    path.write_text(damage(path.read_text()))
    with BlockingMemory(tmp_path / "other.db") as other:
        with pytest.raises(BadInput, match=sentence):
            other.read_story_file(path)
        assert other.stories() == []


def test_another_story_of_that_name_stays(memory: BlockingMemory, harbour: BlockingStory, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    memory.write_story_file("harbour", path)
    harbour.add("user", "And on.")
    with pytest.raises(BadInput, match="another story named 'harbour'"):
        memory.read_story_file(path)
    assert memory.read_story_file(path, name="as it was").messages == 90
    assert len(harbour.messages()) == 91


def test_lore_goes_out_as_world_info_and_as_a_card_book(harbour: BlockingStory) -> None:
    for form in ("world-info", "character-book"):
        book = parse_book(json.loads(export(harbour, form)), "out")
        assert [(entry.name, entry.type, entry.keys, entry.content) for entry in book.entries] == [
            ("Wick", "character", ("Wick", "lamp maker"), "The lamp maker of the harbour.")
        ], form


WORLD_INFO = {
    "entries": {
        "3": {
            "uid": 3, "key": ["mill", "/wat(er)?mill/i"], "keysecondary": ["flour"], "comment": "The mill",
            "selective": True,
            "content": "It stands by the weir.", "order": 90, "position": 4, "depth": 2, "role": 1, "disable": False,
            "delayUntilRecursion": True, "caseSensitive": False, "group": "places", "extensions": {"other": [1, None]},
            "stmemorybooks": True,
        },
        "0": {"uid": 0, "key": ["Edda"], "comment": "", "content": "The miller.", "constant": True, "sticky": 3},
    },
    "name": "valley", "unknown": {"kept": None},
}  # fmt: skip


def test_a_book_goes_out_as_it_came(memory: BlockingMemory) -> None:
    memory.keep_book("valley", WORLD_INFO)
    first = memory.export_book("valley", "world-info")
    assert json.loads(first) == WORLD_INFO
    assert list(json.loads(first)["entries"]) == ["3", "0"]
    memory.keep_book("again", json.loads(first))
    assert memory.export_book("again", "world-info") == first


def test_a_book_in_the_other_form_means_the_same(memory: BlockingMemory) -> None:
    memory.keep_book("valley", WORLD_INFO)
    memory.keep_book("card", json.loads(memory.export_book("valley", "character-book")))
    for field in ("name", "content", "keys", "secondary", "constant", "sticky", "order", "delay_until_recursion"):
        told = [[getattr(entry, field) for entry, _ in memory.book(name)] for name in ("valley", "card")]
        assert told[0] == told[1], field
    memory.keep_book("back", json.loads(memory.export_book("card", "world-info")))
    assert [entry.uid for entry, _ in memory.book("back")] == ["back/3", "back/0"]
    with pytest.raises(BadInput, match="world-info or character-book"):
        memory.export_book("valley", "risu")
    with pytest.raises(BadInput, match="no book named"):
        memory.export_book("hills", "world-info")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


CARD = {
    "spec": "chara_card_v2",
    "data": {"name": "Edda", "extensions": {"fav": True}, "character_book": {"entries": []}},
}


def test_a_book_goes_into_a_card(memory: BlockingMemory, tmp_path: Path) -> None:
    memory.keep_book("valley", WORLD_INFO)
    picture = chunk(b"IHDR", bytes(13)) + chunk(b"IDAT", zlib.compress(b"\0\0"))
    text = b"chara\0" + base64.b64encode(json.dumps(CARD).encode())
    png = b"\x89PNG\r\n\x1a\n" + picture + chunk(b"tEXt", text) + chunk(b"IEND", b"")
    written = memory.export_book("valley", "character-book", card=png)
    assert written.startswith(b"\x89PNG\r\n\x1a\n" + picture)
    body = written[written.index(b"chara\0") + 6 : -16]
    inside = json.loads(base64.b64decode(body))
    assert inside["data"]["extensions"] == {"fav": True}
    assert [entry.name for entry in parse_book(inside).entries] == ["The mill", "Edda"]
    plain = json.loads(memory.export_book("valley", "character-book", card=json.dumps(CARD).encode()))
    assert plain == inside
    for broken in (png[:-20], b"GIF89a", b"[]", json.dumps({"name": "V1"}).encode(), png.replace(b"chara", b"other")):
        with pytest.raises(BadInput):
            memory.export_book("valley", "character-book", card=broken)


@pytest.mark.parametrize("form", ["openai", "anthropic", "claude-code"])
def test_messages_come_back_from_the_formats_of_apis(memory: BlockingMemory, tmp_path: Path, form: str) -> None:
    story = memory.story("talk")
    story.add("system", "You are brief.")
    for text in ("Where is it?", "In the shed.", "Which?"):
        story.add("assistant" if text.startswith("In") else "user", text)
    story.add("user", "A secret.", hidden=True)
    (file,) = story.export(form)
    assert file.left_out == 1
    path = tmp_path / f"talk.{'jsonl' if form == 'claude-code' else 'json'}"
    path.write_bytes(file.content)
    again = bring_in(memory, path, "again")
    assert [item.entry.message.text for item in again.messages()][-3:] == ["Where is it?", "In the shed.", "Which?"]
    assert b"A secret" not in file.content


def test_a_book_for_people(harbour: BlockingStory) -> None:
    harbour.close_chapter(title="The <lamp> & the pier", at=50)
    harbour.fold()
    markdown = export(harbour, "markdown").decode()
    assert markdown.startswith("# harbour\n\n## Chapter 1, The ninth step\n")
    assert "## Chapter 2, The <lamp> & the pier\n" in markdown
    assert "**Ines:** Ines promised Wick a lamp for pier 89." in markdown
    assert "## People\n\n- **Wick**: The lamp maker of the harbour." in markdown
    assert "## Open threads\n\n- Who broke the ninth step?" in markdown
    epub = export(harbour, "epub")
    assert epub == export(harbour, "epub")
    with zipfile.ZipFile(BytesIO(epub)) as archive:
        assert archive.namelist()[0] == "mimetype"
        pages = {name: ElementTree.fromstring(archive.read(name)) for name in archive.namelist()[1:]}
    words = "".join(pages["chapter-2.xhtml"].itertext())
    assert "Ines promised Wick a lamp for pier 50." in words
    assert "pier 51." not in words


def test_a_novel_keeps_its_own_title(memory: BlockingMemory, tmp_path: Path) -> None:
    file = tmp_path / "novel.md"
    file.write_text("# The Salt Road\n\n## One\n\nIt rained.\n\n# Afterword\n\nIt stopped.\n")
    story = memory.story("novel")
    story.take_in(read_story(file))
    assert export(story, "markdown") == file.read_bytes()
    story.close_chapter("Rain", 2)
    assert export(story, "markdown").startswith(b"# The Salt Road\n\n## Chapter 1, Rain\n")


def test_an_empty_story_and_an_unknown_format(memory: BlockingMemory) -> None:
    story = memory.story("empty")
    assert json.loads(export(story, "openai")) == []
    assert export(story, "markdown") == b"# empty\n"
    with pytest.raises(BadInput, match="no format named 'docx'"):
        story.export("docx")


def forge(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the lines of a whole story, and the digest that the first one names with them."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    tables = {table.name.replace(" ", "_"): table for table in (*TABLES, ATTACHED)}
    with Spool(keeping=False) as spool:
        for line in lines[1:]:
            spool.write(tables[line["table"]], [[value for name, value in line.items() if name != "table"]])
        lines[0]["digest"] = spool.digest
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def put(table: str, column: str, value: object) -> Callable[[list[dict[str, Any]]], object]:
    return lambda lines: next(line for line in lines if line.get("table") == table).update({column: value})


def repeat_row(table: str) -> Callable[[list[dict[str, Any]]], object]:
    def change(lines: list[dict[str, Any]]) -> None:
        at = next(number for number, line in enumerate(lines) if line.get("table") == table)
        lines.insert(at, dict(lines[at]))

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (put("branch", "messages", []), r"messages cannot be \[\]"),
        (put("branch", "id", 2**70), "id cannot be 1180591620717411303424"),
        (put("branch", "head", "x"), 'head cannot be "x"'),
        (put("branch", "line", None), "line cannot be null"),
        (put("story", "active", 1.5), r"active cannot be 1\.5"),
        (put("story", "created_at", -5), "created_at cannot be -5"),
        (put("story", "header", "x"), 'header cannot be "x"'),
        (put("story", "settings", "[]"), r'settings cannot be "\[\]"'),
        (put("mark", "seen", "xy"), 'seen cannot be "xy"'),
        (put("mark", "id", -1), "id -1 is out of its order"),
        (put("version", "scope", 99), "scope cannot be 99"),
        (put("entry", "hidden", True), "hidden cannot be true"),
        (put("entry", "text", "a\0b"), "text cannot be"),
        (put("entry", "text", "Other words."), "do not make a story"),
        (put("entry", "role", "x"), "do not make a story"),
        (put("attached_book", "body", "5"), 'body cannot be "5"'),
        (put("recipe", "reader", -5), "reader cannot be -5"),
        (repeat_row("entry"), "out of its order, or there twice"),
        (lambda lines: lines[0]["ids"].update(mark=2**39), "the ids are not as many"),
        (lambda lines: lines[0]["ids"].pop("mark"), "cannot be|the ids are not as many"),
        (lambda lines: lines[0]["ids"].update(nothing=1), "the ids are not as many"),
    ],
)
def test_a_forged_file_is_refused_and_changes_nothing(
    memory: BlockingMemory, harbour: BlockingStory, tmp_path: Path, change: Any, sentence: str
) -> None:
    path = tmp_path / "whole.jsonl"
    memory.write_story_file("harbour", path)
    forge(path, change)
    with BlockingMemory(tmp_path / "other.db") as other:
        with pytest.raises(BadInput, match=sentence):
            other.read_story_file(path)
        assert other.stories() == []
