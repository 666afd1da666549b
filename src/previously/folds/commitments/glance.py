"""A first look at a sentence: what its words could open or settle at all.

Owns the words without which a pattern of `openings`, `vows` or `settling` cannot match. Most sentences have none of
them, and looking words up costs a tenth of searching for patterns. What must stay true: a gate may stand open for
nothing, but is never shut where its patterns would match; a pattern that learns a new word teaches its gate.
"""

from __future__ import annotations

import re

_LETTERS = re.compile("[a-z]+")
"""The halves of "I'll" and "don't" are words by themselves here."""

_WORDS = (
    "promise promised promises swear swears swore sworn vow vows vowed pledge pledges pledged word oath honor honour "
    "life",
    "ll will shall",
    "agree agrees agreed",
    "i we",
    "or you",
    "else threaten threatens threatened",
    "swear",
    "if unless",
    "between secret secrecy",
    "not never cannot t no nobody none",
    "tell told reveal speak breathe mention slip say repeat betray whisper know knows learn find hear word let",
    "keep kept keeps keeping stay stays remain remains hold",
    "owe owes owed owing indebted debt debts bet due borrowed lent repay loan ransom wager exchange return",
    "pay repaid bounty collateral schuldig dette deuda debito",
    "back",
    "until till day days week weeks night nights hour hours month months",
    "must due expire expires payable",
    "has have need needs is are",
    "to",
    "kept keeps honored honoured fulfilled paid repaid repays settled returned returns delivered delivers release "
    "released releases freed forgave forgiven forgive forgives cancelled wiped acquitted redeemed gave gives brought "
    "brings handed hands pressed presses revealed reveals confessed confesses admitted told tells withdrew square "
    "squared finished mended built found rescued avenged married burned buried wrote written finally "
    "broke breaks broken fulfills pays cleared",
    "promised sworn said good struck given put carried came sent set everyone secret out took even longer last here "
    "done",
    "as made out back over down home in up knows is no at s are now we",
)
(
    _VOW, _WILL, _AGREE, _SELF, _OTHER, _THREAT, _SWEAR, _IF, _HUSHED, _DENIED, _TELLS, _KEEPS, _OWES, _PAYS, _BACK,
    _UNTIL, _MUST, _HAS, _TO, _DONE, _FIRST_OF_TWO, _SECOND_OF_TWO,
) = (1 << place for place in range(len(_WORDS)))  # fmt: skip
_SIGNS: dict[str, int] = {}
for _place, _listed in enumerate(_WORDS):
    for _word in _listed.split():
        _SIGNS[_word] = _SIGNS.get(_word, 0) | 1 << _place


def signs_of(low: str) -> int:
    """What the words of a sentence may be part of; the sentence is in lower case."""
    signs = 0
    for found in filter(None, map(_SIGNS.get, _LETTERS.findall(low))):
        signs |= found
    return signs


def may_vow(signs: int) -> bool:
    """Whether there may be a vow that says it is one."""
    return bool(signs & _VOW)


def may_say_it_will(signs: int) -> bool:
    """Whether someone may say what they will do, or agree to it."""
    return signs & _AGREE > 0 or (signs & _WILL > 0 and signs & _SELF > 0)


def may_threaten(signs: int) -> bool:
    """Whether there may be a threat: "or else", what I will do, what you will regret, what I swear to do if."""
    if signs & _THREAT or (signs & _WILL and signs & (_SELF | _OTHER)):
        return True
    return signs & _SWEAR > 0 and signs & _IF > 0


def may_hush(signs: int, text: str) -> bool:
    """Whether there may be a secret: telling or knowing denied, or something kept to oneself."""
    if signs & _HUSHED or (signs & _DENIED and signs & _TELLS):
        return True
    return signs & _KEEPS > 0 and "sel" in text.lower()


def may_owe(signs: int, text: str) -> bool:
    """Whether there may be a debt, or something to give back where a debt is spoken of in whatever language."""
    if not signs & _BACK:
        return signs & _OWES > 0
    return signs & (_OWES | _PAYS) > 0 or not text.isascii() or "schulde" in text.lower()


def may_have_until(signs: int) -> bool:
    """Whether there may be a time that someone is given."""
    return signs & _UNTIL > 0


def may_have_to(signs: int) -> bool:
    """Whether there may be something that has to be done."""
    return signs & _MUST > 0 or (signs & _HAS > 0 and signs & _TO > 0)


_KINDS = _VOW | _WILL | _AGREE | _THREAT | _SWEAR | _HUSHED | _TELLS | _KEEPS | _OWES | _BACK | _UNTIL | _MUST | _HAS


def may_open(signs: int, text: str) -> bool:
    """Whether there may be a commitment of any kind."""
    return signs & _KINDS > 0 and (
        may_vow(signs)
        or may_say_it_will(signs)
        or may_threaten(signs)
        or may_hush(signs, text)
        or may_owe(signs, text)
        or may_have_until(signs)
        or may_have_to(signs)
    )


def may_be_done(signs: int) -> bool:
    """Whether a sentence may tell, in English, of something done."""
    return signs & _DONE > 0 or (signs & _FIRST_OF_TWO > 0 and signs & _SECOND_OF_TWO > 0)
