"""The examples run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_chat_goes_on_where_it_ended(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "chat_with_memory.py")]
    for expected in ("(I see 1 messages", "(I see 3 messages"):
        done = subprocess.run(command, input="Hello.\n\n", cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(expected)
