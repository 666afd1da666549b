"""Whether a sentence opens a commitment.

Owns the step from a cue (`builtin.cues`: this sentence speaks of a debt, a secret, a deadline, a threat) to a decision:
it makes one. "I owe you an apology" is manners, "if you like, I will make tea" is no threat. What must stay true: "
    "plain
wordings are found whatever stands around them, and a question opens nothing.
"""

from __future__ import annotations

import re

from previously.folds.builtin import cues
from previously.folds.commitments import glance
from previously.folds.commitments.abroad import opening_abroad
from previously.folds.commitments.ties import FUTURE, UNSURE_BEFORE, Opening, Tie, is_bound
from previously.folds.commitments.vows import vow_in, will_in


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_NO_DEBT = re.compile(
    r"\b(?:owe|owes|owed)(?: [\w']+)? (?:nothing|no one|nobody|(?:an? )?(?:apolog|explanation|answer)|(?:my |his |"
    r"her )?thanks)"
    r"|\bowing to\b|\bowed? it to\b|(?:not|never|n't|no longer) (?:[\w']+ )?owe|without debts?|no debts?\b|"
    r"out of debt\b"
)
_PAYS = re.compile(r"^here(?:'s| is| are)\b|\bi pay my debts\b|\bwe(?:'re| are) (?:even|square|quits)\b")
_OWES = re.compile(
    rf"(?<!it was )(?<!that was )(?<!is )\b(?:owe|owes|owed|still owing)\b|\bindebted to\b|\bin (?:my|your|his|her|"
    rf"their|our) debt\b|\bbet (?:you|him|her|them) (?=\d|{'|'.join(sorted(cues.NUMBER_WORDS))})|"
    rf"\backnowledge (?:the|"
    rf"this|that|my) debt\b|\b(?:is|are) due (?=\d|{'|'.join(sorted(cues.NUMBER_WORDS))})"
)
_WHAT_IS_OWED = re.compile(r"\b(?:what|whatever|how much|all|everything)(?: [\w']+){1,4} (?:owe|owes|owed)\b")
_LENT = re.compile(
    r"\bborrowed (?:[\w'-]+ ){1,6}from\b|\blent (?:me|him|her|them|us|you|[A-Z]\w+|(?:[\w'-]+ ){1,6}to)\b"
)
_REPAY = re.compile(
    r"\b(?:repay|pay (?:[\w']+ ){1,4}back|pay back|give (?:[\w']+ ){1,4}back|bring (?:[\w']+ ){1,5}back)\b"
)
_DEBT_NOUN = re.compile(r"\b(?:debts?|loan|ransom|wager|in exchange for|in return for)\b")
_AMOUNT = re.compile(rf"\d|\b(?:{'|'.join(sorted(cues.NUMBER_WORDS))})\b")

_TELL = r"(?:tell|told|reveal|speak|breathe|mention|let slip|say|repeat|betray|whisper)"
_SECRET = _any(
    rf"\b(?:not|don't|never|mustn't|can't|won't|cannot)(?: ever| again)? {_TELL} (?:of |about |to )?(?:(?:this|"
    rf"that|it|what "
    r"[\w ]{1,30}|a word|anything)(?: of (?:it|this|that))? (?:to )?)?(?:anyone|anybody|another|a (?:living )?soul|"
    r"a word|[A-Z]\w+|"
    r"them|him|her|your|my|the|his|what)\b",
    r"\btell (?:no one|nobody|not a soul|no soul|none)\b",
    r"\b(?:keep|kept|keeps|keeping|stays?|remains?|hold)\b(?: [\w']+){0,6}? (?:secret|between us|to (?:your|my|her|"
    r"him|them)sel\w+)\b",
    r"\b(?:no one|nobody|not a soul|none)(?: else)? (?:(?:must|may|can|should|shall|is to|will)(?: ever)? (?:know|"
    r"learn|"
    r"find out)|knows (?:that|about|of))\b|\b(?:nobody|no one) else knows\b",
    r"\bnot (?:a|one) word (?:[\w' ]{1,40} )?to (?:anyone|anybody|a soul|[A-Z]\w+|him|her|them|the|your|my)\b",
    r"\b(?:not|don't|never)(?: ever)? let (?:anyone|anybody|[A-Z]\w+|him|her|them|your \w+|"
    r"the \w+)(?: ever)? (?:know|learn|find "
    r"out|hear)\b",
    r"\b(?:must|may|can|should) (?:never|not) (?:know|learn|hear of|find out)\b",
    r"\b(?:this|it|that|stays?|strictly|just|only) (?:[\w']+ )?between (?:us|you and me|ourselves)\b",
    r"\bsw\w+ (?:[\w']+ )?to secrecy\b|\b(?:this|that|it)(?:'s| is| must be| has to be) (?:our|a|my|their) secret\b",
)
_IDLE_TELLING = re.compile(r"\b(?:can't|cannot|couldn't|could not) tell (?:the|what|him from|them apart)\b")

