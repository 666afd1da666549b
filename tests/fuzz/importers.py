"""Targets that are files: every format of stories, books, scene memories, conversations, prompts and settings."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from functools import cache, partial
from io import BytesIO, StringIO
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

from previously.blocking import BlockingMemory
from previously.cli.import_files import _take_in
from previously.core.errors import BadInput
from previously.core.json_values import clean, parse_json
from previously.core.messages import Draft, clean_draft
from previously.folds.scene import render_scene
from previously.folds.scene_checks import validate_scene
from previously.formats import StorySource, read_story, to_anthropic, to_claude_code, to_openai, to_responses
from previously.formats.conversations import read_conversation
from previously.formats.files import open_document
from previously.formats.png_texts import PNG, write_chunk
from previously.formats.scene_memories import migrate
from previously.lore.books import parse_book
from previously.runtime.prompts import load_prompt
from previously.server.pending_turns import PendingTurns
from previously.settings import resolve
from previously.settings_file import find_effective
from previously.story.intake import list_stories
from tests.fuzz.mutations import Sample
from tests.fuzz.samples import (
    ANTHROPIC,
    BOOKS,
    CARDS,
    CLAUDE_CODE,
    CODEX,
    ERRATA,
    EXPORTS,
    JSONL,
    LORE_FILES,
    MARKDOWN,
    OPENAI,
    OPENCODE,
    PAGES,
    PROMPTS,
    QVINK,
    RESPONSES,
    SCENES,
    SETTINGS,
    SILLYTAVERN,
    SWE_AGENT,
    TEXTS,
    WAITING,
    WORD,
)
from tests.fuzz.target import FuzzInput, Target, check

FILES = {
    "jsonl": (JSONL, ".jsonl"),
    "openai": (OPENAI, ".json"),
    "anthropic": (ANTHROPIC, ".json"),
    "responses": (RESPONSES, ".json"),
    "claude-code": (CLAUDE_CODE, ".jsonl"),
    "codex": (CODEX, ".jsonl"),
    "opencode": (OPENCODE, ".json"),
    "swe-agent": (SWE_AGENT, ".traj"),
    "text": (TEXTS, ".txt"),
    "sillytavern": (SILLYTAVERN, ".jsonl"),
    "card": (CARDS, ".json"),
    "book": (LORE_FILES, ".json"),
    "chatgpt": (EXPORTS, ".json"),
    "claude": (EXPORTS, ".json"),
    "markdown": (MARKDOWN, ".md"),
}
"""Every format of stories, with samples of it and how its files are called."""


def list_importers() -> list[Target]:
    """Return a target for each kind of file that is read."""
    everything = [sample for name, (samples, _) in FILES.items() for sample in samples if name != "book"]
    return [
        *(
            Target(f"file: {name}", partial(_read_file, name, suffix), all_of)
            for name, (all_of, suffix) in FILES.items()
        ),
        Target("file: card in a picture", _read_picture, CARDS),
        Target("file: memories of qvink", partial(_read_file, "sillytavern", ".jsonl"), QVINK),
        Target("file: scene memories", partial(_read_file, "scene-memory", ".json"), SCENES),
        Target("file: memories into a store", _import_memories, [*QVINK, *SCENES, *LORE_FILES]),
        Target("file: errata", _read_errata, ERRATA),
        Target("file: docx", _read_word, WORD),
        Target("file: epub", _read_epub, PAGES),
        Target("file: exported archive", _read_export, EXPORTS),
        Target(
            "file: broken archive", _read_broken_archive, [Sample.of(_make_archive({"card.json": CARDS[0].content}))]
        ),
        Target("file: broken picture", _read_broken_picture, [Sample.of(_make_picture(CARDS[0].content, 0))]),
        Target("file: opencode database", _read_database, [Sample.of(_make_database())]),
        Target("file: opencode directory", _read_directory, OPENCODE),
        Target("file: conversation", _read_conversation, everything),
        Target("file: import into a store", _import_file, everything),
        Target("file: kept book", _keep_book, BOOKS),
        Target("file: scene memory", _read_scene, SCENES),
        Target("file: settings", _read_settings, SETTINGS),
        Target("file: prompt", _read_prompt, PROMPTS),
        Target("file: waiting turns", _read_waiting, WAITING),
    ]


def _read_file(name: str, suffix: str, given: FuzzInput) -> None:
    """Read a file as the format it is, or by what it looks like; what was read can be stored and written."""
    path = given.write(f"input{suffix}")
    source = read_story(path, name if given.chance.random() < 0.5 else None)
    _check_source(source, given.chance)


def _check_source(source: StorySource, chance: Random) -> None:
    json.dumps(source.header, allow_nan=False, ensure_ascii=False).encode()
    for drafts in (source.drafts, *(branch.drafts for branch in source.branches)):
        _check_drafts(drafts, chance)
    for book in source.books:
        parse_book(book.given, "book")
        json.dumps(book.given, allow_nan=False, ensure_ascii=False).encode()
    for memory in source.memories:
        check(clean(memory.text)[1] == 0 and clean(memory.title)[1] == 0, "a memory is not clean")
    for branch in source.branches:
        check(branch.at <= len(source.drafts), "a branch begins behind the end")
    for other in source.others:
        check(other.name.isprintable() and len(other.name) <= 100, f"another story is called {other.name[:99]!r}")
        _check_source(other.source, chance)


def _check_drafts(drafts: Sequence[Draft], chance: Random) -> None:
    """Check that drafts can be stored, and written in one of the ways there are."""
    for draft in drafts:
        check(clean_draft(draft) == (draft, 0), "a draft is not clean")
        json.dumps(draft.attributes.extra, allow_nan=False, ensure_ascii=False).encode()
    messages, attributes = [draft.message for draft in drafts], [draft.attributes for draft in drafts]
    writers: tuple[Callable[[], Any], ...] = (
        lambda: [to_openai(message) for message in messages],
        lambda: to_anthropic(messages, attributes),
        lambda: to_responses(messages, attributes),
        lambda: to_claude_code(messages, attributes, session_id="s", at="2026-01-01T00:00:00Z"),
    )
    json.dumps(chance.choice(writers)(), ensure_ascii=False).encode()


def _make_picture(card: bytes, kind: int) -> bytes:
    """Return a picture that holds a card in one of the four ways."""
    text = base64.b64encode(card)
    chunk = (
        (b"tEXt", b"chara\0" + text),
        (b"zTXt", b"ccv3\0\0" + zlib.compress(text)),
        (b"iTXt", b"chara\0\0\0\0\0" + text),
        (b"iTXt", b"ccv3\0\1\0en\0x\0" + zlib.compress(text)),
    )[kind]
    return PNG + b"".join(write_chunk(*one) for one in ((b"IHDR", bytes(13)), chunk, (b"IEND", b"")))


def _read_picture(given: FuzzInput) -> None:
    """Read a sound picture with a card that is none."""
    path = given.folder / "input.png"
    path.write_bytes(_make_picture(given.content, given.chance.randrange(4)))
    _check_source(read_story(path), given.chance)


ERRATA_FILES = ("meta.json", "branches.json", *(f"branches/main/{name}.json" for name in (
    "prose-chain", "librarian/analyses/la-1", "librarian/state", "fragments/mk-0001", "fragments/pr-0001",
    "fragments/pr-0002", "fragments/pr-0003", "fragments/ch-0001", "fragments/sm-0001",
)))  # fmt: skip


def _read_errata(given: FuzzInput) -> None:
    """Read a folder whose files are anything, each a line of the input."""
    folder = given.folder / "story"
    if not folder.is_dir():
        for its_name in ERRATA_FILES:
            (folder / its_name).parent.mkdir(parents=True, exist_ok=True)
    for name, line in zip_longest(ERRATA_FILES, given.content.split(b"\n")[: len(ERRATA_FILES)], fillvalue=b"{}"):
        (folder / str(name)).write_bytes(bytes(line))
    _check_source(read_story(folder), given.chance)


def _import_memories(given: FuzzInput) -> None:
    """Bring memories into a story: what has no place is left out, and the second time nothing changes."""
    source = read_story(given.write("input.json"))
    memory, name = _stories().open()
    story = memory.story(name)
    first = story.take_in(source)
    again = story.take_in(source)
    check(not again.memories.added and not again.memories.updated, "the second import changed memory")
    check(not again.changes.added and not again.changes.removed, "the second import changed messages")
    check(first.memories.found >= len(first.memories.left), "more was left out than was there")
    story.view(2_000)


def _make_archive(files: Mapping[str, bytes]) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return target.getvalue()


def _read_packed(given: FuzzInput, files: Mapping[str, bytes]) -> None:
    path = given.folder / "input.zip"
    path.write_bytes(_make_archive(files))
    _check_source(read_story(path), given.chance)


def _read_word(given: FuzzInput) -> None:
    """Read a Word file with anything as its text or its styles."""
    text, styles = given.content, WORD[0].content
    if given.chance.random() < 0.2:
        text, styles = styles, text
    _read_packed(given, {"word/document.xml": text, "word/styles.xml": styles})


def _read_epub(given: FuzzInput) -> None:
    """Read an EPUB file with anything as a page, as its listing, or as the place where that is named."""
    files = {"page.xhtml": PAGES[0], "p.opf": PAGES[1], "META-INF/container.xml": PAGES[2], "toc.ncx": PAGES[0]}
    contents = {name: sample.content for name, sample in files.items()}
    _read_packed(given, contents | {given.chance.choice([*files]): given.content})


def _read_export(given: FuzzInput) -> None:
    _read_packed(given, {"conversations.json": given.content, "chat.html": b"x"})


def _read_broken_archive(given: FuzzInput) -> None:
    _check_source(read_story(given.write("input.zip")), given.chance)


def _read_broken_picture(given: FuzzInput) -> None:
    _check_source(read_story(given.write("input.png")), given.chance)


def _make_database() -> bytes:
    """Return a small database as opencode keeps one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        with sqlite3.connect(path) as rows:
            rows.executescript(
                "PRAGMA page_size = 512; CREATE TABLE session (id, title, revert, time_created);"
                "CREATE TABLE message (id, session_id, time_created, data);"
                "CREATE TABLE part (id, message_id, session_id, time_created, data);"
            )
            rows.execute("INSERT INTO session VALUES ('ses_1', 'A fix', NULL, 1)")
            said = {"role": "user", "time": {"created": 1}}, {"role": "assistant", "cost": 0.5}
            parts = {"type": "text", "text": "Hi."}, {"type": "tool", "tool": "sh", "callID": "c", "state": {}}
            for number in range(2):
                message = (f"msg_{number}", "ses_1", number, json.dumps(said[number]))
                rows.execute("INSERT INTO message VALUES (?, ?, ?, ?)", message)
                part = (f"prt_{number}", f"msg_{number}", "ses_1", number, json.dumps(parts[number]))
                rows.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", part)
        rows.close()
        return path.read_bytes()


