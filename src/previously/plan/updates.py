"""The questions of updates: what each is told beside its messages, and which spans still lack an episode or a note.

A span that an update told keeps an episode and a note. Where one of them is missing (a message was changed, a model
could not give it, a person took it back), it is asked for by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.fold_rules import FoldRules
from previously.core.marks import SPAN_SCOPE
from previously.core.path import OnPath, Span, find_opening
from previously.core.people import NARRATORS, People
from previously.core.scripts import casefold, count_words
from previously.core.snapshot import Snapshot
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind, Status, Version, has_read
from previously.folds.context import UpdateContext
from previously.folds.prompts.templates import name_speaker, render_message
from previously.folds.recap import AGAIN
from previously.folds.tiles import MissingNote, find_missing, find_newest
from previously.folds.update import UPDATED, Part, UpdateFold
from previously.lore.state import State
from previously.lore.threads import choose_shown_threads
from previously.memory.background import apply_hand_records, divide_known, list_open, read_texts_before
from previously.memory.notes import Walk, walk
from previously.memory.state import States
from previously.plan.step import Step

THREAD_TOKENS = 600
"""Tokens of the open threads together: some twenty of the length that is asked for. With 500, promises of the first
fold were shown no more and stood open when they had been kept."""

SMALL_CHAPTER, SMALL_RECAP = 4_000, 300
"""The first recap of a chapter that has fewer tokens so far has so many words at most: more would retell it, and take
the room of the chapters before it."""

WORDS_SHARE, FEWEST_WORDS = 4, 60
"""A recap grows by at most a third of the words it reads (a quarter of their tokens), and has 60 words at least:
whoever is asked for more than there is to tell pads it."""

MOST_WAITING = 64
"""Notes that may wait to be approved without being asked for again."""

CHANGED, NO_NOTE_YET = "a message of it was changed", "it has no note yet"


class UpdatePlan:
    """Looks at one branch of a story."""

    def __init__(self, snapshot: Snapshot, rules: FoldRules, states: States, *, anew: bool) -> None:
        self._snapshot = snapshot
        self._rules = rules
        self._states = states
        self._anew = anew

    def ask(self, run: Sequence[OnPath], part: Part, recap: str | None = None, *, again: bool = False) -> UpdateFold:
        """Return the question for a run of the path. `recap` is the text it goes on from, if that is known."""
        first = run[0].position
        before, so_far = read_texts_before(self._snapshot, first)
        seen = walk(self._snapshot, self._rules, firm=self._anew, before=first)
        state = self._states.reduce(seen, self._rules, through=first - 1)
        state = apply_hand_records(self._snapshot, state, first)
        bridge = self._snapshot.path(first - 1, first - 1) if first else []
        messages = (item.entry.message for item in run)
        about = "\n".join(f"{name_speaker(message)}: {render_message(message)}" for message in messages)
        lists = list_open(state, first, about)
        known, others = divide_known(state.known, about)
        context = UpdateContext(
            before=before,
            recap=so_far if recap is None else recap,
            bridge=bridge[0].entry.message if bridge else None,
            known=known,
            others=others,
            threads=_choose_threads(state, first, about),
            state=lists["state"],
            players=_list_players(state, run),
            tellers=_list_tellers(state.people, run),
        )
        return self._fold(run, context, part, again=again)

    def ask_bare(self, run: Sequence[OnPath], recap: str) -> UpdateFold:
        """Return the question for a writer who reads the messages and the recap before them, and nothing else."""
        return self._fold(run, UpdateContext(recap=recap), Part.WHOLE)

    def _fold(self, run: Sequence[OnPath], context: UpdateContext, part: Part, *, again: bool = False) -> UpdateFold:
        first = run[0].position
        messages = tuple(item.entry.message for item in run)
        skipped = len(find_opening(run)) if first == 0 else 0
        return UpdateFold(messages, context, part, self._words(run, context), first, skipped, again=again)

    def _words(self, run: Sequence[OnPath], context: UpdateContext) -> int:
        """Return how long the recap should be: shorter while there is little to tell."""
        target = self._rules.recap.target_words
        tokens = sum(estimate_tokens(render_message(item.entry.message)) for item in run)
        if not target:
            return 0
        if not context.recap and tokens < SMALL_CHAPTER:
            target = min(target, SMALL_RECAP)
        return min(target, max(FEWEST_WORDS, count_words(context.recap) + tokens // WORDS_SHARE))

    def find_beside(self, run: Sequence[OnPath]) -> dict[Kind, int]:
        """Return the episode and the note that this very run has, in whose place new ones are made."""
        beside: dict[Kind, int] = {}
        digests = [item.entry.digest for item in run]
        for kind in (Kind.EPISODE, Kind.NOTE):
            notes = self._snapshot.notes(kind, SPAN_SCOPE, digests[:1])
            note = find_newest([note for note in notes if has_read(note.made, digests)])
            if note:
                beside[kind] = note.id
        return beside

    def plan_missing(self, seen: Walk) -> Step | None:
        """Return the step that makes the oldest episode or note that is missing; None if none is."""
        if not seen.path:
            return None
        region = self._told_by_updates(seen)
        if not region:
            return None
        wanted = find_missing(region, seen.episodes, seen.updates, self._rules.recap.due_messages, anew=self._anew)
        waiting = self._waiting() if wanted else frozenset()
        last = seen.first + len(seen.path) - 1
        for missing in wanted:
            if missing.span.last == last and missing.span.first > seen.first and not seen.whole:
                continue  # what has its episode may reach over the end of the look: the next look begins before it
            run = seen.path[missing.span.first - seen.first : missing.span.last - seen.first + 1]
            step = self._missing_step(missing, run)
            if step.key not in waiting:
                return step
        return None

    def _missing_step(self, wanted: MissingNote, run: Sequence[OnPath]) -> Step:
        asked = self.ask(run, wanted.part, again=wanted.again)
        reason = AGAIN if wanted.stand_ins else CHANGED if wanted.part.has_episode else NO_NOTE_YET
        beside = {other: ident for other, ident in self.find_beside(run).items() if other is not asked.kind}
        return Step(asked.kind, SPAN_SCOPE, run, None, asked, reason, beside=beside)

    def lacks_first(self, seen: Walk) -> bool:
        """Return whether a walk begins with messages that are to be noted and are not yet. What was folded without
        updates has no notes and never will."""
        if not seen.updates or seen.updates[0].span.first <= seen.first:
            return False
        first, end = seen.first, seen.updates[0].span.first
        without = {
            at for span, updated in self._told(first, end - 1) if not updated for at in range(span.first, span.last + 1)
        }
        return len(without) < end - first

    def _told_by_updates(self, seen: Walk) -> list[Span]:
        """Return the spans of a walk that updates told, in path order. What is about to be told anew is left out: its
        episode and note come with it."""
        last = seen.first + len(seen.path) - 1
        return sorted(span for span, updated in self._told(seen.first, last, firm=self._anew) if updated)

    def _told(self, first: int, last: int, *, firm: bool = False) -> list[tuple[Span, bool]]:
        """Return the spans that recaps and chapters tell of from one position to another, each with whether an update
        told it."""
        spans: list[tuple[Span, bool]] = []
        for kind in (Kind.RECAP, Kind.CHAPTER):
            for begin, end, ident in self._snapshot.cover(kind, firm=firm):
                if end >= first and begin <= last:
                    version = self._snapshot.version(ident)
                    updated = version is not None and UPDATED in version.made.carry.split() and self._stays(version)
                    spans.append((Span(max(begin, first), min(end, last)), updated))
        return spans

    def _stays(self, version: Version) -> bool:
        """Return whether a recap is not about to be made anew: that gives episode and note too."""
        return version.firm or not self._anew

    def _waiting(self) -> frozenset[bytes]:
        pending: list[Version] = []
        for kind in (Kind.EPISODE, Kind.NOTE):
            pending += self._snapshot.newest_versions(kind, SPAN_SCOPE, Status.PENDING, MOST_WAITING)
        return frozenset(version.made.key for version in pending)


def _choose_threads(state: State, first: int, about: str) -> tuple[tuple[str, str], ...]:
    """Return the open threads that are shown: as many as there is room for, those that matter most."""
    still_open = [thread for thread in state.threads.threads if thread.opened < first]
    return tuple(
        (thread.id, thread.text) for thread in choose_shown_threads(still_open, first, about, most_tokens=THREAD_TOKENS)
    )


def _list_players(state: State, run: Sequence[OnPath]) -> tuple[str, ...]:
    """Return the players who write in a run, each with their character where one is known."""
    writers = [name for name, plays in _find_voices(state.people, run).items() if plays]
    known = {name: state.players.get(casefold(name)) for name in writers}
    return tuple(f"{name} (plays {plays.character})" if plays else name for name, plays in known.items())


def _list_tellers(people: People, run: Sequence[OnPath]) -> tuple[str, ...]:
    return tuple(name for name, plays in _find_voices(people, run).items() if not plays)


def _find_voices(people: People, run: Sequence[OnPath]) -> dict[str, bool]:
    """Return who writes in a run, and whether as a user; whoever plays in the story at all is a player."""
    plays = {key for key, person in people.items() if person.plays}
    voices: dict[str, bool] = {}
    for item in run:
        message = item.entry.message
        name = (message.speaker or "").strip()
        if name and casefold(name) not in NARRATORS:
            voices[name] = voices.get(name, False) or message.role.value == "user" or casefold(name) in plays
    return voices
