"""What a short text is about, so that two of them can be compared: threads, mostly.

Owns the telling words, names and numbers of one sentence, and the kind of thread it speaks of. What must stay true:
a text is compared by what it says, whatever its case, spacing and endings; nothing here depends on other texts; lists
come in the order of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from previously.core.story_time import due_in, without_due


class ThreadKind(StrEnum):
    """What kind of thing is open."""

    QUESTION = "question"
    PROMISE = "promise"
    DEBT = "debt"
    THREAT = "threat"
    DEADLINE = "deadline"
    SECRET = "secret"
    OTHER = "other"


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.,]\d+)*")
_DENSE = re.compile("[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e01-\u0e7f]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？\"”*])\s+|(?<=[。！？])|\n+")
_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
    if value != 1
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
_SMALL = frozenset(
    "the a an and or but of to in on at by for from with into onto about as if so than then that this these those it "
    "its he she they him her them his hers their theirs i me my mine we us our you your who whom whose which what when "
    "where why how whether is are was were be been being am has have had do does did will would shall should can could "
    "may might must not no never none nobody nothing up out off over back again still yet also only just very more "
    "most some any all both each other there here now until before after while because says said say asks asked "
    "someone something one's own needs need wants want der die das den dem ein eine und zu von mit für le la les "
    "un une et de du des que el los las y en con por para".split()
)
_OF_KIND = frozenset(
    "promise promised promises promising swear swears swore sworn vow vows vowed oath pledge pledged word owe owes "
    "owed owing debt debts secret secrets secretly threat threats threaten threatens threatened threatening warned "
    "deadline due question open thread unresolved resolved mystery unknown unclear remains".split()
)
"""Words that say what kind of thread it is, not which one."""

_LIGHT = frozenset(
    "bring give tell take come keep get make let know find pay hand send carry go put deliver return settle fulfil "
    "reveal do".split()
)
"""Verbs that change when a thing is done: no proof that it is another thing."""

_FAMILIES = {
    word: words.split()[0]
    for words in (
        "bring brings brought bringing", "give gives gave given giving", "tell tells told telling",
        "take takes took taken taking", "come comes came coming", "keep keeps kept keeping", "find finds found finding",
        "pay pays paid repay repaid repays paying", "send sends sent", "know knows knew known", "go goes went gone",
        "steal steals stole stolen stealing", "kill kills killed killing", "die dies died dead death", "get gets got",
        "make makes made", "sell sells sold", "buy buys bought", "leave leaves left", "hide hides hid hidden hiding",
        "lie lies lied lying", "meet meets met", "break breaks broke broken", "marry marries married",
    )
    for word in words.split()
}  # fmt: skip
_OPENERS = frozenset(
    "find get keep tell learn discover return meet deliver rescue save escape reach decide bring take ask help stop "
    "follow protect investigate search look figure determine uncover solve repay pay give how why what who where when "
    "whether which will did does is are has have can could should would the a an his her their its my our your this "
    "that these those there it he she they we i someone somebody nobody no if after before until once while open "
    "promise debt threat secret deadline question mystery unresolved and but captain lady lord sir king queen mr mrs "
    "miss dr old young".split()
)
"""First words that have their capital for nothing, and titles, which many people have."""

_DATES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december".split()
)
_NO_NAMES = _DATES | _SMALL | _NUMBERS.keys()
_STARTS = frozenset('.!?…:;"“„«(*—-')
"""What stands before the first word of a sentence."""

_PERSON_DOES = re.compile(
    r"(?:,? (?:and|or) [A-Z]\w+)? (?:promise[sd]|owe[sd]|swore|swears|vow(?:s|ed)|pledge[sd]|agree[sd]|"
    r"threaten(?:s|ed)|told|tells|asked|asks|said|says|knows|knew|wants|wanted|hides|hid|keeps|warned|"
    r"gave (?:his|her|their) word)\b"
)
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))
_LEAST_STEM = 3


@dataclass(frozen=True, slots=True)
class Wording:
    """One text taken apart."""

    core: frozenset[str]
    """Its telling words, without names, numbers, the time it is due and the words of its kind."""
    names: tuple[str, ...]
    """The words of the names in it, each once, in order."""
    unsure: frozenset[str]
    """Those of them that may have their capital for standing first."""
    numbers: frozenset[str]
    denied: bool
    """Whether it says "not" or "never"."""
    asks: str
    """The word it asks with, if it asks."""

    @property
    def matter(self) -> frozenset[str]:
        """The telling words that stay when the thing is done."""
        return self.core - _LIGHT


@lru_cache(maxsize=16384)
def wording(text: str, known: tuple[str, ...] = ()) -> Wording:
    """Take a text apart. `known` are names it may hold."""
    plain = unicodedata.normalize("NFKC", without_due(text)).replace("’", "'")
    found = _names(plain, known)
    named = found.keys()
    core: dict[str, None] = {}
    numbers: set[str] = set()
    for word in _WORD.findall(plain):
        low = word.casefold().removesuffix("'s").removesuffix("'")
        number = low if low[:1].isdecimal() else _NUMBERS.get(low)
        if number:
            numbers.add(number.replace(",", ""))
        elif low not in named and len(low) > 2 and low not in _SMALL and low not in _OF_KIND and not _DENSE.search(low):
            core[stemmed(low)] = None
    for run in _DENSE.findall(plain):
        core.update(dict.fromkeys([run[at : at + 2] for at in range(len(run) - 1)] or [run]))
    low = plain.casefold()
    denied = bool(re.search(r"\b(?:not|never|no one|nobody|without)\b|n't\b", low))
    asks = re.match(r"\W*(who|what|where|when|why|how|whether)\b", low)
    unsure = frozenset(name for name, sure in found.items() if not sure)
    return Wording(frozenset(core), tuple(found), unsure, frozenset(numbers), denied, asks[1] if asks else "")


def _names(text: str, known: Iterable[str]) -> dict[str, bool]:
    """The words of names in a text, in lower case and in order, each with whether it surely is one: known, inside a
    sentence, or doing what only people do."""
    sure = {part.casefold() for name in known for part in _WORD.findall(name) if len(part) > 2} - _SMALL - _OPENERS
    found: dict[str, bool] = {}
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        first = not end or not _STARTS.isdisjoint(text[end : match.start()])
        end = match.end()
        low = word.casefold().removesuffix("'s").removesuffix("'")
        if word[0].islower() or len(low) < 2 or low in _NO_NAMES:
            continue
        if low in sure:
            found[low] = True
        elif word[0].isupper() and low not in _OPENERS:
            found[low] = found.get(low, False) or not first or bool(_PERSON_DOES.match(text, end))
    return found


def names_in(text: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """The words of names in a text, in lower case, each once, in order."""
    return tuple(_names(text, known))


def mentioned_in(text: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Who is surely named in a text: the known names it holds, and others as they are written."""
    there = [name for name, sure in _names(text, known).items() if sure]
    found = [name for name in known if any(part in there for part in names_in(name, (name,)))]
    covered = {part for name in found for part in names_in(name, (name,))}
    spelled = {word.casefold().removesuffix("'s"): word.removesuffix("'s") for word in _WORD.findall(text)}
    return (*dict.fromkeys(found), *(spelled.get(name, name) for name in there if name not in covered))


