"""The transcript of a story: adding to it, changing it, and reading it.

Every change is a script applied to the active branch. Nothing here concerns memory, which follows by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from previously.core.align import Alignment, align, choose_swipes
from previously.core.deed import Deed, DeedKind
from previously.core.errors import BadInput, HeadMoved, TextChanged
from previously.core.exact_names import check_new_name
from previously.core.marks import MarkPlace
from previously.core.messages import Attributes, Draft, Entry, clean_draft, message, parse_role, put_text
from previously.core.path import OnPath, Put, Reuse, Splice, Splices, find_position
from previously.core.snapshot import Snapshot, read_run
from previously.recognition.choose_story import OWN_FIELDS, parse_header
from previously.runtime.clock import time_at
from previously.runtime.note_deed import add_deed
from previously.runtime.retry import retry_when_moved
from previously.storage.store import BranchInfo, Move
from previously.storage.tables import Tables
from previously.story.access import StoryAccess
from previously.story.deeds import add_path_deed, list_marks_in
from previously.story.file_branches import make_branch
from previously.story.file_header import keep_file_header
from previously.story.json_shapes import make_etag
from previously.story.presence import PresenceEdits
from previously.story.swipes import SwipeReader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that following a file or a client made, counted in messages."""

    added: int
    updated: int
    removed: int
    unchanged: int
    replaced_characters: int = 0
    """NUL and lone surrogates that came in as U+FFFD."""


