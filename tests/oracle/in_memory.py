"""The in-memory store: the contract said in the plainest code.

It keeps no caches. A path is walked from its head, a cover asked of `core.cover.place`, each time: slow for long
stories, and the measure for every other store. It is public, for tests and for stories that need not outlive the
process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, NoReturn, TypeVar, cast

from previously.core.align import KnownEntry
from previously.core.digests import match_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Draft
from previously.core.path import OnPath, Put, Splice, Splices, check_splices
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import Cost, Kind, LiveVersion
from previously.storage.store import NO_NODE, BranchInfo, Forgotten, Move, StoryInfo, StoryKey, Traces
from previously.storage.tables.books import Book
from previously.storage.tables.keys import AccessKey
from tests.contract.storage.verbs import VerbStore
from tests.oracle.answers import InMemoryAnswers
from tests.oracle.books import InMemoryBooks
from tests.oracle.forget import entries_like, forget_entries, standing_at, traces
from tests.oracle.keys import InMemoryKeys
from tests.oracle.recall import InMemoryRecall
from tests.oracle.story_tree import StoryTree
from tests.oracle.versions import InMemoryVersions
from tests.oracle.views import InMemoryViews

T = TypeVar("T")


def oracle() -> VerbStore:
    """Return an empty store that answers every verb in the plainest way."""
    return cast("VerbStore", InMemoryStore())


class InMemoryStore(InMemoryAnswers, InMemoryBooks, InMemoryKeys, InMemoryRecall, InMemoryVersions, InMemoryViews):
    """Stories in this process's memory, gone with it."""

    def __init__(self) -> None:
        self._stories: dict[StoryKey, StoryTree] = {}
        self._keys: dict[str, AccessKey] = {}
        self._books: dict[tuple[str, str], Book] = {}
        self._answers: dict[tuple[str, bytes], tuple[StoryKey, str]] = {}
        self._model_facts: dict[tuple[str, str], str] = {}
        self._ids: Counter[str] = Counter()

    async def at_one_moment(self, owner: str, work: Callable[[VerbStore], Coroutine[Any, Any, T]]) -> T:
        return await work(cast("VerbStore", self))  # no verb here ever waits, so nothing comes in between

    async def read(self, *_: object) -> NoReturn:
        raise RuntimeError("this store answers verbs only")

    write = read

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

    async def known(self, key: StoryKey, branch: str) -> list[KnownEntry]:
        story = self._stories[key]
        entries = (story.entries[node.entry] for node in story.path(branch))
        return [
            KnownEntry(entry.id, entry.digest, match_key(entry.message), entry.attributes, entry.message.role)
            for entry in entries
        ]

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        story = self._stories[key]
        return [story.on_path(node) for node in story.children(story.path(branch)[position].parent)]

    async def apply(
        self,
        key: StoryKey,
        branch: str,
        script: Splices,
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
        check_splices(script, before.messages)
        node = story.change_path(branch, script)
        if node != before.head:
            story.moves.append(Move(branch, before.head, node, at))
        if receipt is not None:
            story.receipts.add(receipt)
        return story.info(branch)

    async def append(
        self,
        key: StoryKey,
        branch: str | None,
        drafts: Sequence[Draft],
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        end = await self.branch(key, branch)
        script = [Splice(end.messages, 0, tuple(map(Put, drafts)))]
        return await self.apply(key, end.name, script, at=at, expected_head=expected_head, receipt=receipt)

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
        story.copy_marks(source, name, length)
        return story.info(name)

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        story = self._stories[key]
        info = story.info(name)
        story.active = name
        return info

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]:
        story = self._stories[key]
        story.info(branch)
        return [mark for mark in story.marks[branch] if mark.kind in kinds and mark.position >= since]

    async def newest_mark(self, key: StoryKey, branch: str, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        marks = await self.marks(key, branch, {kind})
        index = len(marks) - number - 1
        if index < 0:
            return None, 0
        return marks[index], len({mark.position for mark in marks[: index + 1] if mark.position >= 0})

    async def add_mark(
        self,
        key: StoryKey,
        branch: str,
        kind: MarkKind,
        position: int,
        text: str,
        *,
        made_by: str,
        at: str,
        seen: bytes = b"",
        of: int = 0,
        origin: int = 0,
        retires: Collection[int] = (),
    ) -> Mark:
        mark = Mark(0, origin, kind, position, text, made_by, at, seen, of)
        return self._stories[key].add_mark(branch, mark, retires)

    async def take_back_mark(self, key: StoryKey, branch: str, mark: int) -> None:
        self._stories[key].take_back_mark(branch, mark)

    async def moves(self, key: StoryKey) -> list[Move]:
        return list(self._stories[key].moves)

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        return self._stories[key].live(branch, kind, scope, firm=firm, through=through)

    async def live_each(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int]]
    ) -> list[LiveVersion | None]:
        return [await self.live(key, branch, kind, scope, through=through) for scope, through in asked]

    async def cover(
        self, key: StoryKey, branch: str, kind: Kind | None = None, *, firm: bool = False
    ) -> list[tuple[int, int, int]]:
        story = self._stories[key]
        found = []
        for cover in story.cover(branch):
            version = story.versions[cover.version]
            if kind in (None, version.made.kind) and (version.firm or not firm):
                found.append((cover.span.first, cover.span.last, cover.version))
        return sorted(found, key=lambda row: (row[1], row[2]))

    async def spans(self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        versions = self._stories[key].versions
        covers = await self.cover(key, branch, kind, firm=firm)
        return {(versions[version].made.scope, first, last) for first, last, version in covers}

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None:
        story = self._stories[key]
        story.info(branch)
        entry = story.nodes[node].entry if node in story.nodes else None
        return max((one.depth for one in story.path(branch) if one.entry == entry), default=None)

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        story = self._stories[key]
        chain = story.chain(node) if node in story.nodes else []
        return [story.on_path(one) for one in chain[max(0, len(chain) - most) :]]

    async def settings(self, key: StoryKey) -> str:
        return self._stories[key].settings

    async def keep_settings(self, key: StoryKey, settings: str) -> None:
        self._stories[key].settings = settings

    async def spent(self, owner: str, since: str) -> Cost:
        mine = [story for key, story in self._stories.items() if key.owner == owner]
        recent = [one.made for story in mine for one in story.versions.values() if one.made.at >= since]
        return sum((made.cost for made in recent if made.cost.calls), Cost())

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        return self._stories[key].take_lease(work, holder, now, until)

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        self._stories[key].give_lease(work, holder)

    async def header(self, key: StoryKey) -> str:
        return self._stories[key].header

    async def keep_header(self, key: StoryKey, header: str) -> None:
        self._stories[key].header = header

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        self._stories[key].budget_tokens = budget_tokens

    async def standing_at(self, key: StoryKey, branch: str, first: int, last: int) -> set[int]:
        return standing_at(self._stories[key], branch, first, last)

    async def traces(self, key: StoryKey, entries: Collection[int]) -> Traces:
        return traces(self._stories[key], entries)

    async def entries_like(self, key: StoryKey, traces: Traces) -> tuple[set[int], bool]:
        return entries_like(self._stories[key], traces)

    async def forget_entries(self, key: StoryKey, entries: Collection[int]) -> Forgotten:
        done = forget_entries(self._stories[key], entries)
        self._forget_answers(key)
        return done

    async def forget_story(self, key: StoryKey) -> bool:
        self._forget_answers(key)
        return self._stories.pop(key, None) is not None

    async def close(self) -> None:
        self._stories.clear()
        self._keys.clear()
        self._books.clear()
        self._answers.clear()
        self._model_facts.clear()

    def _next_id(self, kind: str) -> int:
        self._ids[kind] += 1
        return self._ids[kind]

    def _named(self, owner: str, name: str) -> StoryTree | None:
        mine = (story for key, story in self._stories.items() if (key.owner, story.name) == (owner, name))
        return next(mine, None)

    def _info(self, story: StoryTree) -> StoryInfo:
        active = story.info(story.active)
        return StoryInfo(story.key, story.name, active, len(story.heads), story.budget_tokens)