@lru_cache(maxsize=8192)
def stemmed(word: str) -> str:
    """A word by which its forms are one: crude, and only for comparing."""
    family = _FAMILIES.get(word)
    if family:
        return family
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + instead
            break
    return word.removesuffix("e") if len(word) > _LEAST_STEM else word


_QUESTION = r"\?\s*$|^\W*(?:who|what|where|when|why|how|whether)\b|\b(?:unknown|unclear|mystery of)\b"
_DEBT = r"\b(?:owe|owes|owed|owing|debts?|repay|borrowed|ransom|wager|schuldet|dette|deuda)\b|долг|借金|欠"
_SECRET = (
    r"\bsecret|\b(?:tell|tells|told|telling) (?:no one|nobody)\b|\b(?:not|never) (?:to )?(?:tell|reveal)\b|"
    r"\b(?:hides|hid|hiding|conceal\w*) (?:\w+ )?from\b|must never know|geheim|тайн|秘密"
)
_THREAT = r"\bthreat|\b(?:or else|revenge|vengeance|hunting|hunts|will kill|warned|ambush|curse)\b"
_PROMISE = (
    r"\b(?:promis\w*|swear|swears|swore|sworn|vow\w*|oath|pledge\w*|agreed to|"
    r"(?:gave|given) (?:\w+ )?(?:his|her|their) word|versprach|versprochen)\b|обеща|約束|答应"
)
_DEADLINE = r"\b(?:deadline|must|has to|have to|due|expires?|has|have) "
_KINDS = tuple(
    (kind, re.compile(cue))
    for kind, cue in (
        (ThreadKind.QUESTION, _QUESTION),
        (ThreadKind.DEBT, _DEBT),
        (ThreadKind.SECRET, _SECRET),
        (ThreadKind.THREAT, _THREAT),
        (ThreadKind.PROMISE, _PROMISE),
        (ThreadKind.DEADLINE, _DEADLINE),
    )
)


def kind_of(text: str) -> ThreadKind:
    """What kind of thread a text speaks of."""
    low = text.replace("’", "'").casefold()
    found = next((kind for kind, cue in _KINDS if cue.search(low)), ThreadKind.OTHER)
    bound = found is not ThreadKind.DEADLINE or "deadline" in low or due_in(text)
    return found if bound else ThreadKind.OTHER


def quote_for(text: str, sentences: Sequence[str], known: tuple[str, ...] = ()) -> str:
    """The sentence that supports a text best; "" where none has enough of its words."""
    about = wording(text, known)
    terms = about.core | about.numbers
    best, most = "", 0
    for sentence in sentences:
        there = wording(sentence, known)
        shared = len(terms & (there.core | there.numbers)) * 2 + len(set(about.names) & set(there.names))
        if shared > most:
            best, most = sentence, shared
    there = wording(best, known)
    enough = len(terms & (there.core | there.numbers)) * 2 >= len(terms)
    return best if best and enough and not about.numbers - _all_numbers(sentences, known) else ""


def _all_numbers(sentences: Sequence[str], known: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*(wording(one, known).numbers for one in sentences))


def sentences_of(texts: Iterable[str]) -> list[str]:
    """The sentences of some texts, on one line each."""
    pieces = (piece for text in texts for piece in _SENTENCE_END.split(text))
    return [line for piece in pieces if (line := " ".join(piece.split()))]
