"""Destroy messages that a person wants forgotten. Called inside a transaction that may destroy.

Rows that others refer to stay, without content, so that paths, positions and ids of all else keep their meaning. All
that is derived from content is derived anew: an entry's digest is that of its emptiness, and the nodes from it on are
hashed again. Afterwards `verify` finds nothing, and no byte of the forgotten messages is in any table.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from previously.core.continuation import LINK, parse_continuation
from previously.core.digests import ROOT_HASH, digest, match_key, node_hash
from previously.core.fact_book import parse_shared, render_shared
from previously.core.messages import Message, Role, Text
from previously.core.versions import Status
from previously.storage.tables.books import BookTable
from previously.storage.tables.cover import CoverTable
from previously.storage.tables.damage import expect_row, mark_decoder
from previously.storage.tables.index_state import forget_entries
from previously.storage.tables.paths import Lines
from previously.storage.tables.records import Forgotten, StoryKey, Traces
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow

TABLES_OF_A_STORY = tuple(
    "cover path line node entry version mark move receipt lease recipe epoch answer recall_state recall_posting "
    "recall_fact recall_vector recall_speaker story_book branch".split()
)


def make_empty(role: Role) -> Message:
    """Return the remainder of a forgotten message."""
    return Message(role, (Text(""),))


class MessageEraser:
    """Finds and destroys entries, with the memory that was made of them."""

    def __init__(self, session: Session, lines: Lines, cover: CoverTable) -> None:
        self._session = session
        self._books = BookTable(session)
        self._lines = lines
        self._cover = cover

    def standing_at(self, key: StoryKey, branch: BranchRow, first: int, last: int) -> set[int]:
        """The entries at these positions, their other wordings, and what else stood there and stands nowhere now."""
        entries: set[int] = set()
        for depth in range(max(first, 0), min(last, branch.messages - 1) + 1):
            node, _, parent = self._lines.node_at(key, branch.line, depth)
            (standing,) = expect_row(self._session.one("node_entry", {"node": node, **key.values}), f"node {node}")
            entries.add(standing)
            siblings = self._session.rows("node_siblings", {"parent": parent, **key.values})
            entries |= {row[3] for row in siblings if row[3] not in entries and not self._is_standing(key, row[3])}
        wordings: dict[int, set[int]] = {}
        for entry, replaces in self._session.rows("rewordings", key.values):
            wordings.setdefault(entry, set()).add(replaces)
            wordings.setdefault(replaces, set()).add(entry)
        to_follow = list(entries)
        while to_follow:
            fresh = wordings.get(to_follow.pop(), set()) - entries
            entries |= fresh
            to_follow += fresh
        return entries

    def traces(self, key: StoryKey, entries: Collection[int]) -> Traces:
        """By what these entries are known in a copy of the story."""
        found: dict[bytes, set[bytes]] = {}
        for _, _, _, entry_digest, entry, hashed in self._read_nodes_from(key, entries):
            if entry in entries:
                found.setdefault(entry_digest, set()).add(hashed)
        return found

    def entries_like(self, key: StoryKey, traces: Traces) -> tuple[set[int], bool]:
        """The entries that leave these traces, and whether that is certain."""
        found, certain = set[int](), True
        for said, hashes in traces.items():
            saying = {row[0] for row in self._session.rows("entries_saying", {"digest": said, **key.values})}
            there = self._find_entries_with(key, hashes) & saying
            certain = certain and bool(there or len(saying) <= 1)
            found |= there or (saying if len(saying) == 1 else set())
        return found, certain

    def _find_entries_with(self, key: StoryKey, hashes: Collection[bytes]) -> set[int]:
        asked = {"hashes": json.dumps([one.hex() for one in hashes]), **key.values}
        return {entry for (entry,) in self._session.rows("nodes_with_hash", asked)}

    def entries(self, key: StoryKey, entries: Collection[int]) -> Forgotten:
        """Destroy what these say, and the memory made where they could be read. The same messages in the same place
        that an interrupted import left are destroyed with them."""
        hashes = frozenset(row[5] for row in self._read_nodes_from(key, entries) if row[4] in entries)
        own = self._find_entries_with(key, hashes)
        reached = self._read_nodes_from(key, own)
        empty = {entry: digest(self._empty(key, entry)) for entry in own}
        keys = {entry: match_key(self._empty(key, entry)) for entry in own}
        self._session.many("forget_entry", ((empty[entry], keys[entry], entry, key.owner) for entry in sorted(own)))
        fresh: dict[int, bytes] = {}
        for node, parent, parent_hash, entry_digest, entry, _ in reached:
            before: bytes = fresh.get(parent, parent_hash or ROOT_HASH)
            fresh[node] = node_hash(before, empty.get(entry, b"") or entry_digest)
        self._session.many("set_node_hash", ((new, node, key.owner) for node, new in fresh.items()))
        made = [
            (version, status)
            for version, anchor, status in self._session.rows("version_anchors", key.values)
            if anchor in fresh or not anchor  # where it was made is not known of the oldest
        ]
        versions = [version for version, status in made if status != Status.BY_HAND]
        by_hand = [version for version, status in made if status == Status.BY_HAND]
        self._cover.out_of_force(key, versions)
        self._session.many("forget_version", ((version, key.owner) for version in versions))
        self._session.many("forget_key", ((version, key.owner) for version in by_hand))
        forget_entries(self._session, key, own)
        for table in ("recipe", "epoch", "answer"):  # these may hold it, word for word or retold
            self._session.run(f"delete_story_{table}", key.values)
        self._forget_elsewhere(key)
        return Forgotten(len(own), len(versions))

    def _read_nodes_from(self, key: StoryKey, entries: Collection[int]) -> list[Row]:
        """The nodes of entries and all nodes behind them: node, parent, the parent's hash, digest, entry, hash."""
        return self._session.rows("nodes_from", {"entries": json.dumps(sorted(entries)), **key.values})

    def story(self, key: StoryKey) -> None:
        """Destroy all rows of a story, and what views of other stories hold of it."""
        self._forget_elsewhere(key)
        for table in TABLES_OF_A_STORY:
            self._session.run(f"delete_story_{table}", key.values)
        self._session.run("delete_story", key.values)

    def continuing(self, key: StoryKey) -> set[int]:
        """The stories that continue a story, and those that continue these."""
        links = {story: link.link for story, text in self._session.rows("continuations", key.values)
                 if (link := parse_continuation(text))}  # fmt: skip
        found, to_follow = set[int](), [key.story]
        while to_follow:
            (header,) = self._session.one("header", {"story": to_follow.pop(), "owner": key.owner}) or ("{}",)
            word = json.loads(header).get(LINK)
            fresh = {story for story, link in links.items() if word and link == word} - found
            found |= fresh
            to_follow += fresh
        return found

    def _forget_elsewhere(self, key: StoryKey) -> None:
        """Destroy what shared memories have kept from this story, and the views and answers that may show what it
        says: those of the stories that continue it, or read the same shared memory."""
        readers = self.continuing(key)
        (header,) = self._session.one("header", key.values) or ("{}",)
        link, own = json.loads(header).get(LINK), set(self._books.attached(key))
        for info in self._books.all(key.owner):
            book = self._books.get(key.owner, info.name)
            memory = parse_shared(book.body, book.name) if book else None
            if memory is None or book is None:
                continue
            left = memory.forget(link) if link else memory
            if left != memory:
                self._books.keep(key.owner, replace(book, body=render_shared(left)))
            if left != memory or (memory.learns and memory.name in own):
                readers |= self._books.attached_to(key.owner, info.name)
        for story in sorted(readers - {key.story}):
            for table in ("recipe", "epoch", "answer"):
                self._session.run(f"delete_story_{table}", {"story": story, "owner": key.owner})

    def _is_standing(self, key: StoryKey, entry: int) -> bool:
        for _, _, _, messages, line in self._session.rows("branch_rows", key.values):
            if self._lines.last_place(key, line, messages - 1, entry) is not None:
                return True
        return False

    def _empty(self, key: StoryKey, entry: int) -> Message:
        return _make_emptied(
            expect_row(self._session.one("entry_role", {"entry": entry, **key.values}), f"entry {entry}")
        )


@mark_decoder("a message")
def _make_emptied(row: Row) -> Message:
    return make_empty(Role(row[0]))