def _read_database(given: FuzzInput) -> None:
    path = given.write("opencode.db")
    source = read_story(path)
    check(path.read_bytes() == given.content, "a database that is only read was changed")
    _check_source(source, given.chance)


def _read_directory(given: FuzzInput) -> None:
    """Read a storage directory whose session is anything: its id leads nowhere else."""
    storage = given.folder / "storage"
    if not storage.is_dir():
        for name in ("session/p", "message/ses_1", "part/msg_1"):
            (storage / name).mkdir(parents=True)
        (storage / "message/ses_1/msg_1.json").write_text('{"id": "msg_1", "role": "user", "time": {"created": 1}}')
        (storage / "part/msg_1/prt_1.json").write_text('{"id": "prt_1", "type": "text", "text": "Hi."}')
    fields = given.text
    if fields.startswith('{"info": ') and given.chance.random() < 0.8:  # the session alone, as it lies in a file
        fields = fields.removeprefix('{"info": ').partition(', "messages"')[0]
    where = given.chance.choice(("session/p/ses_1.json", "message/ses_1/msg_1.json", "part/msg_1/prt_1.json"))
    path = storage / where
    before = path.read_bytes() if path.is_file() else b""
    path.write_text(fields, "utf-8", errors="replace")
    (storage / "session/p/ses_1.json").touch()
    try:
        _check_source(
            read_story(storage if given.chance.random() < 0.7 else storage / "session/p/ses_1.json"), given.chance
        )
    finally:
        path.write_bytes(before)


