"""Report how much of Previously an edit, a fold, a view and a chat turn touch: `python -m tests.trace [--json]`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from tests.trace.measure import take_traces


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.trace", description=__doc__)
    parser.add_argument("--json", action="store_true", help="everything, with the names of the modules")
    options = parser.parse_args()
    os.environ["PREVIOUSLY_CONFIG"] = ""
    with tempfile.TemporaryDirectory() as directory:
        traces = take_traces(Path(directory))
    if options.json:
        sys.stdout.write(json.dumps(traces, indent=2) + "\n")
        return
    sys.stdout.write(f"{'':12}{'modules':>8}{'store hops':>12}\n")
    for name, trace in traces.items():
        sys.stdout.write(f"{name:12}{trace['modules']:8}{trace['hops']:12}\n")


if __name__ == "__main__":
    main()
