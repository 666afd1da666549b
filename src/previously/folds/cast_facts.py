"""The facts that a character knows: which of them an answer speaks of, what becomes of them, and who knows of
something.

A diff is read against the memory it was asked about, once, and names facts by their words, so that applying it twice is
applying it once. A fact is only taken for another where most telling words of both are the same, in as many names,
numbers and denials. Nothing new is dropped for being like something old. Over `MOST_FACTS` the least important of the
oldest gives way, never what was just learnt while anything older is there; a promise or a debt is forgotten last.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from previously.core.cast import MOST_FACTS, Fact, Knowledge, drop_repeats
from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold
from previously.text.compare import find_terms
from previously.text.numbers import find_values
from previously.text.sentences import split_sentences
from previously.text.words import WORD, make_key, make_keys

ALIKE = 2 / 3
"""The share of all telling words of two wordings that has to be in both, for one to point at the other."""

CONTAINED = 0.5
"""The share of a fact that a shorter wording has to hold, where it holds nothing else."""

RESTATED = 0.75
"""The share of a fact that a shorter wording has to hold to tell nothing new."""

FULLER = 0.6
"""The share of a wording that an earlier fact has to be for the wording to take its place."""

_TURNS = lazy_pattern(
    r"\b(?:not|never|no|nobody|none|nothing|without|cannot|nicht|kein\w*|nie|niemals|pas|jamais|nunca|nadie|не|нет|"
    r"никогда|maybe|perhaps|might|may|could|if|unless|until|thinks?|believes?|believed|suspects?|suspected|claims?|"
    r"claimed|says?|said|told|pretends?|pretended|fake|false|lie[sd]?|rumou?rs?|wants?|hopes?|plans?|fears?|used to|"
    r"once|former|almost|nearly)\b|n't\b|ない|没|不"
)
"""Words that turn what a fact says into something else, however few they are."""

FactPointer = str | int
"""A fact as an answer names it: by its words, or by its number in the list, from 1."""


@dataclass(frozen=True, slots=True)
class CastAnswer:
    """The changes that an answer wants in a character's memory."""

    summary: str = ""
    add: tuple[str, ...] = ()
    remove: tuple[FactPointer, ...] = ()
    update: tuple[tuple[FactPointer, str], ...] = ()
    """The old words of each fact, and the new ones."""
    whole: tuple[str, ...] = ()
    """The facts as they should be, where all of them were given."""
    about: str = ""
    """Whose memory it says it is."""

    @property
    def is_empty(self) -> bool:
        """Return whether it wants nothing: no answer to what was asked, and likely cut off."""
        return not (self.summary or self.add or self.remove or self.update or self.whole)


