"""Who and what has a name.

Owns the question "is this word a proper name". A capital letter inside a sentence speaks for it, a lower-case
sighting of the same word against it; at the start of a sentence a capital proves nothing. Speakers are always
names. What must stay true: the answer does not depend on the order of sets or dicts, and a script without
capitals simply yields the speakers and, in Japanese, words in katakana.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from previously.folds.builtin.cues import ABBREVIATED_TITLES
from previously.folds.builtin.vocabulary import is_ordinary
from previously.folds.builtin.words import (
    WORD,
    Word,
    Wording,
    is_capitalised,
    key_of,
    without_possessive,
    worded,
)

__all__ = ["KATAKANA", "WORD", "NameBook", "is_capitalised", "key_of", "shown"]

KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}(?:・[\u30a1-\u30fa\u30fc]{2,})*")

_SENTENCE_EDGE = re.compile("[.!?…:\"“„«»”*(\\[—–>]\\s*$|--\\s*$|(?:^|\\s)['‘]$")
_VERB_ENDINGS = ("s", "ed", "and", "had", "took", "went", "came", "said", "sat", "ran")
_NOT_IN_NAMES = re.compile('["“”„«»「」『』:：*\\n\ud800-\udfff]')
_LONGEST_NAME = 60
_LINKS = frozenset({"of", "the", "de", "la", "van", "von", "der", "al", "du", "di", "del"})
_NEVER = frozenset(
    "i i'm i'll i've i'd mr mrs ms dr sir ma'am madam miss st ok okay god gods lord jesus christ monday tuesday "
    "wednesday thursday "
    "friday saturday sunday january february march april june july august september october november december "
    "however therefore meanwhile otherwise somebody everybody nobody anybody unfortunately northward "
    "southward eastward westward "
    "english north south east west northern southern eastern western "
    "ooh aw aww nah whoa yay ugh hah haha ha eh mhm mm hm ow oof wow yep yup yikes gosh jeez geez".split()
)
_JOINED_TITLES = ABBREVIATED_TITLES | {"miss"}
_ARTICLES = frozenset(
    "der die das den dem des ein eine einen einem einer eines kein keine keinen mein meine dein seine ihre "
    "im am zum zur "
    "beim vom ins dieser diese dieses jede jeder alle viele".split()
)
NOUNS_CAPITALISED_SHARE = 0.16
"""When more of the words inside sentences start with a capital, the language writes nouns so (German)."""


@dataclass(slots=True)
class Sightings:
    """How one word was written with a capital: inside a sentence (`beside` another one), and at its start (as the
    `subject` of a verb); `owning` counts the possessives among them."""

    inside: int = 0
    beside: int = 0
    initial: int = 0
    subject: int = 0
    after_article: int = 0
    owning: int = 0


class NameBook:
    """All sightings of the words in one rewrite; answers which of them are names."""

    def __init__(self, known: Iterable[str], speakers: Iterable[str]) -> None:
        self._capitals: dict[str, Sightings] = {}
        self._lower: Counter[str] = Counter()
        self._known = frozenset(known)
        spoken = (word for name in speakers for word in WORD.findall(name) if len(word) > 1)
        self._speakers = frozenset(key_of(word) for word in spoken) - _JOINED_TITLES
        self._answers: dict[str, bool] = {}
        self._inside_words = 0
        self._inside_capitals = 0

    def read(self, text: str | Wording) -> None:
        """Note every word of a sentence."""
        self._answers.clear()
        wording = worded(text) if isinstance(text, str) else text
        words, gaps = wording.words, wording.gaps
        self._lower.update([word.key for word in words if not word.capital])
        initial = {place for place, gap in enumerate(gaps) if not place or _is_edge(words[place - 1], gap)}
        self._inside_words += len(words) - len(initial)
        for place, word in enumerate(words):
            if not word.capital:
                continue
            seen = self._capitals.get(word.key)
            if seen is None:
                seen = self._capitals[word.key] = Sightings()
            seen.owning += _is_possessive(word)
            if place in initial:
                seen.initial += 1
                seen.subject += _starts_a_clause(words, gaps, place)
                continue
            before = words[place - 1]
            self._inside_capitals += 1
            seen.inside += 1
            seen.beside += before.capital and place - 1 not in initial and gaps[place] == " "
            seen.after_article += before.lower in _ARTICLES

    def nouns_are_capitalised(self) -> bool:
        """Whether the text seems to write every noun with a capital."""
        return self._inside_words >= 40 and self._inside_capitals > NOUNS_CAPITALISED_SHARE * self._inside_words

    def is_name(self, key: str) -> bool:
        """Whether a word, given by its key, names someone or something. Ask once everything is read."""
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._judged(key)
        return answer

    def _judged(self, key: str) -> bool:
        if key in self._speakers:
            return True
        if key in _NEVER or len(key) < 2:
            return False
        lower = self._lower[key]
        seen = self._capitals.get(key)
        if seen is None:
            if key not in self._known:
                return False
            if not lower:
                return True
            seen = Sightings()
        capitals = seen.inside + seen.initial
        if self.nouns_are_capitalised() and (seen.after_article or seen.inside < 2):
            return key in self._known and not seen.after_article
        if is_ordinary(key) or key.endswith("ly"):
            # "Feed and Mead", "the Gentleman": an everyday word has to insist.
            insists = seen.inside >= 2 or seen.beside > 0 or (seen.inside > 0 and key in self._known)
            return insists and seen.inside > 2 * lower
        if key in self._known:
            return lower <= 2 * capitals + 1
        if seen.inside:
            return lower <= seen.inside
        return seen.subject >= 2 and not lower

    def names_among(self, wording: Wording) -> list[str]:
        """The keys of the names among the words of a text, in order, repeats included."""
        speakers = self._speakers
        found = [
            word.key
            for word in wording.words
            if (word.capital and self.is_name(word.key)) or (word.key in speakers and self._is_speaker(word.spelled))
        ]
        if not wording.text.isascii():
            found += KATAKANA.findall(wording.text)
        return found

    def _is_speaker(self, spelled: str) -> bool:
        """A speaker is a name however it is written, "kess" or "KESS", but for "kess's"."""
        return spelled[0].isupper() or spelled in self._speakers

    def _only_owns(self, key: str) -> bool:
        """Whether a word was met as a possessive only: "Hob's Tooth" is one name where nobody is called Hob."""
        seen = self._capitals.get(key)
        return seen is not None and key not in self._speakers and seen.owning == seen.inside + seen.initial

    def runs_in(self, text: str | Wording) -> list[str]:
        """Whole names as written, words that belong together joined: "Bryce Feelid", "Gentleman of the Docks",
        "Dr. Senn", "Hob's Tooth"."""
        wording = worded(text) if isinstance(text, str) else text
        text = wording.text
        runs: list[str] = []
        held: list[str] = []
        links: list[str] = []
        title = ""
        for word, gap in zip(wording.words, wording.gaps, strict=True):
            if word.capital and self.is_name(word.key):
                if title and gap in (" ", ". "):
                    held = [title + gap.strip(), word.spelled]
                elif held and gap == " ":
                    held += [*links, word.spelled]
                else:
                    _close(runs, held)
                    held = [word.spelled]
                links, title = [], ""
                if _is_possessive(word) and not self._only_owns(word.key):
                    _close(runs, held)
                    held = []
                continue
            title = word.spelled if word.capital and word.lower in _JOINED_TITLES else ""
            if held and gap == " " and word.spelled in _LINKS and len(links) < 2:
                links.append(word.spelled)
            elif held:
                _close(runs, held)
                held, links = [], []
        _close(runs, held)
        if not text.isascii():
            runs += KATAKANA.findall(text)
        return runs


@lru_cache(maxsize=1024)
def shown(name: str) -> str:
    """A speaker's name as prose writes it: transcripts shout their speakers, and no mark in it may look like
    speech."""
    name = " ".join(_NOT_IN_NAMES.sub(" ", name[:_LONGEST_NAME]).split())
    if name.isupper() and len(name) > 2 and name.isascii():
        return name.title()
    return name[:1].upper() + name[1:]


def _is_edge(before: Word, gap: str) -> bool:
    """Whether a sentence ends in the gap after a word; the stop of "Dr. Senn" ends none."""
    return gap != " " and _ends_sentence(gap[-4:]) and not (gap == ". " and before.lower in ABBREVIATED_TITLES)


@lru_cache(maxsize=256)
def _ends_sentence(gap: str) -> bool:
    return bool(_SENTENCE_EDGE.search(gap))


def _is_possessive(word: Word) -> bool:
    return word.spelled.endswith(("'s", "’s"))


def _starts_a_clause(words: list[Word], gaps: list[str], place: int) -> bool:
    """Whether the word after this one looks like its verb."""
    if place + 1 == len(words) or gaps[place + 1] != " ":
        return False
    following = words[place + 1].spelled
    return len(following) > 2 and following.endswith(_VERB_ENDINGS)


def _close(runs: list[str], held: list[str]) -> None:
    """Take up the words held together as one name. "St. Orla's" is a church: it keeps its ending."""
    if held and len(held) <= 5:
        name = " ".join(held)
        runs.append(name if held[0] in ("St.", "St") else without_possessive(name))
