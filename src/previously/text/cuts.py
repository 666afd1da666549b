"""Cuts: how a text that must fit becomes shorter, whole sentences at a time.

A text keeps its opening, which says who and where, and its newest sentences; what goes is the middle, and a mark says
so. A text of quotation lines that a view shortens loses its oldest lines, since each line names its message itself; one
that says what matters most first (a brief) its last lines. No quotation is ever cut in two. Only `clip`,
`cut_to_tokens` and `cut_window`, for short descriptions and excerpts, end inside a sentence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from previously.core.quote_lines import is_line_at, is_within_line, parse_line
from previously.core.tokens import estimate_tokens
from previously.text.sentences import find_starts

GAP = "[…]"
"""Stands where sentences are missing, so that nobody reads two that were apart as one thought."""

OPENING_SHARE = 3
"""A third of what is kept is the opening: it says who and where in a sentence or two, and what is newest is asked for
more often."""

LEAD_SHARE = 4
"""A quarter of a stretch stands before the first word it was chosen for: it says who does it."""

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
    """A description of what goes then."""


def cut_lines(text: str) -> Cut:
    """Return the cut of a text that says what matters most first: its last lines go."""
    lines = text.splitlines()
    return Cut(
        len(lines),
        lambda gone: "\n".join(lines[: len(lines) - gone]),
        lambda gone: f"the last {gone} of {len(lines)} lines",
    )


def cut_sentences(text: str) -> Cut:
    """Return the cut of any other text. Its opening is never more than its first paragraph."""
    starts = find_cuts(text)
    if any(parse_line(line) for line in text.splitlines()):
        return Cut(
            len(starts), lambda gone: text[starts[gone] :], lambda gone: f"the first {gone} of {len(starts)} sentences"
        )
    paragraph = text.find("\n\n")
    opening = sum(start < paragraph for start in starts) if paragraph > 0 else len(starts)

    def without(gone: int) -> str:
        kept = len(starts) - gone
        first = min(opening, max(1, kept // OPENING_SHARE)) if kept > 1 else 0
        newest = text[starts[first + gone] :]
        return f"{text[: starts[first]].rstrip()} {GAP} {newest}" if first else newest

    return Cut(len(starts), without, lambda gone: f"{gone} of {len(starts)} sentences")


def find_cuts(text: str) -> list[int]:
    """Return where sentences begin at which a text can be cut: not inside a quotation, even one that runs over several
    paragraphs, nor inside a line that quotes."""
    kept, quotes, at = [0], 0, 0
    for start in find_starts(text)[1:]:
        quotes += sum(mark in _QUOTES for mark in text[at:start])
        at = start
        if is_line_at(text, start) or (quotes % 2 == 0 and not is_within_line(text, start)):
            kept.append(start)
    return kept


def shorten(text: str, most: int, count: Callable[[str], int] = len) -> str:
    """Return a text as it is, or its opening and its newest sentences with a mark between them, so that `count` gives
    at most `most`. Where no sentence fits beside the mark, nothing is left."""
    if count(text) <= most:
        return text
    starts = find_cuts(text)
    openings = [text[:end].rstrip() for end in starts[1:]]
    opening = bisect_left(openings, True, key=lambda kept: count(kept) > most // OPENING_SHARE)
    while opening:
        shorter = _with_newest(text, openings[opening - 1], starts[opening:], most, count)
        if shorter:
            return shorter
        opening -= 1  # a long newest sentence: what is newest comes first
    return _with_newest(text, "", starts, most, count)


def _with_newest(text: str, opening: str, starts: list[int], most: int, count: Callable[[str], int]) -> str:
    """Return an opening with as many of the newest sentences as fit; nothing where not even the last does."""

    def shortened(first: int) -> str:
        between = "\n\n" if "\n" in text else " "
        return between.join(filter(None, (opening, GAP, text[starts[first] :].strip())))

    fewest = bisect_left(range(1, len(starts)), True, key=lambda first: count(shortened(first)) <= most)
    return shortened(fewest + 1) if fewest < len(starts) - 1 else ""


def find_fitting_length(text: str, most_tokens: int) -> int:
    """Return how many characters of a text fit into so many tokens, by the estimate, up to the last whole word."""
    if estimate_tokens(text) <= most_tokens:
        return len(text)
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= most_tokens else (low, middle - 1)
    return text.rfind(" ", 0, low) + 1 or low


def clip(text: str, longest: int) -> str:
    """Return a text of at most so many characters: as it is, or its beginning and a mark that it goes on."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def cut_to_tokens(text: str, most_tokens: int) -> str:
    """Return a text as it is, or its first words with a mark that it goes on."""
    end = find_fitting_length(text, most_tokens)
    if end == len(text):
        return text
    end = find_fitting_length(text, max(most_tokens - estimate_tokens("…"), 0))
    return f"{text[:end].rstrip(' ,;:')}…" if end else ""


