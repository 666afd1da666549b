"""Counting in words: so many of something, in the singular where it is one."""

from __future__ import annotations


def count_nouns(number: int, noun: str) -> str:
    """Return so many of something, in words."""
    if number == 1:
        return f"1 {noun}"
    for end, ends in (("y", "ies"), ("sis", "ses"), ("ch", "ches")):
        if noun.endswith(end):
            return f"{number:,} {noun.removesuffix(end)}{ends}"
    return f"{number:,} {noun}s"
