"""Flipped bits: all that people see of their stories is asked of a file in which one bit is another.

Every answer is the one before or `StoreProblem` that says what is damaged: never another text, another error, or none
at all. Of the WAL, the last change may be gone: nothing tells it from one that a loss of power has cut off.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from previously import Memory
from previously.core.errors import PreviouslyError
from tests.contract.storage.rich_story import RULES, write_stories
from tests.crash.harness import Aftermath, Ended, Say, fast_folder, innermost, isolated

DATABASE, WAL = "stories.db", "stories.db-wal"
WAL_HEADER, FRAME_HEADER, PAGE = 32, 24, 4_096
AT_ONCE = 50
SAME, REFUSED, EARLIER, WRONG, RAW = (
    "as before",
    "refused",
    "without the last change",
    "another answer",
    "another error",
)
MUST_NOT_BE = (WRONG, RAW)
QUERIES = ("Who hid the key in the mill?", "crowns")

Files = dict[str, bytes]
Seen = dict[str, str]
"""What was answered, by what was asked; errors begin with `!`."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One bit of one file."""

    name: str
    offset: int
    bit: int

    def __str__(self) -> str:
        return f"bit:{self.name}:{self.offset}:{self.bit}"

    def done_to(self, files: Files) -> Files:
        """The files with this bit flipped."""
        content = bytearray(files[self.name])
        content[self.offset] ^= 1 << self.bit
        return {**files, self.name: bytes(content)}


@dataclass(slots=True)
class Flips:
    """What came of many."""

    kinds: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    """Single answers: how many of them were as before although something was damaged."""
    faults: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "flips": self.kinds.total(),
            "by_outcome": dict(sorted(self.kinds.items())),
            "answers": dict(sorted(self.answers.items())),
            "wrong": len(self.faults),
            "faults": self.faults,
        }


async def write_files(folder: Path) -> tuple[Files, Files]:
    """The files of stories with a row of every kind, closed; and as a kill leaves them, with changes in the WAL."""
    place = folder / DATABASE
    await write_stories(str(place))
    memory = await Memory.open(place, settings=RULES)
    await memory.keep_book("town", {"entries": {"0": {"key": ["mill"], "content": "The mill has stood since 1702."}}})
    story = await memory.story("tale")
    await story.attach_book("town")
    for query in QUERIES:
        await story.search(query)  # which keeps the index
    for name in ("tale", "another"):
        await (await memory.story(name)).view(600)  # which keeps the story's mark
    await memory.close()
    closed = _read_files(folder)
    memory = await Memory.open(place, settings=RULES)
    story = await memory.story("tale")
    for number in range(4):
        await story.add("user", f"The bell rings {number} times.")
        await story.search("bell")
    left = _read_files(folder)
    await memory.close()
    return closed, left


async def see(folder: Path) -> Seen:
    """All that people see of the stories in a folder."""
    seen: Seen = {}
    try:
        memory = await Memory.open(folder / DATABASE, settings=RULES)
    except Exception as error:
        return {"opening": _describe_error(error)}
    try:
        async for name, ask in _list_questions(memory, folder):
            try:
                seen[name] = repr(await ask())
            except Exception as error:
                seen[name] = _describe_error(error)
    finally:
        await memory.close()
    return seen


async def _list_questions(memory: Memory, folder: Path) -> AsyncIterator[tuple[str, Callable[[], Awaitable[Any]]]]:
    yield "stories", memory.stories
    yield "books", memory.books
    yield "book", lambda: memory.book("town")
    for name in ("tale", "another"):
        try:
            story = await memory.story(name, create=False)
        except Exception as error:
            yield name, partial(_raise_again, error)
            continue
        for ask in (
            story.messages,
            story.swipes,
            story.log,
            story.recap,
            story.chapters,
            story.episodes,
            story.notes,
            story.scenes,
            story.pins,
            story.lore,
            story.state,
            story.threads,
            story.cast,
            story.settings,
            story.header,
            story.moves,
        ):
            yield f"{name}: {ask.__name__}", ask
        yield f"{name}: view", lambda story=story: story.view(600, aside=True)  # type: ignore[misc]
        for query in QUERIES:
            yield f"{name}: search {query}", lambda story=story, query=query: story.search(query)  # type: ignore[misc]
    yield "backup", lambda: _list_copied(memory.backup(folder / "backup.db"))
    yield "move", lambda: _list_copied(memory.move(folder / "moved.db"))


async def _raise_again(error: Exception) -> None:
    raise error


async def _list_copied(work: Awaitable[Any]) -> list[tuple[str, str]]:
    return [(copied.story, copied.digest) for copied in (await work).stories]