class Transcript:
    """The messages of one story, with their branches and swipes."""

    def __init__(self, access: StoryAccess, presence: PresenceEdits) -> None:
        self._access = access
        self._presence = presence

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

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     story.add("user", "Is the ferry in?", name="Wren").messages
        1
        """
        draft = Draft(
            message(role, text, speaker=name, witnesses=witnesses), Attributes(at, source_id, extra or {}, hidden)
        )
        return await self.add_drafts([draft], expected_head=expected_head, idempotency_key=idempotency_key)

    async def add_drafts(
        self,
        drafts: Sequence[Draft],
        *,
        expected_head: int | None = None,
        idempotency_key: str | None = None,
        undoable: bool = False,
    ) -> BranchInfo:
        """Add several messages at the end, all or none. Who is not there does not witness them. `undoable` is for what
        a person adds by a deed of its own, not for a chat that goes on."""
        key = self._access.key
        added = await self._presence.add_witnesses(drafts)
        witnessed = added.drafts

        def note_deed(tables: Tables) -> None:
            snapshot = tables.snapshot(key)
            first = snapshot.messages - len(witnessed)
            head = snapshot.path(first - 1, first - 1)[0].node if first else 0  # others may have got there first
            add_path_deed(tables, key, snapshot.branch, DeedKind.ADDED, first, head)

        branch = await self._access.store.append(
            key, None, [clean_draft(draft)[0] for draft in witnessed], at=time_at(), expected_head=expected_head,
            receipt=idempotency_key, also=note_deed if undoable else None,
        )  # fmt: skip
        # Otherwise it had been added before, or others were there first.
        if branch.messages == added.before.messages + len(witnessed):
            self._presence.meet(added, branch)
        return branch

    async def insert(
        self,
        position: int,
        role: str,
        text: str,
        *,
        name: str | None = None,
        witnesses: Iterable[str] | None = None,
        at: str | None = None,
        hidden: bool = False,
        expected_head: int | None = None,
        idempotency_key: str | None = None,
    ) -> BranchInfo:
        """Put a message before the one at `position`. `expected_head` and `idempotency_key` as for `add`."""
        said = message(role, text, speaker=name, witnesses=witnesses)
        draft, _ = clean_draft(Draft(said, Attributes(at, hidden=hidden)))

        def put_before(item: OnPath) -> Splice:
            return Splice(item.position, 0, (Put(draft),))

        return await self._change(position, put_before, DeedKind.INSERTED, expected_head, idempotency_key)

    async def edit(
        self,
        position: int,
        text: str | None = None,
        *,
        speaker: str | None = None,
        role: str | None = None,
        expected: str | None = None,
        expected_head: int | None = None,
    ) -> BranchInfo:
        """Give a message other words, another speaker (`""` = none) or another role; what is not given stays, and so
        do its witnesses, its attributes and its other parts. With `expected`, only if its words are still those that
        were read (see `Things`); with `expected_head`, only if the branch still ends there.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the fery in?")
        ...     _ = story.edit(0, "Is the ferry in?")
        ...     story.messages()[0].entry.message.text
        'Is the ferry in?'
        """
        try:
            return await self._edit(position, text, DeedKind.EDITED, speaker, role, expected, expected_head)
        except TextChanged as changed:
            if changed.current != text:
                raise
            return await self.branch_info()  # it was sent twice

    async def _edit(
        self,
        position: int,
        text: str | None,
        did: DeedKind | None,
        speaker: str | None = None,
        role: str | None = None,
        expected: str | None = None,
        expected_head: int | None = None,
    ) -> BranchInfo:
        def replace_words(item: OnPath) -> Splice:
            old = item.entry.message
            words = old.text
            if expected is not None and (words == text or make_etag(words) != expected):
                raise TextChanged(words)
            edited = replace(
                old,
                parts=old.parts if text is None else put_text(old, text),
                speaker=old.speaker if speaker is None else speaker or None,
                role=old.role if role is None else parse_role(role),
            )
            draft, _ = clean_draft(Draft(edited, item.entry.attributes))
            return Splice(item.position, 1, (Put(draft, replaces=item.entry.id),))

        return await self._change(position, replace_words, did, expected_head)

    async def delete(self, position: int, *, expected_head: int | None = None) -> BranchInfo:
        """Take a message off the path; with `expected_head`, only if the branch still ends there. It stays in the
        store.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the ferry in?")
        ...     _ = story.add("user", "Oops.")
        ...     story.delete(-1).messages
        1
        """
        return await self._change(position, lambda item: Splice(item.position, 1, ()), DeedKind.DELETED, expected_head)

    async def hide(self, position: int, *, hidden: bool = True, expected_head: int | None = None) -> BranchInfo:
        """Do not show a message verbatim any more; it is still remembered. With `expected_head`, only if the branch
        still ends there.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "(Back in a minute.)")
        ...     _ = story.hide(0)
        ...     story.messages()[0].entry.attributes.hidden
        True
        """

        def write(tables: Tables) -> BranchInfo:
            snapshot = tables.snapshot(self._access.key)
            _check_head(snapshot, expected_head)
            item, key = _find_item(snapshot, position), self._access.key
            entry = item.entry
            if entry.attributes.hidden != hidden:
                tables.writer.set_attributes(key, [(entry.id, replace(entry.attributes, hidden=hidden))])
                did = DeedKind.HID if hidden else DeedKind.UNHID
                add_deed(tables, key, Deed(did), item.position, seen=entry.digest)
            return _describe(snapshot)

        return await self._access.store.write(self._access.key, write)

    async def unhide(self, position: int) -> BranchInfo:
        """Show a hidden message again."""
        return await self.hide(position, hidden=False)

    async def regenerate(self, text: str, *, idempotency_key: str | None = None, undoable: bool = False) -> BranchInfo:
        """Put another reply in place of the newest message, which stays beside it as a swipe. `idempotency_key` and
        `undoable` as for `add` and `add_drafts`.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the ferry in?")
        ...     _ = story.add("assistant", "No.")
        ...     _ = story.regenerate("It is.")
        ...     [swipe.message.text for swipe in story.swipes()]
        ['No.', 'It is.']
        """

        def put_another(item: OnPath) -> Splice:
            message = replace(item.entry.message, parts=put_text(item.entry.message, text))
            # No edit of the old one: whatever its file said of that is not said of this one. Hidden stays hidden.
            draft = Draft(message, Attributes(hidden=item.entry.attributes.hidden))
            return Splice(item.position, 1, (Put(clean_draft(draft)[0]),))

        return await self._change(-1, put_another, DeedKind.REPLIED if undoable else None, receipt=idempotency_key)

    async def swipes(self, position: int = -1) -> list[Entry]:
        """Return every message of its role that ever stood at that place after the same messages, the oldest first.
        One that was deleted is no swipe of the one that was written in its place."""
        return [item.entry for item in await self._read_swipes(lambda reader: reader.list_at(position)[1])]

    async def choose(self, swipe: int, position: int = -1, *, idempotency_key: str | None = None) -> BranchInfo:
        """Put the swipe with that number (see `swipes`) on the path. `idempotency_key` as for `add`."""

        def read(reader: SwipeReader) -> tuple[BranchInfo, Splice]:
            item, siblings = reader.list_at(position)
            if not 0 <= swipe < len(siblings):
                last = len(siblings) - 1
                raise BadInput(f"There is no swipe {swipe}; position {item.position} has swipes 0 to {last}.")
            return _describe(reader.snapshot), Splice(item.position, 1, (Reuse(siblings[swipe].entry.id),))

        branch, splice = await self._read_swipes(read)
        return await self._apply(branch, [splice], DeedKind.CHOSE, idempotency_key)

    async def branch(self, name: str, at: int | None = None) -> BranchInfo:
        """Make a branch that holds the story up to and including position `at` (all of it if None).

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "We stay.")
        ...     _ = story.add("user", "It rains.")
        ...     _ = story.branch("what-if", at=0)
        ...     story.switch("what-if").messages
        1
        """
        check_new_name("A branch", name)

        def write(tables: Tables) -> BranchInfo:
            branch = tables.branch(self._access.key, None)
            length = branch.messages if at is None else find_position(branch.messages, at) + 1
            made = tables.writer.fork(self._access.key, branch, name, length, time_at())
            add_deed(tables, self._access.key, Deed(DeedKind.BRANCHED, what=name))
            return made

        return await self._access.store.write(self._access.key, write)

    async def switch(self, name: str) -> BranchInfo:
        """Go on with another branch. Its memory is there at once."""
        key = self._access.key

        def write(tables: Tables) -> BranchInfo:
            before = tables.branch(key, None)
            branch = tables.stories.switch(key, name)
            if branch.name != before.name:
                was = [other.name for other in tables.stories.branches(key)].index(before.name)
                add_deed(tables, key, Deed(DeedKind.SWITCHED, was))
            return branch

        return await self._access.store.write(key, write)

    async def rename_branch(self, name: str, new: str) -> BranchInfo:
        """Give a branch another name."""
        check_new_name("A branch", new)
        key = self._access.key

        def write(tables: Tables) -> BranchInfo:
            renamed = tables.stories.rename_branch(key, name, new)
            add_deed(tables, key, Deed(DeedKind.RENAMED, what=f"the branch {name}"))
            return renamed

        return await self._access.store.write(key, write)

    async def branches(self) -> list[BranchInfo]:
        """Return every branch, the oldest first."""
        key = self._access.key
        return await self._access.store.read(key.owner, lambda tables: tables.stories.branches(key))

    async def branch_info(self) -> BranchInfo:
        """Return the active branch."""
        return await self._access.read_branch()

    async def moves(self) -> list[Move]:
        """Return every move of a head, the oldest first."""
        key = self._access.key
        return await self._access.store.read(key.owner, lambda tables: tables.stories.moves(key))

    async def count_swipes(self, first: int, last: int) -> dict[int, tuple[int, int]]:
        """Return, for each position from first to last, which swipe is chosen and how many there are."""
        return await self._read_swipes(lambda reader: reader.count(first, last))

    async def _read_swipes(self, work: Callable[[SwipeReader], T]) -> T:
        key = self._access.key
        return await self._access.store.read(key.owner, lambda tables: work(SwipeReader(tables, key)))

    async def messages(self, first: int = 0, last: int = -1) -> list[OnPath]:
        """Return what stands at positions first to last of the active path, both included.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the ferry in?", name="Wren")
        ...     [(item.position, item.entry.message.speaker) for item in story.messages()]
        [(0, 'Wren')]
        """

        def read(snapshot: Snapshot) -> list[OnPath]:
            if not snapshot.messages:
                return []
            return snapshot.path(find_position(snapshot.messages, first), find_position(snapshot.messages, last))

        return await self._access.read(lambda moment: read(moment.snapshot))

    async def follow(
        self,
        drafts: Sequence[Draft],
        *,
        whole: bool = True,
        on: str | None = None,
        undoable: bool = False,
        header: Mapping[str, Any] | None = None,
    ) -> Changes:
        """Bring a branch (the active one if None) to what a file (`whole`) or a client's window holds; only what
        differs changes. `undoable` is for what a person asks for by a deed of its own. `header` is what a file says
        beside its messages, kept with them."""
        pairs = [clean_draft(draft) for draft in drafts]
        incoming = [draft for draft, _ in pairs]
        key, store = self._access.key, self._access.store

        def read(tables: Tables) -> tuple[BranchInfo, Alignment, Splices]:
            snapshot = tables.snapshot(key, on)
            alignment = align(snapshot.known(), incoming, whole=whole)
            return _describe(snapshot), alignment, choose_swipes(alignment.script, snapshot.siblings)

        branch, alignment, script = await store.read(key.owner, read)
        replaced = sum(count for _, count in pairs)
        changes = Changes(alignment.added, alignment.updated, alignment.removed, alignment.unchanged, replaced)
        if script:
            keep = keep_file_header(key, header) if header else None
            branch = await self._apply(branch, script, DeedKind.IMPORTED if undoable else None, also=keep)
        elif header:
            await self.keep_header(header)

        def write(tables: Tables) -> None:
            tables.writer.set_attributes(key, alignment.attributes)
            if alignment.alternatives:
                tables.writer.add_siblings(key, tables.branch(key, branch.name).line, alignment.alternatives)

        if alignment.attributes or alignment.alternatives:
            await store.write(key, write)
        return changes

    async def compare(self, drafts: Sequence[Draft], *, on: str | None = None) -> Changes:
        """Return the changes that following a file would make; nothing is written."""
        incoming = [clean_draft(draft)[0] for draft in drafts]
        key = self._access.key

        def read(tables: Tables) -> Alignment:
            return align(tables.snapshot(key, on).known(), incoming, whole=True)

        alignment = await self._access.store.read(key.owner, read)
        return Changes(alignment.added, alignment.updated, alignment.removed, alignment.unchanged)

    async def follow_branch(self, name: str, drafts: Sequence[Draft], *, beside: str, shared: int) -> Changes:
        """Bring the branch of that name to what a file holds. Where there is none it is made of the first `shared`
        messages of another; the active branch stays active."""
        await make_branch(self._access, name, beside=beside, shared=shared)
        return await self.follow(drafts, on=name)

    async def header(self) -> dict[str, Any]:
        """Return what the file the story came from says beside its messages."""
        key = self._access.key
        kept = await self._access.store.read(key.owner, lambda tables: tables.stories.kept(key, "header"))
        return {name: value for name, value in parse_header(kept).items() if name not in OWN_FIELDS}

    async def keep_header(self, header: Mapping[str, Any]) -> None:
        """Keep what a file says beside its messages, for writing it back; whose story it is, no file says."""
        await self._access.store.write(self._access.key, keep_file_header(self._access.key, header))

    async def _change(
        self,
        position: int,
        splice: Callable[[OnPath], Splice],
        did: DeedKind | None = None,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        """Apply what is to become of the message at a position, once for each receipt; again from the start when
        others got there first and nobody minds."""

        def read(snapshot: Snapshot) -> tuple[BranchInfo, Splice]:
            if receipt is None:  # else the store knows whether this very change has moved the head
                _check_head(snapshot, expected_head)
            return _describe(snapshot, expected_head), splice(_find_item(snapshot, position))

        async def change() -> BranchInfo:
            branch, change = await self._access.read(lambda moment: read(moment.snapshot))
            return await self._apply(branch, [change], did, receipt)

        return await (change() if expected_head is not None else retry_when_moved(change))

    async def _apply(
        self,
        branch: BranchInfo,
        script: Splices,
        did: DeedKind | None = None,
        receipt: str | None = None,
        also: Callable[[Tables], None] | None = None,
    ) -> BranchInfo:
        key, store = self._access.key, self._access.store
        marks: tuple[MarkPlace, ...] = ()
        if did is not None:
            marks = await store.read(key.owner, lambda tables: list_marks_in(tables, key, branch.name, script))

        def write_beside(tables: Tables) -> None:
            if did is not None:
                add_path_deed(tables, key, branch.name, did, script[0].at, branch.head, marks)
            if also is not None:
                also(tables)

        return await store.apply(
            key, branch.name, script, at=time_at(), expected_head=branch.head, receipt=receipt, also=write_beside
        )


def _describe(snapshot: Snapshot, head: int | None = None) -> BranchInfo:
    return BranchInfo(snapshot.branch, snapshot.head if head is None else head, snapshot.messages)


def _check_head(snapshot: Snapshot, expected: int | None) -> None:
    if expected is not None and snapshot.head != expected:
        raise HeadMoved("The branch has moved on meanwhile.")


def _find_item(snapshot: Snapshot, position: int) -> OnPath:
    place = find_position(snapshot.messages, position)
    return read_run(snapshot, place, place)[0]
