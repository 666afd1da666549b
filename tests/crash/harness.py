"""What all crash tests stand on: processes that may die, settings that bring trouble near, the look at what is left.

Processes are forked, not started: a fork of a process that has imported everything costs milliseconds. It must be
forked from one without threads, so whatever opens a store does it in an `isolated` process, never in the one that
forks.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from unittest import mock

import apsw

from previously.core.errors import StoreProblem
from previously.storage.sqlite.page_checksums import connect
from tests.contract.storage.verbs import VerbStore
from tests.crash.oracle import Answers, Verdict, answers, different, judged
from tests.crash.scenario import Do, Story, Told, play
from tests.crash.verbs import SOON

ROWS = 4
"""A change of more messages than these is staged."""

CHECKPOINT_PAGES = 24
"""So small that the WAL is written back, and begun anew, many times in a scenario."""

PATIENCE_S = 120.0
"""How long a process that is not stuck may say nothing."""

Say = Callable[[Any], None]
Opening = Callable[[], VerbStore]


class Ended(StrEnum):
    """How a process came to its end."""

    WELL = "well"
    KILLED = "killed"
    FAILED = "failed"
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class Child:
    """A process that has ended, and all that it said."""

    ended: Ended
    said: list[Any]
    fault: str = ""
    """The traceback of one that failed."""

    @property
    def result(self) -> Any:
        """The last that it said."""
        assert self.ended is Ended.WELL, f"{self.ended}: {self.fault}"
        return self.said[-1]


@dataclass(slots=True)
class Aftermath:
    """What was found after a crash. No problems: nothing lost, nothing half done, and it goes on."""

    problems: list[tuple[str, str]] = field(default_factory=list)
    """What kind of problem, and in words."""
    ahead: int = 0
    """Stories that stand one verb further than was acknowledged."""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @staticmethod
    def of(said: dict[str, Any]) -> Aftermath:
        """From plain values."""
        return Aftermath([(kind, words) for kind, words in said["problems"]], said["ahead"])


LOST, HALF, NOT_OPENING, NOT_GOING_ON, RAW, UNSOUND, HUNG = (
    "lost",
    "half published",
    "not opening",
    "not going on",
    "raw error",
    "unsound",
    "hung",
)
"""The kinds of problems."""


def isolated(work: Callable[[Say], Any], heard: Say = lambda _: None) -> Child:
    """Do the work in a process of its own. It may say things on the way; what it returns is the last. `heard` is called
    with each as it comes."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _be_the_child(work, lambda word: _write(writing, word))
    os.close(writing)
    said: list[Any] = []
    hung = not _listen(reading, said, heard)
    os.close(reading)
    if hung:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    fault = said.pop()["fault"] if said and isinstance(said[-1], dict) and "fault" in said[-1] else ""
    if hung:
        return Child(Ended.HUNG, said)
    if fault:
        return Child(Ended.FAILED, said, fault)
    return Child(Ended.KILLED if os.WIFSIGNALED(status) else Ended.WELL, said)


def _be_the_child(work: Callable[[Say], Any], say: Say) -> None:
    try:
        say(work(say))
    except BaseException as error:
        say({"fault": "".join(traceback.format_exception(innermost(error)))})
    finally:
        os._exit(0)  # whatever is registered for the end is the parent's


def _write(pipe: int, word: Any) -> None:
    line = json.dumps(word).encode() + b"\n"
    while line:
        line = line[os.write(pipe, line) :]  # short lines are written whole or not at all, whoever kills us