def _read_conversation(given: FuzzInput) -> None:
    conversation = read_conversation(given.write("input.json"))
    conversation.beside.encode("utf-8", "surrogatepass")
    check(len(conversation.items) in (0, len(conversation.drafts)), "an item is no message")


class _Stories:
    """A store in memory, made anew before it is full."""

    MOST = 200
    """Stories, which cost time when they are many."""

    def __init__(self) -> None:
        self._memory: BlockingMemory | None = None
        self._count = 0

    def open(self) -> tuple[BlockingMemory, str]:
        """Return the store and the name of a story that is new."""
        self._count += 1
        if self._memory is None or self._count > self.MOST:
            if self._memory is not None:
                self._memory.close()
            self._memory, self._count = BlockingMemory(":memory:"), 1
        return self._memory, f"s{self._count}"


@cache
def _stories() -> _Stories:
    return _Stories()


def _import_file(given: FuzzInput) -> None:
    """Import a file as the command does: all of it is in the store afterwards, or nothing is."""
    source = read_story(given.write("input.json"))
    memory, name = _stories().open()
    stories = list(list_stories(name, name, source))
    try:
        with redirect_stderr(StringIO()):  # the command tells what it skipped
            for its_name, its_source in stories:
                _take_in(memory, its_name, its_source, is_new=True)
    except BadInput:
        check(name not in [info.name for info in memory.stories()], "an import that was refused left a story behind")
        raise
    for its_name, its_source in stories:
        path = [item.entry.message for item in memory.story(its_name).messages()]
        check(path == [draft.message for draft in its_source.drafts], "the store holds another path than the file")