def cut_around(
    text: str, places: Sequence[tuple[int, int]], most: int, count: Callable[[str], int] = estimate_tokens
) -> str:
    """Return a text that may take so much as it is; of a longer one the sentences around these places, as many as fit,
    with marks where something is left out. A sentence that is too long by itself is cut."""
    if count(text) <= most:
        return text
    starts = find_starts(text)
    ends = [*starts[1:], len(text)]
    held = [sum(begin <= place < end for place, _ in places) for begin, end in zip(starts, ends, strict=True)]
    first = last = max(range(len(starts)), key=lambda at: held[at])

    def take(begin: int, end: int) -> str:
        shown = text[starts[begin] : ends[end]].strip()
        return f"{'… ' if begin else ''}{shown}{' …' if end < len(starts) - 1 else ''}"

    if count(take(first, last)) > most:
        return cut_to_tokens(text[starts[first] : ends[last]].strip(), most)
    while True:
        wider = [
            (begin, end) for begin, end in ((first, last + 1), (first - 1, last)) if begin >= 0 and end < len(ends)
        ]
        fitting = [bounds for bounds in wider if count(take(*bounds)) <= most]
        if not fitting:
            return take(first, last)
        # On the side that holds more of what was found; else on, as the story goes.
        first, last = max(fitting, key=lambda bounds: sum(held[bounds[0] : bounds[1] + 1]))


def cut_window(text: str, places: Sequence[tuple[int, int]], longest: int) -> str:
    """Return a text in one line: as it is, or of a longer one the so many characters that hold the most different words
    of these places, with some words before them and marks where something is left out. Words stay whole."""
    line = "".join(" " if character.isspace() else character for character in text)
    if len(line) <= longest:
        return " ".join(line.split())
    before = longest // LEAD_SHARE
    begin = min(find_fullest(text, places, longest), len(line) - longest)
    end = begin + longest
    if begin:
        begin = line.find(" ", begin - 1, begin + before) + 1 or begin
    if end < len(line):
        end = max(line.rfind(" ", begin, end + 1), end - before)
    return f"{'… ' if begin else ''}{' '.join(line[begin:end].split())}{' …' if end < len(line) else ''}"


def find_fullest(text: str, places: Sequence[tuple[int, int]], longest: int) -> int:
    """Return where the first stretch of so many characters begins that holds the most different words of these places.
    Each place comes in once and goes out once: a log of an agent may hold thousands."""
    words = {place: text[slice(*place)].casefold() for place in places if place[1] - place[0] <= longest}
    starts, ends = sorted(words), sorted(words, key=lambda place: place[1])
    held: Counter[str] = Counter()
    fullest = most = came = went = 0
    for start, _ in starts:
        begin = max(0, start - longest // LEAD_SHARE)
        while came < len(ends) and ends[came][1] <= begin + longest:
            held[words[ends[came]]] += 1
            came += 1
        while starts[went][0] < begin:
            gone = words[starts[went]]
            held[gone] -= 1
            if not held[gone]:
                del held[gone]
            went += 1
        if len(held) > most:
            fullest, most = begin, len(held)
    return fullest
