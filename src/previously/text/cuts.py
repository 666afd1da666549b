"""Shortening a text that must fit: its opening and its newest sentences stay, whole.

The opening says who and where, the end how things stand; what lies between gives way, and a mark says that it did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from previously.core.quote_lines import begins_line
from previously.text.sentences import whole_sentences

GAP = "[…]"
"""What stands where sentences were left out."""

OPENING_SHARE = 3
"""A third of the room is the opening's: who people are is told there, and the rest goes to what is newest."""


def shorten(text: str, most: int, count: Callable[[str], int] = len) -> str:
    """Return a text as it is, or its opening and its newest sentences with a mark between them, so that `count` gives
    at most `most`. Quotation lines stay whole. Where no sentence fits beside the mark, nothing is left."""
    if count(text) <= most:
        return text
    spans = _sentence_spans(text)
    ends = [text[:end].rstrip() for _, end in spans[:-1]]
    opening = bisect_left(ends, True, key=lambda kept: count(kept) > most // OPENING_SHARE)
    while opening:
        found = _with_newest(text, ends[opening - 1], spans[opening:], most, count)
        if found:
            return found
        opening -= 1  # a long newest sentence: what is newest comes first
    return _with_newest(text, "", spans, most, count)


def _with_newest(text: str, opening: str, spans: list[tuple[int, int]], most: int, count: Callable[[str], int]) -> str:
    """Return an opening with as many of the newest sentences as fit; nothing where not even the last does."""

    def shortened(first: int) -> str:
        newest = text[spans[first][0] :].strip()
        between = "\n\n" if "\n" in text else " "
        return between.join(filter(None, (opening, GAP, newest)))

    fewest = bisect_left(range(1, len(spans)), True, key=lambda first: count(shortened(first)) <= most)
    return shortened(fewest + 1) if fewest < len(spans) - 1 else ""


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where each sentence begins and ends; a quotation line is one."""
    spans: list[tuple[int, int]] = []
    prose = at = 0
    for line in text.splitlines(keepends=True):
        if begins_line(text, at):
            spans += _prose_spans(text, prose, at)
            spans.append((at, at + len(line)))
            prose = at + len(line)
        at += len(line)
    return [*spans, *_prose_spans(text, prose, at)]


def _prose_spans(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for sentence in whole_sentences(text[begin:end]):
        first = text.index(sentence, begin, end)
        begin = first + len(sentence)
        spans.append((first, begin))
    return spans
