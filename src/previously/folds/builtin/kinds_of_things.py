"""What a name is the name of: someone, a place, a thing or a group, guessed from the words around it.

Owns the clues and their order. What must stay true: the same clues give the same type, and without any the type is
`character` only for a name that acts or speaks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from previously.folds.builtin.cues import PLACES, TITLES

_LOCATIONS = (PLACES - {"north", "south", "east", "west", "northern", "southern", "eastern", "western"}) | frozenset(
    "ruins keep shrine abbey monastery palace fortress fort citadel swamp marsh desert plains pass peak cliff coast "
    "shore beach falls hollow glade grove moor heath haven region province realm land lands country district quarter "
    "shop smithy forge brewery hall garden park cemetery graveyard crypt tomb vault bank theatre museum college "
    "university academy arena pier wharf lighthouse ropewalk causeway planet moon colony outpost cafe bar pub "
    "restaurant".split()
)
_ITEMS = frozenset(
    "sword blade dagger knife axe hammer spear bow staff wand shield armor armour helmet ring amulet necklace crown "
    "jewel gem stone crystal orb book tome scroll map letter key coin box chest lamp lantern mirror cup chalice potion "
    "ship boat galley sloop wagon carriage car horn drum flute bell banner robe cloak gun pistol rifle device machine "
    "engine artifact artefact relic weapon instrument diary ledger notebook piano".split()
)
_FACTIONS = frozenset(
    "guild order gang clan tribe company cult army council brotherhood sisterhood band league alliance syndicate "
    "legion crew cartel church family faction party senate ministry agency corporation organization organisation "
    "society circle coven bandits rebels pirates guard watch navy empire".split()
)
_PLACED = re.compile(r"\b(?:in|into|at|to|from|near|through|toward|towards|outside|inside|beyond|across|reach|reached|"
                     r"entered|enters|left) (?:the )?$", re.I)  # fmt: skip
_TO_SOMEONE = re.compile(
    r"\b(?:gave|gives?|given|said|says|promise[sd]?|swore|swears?|vow(?:s|ed)|tells|told|talk(?:s|ed|ing)?|spoke|speaks?|"
    r"hand(?:s|ed)|paid|pays?|repaid|owe[sd]?|lent|lends?|sold|sells?|offer(?:s|ed)|show(?:s|ed)|wrote|writes|"
    r"whisper(?:s|ed)|explain(?:s|ed)|apologi[sz]e[sd]|listen(?:s|ed)|introduce[sd]|belong(?:s|ed)|confesse[sd]|"
    r"admit(?:s|ted)|nod(?:s|ded)|lied|returne?[sd]? (?:the|his|her|their|its|an?))"
    r"(?: (?!(?:of|through|and|but|on|over|from|by|in|into|at|for|about|went|came|goes|road|way|path|passage|trip|"
    r"journey|map|ticket|door|gate|key|bridge|ferry)\b|\w+ed\b)[\w'’-]+){0,4}(?: (?:key|map|ticket))? to $"
    r"|\b(?:promise[sd]|told|tells|asked|asks|thanked|owe[sd]|repaid|lent|handed|begged|warned) $"
)
"""What is said or given to someone: "gave the ring to", "promised". No place is spoken to."""

_ACTS = re.compile(
    r" (?:then |finally |suddenly )?(?!(?:called|named|located|based|dedicated|used)\b)"
    r"(?:[a-z]{2,}ed|said|says|asks|told|tells|nods|smiles|laughs|walks|ran|looks|shook|shakes|whispers|took|takes|gave|"
    r"gives|turns|wants|thinks|thought|knows|knew|serves|mentions|sighs|stood|sat|sits|grins|owes|went|came|left|found|"
    r"saw|met|fought|drew|is (?:torn|angry|afraid|dead|alive|wounded|hurt|tired|glad|sure))\b"
)


@dataclass(slots=True)
class Clues:
    """What speaks for which type."""

    speaks: bool = False
    leads: bool = False
    placed: int = 0
    acting: int = 0
    addressed: int = 0
    """How often something is said or given to it."""
    noun: str = ""
    """What it was called by someone who described it: the type that this makes it."""

    def read(self, name: str, text: str) -> None:
        """Look at how a sentence uses the name."""
        for found in _uses(name).finditer(text):
            before = text[max(0, found.start() - 100) : found.start()]
            to_someone = bool(_TO_SOMEONE.search(before))
            self.addressed += to_someone
            self.placed += bool(not to_someone and _PLACED.search(before[-20:]))
            self.acting += bool(_ACTS.match(text, found.end()))

    def called(self, phrase: str) -> None:
        """Note what it was called: "gruff dwarf", "old port". The first word for it counts."""
        self.noun = self.noun or _type_of_noun(phrase.lower().split()[-1:], otherwise="character")

    def add(self, other: Clues) -> None:
        """Take up what is known under another form of the name."""
        self.speaks |= other.speaks
        self.leads |= other.leads
        self.placed += other.placed
        self.acting += other.acting
        self.addressed += other.addressed
        self.noun = self.noun or other.noun


@lru_cache(maxsize=256)
def _uses(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def type_of(name: str, clues: Clues) -> str:
    """The type that the clues speak for."""
    words = name.lower().split()
    if clues.speaks:
        return "character"
    by_name = _type_of_noun(words[-1:], otherwise="") or _type_of_noun(words[:1], otherwise="")
    if by_name and len(words) > 1 and words[0].rstrip(".") not in TITLES:
        return by_name
    if clues.leads or clues.noun:
        return clues.noun if clues.noun and not clues.leads else "character"
    if words[0].rstrip(".") in TITLES or clues.acting + clues.addressed > clues.placed:
        return "character"
    if clues.placed:
        return "character" if clues.addressed >= clues.placed else "location"
    return _by_ending(words[-1]) or by_name or "concept"


def _type_of_noun(words: list[str], *, otherwise: str) -> str:
    for word in words:
        for kind, nouns in (("location", _LOCATIONS), ("item", _ITEMS), ("faction", _FACTIONS)):
            if word in nouns or word.removesuffix("s") in nouns:
                return kind
    return otherwise


_ENDINGS = {
    "item": ("blade", "sword", "bane", "stone"),
    "location": ("ton", "ville", "burg", "haven", "wood", "shire", "ford", "dale", "moor", "port", "stead", "keep"),
}


def _by_ending(word: str) -> str:
    """What the end of a made-up name says: "Sunblade", "Darkwood"."""
    return next((kind for kind, ends in _ENDINGS.items() if word.endswith(ends) and len(word) > 5), "")
