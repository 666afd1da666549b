"""One story in memory, as the tree it is: entries, nodes, branches as heads, marks, versions.

Nothing is cached: a path is walked from its head and a cover asked of `core.cover.place`, each time. That makes it slow
for long stories, and the definition that every other store is measured by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from previously.core.cover import Covered, Link, place
from previously.core.digests import ROOT_HASH, digest, node_hash
from previously.core.errors import BadInput, UnknownBranch
from previously.core.marks import Mark, find_starts, move_marks
from previously.core.messages import Draft, Entry
from previously.core.path import Insertion, OnPath, Put, Splices
from previously.core.snapshot import KeptRecipe
from previously.core.versions import IN_FORCE, Kind, LiveVersion, Version
from previously.storage.store import MAIN, NO_NODE, BranchInfo, Move, StoryKey

if TYPE_CHECKING:
    from tests.oracle.recall import InMemoryStoryIndex


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
    recipes: list[KeptRecipe] = field(default_factory=list)
    retired: dict[str, list[tuple[int, Mark]]] = field(default_factory=lambda: {MAIN: []})
    """Marks that others retired, each with the id of the one that did."""
    moves: list[Move] = field(default_factory=list)
    receipts: set[str] = field(default_factory=set)
    forgotten: set[int] = field(default_factory=set)
    leases: dict[str, tuple[str, str]] = field(default_factory=dict)
    budget_tokens: int | None = None
    usage: str = "{}"
    header: str = "{}"
    settings: str = "{}"
    books: list[str] = field(default_factory=list)
    index: InMemoryStoryIndex | None = None
    """What was indexed of it; None = nothing ever was."""

    def path(self, branch: str) -> list[Node]:
        """The chain of nodes from the root to the branch's head."""
        return self.chain(self.heads[branch])

    def chain(self, node: int) -> list[Node]:
        """The chain of nodes from the root to this one."""
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

    def change_path(self, branch: str, script: Splices) -> int:
        """Bring the branch to what the script says, its marks too; the node it ends in now."""
        path = self.path(branch)
        taken = script[0].at if script else len(path)
        node = path[taken - 1].id if taken else NO_NODE
        for splice in script:
            for kept in path[taken : splice.at]:
                node = self.add_node(node, kept.entry)
            for piece in splice.pieces:
                node = self.put(node, piece)
            taken = splice.at + splice.remove
        for kept in path[taken:]:
            node = self.add_node(node, kept.entry)
        self.heads[branch] = node
        self.move_marks(branch, script)
        return node

    def put(self, parent: int, piece: Insertion) -> int:
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

    def children(self, parent: int) -> list[Node]:
        """The nodes below another, but for those of entries that were forgotten."""
        return [one for one in self.nodes.values() if one.parent == parent and one.entry not in self.forgotten]

    def add_alternatives(self, parent: int, drafts: Iterable[Draft]) -> int:
        """Siblings below `parent`, those not there yet by digest; how many were added."""
        present = {self.entries[node.entry].digest for node in self.children(parent)}
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
            if version.made.status in IN_FORCE:
                following.setdefault(version.link.before, []).append(version.link)
        return place(
            lambda before: following.get(before, ()),
            len(digests),
            lambda first, last: digests[first : last + 1],
            after=find_starts(self.marks[branch], (one.made.scope for one in self.versions.values())).items(),
        )

    def live(
        self, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        """Of the versions valid on the path of the branch, the one asked for that reaches furthest."""
        candidates = []
        for cover in self.cover(branch):
            version = self.versions[cover.version]
            asked_for = (version.made.kind, version.made.scope) == (kind, scope) and (version.firm or not firm)
            if asked_for and (through is None or cover.span.last <= through):
                candidates.append(cover)
        if not candidates:
            return None
        best = max(candidates, key=lambda cover: (cover.span.last, cover.version))
        return LiveVersion(self.versions[best.version], best.span)

    def add_mark(self, branch: str, mark: Mark, retires: Collection[int]) -> Mark:
        """A new mark, in place of those it retires."""
        self.info(branch)
        ident = self.next_id("mark")
        behind = [one.behind for one in self.marks[branch] if one.id in retires and one.origin == mark.origin]
        new = replace(
            mark,
            id=ident,
            origin=mark.origin or ident,
            after=max(self.versions, default=0),
            behind=behind[-1] if behind else 0,
        )
        self.retired[branch] += [(ident, one) for one in self.marks[branch] if one.id in retires]
        self._set_marks(branch, [*(one for one in self.marks[branch] if one.id not in retires), new])
        return new

    def take_back_mark(self, branch: str, mark: int) -> None:
        """Take a mark off; what it retired is back."""
        self.info(branch)
        if mark not in [one.id for one in self.marks[branch]]:
            raise BadInput(f"Branch {branch!r} has no mark {mark}.")
        back = [one for by, one in self.retired[branch] if by == mark]
        self.retired[branch] = [(by, one) for by, one in self.retired[branch] if by != mark]
        self._set_marks(branch, [*(one for one in self.marks[branch] if one.id != mark), *back])

    def move_marks(self, branch: str, script: Splices) -> None:
        """Move all marks along with a script."""
        retired_by = {one.id: by for by, one in self.retired[branch]}
        every = move_marks([*self.marks[branch], *(one for _, one in self.retired[branch])], script)
        self.retired[branch] = [(retired_by[one.id], one) for one in every if one.id in retired_by]
        self._set_marks(branch, [one for one in every if one.id not in retired_by])

    def copy_marks(self, source: str, target: str, length: int) -> None:
        """Give a new branch the marks of another that stand in its first `length` messages, or before all of them."""
        retired_by = {one.id: by for by, one in self.retired[source]}
        every = sorted([*self.marks[source], *(one for _, one in self.retired[source])], key=lambda one: one.id)
        kept = [one for one in every if one.position < length]
        ids = {one.id: self.next_id("mark") for one in kept}
        copies = [(ids.get(retired_by.get(one.id, 0), 0), replace(one, id=ids[one.id])) for one in kept]
        self.retired[target] = [(by, one) for by, one in copies if by]
        self._set_marks(target, [one for by, one in copies if not by])

    def _set_marks(self, branch: str, marks: Iterable[Mark]) -> None:
        self.marks[branch] = sorted(marks, key=lambda one: one.order)

    def take_lease(self, work: str, holder: str, now: str, until: str) -> bool:
        """Whether the holder has the lease now."""
        current, expires = self.leases.get(work, (holder, ""))
        if current != holder and expires > now:
            return False
        self.leases[work] = (holder, until)
        return True

    def give_lease(self, work: str, holder: str) -> None:
        """Give a lease back, if it is held."""
        if self.leases.get(work, ("", ""))[0] == holder:
            del self.leases[work]

    def next_id(self, kind: str) -> int:
        """The next id of a kind of thing."""
        self.ids[kind] += 1
        return self.ids[kind]
