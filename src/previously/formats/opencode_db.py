"""Sessions of opencode in its database, opened for reading only.

Tables: `session`, `message` and `part`; the fields of a message and of a part are JSON in the column `data`. A table
that newer versions keep messages in, and that this reader does not know, is counted as skipped.

What must stay true: the database is never written to, and no content of it is an error but one that holds no message.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import apsw

from previously.core.errors import BadInput
from previously.core.json_values import parse_json, shown
from previously.formats.opencode import gathered
from previously.formats.opencode_messages import Item, Spoken, source_of
from previously.formats.reading import Source

MAGIC = b"SQLite format 3\x00"
"""The bytes that every SQLite file begins with."""


def read_database(path: Path) -> Source:
    """Every session of a database, each a story of its own."""
    name = shown(str(path))
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.execute("BEGIN")  # all of it as it is at one moment
            return _read(connection, name)
        finally:
            connection.close()
    except apsw.Error as error:
        raise BadInput(f"{name}: the database cannot be read ({shown(str(error))}).") from None


def _read(connection: apsw.Connection, name: str) -> Source:
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not {"session", "message", "part"} <= tables:
        raise BadInput(f"{name}: this is a database of another program, not one of opencode.")
    sessions: list[tuple[str, Source]] = []
    for session in _rows(connection, "session"):
        session_id = session.get("id")
        if not isinstance(session_id, str):
            continue
        skipped: Counter[str] = Counter()
        parts: dict[Any, list[Item]] = {}
        for row in _rows(connection, "part", session_id):
            part = _data(row, skipped)
            if part is not None:
                parts.setdefault(row.get("message_id"), []).append(part)
        spoken = []
        for row in _rows(connection, "message", session_id):
            info = _data(row, skipped)
            if info is not None:
                spoken.append(Spoken(info, parts.get(row.get("id"), [])))
        if "session_message" in tables:
            count = connection.execute("SELECT count(*) FROM session_message WHERE session_id = ?", (session_id,)).get
            if count:
                skipped["session_message"] += int(count)
        sessions.append((session_id, source_of(_session(session), spoken, skipped)))
    return gathered(name, sessions)


def _rows(connection: apsw.Connection, table: str, session: str | None = None) -> list[Item]:
    order = "ORDER BY time_created, id"
    where, given = ("", ()) if session is None else ("WHERE session_id = ?", (session,))
    rows = connection.execute(f"SELECT * FROM {table} {where} {order}", given)  # the names are ours
    return [dict(zip([column[0] for column in rows.description], row, strict=True)) for row in rows]


def _data(row: Item, skipped: Counter[str]) -> Item | None:
    """The JSON of a row, with what the row says outside of it."""
    value = _parsed(row.get("data"))
    if not isinstance(value, dict):
        skipped["broken row"] += 1
        return None
    created = row.get("time_created")
    given = {"id": row.get("id")} | value
    if "role" in given and not isinstance(given.get("time"), dict) and isinstance(created, int):
        given["time"] = {"created": created}
    return given


def _session(row: Item) -> Item:
    """The fields of a session that are set, those in JSON read."""
    told = {name: _parsed(value) if name in ("revert", "model") else value for name, value in row.items()}
    return {name: value for name, value in told.items() if isinstance(value, str | int | float | dict | list)}


def _parsed(text: object) -> Any:
    try:
        return parse_json(text, "row") if isinstance(text, str) else text
    except BadInput:
        return None
