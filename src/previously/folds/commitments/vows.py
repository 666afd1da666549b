"""Promises, oaths and vows in English.

Owns the step from the word "promise" to a promise. "I swear I heard it" swears to what was, "the evening promised "
    "rain"
promises nothing, "promise me" asks for one. What must stay true: a vow is found whatever stands around it, and one
that was refused, imagined or only spoken of is none.
"""

from __future__ import annotations

import re

from previously.folds.builtin import cues
from previously.folds.commitments.ties import FUTURE, UNSURE_BEFORE, Opening, Tie, is_bound

_ADVERBS = r"(?:(?:do|hereby|solemnly|still|also|both|all|can|now|here|once|again|had|has|have|already|then) )*"
_GIVES = re.compile(
    rf"\b(?:i|we) {_ADVERBS}(?P<verb>promise|swear|vow|pledge|give (?:[\w']+ )?(?:my|our) (?:word|oath))\b"
)
_GAVE = re.compile(
    rf"(?P<who>[\w'-]+) {_ADVERBS}(?P<verb>promised|promises|swore|swears|vowed|vows|pledged|pledges|(?:am |is |"
    rf"are |was |were )?sworn|"
    r"(?:gave|gives|given) (?:[\w']+ ){0,2}?(?:my|his|her|their|our) (?:solemn )?(?:word|oath|promise)|"
    r"(?:made|makes?|took|takes?) (?:[\w']+ ){0,2}?(?:promise|vow|oath|pledge))\b"
)
_WORD = re.compile(
    r"\byou(?:'ve| have| can have| may have)(?: got)? (?:my|our) (?:word|oath|promise)\b|(?:^|"
    r"[,.—-] ?)(?:up)?on my (?:honou?r|word|"
    r"life|oath)\b"
    r"|^my word(?: on it| of honou?r)?(?=\W*$|:)|(?:^|, )(?:and )?that(?:'s| is) a promise\b|\b(?:that|it|"
    r"this) (?:as|for) a promise\b|\b(?:consider|call) (?:that|it|this) a promise\b"
)
_UNREAL = re.compile(
    r"\b(?:not|never|cannot|\w+n't|might|would|could|should|maybe|perhaps|if|when|once|unless|wish|as|like|than|"
    r"what|whatever|"
    r"before|until|kidding|joking|to|no|empty|false|nobody|no one|who)(?: (?:i|we|you|he|she|they|\w+ed))?\s*$"
)
"""What stands before a vow that was not, or is not yet, given."""

_DONE_ALREADY = re.compile(
    r"\b(?:it|that|this)(?: is|'s) (?:now )?done\b|\band (?:i|he|she|they|we) (?:did|kept it|have|has)\b"
)
_THINGS = frozenset("it this that which there promise promises everything nothing something".split())
_TO_WHOM = re.compile(
    r"[\s,]*(?:(?:(?:to|before) )?(?:god|God|heaven|the gods|you|him|her|them|us|me|it|this|that|both|all)\b[\s,]*)*"
    r"(?:(?:to )?(?!I\b)[A-Z][\w'’]+\b[\s,]*){0,2}(?:(?:in front of|before|with all) [\w' ]+?(?=[,.!]|$|"
    r"that\b)[\s,]*)?(?:that\b)?[\s,:—-]*"
)
_OATH = re.compile(r"[\s,]*(?:by|on|upon) [\w' ]{1,40}?(?=,|\.|!|$| (?:that|i|we|to)\b)")
_SAID_BEFORE = re.compile(r"\s*(?:you |him |her )?(?:it|that|this)(?=\s*(?:[,.!;]|in front|before|so|on|with|$))")
_SWORN_TO = re.compile(
    r"\W*(?:an? |his |her |my |their )?(?:(?!no\b)\w+ )?(?:oaths?|vengeance|revenge|secrecy|fealty|loyalty|silence)\b"
)
_TO_DO = re.compile(
    r"\W*(?:(?:not|never|always) )?to (?!(?:god|heaven|the gods|you|him|her|them|us|me|this|that)\b)(?:not |"
    r"never )?[a-z]+"
)
_FACT = re.compile(
    r"\b(?:is|was|are|were|has|had|have|did|didn't|don't|isn't|wasn't|saw|heard|knew|know|knows|am|i'm|it's|he's|"
    r"she's|i've|never)\b"
)

