"""Copy a story whole from one database to another, and prove that the copy is the same.

Ids mean nothing outside their database, but their order means order in time. So a story is compared in a *canonical
form*: every id is replaced by its rank among all ids of its table that occur in the story, counted from 1; 0 and NULL
stay. Ids that are only referred to count too: the origin of a copied mark may be gone while memory made under its scope
is still there. The **digest** of a story is the hash of all its rows in that form. It is the same on every store and
after every copy, whatever ids and name the story gets there.

A copy goes through a spool file of canonical rows. One snapshot is read into the spool, and one transaction writes from
it, so that neither side waits for the other and the writing can be repeated. Before the transaction is kept, the digest
is computed again from the stored rows; if it differs, the transaction is undone. Memory is flat: some bytes per message
for the ids, and a chunk of rows.

The books that a story has attached come along (see `tables.books`), by their content: their names are no part of the
digest, since they belong to the owner and one may be taken in the target database.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby, islice, repeat
from operator import itemgetter, lt
from typing import Any, TypeVar

from previously.core.errors import StoreProblem
from previously.storage.layout import ATTACHED, LISTED, TABLES, WITH_IDS, Column, Table
from previously.storage.spool import Spool
from previously.storage.tables.books import BookTable
from previously.storage.tables.records import StoryKey
from previously.storage.tables.rows import ENTRY_COLUMNS, read_entry
from previously.storage.tables.session import LOWEST, Row, Session

CHUNK_ROWS = 500
CHUNK_BYTES = 2_000_000
"""A chunk is at least one row, at most 500 rows and 2 MB of text: large enough that the questions cost little, small
enough that both sides of a copy stay within some megabytes of memory."""

LONGEST_ID = 18
"""The digits that always fit into 64 bits: a longer number is no id of a database."""

Step = Callable[[int], None]
"""Told now and then how many more messages are done. What it raises ends the copying."""

Ids = dict[str, Sequence[int]]
"""By table, the ids that occur in a story: each once, in order."""


def read_story(session: Session, key: StoryKey, spool: Spool, step: Step) -> Ids:
    """All of a story into the spool; the ids that occur in it. Called inside a snapshot or transaction."""
    session.one("plan_for_copying", {})
    try:
        ids = _read_own_ids(session, key)
        while unknown := _fill_spool(session, key, ids, spool, step):
            for table, values in unknown.items():
                ids[table] = array("q", merge(ids[table], sorted(values)))
    except UnicodeDecodeError as error:
        raise StoreProblem("The story is damaged: a text in it is none.") from error
    spool.counts = {table: len(known) for table, known in ids.items()}
    return ids


def write_story(session: Session, key: StoryKey, name: str, spool: Spool, step: Step) -> None:
    """A new story of that key and name from the spool. Called inside a transaction that is undone if this raises."""
    ids: Ids = {table: session.reserve(table, count) for table, count in spool.counts.items()}
    _use_up_ids(session, key, ids["mark"])
    # The budget of views and what was reported of them are no part of a story: to look at one changes nothing.
    given = {
        "owner": key.owner,
        "story": key.story,
        "id": key.story,
        "name": name,
        "budget_tokens": None,
        "usage": None,
    }
    for table, rows in spool.read():
        if table is ATTACHED:
            BookTable(session).take_in(key, rows)
            continue
        columns = [
            _restore_ids(column, values, ids) for column, values in zip(table.columns, _transpose(rows), strict=True)
        ]
        place = [repeat(given[of], len(rows)) for of in table.given]
        aside = _restore_line_ids(table, columns)
        session.many(f"copy_into_{table.name}", _transpose([*place, *columns]))
        for line in aside:
            session.run("set_line_aside", {"line": line, **key.values})
        step(len(rows) if table.name == "entry" else 0)
    with Spool(keeping=False) as stored:
        read_story(session, key, stored, step)
    if stored.digest != spool.digest:
        raise StoreProblem(f"The copy of {name!r} does not have the digest of what was read; it was undone.")


def _restore_line_ids(table: Table, columns: list[Iterable[Any]]) -> list[int]:
    """Give lines that are being taken away the ids they had before, so that nobody else is given those; which they
    are."""
    if table.name != "line":
        return []
    signed = list(columns[0])
    columns[0] = map(abs, signed)
    return [-ident for ident in signed if ident < 0]


def _read_own_ids(session: Session, key: StoryKey) -> Ids:
    """The ids of the story's rows."""
    found = {name: array("q") for name in WITH_IDS}
    for name in LISTED:
        for rows in _read_onward(session, f"ids_of_{name}", key.values, (LOWEST,)):
            found[name].extend(abs(ident) for (ident,) in rows)  # one below 0 is of a line that is being taken away
    for rows in _read_onward(session, "ids_of_node", key.values, (LOWEST, LOWEST)):
        found["node"].extend(node for node, _, _ in rows)
        found["entry"].extend(entry for _, _, entry in rows)
    return {name: _sort_ids(ids) for name, ids in found.items()}


def _sort_ids(ids: array[int]) -> array[int]:
    if all(map(lt, ids, islice(ids, 1, None))):
        return ids  # as they nearly always are: sorting a million takes memory
    return array("q", map(itemgetter(0), groupby(sorted(ids))))


