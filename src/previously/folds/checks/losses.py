"""What an answer lost.

Owns three losses of unequal weight: most of the people of the delta (refused), a commitment that is still open
(refused), and the names and numbers of the earlier text (logged, since a recap must shed). What must stay true: a
person counts as named in any inflection, the user may be "the player", and a commitment may be told in other words as
long as its own names, numbers and telling words stand close together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from previously.core.messages import Role
from previously.core.words import count_words
from previously.folds.builtin.names import NameBook
from previously.folds.builtin.sentences import whole_sentences
from previously.folds.checks.material import Material
from previously.folds.checks.traces import (
    FAMILIAR,
    SECRECY,
    content_of,
    folded,
    has_name,
    keys_of,
    name_parts,
    names_in,
    numbers_in,
)

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


def dropped(commitments: Sequence[str], material: Material, text: str, book: NameBook) -> list[str]:
    """The commitments an answer no longer holds."""
    if not commitments:
        return []
    windows = _windows(text)
    names = {folded(part) for name in names_in(book, material.story) for part in name_parts(name)}
    names |= {folded(part) for message in material.told if message.speaker for part in name_parts(message.speaker)}
    return [one for one in commitments if one.strip() and not _holds(one, windows, names)]


def _windows(text: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    sentences = whole_sentences(text)
    terms = [(set(content_of(sentence)), set(numbers_in(sentence))) for sentence in sentences]
    result = []
    for start in range(len(terms)):
        near = terms[start : start + _WINDOW]
        result.append(
            (frozenset().union(*(words for words, _ in near)), frozenset().union(*(numbers for _, numbers in near)))
        )
    return result


def _holds(commitment: str, windows: Sequence[tuple[frozenset[str], frozenset[str]]], names: set[str]) -> bool:
    """Whether some place of the text tells the commitment: by weight, by its telling words, or as the same secret."""
    weights: dict[str, float] = {}
    for term in content_of(commitment):
        weights[term] = _LESSER if term in names or term in FAMILIAR else _TELLING
    for number in set(numbers_in(commitment)) - {"1"}:
        weights[f"#{number}"] = _LESSER if number in _SMALL else _TELLING
    named = {term for term in weights if term in names}
    own = {term: weight for term, weight in weights.items() if term not in names and term not in FAMILIAR}
    total, of_own = sum(weights.values()), sum(own.values())
    if not total:
        return True
    ties = FAMILIAR & weights.keys()
    for words, numbers in windows:
        here = words | {f"#{number}" for number in numbers}
        found = sum(weight for term, weight in weights.items() if term in here)
        found_own = sum(weight for term, weight in own.items() if term in here)
        # Where even the promise or the debt is not mentioned, its words may be about something else.
        share = SUPPORTED if not ties or ties & here else UNTIED
        if found >= share * total and (found_own or not own):
            return True
        if found_own >= max(2 * _TELLING, share * of_own):
            return True
        if here >= SECRECY and weights.keys() >= SECRECY and len(named) >= 2 and named <= here:
            return True
    return False
