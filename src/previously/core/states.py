"""What a sentence says of how things stand: where, when, hurt, holding what, in what condition, close to whom.

Owns the cues of each label. `label_of` is for what is known to be a change and only needs a label; `change_in` is for
any sentence of a story and asks for a verb that changes something. What must stay true: every text gets exactly one
label; the same text always the same one; cues are English, all else is `other`.
"""

from __future__ import annotations

import re
from enum import StrEnum

from previously.core.story_time import hours_told


class Label(StrEnum):
    """What a piece of the current state is about."""

    PLACE = "place"
    TIME = "time"
    INJURY = "injury"
    POSSESSION = "possession"
    STATUS = "status"
    RELATION = "relation"
    OTHER = "other"


BODY = "arm|leg|hand|foot|head|shoulder|knee|ankle|wrist|rib|chest|back|side|face|eye|neck|thigh|finger|skull|hip|belly"
"""Where someone can be hurt."""

_DETERMINED = r"(?:the|a|an|his|her|their|its|my|your|our|both|some|\d+|[\w-]+'s|two|three|four|five|six|ten|twenty)"
_HURTS = re.compile(
    r"\b(?:wounded|injured|stabbed|maimed|crippled|blinded|concussed|bruised|bitten|scalded|bleeding|bleeds|bled)\b"
    rf"|\b(?:broke|breaks|sprained|twisted|cut|burned|burnt|tore|gashed|slashed|shot) (?:{_DETERMINED} )?"
    rf"(?:left |right |own )?(?:{BODY})s?\b"
    r"|\b(?:was|is|were|been|got) (?:badly |gravely |lightly )?(?:burned|burnt|shot|slashed|hurt|poisoned)\b"
)
_HEALS = re.compile(
    rf"\b(?:wounds?|cuts?|burns?|injur(?:y|ies)|fever|{BODY})s? (?:has |have |had |was |is |were )?"
    r"(?:now |fully |nearly )?(?:healed|mended|closed|broke|gone|passed|cured)\b|\b(?:recovered|healed|cured)\b"
)
_HURT_WORDS = re.compile(
    rf"\b(?:wounds?|injur(?:y|ies)|bruises?|fever|limps?|limping|fracture\w*|concussion|scar(?:red)?|hurt|pain|"
    rf"broken (?:{BODY})s?|unhurt)\b"
)
_DIES = re.compile(
    r"\b(?:died|dies|was killed|were killed|is dead|are dead|was dead|drowned|perished|was slain|were slain|"
    r"was hanged|was murdered|was executed)\b"
)
_DEAD = re.compile(r"\b(?:dead|deceased|killed|slain|died|dying|murdered|executed)\b")
_BECOMES = re.compile(
    r"\b(?:was|were|is|are|got|been) (?:now )?(?:arrested|captured|imprisoned|jailed|freed|released|crowned|banished|"
    r"exiled|hired|dismissed|appointed|knighted|cursed|kidnapped|taken prisoner|unconscious|named)\b"
    r"|\b(?:became|becomes|fell asleep|fell ill|passed out|fainted|vanished|disappeared|escaped|woke|awoke|"
    r"went missing)\b"
)
_CONDITION = re.compile(
    r"\b(?:arrested|captured|captive|imprisoned|prisoner|jailed|freed|free|crowned|banished|exiled|asleep|awake|"
    r"unconscious|missing|vanished|drunk|exhausted|ill|sick|pregnant|hungry|disguised|cursed|blind|alive|king|queen|"
    r"hired|dismissed|hidden|hiding|wanted)\b"
)
_TIES = re.compile(
    r"\b(?:became|becomes|become|are|is|were) (?:now |close |sworn |bitter )?(?:friends|enemies|allies|lovers|married|"
    r"engaged|betrothed|estranged|rivals|partners|reconciled|allied|in love)\b"
    r"|\b(?:married|wed|betrayed|reconciled|forgave|fell in love|broke with|fell out with|allied with|befriended)\b"
)
_FEELS = re.compile(
    r"\b(?:trusts?|distrusts?|mistrusts?|hates?|loves?|suspects?|resents?|fears?|respects?|friends?|enem(?:y|ies)|"
    r"allies|ally|lovers?|rivals?|betrothed|engaged|relationship|loyal to|angry (?:with|at)|jealous of)\b"
)
# The one pattern for which case counts: "gave Wren the key" has a name where "sold and its bell" has a word.
_GETS = re.compile(
    r"\b(?:took|takes|gave|gives|handed|hands|found|finds|stole|steals|bought|buys|sold|sells|lost|loses|pocketed|"
    r"pockets|picked up|received|dropped|inherited|won|borrowed|lent|returned) "
    r"(?:(?:him|her|them|me|us|[A-Z][\w'-]*) )?"
    rf"{_DETERMINED} (?!road|path|moment|breath|seat|step|look|way|life|time|nod|turn|chance|deep|few|lead)\w"
)
_HAS = re.compile(
    r"\b(?:has|have|had|holds?|held|carries|carrying|carried|keeps?|kept|wears?|wearing|owns?|owned|possess\w*|"
    r"no longer has|is holding|got|inventory|possessions?)\b|\bin (?:his|her|their) (?:pocket|hand|bag|pack)\b"
)
_GOES = re.compile(
    r"\b(?:arrived? (?:at|in|on)|arrives (?:at|in|on)|reach(?:ed|es)|enter(?:ed|s)|came (?:to|into)|comes (?:to|into)|"
    r"return(?:ed|s) to|went (?:to|into|aboard|down to|up to|back to)|goes (?:to|into)|moved to|travell?ed to|sailed "
    r"(?:to|for|into|from)|rode (?:to|into)|fled (?:to|into|from)|camped (?:at|in|by|on)|left (?:for|the [a-z]+)|"
    r"set out for|stayed (?:at|in)|landed (?:at|in|on)|climbed (?:to|into|up to)|hid in) "
    r"(?:the |a |an |his |her |their )?(?!terms|blows|mind|agreement|herself|himself|silence|sleep|end|"
    r"conclusion|decision|tears|for\b)\w"
)
_STANDS = re.compile(
    r"(?:^|: ?|\b(?:is|are|was|were|now|still|back|stands?|waits?|lives?|sits?|camps?|stays?|remains?|travels?|heads?|"
    r"heading|en route) )(?:now |still |back |alone |together )?(?:at|in|on|aboard|inside|outside|near|behind|under|"
    r"by|to|toward|towards) (?:the |a |an |his |her |their )?\w|\b(?:location|place|whereabouts)\b"
)
_FALLS = re.compile(
    r"\b(?:night fell|night came|dawn broke|dawn came|day broke|morning came|evening came|the sun (?:rose|set|was up|"
    r"went down)|winter came|spring came|summer came|autumn came)\b"
)
_WHEN = re.compile(
    r"\b(?:time|date|day \d+|dawn|dusk|noon|midday|midnight|morning|afternoon|evening|night|sunrise|sunset|monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday|spring|summer|autumn|winter|o'clock|later that)\b"
)
_NOT = re.compile(
    r"\b(?:eyes?|gaze|glance|looks?|voice|thoughts?|mind) (?:goes|went|comes|came|returned|returns|moved|reached)\b|"
    r"\b(?:not|never|no longer|cannot|if|would|could|might|should|almost|nearly|may)\b|n't\b|\?"
)

