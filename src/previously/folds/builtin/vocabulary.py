"""Ordinary English words, most frequent first, and the stems the folder counts by.

Owns the background against which a word is common or telling. The list was counted over public-domain prose and
everyday dialogue and rounded out by hand; only rough order matters. A word in no position here is simply "rare", so
other languages lose nothing but this background. What must stay true: ``rarity`` lies between 0 and ``RAREST``, and
``stem`` is a pure function of its word.
"""

import math
from functools import lru_cache

_BY_FREQUENCY = """
i i'd i'll i'm i've the and to a of for you in that is with it as on be are your was not me this have at
they will can my from them all we or their so but do by like her one up if into would out back could when
get about time were had he an now more no which down what how just there who make see any good has his other
these way she over where said through first know help very should next after great been am our then before
some also day go long us him than people well right those much work must such new find again its made may
did need while here each only use little think give set three sharp around want many small being ready don't
most morning too head even until off keep still once mind take feel sure away really might big going thought
another come voice two without last upon everything found green tell every asked look put low looking times
full glad few used end high thing done things understand together life best body let anything start room
started ask home side free cannot hear better always place air own step short between something got live key
soon part along try same near never rest both old strong journey night power years send top water cross able
course it's kind minutes days beautiful moment went open easy world under eyes country fast hard making
forward plan clear steps ever why friends bit heart rather move came nothing name quite others within large
exactly care looked please company several walking having say immediately told yourself often possible
minute across feeling does forest left thinking during you're indeed wonderful far getting shall call walk
because order easily makes build myself running close gave reach face felt sent house behind current man
wish living powerful important business story called tired enough leave show friendly sorry different food
quick already form clean real knew took isn't true child dinner ground built followed happy table longer yes
quiet straight person needed loud sound four hours love service places red saw else hold given known return
bring needs hope door heavy leg words pretty run cut means carefully seeing spot wall can't certainly road
deep added looks talk hour land matter light safe seen visit against allow fit experience decided taking
themselves doesn't arms floor instead truly answer building since girl using group among hands yet agreed
fruit white task tried bed met expected color sense tomorrow less doing flowers become message stop quickly
higher covered helped anyone hand due point search lost lot sleep strange coming alone word approach believe
flight meal field waiting whether didn't legs wait wanted bank money rich following pressure leader lead
city carry afternoon moments everyone consider children handle opening stay idea dog middle completely
carried comfortable save solid sounds success wide herself above broken pull second taken travelers flat
rate fields kept pieces finished figure setting content led news party saying simple break trying fresh
locked follow hurt common cost moving account miles year plenty rooms suppose worked perfectly questions
replied simply towards nearly friend woman brought himself meet support biggest learning screen saving
that's began number offer gone sets finally request trees bad action case comfort expect eye space family
deal welcome afraid fine stuck directly thoughts reached delicious loss interested passed entire presence
smooth edge sometimes inside dish seems desire continued direction answered difficult beyond early returned
fall past manage mentioned remember entirely shape wrong sitting keeping pass eat heard weight bigger busy
change gathered guide tools worry ones peace question breakfast holding lying arm feet slowly audience
travel mean finding future drive happened front mouth evening continue lay pick saved wind protect happen
mark pay receive telling opened add fear five turned working actually size promise seek round chance speak
dry entered promised corner poor proper surprise center least dark stick prevent willing giving seemed box
black job worth escape rules suggested fire gently meeting purpose whenever haven't shoulders almost prefer
bottom bread filled shoes spots stand gas ride command hot pain brain push talked blocks demand fill greatly
reason touch courage sat act ease became lived natural distance picked proof reply wonder required row sweet
trust growing exact either noise streets someone breathing join written usually whole managed comes fully
forth harm history remain standing empty sight turn dishes hit queer float itself relief safety closed begin
leads neck probably third broad knowledge properly ran showing careful clothes half stopped although flights
jump plans safely spring flying rough stood young advanced fell variety claim forms stream luck spread
though tiny wood certain caught held prompt perhaps beside respect seem present shot favorite read below
drink extra walked leaves preferred goes interview paved placed window cloud worried beauty tree bar likely
huge pushed showed wants bright dead facing forget grateful trouble wife button human laid won't piece
branches noticed paused reaching rule sky speaking tail unless wild takes beat covering later owner groups
beautifully breath knows ahead lives pace resolved greater knowing paper web easier flowing houses joined
length sort angry pleased yours cover generally signal enter happens leaving bow closely cold disease older
plate wise chest desired spoke strangers animals asleep danger magic manner wasn't proud serve gives nor
trained breaking usual paid farmer aren't creature dried fewer god lord sir lady king queen prince sword
knife arrow armor shield ship boat captain crew guards soldier soldiers town village inn tavern temple
church tower harbor dock market street alley cave dungeon mountain mountains valley hill hills lake sea
ocean island shore coast north south west midnight dawn dusk noon sunset sunrise tonight week month season
winter summer autumn sister daughter uncle aunt cousin kid kids enemy stranger thief killer doctor nurse
teacher lawyer judge detective police officer agent boss guest merchant priest witch wizard knight hunter
servant ghost dragon monster demon devil angel spirit spell curse potion ring crown throne treasure silver
copper coin coins gem jewel lock pocket letter note book page map scroll pen photo picture mirror lamp
candle torch flame smoke ash snow ice thunder fog mist star darkness shadow shadows bone bones beard tooth
cheek throat wrist finger fingers thumb stomach belly waist hip knees toe scream whisper cry frown grin
stare shrug growl roar bark howl hug grab drag punch slap stab slash shoot aim dodge defend die heal bleed
sick poison fever drunk sober thirsty nightmare wake sits walks runs crawl enters exit returns follows hide
hides finds lose loses steals stolen rob buy sell trade owe sends accept refuse swear vow betray doubt
thinks hate stops finish ends opens closes breaks fix destroy warn threaten beg plead asks answers tells
talks speaks calls named hears listen listens sees watches notices shows points reads write writes draws
sing play plays game win wins bet destiny war army tent horse horses cart wagon carriage wheel path trail
track leaf grass farm roof bench desk counter cup mug beer ale wine whiskey drinks fish soup stew cheese
apple lunch spoon fork cook taste silence silent loudly slow maybe merely barely somehow nobody nowhere
beneath onto despite ancient narrow thick dull warm cool dirty dim blue grey purple pink orange golden ugly
handsome brave mad furious calm jealous nervous weird odd crazy insane smart clever foolish cruel gentle
evil wicked holy sacred impossible fake worst okay ok yeah yep yup nope nah hey hi hello bye goodbye thanks
thank oh ah uh um hmm huh wow damn hell shit fuck fucking ass guy guys dude folks team gang couple lots
bunch final late today zero six nine ten eleven twelve dozen twenty thirty forty fifty sixty seventy eighty
ninety million gonna wanna gotta kinda sorta lemme y'all ain't weren't hasn't hadn't wouldn't there's here's
what's who's where's let's she's they're we're you've we've they've he'll she'll we'll they'll you'll you'd
he'd she'd they'd we'd it'll that'll rolls dice check damage level hits spells weapons dagger axe hammer
spear staff crossbow bolt arrows metal steel stone stones brick mud dirt sand marble crystal silk robe cloak
jacket shirt dress pants gloves hood belt rope cage cell jail tunnel pit crack cliff river swamp marsh
jungle kingdom empire nation realm capital castle palace fort fortress mayor chief lieutenant sergeant
general commander law crime criminal murder innocent guilty witness evidence clue secrets mystery problem
mission quest tale song language price debt reward office school class student college hospital station
train bus car plane phone computer camera video music movie radio lights gate gets gray loved mouse pointed
toward unable yellow orders adventure drop shoulder collection lovely putting charm creatures earn joints
satisfaction stretch watching assistance brains fat addition fun hair sending shown speech spent stopping
terrible block driven decide grew lie promises tears offered square throughout tone advice chain hidden
larger learned pulled slaves gradually listening nuts accounts breast condition explained heads imagine joy
powers rising till outside beginning closing sun band bell branch reality sit bath failed fellow he's nice
rows shelf whatever agree intended measure chair forever grandfather hungry mistake serious tall match ago
changed couldn't eating ended except foot hole mention sticking thread wear women age chasing guess
introduce prepared shop steady worse fact master caused fail force nearby selling traveling bird birds
constantly determined earth exhausted faces gold greatest heels mass men presented rescue tables countries
cow everywhere kindness sad blood books calling flower gardens husband sized speed starts connected draw
nodded notice press roll son curiosity discover missing moon portal raised release replaced soft stock
surface worrying carts confidence deeply fair intense meat belong sides tied catch lighter neither playing
thin thoroughly turning wound pavement remaining represent beast clouds east keeps kill kinds knee picking
rise rushed smell stuffed truth uncomfortable balanced colors cooking fight lift tastes wider declared
delightful enabled engaged flew miss naturally protected somewhere checks corn losing nights played shut
animal anywhere bent besides crash fruits handled harder homes kitchen laying letting lonely pleasant
politely remembered sale satisfied string suddenly swiftly honest says stuff supposed appears child's chose
egg entering hundreds logs measuring regret sights stiff toes treat watch anxious companions death
discovered glasses heat pure slave slept sparkling surrounded watched chase circle climb curious excuse
heavily instant kick nose ourselves rapidly removed rock spoken teeth therefore truck walls wasted breathe
brother closer crush crushed dream easiest injury tight windows bringing cat commands contents dangerous
fashion freedom glance harness lies meant rushing stands thousands woods farmers imagination moss admit
brilliant broke brown farms fly leaned oats ordered painted pointing raise scare sizes thoughtful twice
umbrella bend brighter falling grain listened pair pile riding wearing wondering arrive bug checked chop
divided dressed dropped eggs gems stretched threw useless worries brings desert dogs hint mess mixed mother
none roads rolled shops sigh stars strike supported tear threatened treated unusual vegetables wishes
celebrate cooked dear enjoying orphan pictures plain shaped yesterday approve attempt baby boots ceiling
courtyard crowd dangers drawn dread dust false fancy forced freely grown joke kindly limbs matters moved
paint platter poker rocks seat stays struggle surroundings thoughtfully touched wherever whose worn afford
clothing discomfort fairy guests happiness polite raising scratch striking admitted alive bear blade bridge
camp chopped destroyed earned farewell fed fierce glimpse immense landed lifted minds rare remained rested
smile splitting steep sudden twisted underneath waited ball bottle court dare ears extend folding habit hat
holes iron ladder marriage pin pot subjects whispered afterward allowed backward banks begins bodies butter
carrying climbed climbing eagerly elbow enjoyed groan imagined jumped kiss laughed lets milk mine monstrous
obey opinion pleasure pockets polished precious resting roadside rolling scent secret shaking shook
shouldn't suit trap wished wondered bands blind burst cleaned ditch fairly forehead gift hoped impression
jar kissed marks ordinary possibly pretend rapid reflections rust seven shapes skin soul throw tricks uneven
unlock wash announced arts ashamed begun born bowl burned chairs cloth contained disappear drawing drying
flesh forgive fortune fountain fourth girls grand hearty laugh loving magical married meadows melt owned
promptly ropes ruined scared smiled sooner spinning stepped stir swim tops towel traveled weak wiped advise
blew boards brightly burn burning dragged gay judged knocked lesson midst neat rain remembering scattered
shining shock sold stern struck unknown awkward battle bidding blow boy bucket cast cleared coat countless
crops day's delight delighted died fears floating forgot fulfillment funny gaze greeted guard hanging
hearted hugged hung hurting ladies liked lips loaded longing lucky mask meantime mixture needle obliged
pathway permitted quietly roughly softly stake storm swift troubles undergo wiping wooden yourselves
adventures anyway approached attack biting brisk buzzing calmly candy cookies counted cozy crossed deaf dome
doors drew eight feared flames fond frighten glass hall laughter leap mat mend needles nodding oak overheard
pack patches pots puzzled severe slipped smelled spark spoil spreading staring strip stumbled sugar travels
trunk unlocked vexed woke abundance anybody awake bag bald barn bars bathing bitten bother bought cared
carries carved chamber chased chin chorus commanded compel couch cracks curiously dance disappeared
disappointed disappointment dose ear eats father fetch flooding fortunate freed furniture glancing glow
handed happily harmless harnessed hesitated hesitation hillside holiday idle invisible kicked lately lowered
mate mercy metals mistaken natured passing pop praying race refreshed relieve shade shades shocked shout
sleeping slip smiling sniffed somewhat sore sorts sparkle stamped stayed sticks stillness stocking strips
tedious thankful throwing tossed towers tremble upset warmly weaving wet wisely accident accidents
afterwards alarm altogether angrier awful backs baskets beds bells belongs blades boisterous breathed breeze
bundle bushes cakes companion confidentially considerably cruelty cunning damaged dies disturbed doublets
drags eventful everybody fate favor gentlemen giant glances glory glued grassy heel horror hundred imitate
injure invited leather lightning lined man's muddy nearing noble nod outer pains partly passages peculiar
perplexity politeness prison prisoners rarely rear remarkably respectfully reunited robes rubbed rubbing
rumble scatter seated seize sighed silvery skinny slavery smoothing sometime stairs starve steadily steal
stool straightened strings stuffing stupid swelled tails telescope thousand thrown tongue trembling trimmed
troubled vexation washing waves weapon wetting wheels whirl winds
""".split()

