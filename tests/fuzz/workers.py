"""Processes that share the inputs of a target, and go on behind an input that ends one of them."""

from __future__ import annotations

import mmap
import multiprocessing
import struct
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from tests.fuzz.target import Target
from tests.fuzz.watch import MOST_BROKEN, Fault, Tally, clear, confine, run_cases

_NUMBER = struct.Struct("q")
BATCH = 500
"""Inputs whose count is told together: when a process is ended, no more are tried again."""

IN_MEMORY = next((place for place in ("/dev/shm",) if Path(place).is_dir()), None)
"""A place for files that no disk has to keep: to open one on a disk takes as long as all that is done with it."""

MOST_ENDS = 10
"""Processes that may be ended by inputs of one target before it is given up."""


def fuzz(target: Target, seed: int, cases: Sequence[int], workers: int, last: float = float("inf")) -> Tally:
    """Try inputs of a target, until the monotonic clock says `last`, and return what became of them."""
    whole = Tally()
    running = [_Worker(target, seed, cases[number::workers], last) for number in range(workers)]
    for worker in running:
        worker.start()
    for worker in running:
        worker.finish(whole)
    whole.faults.sort(key=lambda fault: fault.case)
    return whole


class _Worker:
    """A process, and the one that follows it where an input ended it."""

    def __init__(self, target: Target, seed: int, cases: Sequence[int], last: float) -> None:
        self._target = target
        self._seed = seed
        self._cases = cases
        self._last = last
        self._now = mmap.mmap(-1, _NUMBER.size)  # the input under way, to be read when its process has ended

    def start(self) -> None:
        forking = multiprocessing.get_context("fork")  # all is imported, and nothing runs beside it
        self._folder = Path(tempfile.mkdtemp(prefix="previously-fuzz-", dir=IN_MEMORY))
        self._results, sends = forking.Pipe(duplex=False)
        self._now.seek(0)
        self._now.write(_NUMBER.pack(-1))
        self._process = forking.Process(target=self._work, args=(sends,))
        self._process.start()
        sends.close()

    def finish(self, whole: Tally) -> None:
        """Wait for the process and those that follow it."""
        for _ in range(MOST_ENDS):
            if self._wait(whole):
                return
            (case,) = _NUMBER.unpack(self._now[: _NUMBER.size])
            whole.add(
                Tally(inputs=1, broken=1, faults=[Fault(case, f"its process ended with {self._process.exitcode}")])
            )
            self._cases = [other for other in self._cases if other != case]
            self.start()
        self._process.terminate()
        self._wait(whole)

    def _wait(self, whole: Tally) -> bool:
        """Add up what the process counts, until it is done; False if it ended before."""
        is_done = False
        try:
            while (tally := self._results.recv()) is not None:
                whole.add(tally)
                self._cases = self._cases[tally.inputs :]
            is_done = True
        except EOFError:
            pass
        self._process.join()
        clear(self._folder)
        return is_done

    def _work(self, sends: Connection) -> None:
        confine(self._folder)
        broken = 0
        for first in range(0, len(self._cases), BATCH):
            tally = Tally()
            batch = self._cases[first : first + BATCH]
            for case in run_cases(self._target, self._seed, batch, self._folder, tally):
                self._now[: _NUMBER.size] = _NUMBER.pack(case)
            sends.send(tally)
            broken += tally.broken
            if time.monotonic() > self._last or broken >= MOST_BROKEN:
                break
        sends.send(None)
        sends.close()