_CHANGES = (
    (Label.INJURY, _HURTS),
    (Label.INJURY, _HEALS),
    (Label.STATUS, _DIES),
    (Label.RELATION, _TIES),
    (Label.STATUS, _BECOMES),
    (Label.POSSESSION, _GETS),
    (Label.PLACE, _GOES),
    (Label.TIME, _FALLS),
)
_HINTS = (
    (Label.INJURY, _HURT_WORDS),
    (Label.STATUS, _DEAD),
    (Label.RELATION, _FEELS),
    (Label.POSSESSION, _HAS),
    (Label.PLACE, _STANDS),
    (Label.TIME, _WHEN),
    (Label.STATUS, _CONDITION),
)


def label_of(change: str) -> Label:
    """The label of something that is known to have changed."""
    low = _lowered(change)
    return _plain_change(change, low) or next((label for label, cue in _HINTS if cue.search(low)), Label.OTHER)


def change_in(sentence: str) -> Label | None:
    """What a sentence of narration changes, if it plainly changes something."""
    low = _lowered(sentence)
    return None if _NOT.search(low) else _plain_change(sentence, low)


def _plain_change(text: str, low: str) -> Label | None:
    said = text.replace("’", "'")
    found = next((label for label, cue in _CHANGES if cue.search(said if cue is _GETS else low)), None)
    return found or (Label.TIME if hours_told(text) else None)


def _lowered(text: str) -> str:
    """In lower case, with straight apostrophes and single spaces."""
    return " ".join(text.replace("’", "'").lower().split())
