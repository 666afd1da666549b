"""Sessions of opencode: an exported session, the file of a session, the whole storage directory, or its database.

In the storage directory a session is spread over files: `session/PROJECT/ID.json`, `message/SESSION/ID.json` and
`part/MESSAGE/ID.json`. In the database the fields of a message and of a part are JSON in the column `data`; it is
opened for reading only, and a table that newer versions keep messages in, and that this reader does not know, is
counted as skipped. The sessions of a directory or a database each become a story of their own, named by their ids, so
that a session added later changes no name. The sub-agents of one session come with it. A damaged file or row is skipped
and counted; only what holds no message at all is an error.

An answer of opencode holds its calls together with their results, and one answer may take several steps. Each step is a
message of the assistant and, if it made calls, a message with their results. A call that is still pending or running
was cut off. Text that opencode wrote by itself (`synthetic`) or does not send (`ignored`) is no part of what was said:
like every part that ours cannot tell, it is kept in `extra["opencode"]`. What was reverted is a branch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import apsw

from previously.core.errors import BadInput
from previously.core.json_values import kind, parse_json, shown
from previously.core.messages import (
    FAILED,
    Attributes,
    Draft,
    Error,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from previously.formats.files import Document, SideStory, StorySource, open_document, read_value
from previously.formats.log_lines import COMPACTION, DraftCleaner, describe_line, find_branches, make_name
from previously.wire.fields import parse_time

NAME = "opencode"

KEY = "opencode"

MAGIC = b"SQLite format 3\x00"
"""The bytes that every SQLite file begins with."""

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpencodeMessage:
    """One message as opencode keeps it."""

    info: Item
    parts: Sequence[Item]


def is_session(value: object) -> bool:
    """Return whether a parsed file is an exported session or the file of one."""
    if not isinstance(value, dict):
        return False
    messages = value.get("messages")
    if isinstance(value.get("info"), dict) and isinstance(messages, list) and messages:
        return all(isinstance(one, dict) and {"info", "parts"} <= one.keys() for one in messages)
    return str(value.get("id")).startswith("ses") and "time" in value


def read(document: Document) -> StorySource:
    return read_value(document, parse_session)


def parse_session(document: Document, value: Any) -> StorySource:
    if not isinstance(value, dict):
        raise BadInput(f"the file must hold a session, not {kind(value)}.")
    if isinstance(value.get("messages"), list):
        info = value.get("info")
        spoken = [_parse_exported(one) for one in value["messages"] if isinstance(one, dict)]
        return build_source(info if isinstance(info, dict) else {}, spoken, Counter())
    storage = _find_storage(document.path)
    if storage is None or not isinstance(value.get("id"), str):
        raise document.fault(BadInput("there are no messages beside this session; import it in its storage folder."))
    source = _read_session(storage, value)
    children = [one for one in _list_sessions(storage) if one.get("parentID") == value["id"]]
    others = tuple(
        SideStory(f"agent-{one['id']}", child) for one in children if (child := _read_session(storage, one)).drafts
    )
    return StorySource(
        source.drafts, NAME, source.header, source.replaced, source.skipped, source.branches, source.others + others
    )


def find_storage_in(directory: Path) -> Path | None:
    """Return the storage directory that this one is or holds; None if it is none."""
    return next((one for one in (directory, directory / "storage") if (one / "session").is_dir()), None)


def read_directory(directory: Path) -> StorySource:
    """Read every session of a storage directory, each a story of its own."""
    name = shown(str(directory))
    storage = find_storage_in(directory)
    if storage is None:
        raise BadInput(f"{name}: this is a directory, not a file.")
    return gather_sessions(name, [(str(one["id"]), _read_session(storage, one)) for one in _list_sessions(storage)])


def gather_sessions(name: str, sessions: list[tuple[str, StorySource]]) -> StorySource:
    """Return several sessions as one source: no main conversation, each session beside it."""
    others = tuple(SideStory(make_name(session), source) for session, source in sessions if source.drafts)
    if not others:
        raise BadInput(f"{name}: there is no session with messages.")
    return StorySource([], NAME, {}, 0, {}, (), others)


def _parse_exported(exported: Item) -> OpencodeMessage:
    info, parts = exported.get("info"), exported.get("parts")
    listed = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return OpencodeMessage(info if isinstance(info, dict) else {}, listed)


def _find_storage(path: Path | None) -> Path | None:
    """Return the directory with `session`, `message` and `part` that the file of a session lies in."""
    return next((one for one in path.parents if (one / "message").is_dir()), None) if path else None


def _list_sessions(storage: Path) -> list[Item]:
    skipped: Counter[str] = Counter()
    sessions = [_read_object(file, skipped) for file in sorted((storage / "session").rglob("*.json"))]
    return [one for one in sessions if one and isinstance(one.get("id"), str)]


def _read_session(storage: Path, session: Item) -> StorySource:
    skipped: Counter[str] = Counter()
    spoken: list[OpencodeMessage] = []
    for file in _list_files(storage / "message" / _directory_name(session["id"])):
        info = _read_object(file, skipped)
        if info is not None:
            parts = _list_files(storage / "part" / file.stem)
            spoken.append(OpencodeMessage(info, [part for one in parts if (part := _read_object(one, skipped))]))
    return build_source(session, spoken, skipped)


def _list_files(directory: Path) -> list[Path]:
    try:
        return sorted(directory.glob("*.json"))
    except (OSError, ValueError):  # an id that cannot be the name of a directory has none
        return []


def _directory_name(session: str) -> str:
    """Return the id as a directory's name: an id never leads out of the storage."""
    return Path(session).name or "unknown"


