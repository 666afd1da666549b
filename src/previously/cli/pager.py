"""The pager: long output of commands that only show something is read page by page, on a terminal and nowhere else.

`PREVIOUSLY_PAGER`, else `PAGER`, names the program; empty or `cat` means none. `less` is told to leave at once where
all fits one screen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from previously.cli import output

PAGED = frozenset(
    "show view why search log diff blame who-knows presence pending stories help presets set lore threads state wishes "
    "cast chapters scenes branches books".split()
)
"""Commands that only show something, or mostly: none of them asks or counts while it runs."""

_LESS = "FRX"
"""Leave at once if it fits, pass colours on, leave the text on the screen."""


def find_pager() -> list[str]:
    """Return the program that shows pages, with its options; empty where there is none or none is wanted."""
    import shlex
    import shutil

    named = os.environ.get("PREVIOUSLY_PAGER", os.environ.get("PAGER"))
    words = shlex.split("less" if named is None else named)
    if not words or words[0] == "cat" or shutil.which(words[0]) is None:
        return []
    return words


@contextmanager
def open_pager(command: str | None) -> Iterator[None]:
    """Let what a command prints go through the pager, if it is one to be read and somebody reads it on a terminal."""
    words = find_pager() if command in PAGED and sys.stdout.isatty() and sys.stdin and sys.stdin.isatty() else []
    if not words:
        yield
        return
    import subprocess  # takes a twentieth of the time in which stories are listed

    sys.stdout.flush()
    terminal = os.dup(sys.stdout.fileno())
    environment = {"LESS": _LESS, **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=environment) as pager:
        assert pager.stdin is not None, "it was asked for"
        os.dup2(pager.stdin.fileno(), sys.stdout.fileno())
        pager.stdin.close()
        output.set_terminal(True)
        try:
            yield
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            output.set_terminal(False)
            os.dup2(terminal, sys.stdout.fileno())  # closes our end: the pager sees that this was all
            os.close(terminal)
