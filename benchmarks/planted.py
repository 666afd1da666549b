"""A generated story with facts planted in it, for `benchmarks.survival`.

A hundred facts, twenty each of five kinds, lie among messages in which nothing happens that must be kept. A fact is
*held* by a text when its two probe words (a coined name or a number, and the thing it belongs to) stand within `NEAR`
characters of each other. Six of the twenty promises are kept later on, in so many words. Everything follows from the
seed; no name or number occurs twice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from previously import Message, message

KINDS = ("promises", "numbers", "names", "places", "secrets")
EACH = 20
KEPT = 6
"""Promises that are kept before the story ends."""

NEAR = 160
CAST = ("Mara", "Tomas", "Odalys", "Wren", "Brannoc", "Keziah")
PLAYER = "Mara"
DAY = 60
"""Messages from one morning to the next."""

_BEGINNINGS = (
    "Thar Quen Lir Mor Vel Osk Pell Dra Hest Ruv Cal Bex Fenn Grim Jass Kor Nim Sab Tev Wyl Zar Ulm Ith Ered"
).split()
_ENDINGS = "row nell ren uvel gast dane mire lock wick stone bane fold marsh dell quist holm vane tharn".split()
_THINGS = (
    "lantern letter bell saddle compass kettle violin anchor mirror ladder chisel banner basket barrel candle harp "
    "needle plough spindle telescope"
).split()
_VOWS = (
    ("I promise I will bring the {thing} to {name} before the frost, {other}.", "bring", "brought", "to"),
    ("I swear I will mend the {thing} for {name}.", "mend", "mended", "for"),
    ("You have my word that I will carry the {thing} to {name}.", "carry", "carried", "to"),
    ("I promise to buy the {thing} from {name} by midsummer.", "buy", "bought", "from"),
    ("I vow to return the {thing} to {name}.", "return", "returned", "to"),
)
_COUNTS = (
    "granary:sacks tower:steps orchard:trees ledger:pages fleet:boats wall:paces library:scrolls herd:goats "
    "cellar:casks "
    "chapel:pews mine:lamps vineyard:rows armoury:spears dovecote:doves bridge:planks archive:maps kennel:hounds "
    "market:stalls quarry:carts mill:wheels"
).split()
_ROLES = (
    "ferryman midwife tanner glazier falconer baker cooper magistrate weaver apothecary gravedigger fletcher miller "
    "innkeeper bellringer shepherd chandler farrier scribe thatcher"
).split()
_HIDDEN = (
    "crown map dagger chalice idol pearl scroll amulet sceptre casket statue goblet helmet necklace tablet relic "
    "bracelet "
    "medallion flask drum"
).split()
_DEEDS = (
    "forged the will:will|poisoned the well:well|sold the gate key:gate|burned the mill:mill|hid the heir:heir|"
    "drowned the clerk:clerk|stole the seal:seal|robbed the shrine:shrine|broke the dam:dam|bribed the judge:judge|"
    "freed the spy:spy|lamed the horses:horses|copied the treaty:treaty|wrecked the barge:barge|"
    "married the duke:duke|"
    "emptied the vault:vault|shot the envoy:envoy|drugged the guards:guards|swapped the twins:twins|"
    "cut the cable:cable"
).split("|")
_HUSHED = (
    "Nobody must know that {name} {deed}.",
    "Tell no one that {name} {deed}.",
    "You must never tell anyone that {name} {deed}.",
    "Keep this secret: {name} {deed}.",
    "No one must ever learn that {name} {deed}.",
)
_ACTS = (
    "patches:patched sweeps:swept oils:oiled scrubs:scrubbed sorts:sorted stacks:stacked dusts:dusted warms:warmed "
    "folds:folded "
    "rinses:rinsed polishes:polished airs:aired stirs:stirred trims:trimmed salts:salted"
).split()
_ON = (
    "the sails|the blankets|the oars|the copper pans|the fishing nets|the stools|the porridge|the ropes|the herbs|"
    "the hinges|"
    "the wet boots|the shutters|the dried apples|the long table|the lamp glass"
).split("|")
_WHERE = (
    "by the stove|on the landing|under the eaves|behind the shed|in the yard|near the pump|beside the jetty|"
    "along the hedge|"
    "in the kitchen|on the back stairs"
).split("|")
_TALK = (
    "The wind is in the east again and it smells of weed.|Soup today, and I will not hear a word against it.|"
    "My knees ache, so it rains tomorrow, you will see.|These boots were dry this morning, would you believe it.|"
    "The gulls are loud, and the cat is pretending to be deaf.|I slept badly, and the pillow is to blame.|"
    "There is more onion than stew in this pot.|The light is lovely on the water at this hour.|"
    "That song again, it goes round and round in my head.|Mind the bucket, it leaks on the left side.|"
    "I like the quiet; it makes the tea taste better.|Somebody left the door open and now the hens are in.|"
    "It is colder than it looks, and it looks cold.|The bread came out flat, so we call it a biscuit."
).split("|")


@dataclass(slots=True)
class Fact:
    """Something planted: where, in which words a recap tells it, and how it is recognised."""

    number: int
    kind: str
    position: int
    telling: str
    probes: tuple[str, str]
    settled_at: int | None = None
    """Where a promise is kept; None for one that stays open."""
    settled_telling: str = ""

    @property
    def group(self) -> str:
        """Its kind in tables: promises are open at the end, or resolved."""
        if self.kind != "promises":
            return self.kind
        return "promises open" if self.settled_at is None else "promises resolved"


@dataclass(slots=True)
class World:
    """The story: its messages, its facts, and what a reader makes of each message."""

    messages: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    tellings: dict[str, str] = field(default_factory=dict)
    """For the text of a message without a fact: the sentence a summary has for it."""

    def held_by(self, text: str, facts: Sequence[Fact] | None = None) -> list[Fact]:
        """The facts that a text still holds."""
        return [fact for fact in (self.facts if facts is None else facts) if holds(text, fact.probes)]


def holds(text: str, probes: tuple[str, str]) -> bool:
    """Whether both probes stand close together somewhere in a text."""
    name, thing = probes
    return name in text and bool(_near(name, thing).search(text))


@lru_cache(maxsize=1024)
def _near(name: str, thing: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b.{{0,{NEAR}}}?\b{thing}\b|\b{thing}\b.{{0,{NEAR}}}?\b{name}\b", re.S | re.I)


def planted_story(messages: int, seed: int) -> World:
    """A story of so many messages, with facts from its beginning to its end."""
    generator = random.Random(seed)
    world = World()
    names = _coined(generator, 4 * EACH)
    numbers = [str(number) for number in generator.sample(range(101, 999), EACH)]
    kinds = [kind for kind in KINDS for _ in range(EACH)]
    generator.shuffle(kinds)
    room = messages / len(kinds)
    places = [int(number * room + generator.random() * (room - 1)) for number in range(len(kinds))]
    planted: dict[int, tuple[str, str]] = {}
    counts = dict.fromkeys(KINDS, 0)
    vows: list[tuple[Fact, str, str]] = []
    for number, (kind, place) in enumerate(zip(kinds, places, strict=True)):
        index = counts[kind]
        counts[kind] += 1
        speaker, other = generator.sample(CAST, 2)
        name = names.pop() if kind != "numbers" else numbers[index]
        said, telling, thing, kept = _worded(kind, index, name, speaker, other)
        fact = Fact(number, kind, place, telling, (name, thing))
        world.facts.append(fact)
        planted[place] = (speaker, said)
        if kind == "promises":
            vows.append((fact, speaker, kept))
    for fact, speaker, kept in _to_keep(vows, messages):
        place = fact.position + int((0.95 * messages - fact.position) * (0.2 + 0.6 * generator.random()))
        while place in planted or place <= fact.position:
            place += 1
        fact.settled_at, fact.settled_telling = place, f"{speaker} {kept}."
        planted[place] = (speaker, f"I {kept}, as I promised.")
    for position in range(messages):
        world.messages.append(_message(world, generator, position, planted.get(position)))
    return world


def _to_keep(vows: Sequence[tuple[Fact, str, str]], messages: int) -> list[tuple[Fact, str, str]]:
    early = [vow for vow in vows if vow[0].position < 0.7 * messages]
    return early[:: max(1, len(early) // KEPT)][:KEPT]


def _worded(kind: str, index: int, name: str, speaker: str, other: str) -> tuple[str, str, str, str]:
    """What is said, how it is told, the second probe, and for a promise what was done when it is kept."""
    if kind == "promises":
        said, verb, past, to = _VOWS[index % len(_VOWS)]
        thing = _THINGS[index]
        telling = f"{speaker} promised to {verb} the {thing} {to} {name}."
        return said.format(thing=thing, name=name, other=other), telling, thing, f"{past} the {thing} {to} {name}"
    if kind == "numbers":
        thing, unit = _COUNTS[index].split(":")
        return f"The {thing} has {name} {unit}, I counted.", f"The {thing} had {name} {unit}.", thing, ""
    if kind == "names":
        role = _ROLES[index]
        return f"The new {role} is called {name}.", f"The new {role} was called {name}.", role, ""
    if kind == "places":
        thing = _HIDDEN[index]
        return f"The old {thing} lies buried at {name}.", f"The old {thing} lay buried at {name}.", thing, ""
    deed, thing = _DEEDS[index].split(":")
    said = _HUSHED[index % len(_HUSHED)].format(name=name, deed=deed)
    return said, f"{speaker} kept it secret that {name} {deed}.", thing, ""


def _message(world: World, generator: random.Random, position: int, planted: tuple[str, str] | None) -> Message:
    if position % DAY == 0 and planted is None:
        text = f"The next morning was grey over the harbour, and smoke stood above {generator.choice(CAST)}'s roof."
        world.tellings[text] = "Another morning came."
        return message("assistant", text, speaker="Narrator")
    speaker, said = planted or (generator.choice(CAST), generator.choice(_TALK))
    does, did = generator.choice(_ACTS).split(":")
    what, where = generator.choice(_ON), generator.choice(_WHERE)
    second = f" {generator.choice(_TALK)}" if generator.random() < 0.6 else ""
    text = f'*{speaker} {does} {what} {where}.* "{said}{second}"'
    if planted is None:
        world.tellings[text] = f"{speaker} {did} {what} {where}."
    return message("user" if speaker == PLAYER else "assistant", text, speaker=speaker)


def _coined(generator: random.Random, count: int) -> list[str]:
    """So many names that nobody has."""
    every = [begin + end for begin in _BEGINNINGS for end in _ENDINGS]
    return generator.sample(every, count)
