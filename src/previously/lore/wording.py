"""The word lists behind statements: which words tell nothing, and which exclude each other.

Owns plain words, stemmed as `statements` stems them; English mostly, for other languages compare equal words only.
"""

from __future__ import annotations

SMALL_WORDS = frozenset(
    "the a an and or but of to in on at by for with from into as is are was were be been being am has have had it its "
    "it's he she they him her them his their hers theirs this that these those there here which who whom whose also "
    "very quite rather some any do does did can could would will der die da ein eine und le la les un une et el los "
    "las y".split()
)
"""Words that a statement can have or not and still say the same."""

DENIALS = frozenset(
    "not no never nor neither without cannot can't don't doesn't didn't isn't wasn't aren't won't longer former "
    "formerly nicht kein keine nie pas non".split()
)
"""Words that turn a statement into its contrary. "No longer" is two of them, which is as good as one."""

STANDING_NOW = frozenset("now currently present presently today".split())
"""What a statement with one of these says holds now, and so has one value."""

NUMBERS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundr hundred thousand million dozen "
    "first second third fourth fifth sixth seventh eighth ninth tenth".split()
)

COLOURS = frozenset(
    "red blue green black white brown grey gray yellow orange purple pink golden gold silver blond blonde auburn "
    "crimson scarlet violet dark pale copper hazel amber chestnut".split()
)

_PAIRS = (
    "alive dead", "open clos", "open close", "lock unlock", "friend enemy", "friendly hostile", "ally enemy",
    "trust distrust", "trust mistrust", "love hate", "like dislike", "loyal disloyal", "loyal treacherou",
    "guilty innocent", "free captive", "free imprison", "free captur", "rich poor", "strong weak", "healthy sick",
    "healthy wound", "whole broken", "intact broken", "intact destroy", "full empty", "lost found", "known unknown",
    "hidden reveal", "secret public", "married divorc", "married single", "singl married", "young old", "tall short",
    "large small", "big small", "awake asleep", "armed unarm", "present absent", "safe dangerou", "honest dishonest",
    "allow forbidden", "legal illegal", "sober drunk", "calm angry", "friend rival", "abandon inhabit",
)  # fmt: skip
OPPOSITES: dict[str, frozenset[str]] = {}
"""For each word, by its stem, those that it excludes."""
for _pair in _PAIRS:
    for _one, _other in (_pair.split(), _pair.split()[::-1]):
        OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}

SINGLE_VALUED = {
    "status": "status", "state": "status", "condition": "status", "health": "health", "location": "location",
    "whereabouts": "location", "place": "location", "mood": "mood", "age": "age", "occupation": "occupation",
    "job": "occupation", "profession": "occupation", "rank": "rank", "title": "rank", "allegiance": "allegiance",
    "loyalty": "allegiance", "owner": "owner", "holder": "owner", "leader": "leader", "gender": "gender",
    "species": "species", "race": "species", "hair": "hair", "eyes": "eyes", "height": "height", "home": "home",
}  # fmt: skip
"""Labels of which there is one value at a time, and the state that each names."""
