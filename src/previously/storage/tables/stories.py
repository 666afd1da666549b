"""The story and branch tables, and the tables beside them: moves, leases, header, settings, budget.

Also finds the stories of an owner in which certain messages occur, so that a client's story can be recognised. Called
inside a transaction or snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from previously.core.digests import ROOT_HASH
from previously.core.errors import BadInput, StoryGone, UnknownBranch
from previously.storage.tables.records import MAIN, NO_NODE, BranchInfo, Move, StoryInfo, StoryKey, StoryStamp
from previously.storage.tables.session import Row, Session


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A branch as the table holds it."""

    id: int
    name: str
    head: int
    messages: int
    line: int

    @property
    def info(self) -> BranchInfo:
        """Return the branch as callers of the store see it."""
        return BranchInfo(self.name, self.head, self.messages)


class StoryTable:
    """Finds stories and branches by name."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self, owner: str) -> list[StoryInfo]:
        """The owner's stories by name."""
        return [_read_story(owner, row) for row in self._session.rows("stories", {"owner": owner})]

    def named(self, owner: str, name: str) -> StoryInfo | None:
        """The owner's story of that name."""
        row = self._session.one("story_named", {"owner": owner, "name": name})
        return _read_story(owner, row) if row else None

    def known_by(self, owner: str, field: str, value: str) -> StoryInfo | None:
        """The owner's first story whose header has that value in that field."""
        part = json.dumps({field: value})[1:-1]  # as a header is written: the database need not parse any
        for name, header in self._session.rows("stories_known_by", {"owner": owner, "part": part}):
            parsed = json.loads(header)
            if isinstance(parsed, dict) and parsed.get(field) == value:
                return self.named(owner, name)
        return None

    def create(self, owner: str, name: str, at: str) -> StoryInfo:
        """A new story with an empty branch, or the one that exists."""
        if self.named(owner, name) is None:
            values: dict[str, Any] = {"owner": owner, "name": name, "at": at}
            story = self._session.run("insert_story", values)
            values |= {"story": story, "name": MAIN, "head": NO_NODE, "messages": 0}
            line = self._session.run(
                "insert_line", {**values, "parent": None, "fork": 0, "published": 1, "begun_at": None}
            )
            branch = self._session.run("insert_branch", {**values, "line": line})
            self._session.run("set_active", {**values, "branch": branch})
        existing = self.named(owner, name)
        assert existing is not None
        return existing

    def holding(self, owner: str, match_keys: Collection[bytes]) -> list[Holding]:
        """The owner's stories in which messages with these keys occur."""
        values = {"owner": owner, "keys": json.dumps([key.hex() for key in match_keys]), "most": MOST_HOLDINGS}
        holders: dict[tuple[StoryKey, str], set[bytes]] = {}
        for story, name, held in self._session.rows("stories_holding", values):
            holders.setdefault((StoryKey(owner, story), name), set()).add(bytes(held))
        return rank_holdings(holders)

    def branches(self, key: StoryKey) -> list[BranchInfo]:
        """Every branch, the oldest first."""
        return [BranchInfo(*row) for row in self._session.rows("branches", key.values)]

    def branch(self, key: StoryKey, name: str | None) -> BranchRow:
        """The branch of that name, or the active one; `UnknownBranch` if there is none."""
        if name is None:
            row = self._session.one("active_branch", key.values)
        else:
            row = self._session.one("branch_named", {**key.values, "name": name})
        if row is None:
            expect_story(self._session, key)
            raise UnknownBranch(name or "", tuple(branch.name for branch in self.branches(key)))
        return BranchRow(*row)

    def switch(self, key: StoryKey, name: str) -> BranchInfo:
        """Make a branch the active one."""
        branch = self.branch(key, name)
        self._session.run("set_active", {**key.values, "branch": branch.id})
        return branch.info

    def rename(self, key: StoryKey, name: str) -> None:
        """Give a story another name, which no other story of its owner has."""
        if self.named(key.owner, name) is not None:
            raise BadInput(f"There is a story named {name!r} already.")
        expect_story(self._session, key)
        self._session.run("rename_story", {**key.values, "name": name})

    def rename_branch(self, key: StoryKey, name: str, new: str) -> BranchInfo:
        """Give a branch another name, which no other branch of its story has."""
        branch = self.branch(key, name)
        if self._session.one("branch_named", {**key.values, "name": new}) is not None:
            raise BadInput(f"There is a branch named {new!r} already.")
        self._session.run("rename_branch", {"branch": branch.id, "name": new, "owner": key.owner})
        return BranchInfo(new, branch.head, branch.messages)

    def move_between(self, key: StoryKey, branch: BranchRow, old: bytes, new: bytes) -> Move | None:
        """The newest move of a branch's head from a node with one hash to one with the other; the root's stands for
        none. Other branches may have made the same move with messages of their own."""
        values = {**key.values, "branch": branch.id, "old": old, "new": new, "root": ROOT_HASH}
        row = self._session.one("move_between", values)
        return Move(*row) if row else None

    def moves(self, key: StoryKey) -> list[Move]:
        """Every move of a head, the oldest first."""
        return [Move(*row) for row in self._session.rows("moves", key.values)]

    def last_changes(self, owner: str) -> dict[int, str]:
        """Return the time at which a head last moved, by story."""
        rows = self._session.rows("last_changes", {"owner": owner})
        return {story: at for story, at in rows if at is not None}

    def stamps(self, owner: str) -> list[StoryStamp]:
        """Return the stamp of each of the owner's stories, by name."""
        return [StoryStamp(*row) for row in self._session.rows("story_stamps", {"owner": owner})]

    def stamp(self, key: StoryKey) -> StoryStamp:
        """Return the stamp of a story."""
        row = self._session.one("story_stamp", key.values)
        if row is None:
            raise StoryGone
        return StoryStamp(*row)

    def has_receipt(self, key: StoryKey, receipt: str) -> bool:
        """Return whether a change with this receipt was made."""
        return self._session.one("receipt", {**key.values, "key": receipt}) is not None

    def take_lease(self, key: StoryKey, work: str, holder: str, now: str, until: str) -> bool:
        """Take a lease unless another holder has it; return whether the holder has it now."""
        expect_story(self._session, key)
        values = {**key.values, "work": work, "holder": holder, "now": now, "until": until}
        self._session.run("take_lease", values)
        return self._session.one("lease", values) == (holder, until)

    def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        """Give a lease back, if it is held."""
        self._session.run("give_lease", {**key.values, "work": work, "holder": holder})

    def kept(self, key: StoryKey, what: str) -> str:
        """The `header`, the `settings` or the `usage`, as JSON."""
        row = self._session.one(what, key.values)
        return str(row[0]) if row else "{}"

    def keep(self, key: StoryKey, what: str, value: str | int) -> None:
        """Keep the `header`, the `settings`, the `usage` or the `budget_tokens`."""
        self._session.run(f"set_{what}", {**key.values, what: value})

    def change_kept(self, key: StoryKey, what: str, change: Callable[[str], str]) -> str:
        """Keep what a change makes of the `header`, the `settings` or the `usage`, and return it."""
        expect_story(self._session, key)
        changed = change(self.kept(key, what))
        self.keep(key, what, changed)
        return changed


