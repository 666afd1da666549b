"""Which entry a description is about.

Names and types decide. Beyond that there are few rules, and each wants one candidate only: a title more or less ("King
Aldric", "Aldric"); someone's short name among the keywords of the full one; another name that a description itself
gives ("Also known as …"); and an everyday word for it that is the whole name of another ("the bartender"). What must
stay true: a generic key unites nothing; a related name among the keywords unites nothing ("Alice" under Bob); a name
about an aspect ("Alice - Current Status") is a thing of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from previously.core.generic_words import is_generic
from previously.core.lore import Described
from previously.lore.keywords import key_of
from previously.lore.statements import split
from previously.lore.things import Key, LoreEntry, entry_key

Entries = Mapping[Key, LoreEntry]

_ASPECT = re.compile(r"\s[-–—]\s|[&/:]")
_TITLES = frozenset(
    "mr mrs ms miss dr doctor prof professor sir lord lady dame king queen prince princess duke duchess count countess "
    "baron baroness captain capt commander general colonel major lieutenant sergeant admiral father mother brother "
    "sister saint st old young master mistress madam chief elder uncle aunt".split()
)
_ALSO = re.compile(
    r"(?:also (?:known as|called|goes by)|known as|alias|aka|a\.k\.a\.|nicknamed|goes by|real name(?: is|:)?|"
    r"true name(?: is|:)?|true identity(?: is|:)?|(?:he|she|it|they) (?:is|are) also (?:known as|called))\s+"
    r"[\"'“‘]?(?P<name>[^\W\d_][^\"'”’.,;:()]{0,60})",
    re.I,
)


def found_in(entries: Entries, described: Described) -> LoreEntry | None:
    """The entry that a description is about, if there is one."""
    name = key_of(described.name)
    same = entries.get(entry_key(described.name, described.type))
    if same is not None:
        return same
    alike = [entry for entry in entries.values() if entry.type == described.type]
    named = next((one for one in alike if name in map(key_of, one.aliases)), None)
    if named is not None or is_aspect(described.name):
        return named
    others = [entry for entry in alike if not is_aspect(entry.name)]
    claimed = {key_of(one) for one in names_given(described)}
    rules: tuple[Callable[[LoreEntry], bool], ...] = (
        lambda entry: _bare(entry.name) == _bare(described.name) != "",
        lambda entry: _is_short_for(entry, described),
        lambda entry: key_of(entry.name) in claimed,
        lambda entry: (
            is_called(described.keywords, [described.content], entry.name, described)
            or is_called(entry.keywords, [one.text for one in entry.statements], described.name, described, entry.name)
        ),
    )
    for rule in rules:
        found = [entry for entry in others if rule(entry)]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def is_aspect(name: str) -> bool:
    """Whether a name is about one side of a thing, or about two of them: "Alice - Status", "Alice & Bob"."""
    return bool(_ASPECT.search(name))


def names_given(described: Described) -> list[str]:
    """The other names that a description itself gives the thing, at the head of a sentence."""
    found = (_ALSO.match(statement) for statement in split(described.content, described.type))
    return [" ".join(one["name"].split()) for one in found if one and not is_generic(one["name"])]


@lru_cache(maxsize=16384)
def _bare(name: str) -> str:
    """A name without titles; empty where nothing else is in it."""
    words = key_of(name).replace(".", "").split()
    while len(words) > 1 and words[0] in _TITLES:
        words = words[1:]
    return " ".join(words) if words and words[0] not in _TITLES else ""


def _is_short_for(entry: LoreEntry, described: Described) -> bool:
    """Whether one is someone's first name and the other the full one, which lists it among its keywords."""
    if described.type != "character":
        return False
    own, new = [_bare(name) for name in (entry.name, *entry.aliases)], _bare(described.name)
    full = [name for name in own if " " in name]
    if " " in new:  # two people may share a first name: one who is known in full is nobody else
        short = new.split()[0]
        return not full and short in own and short in map(key_of, described.keywords)
    return any(name.split()[0] == new for name in full) and new in map(key_of, entry.keywords)


def is_called(
    keywords: Iterable[str], contents: Sequence[str], name: str, described: Described, other: str = ""
) -> bool:
    """Whether one of these keywords is that whole name, as an everyday word: it is written so in what is said too."""
    wanted = key_of(name)
    if is_generic(wanted):
        return False
    if described.type == "location" and not set(wanted.split()) & set(key_of(other or described.name).split()):
        return False  # every town has its tavern: the names have to share a word
    called = [word for word in keywords if key_of(word) == wanted and word == word.lower() != word.upper()]
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", content) for word in called for content in contents)
