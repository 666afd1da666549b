"""Reads of one branch that all plans share: texts in force, those that wait for approval, and stale ones with what sets
them right."""

from __future__ import annotations

from dataclasses import replace

from previously.core.digests import span_key
from previously.core.fold_rules import FoldRules, Timeline
from previously.core.path import OnPath
from previously.core.snapshot import Snapshot, read_run
from previously.core.versions import REJECTED, TAKEN_BACK, Kind, LiveVersion, Status
from previously.folds import amend
from previously.folds.builtin.quotes import renumber_live
from previously.folds.recap import NotDue
from previously.folds.summary import move_cuts
from previously.memory.notes import find_stale
from previously.plan.step import Look, Step

PENDING_LOOKED_AT = 8
"""The newest versions of a text that wait for approval and are looked at: each was made after the one before was
decided or overtaken."""

TAKEN_BACK_LOOKED_AT = 8
"""The newest refused versions that are looked at: two folds with three calls each, and what was rejected."""


class PlanReader:
    """Reads one branch of a story."""

    def __init__(self, snapshot: Snapshot, look: Look) -> None:
        self.snapshot = snapshot
        self.look = look
        self.rules: FoldRules = look.rules

    def read_path(self, first: int, last: int) -> list[OnPath]:
        """Return a run of the path, whole."""
        return read_run(self.snapshot, first, last)

    def find_standing(self, kind: Kind, scope: str, through: int | None = None) -> LiveVersion | None:
        """Return the text in force, firm or not."""
        return self.snapshot.live(kind, scope, through=through)

    def find_live(self, kind: Kind, scope: str, through: int | None = None) -> LiveVersion | None:
        """Return the text in force that is not to be made anew."""
        return self.snapshot.live(kind, scope, firm=self.look.anew, through=through)

    def find_spans(self, kind: Kind) -> set[tuple[str, int, int]]:
        """Return where such texts stand that are not to be made anew, with their scopes."""
        return self.snapshot.spans(kind, firm=self.look.anew)

    def find_pending(self, kind: Kind, scope: str, after: LiveVersion | None, first: int) -> NotDue | None:
        """Return that a fold of the messages from `first` on waits for approval; what waits for other messages does not
        count."""
        for version in self.snapshot.newest_versions(kind, scope, Status.PENDING, PENDING_LOOKED_AT):
            last = first + len(version.made.span) - 1
            if version.made.before != (after.version.id if after else None) or last >= self.snapshot.messages:
                continue
            if span_key(item.entry.digest for item in self.read_path(first, last)) == version.made.key:
                return NotDue(f"version {version.id} waits to be approved or rejected")
        return None

    def find_stale(
        self, kind: Kind, scope: str, start: int, exact: LiveVersion | None, through: int
    ) -> LiveVersion | None:
        """Return a stale text of this scope, whose chains begin at `start`, that reaches further than the exact one."""
        return find_stale(self.snapshot, kind, scope, start=start, exact=exact, through=through)

    def plan_amend(self, stale: LiveVersion, exact: LiveVersion | None) -> Step | None:
        """Return the amending of a stale text behind the exact one; None if it cannot be amended."""
        made, start = stale.version.made, stale.span.first
        amends = self.look.amends and self.rules.timeline is not Timeline.BRIEF
        if not amends or (made.kind, made.scope) in self.look.failed:
            return None
        old = self.snapshot.leading_to(made.anchor, made.reach)
        new = self.read_path(start, stale.span.last)
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


def is_stand_in(live: LiveVersion | None) -> bool:
    """Return whether what stands there is provisional, so that this is at least the second time of asking."""
    return live is not None and live.version.made.status is Status.PROVISIONAL


def was_taken_back(snapshot: Snapshot, kind: Kind, scope: str, run_key: bytes) -> bool:
    """Return whether a person rejected or undid what was made of the same messages: the same text would be no other."""
    for status, by_a_person in ((Status.REFUSED, REJECTED), (Status.UNDONE, TAKEN_BACK)):
        versions = snapshot.newest_versions(kind, scope, status, TAKEN_BACK_LOOKED_AT)
        if any(version.made.key == run_key and by_a_person in version.made.reason for version in versions):
            return True
    return False
