"""Damaged files: a bit flipped in each page, the end cut off, the WAL damaged or missing.

A damaged file is refused with `StoreProblem`, or answers right. A WAL whose end is missing is one that ends there: then
the answers are those of an earlier state. Never is there another answer or another error, and never is a file that was
only looked at changed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from previously.core.errors import PreviouslyError
from previously.core.messages import Draft, message
from previously.core.path import Put, Splice
from tests.contract.storage.verbs import SqliteVerbs, VerbStore
from tests.crash.flipping_bits import find_last_change
from tests.crash.harness import (
    Aftermath,
    Ended,
    Say,
    fast_folder,
    in_small_steps,
    in_two_sessions,
    innermost,
    isolated,
    verified,
)
from tests.crash.killing import DATABASE, Play
from tests.crash.oracle import BY_WRITING, Answers, answers
from tests.crash.scenario import play as played
from tests.crash.verbs import AT

PAGE = 4_096
WAL = f"{DATABASE}-wal"
AT_ONCE = 40
REFUSED, RIGHT, EARLIER, SILENT, SEEN, RAW, CHANGED = (
    "refused",
    "right",
    "an earlier state",
    "answers wrong",
    "answers wrong, and verify sees it",
    "raw error",
    "changed by looking",
)
WRONG = (SILENT, SEEN, RAW, CHANGED)
"""What must never be."""

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Damage:
    """What was done to which file, so that it can be done again."""

    name: str
    how: str
    """`flip`, `cut` or `gone`."""
    offset: int = 0
    bit: int = 0

    def __str__(self) -> str:
        return f"{self.how}:{self.name}:{self.offset}:{self.bit}"

    def done_to(self, files: Files) -> Files:
        """The files with this damage."""
        damaged = dict(files)
        if self.how == "gone":
            del damaged[self.name]
        elif self.how == "cut":
            damaged[self.name] = damaged[self.name][: self.offset]
        else:
            content = bytearray(damaged[self.name])
            content[self.offset] ^= 1 << self.bit
            damaged[self.name] = bytes(content)
        return damaged


@dataclass(slots=True)
class Damages:
    """What came of many."""

    kinds: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """How many ended as none must."""
        return sum(count for kind, count in self.kinds.items() if kind.split(": ")[1] in WRONG)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "damages": self.kinds.total(),
            "by_outcome": dict(sorted(self.kinds.items())),
            "raw_errors": dict(self.errors.most_common()),
            "wrong": self.wrong,
            "faults": self.faults,
        }


def whole_files(play: Play) -> tuple[Files, Files]:
    """The files of a finished scenario, and of one as a kill would leave it, with much of it in the WAL only."""

    async def work(folder: Path) -> tuple[Files, Files]:
        opening = partial(SqliteVerbs, str(folder / DATABASE))
        with in_small_steps():
            await in_two_sessions(opening, play.stories, lambda *_: None)
        closed = _files(folder)
        (folder / DATABASE).unlink()
        store = opening()
        await played(store, play.stories, lambda *_: None, start=[0] * len(play.stories), end=_ends(play, WAL))
        left = _files(folder)
        await store.close()
        return closed, left

    def as_text(_: Say) -> list[dict[str, str]]:
        with fast_folder() as folder:
            return [{name: data.hex() for name, data in files.items()} for files in asyncio.run(work(folder))]

    closed, left = isolated(as_text).result
    return tuple({name: bytes.fromhex(data) for name, data in files.items()} for files in (closed, left))  # type: ignore[return-value]


def damages(closed: Files, left: Files, most: int, seed: int) -> Iterator[tuple[Damage, Files]]:
    """So many flips, the same number in each page, half of them where its structure lies; some in the WAL; and every
    way to cut off an end."""
    chance = Random(seed)
    size = len(closed[DATABASE])
    for number in range(most):
        name, files = (WAL, left) if number % 8 == 7 else (DATABASE, closed)
        page = number % (len(files[name]) // PAGE)
        within = chance.randrange(120 if chance.random() < 0.5 else PAGE)
        yield Damage(name, "flip", page * PAGE + within, chance.randrange(8)), files
    step = max(1, size // PAGE * 8 // max(1, most))
    for page in range(1, size // PAGE, step):
        yield Damage(DATABASE, "cut", page * PAGE), closed
        yield Damage(DATABASE, "cut", page * PAGE + chance.randrange(1, PAGE)), closed
        yield Damage(WAL, "cut", chance.randrange(len(left[WAL]))), left
    yield Damage(DATABASE, "cut", 50), closed
    yield Damage(WAL, "gone"), left


async def outcome(play: Play, damage: Damage, files: Files, folder: Path) -> tuple[str, str]:
    """What came of one damage, and the error if there was a wrong one. First it is only looked at, then added to."""
    damaged = damage.done_to(files)
    for name, content in damaged.items():
        (folder / name).write_bytes(content)
    path = folder / DATABASE

    async def looking(store: VerbStore) -> str:
        said = [await answers(store, story, only_reading=True) for story in play.stories]
        ends = zip(said, play.expected, _ends(play, damage.name), strict=True)
        if all(not _different(one, right[end]) for one, right, end in ends):
            return RIGHT
        earlier = all(
            any(not _different(one, then) for then in right) for one, right in zip(said, play.expected, strict=True)
        )
        if earlier and damage.name == WAL and (damage.how != "flip" or damage.offset >= find_last_change(files[WAL])):
            return EARLIER
        return SEEN if await verified(store, play.stories) else SILENT

    async def adding(store: VerbStore) -> str:
        for story in play.stories:
            info = await store.story(story.owner, story.name)
            if info is not None:
                await store.apply(info.key, "main", [Splice(0, 0, (Put(Draft(message("user", "more"))),))], at=AT)
        return RIGHT

    found, error = await _tried(path, looking)
    if damage.name == DATABASE and path.read_bytes() != damaged[DATABASE]:
        return CHANGED, ""
    if found not in (REFUSED, RAW):
        added, error = await _tried(path, adding)
        found = RAW if added == RAW else found
    return found, error


def _ends(play: Play, name: str) -> list[int]:
    """How many verbs of each story were done to the files: to have something in the WAL, none that empties it."""
    if name == DATABASE:
        return [len(story.verbs) for story in play.stories]
    return [[verb.name.startswith("forget") for verb in story.verbs].index(True) for story in play.stories]


def _different(said: Answers, right: Answers) -> bool:
    return any(right[name] != said.get(name) for name in right if name not in BY_WRITING) or bool(said) != bool(right)


async def _tried(path: Path, work: Callable[[VerbStore], Any]) -> tuple[str, str]:
    try:
        store = SqliteVerbs(str(path))
        try:
            return await work(store), ""
        finally:
            await store.close()
    except PreviouslyError:
        return REFUSED, ""
    except Exception as raised:
        error = innermost(raised)
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
        return RAW, f"{type(error).__name__} at {place}"


def damage_many(play: Play, most: int, seed: int, replay: str, progress: Say) -> Damages:
    """Look at so many damaged files, some at a time in a process of its own, which may die of it."""
    tally = Damages()
    chosen = list(damages(*whole_files(play), most, seed))
    for first in range(0, len(chosen), AT_ONCE):
        progress(first)
        some = chosen[first : first + AT_ONCE]
        for (damage, _), (kind, error) in zip(some, _outcomes(play, some), strict=False):
            tally.kinds[f"{damage.how} in {'the WAL' if damage.name == WAL else 'the database'}: {kind}"] += 1
            if kind in WRONG:
                tally.errors[error or kind] += 1
                tally.faults.append(f"{kind}: {error}\n    {replay.format(damage=damage)}")
    return tally


def damage_once(play: Play, damage: Damage) -> Aftermath:
    """One damage by itself; no problems if what came of it may be."""
    closed, left = whole_files(play)
    ((kind, error),) = _outcomes(play, [(damage, left if damage.name == WAL else closed)])
    return Aftermath([(kind, error)] if kind in WRONG else [])


def _outcomes(play: Play, some: list[tuple[Damage, Files]]) -> list[tuple[str, str]]:
    async def one(damage: Damage, files: Files) -> tuple[str, str]:
        with fast_folder() as folder:
            return await outcome(play, damage, files, folder)

    def work(say: Say) -> None:
        for damage, files in some:
            say(asyncio.run(one(damage, files)))

    looked = isolated(work)
    said = [(kind, error) for kind, error in filter(None, looked.said)]
    if looked.ended is not Ended.WELL:
        said.append((RAW, f"the process {looked.ended}: {looked.fault.strip().splitlines()[-1:]}"))
    return said


def _files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
