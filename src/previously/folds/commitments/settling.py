"""Which commitments are the same, and which a sentence settles.

Owns two comparisons over telling words (`checks.traces`). What must stay true: two are merged only when one says nearly
all the other says and their numbers agree; one is settled only by a sentence that tells of something done, names
someone of it or is said by them, and shares most of what it is about, or names the tie itself and leaves no doubt which
one is meant. In doubt it stays open: a settled promise that is told again costs a line, an open one that is lost costs
the story.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from previously.folds.builtin.names import NameBook
from previously.folds.builtin.reading import Line
from previously.folds.checks.traces import FAMILIAR, content_of, folded, name_parts, names_in, numbers_in
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

_DONE = re.compile(
    r"\b(?:kept|keeps|honou?red|fulfilled|made good on|as promised|paid|repaid|repays|settled|returned|returns|"
    r"delivered|"
    r"delivers|released?|releases|freed|forgave|forgiven|forgives?|cancelled|struck out|wiped|acquitted|redeemed|"
    r"(?:gave|gives|given|brought|brings|handed|hands|put|carried|came|sent|set) (?:[\w'-]+ ){0,7}?(?:back|over|"
    r"down|home|in|up)|"
    r"handed|brought|hands|brings|gave|gives|presse[sd]|revealed|reveals|confessed|confesses|admitted|told|tells|"
    r"everyone (?:now )?knows|"
    r"is (?:no longer|now) (?:a )?secret|is out|withdrew|took back|squared?|even now|we are even|no longer owes?|"
    r"finished|mended|built|found|freed|rescued|avenged|married|burned|buried|wrote|written|finally|at last)\b"
    r"|\bhere(?:'s| is| are)\b|\bas (?:i|he|she|they|we)(?:'d| had)? (?:promised|sworn|said)\b"
    r"|eingelöst|eingehalten|zurückgegeben|zurückgebracht|zurückgezahlt|bezahlt|beglichen|erlassen|tenu (?:sa|leur|"
    r"ma) |rendu|"
    r"remboursé|cumplió|cumplid|devolvió|pagó|saldó|сдержал|вернул|заплатил|отдал|расплатил|兑现|归还|还清|还给|還給|返した|"
    r"果たし|守った"
)
_NOT_DONE = re.compile(
    r"\b(?:not|never|nobody|no one|\w+n't|cannot|if|when|once|until|till|unless|would|could|should|must|will|shall|"
    r"going to|"
    r"have to|has to|need|needs|wants?|ought|before|almost|nearly|half|might|may|promise|promises|swear|swears|vow|"
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


@dataclass(frozen=True, slots=True)
class Known:
    """A commitment taken apart once: who is in it, what it is about, and its numbers."""

    text: str
    names: frozenset[str]
    about: frozenset[str]
    core: frozenset[str]
    """What it is about without when, and without the verbs that any commitment may have."""
    numbers: frozenset[str]


def known(text: str, book: NameBook) -> Known:
    """Take a commitment apart."""
    names = frozenset(folded(part) for name in names_in(book, text) for part in name_parts(name))
    about, core, numbers = _terms_of(text)
    return Known(text, names, about - names, core - names, numbers)


@lru_cache(maxsize=512)
def _terms_of(text: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The telling words, those of them that tell what it is about, and the numbers: read once for many folds."""
    about = frozenset(content_of(text)) - FAMILIAR
    core = frozenset(content_of(without_time(text))) - FAMILIAR - _LIGHT
    return about, core, frozenset(numbers_in(text)) - {"1"}


def merged(held: Sequence[Known], new: Known) -> list[Known]:
    """The list with one more, which takes the place of what it repeats, or is dropped where it says nothing new."""
    for index, old in enumerate(held):
        if not _same(old, new):
            continue
        better = new if new.about > old.about and new.names >= old.names and new.numbers >= old.numbers else old
        return [*held[:index], better, *held[index + 1 :]]
    return [*held, new]


def _same(old: Known, new: Known) -> bool:
    if old.text == new.text:
        return True
    if old.numbers != new.numbers and not (old.numbers < new.numbers or new.numbers < old.numbers):
        return False
    if old.names and new.names and not (old.names <= new.names or new.names <= old.names):
        return False
    shared, fewest = old.about & new.about, min(len(old.about), len(new.about))
    return len(shared) >= 2 and len(shared) >= _ALIKE * fewest


def settles(held: Sequence[Known], line: Line, listener: str | None, book: NameBook) -> list[Known]:
    """The commitments that are open after this sentence."""
    low = line.text.replace("’", "'").lower()
    if not held or low.rstrip("\"' ").endswith(("?", "？")):
        return list(held)
    if not _SURELY.search(low) and (not _DONE.search(low) or _NOT_DONE.search(low)):
        return list(held)
    people = [name for name in (line.speaker, listener) if name]
    terms = set(content_of(line.text))
    others = {folded(part) for name in names_in(book, line.text) for part in name_parts(name)}
    names = others | {folded(part) for name in people for part in name_parts(name)}
    numbers = set(numbers_in(line.text))
    done = {one for one in held if _is_done(one, terms, names, others, numbers)}
    if not done and _TIE_ITSELF.search(low) and _ABSOLVED.search(low):
        meant = [one for one in held if len(one.names & names) >= 2 and (not numbers or numbers & one.numbers)]
        done = set(meant) if len(meant) == 1 else set()
    return [one for one in held if one not in done]


def _is_done(one: Known, terms: set[str], names: set[str], others: set[str], numbers: set[str]) -> bool:
    if one.names and not one.names & names:
        return False
    if one.names - names and others - one.names:
        return False  # done for someone else
    if one.numbers and numbers and not one.numbers & numbers:
        return False
    matter = one.core | {f"#{number}" for number in one.numbers if len(number) > 1}
    shared = (one.core & terms) | {f"#{number}" for number in one.numbers & numbers if len(number) > 1}
    return bool(shared) and len(shared) >= _SETTLED * len(matter)