def expect_story(session: Session, key: StoryKey) -> None:
    """Raise `StoryGone` unless the owner has such a story: nothing may be kept under the number of another's."""
    if session.one("settings", key.values) is None:
        raise StoryGone


def _read_story(owner: str, row: Row) -> StoryInfo:
    story, name, budget_tokens, branch, head, messages, branches = row
    return StoryInfo(StoryKey(owner, story), name, BranchInfo(branch, head, messages), branches, budget_tokens)


@dataclass(frozen=True, slots=True)
class StoryRow:
    """A story as the table holds it; also one whose active branch is missing."""

    id: int
    name: str
    active: int
    header: str
    settings: str


def read_story_rows(session: Session, owner: str) -> list[StoryRow]:
    """Every story of an owner."""
    return [StoryRow(*row) for row in session.rows("check_stories", {"owner": owner})]


MOST_HOLDINGS = 2_000
"""The most pairs of a story and a message that are looked at: a message that occurs in so many stories recognises
none."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A story in which some of the messages occur."""

    key: StoryKey
    name: str
    match_keys: frozenset[bytes]
    """Of those that were asked for."""


def rank_holdings(found: dict[tuple[StoryKey, str], set[bytes]]) -> list[Holding]:
    """Stories with what they hold, in the order of `holding`."""
    holdings = [Holding(key, name, frozenset(keys)) for (key, name), keys in found.items()]
    return sorted(holdings, key=lambda one: (-len(one.match_keys), -one.key.story))
