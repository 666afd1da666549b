"""Counting in words: so many of something, in the singular where it is one."""

from __future__ import annotations


def count_nouns(number: int, noun: str) -> str:
    """Return so many of something, in words."""
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}{'es' if noun.endswith('ch') else 's'}"
    return f"{number:,} {noun if number == 1 else plural}"
