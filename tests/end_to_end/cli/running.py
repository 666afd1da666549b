"""Running commands in this process, on a database of the test's own."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from previously.cli.command_table import main

LINES = (
    ("assistant", "Narrator", "Snow shut the pass on the ninth of October. Orla Finch had eleven sheep left."),
    ("user", "Orla", "I promised my brother Davin that I would bring the bell down before Christmas."),
    ("assistant", "Davin", "You owe the miller forty crowns, Orla. He wants them by Sunday."),
    ("user", "Orla", "Then I sell two sheep. The key to the bell tower is under the third stone."),
)


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value that stdout holds, and nothing else."""
        assert self.code == 0, self.err
        return json.loads(self.out)


class Cli:
    """`previously --db …` with the arguments that follow."""

    def __init__(self, db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.db = db
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: object, stdin: bytes = b"") -> Ran:
        return self.bare("--db", self.db, *arguments, stdin=stdin)

    def bare(self, *arguments: object, stdin: bytes = b"") -> Ran:
        """Without --db."""
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ran(code, *self._capsys.readouterr())

    def fails(self, code: int, *arguments: object, stdin: bytes = b"") -> str:
        """The one sentence that the command ends with."""
        ran = self(*arguments, stdin=stdin)
        assert ran.code == code, ran
        assert ran.out == ""
        return sentence(ran.err)

    def tell(self, story: str, count: int = len(LINES)) -> None:
        """Write a story of that many messages."""
        tell(self.db, story, count)

    def texts(self, story: str) -> list[str]:
        """What stands on the active path."""
        from previously.blocking import BlockingMemory

        with BlockingMemory(self.db) as memory:
            return [item.entry.message.text for item in memory.story(story, create=False).messages()]

    def stories(self) -> list[str]:
        """The stories there are."""
        return [story["story"] for story in self("stories", "--json").json["stories"]]


def tell(db: Path, story: str, count: int) -> None:
    """Add that many messages to a story in a file."""
    from previously.blocking import BlockingMemory
    from previously.core.messages import Draft, message

    lines = (LINES[index % len(LINES)] for index in range(count))
    drafts = [
        Draft(message(role, f"{text} Day {index}.", speaker=name)) for index, (role, name, text) in enumerate(lines)
    ]
    with BlockingMemory(db) as memory:
        memory.story(story).add_drafts(drafts)


def sentence(stderr: str) -> str:
    """The complaint: one line, one sentence, no traceback."""
    assert stderr.startswith("previously: "), stderr
    assert stderr.endswith(".\n"), stderr
    assert stderr.count("\n") == 1, stderr
    assert "Traceback" not in stderr
    return stderr.removeprefix("previously: ").strip()
