"""Named queries: SQL lives in `.sql` files, each statement under a line `-- name: what_it_does`.

What both databases understand stands once, in `shared.sql`; a folder per backend holds the rest under the same names,
so that a store's Python reads the same whatever is below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from previously.core.patterns import lazy_pattern
from previously.storage.layout import write_copy_queries

_NAMED = lazy_pattern(r"(?<![:\w]):([a-z_]+)\b")
_NAME = lazy_pattern(r"^-- name: (\w+)\s*$", re.MULTILINE)


def parse_queries(text: str) -> dict[str, str]:
    """The statements of a file by name. A name given twice or without a statement is a fault of the file."""
    pieces = _NAME.split(text)
    queries: dict[str, str] = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        statement = body.strip()
        if name in queries or not statement:
            raise ValueError(f"query {name!r} stands twice or has no statement")
        queries[name] = statement
    return queries


def load_queries(backend: str) -> dict[str, str]:
    """Return the named queries of a backend: its own stand in for shared ones of the same name."""
    folder = files("previously.storage") / "sql"
    shared, own = (
        parse_queries(file.read_text("utf-8")) for file in (folder / "shared.sql", folder / backend / "queries.sql")
    )
    queries = shared | own
    return {name: _adapt_for_psycopg(query) for name, query in queries.items()} if backend == "postgres" else queries


def _adapt_for_psycopg(query: str) -> str:
    """Return a query with its placeholders as psycopg wants them; `::` is a cast."""
    return _NAMED.sub(r"%(\1)s", query).replace("?", "%s")


@cache  # each connection needs them
def load_all_queries(backend: str) -> Mapping[str, str]:
    """The named queries of a backend, and those for copying whole stories, which are made of `storage.layout`."""
    return {**load_queries(backend), **write_copy_queries(backend)}


@cache
def load_migrations(backend: str) -> tuple[tuple[str, str], ...]:
    """`(name, statements)` of a backend's migrations, in the order they are applied."""
    folder = files("previously.storage") / "sql" / backend / "migrations"
    migrations = sorted((item.name, item.read_text("utf-8")) for item in folder.iterdir() if item.name.endswith(".sql"))
    numbers = [name.split("_")[0] for name, _ in migrations]
    if len(set(numbers)) != len(numbers):
        raise ValueError("two migrations share a number")
    return tuple((name.removesuffix(".sql"), text) for name, text in migrations)