_WILL_DO = re.compile(
    r"\b(?:i|we)(?:'ll| will| shall) (?:\w+ )?(?:(?:bring|give|pay|send|carry) (?:[\w'-]+ ){1,6}back|return (?:it|"
    r"the|your|his|her|"
    r"their|every)|repay|come back (?:for|with)|avenge|marry (?:you|him|her))\b"
    r"|\b[\w']+ agree[sd] to (?:marry|help|pay|deliver|guard|spare|bring|carry|give|return|meet|find|free|join|"
    r"keep)\b"
)


def vow_in(text: str, low: str) -> Opening | None:
    """The vow a sentence gives in so many words, if it gives one; `low` is the text in lower case."""
    gives = tuple(_GIVES.finditer(low))
    for match in (*gives, *_GAVE.finditer(low)):
        if _is_given(text, low, match):
            return Opening(Tie.VOW, match.start())
    bare = _WORD.search(low)
    if bare:
        said = low[bare.end() :].partition(":")[2]
        promised = said or FUTURE.search(low[: bare.start()]) or FUTURE.search(low[bare.end() :])
        return Opening(Tie.VOW if promised else Tie.BARE_VOW, bare.start())
    for match in gives:
        nothing_more = _SAID_BEFORE.match(low[match.end() :]) or not _rest_of(text, match).strip(" .!,…'\"")
        if nothing_more and not _UNREAL.search(low[: match.start()]):
            promised = FUTURE.search(low[: match.start()])
            return Opening(Tie.VOW if promised else Tie.BARE_VOW, match.start())
    return None


def will_in(low: str) -> Opening | None:
    """What someone says they will give back, or do by a time: a vow without the word."""
    done = _WILL_DO.search(low)
    if done is None:
        will = cues.WILL.search(low)  # the rarer of the two comes first
        done = will if will and is_bound(low) else None
    if done and not UNSURE_BEFORE.search(low[: done.start()]) and "right back" not in low:
        return Opening(Tie.VOW, done.start())
    return None


def _is_given(text: str, low: str, match: re.Match[str]) -> bool:
    """Whether the verb found here gives a promise, and does not ask for, deny or only mention one."""
    before = re.split(r"[,;:—.!?\"]\s*", low[: match.start()])[-1]
    verb = match.group("verb")
    third = match.re is _GAVE
    who = match.group("who") if third else "i"
    if _DONE_ALREADY.search(low[match.end() :]):
        return False
    if third and (who in _THINGS or _UNREAL.search(f"{before}{who}")):
        return False
    if not third and _UNREAL.search(before):
        return False
    rest = _rest_of(text, match)
    after = rest.lower()
    if re.match(r"\W*(?:my|him|her|them|our)sel", after):
        return False  # what one promises oneself, one owes to nobody
    person = not third or who in ("i", "we", "you", "he", "she", "they") or text[match.start("who")].isupper()
    if _TO_DO.match(text[match.end() :]) or _TO_DO.match(rest):
        return person or not re.match(r"\W*to be\b", after)
    if not after.strip(" .!,…'\""):
        return False
    if FUTURE.search(after):
        return True
    if verb.endswith(("word", "oath", "promise", "vow", "pledge")) and " " in verb:
        return third and not verb.endswith("given")
    if verb.startswith(("swear", "swor")) or "sworn" in verb:
        return bool(_SWORN_TO.match(after))
    told = after.startswith(("i ", "he ", "she ", "there ", "land", "nothing", "little", "much"))
    return person and not told and not _FACT.search(after)


def _rest_of(text: str, match: re.Match[str]) -> str:
    """What is vowed: the text after the verb without the oath's holy things and without whom it is given to."""
    rest = text[match.end() :]
    oath = _OATH.match(rest.lower())
    rest = rest[oath.end() :] if oath else rest
    whom = _TO_WHOM.match(rest)
    return rest[whom.end() :] if whom else rest
