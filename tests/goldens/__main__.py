"""`python -m tests.goldens --check` says what is not as it was; `--write` makes what is now the expectation.

`--group` limits either to one of the files, and may be repeated: so a change can say which of them it means to change.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.goldens.compare import GROUPS, find_differences, write_expected
from tests.goldens.corpora import list_corpora
from tests.goldens.take import known_names, take_all

MOST_LINES = 200
"""Beyond this nobody reads on; the number of all is told."""


def main() -> int:
    """Take all goldens, and compare or write them."""
    parser = argparse.ArgumentParser(prog="python -m tests.goldens", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="compare; exit 1 if anything differs")
    what.add_argument("--write", action="store_true", help="write the expected files anew")
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this file; can be repeated")
    parser.add_argument("--quick", action="store_true", help="only the stories that `make test` checks")
    given = parser.parse_args()
    began = time.monotonic()
    corpora = [corpus for corpus in list_corpora() if corpus.quick or not given.quick]
    taken = take_all(corpora, _say)
    groups = given.group or GROUPS
    if given.write:
        for group in groups:
            write_expected(group, taken[group], known_names())
        _say(f"Written: {', '.join(groups)}; {time.monotonic() - began:.0f} s.")
        return 0
    lines = [line for group in groups for line in find_differences(group, taken[group])]
    sys.stdout.writelines(f"{line}\n" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        _say(f"… and {len(lines) - MOST_LINES} more.")
    _say(f"{len(lines)} differences in {', '.join(groups)}; {len(corpora)} stories, {time.monotonic() - began:.0f} s.")
    return 1 if lines else 0


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    sys.exit(main())
