"""How much a fact matters to the one who knows it.

Owns the order in which facts are forgotten: what binds people (promises, debts, secrets, threats, deadlines) is kept
before what they are to each other and mean to do, that before what changed the story, and that before trivia. What must
stay true: the weight of a fact depends on its words alone.
"""

from __future__ import annotations

import re

from previously.folds.builtin import cues
from previously.folds.builtin.parsing import parsed
from previously.folds.builtin.reading import Line, is_english
from previously.folds.commitments.abroad import opening_abroad

BINDS, CONCERNS, HAPPENED, TRIVIA = 3, 2, 1, 0
"""The weights, heaviest first."""

_BINDING = (cues.VOW, cues.DEBT, cues.SECRET, cues.THREAT, cues.DEADLINE)
_TIES = re.compile(
    r"\b(?:loves?|loved|hates?|hated|trust(?:s|ed)?|distrusts?|mistrusts?|fears?|feared|suspects?|suspected|blames?|"
    r"envies|admires?|despises?|resents?|forgave|forgives?|misses|betrothed|engaged|"
    r"brothers?|sisters?|mother|father|daughters?|sons?|cousins?|uncle|aunt|wife|husband|lovers?|friends?|"
    r"enem(?:y|ies)|rivals?|all(?:y|ies)|partners?|twins?|heir|apprentice|ward|liebt|hasst|vertraut|"
    r"aime|déteste|ama|odia|confía|любит|ненавидит|доверяет)\b|愛|憎|信じ|恨"
)
_INTENDS = re.compile(
    r"\b(?:wants?|wanted|plans?|planned|intends?|intended|hopes?|hoped|means? to|meant to|aims? to|is going to|"
    r"are going to|decided to|decides to|determined to|resolved to|is looking for|seeks?|searching for|wishes|"
    r"needs? to|must|will|agreed to|möchte|veut|quiere|vuole|quer|хочет|собирается)\b|つもり|想要|打算"
)


def weight_of(fact: str) -> int:
    """How much a fact matters: `BINDS`, `CONCERNS`, `HAPPENED` or `TRIVIA`."""
    low = fact.replace("’", "'").lower()
    if any(cue.search(low) for cue in _BINDING) or (not is_english(fact) and opening_abroad(fact)):
        return BINDS
    if _TIES.search(low) or _INTENDS.search(low):
        return CONCERNS
    return HAPPENED if parsed(Line(None, fact, True)).kinds["plot"] else TRIVIA