def _read_object(file: Path, skipped: Counter[str]) -> Item | None:
    try:
        with open_document(file) as document:
            value = parse_json(document.text(), "file")
    except BadInput:
        value = None
    if isinstance(value, dict):
        return value
    skipped["broken file"] += 1
    return None


def build_source(session: Item, spoken: Sequence[OpencodeMessage], skipped: Counter[str]) -> StorySource:
    """Return one session: its messages in order, up to where it was reverted; the rest of them as a branch."""
    kept = DraftCleaner(skipped)
    revert = session.get("revert")
    cut = revert if isinstance(revert, dict) else {}
    whole: list[Draft] = []
    shown: list[Draft] = []
    is_cut = False
    for message in sorted(spoken, key=lambda message: (_find_time(message.info), str(message.info.get("id")))):
        drafts = _clean_drafts(_split_steps(message, skipped), kept)
        whole += drafts
        if not is_cut and cut.get("messageID") and message.info.get("id") == cut["messageID"]:
            is_cut = True
            before = list(takewhile(lambda part: part.get("id") != cut.get("partID"), message.parts))
            if cut.get("partID") and before:
                shown += _clean_drafts(
                    _split_steps(OpencodeMessage(message.info, before), Counter()), DraftCleaner(Counter())
                )
        elif not is_cut:
            shown += drafts
    branches = find_branches(shown, [("reverted", whole)])
    if not shown:  # all was reverted: the conversation is what it was
        shown, branches = whole, ()
    return StorySource(shown, NAME, kept.header(session), kept.replaced, dict(skipped), branches)


def _clean_drafts(drafts: Sequence[Draft], kept: DraftCleaner) -> list[Draft]:
    return [clean for clean in map(kept.draft, drafts) if clean is not None]


def _find_time(info: Item) -> float:
    time = info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    return float(created) if isinstance(created, int | float) and 0 < created < 10**15 else 0.0


def _split_steps(message: OpencodeMessage, skipped: Counter[str]) -> list[Draft]:
    """Return the messages that one of opencode's stands for."""
    role = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}.get(str(message.info.get("role")))
    if role is None:
        skipped[f"message {describe_line(message.info, 'role')}"] += 1
        return []
    steps = [_Step()]
    for part in message.parts:
        if part.get("type") == "step-start" and steps[-1].said:
            steps.append(_Step())
        steps[-1].take(part)
    error = message.info.get("error")
    if isinstance(error, dict):
        steps[-1].said.append(Error(_error_text(error)))
    info = {name: value for name, value in message.info.items() if name not in ("id", "role", "sessionID")}
    mark = _find_compaction(message)
    drafts: list[Draft] = []
    message_id = str(message.info.get("id") or "") or None
    at = parse_time(_find_time(message.info)) if _find_time(message.info) else None
    for number, step in enumerate(steps):
        if not step.said and (step.rest or drafts):
            step.said.append(Text(""))
        if not step.said:
            continue
        place = f"{message_id}/{number}" if number else message_id
        extra: Item = {KEY: ({} if number else info) | ({"parts": step.rest} if step.rest else {})}
        if mark:
            extra[COMPACTION] = mark
        drafts.append(Draft(Message(role, tuple(step.said)), Attributes(at, place, extra)))
        if step.results:
            kept = {KEY: {"states": step.states}}
            drafts.append(Draft(Message(Role.TOOL, tuple(step.results)), Attributes(at, f"{place}/results", kept)))
    return drafts


