"""Where the open chapter of a branch ends by itself: reads what the rules of `folds.boundary` need to decide.

A boundary lies in messages that no recap has read, or exactly where a recap ends: closing there makes no fold
worthless.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.marks import SPAN_SCOPE, Chapter
from previously.core.note import parse_note
from previously.core.path import OnPath
from previously.core.tokens import message_tokens
from previously.core.versions import Kind, LiveVersion
from previously.folds.boundary import (
    LONGEST,
    OPENING_MESSAGES,
    Boundary,
    Grown,
    Opening,
    closes_at_named_end,
    find_boundary,
    find_opening,
    read_chapter_name,
)
from previously.folds.builtin.quotes import renumber_live
from previously.folds.recap import FoldRules, NotDue, Timeline
from previously.folds.tiles import cut_note_tiles
from previously.runtime.fold_store import FoldStore
from previously.runtime.reading import read_run
from previously.runtime.step import Step, Written
from previously.storage.store import BranchInfo, StoryKey

FULL_SUMMARY = "the librarian's summary is full"

FEWEST_FRAGMENTS = 8
"""So many messages are enough for a chapter that closes because a librarian's summary is full: twice what is applied at
once. A summary that is full of fewer has a limit that no chapter helps."""

MOST_NAMED = 512
"""How many of the newest messages are looked through for the note that named a scene's end."""


class ChapterEnds:
    """Looks at one branch of a story, with a store that answers as of one moment."""

    def __init__(self, store: FoldStore, key: StoryKey, branch: BranchInfo, rules: FoldRules) -> None:
        self._store = store
        self._key = key
        self._branch = branch
        self._rules = rules

    async def boundary(self, current: Chapter, unread: Sequence[OnPath], open_since: int) -> Boundary | None:
        """Where the open chapter ends, looked for in messages of which a recap has read at most the first."""
        if not unread:
            return None
        opening = await self.opening(current.first, open_since)
        grown = await self._grown(open_since, unread[0].position)
        if self._rules.timeline is Timeline.BRIEF:  # the headings of agents are those of lists
            return find_boundary(opening, grown, unread, headings=lambda *_: False)
        if self._rules.timeline is Timeline.LIBRARIAN:
            return find_boundary(opening, grown, unread, headings=lambda *_: True)
        return find_boundary(opening, grown, unread)

    async def named_end(self, current: Chapter, base: LiveVersion, open_since: int) -> Boundary | None:
        """The end of a recap that is long enough for a chapter and whose newest fold says that a scene ended."""
        last = base.span.last
        grown = await self._grown(open_since, last + 1)
        if self._rules.timeline is not Timeline.RECAP or grown.through(last) < 1:
            return None
        first = max(open_since, last - min(len(base.version.made.span), MOST_NAMED) + 1)
        run = await self._path(first, last)
        digests = [item.entry.digest for item in run]
        tiles = cut_note_tiles(run, await self._store.notes(self._key, Kind.NOTE, SPAN_SCOPE, digests))
        newest = tiles[-1] if tiles and tiles[-1].span.last == last else None
        ends = parse_note(newest.note.made.text).scene_ends if newest and newest.note else ()
        if newest is None or not closes_at_named_end(ends, len(newest.span), grown.through(last)):
            return None
        title = (await self.opening(current.first, open_since)).title
        return Boundary(last, title, f"a scene ended, {last - open_since + 1} messages after the chapter began")

    def would_cut(self, live: LiveVersion, step: Step | NotDue) -> bool:
        """Whether a librarian's summary would lose its front, though it tells enough to be a chapter of its own."""
        if self._rules.timeline is not Timeline.LIBRARIAN or not isinstance(step, Step):
            return False
        cuts = isinstance(step.asked, Written) and not step.asked.text.startswith(renumber_live(live))
        return cuts and live.version.made.reach >= FEWEST_FRAGMENTS

    async def _grown(self, since: int, before: int) -> Grown:
        """How long the open chapter is up to a message; of a very long one the newest part is enough to say so."""
        chapter_messages = self._rules.chapter_messages
        first = max(since, before - LONGEST * chapter_messages)
        read = await self._path(first, before - 1) if chapter_messages and before > first else []
        return Grown(since, chapter_messages, sum(message_tokens(item.entry.message) for item in read))

    async def opening(self, first: int, open_since: int) -> Opening:
        """How the open chapter begins: as its first messages say, or the first since it was kept open."""
        since = (await self._path(open_since, open_since))[0]
        last = min(first + OPENING_MESSAGES, self._branch.messages) - 1
        return find_opening(await self._path(first, last), read_chapter_name(since))

    async def _path(self, first: int, last: int) -> list[OnPath]:
        return await read_run(self._store, self._key, self._branch, first, last)
