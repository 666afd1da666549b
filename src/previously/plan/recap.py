"""The recap of a chapter: the next fold of its messages, or the place where the open chapter ends.

A chapter ends in messages that no recap has read, or exactly where a recap ends: closing there makes no fold worthless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.count_nouns import count_nouns
from previously.core.fold_rules import FoldRules, Timeline
from previously.core.marks import SPAN_SCOPE, Chapter, Stretch
from previously.core.note import parse_note
from previously.core.path import OnPath
from previously.core.scene import Fragment
from previously.core.scripts import count_words
from previously.core.snapshot import READ_AHEAD, Snapshot, read_run
from previously.core.tokens import message_tokens
from previously.core.versions import Kind, LiveVersion
from previously.folds import recap
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
from previously.folds.builtin.quotes import renumber_live, renumber_quotes
from previously.folds.combine import CombineFold
from previously.folds.recap import Due, NeedMore, NotDue
from previously.folds.scene import parse_scene
from previously.folds.summary import Gap, append_text, apply_updates
from previously.folds.tiles import Tile, TileRules, cut_note_tiles, cut_scene_tiles, take_leading
from previously.folds.update import Part
from previously.memory.notes import MOST_APPLIED, find_analyses, list_end_kinds, make_fragments, summarize
from previously.memory.state import States
from previously.plan.reader import PlanReader, is_stand_in
from previously.plan.step import Step, Written
from previously.plan.updates import UpdatePlan

LIBRARIAN, SCENES = "librarian", "scenes"

FEWEST_APPLIED = 4
"""While fragments wait to be analysed, so many are applied at a time: each recap is kept, and one for each fragment
would be as many as there are messages."""

APPLIED = "{} fragment{} applied"
TOLD = "{} scene{} told"
ROOM = 1.25
"""The part of its target to which a recap of scenes may grow before it is combined: else every scene would ask for
it."""


class RecapPlan:
    """Looks at the recaps of one branch."""

    def __init__(self, reader: PlanReader, ends: ChapterEnds, states: States) -> None:
        self._reader = reader
        self._snapshot = reader.snapshot
        self._look = reader.look
        self._rules = reader.rules
        self._ends = ends
        self._updates = UpdatePlan(reader.snapshot, reader.rules, states, anew=reader.look.anew)

    def plan_next(self, current: Chapter, open_since: int) -> Step | Boundary | NotDue:
        """Return the next fold of the open chapter, or its end, which is looked for behind `open_since`."""
        stretch = current.last_stretch
        live = self._reader.find_standing(Kind.RECAP, stretch.scope)
        base = self._reader.find_live(Kind.RECAP, stretch.scope) if live and not live.version.firm else live
        first = base.span.last + 1 if base else stretch.first
        pending = self._reader.find_pending(Kind.RECAP, stretch.scope, base, first)
        if pending:
            return pending
        tail = self._rules.recap.tail_messages
        end = self._snapshot.messages - tail
        if self._rules.timeline.is_derived:
            return self._next_derived(current, base, first, open_since)
        named = self._ends.find_named_end(current, base, open_since) if base and base.span.last < end else None
        if named and base == live:
            return named
        settled = live is not None and live.span.last >= end - 1  # all but the tail is told exactly
        stale = None
        if not settled:
            stale = self._reader.find_stale(Kind.RECAP, stretch.scope, stretch.first, live, self._snapshot.messages - 1)
        amended = self._reader.plan_amend(stale, live) if stale else None
        if amended:
            return amended
        again_through = live.span.last if live and live != base else -1
        if stale:  # it cannot be set right, so all it stands for is folded again
            again_through = max(again_through, min(stale.span.last, end - 1))
        unread: list[OnPath] = []
        due = self.find_due(base, first, self._snapshot.messages, tail, again_through=again_through, read=unread)
        outside = [item for item in unread if open_since <= item.position < end]
        if outside and outside[0].position > open_since:  # a chapter may end just where the recap does
            outside = [*self._reader.read_path(outside[0].position - 1, outside[0].position - 1), *outside]
        boundary = self._ends.find_boundary(current, outside, open_since)
        if boundary and (isinstance(due, NotDue) or boundary.position <= due.span.last) and again_through < 0:
            return boundary
        return self.plan_step(stretch, base, due, again=is_stand_in(live)) if isinstance(due, Due) else due

    def _next_derived(
        self, current: Chapter, base: LiveVersion | None, first: int, open_since: int
    ) -> Step | Boundary | NotDue:
        """Return the same where the recap is put together from notes: the chapter may end just before them."""
        librarian = self._rules.timeline is Timeline.LIBRARIAN
        held_back = self._rules.apply_after if librarian else self._rules.recap.tail_messages
        last = min(first + MOST_APPLIED, self._snapshot.messages - held_back) - 1
        since = max(open_since, first - 1)
        unread = self._reader.read_path(since, last) if last >= since else []
        boundary = self._ends.find_boundary(current, unread, open_since)
        if boundary:
            return boundary
        step = self.derive(current.last_stretch, base, self._snapshot.messages, closing=False)
        if base and base.span.last >= open_since and self._ends.would_cut(base, step):
            return Boundary(base.span.last, self._ends.read_opening(current.first, open_since).title, FULL_SUMMARY)
        return step

    def derive(self, stretch: Stretch, live: LiveVersion | None, end: int, *, closing: bool) -> Step | NotDue:
        """Return the next recap that is put together from notes."""
        derived = DerivedRecap(self._reader.snapshot, self._rules, anew=self._look.anew)
        return derived.plan_next(stretch, live, end, closing=closing)

    def find_due(
        self,
        live: LiveVersion | None,
        first: int,
        end: int,
        tail: int,
        *,
        again_through: int = -1,
        read: list[OnPath] | None = None,
    ) -> Due | NotDue:
        """Ask the recap whether it is due on a path that ends before `end`, reading on while it needs more."""
        rules = replace(self._rules.recap, tail_messages=tail)
        words = count_words(live.version.made.text) if live else 0
        unread: list[OnPath] = [] if read is None else read
        while True:
            decision = recap.plan(words, first, end, unread, rules, again_through=again_through)
            if isinstance(decision, NotDue) and tail and self._look.pressed:
                decision = recap.plan(words, first, end, unread, rules, pressure=True, again_through=again_through)
            if not isinstance(decision, NeedMore):
                return decision
            ahead = max(READ_AHEAD, len(unread))  # twice as much each time, so that counting anew stays cheap
            unread += self._reader.read_path(decision.position, min(decision.position + ahead, end) - 1)

    def plan_step(self, stretch: Stretch, live: LiveVersion | None, due: Due, *, again: bool = False) -> Step:
        """Return the fold of what is due, after a recap."""
        before = live.version if live else None
        if self._rules.timeline is not Timeline.BRIEF:
            text = renumber_live(live) if live else ""
            if not self._look.amends:  # the built-in writer needs no more than the messages
                asked = self._updates.ask_bare(due.delta, text)
                return Step(Kind.RECAP, stretch.scope, due.delta, before, asked, due.reason)
            # Librarians and scenes have notes of their own: of what they have not told only the texts are wanted.
            part = Part.WHOLE if self._rules.timeline is Timeline.RECAP else Part.TEXTS
            asked = self._updates.ask(due.delta, part, text, again=again and due.reason == recap.AGAIN)
            beside = self._updates.find_beside(due.delta)
            return Step(Kind.RECAP, stretch.scope, due.delta, before, asked, due.reason, beside=beside)
        question = recap.plan_brief(live, due, self._rules, again=again)
        return Step(Kind.RECAP, stretch.scope, due.delta, before, question, due.reason)


FULL_SUMMARY = "the librarian's summary is full"

FEWEST_FRAGMENTS = 8
"""Messages that are enough for a chapter that closes because a librarian's summary is full: twice what is applied at
once. A summary that is full of fewer has a limit that no chapter helps."""

MOST_NAMED = 512
"""The newest messages that are looked through for the note that named a scene's end, so that a look costs the same
however long the fold was."""


class ChapterEnds:
    """Looks at one branch of a story."""

    def __init__(self, snapshot: Snapshot, rules: FoldRules) -> None:
        self._snapshot = snapshot
        self._rules = rules

    def find_boundary(self, current: Chapter, unread: Sequence[OnPath], open_since: int) -> Boundary | None:
        """Return the place where the open chapter ends, looked for in messages of which a recap has read at most the
        first."""
        if not unread:
            return None
        opening = self.read_opening(current.first, open_since)
        grown = self._grown(open_since, unread[0].position)
        if self._rules.timeline is Timeline.BRIEF:  # the headings of agents are those of lists
            return find_boundary(opening, grown, unread, headings=lambda *_: False)
        if self._rules.timeline is Timeline.LIBRARIAN:
            return find_boundary(opening, grown, unread, headings=lambda *_: True)
        return find_boundary(opening, grown, unread)

    def find_named_end(self, current: Chapter, base: LiveVersion, open_since: int) -> Boundary | None:
        """Return the end of a recap that is long enough for a chapter and whose newest fold says that a scene ended."""
        last = base.span.last
        grown = self._grown(open_since, last + 1)
        if self._rules.timeline is not Timeline.RECAP or grown.through(last) < 1:
            return None
        first = max(open_since, last - min(len(base.version.made.span), MOST_NAMED) + 1)
        run = self._path(first, last)
        digests = [item.entry.digest for item in run]
        tiles = cut_note_tiles(run, self._snapshot.notes(Kind.NOTE, SPAN_SCOPE, digests))
        newest = tiles[-1] if tiles and tiles[-1].span.last == last else None
        ends = parse_note(newest.note.made.text).scene_ends if newest and newest.note else ()
        if newest is None or not closes_at_named_end(ends, len(newest.span), grown.through(last)):
            return None
        title = self.read_opening(current.first, open_since).title
        messages = count_nouns(last - open_since + 1, "message")
        return Boundary(last, title, f"a scene ended, {messages} after the chapter began")

    def would_cut(self, live: LiveVersion, step: Step | NotDue) -> bool:
        """Return whether a librarian's summary would lose its front, though it tells enough to be a chapter of its
        own."""
        if self._rules.timeline is not Timeline.LIBRARIAN or not isinstance(step, Step):
            return False
        cuts = isinstance(step.asked, Written) and not step.asked.text.startswith(renumber_live(live))
        return cuts and live.version.made.reach >= FEWEST_FRAGMENTS

    def _grown(self, since: int, before: int) -> Grown:
        """Return the length of the open chapter up to a message; of a very long one the newest part is enough to say
        so."""
        chapter_messages = self._rules.chapter_messages
        first = max(since, before - LONGEST * chapter_messages)
        read = self._path(first, before - 1) if chapter_messages and before > first else []
        return Grown(since, chapter_messages, sum(message_tokens(item.entry.message) for item in read))

    def read_opening(self, first: int, open_since: int) -> Opening:
        """Return the opening of the open chapter: as its first messages say, or the first since it was kept open."""
        since = (self._path(open_since, open_since))[0]
        last = min(first + OPENING_MESSAGES, self._snapshot.messages) - 1
        return find_opening(self._path(first, last), read_chapter_name(since))

    def _path(self, first: int, last: int) -> list[OnPath]:
        return read_run(self._snapshot, first, last)


class DerivedRecap:
    """Puts the recap of one stretch together from notes. It stops at the first gap, and asks a model only to combine
    what has grown too long."""

    def __init__(self, snapshot: Snapshot, rules: FoldRules, *, anew: bool = False) -> None:
        """`anew`: notes that only stand in for better ones are about to be made anew, so they are waited for."""
        self._snapshot = snapshot
        self._rules = rules
        self._anew = anew

    def plan_next(self, stretch: Stretch, live: LiveVersion | None, end: int, *, closing: bool) -> Step | NotDue:
        """Return what the recap takes in next of the messages before `end`; a chapter that is closing is told to its
        end."""
        first = live.span.last + 1 if live else stretch.first
        if first >= end:
            return NotDue("all that was noted is in the summary")
        run = self._snapshot.path(first, min(end, first + MOST_APPLIED) - 1)
        if self._rules.timeline is Timeline.LIBRARIAN:
            return self._applied(stretch, live, run, end, closing=closing)
        return self._told(stretch, live, run, end, closing=closing)

    def _applied(
        self, stretch: Stretch, live: LiveVersion | None, run: Sequence[OnPath], end: int, *, closing: bool
    ) -> Step | NotDue:
        tiles = find_analyses(self._snapshot, run)
        fragments = make_fragments(run, [self._to_be_told(tile) for tile in tiles])
        held_back = 0 if closing or run[-1].position < end - 1 else self._rules.apply_after
        application = apply_updates(fragments, run[0].position, held_back)
        before = renumber_live(live) if live else ""
        if len(append_text(before, application.text)) > self._rules.summary_characters:
            # A chapter can close behind what fits.
            done = [fragment for fragment in fragments if fragment.position <= application.through]
            application = apply_updates(
                _take_fitting(done, len(before), self._rules.summary_characters), run[0].position, 0
            )
        count = application.through - run[0].position + 1
        if count <= 0 or (application.gap and not closing and count < FEWEST_APPLIED):
            waits = f"the newest {held_back} fragments wait until others follow them"
            return NotDue(_explain_gap(application.gap) if application.gap else waits)
        summary = summarize(self._rules, stretch, live, application)
        reason = APPLIED.format(len(application.applied), "s" if len(application.applied) != 1 else "")
        written = Written(summary.text, LIBRARIAN, firm=_are_firm(tiles[:count]), carry=summary.carry)
        return self._step(stretch, live, run[:count], written, reason)

    def _told(
        self, stretch: Stretch, live: LiveVersion | None, run: Sequence[OnPath], end: int, *, closing: bool
    ) -> Step | NotDue:
        marks = self._snapshot.marks(list_end_kinds(self._rules), since=run[0].position)
        notes = self._snapshot.notes(Kind.SCENE, SPAN_SCOPE, [item.entry.digest for item in run])
        before = end if closing else end - self._rules.recap.tail_messages
        ends = {mark.position for mark in marks} | ({end - 1} if closing else set())
        tiles = cut_scene_tiles(run, notes, ends, TileRules(self._rules.scene_messages, before))
        scenes = take_leading([self._to_be_told(tile) for tile in tiles])
        if not scenes:
            return NotDue(f"the scene from message {run[0].position} on is not noted yet")
        summaries = [
            renumber_quotes(parse_scene(tile.note.made.text).summary, tile.note.made, tile.span)
            for tile in scenes
            if tile.note
        ]
        count = scenes[-1].span.last - run[0].position + 1
        earlier = renumber_live(live) if live else ""
        text = "\n\n".join(filter(None, [earlier, *summaries]))
        reason, target = TOLD.format(len(summaries), "s" if len(summaries) != 1 else ""), self._rules.recap.target_words
        if target and count_words(text) > target * ROOM:
            asked = CombineFold.of([earlier, *summaries] if earlier else summaries, target)
            return Step(Kind.RECAP, stretch.scope, run[:count], live.version if live else None, asked, reason)
        return self._step(stretch, live, run[:count], Written(text, SCENES, firm=_are_firm(scenes)), reason)

    def _to_be_told(self, tile: Tile) -> Tile:
        """Return a tile with its note, if that is not waited for."""
        return replace(tile, note=None) if self._anew and tile.note and not tile.note.firm else tile

    def _step(
        self, stretch: Stretch, live: LiveVersion | None, run: Sequence[OnPath], written: Written, reason: str
    ) -> Step:
        return Step(Kind.RECAP, stretch.scope, run, live.version if live else None, written, reason)


def _take_fitting(fragments: Sequence[Fragment], characters: int, most: int) -> Sequence[Fragment]:
    """Return the first fragments, one at least, whose updates fit a summary that has so many characters already."""
    for at, fragment in enumerate(fragments):
        characters += len(fragment.analysis.summary_update) + 1 if fragment.analysis else 0
        if characters > most and at:
            return fragments[:at]
    return fragments


def _are_firm(tiles: Sequence[Tile]) -> bool:
    return all(tile.note.firm for tile in tiles if tile.note)


def _explain_gap(gap: Gap) -> str:
    return f"message {gap.position} stops the librarian's summary: {gap.reason}"
