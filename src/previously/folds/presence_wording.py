"""The wordings by which prose moves people: verbs of leaving and coming, and what makes them unreal.

What must stay true: a verb counts only behind its subject, with nothing between that denies, plans or doubts it; verbs
that mean something else as often ("leaves a note", "runs out of breath", "returns the key") count only with a place or
nothing behind them. English mostly, with a few plain wordings of other languages.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from previously.folds.builtin.cues import PLACES


class Move(Enum):
    """What somebody does."""

    LEAVES = auto()
    COMES = auto()


_ROOMS = (
    "room|hall|hallway|house|home|inn|tavern|bar|pub|kitchen|cellar|attic|office|building|shop|store|study|parlou?r|"
    "bedroom|bathroom|chamber|throne room|dining room|living room|camp|tent|clearing|courtyard|yard|garden|stable|"
    "stables|cabin|hut|cottage|deck|ship|bridge|cave|temple|church|chapel|court|courtroom|meeting|party|ballroom|table|"
    "circle|scene|place|premises|apartment|flat|cafe|café|restaurant|lobby|elevator|lift|corridor|gallery|station|"
    "classroom|lab|laboratory|ward|workshop|forge|loft|vault|crypt|tomb|arena|stage|theatre|theater|door|doorway|gate|"
    "gates|front door|back door|window|city|village|town|group|others|tower|castle|library|mill|barn|harbou?r|docks?|"
    "pier|quay|street|alley|night|rain|snow|storm|dark|darkness|fog|mist|crowd|shadows|woods|forest|trees"
)
_PLACE = (
    rf"(?:the|a|an|his|her|their|its|this|that|[A-Z][\w’']*['’]s) (?:[\w'’-]+ ){{0,2}}?"
    rf"(?:{_ROOMS}|{'|'.join(sorted(PLACES))})\b"
)
_END = r"(?=\s*(?:$|[.,;:!…—–-]|and\b|then\b|but\b|as\b|while\b|before\b|after\b|leaving\b|slamming\b|without\b))"
_OFTEN = r"(?:\w+ly|then|just|also|now|finally|at last|simply|both|all|once more|again|soon|alone|together|already)"
_GO = (
    r"(?:walks?|walked|storms?|stormed|runs?|ran|strides?|strode|slips?|slipped|stalks?|stalked|stomps?|stomped|hurr(?:y|"
    r"ies|ied)|march(?:es|ed)?|sneaks?|sneaked|snuck|rush(?:es|ed)?|heads?|headed|steps?|stepped|stumbles?|stumbled|"
    r"limps?|limped|bolts?|bolted|rides?|rode|drives?|drove|wanders?|wandered|drifts?|drifted|creeps?|crept|goes|go|"
    r"went|shuffles?|shuffled|trudges?|trudged|dash(?:es|ed)?|sprints?|sprinted|flounces?|flounced|strolls?|strolled|"
    r"sweeps?|swept|swaggers?|saunters?|sauntered|tiptoes?|tiptoed|gallops?|galloped|staggers?|staggered|scurr(?:y|ies|"
    r"ied)|races?|raced|barges?|barged|bursts?|burst|ducks?|ducked|squeezes?|climbs?|climbed|moves?|moved)"
)
_SELF = r"(?:him|her|them|it)sel(?:f|ves)"

_LEAVES = re.compile(
    rf"(?:leaves?|left)(?:{_END}| (?:{_PLACE}|{_OFTEN}\b|with\b|through\b|by the\b|via\b|for\b(?! \w+ (?:dead|later))|"
    rf"to \w+|in (?:a |tears|silence|anger|disgust|search|haste)))"
    rf"|(?:exits?|exited|departs?|departed)(?:{_END}| (?:{_PLACE}|through|by|from|with|for|{_OFTEN}\b|in\b))"
    rf"|{_GO} (?:{_OFTEN} )?(?:out|off|outside|away)(?:{_END}| (?:into|to|through|towards?|down|across|with|without|for|"
    rf"alone|again|{_OFTEN}\b|in (?:a |tears|silence|anger|disgust|search|haste)|of {_PLACE}|on {_PLACE}|the door))"
    rf"|{_GO} (?:{_OFTEN} )?from {_PLACE}"
    rf"|(?:heads?|headed|goes|went|walks?|walked|rides?|rode) home\b"
    rf"|(?:flees?|fled)(?:{_END}| (?:{_PLACE}|into|through|down))"
    rf"|(?:takes?|took|makes?|made) (?:his|her|their) (?:leave|exit|departure)\b"
    rf"|excuse[sd]? {_SELF}(?: from\b|{_END})"
    rf"|(?:disappears?|disappeared|vanish(?:es|ed)?|melts?|melted) (?:into|through|down|out|around|from) "
    rf"(?:sight|view|{_PLACE}|the \w+)"
    rf"|(?:is|are|was|were|gets?|got) (?:\w+ly )?(?:led|dragged|escorted|carried|taken|hauled|marched|thrown|sent|"
    rf"ushered|bundled) (?:away|off|out|outside|from {_PLACE})"
    rf"|(?:is|are) (?:already )?gone{_END}"
    rf"|follows? (?:\w+ ){{1,2}}(?:out|outside|away)\b|followed (?:\w+ ){{1,2}}(?:out|outside|away)\b"
)
_COMES = re.compile(
    rf"(?:enters?|entered|re-?enters?|re-?entered)(?:{_END}| (?:{_PLACE}|through|from|behind|with|carrying|{_OFTEN}\b))"
    rf"|(?:arrives?|arrived)(?:{_END}| (?:at|in|with|late|back|home|from|on|just|by|{_OFTEN}\b))"
    rf"|(?:comes?|came) (?:{_OFTEN} )?(?:in|inside|back|over|home|downstairs|upstairs|running|rushing|through {_PLACE}|"
    rf"into {_PLACE}|out of {_PLACE}|up to (?:them|him|her|the))(?:\b)"
    rf"|{_GO} (?:{_OFTEN} )?(?:back )?(?:in|inside)(?:{_END}| (?:through|from|with|carrying|behind|on|{_OFTEN}\b))"
    rf"|{_GO} (?:{_OFTEN} )?(?:back )?(?:into|through|up to) {_PLACE}"
    rf"|{_GO} (?:out )?from behind\b|{_GO} out of the (?:shadows|dark|darkness|fog|mist|crowd|trees|rain)"
    rf"|(?:returns?|returned)(?:{_END}| (?:to {_PLACE}|with|from|alone|empty|at|later|a (?:moment|minute|little|while)|"
    rf"home|{_OFTEN}\b))"
    rf"|(?:re)?joins? (?:them|him|her|us|you|the (?:group|others|party|table|circle|two|three|conversation)|"
    rf"(?-i:[A-Z][\w’'-]+))(?:\b)|(?:re)?joined (?:them|him|her|us|you|the (?:group|others|party|table|circle|two|three|"
    rf"conversation))\b"
    rf"|(?:appears?|appeared) (?:in|at|on|from|beside|behind|out of|through) (?:{_PLACE}|behind|beside|them|him|her|the)"
    rf"|(?:emerges?|emerged) (?:from|out of)\b|(?:shows?|showed|turns?|turned) up{_END}"
    rf"|(?:is|are|was|were) (?:already |still |now |also |back )?(?:waiting|sitting|seated|standing|leaning|lounging|"
    rf"perched|slumped|asleep|kneeling|crouching) (?:in|at|by|on|near|beside|behind|against|next to|there) "
    rf"|(?:is|are) (?:already |still |now |also )?(?:here|back)(?:{_END}| (?:in|at|with|from))"
    rf"|(?:waits?|sits?|stands?|leans?) (?:in|at|by|on|near|beside|against) (?:the|a|an|his|her|their) "
    rf"|(?:is|are|was|were|gets?|got) (?:\w+ly )?(?:led|dragged|escorted|carried|brought|ushered|shown|pushed) "
    rf"(?:in|inside|before|into {_PLACE})\b"
    rf"|follows? (?:\w+ ){{1,2}}(?:in|inside|into)\b|followed (?:\w+ ){{1,2}}(?:in|inside|into)\b"
)
_ELSEWHERE = re.compile(
    r"\b(?:elsewhere|far away|miles away|back home|at home|in another|in the next|in a different|across (?:town|the sea)|"
    r"outside|on the (?:phone|line|radio|other side)|in (?:his|her|their) (?:grave|dreams?|mind|memory|thoughts?)|"
    r"in (?:my|your) (?:mind|head)|unaware)\b"
)
_FOREIGN_LEAVES = re.compile(
    r"(?:verlässt|verließ|geht (?:hinaus|weg|fort|nach Hause)|ging (?:hinaus|weg|fort|nach Hause)|stürmt (?:hinaus|"
    r"aus dem|aus der)|stürmte hinaus)\b"
    r"|(?:quitte|quitta|sort|sortit|s'en va|s'éloigne|part)(?: (?:la|le|de|du|en|sans)\b|[.,!]|$)"
    r"|(?:sale|salió|se va|se fue|se marcha|se marchó)(?: (?:de|del|sin|corriendo|a la)\b|[.,!]|$)"
    r"|(?:уходит|ушла|ушёл|ушел|выходит|вышла|вышел|покидает|покинула|покинул)\b"
    r"|[はが]?(?:部屋|家|店|酒場|そこ)?(?:を|から)?(?:出て(?:行|い)[くっき]|立ち去)"
)
_FOREIGN_COMES = re.compile(
    r"(?:betritt|betrat|kommt (?:herein|zurück|hinzu)|kam (?:herein|zurück|hinzu)|kehrt zurück|kehrte zurück|tritt ein)\b"
    r"|(?:entre|entra|revient|revint|arrive|arriva|rejoint)(?: (?:dans|en|avec|la|le|les|par|a|al)\b|[.,!]|$)"
    r"|(?:entró|llega|llegó|regresa|regresó|vuelve|volvió)(?: (?:en|a|al|con|de)\b|[.,!]|$)"
    r"|(?:входит|вошла|вошёл|вошел|возвращается|вернулась|вернулся|приходит|пришла|пришёл|пришел)\b"
    r"|[はが]?(?:部屋|家|店|酒場)?(?:に|へ)?(?:入って(?:来|き)|戻って(?:来|き))"
)
_BETWEEN = re.compile(rf"\s*,?\s*(?:(?:{_OFTEN}|who)\s+){{0,2}}", re.I)
_ALSO_DOES = re.compile(
    r"(?:,| and| then|, and|, then|;) (?:(?:then|quietly|slowly|quickly|finally|just|simply|silently|\w+ly) )?$"
)
_BLOCKED = re.compile(
    r"\b(?:not|never|n't|cannot|no longer|nor|neither|without|refuses? to|refused to|will|would|could|should|might|may|"
    r"must|can|shall|going to|about to|wants? to|wanted to|plans? to|planned to|tr(?:y|ies|ied) to|decides? to|decided to|"
    r"needs? to|has to|have to|had|has|hopes? to|begins? to|starts? to|seems? to|threatens? to|threatened to|promises? to|"
    r"promised to|pretends? to|hesitates? to|offers? to|almost|nearly|nicht|kein|nie|ne|pas|jamais|no|nunca|не|"
    r"hatte|war|avait|había)\b|n't\b|['’]d\b|['’]ll\b|ない|なかった"
)
_NOT_THEN = re.compile(
    r"\b(?:if|unless|when|whenever|until|till|before|once|in case|lest|as if|as though|so that|whether|had|hopes?|hoped|"
    r"waits? for|waited for|waiting for|lets?|makes?|made|wants?|wanted|asks?|asked|tells?|told|begs?|begged|orders?|"
    r"ordered|says?|said|claims?|thinks?|thought|believes?|wonders?|wondered|doubts?|knows?|knew|fears?|feared|remembers?|"
    r"remembered|recalls?|imagines?|suggests?|insists?|heard that|hears that|that|why|how|where|wenn|falls|ob|bis|bevor|"
    r"dass|si|quand|avant|que|cuando|antes|если|когда|пока|что|もし)\b(?:[^,;]*)$",
    re.I,
)
_UNREAL = re.compile(
    r"\b(?:dreams?|dreamt|dreamed|dreaming|nightmares?|imagin\w+|remember\w*|recalls?|recalled|memor(?:y|ies)|vision|"
    r"flashback|wish(?:es|ed)?|pretend\w*|suppose|years? (?:ago|earlier|before)|yesterday|last (?:night|week|year|month)|"
    r"tomorrow|next (?:week|day|morning|month|year)|in the story|legend|once upon|used to|every (?:day|night|morning|"
    r"evening|year)|always|usually|often|rarely|seldom|sometimes|träum\w*|rêv\w*|sueñ\w*|soñ\w*|мечта\w*|снится)\b|夢"
)
_FAR = re.compile(
    r"\b(?:phone|telephone|radio|intercom|letter|message|text|call|line|recording|comms?|speaker|video|screen|note|"
    r"telepath\w*|mind|head|memory|remember\w*|had said|ghost|voicemail|from (?:outside|afar|below|above|upstairs|downstairs|"
    r"the other side|behind the door|another))\b",
    re.I,
)
_SAYS = re.compile(r"\s*(?:\w+ly )?(?:says|said|asks|asked|replies|replied|answers|answered|whispers|whispered|mutters|"
                   r"muttered|shouts|shouted|adds|added|murmurs|murmured|growls|growled|laughs|sighs|exclaims|exclaimed)\b")  # fmt: skip
_SAID_BEFORE = re.compile(r"\b(?:says|said|asks|asked|replies|replied|answers|answered|whispers|whispered)\s+$")


def is_unreal(sentence: str, outside: str) -> bool:
    """Whether a sentence asks, dreams, remembers or tells of another time: nobody moves in it."""
    return sentence.rstrip("\"'”»」 ").endswith(("?", "？")) or bool(_UNREAL.search(outside.lower()))


def move_in(before: str, after: str, reach: int) -> Move | None:
    """What somebody does of whom the text before and after their name is this. Only `reach` characters behind the name
    are theirs: there the next one is named, who may still be whom they join."""
    if _NOT_THEN.search(before):
        return None
    begin = _BETWEEN.match(after)
    at = begin.end() if begin else 0
    found = _move_at(after, at)
    if found:
        return found
    # "Maya takes her coat and walks out": the subject reaches on, as far as nobody else is named.
    for joint in re.finditer(r"(?:,? and|,? then|, and then|,|;) (?:then |\w+ly ){0,2}", after[: max(0, reach)]):
        between = after[: joint.start()]
        if _BLOCKED.search(between) or _NOT_THEN.search(after[: joint.end()]) or _new_subject(after[joint.end() :]):
            continue
        found = _move_at(after, joint.end())
        if found:
            return found
    return None


def _move_at(text: str, at: int) -> Move | None:
    if _BLOCKED.match(text, at):
        return None
    if _COMES.match(text, at) or _FOREIGN_COMES.match(text, at):
        return None if _ELSEWHERE.search(text[at:]) else Move.COMES
    return Move.LEAVES if _LEAVES.match(text, at) or _FOREIGN_LEAVES.match(text, at) else None


def _new_subject(text: str) -> bool:
    """Whether a clause begins with somebody or something else."""
    return bool(
        re.match(r"(?:the|a|an|his|her|their|its|it|he|she|they|you|i|we|someone|nobody|everyone)\b", text, re.I)
    )


def speaks_here(before: str, after: str) -> bool:
    """Whether somebody is named as the speaker of a quotation that is said on the spot."""
    if _FAR.search(before) or _FAR.search(after) or _NOT_THEN.search(before.rstrip(", ")):
        return False
    return bool(_SAYS.match(after) or _SAID_BEFORE.search(before))
