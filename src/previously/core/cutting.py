"""Cutting a text to a number of tokens.

What must stay true: what is given back is the beginning of the text, fits, and is as long as it can be up to the last
whole word.
"""

from __future__ import annotations

from previously.core.tokens import estimate_tokens


def length_that_fits(text: str, most_tokens: int) -> int:
    """How many characters of a text fit into so many tokens, by the estimate."""
    if estimate_tokens(text) <= most_tokens:
        return len(text)
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= most_tokens else (low, middle - 1)
    return text.rfind(" ", 0, low) + 1 or low


def beginning_of(text: str, most_tokens: int) -> str:
    """A text as it is, or its first words with a mark that it goes on."""
    end = length_that_fits(text, most_tokens)
    if end == len(text):
        return text
    end = length_that_fits(text, max(most_tokens - estimate_tokens("…"), 0))
    return f"{text[:end].rstrip(' ,;:')}…" if end else ""
