"""Those who are compared: each a process of its own before the same upstream, started with what it has by default."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

STARTS_S = 180.0
DIRECT, OURS, LITELLM = "direct", "Previously", "LiteLLM"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Party:
    """A process that answers chat requests."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def cpu_s(self) -> float:
        """CPU time it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def rss_mb(self) -> float:
        """Memory it holds now, that of its children included."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(_rss_mb(pid) for pid in [str(self.process.pid), *children])

    def settle(self, most_s: float = 60.0) -> None:
        """Wait until it has nothing more to do: folding begins when nobody has asked for a second."""
        ends, quiet = time.monotonic() + most_s, 0
        time.sleep(1.2)
        while time.monotonic() < ends and quiet < 2:
            before = self.cpu_s
            time.sleep(0.25)
            quiet = quiet + 1 if self.cpu_s - before < 0.02 else 0

    def warnings(self) -> dict[str, int]:
        """What it has complained of, and how often."""
        found: dict[str, int] = {}
        for line in self.log.read_text("utf-8", errors="replace").splitlines():
            if " warning " in line or "Traceback" in line or "ERROR" in line:
                said = re.sub(r"^\S+ |\d+", "", line)[:160]
                found[said] = found.get(said, 0) + 1
        return found


def _rss_mb(pid: str) -> float:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024
    return 0.0


@contextmanager
def upstream(folder: Path) -> Iterator[Party]:
    """The server behind all of them."""
    with _running(DIRECT, [sys.executable, "-m", "benchmarks.proxy_upstream"], folder, 0) as party:
        ends = time.monotonic() + STARTS_S
        while not (told := re.search(r":(\d+)/v1", party.log.read_text())):
            _check(party, ends)
        yield Party(DIRECT, int(told[1]), party.process, party.log)


@contextmanager
def previously(
    folder: Path, behind: Party, database: Path, *, name: str = OURS, tree: Path | None = None
) -> Iterator[Party]:
    """The memory proxy, with its stories on disk; of this tree, or of another one that is checked out somewhere."""
    port = _free_port()
    more = {"PYTHONPATH": str(tree / "src")} if tree else None
    command = [sys.executable, "-m", "previously", "--db", str(database), "serve", "--memory", "builtin"]
    command += ["--upstream", f"http://127.0.0.1:{behind.port}/v1", "--port", str(port)]
    with _running(name, command, folder, port, more) as party:
        _await(party, "/healthz")
        yield party


@contextmanager
def litellm(folder: Path, behind: Party, program: str, models: Iterable[str]) -> Iterator[Party]:
    """LiteLLM's proxy: one worker, no database, no keys, nothing logged."""
    base = f"http://127.0.0.1:{behind.port}/v1"
    listed = [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_base": base, "api_key": "none"}}
        for name in models
    ]
    config: dict[str, Any] = {
        "model_list": listed,
        "litellm_settings": {"telemetry": False, "request_timeout": 600},
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(config), "utf-8")  # JSON is YAML
    port = _free_port()
    command = [program, "--config", str(path), "--host", "127.0.0.1", "--port", str(port)]
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}
    with _running(LITELLM, command, folder, port, quiet) as party:
        _await(party, "/health/liveliness")
        yield party


@contextmanager
def _running(
    name: str, command: list[str], folder: Path, port: int, more: dict[str, str] | None = None
) -> Iterator[Party]:
    environment = dict(os.environ)
    if more is not None:
        environment.pop("PYTHONPATH", None)  # it has an environment of its own
        environment |= more
    log = folder / f"{name}.log"
    with log.open("ab") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        yield Party(name, port, process, log)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(party: Party, path: str) -> None:
    """Wait until it answers."""
    ends = time.monotonic() + STARTS_S
    while True:
        with suppress(OSError):
            connection = HTTPConnection("127.0.0.1", party.port, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                connection.close()
                return
        _check(party, ends)


def _check(party: Party, ends: float) -> None:
    if party.process.poll() is not None or time.monotonic() > ends:
        raise RuntimeError(f"{party.name} does not start: {party.log.read_text()[-2000:]}")
    time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Strangers:
    """CPU time that others than these processes take on this machine, as a share of all its cores."""

    def __init__(self, parties: Iterable[Party], workers: Iterable[int]) -> None:
        self._pids = [*(party.process.pid for party in parties), *workers, os.getpid()]
        self._began = time.monotonic(), self._taken()

    def _taken(self) -> float:
        busy = [int(one) for one in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        own = 0
        for pid in self._pids:
            with suppress(OSError):
                own += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        return (sum(busy) - busy[3] - busy[4] - own) / _TICKS

    @property
    def share(self) -> float:
        """Since it was made."""
        at, taken = self._began
        seconds = max(time.monotonic() - at, 1e-9)
        return max(0.0, (self._taken() - taken) / seconds / (os.cpu_count() or 1))
