"""Presence at the messages of a path: read once, and remembered.

What lies before a snapshot of the notes is read once: a snapshot's id stands for all messages and notes before it. What
lies behind it is read with every look, as the notes are.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest

from previously.core.fold_rules import FoldRules
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Role
from previously.core.note import parse_note
from previously.core.path import OPENING_MESSAGES, OnPath, Span
from previously.core.presence import Correction, HeardMessage, Presence, Run, find_runs, find_speaker
from previously.core.scripts import casefold
from previously.core.snapshot import Snapshot
from previously.core.versions import LiveVersion
from previously.folds.boundary import is_scene_end
from previously.folds.tiles import Tile
from previously.lore.hand_records import PersonRecord, parse_record
from previously.lore.state import Players
from previously.memory.notes import Walk, trace_states, walk_behind

MOST_REMEMBERED = 4_096
"""Snapshots whose runs are remembered: those of a million messages, at a few kilobytes each."""

MOST_MADE = 16
"""Paths and readers of which it is remembered who knows what: a few characters on a few branches of one story."""

_SCENE_MARKS = frozenset({MarkKind.SCENE, MarkKind.CHAPTER})
HAND_MARKS = frozenset({MarkKind.PRESENCE, MarkKind.PRESENCE_END})
"""The marks that say who was present."""

SAID_MARKS = _SCENE_MARKS | HAND_MARKS
"""The marks that presence follows from."""


def read_voices(snapshot: Snapshot, players: Players) -> dict[str, str]:
    """Return for whom somebody speaks who is known by another name: players for their characters, and those of whom a
    person said that both names are one character's."""
    records = [parse_record(mark.text) for mark in snapshot.marks({MarkKind.PERSON})]
    voices = {player.name: player.character for player in players.values()}
    for record in records:
        if isinstance(record, PersonRecord):
            voices = {name: record.into if _is_called(into, record.name) else into for name, into in voices.items()}
            voices[record.name] = record.into
    return {name: into for name, into in voices.items() if not _is_called(name, into)}


def _is_called(name: str, other: str) -> bool:
    return casefold(name) == casefold(other)


class Presences:
    """Reads presence of one story, and remembers what it has read."""

    def __init__(self) -> None:
        self._runs: OrderedDict[int, tuple[int, tuple[Run, ...]]] = OrderedDict()
        self._made: OrderedDict[tuple[object, ...], Presence] = OrderedDict()

    def read(
        self,
        snapshot: Snapshot,
        rules: FoldRules,
        seen: Walk,
        *,
        voices: Mapping[str, str] | None = None,
        next_speaker: str = "",
    ) -> Presence:
        """Return who was present at the messages of a branch. `seen` goes on to its end from an exact snapshot."""
        marks = snapshot.marks(SAID_MARKS)
        stands = (
            seen.base.version.id if seen.base else 0,
            seen.path[-1].node if seen.path else snapshot.head,
            tuple((tile.note.id, tile.span.last) for tile in seen.updates if tile.note),
            tuple(marks),  # whole, since the number of one that was taken back may be given again
            tuple(sorted((voices or {}).items())),
            next_speaker,
        )
        if stands not in self._made:
            runs = [*self._read_runs_before(snapshot, rules, seen), *find_runs(_read_heard(seen.path, seen.updates))]
            self._made[stands] = _make_presence(snapshot, runs, marks, voices, next_speaker)
        self._made.move_to_end(stands)
        while len(self._made) > MOST_MADE:
            self._made.popitem(last=False)
        return self._made[stands]

    def _read_runs_before(self, snapshot: Snapshot, rules: FoldRules, seen: Walk) -> list[Run]:
        """Return the runs before a snapshot."""
        links = trace_states(snapshot, seen.base, lambda link: self._is_known(link.version.id))
        before: LiveVersion | None = None
        for link in links:
            if not self._is_known(link.version.id):
                chunk = walk_behind(snapshot, rules, before, len(link.span))
                following = snapshot.path(link.span.last + 1, link.span.last + 1)
                runs = find_runs(_read_heard(chunk.path, chunk.updates, following))
                self._runs[link.version.id] = before.version.id if before else 0, runs
            before = link
        chunks: list[tuple[Run, ...]] = []
        at = before.version.id if before else 0
        while at:
            self._runs.move_to_end(at)
            at, runs = self._runs[at]
            chunks.append(runs)
        while len(self._runs) > MOST_REMEMBERED:
            self._runs.popitem(last=False)
        return [run for runs in reversed(chunks) for run in runs]

    def _is_known(self, version: int) -> bool:
        """Return whether a snapshot and all it goes on from are remembered."""
        while version in self._runs:
            version = self._runs[version][0]
        return version == 0


