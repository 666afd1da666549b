"""One story in memory, as the tree it is: entries, nodes, branches as heads, marks, versions.

Nothing is cached: a path is walked from its head and a cover asked of `core.cover.place`, each time. That makes it slow
for long stories, and the definition that every other store is measured by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from previously.core.cover import Covered, Link, place
from previously.core.digests import ROOT_HASH, digest, node_hash
from previously.core.errors import UnknownBranch
from previously.core.marks import Mark, starts
from previously.core.messages import Draft, Entry
from previously.core.paths import OnPath
from previously.core.scripts import Piece, Put
from previously.core.versions import Status, Version
from previously.storage.store import MAIN, NO_NODE, BranchInfo, Move, StoryKey


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree."""

    id: int
    parent: int
    depth: int
    entry: int
    hash: bytes


@dataclass(slots=True)
class StoryTree:
    """All that belongs to one story. `ids` is shared by the stories of a store."""

    key: StoryKey
    name: str
    ids: Counter[str]
    active: str = MAIN
    heads: dict[str, int] = field(default_factory=lambda: {MAIN: NO_NODE})
    entries: dict[int, Entry] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    node_of: dict[tuple[int, int], int] = field(default_factory=dict)
    versions: dict[int, Version] = field(default_factory=dict)
    marks: dict[str, list[Mark]] = field(default_factory=lambda: {MAIN: []})
    moves: list[Move] = field(default_factory=list)
    receipts: set[str] = field(default_factory=set)
    leases: dict[str, tuple[str, str]] = field(default_factory=dict)
    budget_tokens: int | None = None
    header: str = "{}"

    def path(self, branch: str) -> list[Node]:
        """The chain of nodes from the root to the branch's head."""
        node = self.heads[branch]
        chain: list[Node] = []
        while node != NO_NODE:
            chain.append(self.nodes[node])
            node = chain[-1].parent
        return chain[::-1]

    def info(self, name: str) -> BranchInfo:
        """A branch as it is now; `UnknownBranch` if there is none of that name."""
        if name not in self.heads:
            raise UnknownBranch(name, tuple(self.heads))
        head = self.heads[name]
        return BranchInfo(name, head, self.nodes[head].depth + 1 if head != NO_NODE else 0)

    def on_path(self, node: Node) -> OnPath:
        """An entry where its node stands."""
        return OnPath(node.depth, node.id, node.hash, self.entries[node.entry])

    def put(self, parent: int, piece: Piece) -> int:
        """A node for a piece of a script, below `parent`; alternatives become its siblings."""
        if isinstance(piece, Put):
            node = self.add_node(parent, self._entry(piece.draft, piece.replaces))
            self.add_alternatives(parent, piece.draft.alternatives)
            return node
        return self.add_node(parent, piece.entry)

    def _entry(self, draft: Draft, replaces: int | None = None) -> int:
        entry = Entry(self.next_id("entry"), draft.message, digest(draft.message), draft.attributes, replaces)
        self.entries[entry.id] = entry
        return entry.id

    def add_node(self, parent: int, entry: int) -> int:
        """The node of this entry below `parent`, made if it is not there."""
        existing = self.node_of.get((parent, entry))
        if existing is not None:
            return existing
        depth, parent_hash = (self.nodes[parent].depth + 1, self.nodes[parent].hash) if parent else (0, ROOT_HASH)
        node = Node(self.next_id("node"), parent, depth, entry, node_hash(parent_hash, self.entries[entry].digest))
        self.nodes[node.id] = node
        self.node_of[parent, entry] = node.id
        return node.id

    def add_alternatives(self, parent: int, drafts: Iterable[Draft]) -> int:
        """Siblings below `parent`, those not there yet by digest; how many were added."""
        present = {self.entries[node.entry].digest for node in self.nodes.values() if node.parent == parent}
        added = 0
        for draft in drafts:
            if digest(draft.message) not in present:
                present.add(digest(draft.message))
                self.add_node(parent, self._entry(draft))
                added += 1
        return added

    def cover(self, branch: str) -> list[Covered]:
        """Every version valid on the path of the branch: the definition."""
        self.info(branch)
        digests = [self.entries[node.entry].digest for node in self.path(branch)]
        following: dict[int | str, list[Link]] = {}
        for version in self.versions.values():
            if version.made.status is not Status.REFUSED:
                following.setdefault(version.link.before, []).append(version.link)
        return place(
            lambda before: following.get(before, ()),
            len(digests),
            lambda first, last: digests[first : last + 1],
            after=starts(self.marks[branch]).items(),
        )

    def next_id(self, kind: str) -> int:
        """The next id of a kind of thing."""
        self.ids[kind] += 1
        return self.ids[kind]
