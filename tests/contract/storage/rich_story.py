"""A story with a row of every kind on a file and on a server, and ways to reach its rows behind the store's back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from previously import Memory, Settings
from previously.core.digests import span_key
from previously.core.path import Span
from previously.core.versions import Kind, NewVersion, Status
from previously.storage.sqlite.page_checksums import connect
from previously.storage.store import StoryKey
from tests.contract.storage.postgres_server import Server, database
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore

OWNER = "local"
NEVER = "9999"
"""A time after all others."""

RULES = Settings(
    window_tokens=256,
    tail_messages=3,
    fold_messages=6,
    fold_words=120,
    fold_tokens=160,
    recap_words=40,
    chapter_messages=15,
    chapter_words=15,
    backbone_words=40,
)

TEXTS = ("Maya promised to pay {} crowns.", "Joaquin hid key {} in the mill.", "Where is Odalys on day {}?")


async def write_stories(place: str) -> None:
    """Two stories: chapters, a backbone, texts by hand, branches, edits, swipes, things undone and made anew."""
    memory = await Memory.open(place, settings=RULES)
    story = await memory.story("tale")
    for number in range(50):
        await story.add("user" if number % 2 else "assistant", TEXTS[number % 3].format(number), name="Maya")
    await story.fold()
    await story.write("chapter:1", "By hand: the first chapter.")
    await story.pin("Never forget the bell.")
    await story.fold()
    await story.branch("aside", 33)
    await story.switch("aside")
    await story.edit(20, "Joaquin had no key at all.")
    await story.fold()
    await story.add("user", "What now?", idempotency_key="once")
    await story.regenerate("And now?")
    await story.delete(25)
    await story.fold()
    await story.write("recap", "By hand: what matters.")
    await story.undo()
    await story.switch("main")
    await story.edit(45, "Nobody is on the road.")
    await story.hide(3)
    await story.lock("backbone")
    await story.unlock("backbone")
    await story.rebuild()
    await story.take_back()
    await story.merge_lore(*[(await story.write_lore(name, content=name)).name for name in ("Bell", "Chime")])
    await story.open_thread("Who rang the bell?", owner="Maya")
    await story.branch("short", 4)
    store = VerbStore(memory.store.database)
    await store.loosen(story._access.key, [version.id for version in (await story.log())[-1:]])
    await _write_notes(store, story._access.key)
    await store.take_lease(story._access.key, "fold", "somebody", now="1", until=f"{NEVER}-12")
    await store.keep_answer(story._access.key, bytes(32), "So it was.", model="m", at="now")
    other = await memory.story("another")
    for number in range(20):
        await other.add("user", TEXTS[0].format(number))
    await other.fold()
    await memory.close()


async def _write_notes(store: VerbStore, key: StoryKey) -> None:
    """What knows no marks: notes of spans, one made again, chains of their own; and two books, attached."""
    made: dict[str, Any] = {"before": None, "text": "{}", "carry": "", "status": Status.COMMITTED, "made_by": "model"}
    for kind, scope, span in (
        (Kind.SCENE, "*", Span(3, 9)),
        (Kind.ANALYSIS, "*", Span(3, 9)),
        (Kind.ANALYSIS, "*", Span(10, 19)),
        (Kind.CAST, "@Maya", Span(0, 11)),
        (Kind.STATE, "@", Span(0, 29)),
    ):
        read = await store.path(key, "main", span.first, span.last)
        digests = [item.entry.digest for item in read]
        first = digests[0] if scope == "*" else b""
        new = NewVersion(
            kind=kind, scope=scope, span=span, key=span_key(digests), reason="due", at="now", anchor=read[-1].node,
            reach=len(read), first=first, **made,
        )  # fmt: skip
        version = await store.commit(key, new)
        if kind is Kind.SCENE:
            await store.commit(key, replace(new, replaces=version.id))
    for name in ("places", "people"):
        await store.keep_book(key.owner, name, '{"entries":[]}', at="now")
        await store.attach_book(key, name)


class OnFile:
    """The stories in a SQLite file, anew for each use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        asyncio.run(write_stories(str(folder / "whole.db")))

    @contextmanager
    def anew(self) -> Iterator[tuple[VerbStore, Any]]:
        """A store, and a way to carry out a statement on its tables."""
        path = str(shutil.copy(self._folder / "whole.db", self._folder / "used.db"))
        store, connection = SqliteVerbs(path), connect(path)
        try:
            yield store, lambda statement: list(connection.execute(statement))
        finally:
            connection.close()
            asyncio.run(store.close())


class OnServer:
    """The stories in a PostgreSQL database: what a use has changed is put back afterwards."""

    def __init__(self, server: Server) -> None:
        self._url = server.fresh()
        self._name = database(self._url)
        asyncio.run(write_stories(self._url))
        self._store = PostgresVerbs(self._url, connections=2)
        self._connection = psycopg.connect(self._url, autocommit=True, options="-c search_path=previously")
        columns = self.asked(
            "SELECT table_name, string_agg(column_name, ', ') FROM information_schema.columns "
            "WHERE table_schema = 'previously' AND is_generated = 'NEVER' AND table_name <> 'migration' GROUP BY 1"
        )
        self._saved = {name: (named, self._copied(name, named)) for name, named in columns}

    def asked(self, statement: str) -> list[Any]:
        """Carry out a statement as superuser."""
        cursor = self._connection.execute(statement.encode(), prepare=False)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def anew(self) -> Iterator[tuple[VerbStore, Any]]:
        """A store, and a way to carry out a statement on its tables."""
        yield self._store, self.asked
        for name, (columns, rows) in self._saved.items():
            if self._copied(name, columns) != rows:
                self.asked(f"DELETE FROM {name}")
                with self._connection.cursor().copy(f"COPY {name} ({columns}) FROM STDIN".encode()) as copy:
                    copy.write(rows)

    def close(self, server: Server) -> None:
        self._connection.close()
        asyncio.run(self._store.close())
        server.drop(self._url)

    def _copied(self, name: str, columns: str) -> bytes:
        asked = f"COPY (SELECT {columns} FROM {name} ORDER BY 1, 2, 3) TO STDOUT"
        with self._connection.cursor().copy(asked.encode()) as copy:
            return b"".join(bytes(block) for block in copy)


Place = OnFile | OnServer
