"""Plans of what characters know: all are told at once, each only of what they witnessed.

A character's memory reads no message that they did not witness, and the failure of one changes nobody else's. Where
nothing was witnessed, nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from previously.core.messages import Role
from previously.core.path import OnPath
from previously.core.people import People, Person, is_group, list_characters
from previously.core.presence import Presence, PresenceSource
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, Status
from previously.folds.cast import CastFold
from previously.memory.known import cast_scope, find_asked_alone
from previously.memory.notes import Walk
from previously.plan.step import Look, Step, Together

MOST_READ = 64
"""Witnessed messages that one update reads, so that its question stays short; a longer absence or a long import takes
several."""

MOST_PASSED = 1_024
"""Messages that one look passes over to find one that was witnessed: as many as one walk through the notes."""

TURN_OVER = "a turn is over"
WITNESSED = "there is more that was witnessed"


class CastPlan:
    """Looks at one branch of a story."""

    def __init__(self, snapshot: Snapshot, look: Look, presence: Callable[[], Presence]) -> None:
        self._snapshot = snapshot
        self._look = look
        self._presence = presence

    def plan_next(self, seen: Walk, people: People) -> Together | None:
        """Return the updates that are due, one for each character who has witnessed something new."""
        mode = self._look.rules.cast
        if mode == "off" or (mode == "group" and not is_group(people)):
            return None
        if mode == "group" and self._snapshot.all_witnessed():
            return None  # nobody said who was there: the update tells what they learnt
        through = self._turn_end() if mode == "turn" else seen.settled
        reason = TURN_OVER if mode == "turn" else WITNESSED
        presence = self._presence()
        by_name = {person.name: person for person in people.values()}
        asked = {presence.names.key(name): by_name[name] for name in list_characters(people)}  # each person once
        steps = [self._update(person, through, reason, presence) for person in asked.values()]
        due = tuple(step for step in steps if step)
        return Together(due) if due else None

    def _turn_end(self) -> int:
        """Return the newest message that is no user's: what the user just said belongs to a turn that is not over."""
        end = self._snapshot.messages
        newest = self._snapshot.path(max(0, end - MOST_READ), end - 1)
        over = (item.position for item in reversed(newest) if item.entry.message.role is not Role.USER)
        return next(over, end - len(newest) - 1)

    def _update(self, person: Person, through: int, reason: str, presence: Presence) -> Step | None:
        scope = cast_scope(person.name, presence)
        whose = self._snapshot, person.name, presence
        live = find_asked_alone(*whose, firm=self._look.anew)
        stood = find_asked_alone(*whose) if self._look.anew else live
        first = live.span.last + 1 if live else 0
        counts = _Counting(person, presence)
        run = self._run(counts, first, through)
        if not run or self._waits(scope, run):
            return None
        asked = CastFold.of(
            person.name,
            [replace(item.entry.message, witnesses=(person.name,)) for item in run if counts(item)],
            so_far=live.version.made.text if live else "",
            at=run[-1].position,
            again=stood is not None and stood != live and stood.version.made.status is Status.PROVISIONAL,
        )
        last = run[-1].position
        there = self._snapshot.live(Kind.CAST, scope, through=last)
        rests_on = presence.digest(person.name, last)
        again = there is not None and there.span.last == last and there.version.made.carry != rests_on
        replaces = there.version.id if there and again else None  # it rests on what they are not taken to know any more
        return Step(Kind.CAST, scope, run, live.version if live else None, asked, reason, replaces, rests_on=rests_on)

    def _run(self, counts: _Counting, first: int, through: int) -> list[OnPath]:
        """Return the messages from `first` on that the next update stands for; none if nothing of them was
        witnessed."""
        run: list[OnPath] = []
        read = 0
        while first + len(run) <= through and len(run) < MOST_PASSED:
            at = first + len(run)
            batch = self._snapshot.path(at, min(at + MOST_READ - 1, through))
            for item in batch:
                if read == MOST_READ:
                    return run
                run.append(item)
                read += counts(item)
        return run if read or len(run) >= MOST_PASSED else []

    def _waits(self, scope: str, run: list[OnPath]) -> bool:
        pending = self._snapshot.newest_versions(Kind.CAST, scope, Status.PENDING, 1)
        return bool(pending) and pending[0].made.anchor == run[-1].node


class _Counting:
    """Says of which messages a character is to be told. What everyone heard before they came is not for them."""

    def __init__(self, person: Person, presence: Presence) -> None:
        self._person = person
        self._presence = presence

    def __call__(self, item: OnPath) -> bool:
        position = item.position
        came = position >= self._person.first or self._presence.at(position).source is not PresenceSource.EVERYBODY
        return came and self._presence.knows(self._person.name, position)