@dataclass(frozen=True, slots=True)
class FactDiff:
    """A change of facts: the words of those that go, and those that come, oldest first."""

    gone: tuple[str, ...] = ()
    new: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words by which a fact is compared."""

    terms: tuple[str, ...]
    names: tuple[str, ...]
    numbers: frozenset[float]
    turns: frozenset[str]


def resolve_answer(known: Sequence[Fact], wanted: CastAnswer, learnt: Callable[[str], Fact]) -> FactDiff:
    """Return what an answer changes in these facts. `learnt` makes a fact of new words.

    A change of a fact that is not there is a new fact; a whole list changes what it says in other words, adds what it
    says besides, and takes nothing away."""
    gone: dict[str, None] = {}
    new: dict[str, Fact] = {}

    def left() -> list[Fact]:
        return [fact for fact in known if fact.text not in gone]

    def add(text: str) -> None:
        if any(tells_nothing_new(text, one.text) for one in (*left(), *new.values())):
            return
        for one in left():
            if is_fuller(text, one.text):
                gone[one.text] = None
        for earlier in [one.text for one in new.values() if is_fuller(text, one.text)]:
            del new[casefold(earlier)]
        new[casefold(text)] = learnt(text)

    for pointed in wanted.remove:
        if (meant := find_fact(pointed, known)) is not None:
            gone[meant.text] = None
    for old, text in wanted.update:
        meant = find_fact(old, known)
        if meant is not None and casefold(meant.text) == casefold(text):
            continue
        if meant is not None:
            gone[meant.text] = None
        if any(casefold(one.text) == casefold(text) for one in left()):
            continue
        if meant is not None:
            new.setdefault(casefold(text), learnt(text))
        else:
            add(text)
    for text in wanted.add:
        add(text)
    _take_whole(wanted.whole, left(), gone, new, learnt, add)
    return FactDiff(tuple(gone), tuple(new.values()))


def _take_whole(
    whole: Sequence[str],
    left: Sequence[Fact],
    gone: dict[str, None],
    new: dict[str, Fact],
    learnt: Callable[[str], Fact],
    add: Callable[[str], None],
) -> None:
    """Take in a list of all facts: those that stand as they are first, so that none is taken for another."""
    same = {casefold(text) for text in whole}
    others = [fact for fact in left if casefold(fact.text) not in same]
    for text in whole:
        if any(casefold(fact.text) == casefold(text) for fact in left):
            continue
        meant = find_fact(text, others)
        if meant is not None and not tells_nothing_new(text, meant.text):
            others.remove(meant)
            gone[meant.text] = None
            new.setdefault(casefold(text), learnt(text))
        elif meant is None:
            add(text)


def apply_diff(known: Iterable[Fact], diff: FactDiff) -> tuple[Fact, ...]:
    new = {casefold(fact.text) for fact in diff.new}
    gone = {casefold(text) for text in diff.gone}
    kept = [fact for fact in known if casefold(fact.text) not in gone | new]
    return _bound_facts(kept, drop_repeats(diff.new))


def _bound_facts(old: Sequence[Fact], new: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts that stay where there are too many: old ones give way first, and of the new never the newest."""
    order = [*old, *new]
    over = len(order) - MOST_FACTS
    if over <= 0:
        return tuple(order)

    def rank(place: int) -> tuple[bool, bool, int, int, int]:
        fact = order[place]
        return place >= len(old), place == len(order) - 1, weigh_fact(fact.text), fact.since, place

    go = set(sorted(range(len(order)), key=rank)[:over])
    return tuple(fact for place, fact in enumerate(order) if place not in go)


def find_fact(pointed: FactPointer, known: Sequence[Fact]) -> Fact | None:
    """The fact that a number or a wording means: the very words, the same but for case, or by far the most alike. None
    where it could be any of several."""
    if isinstance(pointed, int):
        return known[pointed - 1] if 1 <= pointed <= len(known) else None
    exact = [fact for fact in known if fact.text == pointed]
    exact = exact or [fact for fact in known if casefold(fact.text) == casefold(pointed)]
    if exact:
        return exact[0]
    scored = sorted(
        ((measure_likeness(pointed, fact.text), place) for place, fact in enumerate(known)), key=lambda one: -one[0]
    )
    if not scored or scored[0][0] <= 0 or (len(scored) > 1 and scored[1][0] == scored[0][0]):
        return None
    return known[scored[0][1]]


def measure_likeness(pointed: str, fact: str) -> float:
    """Return how much a wording is like a fact: the share of their telling words that both have, 0 where that is too
    little to tell."""
    wording, other = _read_wording(pointed), _read_wording(fact)
    if (
        wording.turns != other.turns
        or (wording.numbers and wording.numbers != other.numbers)
        or not _same_order(wording, other)
    ):
        return 0.0
    shared = len(set(wording.terms) & set(other.terms))
    if shared < 2:
        return 0.0
    alike = shared / len(set(wording.terms) | set(other.terms))
    if alike >= ALIKE:
        return alike
    contained = _is_within(wording.terms, other.terms) and shared >= 3 and shared >= CONTAINED * len(other.terms)
    return alike if contained else 0.0


def tells_nothing_new(text: str, fact: str) -> bool:
    """Return whether a fact already says all that a wording says."""
    if casefold(text).rstrip(".!") == casefold(fact).rstrip(".!"):
        return True
    wording, other = _read_wording(text), _read_wording(fact)
    if len(wording.terms) < 2 or wording.turns != other.turns or wording.numbers != other.numbers:
        return False
    return _is_within(wording.terms, other.terms) and len(wording.terms) >= RESTATED * len(other.terms)


