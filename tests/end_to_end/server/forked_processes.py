"""Processes of `previously serve` that begin with everything imported.

To import what a server needs takes most of its start: 0.6 of 0.85 seconds of CPU, and the tests start eighty. So one
process imports it, and forks for each server. A server is still a process of its own, with its arguments, environment
and log, and runs what the command runs.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

CAN_FORK = hasattr(os, "pidfd_open")
"""Only Linux tells when a process ends that another one has started."""

MOST_BYTES = 1_000_000
"""Of an order: the environment of a machine is seldom a tenth of this."""

POLL_S = 0.01


class ForkedProcess:
    """A process that was forked, used as one of asyncio's is."""

    def __init__(self, pid: int, orders: socket.socket) -> None:
        self.pid = pid
        self._orders = orders
        self._code: int | None = None
        self._end = os.pidfd_open(pid)

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the signal that ended it below zero; None as long as it runs."""
        if self._code is None and select.select([self._end], [], [], 0)[0]:
            self._code = _order(self._orders, {"wait": self.pid})
            os.close(self._end)
        return self._code

    def send_signal(self, how: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, how)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until it has ended; its exit code."""
        while (code := self.returncode) is None:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)
        return code


def fork_previously(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> ForkedProcess:
    """Run the command with these arguments, in this environment alone; what it prints goes to the log."""
    orders = _start_parent()
    pid = _order(orders, {"run": list(arguments), "environment": dict(environment), "log": str(log)})
    return ForkedProcess(pid, orders)


@cache
def _start_parent() -> socket.socket:
    """Start the process that forks. It ends when nobody holds the other end of its socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        parent = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)
    atexit.register(_end_parent, parent, ours)
    return ours


def _end_parent(parent: subprocess.Popen[bytes], orders: socket.socket) -> None:
    orders.close()
    parent.wait()


def _order(orders: socket.socket, order: Mapping[str, Any]) -> int:
    orders.send(json.dumps(order).encode())
    answer = orders.recv(MOST_BYTES)
    assert answer, "the process that forks is gone"
    return int(answer)


def _take_orders(orders: socket.socket) -> None:
    """Fork and wait as told. Returns in each forked process, with its arguments in place, and there alone."""
    while given := orders.recv(MOST_BYTES):
        order = json.loads(given)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            orders.send(str(os.waitstatus_to_exitcode(status)).encode())
        elif pid := os.fork():
            orders.send(str(pid).encode())
        else:
            orders.close()
            os.environ.clear()
            os.environ.update(order["environment"])
            with Path(order["log"]).open("wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            sys.argv = ["previously", *order["run"]]
            return
    sys.exit()


if __name__ == "__main__":
    import previously.cli.serve
    import previously.server.app
    import previously.server.process  # noqa: F401
    from previously.cli.main import run

    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a thread would be missing in what is forked"
    gc.freeze()
    _take_orders(socket.socket(fileno=int(sys.argv[1])))
    run()
