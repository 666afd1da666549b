"""`python -m benchmarks [--data FOLDER]`: every benchmark that can run with what is there, one after the other.

`FOLDER` holds the data sets by name (`crd3/` …); a benchmark whose data is missing says so and is passed over.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ALL = "."
BENCHMARKS = {
    "scale": None,
    "start": None,
    "durability": None,
    "recap": "crd3",
    "survival": None,
    "play": None,
    "exam": None,
    "cost": None,
    "tokens": None,
    "prefix": None,
    "recall": ALL,
    "recall_stores": None,
    "lore": None,
    "cast": None,
    "compaction": ALL,
}
"""Each benchmark and the data set it needs; `ALL` for one that takes the whole folder, or none."""


def main() -> int:
    """Run them all; 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run every benchmark.")
    parser.add_argument("--data", type=Path, help="the folder that holds the data sets")
    folder: Path | None = parser.parse_args().data
    failed = False
    for name, data_set in BENCHMARKS.items():
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        if data_set is not None and (folder is not None or data_set != ALL):
            if folder is None or not (folder / data_set).is_dir():
                print(f"\n{name}: needs the data set {data_set}; give its folder with --data", flush=True)
                continue
            command += ["--data", str(folder / data_set)]
        print(f"\n{name}", flush=True)
        failed |= subprocess.run(command, check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
