"""Rollouts of Codex: one object per line, its kind under `type` and the rest under `payload`.

- `response_item` lines are the conversation (see `wire.responses`). `event_msg` lines say the same again and are
  skipped, but for one that takes turns back: those become a branch.
- `compacted` puts a shorter history in place of what was said. All that was said stays, on the main path or on a
  branch; what is new in the shorter history (a summary) is added behind it and marked.
- The rules and the surroundings that Codex writes as a user's message are marked.
- The settings of a turn are kept with its first message, `session_meta` is the header.
- No line, whatever it holds, is an error.
"""

from __future__ import annotations

import importlib
from array import array
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import shown
from previously.core.messages import Attributes, Draft, Message, Role
from previously.formats.files import Document, StorySource
from previously.formats.log_lines import (
    COMPACTION,
    INJECTED,
    DraftCleaner,
    describe_line,
    find_branches,
    read_objects,
)
from previously.wire.responses import parse_item

NAME = "codex"
KEY = "codex"
PACKED = b"\x28\xb5\x2f\xfd"
"""The bytes that a file packed with zstd begins with."""

Item = dict[str, Any]

_INJECTED = {
    "# AGENTS.md instructions": "rules",
    "<user_instructions>": "rules",
    "<INSTRUCTIONS>": "rules",
    "<permissions instructions>": "rules",
    "<skill>": "rules",
    "<environment_context>": "surroundings",
    "<turn_aborted>": "note",
    "<user_shell_command>": "note",
    "<subagent_notification>": "note",
}
_BEGINNINGS = tuple(_INJECTED)


def is_rollout_line(item: Item) -> bool:
    """Return whether the first object of a file is a line of a rollout; older ones begin with the session itself."""
    return ("payload" in item and "type" in item) or {"id", "timestamp", "instructions"} <= item.keys()


MOST_UNPACKED = 100_000_000
"""Bytes of an unpacked rollout, which is held in memory: ten times the longest that are met."""


def unpack(path: Path) -> Document:
    """Open a rollout packed with zstd, where this Python can unpack it."""
    name = shown(str(path))
    try:
        zstd: Any = importlib.import_module("compression.zstd")
    except ImportError:
        raise BadInput(f"{name}: the file is packed with zstd; unpack it first (zstd -d).") from None
    try:
        with zstd.open(path) as packed:
            data = packed.read(MOST_UNPACKED + 1)
    except (OSError, zstd.ZstdError):
        raise BadInput(f"{name}: the file is packed with zstd and cannot be unpacked.") from None
    if len(data) > MOST_UNPACKED:
        raise BadInput(f"{name}: the file is over {MOST_UNPACKED // 1_000_000} MB when it is unpacked.")
    return Document(name, BytesIO(data), path)


_NEWEST = 8
"""Messages among which the summary of a compaction is looked for: the history that came with it, or its end."""


def read(document: Document) -> StorySource:
    rollout = Rollout()
    for number, item in read_objects(document, rollout.skipped):
        rollout.take(number, item)
    if not rollout.drafts and rollout.taken_back:  # all was taken back: the last that was said stands
        rollout.drafts = rollout.taken_back.pop()[1]
    if not rollout.drafts:
        raise document.fault(BadInput("there is no message in the rollout."))
    branches = find_branches(rollout.drafts, rollout.taken_back)
    header = rollout.kept.header(rollout.header)
    return StorySource(rollout.drafts, NAME, header, rollout.kept.replaced, dict(rollout.skipped), branches)


