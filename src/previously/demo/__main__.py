"""Print the sample story, to be imported like any other file: `python -m previously.demo > harbour.jsonl`."""

from __future__ import annotations

import sys
from importlib.resources import files

if __name__ == "__main__":
    sys.stdout.write(files("previously.demo").joinpath("harbour.jsonl").read_text("utf-8"))
