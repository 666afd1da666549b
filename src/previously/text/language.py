"""Which language a text is in, and whether an answer keeps to the language of its story.

Owns scripts and stop words. A text is a mixture: every sentence is told by its script and, in Latin script, by its
small words. What must stay true: a language is only said to be wrong when the answer is mostly in it and the story
has next to nothing of it; names, loan words, quotations and short texts decide nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from previously.text.sentences import QUOTED, whole_sentences

_LATIN = {
    "English": "the and of to was in that it he his with as for had on at by her she not they but be from were which "
    "this have "
    "him their would there is you who when them what been one all into out no then up could an so are will more if "
    "has i my "
    "your we me after before while about over still than its only did",
    "German": "der die und das in zu den nicht von sie ist des sich mit dem dass er es ein ich auf so eine auch als "
    "an nach wie im "
    "für man aber aus durch wenn nur war noch werden bei hat wir was wird sein einen welche sind oder zur um haben "
    "einer mir "
    "über ihm diese einem ihr uns da zum kann doch vor dieser mich ihn du hatte seine am denn nun unter sehr selbst "
    "schon hier "
    "bis habe ihre dann ihnen seiner alle wieder meine gegen vom ganz wo muss ohne eines können wurde hatten seinem "
    "ihrer",
    "French": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec ou "
    "son lui nous "
    "comme mais elle était sa cette leur on aux ses je à qu'il d'un d'une été fut dont même y ils sans avait elles "
    "tout cela "
    "où si deux ces avant après puis tandis encore jusqu vous mon ma c'est n'est toujours alors chez quand",
    "Spanish": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me "
    "si sin sobre este "
    "ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque qué sólo han yo "
    "hay vez "
    "puede todos así nos ni parte tiene él uno donde bien tiempo mismo ese ahora después otro otra ella antes "
    "mientras le les",
    "Portuguese": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das "
    "tem à seu sua ou "
    "ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter seus "
    "quem nas me "
    "esse eles estão você tinha foram essa num nem suas meu às minha têm numa pelos elas havia seja qual lhe dela "
    "dele antes "
    "enquanto ainda onde",
    "Italian": "di che e la il un a per in una mi sono ho non ma lo ha le si no con cosa se io come da ti questo qui "
    "hai sei del bene "
    "tu sì me più al mio c'è perché lei solo te della era gli tutto così mia ne questa fare quando ora fatto essere "
    "mai chi o "
    "alla tua quello va poi nel dei delle aveva dopo prima mentre ancora suo sua anche",
    "Dutch": "de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om hem dan zou "
    "of wat mijn men "
    "dit zo door over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft hebben deze u want nog zal me "
    "zij nu ge "
    "geen omdat iets worden toch al waren veel meer doen toen moet ben zonder kan hun dus alles onder ja eens hier "
    "wie werd "
    "altijd doch wordt wezen kunnen ons zelf tegen na reeds wil kon niets uw iemand geweest andere",
    "Polish": "w i z na się nie do to że o jest jak po co tak za od jego ale jej przez był była było są dla tym czy "
    "przed już który "
    "która ich mu go tego jeszcze gdy więc tylko ten ta aby być może nad bez pod sobie jednak kiedy oraz",
    "Swedish": "och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan "
    "hon när där nu "
    "efter under eller hade ut sin mot här ska dem henne honom sina utan vid hans hennes blev över",
    "Turkish": "ve bir bu da de için ile o çok ne gibi daha kadar ama ben sen var yok mi sonra olarak değil en ya "
    "her onun ona olan "
    "önce bana diye şey kendi biz hiç oldu",
    "Vietnamese": "và của là có không được cho một người trong đã với các những để này khi đến từ ông bà anh em cô "
    "nó rằng cũng như về "
    "ra vào lại thì mà sẽ đó",
}  # fmt: skip
_SETS = {language: frozenset(words.split()) for language, words in _LATIN.items()}

STOP_WORDS = frozenset(
    word
    for language in ("English", "German", "French", "Spanish", "Portuguese", "Italian", "Dutch")
    for word in _SETS[language]
) | frozenset(
    "и в не на я что он с как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще "
    "нет о из ему "
    "теперь когда даже ну ли если уже или ни быть был него до вас нибудь опять вам ведь там потом себя может они тут "
    "где есть "
    "надо ней для мы тебя их чем была сам чтоб без будто чего раз тоже под ж тогда кто этот того потому этого какой "
    "ним здесь "
    "этом один мой тем чтобы нее были куда всех при об свой свою своей своего".split()
)
"""Words of the commoner languages that carry no content of their own."""

_SCRIPTS = (
    ("kana", re.compile("[\u3040-\u30ff]")),
    ("han", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("Korean", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("Cyrillic", re.compile("[\u0400-\u04ff]")),
    ("Greek", re.compile("[\u0370-\u03ff]")),
    ("Arabic", re.compile("[\u0600-\u06ff]")),
    ("Hebrew", re.compile("[\u0590-\u05ff]")),
    ("Devanagari", re.compile("[\u0900-\u097f]")),
    ("Thai", re.compile("[\u0e00-\u0e7f]")),
    ("Latin", re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")),
)
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UKRAINIAN = re.compile("[іїєґ]", re.I)
_RUSSIAN = re.compile("[ыэёъ]", re.I)

LEAST_LETTERS = 24
LEAST_WORDS = 7
"""Shorter pieces of Latin text have too few small words to tell a language."""

_LEAST_SHARE = 0.17
_MARGIN = 1.35
MOSTLY = 0.6
HARDLY = 0.12
_LONGEST = 24_000
"""Characters looked at, half from the start and half from the end: more tell nothing new."""

_FOREIGN = 0.06
"""A text in whose words a language has less than this share of its small words is in another one."""

_LEAST_FOREIGN = 25

_DENSE = 3
"""One ideograph or kana says about as much as three letters."""


@lru_cache(maxsize=4)
def languages_of(text: str) -> Mapping[str, float]:
    """The languages of a text with their shares of its letters. What cannot be told is under ""."""
    weights: Counter[str] = Counter()
    for piece in _pieces(_sample(text)):
        language, weight = _told(piece)
        weights[language] += weight
    total = sum(weights.values())
    return {language: weight / total for language, weight in sorted(weights.items())} if total else {}


def main_language(text: str) -> str:
    """The language most of a text is in, "" where that cannot be told."""
    shares = languages_of(text)
    return max(shares, key=lambda name: (shares[name], name), default="")


def wrong_language(source: str, text: str) -> str | None:
    """The language an answer is in when its story is not: None when that cannot be said."""
    told = {language: share for language, share in languages_of(text).items() if language}
    of_source = languages_of(source)
    main = main_language(source)
    if main and of_source[main] >= MOSTLY and not told and _is_foreign(text, main):
        return "another language"
    if not told or _letters(text) < LEAST_LETTERS:
        return None
    language, share = max(told.items(), key=lambda item: (item[1], item[0]))
    if share < MOSTLY or of_source.get(language, 0.0) >= HARDLY:
        return None
    known = sum(share for name, share in of_source.items() if name)
    if known < 0.5:
        return language if _is_foreign(source, language) else None
    unsure = of_source.get("", 0.0)
    latin = _script_of(language) == "Latin" and all(_script_of(name) == "Latin" for name in of_source)
    return None if latin and unsure >= 0.3 else language


def _sample(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n{text[-half:]}"


def _is_foreign(text: str, language: str) -> bool:
    """Whether a text in Latin script has next to none of a language's small words."""
    words = _SETS.get(language)
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(_sample(text).lower())]
    if words is None or len(tokens) < _LEAST_FOREIGN or any(token[0] > "\u024f" for token in tokens[:200]):
        return False
    return _hits(tokens, words) < _FOREIGN * len(tokens)


