"""Sessions of opencode in JSON: an exported session, the file of a session, or the whole storage folder.

In the storage folder a session is spread over files: `session/PROJECT/ID.json`, `message/SESSION/ID.json` and
`part/MESSAGE/ID.json`. The sessions of a folder, like those of a database, each become a story of their own, named by
their ids, so that a session added later changes no name. The sub-agents of one session come with it.

What must stay true: a damaged file is skipped and counted; only what holds no message at all is an error.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import kind, parse_json, shown
from previously.formats.logs import as_name
from previously.formats.opencode_messages import NAME, Item, Spoken, source_of
from previously.formats.reading import Document, SideStory, Source, opened, read_value

__all__ = ["NAME", "gathered", "is_ours", "read", "read_folder", "session_of"]


def is_ours(value: object) -> bool:
    """Whether a parsed file is an exported session or the file of one."""
    if not isinstance(value, dict):
        return False
    messages = value.get("messages")
    if isinstance(value.get("info"), dict) and isinstance(messages, list) and messages:
        return all(isinstance(one, dict) and {"info", "parts"} <= one.keys() for one in messages)
    return str(value.get("id")).startswith("ses") and "time" in value


def read(document: Document) -> Source:
    """A file of one session."""
    return read_value(document, session_of)


def session_of(document: Document, value: Any) -> Source:
    """The session of a parsed file."""
    if not isinstance(value, dict):
        raise BadInput(f"the file must hold a session, not {kind(value)}.")
    if isinstance(value.get("messages"), list):
        info = value.get("info")
        spoken = [_exported(one) for one in value["messages"] if isinstance(one, dict)]
        return source_of(info if isinstance(info, dict) else {}, spoken, Counter())
    storage = _storage(document.path)
    if storage is None or not isinstance(value.get("id"), str):
        raise document.fault(BadInput("there are no messages beside this session; import it in its storage folder."))
    source = _session(storage, value)
    children = [one for one in _sessions(storage) if one.get("parentID") == value["id"]]
    others = tuple(
        SideStory(f"agent-{one['id']}", found) for one in children if (found := _session(storage, one)).drafts
    )
    return Source(
        source.drafts, NAME, source.header, source.replaced, source.skipped, source.branches, source.others + others
    )


def read_folder(folder: Path) -> Source:
    """Every session of a storage folder, each a story of its own."""
    name = shown(str(folder))
    storage = next((one for one in (folder, folder / "storage") if (one / "session").is_dir()), None)
    if storage is None:
        raise BadInput(f"{name}: this is a directory, not a file.")
    return gathered(name, [(str(one["id"]), _session(storage, one)) for one in _sessions(storage)])


def gathered(name: str, sessions: list[tuple[str, Source]]) -> Source:
    """Several sessions as one source: no main conversation, each session beside it."""
    others = tuple(SideStory(as_name(session), source) for session, source in sessions if source.drafts)
    if not others:
        raise BadInput(f"{name}: there is no session with messages.")
    return Source([], NAME, {}, 0, {}, (), others)


def _exported(one: Item) -> Spoken:
    info, parts = one.get("info"), one.get("parts")
    told = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return Spoken(info if isinstance(info, dict) else {}, told)


def _storage(path: Path | None) -> Path | None:
    """The folder with `session`, `message` and `part` that the file of a session lies in."""
    return next((one for one in path.parents if (one / "message").is_dir()), None) if path else None


def _sessions(storage: Path) -> list[Item]:
    skipped: Counter[str] = Counter()
    found = [_object(file, skipped) for file in sorted((storage / "session").rglob("*.json"))]
    return [one for one in found if one and isinstance(one.get("id"), str)]


def _session(storage: Path, session: Item) -> Source:
    skipped: Counter[str] = Counter()
    spoken: list[Spoken] = []
    for file in sorted((storage / "message" / _plain(session["id"])).glob("*.json")):
        info = _object(file, skipped)
        if info is not None:
            parts = sorted((storage / "part" / file.stem).glob("*.json"))
            spoken.append(Spoken(info, [part for one in parts if (part := _object(one, skipped))]))
    return source_of(session, spoken, skipped)


def _plain(session: str) -> str:
    """The id as a folder's name: an id never leads out of the storage."""
    return Path(session).name or "unknown"


def _object(file: Path, skipped: Counter[str]) -> Item | None:
    try:
        with opened(file) as document:
            value = parse_json(document.text(), "file")
    except BadInput:
        value = None
    if isinstance(value, dict):
        return value
    skipped["broken file"] += 1
    return None
