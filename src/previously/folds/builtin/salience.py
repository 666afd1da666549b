"""How much a line matters, by rules set by hand.

Owns two numbers per line: `weight`, which multiplies what a line covers, and `thread`, above zero when the line holds
something still open (a promise, a debt, a secret, a deadline, a threat). What must stay true: both depend on the line
alone, never on the pool it is compared with, so old lines do not fade as new ones come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from previously.folds.builtin import cues
from previously.folds.builtin.parsing import Parsed
from previously.folds.builtin.terms import NUMBER
from previously.folds.builtin.vocabulary import RAREST

STEEPNESS = 2.0
COMFORTABLE_WORDS = 10
SPOKEN = 0.25
"""Speech costs an attribution and tells less than narration does."""

TABLE_SPEECH = 0.25
"""What speech loses besides where a game master tells the story: half of the talk around a table is about nothing."""

TABLE_THREAD = 0.9
"""How far a player's word binds: around a table many a promise is a joke."""

PLOT = 0.15
LEAST_WORDS = 5
"""Shorter lines say too little to stand alone, unless they narrate of someone by name."""

LEAST_NARRATED = 3

THREAD_FLOOR = 0.9
"""From this strength on a line is kept for being open, not for what it covers."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a line is worth before anyone asks what the recap already covers; a weight of 0 means never."""

    weight: float
    thread: float


def says_nothing(parsed: Parsed) -> bool:
    """Whether a line weighs nothing, whatever names are in it."""
    shortest = LEAST_WORDS if parsed.line.speaker is not None else LEAST_NARRATED
    return parsed.table_talk or parsed.size < shortest


def weigh(parsed: Parsed, *, names: int, at_table: bool) -> Weighed:
    """Weigh one line that has so many names."""
    text, words, found = parsed.text, parsed.size, parsed.kinds
    spoken = parsed.line.speaker is not None
    if says_nothing(parsed) or (words < LEAST_WORDS and not names):
        return Weighed(0.0, 0.0)
    tokens = parsed.wording.words
    count = max(len(tokens), 1)
    second = found["second"]
    happens = found["happens"]
    question = text.rstrip("\"' ").endswith(("?", "？"))
    opener = tokens[0].lower if tokens else ""

    score = 0.0
    score -= 1.5 * (parsed.rare / count / RAREST)
    score += 1.2 * min(0.5, found["ties"] / count)
    score += 0.6 * min(0.4, found["third"] / count)
    score -= min(1.0, 3.0 * found["rules"] / count)
    score -= min(1.5, 6.0 * found["show"] / count)
    score -= min(1.0, 1.5 * found["fillers"] / count)
    score -= min(0.3, 1.0 * found["hedges"] / count)
    score -= min(0.8, 3.0 * found["first"] / count)
    score -= min(0.5, 2.0 * second / count)
    score -= 0.25 if cues.BROKEN.search(text) else 0.0
    score -= 0.2 if question else 0.0
    score -= 0.2 if opener in cues.DANGLING_OPENERS else 0.0
    score -= 0.4 if opener in cues.SMALL_TALK_OPENERS else 0.0
    score -= SPOKEN + TABLE_SPEECH * at_table if spoken else 0.0
    score -= 0.25 if not spoken and opener.endswith("s") and opener in cues.HAPPENS else 0.0
    # "He turned to the captain and said." lost its quotation.
    score -= 0.8 if not spoken and tokens and tokens[-1].lower in cues.LEADS_TO_SPEECH else 0.0
    # Narration that starts in lower case is the torn-off end of a sentence.
    score -= 0.5 if not spoken and text[:1].islower() else 0.0
    score += min(0.3, 0.15 * names)
    score += min(0.2, 0.1 * happens)
    score += min(2 * PLOT, PLOT * found["plot"])
    score += min(0.2, 0.1 * found["places"])
    score -= 0.12 * max(0, COMFORTABLE_WORDS - words)

    look_closer = words >= LEAST_WORDS and (found["trigger"] or not text.isascii())
    thread = thread_of(text, question=question, to_someone=second > 0, named=names > 0) if look_closer else 0.0
    if spoken and at_table:
        thread *= TABLE_THREAD
    weight = 0.0 if found["fillers"] > 0.4 * count else math.exp(STEEPNESS * score)
    return Weighed(weight, thread)


def thread_of(text: str, *, question: bool, to_someone: bool, named: bool) -> float:
    """How strongly a sentence opens something that may have to be kept: 0 for nothing, about 1 for a plain
    promise."""
    text = text.lower()
    bound = bool(cues.DEADLINE.search(text))
    strength = 0.0
    if cues.VOW.search(text):
        strength += 0.9
    elif cues.WILL.search(text):
        strength += 0.3 + (0.2 if to_someone else 0.0) + (0.3 if bound else 0.0)
    if cues.DEBT.search(text):
        strength += 0.7
    if cues.SECRET.search(text):
        strength += 0.7
    if cues.THREAT.search(text):
        strength += 0.6
    if bound:
        strength += 0.9 if cues.OBLIGED.search(text) else 0.4
    if not strength:
        return 0.0
    if NUMBER.search(text):
        strength += 0.2
    if named:
        strength += 0.2
    if question or cues.UNSURE.search(text):
        strength *= 0.5
    return strength
