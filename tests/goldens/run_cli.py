"""Runs commands in this process, and keeps everybody's own settings out of it."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from previously.cli.command_table import main


def run_cli(db: Path, *arguments: str) -> Any:
    """Return the JSON that a command prints; a dictionary with code and sentence where it refuses."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["--db", str(db), *arguments])
    if code:
        return {"code": code, "sentence": err.getvalue().strip()}
    return json.loads(out.getvalue())


@contextmanager
def own_environment(directory: Path) -> Iterator[None]:
    """Let neither the settings of the environment nor standard input count."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREVIOUSLY_")}
    ours = kept | {"PREVIOUSLY_CONFIG": "", "XDG_DATA_HOME": str(directory / "data")}
    stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with mock.patch.dict(os.environ, ours, clear=True), mock.patch.object(sys, "stdin", stdin):
        yield
