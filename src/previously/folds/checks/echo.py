"""An answer that hands back what it was given, or plays on instead of telling.

Owns verbatim overlap and transcript lines. What must stay true: a recap may quote, and one made of whole sentences of
the story is still a recap; a copy is told by how long its runs are and how much of the answer they fill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from previously.core.words import count_words
from previously.folds.checks.material import Material
from previously.text.sentences import QUOTED

GRAM = 6
"""Words in a row that two texts do not share by chance."""

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e7f]|[^\W_]+")
_LABEL = re.compile(
    r"[ \t>*_\[\"]{0,4}(?P<name>[^\s:：*_\[\]\"“「][^:：\n\"“「]{0,40}?)[\]*_\"]{0,3}[ \t]*[:：](?![\d/])"
)
_ROLES = frozenset(
    "user assistant system human ai narrator bot model player gm dm instruction instructions input response output "
    "prompt "
    "transcript messages new messages previous summary previous recap earlier text".split()
) | {"new messages", "previous summary", "previous recap", "earlier recap", "new transcript", "target"}
_STARRED = re.compile(r"(?<!\*)\*(?=\S)[^*\n]{12,400}\*(?!\*)")
_FIRST_OR_SECOND = re.compile(
    r"\b(?:i|i'm|i'll|my|me|you|your|you're|ich|du|dich|dir|mein\w*|je|tu|vous|moi|yo|tú|mi|eu|você|я|ты|вы|мне|"
    r"тебя)\b|[我你您俺僕私君]",
    re.I,
)

LEAST_TOKENS = 25
ECHOED = 0.35
COPIED = 0.8
LONG_RUN = 60
_UNTOLD = 60


def tokens_of(text: str) -> list[str]:
    """Words in lower case; in scripts without spaces, characters."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=4)
def grams_of(*texts: str) -> frozenset[tuple[str, ...]]:
    """All runs of `GRAM` words of the texts."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        found.update(_grams(tokens_of(text)))
    return frozenset(found)


def _grams(tokens: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(tokens[start:] for start in range(GRAM)), strict=False)


def echoes_prompt(material: Material, prompt: str, text: str) -> bool:
    """Whether a good part of the answer is instructions from the prompt."""
    if not prompt:
        return False
    tokens = tokens_of(text)
    if len(tokens) < GRAM:
        return False
    asked = grams_of(prompt) - grams_of(material.previous, *material.texts)
    grams = list(_grams(tokens))
    shared = sum(1 for gram in grams if gram in asked)
    return shared >= 3 and shared >= ECHOED * len(grams)


def copies_story(material: Material, text: str) -> bool:
    """Whether the answer is the transcript again: nearly all of it copied, in runs as long as whole messages."""
    tokens = tokens_of(text)
    if len(tokens) < LEAST_TOKENS:
        return False
    source = grams_of(" ".join(material.texts))
    longest = run = copied = 0
    for gram in _grams(tokens):
        if gram in source:
            copied += 1
            run += 1
            longest = max(longest, run + GRAM - 1)
        else:
            run = 0
    if copied < COPIED * (len(tokens) - GRAM + 1):
        return False
    return longest >= min(LONG_RUN, 0.6 * len(tokens)) and (longest >= 0.5 * len(tokens) or _raw(material, text))


def _raw(material: Material, text: str) -> bool:
    """Whether several messages stand in the answer whole, markup and all."""
    whole = sum(count_words(message) for message in material.texts if len(message) > 80 and message.strip() in text)
    return whole >= 0.6 * count_words(text)


def repeats_previous(material: Material, text: str) -> bool:
    """Whether the answer is the earlier text unchanged although something has happened since."""
    if not material.previous.strip() or text.split() != material.previous.split():
        return False
    return sum(count_words(told) for told in material.texts if not told.lstrip().startswith("(")) >= _UNTOLD


def labels_in(text: str) -> list[str]:
    """Who speaks in lines written like a transcript, one per line so written."""
    found: list[str] = []
    for line in text.split("\n"):
        match = _LABEL.match(line)
        if match and len(match.group("name").split()) <= 5:
            found.append(match.group("name").strip())
    return found


def plays_on(material: Material, text: str) -> bool:
    """Whether the answer goes on with the story: lines with known speakers, or talk and gestures that nobody made."""
    lines = [line for line in text.split("\n") if line.strip()]
    speakers = {message.speaker.lower() for message in material.told if message.speaker}
    firsts = {speaker.split()[0] for speaker in speakers if speaker.split()}
    named = [name for name in labels_in(text) if name.lower() in speakers | _ROLES or name.lower() in firsts]
    if len(named) >= 2 and len(named) >= 0.4 * len(lines):
        return True
    source = grams_of(material.previous, *material.texts)
    if len(named) == 1 and len(lines) <= 3 and _is_new_speech(lines[0], source):
        return True
    new_speech = sum(_new_words(match.group(), source) for match in QUOTED.finditer(text))
    gestures = [match.group() for match in _STARRED.finditer(text)]
    new_gestures = sum(_new_words(gesture, source) for gesture in gestures)
    total = max(count_words(text), 1)
    if len(gestures) >= 1 and new_gestures + new_speech >= 0.7 * total and new_speech:
        return True
    return new_speech >= 0.6 * total and len(QUOTED.findall(text)) >= 2


def _is_new_speech(line: str, source: frozenset[tuple[str, ...]]) -> bool:
    if not _LABEL.match(line):
        return False
    said = re.split("[:：]", line, maxsplit=1)[-1].strip()
    spoken = said[:1] in '"“„«「*' or (bool(_FIRST_OR_SECOND.search(said)) and count_words(said) > 3)
    return spoken and _new_words(said, source) > 0


def _new_words(passage: str, source: frozenset[tuple[str, ...]]) -> int:
    """The words of a passage that the story does not have."""
    tokens = tokens_of(passage)
    if len(tokens) < GRAM:
        return 0
    if any(gram in source for gram in _grams(tokens)):
        return 0
    return count_words(passage)
