"""Turns as a whole: a record of how things stand after each, and taking them back with all the memory they made.

The record of a turn lies beside its last message and so follows the path; what a person says in its place is a mark of
the branch. A turn is finished when its last message has a record. Taking turns back is one change: their messages leave
the path, their marks go, and so does memory that was made since and would still stand on what is left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json
from previously.core.marks import MarkKind
from previously.core.messages import Draft, clean_draft
from previously.core.path import Put, Splice
from previously.core.snapshot import Snapshot
from previously.core.versions import Status
from previously.memory.notes import find_notes
from previously.runtime.clock import time_at
from previously.runtime.story_moment import StoryMoment
from previously.storage.store import BranchInfo
from previously.storage.tables import Tables
from previously.story.access import StoryAccess, StoryChange

RECORD = "turn_record"
"""The name of a turn's record among the extras of its last message."""

GAME = "game"
"""Who closed a chapter, where a game's rule did."""

TURN_TAKEN_BACK = "the turn after which it was made was taken back"


class Turns:
    """The turns of one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def newest_version(self) -> int:
        """Return the id of the newest version of any memory; 0 where there is none. `rewind` takes it."""
        key = self._access.key
        return await self._access.store.read(key.owner, lambda tables: tables.versions.newest_id(key))

    async def turn_record(self) -> dict[str, Any] | None:
        """Return the record of the newest turn, or what a person said in its place; None where the last message has
        none, and so no turn is finished."""
        return await self._access.read(lambda moment: _read_record(moment.snapshot))

    async def finish_turn(
        self, record: Mapping[str, Any], *, closes: str | None = None, opening: Draft | None = None
    ) -> BranchInfo:
        """Keep the record of the newest turn with its last message. With `closes`, the chapter ends there under that
        title; `opening` begins the next one, and takes the record with it. All of it or nothing."""
        return await self._finish(record, closes, opening)

    async def overrule_turn(
        self, record: Mapping[str, Any], *, closes: str | None = None, opening: Draft | None = None
    ) -> BranchInfo:
        """Put a person's record in place of that of the newest turn; `undo` takes it back."""
        return await self._finish(record, closes, opening, by_person=True)

    async def replace_end(self, first: int, drafts: Sequence[Draft]) -> BranchInfo:
        """Put these messages in place of all from position `first` on."""
        branch = await self._access.read_branch()
        pieces = tuple(Put(clean_draft(draft)[0]) for draft in drafts)
        script = [Splice(first, branch.messages - first, pieces)]
        return await self._access.store.apply(
            self._access.key, branch.name, script, at=time_at(), expected_head=branch.head
        )

    async def rewind(self, messages: int, *, after: int) -> BranchInfo:
        """Take back all but so many messages, and with them every memory that was made after the version `after`.
        Memory that another branch stands on stays."""
        key, store = self._access.key, self._access.store
        branch, marks = await self._access.read(lambda moment: _find_gone(moment, messages))
        if messages == branch.messages:
            return branch

        def take_back(tables: Tables) -> None:
            row = tables.branch(key, branch.name)
            for mark in marks:
                tables.marks.take_back(key, row, mark)
            for version in _find_since(tables, self._access, branch.name, after):
                tables.versions.set_status(key, version, Status.UNDONE, TURN_TAKEN_BACK)

        script = [Splice(messages, branch.messages - messages, ())]
        return await store.apply(key, branch.name, script, at=time_at(), expected_head=branch.head, also=take_back)

    async def _finish(
        self, record: Mapping[str, Any], closes: str | None, opening: Draft | None, *, by_person: bool = False
    ) -> BranchInfo:
        kept = json.loads(json.dumps(clean_json(dict(record))[0]))
        key, branch = self._access.key, await self._access.read_branch()
        if not branch.messages:
            raise BadInput("This story has no turn yet.")

        def write(tables: Tables) -> None:
            change = StoryChange(tables, key, self._access.rules, tables.snapshot(key, branch.name))
            last = branch.messages - 1
            if by_person and opening is None:
                change.add_mark(MarkKind.TURN, last, json.dumps(kept, ensure_ascii=False))
            elif opening is None:
                _keep_record(change, last, kept)
            if closes is not None:
                change.add_mark(MarkKind.CHAPTER, last, closes, made_by=GAME)

        script = []
        if opening is not None:
            draft = clean_draft(opening)[0]
            extra = {**draft.attributes.extra, RECORD: kept}
            attributes = replace(draft.attributes, extra=extra)
            script = [Splice(branch.messages, 0, (Put(replace(draft, attributes=attributes)),))]
        return await self._access.store.apply(
            key, branch.name, script, at=time_at(), expected_head=branch.head, also=write
        )


def _keep_record(change: StoryChange, position: int, record: Mapping[str, Any]) -> None:
    entry = change.snapshot.path(position, position)[0].entry
    attributes = replace(entry.attributes, extra={**entry.attributes.extra, RECORD: record})
    change.tables.writer.set_attributes(change.key, [(entry.id, attributes)])


def _read_record(snapshot: Snapshot) -> dict[str, Any] | None:
    if not snapshot.messages:
        return None
    last = snapshot.messages - 1
    by_person = [mark for mark in snapshot.marks({MarkKind.TURN}, since=last) if mark.position == last]
    if by_person:
        return dict(json.loads(max(by_person, key=lambda mark: mark.id).text))
    record = snapshot.path(last, last)[0].entry.attributes.extra.get(RECORD)
    return dict(record) if isinstance(record, dict) else None


def _find_gone(moment: StoryMoment, messages: int) -> tuple[BranchInfo, list[int]]:
    """Return the branch, and the marks that stand at messages behind so many: the newest first, so that what one
    retired is there again when its turn comes."""
    snapshot = moment.snapshot
    if not 0 <= messages <= snapshot.messages:
        raise BadInput(f"There are {snapshot.messages} messages, so {messages} of them cannot stay.")
    marks = [mark.id for mark in snapshot.marks(since=messages)]
    return BranchInfo(snapshot.branch, snapshot.head, snapshot.messages), sorted(marks, reverse=True)


def _find_since(tables: Tables, access: StoryAccess, branch: str, after: int) -> list[int]:
    """Return the versions made after one that are in force on a branch and on no other, the newest first."""
    own = _list_in_force(tables.snapshot(access.key, branch), after)
    for other in tables.stories.branches(access.key):
        if own and other.name != branch:
            own -= _list_in_force(tables.snapshot(access.key, other.name), after)
    return sorted(own, reverse=True)


def _list_in_force(snapshot: Snapshot, after: int) -> set[int]:
    covered = {version for _, _, version in snapshot.cover()}
    noted = {note.version.id for note in find_notes(snapshot)}
    return {version for version in covered | noted if version > after}
