"""Recurring names and what is said of them: the entries of a scene without a model.

Owns how a description is found: "Grim is …", "Grim, a gruff dwarf, …", "a dwarf named Grim", "the bartender, Grim".
What must stay true: pure and total; every word of an entry stands in the messages, but for what `prose` adds to speech;
a name is kept when it recurs or is introduced with a description; at most `MOST_THINGS` are kept, those met most often.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from previously.core.generic_words import is_generic
from previously.core.lore import Described
from previously.core.signals import folded
from previously.core.tokens import estimate_tokens
from previously.folds.builtin import prose
from previously.folds.builtin.kinds_of_things import Clues, type_of
from previously.folds.builtin.names import NameBook, shown
from previously.folds.builtin.narrators import habits, has_title, narrators_among
from previously.folds.builtin.reading import Line, Said, is_english, lines_of_message
from previously.folds.builtin.words import WORD, keys_in

MOST_THINGS = 8
"""Entries of one scene."""

MOST_TOKENS = 200
"""What an entry may take."""

LEAST_MENTIONS = 2
"""A name that is met so often is worth an entry by itself."""

_NAME = r"[A-Z][\w'’-]*(?: (?:of |the |de |van |von )?[A-Z][\w'’-]*){0,3}"
_PHRASE = r"(?:[a-z-]+, (?!that|and|who|which|the |an? ))?(?:[a-z][\w'’-]* ){0,9}[a-z][\w'’-]*"
_CALLED = re.compile(
    rf"(?:\b(?P<role>[Tt]he {_PHRASE}), )?\b(?P<phrase>[Aa]n? {_PHRASE}),? "
    rf"(?:named|called|known as|by the name of) [\"“'‘]?(?P<name>{_NAME})"
)
_LED = re.compile(rf"\b(?P<phrase>(?:[Aa]n?|[Tt]he) {_PHRASE}) led by [\"“'‘]?(?P<name>{_NAME})")
_APPOSED = re.compile(
    rf"\b(?P<name>{_NAME}), (?P<phrase>(?:an?|the) {_PHRASE}(?: (?:of|from|at|in) {_NAME})?)(?=[,.;!?])"
)
_ROLE_FIRST = re.compile(rf"\b(?P<phrase>[Tt]he {_PHRASE}), (?P<name>{_NAME})(?=[,.;!?])")
_STATED = re.compile(
    rf"(?:The )?(?P<name>{_NAME}) (?:is|was|are|were|has|had|wears|wore|lives|lived|works|worked|looks like|seems|"
    rf"belongs|leads|rules|owns|knows)\b(?! \w+ing\b)(?! (?:to|been|just|about|gone)\b)"
)
_OF_ONESELF = re.compile(rf"I(?:'m| am) (?P<phrase>(?:an?|the) {_PHRASE}(?: (?:of|from|at|in) {_NAME})?)(?=[,.;!?]|$)")
_NO_PHRASE = frozenset(
    "and but is was were are be i i'm you he she it they we that's who's what's then not so if because when her his my "
    "your two three four five six other others rest same one next first second".split()
)
_PHRASE_END = re.compile(r",? (?:who|that|which|of|from|at|in|with|on)\b")
_LEAST_WORDS = 5
"""A sentence of fewer words says little by itself."""

_AT_HEAD = frozenset(
    "The A An His Her Their My Your Our This That It He She They We You I In At On When And But".split()
)


@dataclass(slots=True)
class Thing:
    """What is known so far of one name."""

    name: str
    messages: set[int] = field(default_factory=set)
    mentions: int = 0
    described: list[str] = field(default_factory=list)
    stated: list[Line] = field(default_factory=list)
    told: Line | None = None
    """The first sentence of narration that names it."""
    roles: list[str] = field(default_factory=list)
    clues: Clues = field(default_factory=Clues)


def things_in(said: Sequence[Said]) -> tuple[Described, ...]:
    """The entries that these messages give."""
    lines = _lines(said)
    speakers = [shown(one.speaker) for one in said if one.speaker and not _is_nobody(one.speaker)]
    book = NameBook((), speakers)
    for _, line in lines:
        book.read(line.text.replace("’", "'"))
    things: dict[str, Thing] = {}
    for number, line in lines:
        _read(things, book, number, line)
    for name in speakers:
        if folded(name) in things:
            things[folded(name)].clues.speaks = True
    kept = [one for one in _joined(things) if one.described or one.stated or _recurs(one)]
    kept.sort(key=lambda one: -one.mentions)
    english = is_english(" ".join(line.text for _, line in lines[-60:]))
    entries = [_entry(one, english=english) for one in kept]
    return tuple(one for one in entries if one.content)[:MOST_THINGS]


def _lines(said: Sequence[Said]) -> list[tuple[int, Line]]:
    narrators = narrators_among(habits(said, {}))
    at_table = any(not has_title(name) for name in narrators)
    found: list[tuple[int, Line]] = []
    for number, message in enumerate(said):
        name = shown(message.speaker or "")
        narrates = not name or name in narrators
        read = lines_of_message(message, narrates=narrates, at_table=at_table, listener=None)
        found += [(number, line) for line in read]
    return found


def _is_nobody(speaker: str) -> bool:
    return has_title(speaker) or folded(speaker) in ("the user", "user", "assistant", "a tool", "system")


def _read(things: dict[str, Thing], book: NameBook, number: int, line: Line) -> None:
    """Note what one sentence says of the names in it."""
    text = line.text.replace("’", "'")
    runs = [name for name in book.runs_in(text) if name not in _AT_HEAD]
    for name in runs:
        thing = _thing(things, name)
        thing.mentions += 1
        thing.messages.add(number)
        thing.clues.read(name, text)
        if thing.told is None and line.speaker is None and len(text.split()) >= _LEAST_WORDS:
            thing.told = line
    for pattern in (_CALLED, _APPOSED, _ROLE_FIRST):
        for found in pattern.finditer(text):
            if line.speaker is None or not _calls_somebody(found):
                _describe(things, book, found, number)
    for found in _LED.finditer(text):
        thing = _thing(things, found["name"])
        thing.clues.leads = True
        thing.stated.append(line)
    stated = _STATED.match(text) if len(text.split()) >= _LEAST_WORDS else None
    if stated and (name := _full(stated["name"], runs)):
        _thing(things, name).stated.append(line)
    own = _OF_ONESELF.search(text) if line.speaker and not _is_nobody(line.speaker) else None
    if own:
        thing = _thing(things, line.speaker or "")
        thing.messages.add(number)
        _add_phrase(thing, own["phrase"])


def _calls_somebody(found: re.Match[str]) -> bool:
    """Whether speech rather speaks to a name than of it: "You owe the miller, Orla.", "Bram, the lamp!"."""
    if found.re is _ROLE_FIRST:
        return True
    return found.re is _APPOSED and found.start() == 0 and found.string[found.end() : found.end() + 1] != ","


def _describe(things: dict[str, Thing], book: NameBook, found: re.Match[str], number: int) -> None:
    name = found["name"]
    if name.split()[0] in _AT_HEAD or is_generic(name):
        return
    known = folded(name) in things
    if not known and found.re is not _CALLED and not all(book.is_name(key) for key in keys_in(name)):
        return
    thing = _thing(things, name)
    thing.mentions += not known
    thing.messages.add(number)
    role = found.groupdict().get("role")
    for phrase in (role, found["phrase"]):
        if phrase:
            _add_phrase(thing, phrase)


def _add_phrase(thing: Thing, phrase: str) -> None:
    """Take up "a gruff dwarf": what it is, a key by which it is called, and a clue to its type."""
    bare = phrase.split(" ", 1)[1]
    head = _PHRASE_END.split(bare)[0]
    if is_generic(head) or not _NO_PHRASE.isdisjoint(head.lower().replace(",", "").split()):
        return
    sentence = f"{bare[0].upper()}{bare[1:]}."
    if folded(sentence) not in map(folded, thing.described):
        thing.described.append(sentence)
    thing.clues.called(head)
    if len(head.split()) <= 3:
        thing.roles.append(head)


def _thing(things: dict[str, Thing], name: str) -> Thing:
    return things.setdefault(folded(name), Thing(name))


def _full(name: str, runs: Sequence[str]) -> str:
    """The name as the book reads it, where a sentence begins with it."""
    return next((run for run in runs if run == name or name.startswith(f"{run} ") or run.startswith(f"{name} ")), "")


def _joined(things: dict[str, Thing]) -> list[Thing]:
    """Short names taken into the one full name they are part of: "Bryce" into "Bryce Feelid"."""
    full = {key: thing for key, thing in things.items() if len(WORD.findall(thing.name)) > 1}
    kept: list[Thing] = []
    for key, thing in things.items():
        owners = [other for name, other in full.items() if key != name and key in (name.split()[0], name.split()[-1])]
        if len(owners) != 1:
            kept.append(thing)
            continue
        owner = owners[0]
        owner.mentions += thing.mentions
        owner.messages |= thing.messages
        owner.described += [one for one in thing.described if one not in owner.described]
        owner.stated += thing.stated
        owner.roles += thing.roles
        owner.told = owner.told or thing.told
        owner.clues.add(thing.clues)
    return kept


def _recurs(thing: Thing) -> bool:
    return len(thing.messages) >= LEAST_MENTIONS or thing.mentions > LEAST_MENTIONS


def _entry(thing: Thing, *, english: bool) -> Described:
    said = [*thing.described, *(prose.write([line], english=english) for line in thing.stated)]
    if not said and thing.told and not thing.clues.speaks:
        said = [prose.write([thing.told], english=english)]
    kind = type_of(thing.name, thing.clues)
    return Described(thing.name, kind, _keywords(thing, kind), _bounded(said))


def _bounded(sentences: Sequence[str]) -> str:
    """As many sentences as fit, each once."""
    kept: list[str] = []
    tokens = 0
    for sentence in dict.fromkeys(sentences):
        tokens += estimate_tokens(sentence)
        if tokens > MOST_TOKENS:
            break
        kept.append(sentence)
    return " ".join(kept)


def _keywords(thing: Thing, kind: str) -> tuple[str, ...]:
    """The name, for people its parts, and what it is called."""
    parts = thing.name.split() if kind == "character" else []
    words = [thing.name, *(part for part in parts if part[0].isupper()), *thing.roles]
    kept = {folded(word): word for word in reversed(words) if not is_generic(word) and len(word) <= 32}
    return tuple(reversed(kept.values()))[:8] or (thing.name,)
