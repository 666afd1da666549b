"""Which commitments are the same, and which a sentence settles.

Owns two comparisons over telling words (`checks.traces`). What must stay true: two are merged only when one says nearly
all the other says and their numbers agree; one is settled only by a sentence that tells of something done, names
someone of it or is said by them, and shares most of what it is about, or names the tie itself and leaves no doubt which
one is meant. In doubt it stays open: a settled promise that is told again costs a line, an open one that is lost costs
the story.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from previously.folds.builtin.reading import Line
from previously.folds.builtin.traces import FAMILIAR, content_of, folded, numbers_in
from previously.folds.commitments.people import People, capitals_in, nameable
from previously.folds.commitments.ties import without_time

_ALIKE = 0.75
_SETTLED = 0.6
"""Of two telling words both, of three two: "mended the net" settles nothing about a roof."""

_LIGHT = frozenset(
    folded(word)
    for word in "bring brought buy bought reach reached know knows learn take took pay come came keep kept tell "
    "told help send sent carry carried hand "
    "handed say said "
    "make made give want day night time asked player narrator again always ever one someone anyone anything "
    "deliver delivered reveal revealed warned admitted told".split()
)
"""Verbs and small words that any two commitments may share, or that change when a thing is done."""

_DONE_ABROAD = re.compile(
    r"eingelöst|eingehalten|zurückgegeben|zurückgebracht|zurückgezahlt|bezahlt|beglichen|erlassen|"
    r"tenu (?:sa|leur|ma) |rendu|remboursé|cumplió|cumplid|devolvió|pagó|saldó|сдержал|вернул|заплатил|отдал|"
    r"расплатил|兑现|归还|还清|还给|還給|返した|果たし|守った"
)
_TIE = r"(?:promise|word|oath|vow|pledge)"
_OWN = r"(?:his|her|their|my|the)"
_BREAKS = rf"(?:broke|breaks) {_OWN} {_TIE}"
_ENDED = re.compile(
    rf"(?:(?:Then|So|And|And so|Finally|At last|In the end),? )?(?P<who>[A-Z][\w'’-]*)(?: [A-Z][\w'’-]+)?"
    rf"(?: (?:has|had|have|at last|finally|then))* (?:(?:kept|keeps|honou?red|fulfill?ed|fulfills|redeemed|broke|"
    rf"broken|breaks) {_OWN} (?P<tie>{_TIE})|"
    rf"(?:paid|repaid|pays|settled|cleared)(?: off| back)? (?:all )?{_OWN} debts?)"
    r"(?P<rest>\W*$|[,.;!:]| to .*| and .*| at last.*| after all.*| in the end.*)",
    re.S,
)
"""Somebody kept or broke a promise, or paid a debt, in so many words."""

_NAMED = re.compile(r"\b[A-Z][\w’-]*")
_IS_VOW = re.compile(r"\b(?:promised|swore|sworn|vowed|pledged|gave (?:his|her|their) word)\b")
_IS_DEBT = re.compile(r"\b(?:owes?|owed|debts?)\b")
_DONE = re.compile(
    r"\b(?:kept|keeps|honou?red|fulfilled|made good on|as promised|paid|repaid|repays|settled|returned|returns|"
    r"delivered|"
    r"delivers|released?|releases|freed|forgave|forgiven|forgives?|cancelled|struck out|wiped|acquitted|redeemed|"
    r"(?:gave|gives|given|brought|brings|handed|hands|put|carried|came|sent|set) (?:[\w'-]+ ){0,7}?(?:back|over|"
    r"down|home|in|up)|"
    r"handed|brought|hands|brings|gave|gives|presse[sd]|revealed|reveals|confessed|confesses|admitted|told|tells|"
    r"everyone (?:now )?knows|"
    r"is (?:no longer|now) (?:a )?secret|is out|withdrew|took back|squared?|even now|we are even|no longer owes?|"
    r"finished|mended|built|found|freed|rescued|avenged|married|burned|buried|wrote|written|finally|at last|"
    rf"{_BREAKS})\b"
    r"|\bhere(?:'s| is| are)\b|\bas (?:i|he|she|they|we)(?:'d| had)? (?:promised|sworn|said)\b"
    rf"|{_DONE_ABROAD.pattern}"
)
_NOT_DONE = re.compile(
    r"\b(?:not|never|nobody|no one|\w+n't|cannot|if|when|once|until|till|unless|would|could|should|must|will|shall|"
    r"going to|"
    r"have to|has to|need|needs|wants?|ought|before|almost|nearly|half|might|may|"
    r"(?<!her )(?<!his )(?<!my )(?<!the )(?<!their )"
    r"promises?|swear|swears|vow|"
    r"not yet|"
    r"still|refuse[sd]?|hoped?|wish|nicht|nie|noch|kein\w*|pas|jamais|nunca|todavía|не|ещё|никогда)\b|\w'll\b|"
    r"\bto (?:pay|bring|give|return|"
    r"repay|deliver|keep)\b|没|未|不|まだ|ない"
)
_SURELY = re.compile(r"\b(?:now it is done|it is done now|and now it's done)\b")
_TIE_ITSELF = re.compile(r"\b(?:promise|promises|word|oath|vow|pledge|debts?|bargain|owed|owes?|secret)\b")
_ABSOLVED = re.compile(
    r"\b(?:release|releases|released|free|freed|absolve\w*|forg[ai]ve\w*|forgiven|cancel\w*|kept|keeps|paid|repaid|"
    r"settled)\b"
)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A commitment taken apart once. Which of its words are names, only the whole story tells: see `People`."""

    text: str
    about: frozenset[str]
    core: frozenset[str]
    """What it is about without when, and without the verbs that any commitment may have."""
    numbers: frozenset[str]
    nameable: frozenset[str]
    """Those of its words that may turn out to be names."""
    surely_about: frozenset[str]
    """What it is about whatever turns out to be a name."""
    capitals: frozenset[str]
    """The keys of those that are names where a speaker is called so."""


