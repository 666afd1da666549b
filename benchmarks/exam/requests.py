"""What a request is about: its hash, the kind of question it asks, and the span of new messages it holds.

A model is handed nothing but two texts, so kind and span are read from them: the kind by the fixed words of the
prompts, the span by the story's own words. That goes on working when prompts change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256

from previously.core.model_io import ModelRequest
from previously.core.path import Span
from previously.folds.prompts.templates import Template

UNKNOWN_KIND = "other"

LONGEST_GAP = 120
"""Characters that may stand between two messages: a number, a name, blank lines. Names have at most 40."""

_PLACEHOLDER = re.compile(r"\{\{\w+\}\}")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+\S|<[a-z_]+>)", re.MULTILINE)
"""The line or tag that introduces a part of a request; `#12 Name:`, which introduces a message, is none."""


def hash_request(request: ModelRequest) -> str:
    """Return the hash of all that a request says. Sixteen digits: a set has dozens of requests, not billions."""
    return sha256(f"{request.system}\0{request.user}".encode()).hexdigest()[:16]


def find_kind(request: ModelRequest, templates: Mapping[str, Template]) -> str:
    """Return the name of the prompt whose fixed words stand in the request, in their order; of several, the one with
    most of them."""
    text = f"{request.system}\n{request.user}"
    kinds = [(_fixed_characters(template, text), name) for name, template in templates.items()]
    characters, name = max(kinds, default=(0, UNKNOWN_KIND))
    return name if characters else UNKNOWN_KIND


def _fixed_characters(template: Template, text: str) -> int:
    """Return how many characters of the template stand in the text; 0 if one of its pieces does not."""
    position = characters = 0
    for piece in _PLACEHOLDER.split(f"{template.system}\n{template.user}"):
        if not piece.strip():
            continue
        position = text.find(piece.strip(), position)
        if position < 0:
            return 0
        position += len(piece.strip())
        characters += len(piece)
    return characters


def find_span(request: ModelRequest, texts: Sequence[str]) -> Span | None:
    """Return the span of the new messages: the longest run of messages that stand in the request whole, one right
    behind the other, with no heading between them. So a bridge, which stands under a heading of its own, is not
    part of it. None where no message stands in the request."""
    told = request.user.replace("‹", "<")  # tags in a story's text are defused in requests
    runs: dict[tuple[int, int], tuple[int, int]] = {}
    """By message and where it begins: the characters and messages of the run from there."""
    later: list[tuple[int, int]] = []
    best: tuple[int, int, int] = (0, 0, 0)
    for index in reversed(range(len(texts))):
        places = [(match.start(), match.end()) for match in _as_pattern(texts[index]).finditer(told)]
        for start, end in places:
            following = [
                runs[index + 1, begin]
                for begin, _ in later
                if end <= begin <= end + LONGEST_GAP and not _HEADING.search(told[end:begin])
            ]
            characters, count = max(following, default=(0, 0))
            runs[index, start] = characters + end - start, count + 1
            best = max(best, (characters + end - start, start, index))
        later = places
    characters, start, index = best
    return Span(index, index + runs[index, start][1] - 1) if characters else None


@lru_cache(maxsize=2_048)
def _as_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of the text's words, however the space between them is written. An empty text is nowhere."""
    words = text.split()
    return re.compile(r"\s+".join(map(re.escape, words)) if words else r"(?!)")
