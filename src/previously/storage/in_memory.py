"""The in-memory store: the contract said in the plainest code.

It keeps no caches. A path is walked from its head, a cover asked of `core.cover.place`, each time: slow for long
stories, and the measure for every other store. It is public, for tests and for stories that need not outlive the
process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from previously.core.align import Known
from previously.core.cover import Covered, Link, place
from previously.core.digests import ROOT_HASH, digest, match_key, node_hash
from previously.core.errors import BadInput, HeadMoved, UnknownBranch
from previously.core.marks import Mark, MarkKind, moved_marks, starts
from previously.core.messages import Attributes, Draft, Entry
from previously.core.paths import OnPath
from previously.core.scripts import Piece, Put, Script, checked
from previously.core.versions import Kind, LiveVersion, NewVersion, Status, Version
from previously.storage.store import MAIN, NO_NODE, BranchInfo, Move, StoryInfo, StoryKey


@dataclass(frozen=True, slots=True)
class _Node:
    id: int
    parent: int
    depth: int
    entry: int
    hash: bytes


@dataclass(slots=True)
class _Story:
    key: StoryKey
    name: str
    active: str = MAIN
    heads: dict[str, int] = field(default_factory=lambda: {MAIN: NO_NODE})
    entries: dict[int, Entry] = field(default_factory=dict)
    nodes: dict[int, _Node] = field(default_factory=dict)
    node_of: dict[tuple[int, int], int] = field(default_factory=dict)
    versions: dict[int, Version] = field(default_factory=dict)
    marks: dict[str, list[Mark]] = field(default_factory=lambda: {MAIN: []})
    moves: list[Move] = field(default_factory=list)
    receipts: set[str] = field(default_factory=set)
    budget_tokens: int | None = None

    def path(self, branch: str) -> list[_Node]:
        node = self.heads[branch]
        chain: list[_Node] = []
        while node != NO_NODE:
            chain.append(self.nodes[node])
            node = chain[-1].parent
        return chain[::-1]


class InMemoryStore:
    """Stories in this process's memory, gone with it."""

    def __init__(self) -> None:
        self._stories: dict[StoryKey, _Story] = {}
        self._last_ids: Counter[str] = Counter()

    async def stories(self, owner: str) -> list[StoryInfo]:
        mine = (story for key, story in self._stories.items() if key.owner == owner)
        return [self._info(story) for story in sorted(mine, key=lambda story: story.name)]

    async def story(self, owner: str, name: str) -> StoryInfo | None:
        found = self._named(owner, name)
        return self._info(found) if found else None

    async def create_story(self, owner: str, name: str, *, at: str) -> StoryInfo:
        found = self._named(owner, name)
        if found is None:
            key = StoryKey(owner, self._next_id("story"))
            found = self._stories[key] = _Story(key, name)
        return self._info(found)

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        story = self._stories[key]
        return [self._branch(story, name) for name in story.heads]

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        story = self._stories[key]
        return self._branch(story, story.active if name is None else name)

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        story = self._stories[key]
        self._branch(story, branch)
        return [self._on_path(story, node) for node in story.path(branch) if first <= node.depth <= last]

    async def known(self, key: StoryKey, branch: str) -> list[Known]:
        story = self._stories[key]
        entries = (story.entries[node.entry] for node in story.path(branch))
        return [
            Known(entry.id, entry.digest, match_key(entry.message), entry.attributes, entry.message.role)
            for entry in entries
        ]

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        story = self._stories[key]
        parent = story.path(branch)[position].parent
        return [self._on_path(story, node) for node in story.nodes.values() if node.parent == parent]

    async def apply(
        self,
        key: StoryKey,
        branch: str,
        script: Script,
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        story = self._stories[key]
        before = self._branch(story, branch)
        if receipt is not None and receipt in story.receipts:
            return before
        if expected_head is not None and expected_head != before.head:
            raise HeadMoved(f"Branch {branch!r} has moved on since it was read.")
        checked(script, before.messages)
        path = story.path(branch)
        first = script[0].at if script else len(path)
        node = path[first - 1].id if first else NO_NODE
        taken = first
        for splice in script:
            for kept in path[taken : splice.at]:
                node = self._node(story, node, kept.entry)
            for piece in splice.pieces:
                node = self._put(story, node, piece)
            taken = splice.at + splice.remove
        for kept in path[taken:]:
            node = self._node(story, node, kept.entry)
        story.heads[branch] = node
        story.marks[branch] = moved_marks(story.marks[branch], script)
        if node != before.head:
            story.moves.append(Move(branch, before.head, node, at))
        if receipt is not None:
            story.receipts.add(receipt)
        return self._branch(story, branch)

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        entries = self._stories[key].entries
        for entry, attributes in changes:
            if entry in entries:
                entries[entry] = replace(entries[entry], attributes=attributes)

    async def add_siblings(self, key: StoryKey, branch: str, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        story = self._stories[key]
        path = story.path(branch)
        added = 0
        for position, drafts in siblings:
            added += self._add_alternatives(story, path[position].parent, drafts)
        return added

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        story = self._stories[key]
        self._branch(story, source)
        if name in story.heads:
            raise BadInput(f"There is a branch named {name!r} already.")
        story.heads[name] = story.path(source)[length - 1].id if length else NO_NODE
        before = (mark for mark in story.marks[source] if mark.position < length)
        story.marks[name] = [replace(mark, id=self._next_id("mark")) for mark in before]
        return self._branch(story, name)

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        story = self._stories[key]
        info = self._branch(story, name)
        story.active = name
        return info

    async def marks(self, key: StoryKey, branch: str) -> list[Mark]:
        story = self._stories[key]
        self._branch(story, branch)
        return list(story.marks[branch])

    async def add_mark(
        self, key: StoryKey, branch: str, kind: MarkKind, position: int, text: str, *, made_by: str, at: str
    ) -> Mark:
        story = self._stories[key]
        self._branch(story, branch)
        ident = self._next_id("mark")
        mark = Mark(ident, ident, kind, position, text, made_by, at)
        story.marks[branch] = sorted([*story.marks[branch], mark], key=lambda one: (one.position, one.id))
        return mark

    async def moves(self, key: StoryKey) -> list[Move]:
        return list(self._stories[key].moves)

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        versions = self._stories[key].versions
        if version.status is not Status.REFUSED:
            for existing in versions.values():
                if existing.made.status is not Status.REFUSED and _read(existing.made) == _read(version):
                    return existing
        new = Version(self._next_id("version"), version)
        versions[new.id] = new
        return new

    async def versions(self, key: StoryKey) -> list[Version]:
        return list(self._stories[key].versions.values())

    async def live(self, key: StoryKey, branch: str, kind: Kind, scope: str) -> LiveVersion | None:
        story = self._stories[key]
        candidates = [
            cover
            for cover in self._cover(story, branch)
            if (story.versions[cover.version].made.kind, story.versions[cover.version].made.scope) == (kind, scope)
        ]
        if not candidates:
            return None
        best = max(candidates, key=lambda cover: (cover.span.last, cover.version))
        return LiveVersion(story.versions[best.version], best.span)

    async def cover(self, key: StoryKey, branch: str) -> list[tuple[int, int, int]]:
        covers = self._cover(self._stories[key], branch)
        found = [(cover.span.first, cover.span.last, cover.version) for cover in covers]
        return sorted(found, key=lambda row: (row[1], row[2]))

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        self._stories[key].budget_tokens = budget_tokens

    async def close(self) -> None:
        self._stories.clear()

    def _next_id(self, kind: str) -> int:
        self._last_ids[kind] += 1
        return self._last_ids[kind]

    def _named(self, owner: str, name: str) -> _Story | None:
        for key, story in self._stories.items():
            if key.owner == owner and story.name == name:
                return story
        return None

    def _info(self, story: _Story) -> StoryInfo:
        active = self._branch(story, story.active)
        return StoryInfo(story.key, story.name, active, len(story.heads), story.budget_tokens)

    def _branch(self, story: _Story, name: str) -> BranchInfo:
        if name not in story.heads:
            raise UnknownBranch(name, tuple(story.heads))
        head = story.heads[name]
        return BranchInfo(name, head, story.nodes[head].depth + 1 if head != NO_NODE else 0)

    def _on_path(self, story: _Story, node: _Node) -> OnPath:
        return OnPath(node.depth, node.id, node.hash, story.entries[node.entry])

    def _put(self, story: _Story, parent: int, piece: Piece) -> int:
        if isinstance(piece, Put):
            node = self._node(story, parent, self._entry(story, piece.draft, piece.replaces))
            self._add_alternatives(story, parent, piece.draft.alternatives)
            return node
        return self._node(story, parent, piece.entry)

    def _entry(self, story: _Story, draft: Draft, replaces: int | None = None) -> int:
        entry = Entry(self._next_id("entry"), draft.message, digest(draft.message), draft.attributes, replaces)
        story.entries[entry.id] = entry
        return entry.id

    def _node(self, story: _Story, parent: int, entry: int) -> int:
        existing = story.node_of.get((parent, entry))
        if existing is not None:
            return existing
        depth, parent_hash = (story.nodes[parent].depth + 1, story.nodes[parent].hash) if parent else (0, ROOT_HASH)
        node = _Node(self._next_id("node"), parent, depth, entry, node_hash(parent_hash, story.entries[entry].digest))
        story.nodes[node.id] = node
        story.node_of[parent, entry] = node.id
        return node.id

    def _add_alternatives(self, story: _Story, parent: int, drafts: Iterable[Draft]) -> int:
        present = {story.entries[node.entry].digest for node in story.nodes.values() if node.parent == parent}
        added = 0
        for draft in drafts:
            if digest(draft.message) not in present:
                present.add(digest(draft.message))
                self._node(story, parent, self._entry(story, draft))
                added += 1
        return added

    def _cover(self, story: _Story, branch: str) -> list[Covered]:
        self._branch(story, branch)
        digests = [story.entries[node.entry].digest for node in story.path(branch)]
        following: dict[int | str, list[Link]] = {}
        for version in story.versions.values():
            if version.made.status is not Status.REFUSED:
                following.setdefault(version.link.before, []).append(version.link)
        return place(
            lambda before: following.get(before, ()),
            len(digests),
            lambda first, last: digests[first : last + 1],
            after=starts(story.marks[branch]).items(),
        )


def _read(version: NewVersion) -> tuple[object, ...]:
    """What makes two versions the same fold."""
    return version.kind, version.scope, version.key, version.before, version.replaces
