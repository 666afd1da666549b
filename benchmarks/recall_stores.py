"""What recall costs on a store: catching up, a question in a warm process, the size of the index.

`python -m benchmarks.recall_stores [--json] [--sizes 10000,100000] [--stores sqlite,postgres]`

CPU time is that of this process: on PostgreSQL the server's comes on top, so the clock is given too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw
import psycopg

from benchmarks.recall_speed import QUESTIONS, SIZES
from previously.core.messages import Draft, message
from previously.demo.long_story import generate_story
from previously.models.word_vectors import load_word_table
from previously.recall.search import SearchResult, find
from previously.storage.postgres import PostgresStore
from previously.storage.sqlite import SqliteStore
from previously.storage.store import Store, StoryKey
from previously.storage.tables import Tables

INDEX_TABLES = "name LIKE 'recall%' OR name LIKE 'sqlite_autoindex_recall%' OR name = 'entry_by_story'"
ON_SERVER = "relkind = 'r' AND relname LIKE 'recall%' OR relname = 'entry_by_story'"


async def measure(store: Store, size: int) -> dict[str, float]:
    """The figures of a generated story of so many messages."""
    table = load_word_table()
    key = (await store.create_story("me", "tale", at="")).key
    drafts = [Draft(message("user", str(one["content"]), speaker=str(one["name"]))) for one in generate_story(size)]
    await store.append(key, None, drafts, at="")
    began, clock = time.process_time(), time.perf_counter()
    while await store.index(key, table):
        pass
    indexing, waited = time.process_time() - began, time.perf_counter() - clock
    began = time.process_time()
    await _ask(store, key, QUESTIONS[0])
    first = time.process_time() - began
    times, clocks = [], []
    for question in QUESTIONS * 6:
        began, clock = time.process_time(), time.perf_counter()
        await _ask(store, key, question)
        times.append(time.process_time() - began)
        clocks.append(time.perf_counter() - clock)
    catching_up = []
    for number in range(50):
        await store.append(key, None, [Draft(message("user", f"Orsa carried lantern {number} to the weir."))], at="")
        began = time.process_time()
        await store.index(key, table)
        catching_up.append(time.process_time() - began)
    return {
        "index_ms": round(1000 * indexing / size, 3),
        "index_clock_ms": round(1000 * waited / size, 3),
        "first_query_ms": round(1000 * first, 1),
        "query_ms": round(1000 * statistics.median(times[len(QUESTIONS) :]), 2),
        "query_clock_ms": round(1000 * statistics.median(clocks[len(QUESTIONS) :]), 2),
        "one_message_ms": round(1000 * statistics.median(catching_up), 2),
    }


async def _ask(store: Store, key: StoryKey, question: str) -> SearchResult:
    def read(tables: Tables) -> SearchResult:
        return find(*tables.recall(key, "main"), question, load_word_table())

    return await store.read(key.owner, read)


async def on_sqlite(path: Path, size: int) -> dict[str, float]:
    """The figures of a file."""
    store = SqliteStore(str(path))
    figures = await measure(store, size)
    await store.close()
    connection = apsw.Connection(str(path))
    ((total,),) = connection.execute(f"SELECT sum(pgsize) FROM dbstat WHERE {INDEX_TABLES}")
    connection.close()
    return figures | {"bytes": round(total / size)}


async def on_postgres(url: str, size: int) -> dict[str, float]:
    """The figures of a server."""
    store = PostgresStore(url)
    figures = await measure(store, size)
    await store.close()
    with psycopg.connect(url) as connection:
        query = f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE {ON_SERVER}"
        row = connection.execute(query.encode()).fetchone()
    return figures | {"bytes": round(int(row[0]) / size) if row else 0}


def run(sizes: list[int], stores: list[str]) -> dict[str, Any]:
    """All figures."""
    found: dict[str, Any] = {store: {} for store in stores}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for size in sizes:
            if "sqlite" in stores:
                found["sqlite"][size] = asyncio.run(on_sqlite(folder / f"{size}.db", size))
                print(f"sqlite, {size:,}: {found['sqlite'][size]}", file=sys.stderr, flush=True)
        if "postgres" in stores:
            from tests.contract.storage.postgres_server import running_server

            server = stack.enter_context(running_server())
            for size in sizes:
                found["postgres"][size] = asyncio.run(on_postgres(server.fresh(), size))
                print(f"postgres, {size:,}: {found['postgres'][size]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What does recall cost on a store?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="story lengths")
    parser.add_argument("--stores", default="sqlite,postgres", help="which stores")
    given = parser.parse_args()
    found = run([int(size) for size in given.sizes.split(",")], given.stores.split(","))
    if given.json:
        print(json.dumps({"benchmark": "recall_stores", **found}))


if __name__ == "__main__":
    main()
