"""The words by which prose moves people: verbs of leaving and coming, and what makes them unreal.

Owns the lists. What must stay true: verbs that mean something else as often ("leaves a note", "runs out of breath",
"returns the key") count only with a place, a manner or nothing behind them. English mostly, with a few plain wordings
of other languages. How they are read in a sentence is `presence_reading`.
"""

from __future__ import annotations

import re

from previously.folds.builtin.cues import PLACES


def _words(text: str) -> str:
    """Any of these words or phrases, which are parted by spaces or, where they have spaces, by commas."""
    return "(?:" + "|".join(part.strip() for part in text.split("," if "," in text else None)) + ")"


_ROOMS = _words(
    "room hall hallway house home inn tavern bar pub kitchen cellar attic office building shop store study "
    "parlou?r bedroom bathroom chamber camp tent clearing courtyard yard garden stables? cabin hut cottage deck "
    "ship bridge cave temple church chapel court courtroom meeting party ballroom table circle scene place "
    "premises apartment flat café cafe restaurant lobby elevator lift corridor gallery station classroom lab "
    "laboratory ward workshop forge loft vault crypt tomb arena stage theatre theater door doorway gates? window "
    "city village town group others tower castle library mill barn harbou?r docks? pier quay street alley night "
    "rain snow storm dark darkness fog mist crowd shadows woods forest trees booth carriage car "
    + " ".join(sorted(PLACES))
)
PLACE = rf"(?:the|a|an|his|her|their|its|this|that|[A-Z][\w’']*['’]s) (?:[\w'’-]+ ){{0,2}}?{_ROOMS}\b"
_MANNER = (
    r"(?:\w+ly|then|just|also|now|finally|at last|simply|both|all|once more|again|soon|alone|together|already|at once)"
)
BETWEEN = re.compile(rf"\s*,?\s*(?:(?:{_MANNER}|who)\s+){{0,2}}", re.I)
"""What may stand between somebody and what they do."""

_END = r"(?=\s*(?:$|[.,;:!…—–-]|(?:and|then|but|as|while|before|after|leaving|slamming|without|laughing)\b))"
_IN = r"in (?:a |an |tears|silence|anger|disgust|search|haste|the (?:rain|snow|dark|night|fog))"
_GO = _words(
    "walks? walked storms? stormed runs? ran strides? strode slips? slipped stalks? stalked stomps? stomped hurry "
    "hurries hurried march marches marched sneaks? sneaked snuck rush rushes rushed heads? headed steps? stepped "
    "stumbles? stumbled limps? limped bolts? bolted rides? rode drives? drove wanders? wandered drifts? drifted "
    "creeps? crept goes go went shuffles? shuffled trudges? trudged dash dashes dashed sprints? sprinted "
    "flounces? flounced strolls? strolled sweeps? swept swaggers? swaggered saunters? sauntered tiptoes? tiptoed "
    "gallops? galloped staggers? staggered scurry scurries scurried races? raced barges? barged bursts? ducks? "
    "ducked squeezes? squeezed climbs? climbed moves? moved slides? slid"
)
_CARRIED_OFF = _words("led dragged escorted carried taken hauled marched thrown sent ushered bundled")
_CARRIED_IN = _words("led dragged escorted carried brought ushered shown pushed")
_AT_REST = _words("waiting sitting seated standing leaning lounging perched slumped asleep kneeling crouching")
_BESIDE = r"(?:in|at|by|on|near|beside|behind|against|next to|there)"

