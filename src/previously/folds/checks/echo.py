"""An answer that hands back what it was given, or plays on.

What must stay true: a recap may quote; a copy is told by how long its runs are and how much of the answer they fill.
"""

from __future__ import annotations

import re

from previously.folds.checks.material import Material
from previously.text.names import NOBODY
from previously.text.overlap import GRAM, grams_of, shared, tokens_of
from previously.text.sentences import QUOTED

COPIED = 0.8
"""The share that stands in the messages word for word, in runs of `LONG_RUN` words: a recap quotes less."""

LONG_RUN = 40
SPOKEN = 0.6
"""The share of speech that the story does not have from which on an answer plays on instead of telling."""

_LABEL = re.compile(
    r"[ \t>*_\[\"]{0,4}(?P<name>[^\s:：*_\[\]\"“「][^:：\n\"“「]{0,40}?)[\]*_\"]{0,3}[ \t]*[:：](?![\d/])"
)
_GESTURE = re.compile(r"(?<!\*)\*(?=\S)[^*\n]{12,400}\*(?!\*)")


def copies_story(material: Material, text: str) -> bool:
    """Whether the answer is the transcript again: nearly all of it copied, in runs as long as messages."""
    words = len(tokens_of(text))
    found = shared(text, " ".join(material.texts))
    return words > 4 * GRAM and found.share >= COPIED and found.longest >= min(LONG_RUN, 0.6 * words)


def plays_on(material: Material, text: str) -> bool:
    """Whether the answer goes on with the story: lines with speakers, or talk and gestures that nobody made."""
    lines = [line for line in text.split("\n") if line.strip()]
    known = {word for message in material.told for word in (message.speaker or "").lower().split()} | NOBODY
    labels = [match.group("name").lower().split() for line in lines if (match := _LABEL.match(line[:200]))]
    named = [name for name in labels if len(name) <= 5 and not known.isdisjoint(name)]
    if len(named) >= 2 and len(named) >= 0.4 * len(lines):
        return True
    source = set(grams_of(material.story))
    played = [match.group() for match in (*QUOTED.finditer(text), *_GESTURE.finditer(text))]
    new = [len(tokens_of(one)) for one in played if source.isdisjoint(grams_of(one))]
    return len(new) >= 2 and sum(new) >= SPOKEN * max(len(tokens_of(text)), 1)