@lru_cache(maxsize=512)
def known(text: str) -> Known:
    """Take a commitment apart: read once for many folds."""
    about = frozenset(content_of(text)) - FAMILIAR
    core = frozenset(content_of(without_time(text))) - FAMILIAR - _LIGHT
    numbers = frozenset(numbers_in(text)) - {"1"}
    may_name = nameable(text) if text.isascii() else about
    return Known(text, about, core, numbers, may_name, about - may_name, capitals_in(text))


class Held:
    """The commitments that are open, oldest first."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._held: list[Known] = []

    def texts(self) -> tuple[str, ...]:
        """Each as a sentence."""
        return tuple(one.text for one in self._held)

    def add(self, text: str) -> None:
        """One more, which takes the place of what it repeats, or is dropped where it says nothing new."""
        new = known(text)
        for index, old in enumerate(self._held):
            if old.text == new.text or self._same(old, new):
                if self._says_more(new, old):
                    self._held[index] = new
                return
        self._held.append(new)

    def _same(self, old: Known, new: Known) -> bool:
        if not self._may_be_same(old, new):
            return False
        named, also = self._people.terms_in(old.text), self._people.terms_in(new.text)
        if named and also and not (named <= also or also <= named):
            return False
        before, after = old.about - named, new.about - also
        shared, fewest = before & after, min(len(before), len(after))
        return len(shared) >= 2 and len(shared) >= _ALIKE * fewest

    def _may_be_same(self, old: Known, new: Known) -> bool:
        """Whether two say nearly the same if every word that they do not share should be a name."""
        shared = old.about & new.about
        if len(shared) < 2:
            return False
        if old.numbers != new.numbers and not (old.numbers < new.numbers or new.numbers < old.numbers):
            return False
        shared -= self._people.surely_in(old.capitals) | self._people.surely_in(new.capitals)
        fewest = min(len(old.surely_about | shared), len(new.surely_about | shared))
        return len(shared) >= 2 and len(shared) >= _ALIKE * fewest

    def _says_more(self, new: Known, old: Known) -> bool:
        if new.text == old.text or not new.numbers >= old.numbers:
            return False
        named, also = self._people.terms_in(old.text), self._people.terms_in(new.text)
        return new.about - also > old.about - named and also >= named

    def settle(self, line: Line, listener: str | None) -> None:
        """Let go of what this sentence settles."""
        low = line.text.replace("’", "'").lower()
        if not self._held or low.rstrip("\"' ").endswith(("?", "？")):
            return
        ended = _ENDED.match(line.text)
        if ended and self._end(ended, line):
            return
        if not _SURELY.search(low) and (not _DONE.search(low) or _NOT_DONE.search(low)):
            return
        absolved = bool(_TIE_ITSELF.search(low) and _ABSOLVED.search(low))
        terms, numbers = frozenset(content_of(line.text)), frozenset(numbers_in(line.text))
        close = [one for one in self._held if _may_be_done(one, terms, numbers)]
        if not close and not absolved:
            return
        others = self._people.terms_in(line.text)
        names = others.union(*(self._people.terms_of(name) for name in (line.speaker, listener) if name))
        done = {one for one in close if self._is_done(one, terms, names, others, numbers)}
        if not done and absolved:
            meant = [one for one in self._held if self._is_meant(one, names, numbers)]
            done = set(meant) if len(meant) == 1 else set()
        self._held = [one for one in self._held if one not in done]

    def _end(self, ended: re.Match[str], line: Line) -> bool:
        """Let go of the one tie that somebody kept, broke or paid by name, if there is no doubt which one it is."""
        who = (line.speaker or "").split(" ")[0] if ended["who"] == "I" else ended["who"]
        kind = _IS_VOW if ended["tie"] else _IS_DEBT
        others = {word for word in _NAMED.findall(ended["rest"]) if word != "I"}
        told = frozenset(content_of(ended["rest"])) - FAMILIAR - _LIGHT if " to " in ended["rest"] else frozenset()
        meant = [
            one
            for one in self._held
            if who
            and one.text.split(" ")[0] == who
            and kind.search(one.text)
            and others <= set(_NAMED.findall(one.text))
        ]
        if len(meant) != 1 or not told <= meant[0].about:
            return False
        self._held.remove(meant[0])
        return True

    def _is_meant(self, one: Known, names: frozenset[str], numbers: frozenset[str]) -> bool:
        return (not numbers or bool(numbers & one.numbers)) and len(self._people.terms_in(one.text) & names) >= 2

    def _is_done(
        self, one: Known, terms: frozenset[str], names: frozenset[str], others: frozenset[str], numbers: frozenset[str]
    ) -> bool:
        named = self._people.terms_in(one.text)
        if named and not named & names:
            return False
        if named - names and others - named:
            return False  # done for someone else
        return _is_told(one, one.core - named, terms, numbers)


def says_it_ended(text: str) -> bool:
    """Whether a sentence says no more than that somebody kept or broke a promise, or paid a debt."""
    ended = _ENDED.match(text)
    return ended is not None and not ended["rest"].startswith(" and")


def may_be_done_abroad(text: str) -> bool:
    """Whether anything may be done in another language than English; one look is enough for many sentences."""
    return bool(_DONE_ABROAD.search(text.lower()))


def _may_be_done(one: Known, terms: frozenset[str], numbers: frozenset[str]) -> bool:
    """Whether a sentence tells enough of a commitment if every word that it does not share should be a name."""
    if one.core.isdisjoint(terms) and one.numbers.isdisjoint(numbers):
        return False
    return _is_told(one, one.core - (one.nameable - terms), terms, numbers)


def _is_told(one: Known, core: frozenset[str], terms: frozenset[str], numbers: frozenset[str]) -> bool:
    if one.numbers and numbers and not one.numbers & numbers:
        return False
    matter = len(core) + sum(len(number) > 1 for number in one.numbers)
    shared = len(core & terms) + sum(len(number) > 1 for number in one.numbers & numbers)
    return shared > 0 and shared >= _SETTLED * matter