def _script_of(language: str) -> str:
    return "Latin" if language in _SETS or language == "" else language


def _letters(text: str) -> int:
    return sum((_DENSE if mark > "\u2fff" else 1) for mark in text if mark.isalpha())


def _pieces(text: str) -> list[str]:
    """Sentences, short ones joined to the next: a few words alone tell no language."""
    pieces: list[str] = []
    held: list[str] = []
    words = letters = 0
    for sentence in whole_sentences(QUOTED.sub(lambda match: match.group().replace("\n", " "), text)):
        held.append(sentence)
        words += len(_TOKEN.findall(sentence))
        letters += _letters(sentence)
        if words >= LEAST_WORDS * 2 or letters >= 4 * LEAST_LETTERS:
            pieces.append(" ".join(held))
            held = []
            words = letters = 0
    return [*pieces, " ".join(held)] if held else pieces


def _told(piece: str) -> tuple[str, int]:
    counts = {name: len(pattern.findall(piece)) for name, pattern in _SCRIPTS}
    counts["han"] *= _DENSE
    counts["kana"] *= _DENSE
    total = sum(counts.values())
    if not total:
        return "", 0
    east = counts["han"] + counts["kana"]
    if east >= 0.4 * total:
        return ("Japanese" if counts["kana"] >= 0.1 * east else "Chinese"), total
    name = max(counts, key=lambda script: counts[script])
    if counts[name] < 0.6 * total:
        return "", total
    if name == "Cyrillic":
        if _UKRAINIAN.search(piece) and not _RUSSIAN.search(piece):
            return "Ukrainian", total
        return "Russian", total
    return (_latin(piece) if name == "Latin" else name), total


def _latin(piece: str) -> str:
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(piece.lower())]
    if len(tokens) < LEAST_WORDS:
        return ""
    hits = {language: _hits(tokens, words) for language, words in _SETS.items()}
    ranked = sorted(hits, key=lambda language: (-hits[language], language))
    best, second = ranked[0], ranked[1]
    if hits[best] < _LEAST_SHARE * len(tokens) or hits[best] < _MARGIN * hits[second]:
        return ""
    return best


def _hits(tokens: list[str], words: frozenset[str]) -> int:
    found = 0
    for token in tokens:
        if token in words:
            found += 1
        elif "'" in token:
            head, _, rest = token.partition("'")
            found += rest in words or (head in _ELIDED and "de" in words and "le" in words)
    return found


_ELIDED = frozenset("l d j m n s t c qu jusqu lorsqu".split())