def _fill_spool(session: Session, key: StoryKey, ids: Ids, spool: Spool, step: Step) -> Mapping[str, set[int]]:
    """Write all rows to the spool, unless there are ids that are not known so far: then these, by table."""
    unknown: defaultdict[str, set[int]] = defaultdict(set)
    spool.begin()
    for table in TABLES:
        for rows in _read_chunks(session, key, table, ids):
            if table.name == "entry":
                _check_words(table, rows)
            columns = zip(table.columns, _transpose(rows), strict=False)  # a row may end with the key it was found by
            spool.write(table, list(_transpose([_make_canonical(*column, ids, unknown) for column in columns])))
            step(len(rows) if table.name == "entry" else 0)
        if any(unknown.values()):
            break
    for rows in BookTable(session).whole(key):
        spool.write(ATTACHED, rows)
        step(0)
    return {name: values for name, values in unknown.items() if values}


def _check_words(table: Table, rows: Sequence[Row]) -> None:
    """Refuse entries whose words are not those that were kept: a copy would pass them on."""
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in ENTRY_COLUMNS]
    for row in rows:
        read_entry([row[place] for place in places])


def _read_chunks(session: Session, key: StoryKey, table: Table, ids: Ids) -> Iterator[list[Row]]:
    """All rows of a table, in an order that is the same everywhere if the table has one."""
    query, whose = f"copy_{table.name}", key.values
    if table.name == "story":
        yield session.rows(query, whose)
    elif table.found_by == "id":
        for group in _group_ids(session, key, table, ids[table.name]):
            aside = [-ident for ident in group] if table.name == "line" else []
            yield session.rows(query, {**whose, "ids": json.dumps(group + aside)})
    elif table.found_by == "story":
        yield from _read_onward(session, query, whose, ("",))
    else:
        for line in ids["line"]:
            yield from _read_onward(session, query, {"line": line, "owner": key.owner}, (LOWEST,) * len(table.key))


def _read_onward(session: Session, query: str, values: Mapping[str, Any], start: Row) -> Iterator[list[Row]]:
    """All rows of a query that goes on from a place. A row ends with its place, and the last one is found again."""
    place, again = start, 0
    while True:
        asked = {f"from_{number}": value for number, value in enumerate(place)}
        rows = session.rows(query, {**values, **asked, "most": CHUNK_ROWS + again})
        if rows[again:]:
            yield rows[again:]
        if len(rows) < CHUNK_ROWS + again:
            return
        place, again = rows[-1][-len(start) :], 1


def _group_ids(session: Session, key: StoryKey, table: Table, ids: Sequence[int]) -> Iterator[list[int]]:
    """The ids in groups whose rows are a chunk."""
    for start in range(0, len(ids), CHUNK_ROWS):
        group, size = list(ids[start : start + CHUNK_ROWS]), 0
        if any(column.is_long for column in table.columns):
            asked, group = group, []
            sizes: dict[int, int] = dict(
                session.rows(f"sizes_of_{table.name}", {**key.values, "ids": json.dumps(asked)})
            )
            for ident in asked:
                size += sizes.get(ident, 0)
                if group and size > CHUNK_BYTES:
                    yield group
                    group, size = [], sizes.get(ident, 0)
                group.append(ident)
        yield group


def _make_canonical(column: Column, values: Iterable[Any], ids: Ids, unknown: Mapping[str, set[int]]) -> Iterable[Any]:
    if column.is_bytes:
        return [value.hex() for value in values]
    if not column.ids_of:
        return values
    known, new = ids[column.ids_of], unknown[column.ids_of]
    if not column.is_scope:
        return [_find_rank(value, known, new) for value in values]
    return [_find_rank(int(value), known, new) if _is_id(value) else value for value in values]


def _find_rank(value: int | None, known: Sequence[int], unknown: set[int]) -> int | None:
    if not value:
        return value  # refers to nothing
    ident = abs(value)
    place = bisect_left(known, ident)
    if place == len(known) or known[place] != ident:
        unknown.add(ident)
    return place + 1 if value > 0 else -(place + 1)


def _restore_ids(column: Column, values: Iterable[Any], ids: Ids) -> Iterable[Any]:
    """Undo `_make_canonical`, with the ids of this database."""
    if column.is_bytes:
        return map(bytes.fromhex, values)
    if not column.ids_of:
        return values
    given = ids[column.ids_of]
    if column.is_scope:
        return [value if isinstance(value, str) else str(given[value - 1] if value else 0) for value in values]
    return [value and (given[value - 1] if value > 0 else -given[-value - 1]) for value in values]


def _is_id(scope: str) -> bool:
    """Return whether a scope is named after a mark."""
    return scope.isascii() and scope.isdecimal() and len(scope) <= LONGEST_ID and str(int(scope)) == scope


def _use_up_ids(session: Session, key: StoryKey, ids: Sequence[int]) -> None:
    """See to it that no mark made later is given one of these ids, though some are only referred to: scopes are named
    after them. Where ids are counted from the newest row there ever was, there has to be a row."""
    if not ids:
        return
    texts = dict.fromkeys(("kind", "text", "made_by", "at"), "")
    row = {**key.values, "id": ids[-1], "branch": -ids[-1], "seen": b"", **texts}
    table = next(table for table in TABLES if table.name == "mark")
    session.many("copy_into_mark", [[row.get(name, 0) for name in table.names]])
    session.run("delete_mark", {"mark": row["id"], "branch": row["branch"], "owner": key.owner})


def _transpose(rows: Iterable[Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    """Columns of rows, or rows of columns."""
    return zip(*rows, strict=True)


T = TypeVar("T")

THIS_FILE = ""
"""The path under which a backup notes what it holds itself."""