RAREST = 6.6
"""The rarity of a word the list does not know."""

_FLATTENING = 8.0
_ENDINGS = (
    ("ingly", ""), ("edly", ""), ("ness", ""), ("ments", "ment"), ("ies", "y"), ("ied", "y"), ("ing", ""),
    ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("ed", ""), ("ly", ""), ("es", "e"), ("s", ""),
)  # fmt: skip
_LEAST_STEM = 3


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A crude stem of a lower-case word: enough that "walks", "walked" and "walking" count as one term."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) <= _LEAST_STEM or not word.isascii() or "'" in word:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            if ending == "s" and word[-2] in "su":
                return word
            word = word[: len(word) - len(ending)] + instead
            if ending in ("ing", "ed", "ingly", "edly") and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > _LEAST_STEM and word.endswith("e") else word


_RANK: dict[str, int] = {}
for _position, _word in enumerate(_BY_FREQUENCY):
    _RANK.setdefault(_word, _position)
_STEM_RANK: dict[str, int] = {}
for _position, _word in enumerate(_BY_FREQUENCY):
    _STEM_RANK.setdefault(stem(_word), _position)
_RARITY = {_stem: min(RAREST, math.log1p(_position / _FLATTENING)) for _stem, _position in _STEM_RANK.items()}

FUNCTION_WORDS = frozenset(
    "the and to a of for in that is with it as on be are was not this have at they will can from them all or "
    "their "
    "so but do by her up if into would out could when about were had he an which what how there who any has "
    "his these "
    "she where than those such its did while each him am been i you me my your we us our no yes then just".split()
)


def is_ordinary(word: str) -> bool:
    """Whether a lower-case word is an everyday English one, so that a capital letter alone makes it no name."""
    return word in _RANK or stem(word) in _RARITY


def rarity(stemmed: str) -> float:
    """How telling a stem is: 0 for "the", ``RAREST`` for a word outside the list."""
    return _RARITY.get(stemmed, RAREST)
