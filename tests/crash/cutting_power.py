"""Power cuts: the scenario is recorded once, then the states in which a power cut may leave its files are looked at.

The check must be able to fail, so the same is done to stores that are not safe: one that does not wait for its disk
(`synchronous=NORMAL`), and disks that lie about having synced.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from unittest import mock

from previously.storage.sqlite.file import SYNCHRONOUS
from tests.contract.storage.verbs import SqliteVerbs
from tests.crash.disk import RecordingDisk
from tests.crash.disk_vfs import in_place
from tests.crash.harness import (
    RAW,
    UNSOUND,
    Aftermath,
    Ended,
    Say,
    fast_folder,
    in_small_steps,
    in_two_sessions,
    isolated,
    look,
    unsound,
)
from tests.crash.killing import DATABASE, Play, Tally, aftermath_of
from tests.crash.power_loss import Acknowledged, Event, state_after, without_syncs

AT_ONCE = 50
"""States that one process looks at."""


@dataclass(frozen=True, slots=True)
class Recording:
    """All that was done to the files of a scenario, and in between what was acknowledged."""

    play: Play
    log: list[Event]

    def acknowledged(self, point: int) -> list[int]:
        """How many verbs of each story were acknowledged before that event."""
        told = Counter(event.what[0] for event in self.log[:point] if isinstance(event, Acknowledged) and event.what)
        return [told[number] for number in range(len(self.play.stories))]

    def lying(self, suffix: str) -> Recording:
        """The same on a disk that did not sync files of that suffix."""
        return Recording(self.play, without_syncs(self.log, suffix))


def recorded(play: Play, *, synchronous: str = SYNCHRONOUS) -> Recording:
    """Play a scenario on a disk that writes down what is done to it."""

    def work(folder: Path) -> None:
        disk = RecordingDisk()
        opening = partial(SqliteVerbs, str(folder / DATABASE))
        with in_small_steps(), in_place(disk), mock.patch("previously.storage.sqlite.file.SYNCHRONOUS", synchronous):
            asyncio.run(in_two_sessions(opening, play.stories, lambda *told: disk.acknowledge(told)))
        (folder / "log").write_bytes(pickle.dumps(disk.log))

    with fast_folder() as folder:
        _ = isolated(lambda _: work(folder)).result
        return Recording(play, pickle.loads((folder / "log").read_bytes()))


def cuts(recording: Recording, most: int, seed: int) -> list[tuple[int, int]]:
    """So many pairs of a point in the log and a seed for what survives, evenly spread over the log."""
    chance = Random(seed)
    events = len(recording.log) + 1
    return [(int((number + chance.random()) * events / most), number + seed * most) for number in range(most)]


async def look_after(recording: Recording, point: int, seed: int, folder: Path, *, go_on: bool = True) -> Aftermath:
    """What is found in the files that a power cut left, put into a fresh folder."""
    for name, content in state_after(recording.log, point, seed).items():
        (folder / name).write_bytes(content)
    play, path = recording.play, folder / DATABASE
    opening = partial(SqliteVerbs, str(path))
    with in_small_steps():
        found = await look(opening, play.stories, play.expected, recording.acknowledged(point), go_on=go_on)
    if path.exists():
        found.problems += [(UNSOUND, row) for row in unsound(path)]
    return found


def cut_many(
    recording: Recording,
    chosen: Sequence[tuple[int, int]],
    replay: str,
    progress: Say,
    *,
    go_on_every: int | None = 1,
) -> Tally:
    """Look at many states, some at a time in a process of its own, and play on from every so many-th of them."""
    tally = Tally()
    for first in range(0, len(chosen), AT_ONCE):
        progress(first)
        some = chosen[first : first + AT_ONCE]

        def work(say: Say, some: Iterable[tuple[int, int]] = some) -> None:
            for number, (point, seed) in enumerate(some):
                go_on = go_on_every is not None and number % go_on_every == 0
                say(asyncio.run(_one(recording, point, seed, go_on)).as_json())

        looked = isolated(work)
        found = [Aftermath.of(one) for one in looked.said if one]
        if looked.ended is not Ended.WELL:
            found = [*found, aftermath_of(looked) or Aftermath([(RAW, "the process that looked at it was killed")])]
        for (point, seed), after in zip(some, found, strict=False):
            kind = "the end" if point == len(recording.log) else type(recording.log[point]).__name__.lower()
            acknowledged = sum(recording.acknowledged(point))
            tally.add(f"before {kind}", acknowledged, after, replay.format(point=point, seed=seed))
    return tally


async def _one(recording: Recording, point: int, seed: int, go_on: bool) -> Aftermath:
    with fast_folder() as folder:
        return await look_after(recording, point, seed, folder, go_on=go_on)