class Rollout:
    """The conversation as far as it has been read."""

    def __init__(self, kept: DraftCleaner | None = None) -> None:
        self.skipped: Counter[str] = kept.skipped if kept else Counter()
        self.kept: DraftCleaner = kept or DraftCleaner(self.skipped)
        self.header: Item = {}
        self.drafts: list[Draft] = []
        self.taken_back: list[tuple[str, list[Draft]]] = []
        self._settings: Item = {}
        self._passed = array("q")
        self._told = 0

    @property
    def has_settings(self) -> bool:
        """True if there are settings of a turn of which nothing has been said yet."""
        return bool(self._settings)

    def take(self, number: int, item: Item) -> None:
        """Take the next object of the file."""
        payload = item.get("payload")
        at = item.get("timestamp") if isinstance(item.get("timestamp"), str) else None
        match item:
            case {"type": "response_item", "payload": dict(said)}:
                self._say(said, at)
            case {"type": "session_meta", "payload": dict(meta)}:
                self.header = self.header or meta
            case {"type": "compacted", "payload": dict(compacted)}:
                self._compact(compacted, at)
            case {"type": "turn_context", "payload": dict(settings)}:
                self._settings = settings
            case {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": int(turns)}}:
                self._take_back(turns, number)
            case {"id": _, "timestamp": _} if "type" not in item and not self.header:
                self.header = item
            case {"type": str()} if payload is None and ("role" in item or "call_id" in item or "summary" in item):
                self._say(item, at)
            case _:
                self.skipped[describe_line(item)] += 1

    def _say(self, said: Item, at: str | None, **marks: object) -> None:
        try:
            draft = parse_item(said)
        except (BadInput, RecursionError):
            self.skipped[describe_line(said)] += 1
            return
        if said.get("type") == "ghost_snapshot":
            self.skipped["ghost_snapshot"] += 1
            return
        injected = find_injected_kind(draft)
        if injected:
            marks[INJECTED] = injected
        if self._settings:
            marks[KEY] = {"turn_context": self._settings}
        known = draft.attributes
        attributes = Attributes(at, known.source_id, {**known.extra, **marks} if marks else known.extra, known.hidden)
        clean = self.kept.draft(Draft(draft.message, attributes, draft.alternatives))
        if clean is not None:
            self._settings = {}
            self.drafts.append(clean)

    def _compact(self, compacted: Item, at: str | None) -> None:
        before = len(self.drafts)
        history = compacted.get("replacement_history")
        for item in history if isinstance(history, list) else []:
            if isinstance(item, dict):
                self._say(item, at, **{COMPACTION: "summary"})
        new = self.drafts[before:]
        del self.drafts[before:]
        said = self._find_said({draft.message for draft in new}) if new else set()
        self.drafts += [draft for draft in new if draft.message not in said]
        summary = compacted.get("message")
        newest = self.drafts[-_NEWEST:]
        is_there = isinstance(summary, str) and any(draft.message.text.endswith(summary) for draft in newest)
        if isinstance(summary, str) and summary.strip() and not is_there:
            self._say({"role": "user", "content": summary}, at, **{COMPACTION: "summary"})

    def _find_said(self, messages: set[Message]) -> set[Message]:
        """Return those of some messages that were said."""
        hashes = {hash(message): message for message in messages}
        earlier = {hashes[hashed] for hashed in self._passed if hashed in hashes}
        return earlier | messages.intersection(draft.message for draft in self.drafts)

    def pass_on(self) -> list[Draft]:
        """Return the drafts since the last time. Of those before the newest few only a hash is kept, by which a
        compaction knows what was said."""
        new = self.drafts[self._told :]
        if len(self.drafts) > _NEWEST:
            self._passed.extend(hash(draft.message) for draft in self.drafts[:-_NEWEST])
            del self.drafts[:-_NEWEST]
        self._told = len(self.drafts)
        return new

    def _take_back(self, turns: int, number: int) -> None:
        """Leave the newest turns, each from a person's message on; they stay as a branch."""
        asked = [at for at, draft in enumerate(self.drafts) if is_asked(draft)]
        if turns > 0 and asked:
            self.taken_back.append((name_rewind(number), list(self.drafts)))
            del self.drafts[asked[-min(turns, len(asked))] :]


def is_asked(draft: Draft) -> bool:
    """Return whether a turn begins with it: a person's message."""
    return draft.message.role is Role.USER and not {INJECTED, COMPACTION} & draft.attributes.extra.keys()


def name_rewind(number: int) -> str:
    """Return the name of the branch of what was taken back by a line."""
    return f"rewind line {number}"


def find_injected_kind(draft: Draft) -> str | None:
    """Return what a user's message is that Codex wrote by itself; None for a person's."""
    if draft.message.role is not Role.USER:
        return None
    text = draft.message.text.lstrip()
    if not text.startswith(_BEGINNINGS):
        return None
    return next((kind for begin, kind in _INJECTED.items() if text.startswith(begin)), None)