def _read_heard(
    path: Sequence[OnPath], updates: Sequence[Tile], following: Sequence[OnPath] = ()
) -> Iterator[HeardMessage]:
    """Yield what is known of each message of a run of the path."""
    noted: dict[int, tuple[str, ...]] = {}
    ends: set[int] = set()
    for tile in updates:
        note = parse_note(tile.note.made.text) if tile.note else None
        for there in note.present if note else ():
            names = tuple(dict.fromkeys(name.strip() for name in there.names if name.strip()))
            first, last = tile.span.first + max(0, there.first), min(tile.span.first + there.last, tile.span.last)
            noted.update(dict.fromkeys(range(first, last + 1), names))
        ends.update(tile.span.first + offset for offset in (note.scene_ends if note else ()))
    opens = True
    for item, after in zip_longest(path, [*path[1:], *following]):
        message = item.entry.message
        opens = opens and message.role is Role.SYSTEM and item.position < OPENING_MESSAGES
        yield HeardMessage(
            find_speaker(message),
            message.witnesses,
            noted.get(item.position),
            shared=opens,
            ends=item.position in ends or (after is not None and is_scene_end(message, after.entry.message)),
        )


def read_newest(snapshot: Snapshot, number: int) -> Presence:
    """Return who was present at the newest messages of a branch, as messages and people say; what was noted does not
    count, and of what lies before nothing is known."""
    first = max(0, snapshot.messages - number)
    before = [Run(("",) * first, shared=True)] if first else []
    newest = snapshot.path(first, snapshot.messages - 1) if snapshot.messages else []
    return _make_presence(snapshot, [*before, *find_runs(_read_heard(newest, ()))], snapshot.marks(SAID_MARKS))


def _make_presence(
    snapshot: Snapshot,
    runs: Sequence[Run],
    marks: Sequence[Mark],
    voices: Mapping[str, str] | None = None,
    next_speaker: str = "",
) -> Presence:
    corrections = [
        Correction(span, parse_correction(mark.text)[0]) for mark, span in place_corrections(snapshot, marks)
    ]
    breaks = {mark.position for mark in marks if mark.kind in _SCENE_MARKS}
    return Presence(runs, corrections, breaks, voices, next_speaker)


def place_corrections(snapshot: Snapshot, marks: Sequence[Mark]) -> list[tuple[Mark, Span]]:
    """Return what people said of who was present, each with where it stands, in the order in which they said it. Where
    a branch was cut off before the end of what was meant, the messages that are still there count."""
    ends = {mark.of: mark.position for mark in marks if mark.kind is MarkKind.PRESENCE_END}
    placed: list[tuple[Mark, Span]] = []
    for mark in sorted((mark for mark in marks if mark.kind is MarkKind.PRESENCE), key=lambda mark: mark.id):
        _, entries = parse_correction(mark.text)
        first = mark.position + 1
        last = ends.get(mark.origin)
        if last is None:
            run = snapshot.path(first, min(first + len(entries), snapshot.messages) - 1)
            kept = list(takewhile(lambda item, meant=frozenset(entries): item.entry.id in meant, run))  # type: ignore[misc]
            last = first + len(kept) - 1
        if first <= last:
            placed.append((mark, Span(first, last)))
    return placed


def render_correction(names: Sequence[str] | None, entries: Sequence[int]) -> str:
    """Return what a person says of who was present as the text of a mark: the names, None for everybody, and the
    entries it is said of."""
    said = {"names": None if names is None else list(names), "entries": list(entries)}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def parse_correction(text: str) -> tuple[tuple[str, ...] | None, tuple[int, ...]]:
    """Return the names and entries in the text of a mark. What cannot be read names nobody, so that nothing is told to
    anybody by mistake."""
    try:
        said = json.loads(text)
        names, entries = said["names"], said["entries"]
        return None if names is None else tuple(map(str, names)), tuple(map(int, entries))
    except (ValueError, KeyError, TypeError):
        return (), ()
