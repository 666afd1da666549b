"""Whether somebody moves in a sentence: a subject, a verb of `presence_wording`, and nothing that undoes it.

What must stay true: a verb counts only behind its subject, with nothing between that denies, plans or doubts it; what
is asked, dreamt, remembered or told of another time moves nobody; who is only an object of the sentence does not do
what its subject does.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import islice

from previously.folds import presence_wording as wording


class Move(Enum):
    """What somebody does."""

    LEAVES = auto()
    COMES = auto()


_BLOCKED = re.compile(
    r"\b(?:not|never|cannot|no longer|nor|neither|without|will|would|could|should|might|may|must|can|shall|going to|"
    r"about to|had|has|almost|nearly|(?:refuse|want|plan|need|hope|begin|start|seem|threaten|pretend|hesitate)s? to|"
    r"(?:refused|wanted|planned|decided|threatened|promised|tried|needed|hoped|offered) to|offers? to|tr(?:y|ies) to|"
    r"(?:decide|promise)s? to|ha(?:s|ve) to|nicht|kein|nie|ne|pas|jamais|no|nunca|не|hatte|war|avait|había)\b|n't\b|"
    r"['’]d\b|['’]ll\b|ない|なかった"
)
"""What undoes a verb from before it."""

_NOT_THEN = re.compile(
    r"\b(?:if|unless|when|whenever|until|till|before|once|in case|lest|as if|as though|so that|whether|had|hope[sd]?|"
    r"perhaps|maybe|possibly|wait(?:s|ed|ing)? for|lets?|makes?|made|wants?|wanted|asks?|asked|tells?|told|begs?|"
    r"begged|orders?|ordered|says?|said|claims?|claimed|thinks?|thought|believe[sd]?|wonders?|wondered|doubts?|knows?|knew|"
    r"fears?|feared|suggests?|insists?|that|why|how|where|wenn|falls|ob|bis|bevor|dass|si|quand|avant|que|cuando|antes|"
    r"если|когда|пока|что|もし)\b[^,;]*$",
    re.I,
)
"""A clause that tells of another time, or of what somebody thinks or says, and has not ended."""

_UNREAL = re.compile(
    r"\b(?:dream\w*|nightmares?|imagin\w+|remember\w*|recall\w*|memor(?:y|ies)|vision|flashback|wish(?:es|ed)?|"
    r"pretend\w*|suppose|years? (?:ago|earlier|before)|yesterday|last (?:night|week|year|month)|tomorrow|"
    r"next (?:week|day|morning|month|year|spring|summer|autumn|winter)|(?:in|of) the (?:story|tale|song|portrait|"
    r"painting|picture|photograph|photo)|legend|once upon|used to|"
    r"every (?:day|night|morning|evening|year)|always|usually|often|rarely|seldom|sometimes|"
    r"(?:can|could) (?:almost|already) (?:hear|see)|träum\w*|rêv\w*|"
    r"sueñ\w*|soñ\w*|мечта\w*|снится)\b|夢"
)
_FAR = re.compile(
    r"\b(?:phone|telephone|radio|intercom|letter|message|text|call|line|recording|comms?|speaker|video|screen|note|"
    r"telepath\w*|mind|head|memory|remember\w*|had said|ghost|voicemail|from (?:outside|afar|below|above|upstairs|"
    r"downstairs|the other side|behind the door|another))\b",
    re.I,
)
_VERB_OF_SPEECH = (
    r"(?:says|said|asks|asked|replies|replied|answers|answered|whispers|whispered|mutters|muttered|shouts|shouted|adds|"
    r"added|murmurs|murmured|growls|growled|exclaims|exclaimed|calls|called|cries|cried)"
)
_SAYS = re.compile(rf"\s*(?:\w+ly )?{_VERB_OF_SPEECH}\b")
_SAID = re.compile(rf"\b{_VERB_OF_SPEECH}\s+$")
_AFTER_ALL = re.compile(
    r"\b(?:from|of|to|with|by|for|than|like|past|behind|about|at|on|against|beside|toward|towards|after|without|near|"
    r"between|around|over|sees?|saw|hears?|heard|finds?|found|meets?|met|gives?|gave|hands?|handed|pushes|pushed|lets?|"
    r"makes?|made|helps?|helped|calls?|called|follows?|followed|leaves?|left|thanks?|thanked|kisses|kissed) $",
    re.I,
)
"""What stands before an object."""

_CLAUSE = re.compile(r"(?:^|[,;:—–…]\s*|\b(?:and|but|then|while|so|as|or)\s+|^\W*(?:\w+ ){0,4})$", re.I)
"""What stands before a subject: nothing, a joint, or a few words that open the sentence."""

_JOINT = re.compile(r"(?:,? and|,? then|, and then|,|;) (?:then |\w+ly ){0,2}")
MOST_JOINTS = 6
"""How many clauses of one sentence are looked at."""


def is_unreal(sentence: str, outside: str) -> bool:
    """Whether a sentence asks, dreams, remembers or tells of another time: nobody moves in it."""
    return sentence.rstrip("\"'”»」 ").endswith(("?", "？")) or bool(_UNREAL.search(outside.lower()))


def is_subject(before: str) -> bool:
    """Whether a name with this before it may be the subject of what follows."""
    return bool(_CLAUSE.search(before)) and not _AFTER_ALL.search(before)


def move_in(before: str, after: str, reach: int) -> Move | None:
    """What somebody does, of whom this stands before and after the name. Behind `reach` characters the next one is
    named who may be the subject."""
    carried = _carried(before, after)
    if carried or _NOT_THEN.search(before) or _AFTER_ALL.search(before):
        return carried
    begin = wording.BETWEEN.match(after)
    found = _move_at(after, begin.end() if begin else 0)
    if found or not is_subject(before):
        return found
    # "Maya takes her coat and walks out": the subject reaches on, as far as nobody else takes over.
    for joint in islice(_JOINT.finditer(after[: max(0, reach)]), MOST_JOINTS):
        found = _move_at(after, joint.end())
        between = _SAYS.sub("", after[: joint.start()], count=1)  # "…," Maya says, and leaves
        if found and not (_BLOCKED.search(between) or _NOT_THEN.search(between)):
            return found
    return None


def _carried(before: str, after: str) -> Move | None:
    """ "The guards haul Bram away", "a servant shows Bram into the study"."""
    if _BLOCKED.search(before) or _NOT_THEN.search(before):
        return None
    if wording.SHOWN_IN.search(before) and wording.INSIDE.match(after):
        return Move.COMES
    return Move.LEAVES if wording.CARRIED_OFF.search(before) and wording.AWAY.match(after) else None


def _move_at(text: str, at: int) -> Move | None:
    if _BLOCKED.match(text, at):
        return None
    if wording.COMES.match(text, at) or wording.COMES_ABROAD.match(text, at):
        return None if wording.ELSEWHERE.search(text[at:]) else Move.COMES
    leaves = wording.LEAVES.match(text, at) or wording.LEAVES_ABROAD.match(text, at)
    return Move.LEAVES if leaves else None


def speaks_here(before: str, after: str) -> bool:
    """Whether somebody is named as the speaker of a quotation that is said on the spot."""
    if _FAR.search(before) or _FAR.search(after):
        return False
    said = _SAID.search(before)
    if said:
        return not _NOT_THEN.search(before[: said.start()])
    return bool(_SAYS.match(after)) and not _NOT_THEN.search(before)