LEAVES = re.compile(
    "|".join(
        (
            rf"(?:leaves?|left)(?:{_END}| (?:with|{PLACE}|{_MANNER}\b|through\b|by the\b|via\b|to \w+|{_IN}))",
            r"(?:leaves?|left) for (?!\w+ (?:dead|later)\b|later\b|dead\b)",
            rf"(?:exits?|exited|departs?|departed)(?:{_END}| (?:{PLACE}|with|through|by|from|for|{_MANNER}\b|in\b))",
            rf"{_GO} (?:{_MANNER} )?(?:out|off|outside|away)"
            rf"(?:{_END}| (?:into|to|through|towards?|down|across|for|{_MANNER}\b|{_IN}|of {PLACE}|"
            r"the (?:back )?door))",
            rf"{_GO} (?:{_MANNER} )?from {PLACE}",
            r"(?:heads?|headed|goes|went|walks?|walked|rides?|rode|drives?|drove) home\b",
            rf"(?:flees?|fled)(?:{_END}| (?:{PLACE}|into|through|down))",
            r"(?:takes?|took|makes?|made) (?:his|her|their) (?:leave|exit|departure)\b",
            rf"excuse[sd]? (?:him|her|them)sel(?:f|ves)(?: from\b|{_END})",
            r"(?:disappears?|disappeared|vanish|vanishes|vanished|melts?|melted) (?:into|through|down|out|around|from) "
            rf"(?:sight|view|{PLACE}|the \w+)",
            rf"(?:is|are|was|were|gets?|got) (?:\w+ly )?{_CARRIED_OFF} (?:away|off|out|outside|from {PLACE})",
            rf"(?:is|are|was|were) (?:already )?gone{_END}",
            r"follow(?:s|ed)? (?:\w+ ){1,2}(?:out|outside|away)\b",
        )
    )
)
COMES = re.compile(
    "|".join(
        (
            rf"(?:re-?)?enter(?:s|ed)?(?:{_END}| (?:{PLACE}|with|carrying|through|from|behind|{_MANNER}\b))",
            rf"arrive[sd]?(?:{_END}| (?:with|at|in|late|back|home|from|on|by|{_MANNER}\b))",
            rf"(?:comes?|came) (?:{_MANNER} )?(?:in|inside|back|over|home|down|downstairs|running|rushing)\b",
            rf"(?:comes?|came) (?:{_MANNER} )?(?:(?:through|into|out of) {PLACE}|up to (?:them|him|her|the)\b)",
            rf"{_GO} (?:{_MANNER} )?(?:back )?(?:in|inside)"
            rf"(?:{_END}| (?:with|carrying|through|from|behind|on|{_MANNER}\b))",
            rf"{_GO} (?:{_MANNER} )?(?:back )?(?:into|through|up to) {PLACE}",
            rf"{_GO} (?:out )?from behind\b",
            rf"{_GO} out of the (?:shadows|dark|darkness|fog|mist|crowd|trees|rain)\b",
            rf"return(?:s|ed)?(?:{_END}| (?:with|to {PLACE}|from|empty|at|later|a (?:moment|minute|little|while)|home|"
            rf"{_MANNER}\b))",
            r"(?:re)?join(?:s|ed)? (?:them|him|her|us|you|"
            r"the (?:group|others|party|table|circle|two|three|conversation))\b",
            r"(?:re)?joins (?-i:[A-Z][\w’'-]+)",
            rf"appear(?:s|ed)? (?:in|at|on|from|beside|behind|out of|through) (?:{PLACE}|behind|beside|them|him|her)\b",
            rf"emerge[sd]? (?:from|out of)\b|(?:shows?|showed|turns?|turned) up{_END}",
            rf"(?:is|are|was|were) (?:already |still |now |also |back )?{_AT_REST} {_BESIDE} ",
            rf"(?:is|are|was|were) (?:already |still |now |also )?(?:here|back)(?:{_END}| (?:in|at|from|with))",
            r"(?:waits?|sits?|stands?|leans?|sat|stood) (?:down |up )?"
            r"(?:in|at|by|on|near|beside|against|next to|between) (?:the|a|an|his|her|their|him|them)\b",
            rf"(?:is|are|was|were|gets?|got) (?:\w+ly )?{_CARRIED_IN} (?:in|inside|before|into {PLACE})\b",
            r"follow(?:s|ed)? (?:\w+ ){1,2}(?:in|inside|into)\b",
        )
    )
)
CARRIED_OFF = re.compile(
    r"\b(?:drags?|dragged|hauls?|hauled|leads?|led|carry|carries|carried|escorts?|escorted|ushers?|ushered|bundled) $"
)
"""What stands before somebody who is moved by others: "The guards haul" Bram away."""

AWAY = re.compile(rf" (?:away|off|out|outside|from {PLACE})\b")
INSIDE = re.compile(rf" (?:in|inside|before|into {PLACE})\b")
SHOWN_IN = re.compile(
    r"\b(?:brings?|brought|shows?|showed|leads?|led|ushers?|ushered|escorts?|escorted|drags?|dragged) $"
)

ELSEWHERE = re.compile(
    r"\b(?:elsewhere|far away|miles away|back home|at home|in another|in the next|in a different|across town|"
    r"across the sea|outside|on the (?:phone|line|radio|other side)|unaware|in (?:my|your) (?:mind|head)|"
    r"in (?:his|her|their) (?:grave|dreams?|mind|memory|thoughts?|head)|to mind)\b"
)
"""Being there, but not here."""

LEAVES_ABROAD = re.compile(
    "|".join(
        (
            r"(?:verlässt|verließ|(?:geht|ging) (?:hinaus|weg|fort|nach Hause)|stürmte? (?:hinaus|aus de[mr]))\b",
            r"(?:quitte|quitta|sort|sortit|s'en va|s'éloigne|part)(?: (?:la|le|de|du|en|sans)\b|[.,!]|$)",
            r"(?:sale|salió|se va|se fue|se marcha|se marchó)(?: (?:de|del|sin|corriendo|a la)\b|[.,!]|$)",
            r"(?:уходит|ушла|ушёл|ушел|выходит|вышла|вышел|покидает|покинула|покинул)\b",
            "[はが]?(?:部屋|家|店|酒場|そこ)?(?:を|から)?(?:出て(?:行|い)[くっき]|立ち去)",
        )
    )
)
COMES_ABROAD = re.compile(
    "|".join(
        (
            r"(?:betritt|betrat|(?:kommt|kam) (?:herein|zurück|hinzu)|kehrte? zurück|tritt ein)\b",
            r"(?:entre|entra|revient|revint|arrive|arriva|rejoint)(?: (?:dans|en|avec|la|le|les|par|a|al)\b|[.,!]|$)",
            r"(?:entró|llega|llegó|regresa|regresó|vuelve|volvió)(?: (?:en|a|al|con|de)\b|[.,!]|$)",
            r"(?:входит|вошла|вошёл|вошел|возвращается|вернулась|вернулся|приходит|пришла|пришёл|пришел)\b",
            "[はが]?(?:部屋|家|店|酒場)?(?:に|へ)?(?:入って(?:来|き)|戻って(?:来|き))",
        )
    )
)