class _Step:
    """The words of one step, and what its calls gave back."""

    def __init__(self) -> None:
        self.said: list[Part] = []
        self.results: list[Part] = []
        self.states: list[Item] = []
        self.rest: list[Item] = []

    def take(self, part: Item) -> None:
        match part:
            case {"type": "text", "text": str(text)} if not part.get("synthetic") and not part.get("ignored"):
                self.said.append(Text(text))
            case {"type": "reasoning", "text": str(text)}:
                self.said.append(Thinking(text))
                if part.get("metadata"):
                    self.rest.append({name: value for name, value in part.items() if name != "text"})
            case {"type": "file", "mime": str(mime), "url": str(url)} if mime.startswith("image/"):
                self.said.append(Image(url, str(part.get("filename") or "")))
            case {"type": "tool", "tool": str(name), "state": dict(state)}:
                self._call(part, name, state)
            case _:
                self.rest.append(part)

    def _call(self, part: Item, name: str, state: Item) -> None:
        call_id = str(part.get("callID") or part.get("id") or "")
        given = state.get("input", {})
        raw = state.get("raw") if state.get("status") == "pending" and not given else None
        arguments = raw if isinstance(raw, str) else json.dumps(given, ensure_ascii=False)
        self.said.append(ToolCall(call_id, name, arguments))
        if state.get("status") == "completed":
            self.results.append(ToolResult(call_id, str(state.get("output") or "")))
        elif state.get("status") == "error":
            self.results.append(ToolResult(call_id, str(state.get("error") or ""), FAILED))
        else:
            return
        attached = state.get("attachments")
        for file in attached if isinstance(attached, list) else []:
            match file:
                case {"mime": str(mime), "url": str(url)} if mime.startswith("image/"):
                    self.results.append(Image(url, str(file.get("filename") or "")))
        written = ("input", "output", "error", "attachments")
        self.states.append({"id": call_id} | {key: value for key, value in state.items() if key not in written})


def _find_compaction(message: OpencodeMessage) -> str | None:
    if message.info.get("role") == "assistant" and message.info.get("summary") is True:
        return "summary"
    return "request" if any(part.get("type") == "compaction" for part in message.parts) else None


def _error_text(error: Item) -> str:
    data = error.get("data")
    words = data.get("message") if isinstance(data, dict) else None
    return ": ".join(str(word) for word in (error.get("name"), words) if word) or "error"


def read_database(path: Path) -> StorySource:
    """Read every session of a database, each a story of its own."""
    name = shown(str(path))
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.execute("BEGIN")  # all of it as it is at one moment
            return _read_sessions(connection, name)
        finally:
            connection.close()
    except (apsw.Error, UnicodeDecodeError) as error:  # apsw hands out text that is none as the codec's own error
        raise BadInput(f"{name}: the database cannot be read ({shown(str(error))}).") from None


def _read_sessions(connection: apsw.Connection, name: str) -> StorySource:
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not {"session", "message", "part"} <= tables:
        raise BadInput(f"{name}: this is a database of another program, not one of opencode.")
    sessions: list[tuple[str, StorySource]] = []
    for session in _select_rows(connection, "session"):
        session_id = session.get("id")
        if not isinstance(session_id, str):
            continue
        skipped: Counter[str] = Counter()
        parts: dict[Any, list[Item]] = {}
        for row in _select_rows(connection, "part", session_id):
            part = _parse_row(row, skipped)
            if part is not None:
                parts.setdefault(row.get("message_id"), []).append(part)
        spoken = []
        for row in _select_rows(connection, "message", session_id):
            info = _parse_row(row, skipped)
            if info is not None:
                spoken.append(OpencodeMessage(info, parts.get(row.get("id"), [])))
        if "session_message" in tables:
            count = connection.execute("SELECT count(*) FROM session_message WHERE session_id = ?", (session_id,)).get
            if count:
                skipped["session_message"] += int(count)
        sessions.append((session_id, build_source(_parse_session_row(session), spoken, skipped)))
    return gather_sessions(name, sessions)


def _select_rows(connection: apsw.Connection, table: str, session: str | None = None) -> list[Item]:
    order = "ORDER BY time_created, id"
    where, given = ("", ()) if session is None else ("WHERE session_id = ?", (session,))
    rows = connection.execute(f"SELECT * FROM {table} {where} {order}", given)  # the names are ours
    return [dict(zip([column[0] for column in rows.description], row, strict=True)) for row in rows]


def _parse_row(row: Item, skipped: Counter[str]) -> Item | None:
    """Return the JSON of a row, with what the row says outside of it."""
    value = _parse_column(row.get("data"))
    if not isinstance(value, dict):
        skipped["broken row"] += 1
        return None
    created = row.get("time_created")
    given = {"id": row.get("id")} | value
    if "role" in given and not isinstance(given.get("time"), dict) and isinstance(created, int):
        given["time"] = {"created": created}
    return given


def _parse_session_row(row: Item) -> Item:
    """Return the fields of a session that are set, those in JSON parsed."""
    parsed = {name: _parse_column(value) if name in ("revert", "model") else value for name, value in row.items()}
    return {name: value for name, value in parsed.items() if isinstance(value, str | int | float | dict | list)}


def _parse_column(text: object) -> Any:
    try:
        return parse_json(text, "row") if isinstance(text, str) else text
    except BadInput:
        return None
