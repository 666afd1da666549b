"""Short texts in many languages and forms, to hold token counters against.

`texts/` has one file for each: stories, talk, code and data as they turn up in a chat with a model, written for this.
A file is in two halves about different things, with `***` between them: a counter may be calibrated on the first and
is judged by the second.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

_FOLDER = Path(__file__).parent / "texts"

LANGUAGES = tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))
"""Languages, and what is written in none: code, addresses, numbers, emoji."""


@cache
def halves(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to calibrate on and what to be judged by, each in paragraphs as they would stand in messages."""
    first, second = (_FOLDER / f"{language}.txt").read_text("utf-8").split("\n***\n")
    return _paragraphs(first), _paragraphs(second)


def paragraphs(language: str) -> tuple[str, ...]:
    """All paragraphs of a language."""
    first, second = halves(language)
    return first + second


def demo_story() -> list[str]:
    """What is said in the role-play that comes with the package: English, and long enough to learn from."""
    lines = files("previously.demo").joinpath("harbour.jsonl").read_text("utf-8").splitlines()
    return [f"{said['name']}: {said['content']}" for said in map(json.loads, lines)]


def _paragraphs(text: str) -> tuple[str, ...]:
    # An indented line goes on with the code before it.
    return tuple(part.strip("\n") for part in re.split(r"\n\n+(?! )", text.strip("\n")))
