"""Who and what has a name.

Owns the question "is this word a proper name". A capital letter inside a sentence speaks for it, a lower-case
sighting of the same word against it; at the start of a sentence a capital proves nothing. Speakers are always
names. What must stay true: the answer does not depend on the order of sets or dicts, and a script without
capitals simply yields the speakers and, in Japanese, words in katakana.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from previously.folds.builtin.vocabulary import is_ordinary

_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0980-\u0983\u09be-\u09cd\u0b3e-\u0bcd"
WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*(?:['’\-][^\W\d_]+)*")
KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}(?:・[\u30a1-\u30fa\u30fc]{2,})*")

_SENTENCE_EDGE = re.compile("[.!?…:\"“„«»”*(\\[—–>]\\s*$|--\\s*$|(?:^|\\s)['‘]$")
_POSSESSIVE = re.compile(r"['’]s?$")
_VERB_ENDINGS = ("s", "ed", "and", "had", "took", "went", "came", "said", "sat", "ran")
_NOT_IN_NAMES = re.compile('["“”„«»「」『』:：*\\n\ud800-\udfff]')
_LONGEST_NAME = 60
_LINKS = frozenset({"of", "the", "de", "la", "van", "von", "der", "al", "du", "di", "del"})
_NEVER = frozenset(
    "i i'm i'll i've i'd mr mrs ms dr sir ma'am madam ok okay god gods lord jesus christ monday tuesday "
    "wednesday thursday "
    "friday saturday sunday january february march april june july august september october november december "
    "however therefore meanwhile otherwise somebody everybody nobody anybody unfortunately northward "
    "southward eastward westward "
    "english north south east west northern southern eastern western "
    "ooh aw aww nah whoa yay ugh hah haha ha eh mhm mm hm ow oof wow yep yup yikes gosh jeez geez".split()
)
_ARTICLES = frozenset(
    "der die das den dem des ein eine einen einem einer eines kein keine keinen mein meine dein seine ihre "
    "im am zum zur "
    "beim vom ins dieser diese dieses jede jeder alle viele".split()
)
NOUNS_CAPITALISED_SHARE = 0.16
"""When more of the words inside sentences start with a capital, the language writes nouns so (German)."""


@dataclass(slots=True)
class Sightings:
    """How one word was written: inside a sentence with a capital (`beside` another one), at its start (as the
    `subject` of
    a verb), and in lower case."""

    inside: int = 0
    beside: int = 0
    initial: int = 0
    subject: int = 0
    lower: int = 0
    after_article: int = 0


def key_of(word: str) -> str:
    """What a name is counted under: lower case, no possessive."""
    return word.lower() if "'" not in word and "’" not in word else _POSSESSIVE.sub("", word).lower()


class NameBook:
    """All sightings of the words in one rewrite; answers which of them are names."""

    def __init__(self, known: Iterable[str], speakers: Iterable[str]) -> None:
        self._seen: dict[str, Sightings] = {}
        self._known = frozenset(known)
        self._speakers = frozenset(key_of(word) for name in speakers for word in WORD.findall(name) if len(word) > 1)
        self._answers: dict[str, bool] = {}
        self._inside_words = 0
        self._inside_capitals = 0

    def read(self, text: str) -> None:
        """Note every word of a sentence."""
        self._answers.clear()
        previous = ""
        capital_before = False
        opening: Sightings | None = None
        start = 0
        for match in WORD.finditer(text):
            word = match.group()
            between = text[start : match.start()]
            start = match.end()
            if opening is not None:
                opening.subject += between == " " and word.endswith(_VERB_ENDINGS) and len(word) > 2
                opening = None
            initial = not previous or (between != " " and bool(_SENTENCE_EDGE.search(between[-4:])))
            key = key_of(word)
            seen = self._seen.get(key)
            if seen is None:
                seen = self._seen[key] = Sightings()
            capital = word[0].isupper() and is_capitalised(word)
            if not initial:
                self._inside_words += 1
            if not capital:
                seen.lower += 1
            elif initial:
                seen.initial += 1
                opening = seen
            else:
                seen.inside += 1
                self._inside_capitals += 1
                if capital_before and between == " ":
                    seen.beside += 1
                if previous in _ARTICLES:
                    seen.after_article += 1
            capital_before = capital and not initial
            previous = word.lower()

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
        seen = self._seen.get(key)
        if seen is None:
            return key in self._known
        capitals = seen.inside + seen.initial
        if not capitals and seen.lower and key not in self._known:
            return False
        if self.nouns_are_capitalised() and (seen.after_article or seen.inside < 2):
            return key in self._known and not seen.after_article
        if is_ordinary(key) or key.endswith("ly"):
            # "Feed and Mead", "the Gentleman": an everyday word has to insist.
            insists = seen.inside >= 2 or seen.beside > 0 or (seen.inside > 0 and key in self._known)
            return insists and seen.inside > 2 * seen.lower
        if key in self._known:
            return seen.lower <= 2 * capitals + 1
        if seen.inside:
            return seen.lower <= seen.inside
        return seen.subject >= 2 and not seen.lower

    def names_among(self, words: Iterable[str], text: str) -> list[str]:
        """The keys of the names among the words of a text, in order, repeats included."""
        found: list[str] = []
        for word in words:
            if word[0].isupper() or word in self._speakers:
                key = key_of(word)
                if (is_capitalised(word) or key in self._speakers) and self.is_name(key):
                    found.append(key)
        if not text.isascii():
            found += KATAKANA.findall(text)
        return found

    def runs_in(self, text: str) -> list[str]:
        """Whole names as written, words that belong together joined: "Bryce Feelid", "Gentleman of the Docks"."""
        runs: list[str] = []
        held: list[str] = []
        links: list[str] = []
        start = 0
        for match in WORD.finditer(text):
            word = match.group()
            together = text[start : match.start()] == " "
            start = match.end()
            if word[0].isupper() and is_capitalised(word) and self.is_name(key_of(word)):
                if held and together:
                    held += [*links, word]
                else:
                    _close(runs, held)
                    held = [word]
                links = []
                if _POSSESSIVE.search(word):
                    _close(runs, held)
                    held = []
            elif held and together and word in _LINKS and len(links) < 2:
                links.append(word)
            else:
                _close(runs, held)
                held, links = [], []
        _close(runs, held)
        if not text.isascii():
            runs += KATAKANA.findall(text)
        return runs


def is_capitalised(word: str) -> bool:
    """A capital first and something lower after it; shouting is no name, a short acronym may be."""
    return word[0].isupper() and (len(word) <= 4 or not word.isupper())


def shown(name: str) -> str:
    """A speaker's name as prose writes it: transcripts shout their speakers, and no mark in it may look like
    speech."""
    name = " ".join(_NOT_IN_NAMES.sub(" ", name[:_LONGEST_NAME]).split())
    if name.isupper() and len(name) > 2 and name.isascii():
        return name.title()
    return name[:1].upper() + name[1:]


def _close(runs: list[str], held: list[str]) -> None:
    if held and len(held) <= 5:
        runs.append(_POSSESSIVE.sub("", " ".join(held)))
