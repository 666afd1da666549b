"""The word lists behind salience.

Owns what counts as a promise, a debt, a secret, a deadline, a threat, a place or table talk, as plain words and
phrases. The lists are general: they name no person, no place and no single game. Languages other than English
have only a few of the strongest cues.
"""

from __future__ import annotations

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _phrases(*patterns: str, anywhere: str = "") -> re.Pattern[str]:
    """Phrases that start at a word's edge, and some that may stand anywhere, to be looked for in lower-case text."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})" + (f"|{anywhere}" if anywhere else ""))


_TIME = (
    r"(?:dawn|dusk|noon|midday|midnight|sunrise|sunset|sundown|nightfall|morning|evening|tonight|tomorrow|"
    r"midsummer|midwinter|spring|"
    r"summer|autumn|winter|harvest|monday|tuesday|wednesday|thursday|friday|saturday|sunday|end of|moon|tide|"
    r"festival|solstice|"
    r"equinox|coronation|wedding|trial|week|month|year|anniversary|eve|feast|frost|thaw|"
    r"january|february|march|april|june|july|august|september|october|november|december)"
)
_COUNT = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d+)"

VOW = _phrases(
    r"(?:i|we) (?:do |hereby |solemnly )?(?:promise|swear|vow|pledge|give (?:you )?my word)\b",
    r"(?:promised|swore|vowed|pledged|sworn|promises|vows)\b(?! (?:land|loudly|under|like))",
    r"(?:my|your|his|her|their|our|gave (?:his|her|their)) (?:word of honou?r|oath|vow|promise)\b",
    r"you have my word\b",
    r"(?:gave|give|given) (?:\w+ )?(?:my|his|her|their|your) word\b",
    r"made (?:\w+ ){1,2}promise\b",
    r"versprech|verspricht|versprach|schwör|schwor|promets|promis\b|jure\b|prometo|juro\b|prometto",
    anywhere="обеща|клян|約束|发誓|答应|誓",
)
"""A promise in so many words."""

WILL = _phrases(
    r"(?:i|we)(?:'ll| will| shall) (?:\w+ )?(?:never|always|pay|repay|return|bring|come back|be back|meet|"
    r"keep|protect|free|deliver|"
    r"write|wait|guard|avenge|help|marry|give|tell (?:no one|nobody|no-one))\b",
    r"agree[sd]? to (?:\w+ )?(?:meet|pay|help|bring|take|give|find|guard|work|return|deliver|join|marry|"
    r"spare)\b",
)
"""What someone says they will do: a promise when it is owed to someone or bound to a time."""

DEBT = _phrases(
    r"(?:owe|owes|owed|owing|debts?|repay|repaid|borrowed|lent|loan|pay (?:you|him|her|them|it|me|us) back|"
    r"pay back|in exchange for|"
    r"bounty|ransom|wager|collateral|in return for)\b",
    r"(?:schulde\w*|schuldig|dette|deuda|debito|dívida)\b",
    anywhere="долг|借金|欠",
)
SECRET = _phrases(
    r"(?:secrets?|secretly|confess(?:es|ed)?|disguised? as|pretending to be|true name|real name|nobody "
    r"(?:else )?(?:must |may )?knows?|"
    r"no one (?:else )?(?:must |may )?knows?|must never know|don't tell|do not tell|tell no one|tell nobody|"
    r"between us|"
    r"lied (?:about|to)|betray(?:s|ed|al)?|traitor|prophecy|riddle)\b",
    r"(?:geheim\w*|heimlich|segreto|secreto|segredo)\b",
    anywhere="тайн|секрет|秘密",
)
DEADLINE = _phrases(
    rf"(?:by|before|until|till|within|no later than) (?:the )?(?:next |this |first |last |new |full "
    rf")?{_TIME}\b",
    rf"(?:within|in|for|only|after|have|has|had) {_COUNT} (?:more )?(?:days?|weeks?|months?|years?|nights?|"
    rf"hours?)\b",
    rf"due (?:\w+ ){{0,3}}(?:at|on|by|before|in) (?:the )?{_TIME}\b",
    r"(?:deadline|time runs? out|running out of time|at (?:dawn|dusk|midnight|noon|sunrise|sunset))\b",
)
OBLIGED = _phrases(r"(?:due|must|have to|has to|had to|need to|needs to|supposed to|expected|payable|expires?)\b")
THREAT = _phrases(
    r"(?:or else|will kill|will die|threaten(?:s|ed)?|hunting|hunted|wanted for|revenge|vengeance|warn(?:s|ed)|"
    r"ambush|kidnapp?ed|vanished|disappeared|murder(?:s|ed|er)?|poisoned|cursed|is missing|went missing|war "
    r"(?:with|against))\b",
    r"'ll (?:kill|die)\b",
)
UNSURE = _phrases(r"(?:maybe|perhaps|might|would|could|should|if (?:i|we|you)|kidding|joking)\b")
TRIGGERS = _set(
    "promise promised promises swear swears swore sworn vow vows vowed pledge pledged oath word owe owes "
    "owed owing debt debts repay "
    "repaid borrowed lent loan pay exchange bounty ransom wager collateral return secret secrets secretly "
    "confess confesses confessed "
    "disguise disguised pretending name nobody one know tell between lied betray betrays betrayed betrayal "
    "traitor prophecy riddle "
    "deadline time by before until till within later days day weeks week months month years year nights "
    "night hours hour dawn dusk "
    "midnight noon sunrise sunset else kill die threaten threatens threatened hunting hunted wanted revenge "
    "vengeance warns warned "
    "ambush kidnapped kidnaped vanished disappeared murder murders murdered murderer poisoned cursed missing "
    "war i'll we'll will shall "
    "agree agrees agreed due must expires"
)
"""A line without any of these words needs no closer look for threads, unless it is in another language."""

HAPPENS = _set(
    "decide decides decided chose chooses chosen agrees agreed refuse refuses refused accept accepts "
    "accepted hire hires hired sold "
    "bought stole steals killed kills slain died dies dead married found finds discover discovers discovered "
    "learns learned reveal "
    "reveals revealed escape escapes escaped arrest arrested attack attacks attacked burned burns broke "
    "breaks join joins joined leaves "
    "left arrive arrives arrived returns returned meets met gave gives takes took hands sends sent tells "
    "told asks asked hid hides lost "
    "wounded plans planned named called became becomes follows followed heads enters entered begins began "
    "opens opened pulls pulled "
    "turns turned says said walks walked steps stepped runs ran comes came goes went explains explained "
    "notices noticed sees saw "
    "brings brought wakes woke falls fell appears appeared casts strikes struck manages managed tries tried "
    "continues continued"
)
PLOT = _set(
    "decide decides decided agrees agreed refuse refuses refused accepted hire hires hired sold sells bought "
    "stole steals stolen killed "
    "kills slain died dies dead drowned married marries found finds discover discovers discovered learns "
    "learned reveal reveals revealed "
    "escape escapes escaped arrest arrested attacks attacked burned burnt sank sunk broke broken joined "
    "betrayed lied hid hidden lost "
    "wounded hurt poisoned forged paid pays owes owed borrowed inherited fled missing vanished rescued freed "
    "captured named known alive "
    "because truth proof evidence witness confessed admitted accused planned plans hired ordered returned "
    "arrived left born father mother "
    "brother sister son daughter wife husband"
)
"""Words of what changes a story, and of who is who in it; looks, steps and turns are only movement."""

PLACES = _set(
    "inn tavern castle tower temple church harbor harbour dock docks port bay river lake sea island forest "
    "woods mountain mountains "
    "valley hill hills cave mine mines dungeon city town village capital kingdom empire road bridge gate "
    "market square street alley house "
    "mansion cellar attic library archive prison jail cell barracks camp farm barn mill station hospital "
    "school office hotel north south "
    "east west northern southern eastern western"
)
TABLE_TALK = _set(
    "roll rolls rolled rolling dice d4 d6 d8 d10 d12 d20 d100 nat crit crits critical initiative modifier "
    "modifiers advantage "
    "disadvantage saving throw check checks perception insight stealth investigation persuasion deception "
    "intimidation acrobatics "
    "athletics arcana dexterity constitution charisma wisdom proficiency proficient bonus ac hp dc damage "
    "cantrip slot slots level "
    "levels xp npc npcs pc dm gm campaign miniature minis mini reroll inspiration piercing slashing "
    "bludgeoning necrotic radiant "
    "psychic reaction feat feats stat stats rulebook rules melee hit hits points plus minus"
)
SHOW_TALK = _set(
    "episode episodes stream streaming twitch youtube subscribe subscribers sponsor sponsors sponsored "
    "sponsorship promo code discount "
    "giveaway website www com podcast show audience chat viewers fans merch tickets online app patreon "
    "discord link livestream camera "
    "cameras mic microphone bathroom pizza snacks backstage ad ads commercial hashtag tweet twitter facebook "
    "instagram movie movies "
    "meme emoji afk brb lol lmao rofl xd omg btw imo tbh ooc winner disqualified partner partners "
    "announcements subscription prime"
)
FILLER = _set(
    "like yeah okay ok um uh er hmm huh oh ah well right just guys stuff thing things whatever basically "
    "literally actually really "
    "gonna wanna gotta kinda sorta cool awesome wow dude man hey hi hello bye thanks please sorry great nice "
    "totally maybe probably "
    "fuck fucking shit damn hell crap anyway alright yep yup nope nah haha ha ooh aw lol"
)
HEDGE = _set(
    "can could would should might may must perhaps guess think believe suppose seem seems kind sort try want going"
)
FIRST_PERSON = _set("i i'm i'll i've i'd me my mine we we're we'll we've us our let's")
SECOND_PERSON = _set("you you're you'll you've you'd your yours y'all")
THIRD_PERSON = _set("he she they him her them his their hers theirs himself herself themselves")
TIES = _set("the of in to and a an with from into at on by as through toward towards")
"""The small words that tie narration together; chatter has few of them."""

LEADS_TO_SPEECH = _set("said says saying asked asks replied answered goes cried exclaimed and the a of to with in")
SMALL_TALK_OPENERS = _set(
    "hi hello hey welcome thanks thank bye goodbye sorry excuse okay ok alright yes yeah no nope sure right "
    "great cool wow oh well ah "
    "haha lol um uh"
)
DANGLING_OPENERS = _set(
    "it it's that that's this these those he she they he's she's they're there there's then and but or so "
    "because which also like him "
    "her them what who where why how when if"
)
NUMBER_WORDS = _set(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands "
    "million dozen"
)
ABBREVIATED_TITLES = _set("mr mrs ms dr st prof capt lt sgt col gen rev")
TITLES = ABBREVIATED_TITLES | _set(
    "miss mister mistress madam ma'am sir lord lady dame saint doctor professor captain lieutenant sergeant colonel "
    "general reverend inspector constable assessor majesty highness"
)
"""Words that come before a name and are none by themselves."""

BROKEN = re.compile(r"--|\.\.\.|…|—\s*$|[(\[][^()\[\]]{1,40}[)\]]")


LISTS = {
    "rules": TABLE_TALK,
    "show": SHOW_TALK,
    "fillers": FILLER,
    "hedges": HEDGE,
    "first": FIRST_PERSON,
    "second": SECOND_PERSON,
    "third": THIRD_PERSON,
    "ties": TIES,
    "happens": HAPPENS,
    "plot": PLOT,
    "places": PLACES,
    "trigger": TRIGGERS,
    "numbers": NUMBER_WORDS,
}
"""Every list under the name salience counts it by."""

KINDS: dict[str, tuple[str, ...]] = {
    word: tuple(kind for kind, words in LISTS.items() if word in words)
    for word in sorted(frozenset().union(*LISTS.values()))
}
"""Every listed word with the lists it is on: one look-up per word instead of a dozen."""