def _listen(pipe: int, said: list[Any], heard: Say) -> bool:
    """Take in what is said until the other end is closed; whether it ever was."""
    rest = b""
    while select.select([pipe], [], [], PATIENCE_S)[0]:
        more = os.read(pipe, 65_536)
        if not more:
            return True
        *lines, rest = (rest + more).split(b"\n")
        for line in lines:
            said.append(json.loads(line))
            heard(said[-1])
    return False


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A fresh folder in memory where there is such a place: what a killed process wrote stays either way."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="previously-crash-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def in_small_steps() -> Iterator[None]:
    """Changes are staged and the WAL is written back much earlier than usual, so that short stories meet both."""

    def hook(connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(CHECKPOINT_PAGES)

    apsw.connection_hooks.append(hook)
    try:
        with (
            mock.patch("previously.storage.tables.path_writer.ROWS_PER_STAGE", ROWS),
            mock.patch("previously.storage.gc.ROWS_PER_STAGE", ROWS),
        ):
            yield
    finally:
        apsw.connection_hooks.remove(hook)


async def in_two_sessions(opening: Opening, stories: Sequence[Story], told: Told, do: Do = Story.do) -> None:
    """Play the whole scenario, with the store closed and opened again in the middle."""
    start, middle = [0] * len(stories), [len(story.verbs) // 2 for story in stories]
    for first, last in ((start, middle), (middle, None)):
        store = opening()
        await play(store, stories, told, start=first, end=last, do=do)
        await store.close()


async def look(
    opening: Opening,
    stories: Sequence[Story],
    expected: Sequence[Sequence[Answers]],
    acknowledged: Sequence[int],
    *,
    go_on: bool = True,
) -> Aftermath:
    """Open what a crash left. Each story must stand where it was acknowledged or one verb further, and the rest of the
    scenario must bring it to its end."""
    found = Aftermath()
    try:
        store = opening()
    except StoreProblem as problem:
        found.problems.append((NOT_OPENING, str(problem)))
        return found
    step = NOT_OPENING
    try:
        start = []
        said = await asyncio.gather(*(answers(store, story) for story in stories))
        for number, story in enumerate(stories):
            one = judged(expected[number], said[number], acknowledged[number])
            start.append(one.verbs)
            found.ahead += one.verdict is Verdict.ONE_MORE
            if not one.verdict.is_right:
                kind = LOST if one.verdict is Verdict.LOST else HALF
                words = f"{story.name}: {acknowledged[number]} verbs acknowledged, {one.where}"
                found.problems.append((kind, words))
        found.problems += [(UNSOUND, fault) for fault in await verified(store, stories)]
        if go_on and not found.problems:
            step = NOT_GOING_ON
            if sum(acknowledged) % 2:  # what a crash left behind may be there, or taken away first
                await tidied(store, stories)
            await play(store, stories, lambda *_: None, start=start)
            ends = await asyncio.gather(*(answers(store, story) for story in stories))
            for number, story in enumerate(stories):
                if wrong := different(expected[number][-1], ends[number]):
                    found.problems.append((NOT_GOING_ON, f"{story.name}: ends with wrong {', '.join(wrong)}"))
            found.problems += [(UNSOUND, f"at the end: {fault}") for fault in await verified(store, stories)]
    except Exception as error:
        found.problems.append(_problem(step, error))
    finally:
        await store.close()
    return found


async def verified(store: Any, stories: Sequence[Story]) -> list[str]:
    """What the store itself finds wrong with its stories, by checking every hash and cache."""
    found = [await store.verify(story.owner, before=SOON) for story in stories]
    return [str(fault) for one in found for fault in one.faults]


async def tidied(store: Any, stories: Sequence[Story]) -> None:
    """Take away what cut-off changes left behind."""
    for story in stories:
        await store.gc(story.owner, before=SOON)


def innermost(error: BaseException) -> BaseException:
    """Of the errors of several tasks the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _problem(step: str, raised: Exception) -> tuple[str, str]:
    error = innermost(raised)
    words = traceback.format_exception_only(error)[-1].strip()
    return (step if isinstance(error, StoreProblem) else RAW), words


def unsound(path: Path) -> list[str]:
    """What is wrong with a closed SQLite file by itself, whatever should be in it."""
    connection = connect(str(path), apsw.SQLITE_OPEN_READWRITE)
    try:
        rows = [str(row) for (row,) in connection.execute("PRAGMA integrity_check")]
    except apsw.Error as error:
        rows = [str(error)]
    finally:
        connection.close()
    return [] if rows == ["ok"] else rows