_MUST = re.compile(
    r"\b(?:must|has to|have to|need to|needs to|is to|are to) (?!have\b|be\b)\w+|\b(?:must|has to|have to|is to|"
    r"are to) be "
    r"(?!tired|bored|exhausted|mistaken|worried|pleased|frightened|starved|scared)(?:\w+ed|paid|back|there|home|"
    r"gone|done|here|out|ready|brought|sent|given|kept|told|found|sold)\b"
    r"|\b(?:falls?|is|are|comes?|was) (?:now )?due\b|\bdue (?:on|by|at|before)\b|\bexpires?\b|\bpayable\b"
)
_HAVE_UNTIL = re.compile(
    r"(?<!must )(?<!would )(?<!could )(?<!should )(?<!might )\b(?:have|has|'ve|got|gets?|give|gives|gave)(?: you|"
    r" him| her| them| "
    r"us| me| got| [A-Z]\w+)? (?:only |just )?(?:until|till)\b"
    r"|\b(?:have|has|'ve got|give|gives|gave)(?: you| him| her| them| us| me)? (?:only |"
    r"just )?[\w-]+ (?:more )?(?:days?|weeks?|"
    r"nights?|hours?|months?) to\b"
)

_OR_ELSE = _any(
    r"\bor else\b",
    r",? or (?:i|we)(?:'ll| will| shall)\b",
    r",? or (?:you|he|she|they)(?:'ll| will| shall) (?:\w+ )?(?:die|hang|pay|regret|lose|burn|suffer|rot|drown|"
    r"be sorry|never)\b",
)
_IF_THEN = re.compile(
    r"\b(?:if|unless) (?:you|he|she|they|anyone|[a-z]+)\b[^.!?]*?\b(?:i|we)(?:'ll| will| shall|"
    r" swear)\b"
)
_THEN_IF = re.compile(r"\b(?:i|we)(?:'ll| will| shall)\b[^.!?]*?\b(?:if|unless) (?:you|he|she|they|anyone)\b")
_POLITE = re.compile(
    r"\bif (?:you|he|she|they)(?:'d| would| really|'re)? ?(?:like|want|wish|please|prefer|need|care to|don't mind|"
    r"insist|ask|"
    r"agree|allow|will|ready|think so|can|must)\b"
)
_HARM = re.compile(
    r"\b(?:i|we)(?:'ll| will| shall) (?:\w+ )?(?:kill|hang|ruin|gut|drown|bury|destroy|hunt|murder|skin|"
    r"make (?:you|him|"
    r"her|them) pay)\b"
    r"|\byou(?:'ll| will| shall) (?:pay (?:dearly )?for|regret|hang for)\b"
    r"|\bthreaten(?:s|ed)? (?:to|that)\b"
    r"|^[a-z]+ [\w' ]{2,40},? and (?:i|we)(?:'ll| will| shall) (?:\w+ )?(?:cut|break|burn|shoot|hurt|end|feed|"
    r"have your|take your)\b"
)

