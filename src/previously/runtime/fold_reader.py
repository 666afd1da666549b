"""What the steps of a fold read of one branch: texts in force, those that wait for approval, and stale ones with what
sets them right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from previously.core.digests import span_key
from previously.core.path import OnPath
from previously.core.versions import REJECTED, TAKEN_BACK, Kind, LiveVersion, Status
from previously.folds import amend
from previously.folds.builtin.quotes import renumber_live
from previously.folds.recap import FoldRules, NotDue, Timeline
from previously.folds.summary import move_cuts
from previously.runtime.fold_store import FoldStore
from previously.runtime.reading import read_run
from previously.runtime.stale import stale_version
from previously.runtime.step import Step
from previously.storage.store import BranchInfo, StoryKey

PENDING_LOOKED_AT = 8
"""How many of the newest versions of a text that wait for approval are looked at."""

TAKEN_BACK_LOOKED_AT = 8
"""How many of the newest refused versions are looked at: two folds with three calls each, and what was rejected."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a story may assume."""

    rules: FoldRules
    amends: bool
    """Whether the folder can set a text right."""
    anew: bool
    """Whether what is not firm is to be made anew."""
    pressed: bool
    """Whether a view had no room for a message outside the tail."""
    failed: Collection[tuple[Kind, str]]
    """Texts that could not be had in this call: one whose amending failed is folded again instead, a short form waits
    for the next call."""
    quotes: bool = False
    """Whether the folder only quotes: it reads a note's own messages and nothing before them."""


class FoldReader:
    """Reads one branch of a story, with a store that answers as of one moment."""

    def __init__(self, store: FoldStore, key: StoryKey, branch: BranchInfo, look: Look) -> None:
        self.store = store
        self.key = key
        self.branch = branch
        self.look = look
        self.rules = look.rules

    async def path(self, first: int, last: int) -> list[OnPath]:
        """Return a run of the path, whole."""
        return await read_run(self.store, self.key, self.branch, first, last)

    async def standing(self, kind: Kind, scope: str, through: int | None = None) -> LiveVersion | None:
        """Return the text in force, firm or not."""
        return await self.store.live(self.key, self.branch.name, kind, scope, through=through)

    async def live(self, kind: Kind, scope: str, through: int | None = None) -> LiveVersion | None:
        """Return the text in force that is not to be made anew."""
        return await self.store.live(self.key, self.branch.name, kind, scope, firm=self.look.anew, through=through)

    async def spans(self, kind: Kind) -> set[tuple[str, int, int]]:
        """Return where such texts stand that are not to be made anew, with their scopes."""
        return await self.store.spans(self.key, self.branch.name, kind, firm=self.look.anew)

    async def pending(self, kind: Kind, scope: str, after: LiveVersion | None, first: int) -> NotDue | None:
        """Return that a fold of the messages from `first` on waits for approval; what waits for other messages does
        not count."""
        for version in await self.store.newest_versions(self.key, kind, scope, Status.PENDING, PENDING_LOOKED_AT):
            last = first + len(version.made.span) - 1
            if version.made.before != (after.version.id if after else None) or last >= self.branch.messages:
                continue
            if span_key(item.entry.digest for item in await self.path(first, last)) == version.made.key:
                return NotDue(f"version {version.id} waits to be approved or rejected")
        return None

    async def stale(
        self, kind: Kind, scope: str, start: int, exact: LiveVersion | None, through: int
    ) -> LiveVersion | None:
        """Return a stale text of this scope, whose chains begin at `start`, that reaches further than the exact one."""
        return await stale_version(
            self.store, self.key, self.branch, kind, scope, start=start, exact=exact, through=through
        )

    async def amend(self, found: LiveVersion, exact: LiveVersion | None) -> Step | None:
        """Return the amending of a stale text behind the exact one; None if it cannot be amended."""
        made, start = found.version.made, found.span.first
        amends = self.look.amends and self.rules.timeline is not Timeline.BRIEF
        if not amends or (made.kind, made.scope) in self.look.failed:
            return None
        old = await self.store.leading_to(self.key, made.anchor, made.reach)
        new = await self.path(start, found.span.last)
        shared = exact.span.last - start + 1 if exact else 0
        if [item.entry.digest for item in old[:shared]] != [item.entry.digest for item in new[:shared]]:
            return None  # it was built on something else than the exact text
        words = {
            Kind.RECAP: self.rules.recap.target_words,
            Kind.CHAPTER: self.rules.chapter_words,
            Kind.BACKBONE: self.rules.backbone_words,
        }
        changed = amend.find_change(old[shared:], new[shared:])
        made = replace(made, carry=move_cuts(made.carry, len(new) - made.reach))
        asked = amend.plan_amend(made, changed, words[made.kind], renumber_live(exact) if exact else "")
        before = exact.version if exact else None
        return Step(made.kind, made.scope, new[shared:], before, asked, amend.AMENDED) if asked else None


def stood_in(live: LiveVersion | None) -> bool:
    """Return whether what stands there is provisional, so that this is at least the second time of asking."""
    return live is not None and live.version.made.status is Status.PROVISIONAL


async def was_taken_back(store: FoldStore, key: StoryKey, kind: Kind, scope: str, run_key: bytes) -> bool:
    """Return whether a person rejected or undid what was made of the same messages: the same text would be no other."""
    for status, by_a_person in ((Status.REFUSED, REJECTED), (Status.UNDONE, TAKEN_BACK)):
        found = await store.newest_versions(key, kind, scope, status, TAKEN_BACK_LOOKED_AT)
        if any(one.made.key == run_key and by_a_person in one.made.reason for one in found):
            return True
    return False
