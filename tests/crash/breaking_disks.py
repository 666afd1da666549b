"""Disks that fail: no space, or broken, at the n-th point, once or until told that it is well again.

Whatever fails, a verb either did all it should or raised `StoreProblem` and changed nothing; once the disk is well, the
same verb works, and so does all that follows.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from previously.core.errors import StoreProblem
from tests.contract.storage.verbs import SqliteVerbs, VerbStore
from tests.crash.disk import FailingDisk, Fault
from tests.crash.disk_vfs import in_place
from tests.crash.harness import (
    HALF,
    HUNG,
    NOT_GOING_ON,
    NOT_OPENING,
    RAW,
    UNSOUND,
    Aftermath,
    Ended,
    Say,
    fast_folder,
    in_small_steps,
    innermost,
    isolated,
    look,
    unsound,
)
from tests.crash.killing import DATABASE, Play, Tally, aftermath_of
from tests.crash.oracle import Verdict, answers, judged
from tests.crash.scenario import Story

STUCK_S = 60.0
TRIES = 4


@dataclass(frozen=True, slots=True)
class Trouble:
    """What fails, and when."""

    at: int
    fault: Fault
    lasting: bool = False
    reads: bool = False

    def __str__(self) -> str:
        return f"{self.fault}{' on reading' * self.reads}{' until recovered' * self.lasting}"

    def disk(self) -> FailingDisk:
        """A disk that fails like that."""
        return FailingDisk(self.at, self.fault, lasting=self.lasting, reads=self.reads)


KINDS = (
    (Fault.FULL, False, False),
    (Fault.FULL, True, False),
    (Fault.BROKEN, False, False),
    (Fault.BROKEN, True, False),
    (Fault.BROKEN, False, True),
    (Fault.BROKEN, True, True),
)


class _Run:
    """One scenario on a disk that fails."""

    def __init__(self, play: Play, trouble: Trouble, folder: Path) -> None:
        self.play, self.trouble, self.path = play, trouble, folder / DATABASE
        self.disk = trouble.disk()
        self.found = Aftermath()
        self.raised = 0
        self.crashed: tuple[Path, list[int]] | None = None
        self._done = [0] * len(play.stories)

    async def whole(self) -> None:
        """Two sessions, then a look with a disk that is well."""
        middle = [len(story.verbs) // 2 for story in self.play.stories]
        for first, last in (([0] * len(middle), middle), (middle, [len(story.verbs) for story in self.play.stories])):
            store = self._open()
            if store is None:
                return
            async with asyncio.TaskGroup() as playing:
                for number, story in enumerate(self.play.stories):
                    playing.create_task(self._story(store, number, story, range(first[number], last[number])))
            await store.close()
        self.disk.recover()

    def _open(self) -> VerbStore | None:
        for _ in range(TRIES):
            try:
                return SqliteVerbs(str(self.path))
            except StoreProblem as problem:
                self._note(problem)
                if not self.disk.failed:
                    break
                self.disk.recover()
        self.found.problems.append((NOT_OPENING, "it does not open once the disk is well"))
        return None

    async def _story(self, store: VerbStore, number: int, story: Story, verbs: range) -> None:
        for verb in verbs:
            if not await self._verb(store, number, story, verb):
                return
            self._done[number] = verb + 1

    async def _verb(self, store: VerbStore, number: int, story: Story, verb: int) -> bool:
        """Do it, once more while the disk is still broken, and again once it is well."""
        for attempt in range(TRIES):
            try:
                await story.do(store, verb)
                return True
            except StoreProblem as problem:
                self._note(problem)
                if len(self.play.stories) == 1 and self.crashed is None:
                    self._crash()
                if self.trouble.lasting and attempt == 0:
                    continue
                self.disk.recover()
                one = judged(self.play.expected[number], await answers(store, story), verb)
                name = story.verbs[verb].name
                if one.verdict is Verdict.ONE_MORE and name.startswith("forget"):
                    continue  # gone from the tables and not yet from the log: to be asked for once more
                if one.verdict is not Verdict.AS_TOLD:
                    words = f"{story.name}: {name} raised and is {one.verdict}, {one.where}"
                    self.found.problems.append((HALF, words))
                    return False
        self.found.problems.append(
            (NOT_GOING_ON, f"{story.name}: {story.verbs[verb].name} fails on a disk that is well")
        )
        return False

    def _note(self, problem: StoreProblem) -> None:
        self.raised += 1
        if not self.disk.failed:
            self.found.problems.append((NOT_GOING_ON, f"raised on a disk that is well: {problem}"))

    def _crash(self) -> None:
        """Keep the files as they are now: as if the process were killed. Nothing else is under way."""
        kept = self.path.parent / "crashed"
        kept.mkdir()
        for suffix in ("", "-wal", "-journal"):
            if (there := Path(f"{self.path}{suffix}")).exists():
                shutil.copy(there, kept)
        self.crashed = kept / DATABASE, list(self._done)


async def _broken(play: Play, trouble: Trouble, folder: Path) -> tuple[_Run, Aftermath]:
    run = _Run(play, trouble, folder)
    with in_small_steps():
        with in_place(run.disk):
            try:
                async with asyncio.timeout(STUCK_S):
                    await run.whole()
            except TimeoutError:
                return run, Aftermath([*run.found.problems, (HUNG, "a verb neither returned nor raised")])
            except Exception as error:
                words = f"{type(innermost(error)).__name__}: {innermost(error)}"
                return run, Aftermath([*run.found.problems, (RAW, words)])
        looked = run.found
        if not looked.problems:
            ends = [len(story.verbs) for story in play.stories]
            looked = await look(partial(SqliteVerbs, str(run.path)), play.stories, play.expected, ends)
            looked.problems += [(UNSOUND, row) for row in unsound(run.path)]
        if run.crashed:
            path, done = run.crashed
            after = await look(partial(SqliteVerbs, str(path)), play.stories, play.expected, done, go_on=False)
            looked.problems += [(kind, f"killed after an error: {words}") for kind, words in after.problems]
            looked.ahead += after.ahead
    return run, looked


def break_once(play: Play, trouble: Trouble) -> tuple[list[str], int, Aftermath]:
    """Play the scenario on a disk with this trouble: the points that failed, how many verbs raised, what was found.
    With one story, the files are also looked at as a kill right after the first error would leave them."""

    def work(_: Say) -> Any:
        with fast_folder() as folder:
            run, found = asyncio.run(_broken(play, trouble, folder))
        return [run.disk.failed[:1], run.raised, found.as_json()]

    ran = isolated(work)
    if ran.ended is not Ended.WELL:
        return [], 0, aftermath_of(ran) or Aftermath([(RAW, "the process was killed")])
    failed, raised, said = ran.result
    return failed, raised, Aftermath.of(said)


def troubles(play: Play, most: int, seed: int) -> Iterator[Trouble]:
    """So many, evenly spread over all points and all kinds of trouble, and two behind the last point."""

    def work(_: Say) -> list[int]:
        healthy = Trouble(10**9, Fault.FULL)
        with fast_folder() as folder:
            run, _found = asyncio.run(_broken(play, healthy, folder))
        return [len(run.disk.points), run.disk.reads]

    points, reads = isolated(work).result
    every = [
        Trouble(at, fault, lasting, reading)
        for fault, lasting, reading in KINDS
        for at in range(1, (reads if reading else points) + 1)
    ]
    offset, step = Random(seed).random(), max(1.0, len(every) / max(1, most))
    for number in range(most):
        yield every[int((number + offset) * step) % len(every)]
    for reading in (False, True):
        yield Trouble(2 * (points + reads), Fault.BROKEN, lasting=True, reads=reading)


def break_many(play: Play, most: int, seed: int, replay: str, progress: Say) -> Tally:
    """So many troubles. Where no verb raised, the disk failed at something that nobody waited for, or not at all."""
    tally, verbs = Tally(), sum(len(story.verbs) for story in play.stories)
    for done, trouble in enumerate(troubles(play, most, seed)):
        progress(done)
        failed, raised, after = break_once(play, trouble)
        if not failed and not after.problems:
            tally.missed += 1
            continue
        tally.raised += raised
        line = replay.format(at=trouble.at, kind=KINDS.index((trouble.fault, trouble.lasting, trouble.reads)))
        tally.add(f"{trouble}: {failed[0] if failed else 'nothing'}", verbs, after, line)
    return tally
