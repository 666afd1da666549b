"""The stories that goldens are taken of, all of which lie in the repository or are generated.

`make test` checks the quick ones; the longer suite and `make goldens` check all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

from benchmarks.compaction.sessions import generated
from previously.demo.long_story import generate_story
from previously.formats import to_claude_code, to_openai

EXAM = Path(__file__).parents[2] / "benchmarks" / "exam" / "stories"
EXAM_STORIES = ("saltworks-duet.jsonl", "table-of-four.jsonl", "glasshouse-novel.md")


@dataclass(frozen=True)
class Corpus:
    """A story in a file."""

    name: str
    suffix: str
    read: Callable[[], bytes]
    quick: bool = False
    long: bool = False
    """A fold of it takes long: it is folded once, and not sent upstream."""
    logged: bool = False
    """The log of an agent's session."""

    def write_into(self, directory: Path) -> Path:
        """Put the story into a file of that directory, under its own name."""
        path = directory / f"{self.name}{self.suffix}"
        path.write_bytes(self.read())
        return path


def list_corpora() -> list[Corpus]:
    """Return the stories."""
    return [
        Corpus("sample", ".jsonl", _sample),
        Corpus("sample-begin", ".jsonl", _sample_begin, quick=True),
        Corpus("generated-300", ".jsonl", partial(_generate, 300), quick=True),
        Corpus("generated-5000", ".jsonl", partial(_generate, 5000), long=True),
        *(Corpus(Path(name).stem, Path(name).suffix, (EXAM / name).read_bytes) for name in EXAM_STORIES),
        Corpus("agent-openai", ".json", _agent_as_openai, logged=True),
        Corpus("agent-claude-code", ".jsonl", _agent_as_claude_code, logged=True),
    ]


def _sample() -> bytes:
    return (files("previously.demo") / "harbour.jsonl").read_bytes()


def _sample_begin() -> bytes:
    """Return its first 110 messages: the first chapter and the beginning of the second."""
    return b"".join(_sample().splitlines(keepends=True)[:110])


def _generate(messages: int) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in generate_story(messages)).encode()


def _agent_as_openai() -> bytes:
    lines = [line for message in generated(1).messages for line in to_openai(message)]
    return json.dumps({"messages": lines}).encode()


def _agent_as_claude_code() -> bytes:
    lines = to_claude_code(generated(2).messages, session_id="goldens", at="2025-06-01T12:00:00Z")
    return "".join(f"{line}\n" for line in lines).encode()
