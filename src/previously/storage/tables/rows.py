"""Rows and values, both ways. Pure: the same for every database that speaks in columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from previously.core.align import KnownEntry
from previously.core.digests import digest, match_key
from previously.core.messages import (
    NO_ATTRIBUTES,
    Attributes,
    Draft,
    Entry,
    Error,
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    list_fields,
)
from previously.core.path import Span
from previously.core.versions import Cost, Kind, NewVersion, Status, Version
from previously.storage.tables.damage import Damaged, mark_decoder

Row = Sequence[Any]

_PARTS: dict[str, type[Part]] = {
    "text": Text,
    "thinking": Thinking,
    "call": ToolCall,
    "result": ToolResult,
    "image": Image,
    "error": Error,
}
_NAMES = {kind: name for name, kind in _PARTS.items()}
_ROLES = {role.value: role for role in Role}


def write_entry(entry: int, owner: str, story: int, draft: Draft, replaces: int | None) -> tuple[Any, ...]:
    """The columns of a new entry."""
    message = draft.message
    text, parts = _write_body(message)
    witnesses = None if message.witnesses is None else _write_json(list(message.witnesses))
    return (
        entry,
        owner,
        story,
        message.role._value_,  # `value` is looked up by a function in Python
        message.speaker,
        text,
        parts,
        witnesses,
        digest(message),
        match_key(message),
        *write_attributes(draft.attributes),
        replaces,
    )


def write_attributes(attributes: Attributes) -> tuple[str | None, str | None, str | None, int]:
    """Return the columns `at`, `source_id`, `extra` and `hidden`."""
    extra = _write_json(dict(attributes.extra)) if attributes.extra else None
    return attributes.at, attributes.source_id, extra, int(attributes.hidden)


def read_attributes(at: str | None, source_id: str | None, extra: str | None, hidden: int) -> Attributes:
    """Return the attributes that those four columns hold."""
    if at is None and source_id is None and extra is None and not hidden:
        return NO_ATTRIBUTES
    return Attributes(at, source_id, json.loads(extra) if extra else {}, bool(hidden))


def read_entry(row: Row) -> Entry:
    """Return the entry of a row as `decode_entry` does; `Damaged` if its words are not those that were kept."""
    entry = decode_entry(row)
    if digest(entry.message) != entry.digest:
        raise Damaged(f"entry {entry.id}", "does not have its digest: its words are not those that were kept")
    return entry


ENTRY_COLUMNS = (
    "id",
    "role",
    "speaker",
    "text",
    "parts",
    "witnesses",
    "digest",
    "at",
    "source_id",
    "extra",
    "hidden",
    "replaces",
)


@mark_decoder("a message")
def decode_entry(row: Row) -> Entry:
    """Return the entry of a row of `ENTRY_COLUMNS`."""
    entry, role, speaker, text, parts, witnesses, entry_digest, *attributes, replaces = row
    message = Message(
        _ROLES[role],
        (Text(text),) if text is not None else tuple(_read_part(item) for item in json.loads(parts)),
        speaker,
        None if witnesses is None else tuple(json.loads(witnesses)),
    )
    return Entry(entry, message, entry_digest, read_attributes(*attributes), replaces)


@mark_decoder("a message")
def read_known(row: Row) -> KnownEntry:
    """id, digest, match_key, role, at, source_id, extra, hidden."""
    entry, entry_digest, key, role, *attributes = row
    return KnownEntry(entry, entry_digest, key, read_attributes(*attributes), _ROLES[role])


def write_version(owner: str, story: int, version: NewVersion, firm: bool) -> tuple[Any, ...]:
    """The columns of a new version, id left out."""
    return (
        owner,
        story,
        version.kind.value,
        version.scope,
        version.span.first,
        version.span.last,
        len(version.span),
        version.key,
        version.before or 0,
        version.replaces or 0,
        version.text,
        version.carry,
        version.status.value,
        version.made_by,
        version.reason,
        version.at,
        version.model,
        version.prompt_hash,
        version.cost.calls,
        version.cost.input_tokens,
        version.cost.output_tokens,
        _write_json(list(version.shed)),
        _write_json(list(version.unverified)),
        version.anchor,
        version.reach,
        _write_json(list(version.commitments)),
        int(firm),
        version.first,
    )


@mark_decoder("a text of the memory")
def read_version(row: Row) -> Version:
    """The version that a row of the `versions` query holds."""
    ident, kind, scope, first, last, key, before, replaces, text, carry, status, made_by, reason, at, *rest = row
    model, prompt_hash, calls, input_tokens, output_tokens, shed, unverified, anchor, reach, commitments, *ending = rest
    firm, first_digest = ending
    return Version(
        ident,
        NewVersion(
            kind=Kind(kind),
            scope=scope,
            span=Span(first, last),
            key=key,
            before=before or None,
            text=text,
            carry=carry,
            status=Status(status),
            made_by=made_by,
            reason=reason,
            at=at,
            model=model,
            prompt_hash=prompt_hash,
            cost=Cost(calls, input_tokens, output_tokens),
            replaces=replaces or None,
            shed=_read_texts(shed),
            unverified=_read_texts(unverified),
            anchor=anchor,
            reach=reach,
            commitments=_read_texts(commitments),
            first=first_digest,
        ),
        bool(firm),
    )


def _write_body(message: Message) -> tuple[str | None, str | None]:
    if len(message.parts) == 1 and isinstance(message.parts[0], Text):
        return message.parts[0].text, None
    items = [{"kind": _NAMES[type(part)], **list_fields(part)} for part in message.parts]
    return None, _write_json(items)


def _read_part(item: dict[str, str]) -> Part:
    return _PARTS[item.pop("kind")](**item)


_write_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _read_texts(listed: str) -> tuple[str, ...]:
    return () if listed == "[]" else tuple(json.loads(listed))
