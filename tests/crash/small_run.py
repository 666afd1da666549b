"""A few crashes inside the ordinary tests. They are started as a program of their own: the process of a test has
threads, and such a one must not be forked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PARTS = ("kills", "states", "crashes", "errors", "flips")
STORIES = 2


def small_run(*options: str, **numbers: int) -> dict[str, Any]:
    """What the long form reports for these numbers of crashes, and none of the other parts; all must be well."""
    report = reported(*options, **numbers)
    faults = [fault for part in report["crashes"].values() for fault in part["faults"]]
    assert not faults, "\n".join(faults)
    assert report["ok"]
    return report


def reported(*options: str, **numbers: int) -> dict[str, Any]:
    """The same, well or not."""
    asked = [f"--{part}={numbers.get(part, 0)}" for part in PARTS]
    command = [sys.executable, "-m", "tests.crash", "--json", f"--stories={STORIES}", *asked, *options]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (not report["ok"])
    return report