_HINT = re.compile(
    r"promis|swear|swor|vow|pledg|word|oath|hono|\bow[ei]|debt|due\b|lent\b|loan|borrow|pay|ransom|wager|\bbet |"
    r"exchange|"
    r"return|secre|tell|"
    r"know|reveal|speak|breathe|mention|say|betray|between|slip|repeat|learn|find out|sel[fv]|must|ha[sv]|need|"
    r"until|till|expire|"
    r"else|or |if |kill|threaten|'ll|'ve|unless|let |will|shall|agree|giv|gave|is to|are to|got"
)
"""Any sentence that commits has one of these."""


def opening_of(sentence: str, *, english: bool, signs: int | None = None) -> Opening | None:
    """The commitment a sentence makes, if it makes one. `signs` is what `glance` saw in it, where it has looked
    already."""
    if english and signs is not None and not glance.may_open(signs, sentence):
        return None
    text = sentence.replace("’", "'").strip()
    if text.rstrip("\"'”»」 ").endswith(("?", "？")):
        return None
    if not english:
        return opening_abroad(text)
    low = text.lower()
    signs = glance.signs_of(low) if signs is None else signs
    if not glance.may_open(signs, low):
        return None
    found = (
        (vow_in(text, low) if glance.may_vow(signs) else None)
        or (will_in(low) if glance.may_say_it_will(signs) else None)
        or (_threat(text, low) if glance.may_threaten(signs) else None)
        or (_secret(text, low) if glance.may_hush(signs, low) else None)
        or (_debt(text, low) if glance.may_owe(signs, low) else None)
        or _deadline(low, signs)
    )
    return found if found and _HINT.search(low) else None


def _threat(text: str, low: str) -> Opening | None:
    found = _OR_ELSE.search(low) or _HARM.search(low)
    if not found and not _POLITE.search(low):
        found = _IF_THEN.search(low) or _THEN_IF.search(low)
    if not found or UNSURE_BEFORE.search(low[: found.start()].replace("if", "")) or text.startswith(("Either",)):
        return None
    return Opening(Tie.THREAT, found.start())


def _secret(text: str, low: str) -> Opening | None:
    # A name has its capital, the first word of a sentence has one for nothing.
    match = _SECRET.search(text[0].lower() + text[1:])
    if not match or _IDLE_TELLING.search(low):
        return None
    return Opening(Tie.SECRET, match.start())


def _debt(text: str, low: str) -> Opening | None:
    if _PAYS.search(low):
        return None
    if not (cues.DEBT.search(low) or "indebted" in low or "bet " in low or " due " in low) or _NO_DEBT.search(low):
        return None
    future = FUTURE.search(low) or is_bound(low) or cues.OBLIGED.search(low)
    if _WHAT_IS_OWED.search(low) and not FUTURE.search(low):
        return None
    match = _OWES.search(low) or _LENT.search(text)
    if match is None:
        repay = _REPAY.search(low) if future else None
        match = repay or (_DEBT_NOUN.search(low) if _AMOUNT.search(low) or is_bound(low) else None)
        if match and re.search(r"\b(?:spent|struck|paid|repaid|settled|forgiven|cleared|wiped)\b", low):
            return None
    if match is None or UNSURE_BEFORE.search(low[: match.start()]):
        return None
    return Opening(Tie.DEBT, match.start())


def _deadline(low: str, signs: int) -> Opening | None:
    match = _HAVE_UNTIL.search(low) if glance.may_have_until(signs) else None
    if match is None and glance.may_have_to(signs):
        must = _MUST.search(low)  # the rarer of the two comes first
        match = must if must and is_bound(low) else None
    if match is None or UNSURE_BEFORE.search(low[: match.start()]):
        return None
    return Opening(Tie.DEADLINE, match.start())
