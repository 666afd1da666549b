"""Cuts: how a text of memory becomes shorter, whole sentences at a time.

A text keeps its opening, which says who and where, and its newest sentences; what goes is the middle, and a mark says
so. A text of quotation lines loses its oldest lines, since each line names its message itself; one that says what
matters most first (a brief) its last lines. No quotation is ever cut in two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from previously.core.quote_lines import begins_line, is_within_line, parse_line
from previously.text.sentences import sentence_starts

GAP = "[…]"
"""Stands where sentences are missing, so that nobody reads two that were apart as one thought."""

OPENING_SHARE = 3
"""A third of the sentences kept, and no more than the first paragraph, are the opening: it says who and where in a
sentence or two, and what is newest is asked for more often."""

_QUOTES = frozenset('"“”„«»「」『』')
"""Marks that come in pairs, whatever the language opens and closes with."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that can be cut, and how often: the more goes, the less is left."""

    units: int
    """Of how many sentences or lines it consists; all but one of them can go."""
    without: Callable[[int], str]
    """The text without so many of them."""
    what: Callable[[int], str]
    """What goes then, in words."""


def cut_lines(text: str) -> Cut:
    """Return the cut of a text that says what matters most first: its last lines go."""
    lines = text.splitlines()
    return Cut(
        len(lines),
        lambda gone: "\n".join(lines[: len(lines) - gone]),
        lambda gone: f"the last {gone} of {len(lines)} lines",
    )


def cut_sentences(text: str) -> Cut:
    """Return the cut of any other text."""
    starts = starts_of(text)
    if any(parse_line(line) for line in text.splitlines()):
        return Cut(
            len(starts),
            lambda gone: text[starts[gone] :],
            lambda gone: f"the first {gone} of {len(starts)} sentences",
        )
    paragraph = text.find("\n\n")
    opening = sum(start < paragraph for start in starts) if paragraph > 0 else len(starts)

    def without(gone: int) -> str:
        kept = len(starts) - gone
        first = min(opening, max(1, kept // OPENING_SHARE)) if kept > 1 else 0
        newest = text[starts[first + gone] :]
        return f"{text[: starts[first]].rstrip()} {GAP} {newest}" if first else newest

    return Cut(len(starts), without, lambda gone: f"{gone} of {len(starts)} sentences")


def starts_of(text: str) -> list[int]:
    """Return where sentences begin at which a text can be cut: not inside a quotation, even one that runs over several
    paragraphs, nor inside a line that quotes."""
    kept, quotes, at = [0], 0, 0
    for start in sentence_starts(text)[1:]:
        quotes += sum(mark in _QUOTES for mark in text[at:start])
        at = start
        if begins_line(text, start) or (quotes % 2 == 0 and not is_within_line(text, start)):
            kept.append(start)
    return kept
