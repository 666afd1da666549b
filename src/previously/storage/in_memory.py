"""The in-memory store: the contract said in the plainest code.

It keeps no caches. A path is walked from its head, a cover asked of `core.cover.place`, each time: slow for long
stories, and the measure for every other store. It is public, for tests and for stories that need not outlive the
process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from previously.core.align import Known
from previously.core.digests import match_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.marks import Mark, MarkKind, moved_marks
from previously.core.messages import Attributes, Draft
from previously.core.paths import OnPath
from previously.core.scripts import Script, checked
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version, is_firm, supersedes
from previously.storage.store import NO_NODE, BranchInfo, Move, StoryInfo, StoryKey
from previously.storage.story_tree import StoryTree


class InMemoryStore:
    """Stories in this process's memory, gone with it."""

    def __init__(self) -> None:
        self._stories: dict[StoryKey, StoryTree] = {}
        self._ids: Counter[str] = Counter()

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
            found = self._stories[key] = StoryTree(key, name, self._ids)
        return self._info(found)

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        story = self._stories[key]
        return [story.info(name) for name in story.heads]

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        story = self._stories[key]
        return story.info(story.active if name is None else name)

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        story = self._stories[key]
        story.info(branch)
        return [story.on_path(node) for node in story.path(branch) if first <= node.depth <= last]

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
        return [story.on_path(node) for node in story.nodes.values() if node.parent == parent]

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
        before = story.info(branch)
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
                node = story.add_node(node, kept.entry)
            for piece in splice.pieces:
                node = story.put(node, piece)
            taken = splice.at + splice.remove
        for kept in path[taken:]:
            node = story.add_node(node, kept.entry)
        story.heads[branch] = node
        story.marks[branch] = moved_marks(story.marks[branch], script)
        if node != before.head:
            story.moves.append(Move(branch, before.head, node, at))
        if receipt is not None:
            story.receipts.add(receipt)
        return story.info(branch)

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
            added += story.add_alternatives(path[position].parent, drafts)
        return added

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        story = self._stories[key]
        story.info(source)
        if name in story.heads:
            raise BadInput(f"There is a branch named {name!r} already.")
        story.heads[name] = story.path(source)[length - 1].id if length else NO_NODE
        before = (mark for mark in story.marks[source] if mark.position < length)
        story.marks[name] = [replace(mark, id=self._next_id("mark")) for mark in before]
        return story.info(name)

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        story = self._stories[key]
        info = story.info(name)
        story.active = name
        return info

    async def marks(self, key: StoryKey, branch: str) -> list[Mark]:
        story = self._stories[key]
        story.info(branch)
        return list(story.marks[branch])

    async def add_mark(
        self, key: StoryKey, branch: str, kind: MarkKind, position: int, text: str, *, made_by: str, at: str
    ) -> Mark:
        story = self._stories[key]
        story.info(branch)
        ident = self._next_id("mark")
        mark = Mark(ident, ident, kind, position, text, made_by, at)
        story.marks[branch] = sorted([*story.marks[branch], mark], key=lambda one: (one.position, one.id))
        return mark

    async def moves(self, key: StoryKey) -> list[Move]:
        return list(self._stories[key].moves)

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        versions = self._stories[key].versions
        while version.status is not Status.REFUSED:
            existing = next((one for one in versions.values() if _same_fold(one.made, version)), None)
            if existing is None:
                break
            if not supersedes(version, existing):
                return existing
            version = replace(version, replaces=existing.id)
        before = versions[version.before] if version.before else None
        new = Version(self._next_id("version"), version, is_firm(version, before))
        versions[new.id] = new
        return new

    async def versions(self, key: StoryKey) -> list[Version]:
        return list(self._stories[key].versions.values())

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False
    ) -> LiveVersion | None:
        story = self._stories[key]
        candidates = []
        for cover in story.cover(branch):
            version = story.versions[cover.version]
            if (version.made.kind, version.made.scope) == (kind, scope) and (version.firm or not firm):
                candidates.append(cover)
        if not candidates:
            return None
        best = max(candidates, key=lambda cover: (cover.span.last, cover.version))
        return LiveVersion(story.versions[best.version], best.span)

    async def cover(self, key: StoryKey, branch: str) -> list[tuple[int, int, int]]:
        covers = self._stories[key].cover(branch)
        found = [(cover.span.first, cover.span.last, cover.version) for cover in covers]
        return sorted(found, key=lambda row: (row[1], row[2]))

    async def spent(self, owner: str, since: str) -> Cost:
        mine = (story for key, story in self._stories.items() if key.owner == owner)
        recent = [one.made for story in mine for one in story.versions.values() if one.made.at >= since]
        return sum((made.cost for made in recent if made.cost.calls), Cost())

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        leases = self._stories[key].leases
        current, expires = leases.get(work, (holder, ""))
        if current != holder and expires > now:
            return False
        leases[work] = (holder, until)
        return True

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        leases = self._stories[key].leases
        if leases.get(work, ("", ""))[0] == holder:
            del leases[work]

    async def header(self, key: StoryKey) -> str:
        return self._stories[key].header

    async def keep_header(self, key: StoryKey, header: str) -> None:
        self._stories[key].header = header

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        self._stories[key].budget_tokens = budget_tokens

    async def close(self) -> None:
        self._stories.clear()

    def _next_id(self, kind: str) -> int:
        self._ids[kind] += 1
        return self._ids[kind]

    def _named(self, owner: str, name: str) -> StoryTree | None:
        for key, story in self._stories.items():
            if key.owner == owner and story.name == name:
                return story
        return None

    def _info(self, story: StoryTree) -> StoryInfo:
        active = story.info(story.active)
        return StoryInfo(story.key, story.name, active, len(story.heads), story.budget_tokens)


def _same_fold(one: NewVersion, other: NewVersion) -> bool:
    if one.status is Status.REFUSED:
        return False
    read = ("kind", "scope", "key", "before", "replaces")
    return all(getattr(one, name) == getattr(other, name) for name in read)
