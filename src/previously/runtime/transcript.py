"""The transcript of a story: adding to it, changing it, and reading it.

Every change is a script applied to the active branch. Nothing here concerns memory, which follows by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from previously.core.align import align
from previously.core.digests import digest
from previously.core.errors import BadInput, HeadMoved
from previously.core.json_values import clean, clean_json
from previously.core.messages import Attributes, Draft, Entry, Message, Text, clean_draft, message
from previously.core.path import Insertion, OnPath, Put, Reuse, Splice, Splices, find_position
from previously.runtime.handle import StoryHandle
from previously.runtime.reading import persistently
from previously.runtime.times import time_at
from previously.storage.store import BranchInfo, Move, Store, StoryKey


@dataclass(frozen=True, slots=True)
class Changes:
    """What following a file or a client changed, counted in messages."""

    added: int
    updated: int
    removed: int
    unchanged: int
    replaced_characters: int = 0
    """NUL and lone surrogates that came in as U+FFFD."""


class Transcript(StoryHandle):
    """The messages of one story, with their branches and swipes."""

    async def add(
        self,
        role: str,
        text: str,
        *,
        name: str | None = None,
        witnesses: Iterable[str] | None = None,
        at: str | None = None,
        source_id: str | None = None,
        extra: Mapping[str, Any] | None = None,
        hidden: bool = False,
        expected_head: int | None = None,
        idempotency_key: str | None = None,
    ) -> BranchInfo:
        """Add a message at the end.

        With `expected_head`, only if the branch still ends there (`HeadMoved` otherwise). With an
        `idempotency_key`, at most once, however often it is tried.
        """
        draft = Draft(
            message(role, text, speaker=name, witnesses=witnesses), Attributes(at, source_id, extra or {}, hidden)
        )
        return await self.add_drafts([draft], expected_head=expected_head, idempotency_key=idempotency_key)

    async def add_drafts(
        self, drafts: Sequence[Draft], *, expected_head: int | None = None, idempotency_key: str | None = None
    ) -> BranchInfo:
        """Add several messages at the end, all or none."""
        return await self._store.append(
            self._key,
            None,
            [clean_draft(draft)[0] for draft in drafts],
            at=time_at(),
            expected_head=expected_head,
            receipt=idempotency_key,
        )

    async def insert(self, position: int, role: str, text: str, *, name: str | None = None) -> BranchInfo:
        """Put a message before the one at `position`."""
        draft, _ = clean_draft(Draft(message(role, text, speaker=name)))

        async def change() -> BranchInfo:
            branch, old = await self._at(position)
            return await self._apply(branch, [Splice(old.position, 0, (Put(draft),))])

        return await persistently(change)

    async def edit(self, position: int, text: str) -> BranchInfo:
        """Give a message other words. Its role, speaker, witnesses and attributes stay; its other parts too."""

        async def change() -> BranchInfo:
            branch, old = await self._at(position)
            new = replace(old.entry.message, parts=_with_text(old.entry.message, text))
            draft, _ = clean_draft(Draft(new, old.entry.attributes))
            return await self._apply(branch, [Splice(old.position, 1, (Put(draft, replaces=old.entry.id),))])

        return await persistently(change)

    async def delete(self, position: int) -> BranchInfo:
        """Take a message off the path. It stays in the store."""

        async def change() -> BranchInfo:
            branch, old = await self._at(position)
            return await self._apply(branch, [Splice(old.position, 1, ())])

        return await persistently(change)

    async def hide(self, position: int, *, hidden: bool = True) -> BranchInfo:
        """Do not show a message verbatim any more; it is still remembered."""
        branch, old = await persistently(lambda: self._at(position))
        await self._store.set_attributes(self._key, [(old.entry.id, replace(old.entry.attributes, hidden=hidden))])
        return branch

    async def unhide(self, position: int) -> BranchInfo:
        """Show a hidden message again."""
        return await self.hide(position, hidden=False)

    async def regenerate(self, text: str) -> BranchInfo:
        """Another reply in place of the newest message, which stays beside it as a swipe."""
        return await self.edit(-1, text)

    async def swipes(self, position: int = -1) -> list[Entry]:
        """Every message that ever stood at that place after the same messages, the oldest first."""
        branch, old = await self._at(position)
        return [item.entry for item in await self._store.siblings(self._key, branch.name, old.position)]

    async def choose(self, swipe: int, position: int = -1) -> BranchInfo:
        """Put the swipe with that number (see `swipes`) on the path."""
        branch, old = await self._at(position)
        siblings = await self._store.siblings(self._key, branch.name, old.position)
        if not 0 <= swipe < len(siblings):
            raise BadInput(f"There is no swipe {swipe}; position {old.position} has swipes 0 to {len(siblings) - 1}.")
        chosen: Insertion = Reuse(siblings[swipe].entry.id)
        return await self._apply(branch, [Splice(old.position, 1, (chosen,))])

    async def branch(self, name: str, at: int | None = None) -> BranchInfo:
        """A new branch that holds the story up to and including position `at` (all of it if None)."""
        if not name.strip() or clean(name)[1]:
            raise BadInput("A branch needs a name, of characters that can be stored.")
        branch = await self.branch_info()
        length = branch.messages if at is None else find_position(branch.messages, at) + 1
        return await self._store.fork(self._key, branch.name, name, length, at=time_at())

    async def switch(self, name: str) -> BranchInfo:
        """Go on with another branch. Its memory is there at once."""
        return await self._store.switch(self._key, name)

    async def branches(self) -> list[BranchInfo]:
        """Every branch, the oldest first."""
        return await self._store.branches(self._key)

    async def moves(self) -> list[Move]:
        """Every move of a head, the oldest first."""
        return await self._store.moves(self._key)

    async def messages(self, first: int = 0, last: int = -1) -> list[OnPath]:
        """What stands at positions first to last of the active path, both included."""
        branch = await self.branch_info()
        if not branch.messages:
            return []
        span = find_position(branch.messages, first), find_position(branch.messages, last)
        return await self._store.path(self._key, branch.name, *span)

    async def follow(self, drafts: Sequence[Draft], *, whole: bool = True, on: str | None = None) -> Changes:
        """Bring a branch (the active one if None) to what a file (`whole`) or a client's window holds; only what
        differs changes."""
        pairs = [clean_draft(draft) for draft in drafts]
        incoming = [draft for draft, _ in pairs]
        branch = await self._store.branch(self._key, on)
        known = await self._store.known(self._key, branch.name)
        found = align(known, incoming, whole=whole)
        if found.script:
            branch = await self._apply(branch, await with_swipes(self._store, self._key, branch.name, found.script))
        if found.attributes:
            await self._store.set_attributes(self._key, found.attributes)
        if found.alternatives:
            await self._store.add_siblings(self._key, branch.name, found.alternatives)
        replaced = sum(count for _, count in pairs)
        return Changes(found.added, found.updated, found.removed, found.unchanged, replaced)

    async def follow_branch(self, name: str, drafts: Sequence[Draft], *, beside: str, shared: int) -> Changes:
        """Bring the branch of that name to what a file holds. Where there is none it is made of the first `shared`
        messages of another; the active branch stays active."""
        if name not in [branch.name for branch in await self.branches()]:
            await self._store.fork(self._key, beside, name, shared, at=time_at())
        return await self.follow(drafts, on=name)

    async def header(self) -> dict[str, Any]:
        """What the file the story came from says beside its messages."""
        found = json.loads(await self._store.header(self._key))
        return found if isinstance(found, dict) else {}

    async def keep_header(self, header: Mapping[str, Any]) -> None:
        """Keep what a file says beside its messages, for writing it back."""
        cleaned_header, _ = clean_json(dict(header))
        await self._store.keep_header(self._key, json.dumps(cleaned_header, ensure_ascii=False))

    async def _at(self, position: int) -> tuple[BranchInfo, OnPath]:
        branch = await self.branch_info()
        depth = find_position(branch.messages, position)
        found = await self._store.path(self._key, branch.name, depth, depth)
        if not found:
            raise HeadMoved("The story became shorter while it was read.")
        return branch, found[0]

    async def _apply(self, branch: BranchInfo, script: Splices, receipt: str | None = None) -> BranchInfo:
        return await self._store.apply(
            self._key, branch.name, script, at=time_at(), expected_head=branch.head, receipt=receipt
        )


async def with_swipes(
    store: Store, key: StoryKey, branch: str, script: Splices, same: Callable[[Message], bytes] = digest
) -> Splices:
    """The script, with a swipe that is there already, and the same, chosen rather than made again. Only the first
    splice can meet one: behind it everything hangs on new nodes."""
    first = script[0]
    if first.remove != 1 or len(first.pieces) != 1 or not isinstance(first.pieces[0], Put):
        return script
    put = first.pieces[0]
    wanted = same(put.draft.message)
    for sibling in await store.siblings(key, branch, first.at):
        entry = sibling.entry
        if same(entry.message) == wanted and entry.id != put.replaces and not entry.attributes.hidden:
            return [replace(first, pieces=(Reuse(entry.id),)), *script[1:]]
    return script


def _with_text(old: Message, text: str) -> tuple[Any, ...]:
    """The parts with their text replaced: the first text part takes the new words, other text parts go."""
    parts: list[Any] = []
    placed = False
    for part in old.parts:
        if not isinstance(part, Text):
            parts.append(part)
        elif not placed:
            parts.append(Text(text))
            placed = True
    return tuple(parts) if placed else (*parts, Text(text))
