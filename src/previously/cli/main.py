"""The entry point of `previously`. It imports next to nothing, so that Ctrl-C is answered while the rest is loaded."""

from __future__ import annotations

import gc
import sys

from previously.cli import INTERRUPTED

NEW_OBJECTS = 100_000
"""Objects that are made before Python looks for rings among them. To load a command and show a story makes up to
80,000, which all stay; with Python's own 700 they are looked through again and again, a tenth of what a short command
takes."""


def run() -> None:
    """Run the command line; does not return."""
    gc.set_threshold(NEW_OBJECTS)
    try:
        from previously.cli.command_table import main

        status = main(sys.argv[1:])
        gc.freeze()  # or Python looks through all that is there once more, and then the process ends
        sys.exit(status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
