"""What the tests of the command line may use."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.end_to_end.cli.running import Cli


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Commands on an empty database, whatever the environment says."""
    monkeypatch.delenv("PREVIOUSLY_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path / "stories.db", capsys, monkeypatch)


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes JSONL files."""

    def write(name: str, lines: Sequence[object]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def tale(cli: Cli) -> Cli:
    """The same with a story of four messages, which a command that fails leaves as it was."""
    cli.tell("tale")
    return cli