def _keep_book(given: FuzzInput) -> None:
    """Keep a book as the command does, and search a text for its keys."""
    with open_document(given.write("book.json")) as document:
        try:
            value = parse_json(document.text(), "file")
        except BadInput as error:
            raise document.fault(error) from None
    memory, _ = _stories().open()
    book = memory.keep_book("Book", value)
    kept = memory.book("Book")
    check(len(kept) == len(book.entries), "the store holds another book than the file")
    for _, problems in kept:
        for problem in problems:
            check(len(problem) < 3_000, "a problem without end")


def _read_scene(given: FuzzInput) -> None:
    try:
        value = parse_json(given.text, "file")
    except BadInput:
        value = given.text
    validation = validate_scene(value)
    check(all(len(str(fault)) < 2_000 for fault in validation.faults), "a fault without end")
    render_scene(migrate(value)).encode()


def _read_settings(given: FuzzInput) -> None:
    given.write("previously.toml")
    environment, layers = find_effective({"PREVIOUSLY_CONFIG": str(given.folder / "previously.toml")}, given.folder)
    check(all(isinstance(value, str) for value in environment.values()), "a variable that is no text")
    resolve(layers)


def _read_prompt(given: FuzzInput) -> None:
    given.write("combine.md")
    load_prompt("combine", given.folder)


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


def _read_waiting(given: FuzzInput) -> str | None:
    """Take over what a server that died has left; what cannot be read is put aside, and nothing is lost silently."""
    folder = given.folder / "waiting"
    folder.mkdir(exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    given.write("waiting/1-00.jsonl")

    async def take_over() -> int:
        pending = PendingTurns(folder, 10_000_000)
        await pending.take_over()
        turns = [await pending.read(key) for key in pending.list_keys()]
        await pending.close()
        return sum(turn is not None for turn in turns)

    read = _runner().run(take_over())
    return None if read else "No turn could be read."
