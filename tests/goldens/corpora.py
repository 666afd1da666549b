"""The stories that goldens are taken of.

Small ones are checked by the test suite, all of them by `make goldens`. The three exam stories may lie in the
repository; logs of agents never do: of those only hashes and counts are kept. What is not there is skipped, and said.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path

from previously.demo.long_story import generate_story

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
EXAM_HOMES = (ROOT / "benchmarks" / "exam" / "stories", SHARED / "exam")

EXAM_STORIES = ("saltworks-duet.jsonl", "table-of-four.jsonl", "glasshouse-novel.md")
AGENT_LOGS = (
    "claude-code/test__test_data__edge_cases.jsonl",
    "claude-code/test__test_data__todowrite_examples.jsonl",
    "sweagent/function-calling-simple.traj",
    "sweagent/marshmallow-1867-function-calling.traj",
)


@dataclass(frozen=True)
class Corpus:
    """A story in a file."""

    name: str
    suffix: str
    read: Callable[[], bytes]
    small: bool = False
    long: bool = False
    """A fold of it takes a minute: it is folded once, and not sent upstream."""
    sealed: bool = False
    """Nothing of its text may be kept: only hashes and counts."""

    def write_into(self, directory: Path) -> Path:
        """Put the story into a file of that directory, under its own name."""
        path = directory / f"{self.name}{self.suffix}"
        path.write_bytes(self.read())
        return path


def find_corpora(*, small: bool) -> tuple[list[Corpus], list[str]]:
    """Return the stories at hand, or the small ones among them, and a sentence for each that is missing."""
    corpora = [
        Corpus("sample", ".jsonl", _sample, small=True),
        Corpus("sample-begin", ".jsonl", _sample_begin, small=True),
        Corpus("generated-300", ".jsonl", partial(_generate, 300), small=True),
    ]
    missing: list[str] = []
    if small:
        return corpora, missing
    corpora.append(Corpus("generated-5000", ".jsonl", partial(_generate, 5000), long=True))
    exam = [[home / name for home in EXAM_HOMES] for name in EXAM_STORIES]
    agents = [[SHARED / "agents" / name] for name in AGENT_LOGS]
    for places in chain(exam, agents):
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            missing.append(f"{places[0].name} is not at hand: looked in {_named(places)}; its goldens are skipped.")
        else:
            corpora.append(Corpus(path.stem, path.suffix, path.read_bytes, sealed=places in agents))
    return corpora, missing


def names_of_all() -> set[str]:
    """Return the name of every corpus, at hand or not."""
    stems = {Path(name).stem for name in (*EXAM_STORIES, *AGENT_LOGS)}
    return {"sample", "sample-begin", "generated-300", "generated-5000"} | stems


def _sample() -> bytes:
    return (files("previously.demo") / "harbour.jsonl").read_bytes()


def _sample_begin() -> bytes:
    """Return its first 110 messages: the first chapter and the beginning of the second."""
    return b"".join(_sample().splitlines(keepends=True)[:110])


def _generate(messages: int) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in generate_story(messages)).encode()


def _named(places: list[Path]) -> str:
    return ", ".join(str(place.parent.relative_to(ROOT.parent)) for place in places)
