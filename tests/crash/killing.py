"""Kill -9 at the points where SQLite changes a file.

A dry run lists the points; then for each of them a process plays the scenario, is killed there, and another one looks
at what it left. Which verbs meet in one group commit differs from run to run, so a number need not always be the same
point: the dying process says which it was.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from previously.core.errors import StoreProblem
from tests.contract.storage.verbs import SqliteVerbs
from tests.crash.disk import DeadlyDisk, Disk, Point, When
from tests.crash.disk_vfs import in_place
from tests.crash.harness import (
    HUNG,
    NOT_GOING_ON,
    RAW,
    UNSOUND,
    Aftermath,
    Child,
    Ended,
    Say,
    fast_folder,
    in_small_steps,
    in_two_sessions,
    isolated,
    look,
    unsound,
)
from tests.crash.oracle import Answers, expected_of
from tests.crash.scenario import Story, scenario

DATABASE = "stories.db"


@dataclass(frozen=True, slots=True)
class Play:
    """A scenario, and what is right after each of its verbs."""

    stories: list[Story]
    expected: list[list[Answers]]

    @staticmethod
    def of(count: int, seed: int) -> Play:
        """The scenario of so many stories."""
        stories = scenario(count, seed)
        return Play(stories, [asyncio.run(expected_of(story)) for story in stories])

    def acknowledged(self, said: Sequence[Any]) -> list[int]:
        """How many verbs of each story a process said were acknowledged."""
        told = Counter(word[1] for word in said if word and word[0] == "told")
        return [told[number] for number in range(len(self.stories))]


@dataclass(slots=True)
class Tally:
    """What came of many crashes."""

    kinds: Counter[str] = field(default_factory=Counter)
    """How many there were, by what was going on."""
    acknowledged: int = 0
    """Verbs that were acknowledged before a crash and looked for after it."""
    ahead: int = 0
    missed: int = 0
    """Times that the point was not met: there were fewer this time."""
    raised: int = 0
    """Verbs that raised, as they should."""
    problems: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """Each problem in words, with how to see it again."""

    @property
    def crashes(self) -> int:
        """How many there were."""
        return self.kinds.total()

    def add(self, kind: str, acknowledged: int, after: Aftermath, replay: str) -> None:
        """One more."""
        self.kinds[kind] += 1
        self.acknowledged += acknowledged
        self.ahead += after.ahead
        for problem, words in after.problems:
            self.problems[problem] += 1
            self.faults.append(f"{problem}: {words}\n    {replay}")

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "crashes": self.crashes,
            "by_kind": dict(sorted(self.kinds.items())),
            "acknowledged_verbs_checked": self.acknowledged,
            "one_more_than_acknowledged": self.ahead,
            "points_not_met": self.missed,
            "verbs_that_raised": self.raised,
            "problems": dict(self.problems),
            "faults": self.faults,
        }


def points_of(play: Play) -> list[str]:
    """The points of a run in which nothing goes wrong."""
    disk = Disk()

    def work(_: Say) -> list[str]:
        with fast_folder() as folder:
            _play_on(disk, folder, play)
        return disk.points

    points: list[str] = isolated(work).result
    return points


def killings(points: Sequence[str], most: int, seed: int) -> Iterator[tuple[int, When]]:
    """Every point and every side of it, or so many of them, evenly spread; from the start again where more are asked
    for than there are."""
    every = [
        (number, when)
        for number, point in enumerate(points, 1)
        for when in When
        if when is not When.TORN or point.startswith("write")
    ]
    offset = Random(seed).random()
    for number in range(most):
        yield every[int((number + offset) * max(1.0, len(every) / most)) % len(every)]


def kill_once(play: Play, at: int, when: When) -> tuple[str | None, int, Aftermath]:
    """Kill a process at a point. Where it was, None if that point was not met; how many verbs were acknowledged; and
    what was found afterwards."""
    with fast_folder() as folder:

        def live_and_die(say: Say) -> None:
            def last_words(point: Point) -> None:
                say(["died", str(point)])

            _play_on(DeadlyDisk(at, when, last_words), folder, play, say)

        died = isolated(live_and_die)
        acknowledged = play.acknowledged(died.said)
        after = aftermath_of(died) or look_at(folder / DATABASE, play, acknowledged)
    place = next((word[1] for word in died.said if word and word[0] == "died"), None)
    return place, sum(acknowledged), after


def aftermath_of(died: Child) -> Aftermath | None:
    """What is wrong with a process that neither was killed nor came to its end."""
    if died.ended is Ended.HUNG:
        return Aftermath([(HUNG, "it neither ended nor died")])
    if died.ended is Ended.FAILED:
        words = died.fault.strip().splitlines()[-1]
        return Aftermath([(NOT_GOING_ON if StoreProblem.__name__ in words else RAW, words)])
    return None


def look_at(path: Path, play: Play, acknowledged: Sequence[int], *, go_on: bool = True) -> Aftermath:
    """What is found in a file, in a process of its own: one that dies of it, or is stuck, is a problem too."""

    def work(_: Say) -> Any:
        with in_small_steps():
            opening = partial(SqliteVerbs, str(path))
            found = asyncio.run(look(opening, play.stories, play.expected, acknowledged, go_on=go_on))
        found.problems += [(UNSOUND, row) for row in unsound(path)]
        return found.as_json()

    looked = isolated(work)
    if looked.ended is Ended.WELL:
        return Aftermath.of(looked.result)
    return aftermath_of(looked) or Aftermath([(RAW, "the process that looked at it was killed")])


def kill_many(play: Play, most: int, seed: int, replay: str, progress: Say) -> Tally:
    """Kill a process at so many points. `replay` is a command with a place for the point."""
    tally = Tally()
    for done, (at, when) in enumerate(killings(points_of(play), most, seed)):
        progress(done)
        place, acknowledged, after = kill_once(play, at, when)
        if place is None and not after.problems:
            tally.missed += 1
        else:
            side = When.BEFORE if when is When.TORN and not str(place).startswith("write") else when
            tally.add(f"{side} {place}", acknowledged, after, replay.format(at=at, when=when))
    return tally


def _play_on(disk: Disk, folder: Path, play: Play, say: Say = lambda _: None) -> None:
    with in_small_steps(), in_place(disk):
        opening = partial(SqliteVerbs, str(folder / DATABASE))
        asyncio.run(in_two_sessions(opening, play.stories, lambda *told: say(["told", *told])))
