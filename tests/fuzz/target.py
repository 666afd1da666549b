"""Targets: what is fuzzed, and what must hold of every input whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.mutations import Sample

LONGEST_SENTENCE = 1_000
"""Characters of a refusal: a file's name, a place and a reason; more would be the input itself."""


class Broken(Exception):
    """A promise that an input broke without raising an error of its own."""


@dataclass(frozen=True)
class FuzzInput:
    """One input: its bytes, a directory that the reader may use, and random numbers for what is beside the bytes."""

    content: bytes
    folder: Path
    chance: Random

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    @property
    def said(self) -> str:
        """The text as a program may hand it on: with halves of characters in it."""
        try:
            return self.content.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return self.text

    def write(self, name: str = "input") -> Path:
        path = self.folder / name
        path.write_bytes(self.content)
        return path


@dataclass(frozen=True)
class Target:
    """A reader. `read` returns None when it accepts an input, else the sentence of its refusal; it may raise
    `BadInput` or `Refusal` instead, and nothing else."""

    name: str
    read: Callable[[FuzzInput], str | None]
    samples: Sequence[Sample]
    is_format: bool = False
    """It reads files of people, in one of their formats, and nothing else: a cheap case, and tried more often."""


def check(held: object, promise: str) -> None:
    """Raise `Broken` unless a promise was kept."""
    if not held:
        raise Broken(promise)


def check_sentence(sentence: str) -> None:
    """Raise `Broken` unless a refusal is one plain sentence of bounded length."""
    check(sentence.strip(), "a refusal says nothing")
    check(len(sentence) <= LONGEST_SENTENCE, f"a refusal of {len(sentence)} characters: {sentence[:300]!r}")
    check(sentence.isprintable(), f"a refusal that is not one printable line: {sentence[:300]!r}")
    check("Traceback" not in sentence and " object at 0x" not in sentence, f"a refusal for programmers: {sentence!r}")
