"""Words that name nothing in particular: as a key they would fire on every page.

Owns the question whether a key is generic. What must stay true: a key with one telling word in it is none, and the
answer depends on the key alone, whatever its case and Unicode form.
"""

from __future__ import annotations

import re
from functools import lru_cache

from previously.core.signals import folded

_SMALL_WORDS = (
    "the a an and or but of to in on at by for with from into as is are was were be been it its this that these those "
    "he she they him her them his their i me my we us our you your who what which where when why how not no yes some "
    "any all each every other another same such more most many much few very too also just only then than so if "
    "der die das ein eine und oder von zu im le la les un une et ou de du el los las y o il lo e di che"
)
_NOUNS = (
    "thing things stuff something anything everything nothing object objects item items person people persons man men "
    "woman women boy girl guy someone somebody everyone everybody nobody character characters creature creatures being "
    "group groups member members name names word words story event events fact facts detail details information info "
    "idea way part parts kind sort type lot bit problem question answer reason situation action conversation scene "
    "hand hands eye eyes face head voice friend friends stranger user assistant narrator player npc none unknown other "
    "misc general ding sache mensch leute cosa persona gente chose personne gens"
)
_PLACES = (
    "place places location locations area areas spot here there somewhere everywhere inside outside room rooms house "
    "houses home building buildings door doors floor wall window city town village street road world land country "
    "ort haus zimmer stadt lugar casa ciudad lieu maison ville"
)
_TIMES = (
    "time times day days night nights morning evening afternoon today tonight tomorrow yesterday now later soon before "
    "after past present future once moment moments hour hours minute minutes second seconds week weeks month months "
    "year years monday tuesday wednesday thursday friday saturday sunday january february march april june july august "
    "september october november december spring summer autumn winter tag nacht jour nuit día noche"
)
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "million dozen first third fourth fifth last next half several"
)
_QUALITIES = "old young new big small large little good bad great long short high low own"
_WORDS = frozenset(" ".join((_SMALL_WORDS, _NOUNS, _PLACES, _TIMES, _NUMBERS, _QUALITIES)).split())

_PIECES = re.compile(r"[\W_]+")


@lru_cache(maxsize=4096)
def is_generic(key: str) -> bool:
    """Whether a key says nothing in particular: only small words, things, places, times and numbers, or no word."""
    words = [word for word in _PIECES.split(folded(key)) if word]
    return all(word in _WORDS or word.isdigit() or (len(word) == 1 and word.isascii()) for word in words)
