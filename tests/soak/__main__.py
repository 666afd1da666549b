"""A soak of the proxy: `python -m tests.soak --minutes 30 --stories 100`.

Two servers on one file; clients tell stories over real sockets; one server at a time is killed, another program locks
the store, clients leave in the middle. It exits with 1 if anything that was acknowledged is missing, there twice or in
the wrong place, if `verify` finds anything, or if a server met an error that nobody expected.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.soak.run import SoakPlan, soak


def main() -> int:
    """Run what is asked for; the exit code."""
    parser = argparse.ArgumentParser("python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--stories", type=int, default=100, help="told at the same time")
    parser.add_argument("--rate", type=float, default=8.0, help="turns in a second, of all stories together")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between disturbances, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where database and logs stay; else they are removed")
    asked = parser.parse_args()
    plan = SoakPlan(asked.minutes, asked.stories, asked.rate, asked.every, asked.seed)
    with tempfile.TemporaryDirectory(prefix="previously-soak-") as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report = asyncio.run(soak(plan, folder))
    print(json.dumps(report, indent=2))  # noqa: T201
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