def choose_flips(closed: Files, left: Files, most: int, seed: int) -> Iterator[tuple[Flip, Files]]:
    """Bits anywhere in the file, half of them where the structure of a page lies, and every eighth in the WAL."""
    chance = Random(seed)
    for number in range(most):
        name, files = (WAL, left) if number % 8 == 7 else (DATABASE, closed)
        size = len(files[name])
        offset = chance.randrange(size)
        if number % 2 and name == DATABASE:
            offset = offset // PAGE * PAGE + chance.randrange(120)
        yield Flip(name, offset, chance.randrange(8)), files


def find_last_change(wal: bytes) -> int:
    """Where the last change in a WAL begins."""
    step, start = FRAME_HEADER + PAGE, WAL_HEADER
    salt = wal[16:24]
    places = [place for place in range(start, len(wal) - step + 1, step) if wal[place + 8 : place + 16] == salt]
    commits = [place for place in places if wal[place + 4 : place + 8] != bytes(4)]
    return commits[-2] + step if len(commits) > 1 else start


def judge(seen: Seen, before: Seen, earlier: Seen | None) -> tuple[str, str]:
    """What came of a flip, and which answer must not be. `earlier` is what may be seen if the last change is gone."""
    if any(answer.startswith("!!") for answer in seen.values()):
        return RAW, next(f"{name}: {answer}" for name, answer in seen.items() if answer.startswith("!!"))
    refused = {name for name, answer in seen.items() if answer.startswith("!")}
    told = {name: answer for name, answer in seen.items() if name not in refused}
    if all(before.get(name) == answer for name, answer in told.items()):
        return (REFUSED if refused else SAME), ""
    if earlier is not None and all(earlier.get(name) == answer for name, answer in told.items()):
        return EARLIER, ""
    return WRONG, ", ".join(name for name, answer in told.items() if before.get(name) != answer)


def flip_once(flip: Flip) -> Aftermath:
    """One flip by itself; no problems if what came of it may be."""
    work = _Work()
    ((kind, fault, *_),) = work.look_at([(flip, work.left if flip.name == WAL else work.closed)])
    return Aftermath([(kind, fault)] if kind in MUST_NOT_BE else [])


def flip_many(most: int, seed: int, replay: str, progress: Say) -> Flips:
    """Flip so many bits, each in files of its own, some at a time in a process that may die of it."""
    work = _Work()
    tally = Flips()
    chosen = list(choose_flips(work.closed, work.left, most, seed))
    for first in range(0, most, AT_ONCE):
        progress(first)
        some = chosen[first : first + AT_ONCE]
        outcomes = work.look_at(some)
        for (flip, _), (kind, fault, refused, asked) in zip(some, outcomes, strict=False):
            tally.kinds[f"{'WAL' if flip.name == WAL else 'database'}: {kind}"] += 1
            tally.answers.update({"refused": refused, "as before": asked - refused})
            if kind in MUST_NOT_BE:
                tally.faults.append(f"{kind}: {fault}\n    {replay.format(damage=flip)}")
        if len(outcomes) < len(some):
            tally.faults.append(f"{RAW}: the process died or hung\n    {replay.format(damage=some[len(outcomes)][0])}")
    return tally


class _Work:
    """The files, and what is seen of them undamaged."""

    def __init__(self) -> None:
        self.closed, self.left = isolated(_write).result
        self.closed, self.left = (
            {name: bytes.fromhex(data) for name, data in f.items()} for f in (self.closed, self.left)
        )
        self.last_change = find_last_change(self.left[WAL])
        shorter = {**self.left, WAL: self.left[WAL][: self.last_change]}
        self.before_closed, self.before_left, self.earlier = (
            isolated(partial(_see_files, files)).result for files in (self.closed, self.left, shorter)
        )

    def look_at(self, some: list[tuple[Flip, Files]]) -> list[tuple[str, str, int, int]]:
        """The outcome of each flip, as far as the process got."""

        def work(say: Say) -> None:
            for flip, files in some:
                seen = _see_files(flip.done_to(files))
                before = self.before_left if flip.name == WAL else self.before_closed
                is_last = flip.name == WAL and flip.offset >= self.last_change
                refused = sum(answer.startswith("!") for answer in seen.values())
                say((*judge(seen, before, self.earlier if is_last else None), refused, len(seen)))

        looked = isolated(work)
        assert looked.ended in (Ended.WELL, Ended.KILLED, Ended.HUNG), looked.fault
        return [tuple(said) for said in looked.said if said]


def _write(_: Say) -> list[dict[str, str]]:
    with fast_folder() as folder:
        return [{name: data.hex() for name, data in files.items()} for files in asyncio.run(write_files(folder))]


def _see_files(files: Files, _: Say | None = None) -> Seen:
    with fast_folder() as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        seen = asyncio.run(see(folder))
        return {name: answer.replace(str(folder), "") for name, answer in seen.items()}


def _describe_error(error: Exception) -> str:
    """`!` and its words, and `!!` before what must not be raised."""
    clear = isinstance(error, PreviouslyError) and "damaged" in str(error)
    return f"{'!' if clear else '!!'}{type(innermost(error)).__name__}: {error}"


def _read_files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
