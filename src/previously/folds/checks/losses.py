"""What an answer lost.

Owns three losses of unequal weight: most of the people of the delta (refused), a commitment that is still open
(refused), and the names and numbers of the earlier text (logged, since a recap must shed). What must stay true: a
person counts as named in any inflection, the user may be "the player", and a commitment may be told in other words as
long as its own names, numbers and telling words stand close together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from previously.core.messages import Role
from previously.core.words import count_words
from previously.folds.builtin.names import NameBook
from previously.folds.checks.material import Material, text_of
from previously.folds.checks.traces import (
    APART,
    FAMILIAR,
    SECRECY,
    content_of,
    folded,
    has_name,
    keys_of,
    name_parts,
    nameable_in,
    names_in,
    numbers_in,
)
from previously.folds.checks.verdict import Asked
from previously.text.sentences import split_sentences, whole_sentences

_NOBODY = frozenset(
    "narrator gm dm system user assistant human ai bot model storyteller keeper erzähler erzählerin narrateur "
    "narratrice "
    "narrador narradora рассказчик ведущий 旁白 ナレーター 語り手 叙述者 player spieler jugador jogador игрок 玩家 "
    "プレイヤー you me".split()
) | {"game master", "dungeon master", "the narrator", "the player"}
_PLAYER = re.compile(
    r"\b(?:you|your|player|user|protagonist|hero|heroine|i|we|my|spieler\w*|held\w*|du|ihr|joueur|joueuse|vous|tu|"
    r"jugador\w*|usuario|tú|jogador\w*|"
    r"usuário|você|игрок\w*|пользовател\w*|ты|вы)\b|玩家|用户|你|主角|プレイヤー|ユーザー|主人公|あなた",
    re.I,
)
MOST_PEOPLE = 6
ROOMY = 60
"""Words from which on one name is not enough for a whole company."""

_OFTEN = 3


def people_of(material: Material, book: NameBook) -> list[tuple[str, bool]]:
    """The people a recap of these messages should speak of, those heard most first, and whether each is the user.

    Where nobody's name stands beside what they say, the names that come up again and again take their place.
    """
    said: Counter[str] = Counter()
    of_user: set[str] = set()
    for message in material.told:
        name = (message.speaker or "").strip()
        if not name or not name_parts(name) or name.lower() in _NOBODY:
            continue
        said[name] += 1
        if message.role is Role.USER:
            of_user.add(name)
    if said:
        often = [name for name, times in said.most_common() if times >= 2] or list(said)
        return [(name, name in of_user) for name in often[:MOST_PEOPLE]]
    mentioned: Counter[str] = Counter()
    for text in material.texts:
        mentioned.update(names_in(book, text))
    return [(name, False) for name, times in mentioned.most_common(MOST_PEOPLE) if times >= _OFTEN]


def people_missing(material: Material, text: str, book: NameBook) -> list[str]:
    """The people an answer does not name, when they are most of those it should."""
    people = people_of(material, book)
    keys = keys_of(text)
    missing = [(name, is_user) for name, is_user in people if not has_name(name, text, keys)]
    named = len(people) - len(missing)
    if _PLAYER.search(text):
        missing = [(name, is_user) for name, is_user in missing if not is_user]
    names = [name for name, _ in missing]
    if not named:
        return names if len(names) >= 2 or not shares_words(material, text) else []
    return names if count_words(text) >= ROOMY and 4 * named < len(people) else []


def shares_words(material: Material, text: str) -> bool:
    """Whether an answer has any telling words in common with what was read."""
    terms = set(content_of(text)) | set(numbers_in(text))
    if not terms:
        return True
    shared = terms & (material.terms | set(numbers_in(material.story)))
    return len(shared) >= min(3, len(terms)) or 4 * len(shared) >= len(terms)


def shed(material: Material, text: str, book: NameBook) -> tuple[str, ...]:
    """Names and numbers of the earlier text that are gone from the answer, each once, in order."""
    keys = keys_of(text)
    names = [name for name in names_in(book, material.previous) if not has_name(name, text, keys)]
    kept = set(numbers_in(text))
    numbers = [
        number for number in dict.fromkeys(numbers_in(material.previous)) if number not in kept and number != "1"
    ]
    return (*names, *numbers)


SUPPORTED = 0.5
UNTIED = 0.7
_SMALL = frozenset(str(number) for number in range(13))
_WINDOW = 2
_TELLING = 1.0
_LESSER = 0.5
"""What a name, a small number or the mere kind of tie weighs: they stand all over a story."""


class Names(NamedTuple):
    """Which terms are names in a story, as far as a glance tells: those that are `sure` (who speaks has one), and those
    that are `possible`, None if any is. To know all, every sentence is read: at ten times the cost."""

    sure: frozenset[str]
    possible: frozenset[str] | None


def dropped(commitments: Sequence[str], material: Material, text: str, book: NameBook) -> list[str]:
    """The commitments an answer no longer holds."""
    speakers = [message.speaker for message in material.told if message.speaker]
    return _missing(commitments, text, speakers, material.story, lambda: book)


def lost(asked: Asked, text: str) -> list[str]:
    """The same where nothing else is asked of the text: no more is read than it takes to answer."""
    told = [message for message in asked.delta if message.role is not Role.SYSTEM and text_of(message).strip()]
    speakers = [message.speaker for message in told if message.speaker]
    texts = [asked.previous, *map(text_of, told)]
    story = "\n".join([*texts, *dict.fromkeys(speakers)])

    def book() -> NameBook:
        read = NameBook((), speakers)
        read.read(APART.join(sentence for one in (*texts, text) for sentence in split_sentences(one)))
        return read

    return _missing(asked.commitments, text, speakers, story, book)


def _missing(
    commitments: Sequence[str], text: str, speakers: Sequence[str], story: str, book: Callable[[], NameBook]
) -> list[str]:
    """The commitments a text does not hold. The book is opened only where an answer turns on what is a name: most
    commitments are told in full, or not at all."""
    if not commitments:
        return []
    windows = _Windows(text)
    names = Names(_terms(speakers), nameable_in(story))
    held = {one: _holds_anyway(one, windows, names) for one in commitments if one.strip()}
    if None in held.values():
        named = names.sure | _terms(names_in(book(), story))
        held = {one: _holds(one, windows, named) if sure is None else sure for one, sure in held.items()}
    return [one for one in commitments if not held.get(one, True)]


def _terms(names: Iterable[str]) -> frozenset[str]:
    return frozenset(folded(part) for name in set(names) for part in name_parts(name))


class _Windows:
    """The telling words and the numbers of each sentence of a text and the one after it."""

    def __init__(self, text: str) -> None:
        terms = [(*content_of(sentence), *map(_as_term, numbers_in(sentence))) for sentence in whole_sentences(text)]
        self._windows = [frozenset(chain.from_iterable(terms[start : start + _WINDOW])) for start in range(len(terms))]
        self._places: dict[str, list[int]] = {}
        for place, window in enumerate(self._windows):
            for term in window:
                self._places.setdefault(term, []).append(place)

    def sharing(self, terms: Set[str]) -> Iterator[frozenset[str]]:
        """What the windows share with these terms, where that is enough to tell anything: two of them, or one if they
        are so few that it weighs enough."""
        least = 1 if SUPPORTED * _LESSER * len(terms) <= 1 else 2
        places = Counter(chain.from_iterable(self._places.get(term, ()) for term in terms))
        return (self._windows[place] & terms for place, times in places.items() if times >= least)


def _as_term(number: str) -> str:
    return f"#{number}"


@lru_cache(maxsize=512)
def _weights(commitment: str) -> Mapping[str, float]:
    """What each telling word and number of a commitment weighs where none is a name: read once for many folds."""
    weights = {term: _LESSER if term in FAMILIAR else _TELLING for term in content_of(commitment)}
    for number in set(numbers_in(commitment)) - {"1"}:
        weights[_as_term(number)] = _LESSER if number in _SMALL else _TELLING
    return MappingProxyType(weights)


def _holds_anyway(commitment: str, windows: _Windows, names: Names) -> bool | None:
    """Whether some place of the text tells the commitment, if that does not turn on what is a name; None if it does.

    A place tells most of it where what it shares are no names and what it lacks are, and least the other way round.
    """
    weights = _weights(commitment)
    terms = frozenset(weights)
    sure = names.sure & terms
    words = (terms if names.possible is None else names.possible & terms) - sure - FAMILIAR
    answer: bool | None = not terms
    for shared in windows.sharing(terms):
        if shared == terms or _tells(weights, shared, sure | (words & shared)):
            return True
        if answer is False and (shared >= SECRECY or _tells(weights, shared, sure | (words - shared))):
            answer = None
    return answer


def _holds(commitment: str, windows: _Windows, names: frozenset[str]) -> bool:
    """Whether some place of the text tells the commitment: in its words, or as the same secret of the same people."""
    weights = _weights(commitment)
    named = names & weights.keys()
    for shared in windows.sharing(weights.keys()):
        if _tells(weights, shared, named) or (shared >= SECRECY and len(named) >= 2 and named <= shared):
            return True
    return not weights


def _tells(weights: Mapping[str, float], shared: Set[str], named: Set[str]) -> bool:
    """Whether a place that shares these terms tells a commitment, by weight or by its telling words."""
    total = of_own = found = found_own = 0.0
    for term, alone in weights.items():
        own = 0.0 if term in named or term in FAMILIAR else alone
        weight = own or _LESSER
        total += weight
        of_own += own
        if term in shared:
            found += weight
            found_own += own
    # Where even the promise or the debt is not mentioned, its words may be about something else.
    ties = FAMILIAR & weights.keys()
    share = SUPPORTED if not ties or ties & shared else UNTIED
    if found >= share * total and (found_own or not of_own):
        return True
    return found_own >= max(2 * _TELLING, share * of_own)
