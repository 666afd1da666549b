"""What belongs in a summary and what in an entry: a summary tells what happened, an entry says what a thing is.

Owns the rules by which one is told from the other. They see the plain cases, mostly in English: a model is asked
once to mend what they find, and nothing is refused for it. What must stay true: every function is total, reads no more
than `LONGEST_READ` characters, and gives back the words that made it speak.
"""

from __future__ import annotations

import re

from previously.text.compare import find_terms
from previously.text.sentences import QUOTED, split_sentences

LONGEST_READ = 5_000
"""Characters of a text that are looked at: all of any summary that can be kept, and more than an entry should have."""

# A sentence that opens with one of these sets a place or a time: what follows its comma describes nobody.
_SETTING = re.compile(
    r"(?:In|At|On|After|Before|Near|Outside|Inside|By|From|During|When|While|As|Upon|Once|Later|Then|With|For|To|"
    r"Under|Over|Along|Back|Despite|Since|Until|If|Without|Through|Beyond|Behind|Of|Among|Between)\b"
)
_APPOSITION = re.compile(
    r"[A-Z][\w'’-]+, (?:an?|the) (?!(?:[\w'-]+ )?and\b)[a-z][\w'-]+,? (?!and\b)[\w'-]+[^,.;]{0,200}"
)
_FEATURES = (
    "hair|eyes|beard|complexion|build|physique|skin|features|demeanou?r|personality|temperament|accent|posture|stature|"
    "loyalties|reputation|architecture|atmosphere"
)
_LOOKS = re.compile(
    rf"\b(?:with|has|had|have|having) (?!(?:her|his|their|its|the|my|your|no) )(?:[\w'-]+,? ){{1,4}}(?:{_FEATURES})\b|"
    r"\b\w+-(?:haired|eyed|skinned|bearded)\b"
)
_IS_A = re.compile(
    r"\b(?:is|was) an? (?:[a-z][\w-]*,? (?:and )?){1,3}"
    r"(?:man|woman|girl|boy|person|figure|place|building|city|town|village|creature|warrior|rogue|site)\b"
)


def description_in(summary: str) -> str:
    """The first words of a summary that describe someone or something; empty where none do."""
    for sentence in split_sentences(QUOTED.sub('""', summary[:LONGEST_READ])):
        found = _LOOKS.search(sentence) or _IS_A.search(sentence)
        if not found and not _SETTING.match(sentence):
            found = _APPOSITION.search(sentence)
        if found:
            return found.group()
    return ""


TELLING_TYPES = ("event", "lore", "document")
"""Entries of these may well tell what happened."""

_NEXT = re.compile(
    r"(?:Then|Next|After that|Afterwards?|Finally|Meanwhile|Suddenly|Soon after|Moments later|Later that|"
    r"The (?:next|following) \w+|That (?:night|evening|morning|day))\b|(?:,| and) then\b"
)
_ACTS = re.compile(
    r"(?:(?:The )?[A-Z][\w'’-]+(?: (?:and|&) (?:the )?[A-Z][\w'’-]+)?|The [a-z]+) "
    r"(?:then |finally |suddenly |quickly |slowly )?([a-z]+)\b"
)
_WENT = frozenset(
    "went came ran fought found took gave met saw said told left fell broke drew struck flew rode slept woke stole "
    "caught threw shot hit ate drank sang bought sold sent brought began became stood sat rose fled slew shook".split()
)
_STANDING = frozenset(
    "lived owned loved served named called used trained married wanted believed trusted hated respected feared armed "
    "located based dedicated wounded scarred skilled needed seemed appeared remained looked belonged kept".split()
)


def timeline_in(content: str, kind: str) -> str:
    """The first words of an entry that tell what happened, where it mostly does that; empty where it does not."""
    if kind.strip().lower() in TELLING_TYPES:
        return ""
    sentences = split_sentences(QUOTED.sub('""', content[:LONGEST_READ]))
    acts = [sentence for sentence in sentences if _is_act(sentence)]
    marks = [sentence for sentence in sentences if _NEXT.search(sentence)]
    told = list(dict.fromkeys([*marks, *acts]))
    several = len(told) >= 2 and (bool(marks) or len(acts) == len(sentences))
    mostly = len(acts) >= 3 and len(acts) >= 0.6 * len(sentences)
    alone = len(marks) == len(sentences) == 1
    return told[0] if several or mostly or alone else ""


def _is_act(sentence: str) -> bool:
    found = _ACTS.match(sentence)
    if not found:
        return False
    verb = found.group(1)
    return verb in _WENT or (verb.endswith("ed") and len(verb) > 4 and verb not in _STANDING)


COVERED = 0.8
"""The share of an entry's telling words that make it a repetition when the summary has them all."""

ALIKE = 0.8
"""How much two sentences have in common when one repeats the other."""

_LEAST_TERMS = 5


def repeats(summary: str, content: str) -> bool:
    """Whether an entry says again what the summary says: nearly all of it, or one long sentence of it."""
    summary, content = summary[:LONGEST_READ], content[:LONGEST_READ]
    told, said = set(find_terms(summary)), set(find_terms(content))
    if len(said) >= _LEAST_TERMS and len(said & told) >= COVERED * len(said):
        return True
    of_summary = [set(find_terms(sentence)) for sentence in split_sentences(summary)]
    for sentence in split_sentences(content):
        terms = set(find_terms(sentence))
        if len(terms) > _LEAST_TERMS and any(len(terms & one) >= ALIKE * len(terms | one) for one in of_summary):
            return True
    return False