def is_fuller(text: str, fact: str) -> bool:
    """Return whether a wording says all that a fact says, and more of the same."""
    wording, other = _read_wording(text), _read_wording(fact)
    if len(other.terms) < 2 or wording.turns != other.turns or not other.numbers <= wording.numbers:
        return False
    return _is_within(other.terms, wording.terms) and len(other.terms) >= FULLER * len(wording.terms)


@lru_cache(maxsize=1024)
def _read_wording(text: str) -> _Wording:
    capitals = [make_key(word) for word in WORD.findall(text) if word[0].isupper()]
    return _Wording(
        tuple(dict.fromkeys(find_terms(text))),
        tuple(dict.fromkeys(capitals)),
        find_values(text),
        frozenset(_TURNS.findall(text.replace("’", "'").lower())),
    )


def _same_order(wording: _Wording, other: _Wording) -> bool:
    """Return whether the names that both have come in the same order: who owes whom."""
    shared = set(wording.names) & set(other.names)
    return [name for name in wording.names if name in shared] == [name for name in other.names if name in shared]


def _is_within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether all of the one stands in the other, in that order."""
    rest = iter(whole)
    return all(term in rest for term in part)


_PROMISE_WORDS = (
    r"promis\w*|vow(?:s|ed)?|swear|sworn|oaths?|owe[sd]?|debts?|iou",
    r"versprech\w*|versprich\w*|verspr[ao]ch\w*|schwör\w*|geschworen|schuld(?:e|est|et|en)",
    r"promets?|promett\w*|promis|promesses?|jure[sz]?|juré|dettes?",
    r"promet\w*|promesas?|jur[oaó]|juramento|deudas?",
    r"обеща\w*|кля(?:нусь|лся|лась|тв\w*)|поклял\w*|задолж\w*|долг(?:а|у|ом|и|ов)?",
)
_PROMISE = lazy_pattern(rf"\b(?:{'|'.join(_PROMISE_WORDS)})\b|約束|誓[いうっ]|借りがある|借金", re.IGNORECASE)
"""Words for promising and owing in English, German, French, Spanish, Russian and Japanese; no grammar around them."""

BINDS, HAPPENED = 1, 0
"""The weights, heaviest first."""


def weigh_fact(fact: str) -> int:
    """Return how much a fact matters: `BINDS` or `HAPPENED`."""
    return BINDS if _PROMISE.search(fact) else HAPPENED


LEAST_SHARE = 0.5
"""The share of the words asked for that a fact has to hold."""


@dataclass(frozen=True, slots=True)
class Knower:
    """A character who knows of what was asked, with what they know of it, the best first."""

    name: str
    facts: tuple[Fact, ...]
    summary_sentences: tuple[str, ...]


def find_knowers(knowledge: Mapping[str, Knowledge], terms: str) -> list[Knower]:
    """A row for everyone who knows of it."""
    asked = _find_terms(terms)
    if not asked:
        return []
    ranked: list[tuple[float, int, str, Knower]] = []
    for name, known in knowledge.items():
        facts = [(share, fact) for fact in known.facts if (share := _share(asked, fact.text))]
        said = [(share, one) for one in split_sentences(known.summary) if (share := _share(asked, one))]
        if not facts and not said:
            continue
        facts.sort(key=lambda one: (-one[0], -one[1].since))
        said.sort(key=lambda one: -one[0])
        best = max(share for share, _ in [*facts, *said])
        row = Knower(name, tuple(fact for _, fact in facts), tuple(one for _, one in said))
        ranked.append((-best, -len(facts), casefold(name), row))
    return [row for *_, row in sorted(ranked, key=lambda one: one[:3])]


def _share(asked: frozenset[str], text: str) -> float:
    """The share of the words asked for that a text holds; 0 where that is too little."""
    words = _find_terms(text) | _words_of(text)
    share = len(asked & words) / len(asked)
    return share if share >= LEAST_SHARE else 0.0


def _find_terms(text: str) -> frozenset[str]:
    """The telling words and numbers of a text; all its words where none is telling."""
    text = unicodedata.normalize("NFKC", text)
    return frozenset([*find_terms(text), *(f"#{value:g}" for value in find_values(text))]) or _words_of(text)


def _words_of(text: str) -> frozenset[str]:
    text = unicodedata.normalize("NFKC", text).casefold()
    return make_keys(text) | frozenset(text.split())
