"""One input after the other, in a process of its own that may do little else.

The process has a bound of memory and each input one of time. Reading or writing files outside of the target's folder,
connecting and starting programs are noticed. What an input did wrong is a `Fault`, by the number of the input.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from previously.core.errors import BadInput
from previously.server.refusals import Refusal
from tests.fuzz.mutations import mutate
from tests.fuzz.target import Broken, FuzzInput, Target, check_sentence

LONGEST_S = 2.0
"""Seconds of CPU time for one input. They take a few milliseconds; a hundred times that is work without a bound."""

HARD_S = 120
"""Seconds after which the system ends a process whose code cannot be interrupted."""

FEW = 50
"""Inputs after which that time begins anew: fewer than could use it up without one of them taking too long."""

MOST_BYTES = 256 * 1024 * 1024
"""Of memory beyond what the process has at first: inputs have 200 kB at most, and caches are bounded."""

MOST_ALIKE = 2
"""Faults of one kind that are told, of all that are counted."""

MOST_BROKEN = 1_000
"""Inputs of one process that may go wrong before it stops: the rest would tell nothing new."""


@dataclass(frozen=True)
class Fault:
    """What one input did wrong."""

    case: int
    words: str

    @property
    def kind(self) -> str:
        """What it has in common with others of its kind: how it begins, numbers aside."""
        return re.sub(r"\d+", "#", self.words)[:60]


@dataclass
class Tally:
    """What became of inputs."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    sentences: Counter[str] = field(default_factory=Counter)
    """Refusals by their sentence, without what differs from input to input."""
    slowest_s: float = 0.0
    slowest_case: int = -1
    peak_mb: float = 0.0
    cpu_s: float = 0.0
    broken: int = 0
    """Inputs that did something wrong."""
    faults: list[Fault] = field(default_factory=list)
    """Some of each kind."""

    def add(self, other: Tally) -> None:
        """Take over what another process counted."""
        self.inputs += other.inputs
        self.accepted += other.accepted
        self.refused += other.refused
        self.sentences += other.sentences
        self.cpu_s += other.cpu_s
        self.peak_mb = max(self.peak_mb, other.peak_mb)
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest_case = other.slowest_s, other.slowest_case
        self.broken += other.broken
        for fault in other.faults:
            self.keep(fault)

    def keep(self, fault: Fault) -> None:
        """Keep a fault unless enough of its kind are known."""
        if sum(other.kind == fault.kind for other in self.faults) < MOST_ALIKE:
            self.faults.append(fault)


class TooSlow(BaseException):
    """The time of an input is over. No `Exception`, so that no reader takes it for its own."""


class Trespass(BaseException):
    """A reader went where it has no business."""


def make_input(target: Target, seed: int, case: int, folder: Path) -> FuzzInput:
    """Return the input of that number: the same for the same seed."""
    chance = Random(f"{seed} {target.name} {case}")
    return FuzzInput(mutate(chance, target.samples), folder, chance)


def run_cases(target: Target, seed: int, cases: Iterable[int], folder: Path, tally: Tally) -> Iterator[int]:
    """Try inputs and count what becomes of them; yields each number before it is tried."""
    for number, case in enumerate(cases):
        yield case
        if number % FEW == 0:
            _allow_time()
        given = make_input(target, seed, case, folder)
        began = time.process_time()
        try:
            try:
                signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
                sentence = _read(target, given)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        except (Exception, TooSlow, Trespass) as error:
            tally.broken += 1
            tally.keep(Fault(case, _describe(error)))
        else:
            tally.accepted += sentence is None
            tally.refused += sentence is not None
            if sentence is not None:
                tally.sentences[generalise(sentence)] += 1
        took = time.process_time() - began
        tally.inputs += 1
        tally.cpu_s += took
        if took > tally.slowest_s:
            tally.slowest_s, tally.slowest_case = took, case
    tally.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _read(target: Target, given: FuzzInput) -> str | None:
    try:
        sentence = target.read(given)
    except (BadInput, Refusal) as error:
        sentence = str(error)
    if sentence is not None:
        check_sentence(sentence)
    return sentence


def generalise(sentence: str) -> str:
    """Return a sentence without what it quotes, its numbers and its place, so that refusals can be told apart."""
    short = re.sub(r"^\S*/[^:]*: ", "", sentence)  # a file, and the line in it
    short = re.sub(r"\"[^\"]*\"|'[^']*'", "'…'", short)
    return re.sub(r"0x[0-9a-f]+|\d[\d,.]*", "#", short)[:60]


def _describe(error: BaseException) -> str:
    if isinstance(error, Broken):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/previously/" in frame.filename] or list(frames)
    where = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{where}: {str(error)[:300]!r}"


def _allow_time() -> None:
    """Let the system end this process where an input of the next few runs on and cannot be interrupted."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + HARD_S), most))


def _stop(_: int, __: FrameType | None) -> None:
    raise TooSlow(f"more than {LONGEST_S:g} s of CPU time")


def confine(folder: Path) -> None:
    """Bound this process from now on: its memory, the time of each input, and the files it may touch."""
    os.environ["PREVIOUSLY_CONFIG"] = ""
    logging.disable()
    signal.signal(signal.SIGPROF, _stop)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_BYTES,) * 2)
    inside = os.path.realpath(folder)
    follow = lru_cache(10_000)(os.path.realpath)  # nobody makes links: to do so would be noticed
    gc.freeze()
    code = tuple({os.path.realpath(one) for one in (sys.prefix, sys.base_prefix, *sys.path) if one})
    known = (*code, "/proc/self", "/dev/null", "/usr/share/zoneinfo", "/etc/localtime", "/sys/fs/cgroup")

    def look(event: str, given: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
            raise Trespass(f"{event} {given[:1]!r}")
        if event == "open" and isinstance(given[0], str | bytes):
            path = follow(os.fsdecode(given[0])) if b"\0" not in os.fsencode(given[0]) else inside
            writes = bool((given[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            if not path.startswith(inside) and (writes or not path.startswith(known)):
                raise Trespass(f"{'wrote' if writes else 'read'} {path!r}")
        elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "shutil.rmtree"):
            path = follow(os.fsdecode(given[0]))
            if not path.startswith(inside):
                raise Trespass(f"{event} {path!r}")

    sys.addaudithook(look)


def clear(folder: Path) -> None:
    """Remove what a target left behind."""
    shutil.rmtree(folder, ignore_errors=True)
