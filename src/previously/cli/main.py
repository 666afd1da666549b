"""The entry point of `previously`. It imports next to nothing, so that Ctrl-C is answered while the rest is loaded."""

from __future__ import annotations

import sys

from previously.cli import INTERRUPTED


def run() -> None:
    """Run the command line; does not return."""
    try:
        from previously.cli.command_table import main

        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
