"""The current state: who is where and when, hurt how, holding what, in what condition. A reduce over state changes.

Owns what replaces what. What must stay true: the newest change of the same subject, label and thing replaces the
earlier one, and nothing else does; what was replaced is kept in `earlier`, what is not shown stays; the reduce is a
plain fold, so that a snapshot and the rest give what all changes give; what a person wrote, no model replaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from previously.core.signals import Signals, folded
from previously.core.states import BODY, Label, label_of
from previously.lore.thread_wording import names_in, wording

MOST_SHOWN = 40
"""How many items a view tells."""

MOST_EARLIER = 1_000
"""How much of what held before is kept at hand, the newest. All of it stands in the notes it came from."""

PERSON = "person"

_BEFORE_COLON = re.compile(r"([^:：]{1,60})[:：]\s*(\S.*)", re.S)
_OWNED = re.compile(r"((?:[A-Z][\w-]*)(?: [A-Z][\w-]*){0,2})['’]s? (?=[a-z])")
_RUN = re.compile(r"[A-Z][\w-]*(?: (?:of the |of |the )?[A-Z][\w-]*){0,3}")
_ARTICLE = re.compile(
    r"[Tt]he ([a-z][\w-]*(?: [a-z][\w-]*)?) (?=(?:is|are|was|were|has|have|had|lies|stands|burned|fell|sank)\b)"
)
_NOBODY = frozenset("it he she they we i you there this that time now date day place location setting the".split())
_LABELS = {
    "time": Label.TIME, "date": Label.TIME, "day": Label.TIME, "place": Label.PLACE, "location": Label.PLACE,
    "setting": Label.PLACE, "injury": Label.INJURY, "injuries": Label.INJURY, "possession": Label.POSSESSION,
    "possessions": Label.POSSESSION, "inventory": Label.POSSESSION, "status": Label.STATUS, "condition": Label.STATUS,
    "relation": Label.RELATION, "relationship": Label.RELATION,
}  # fmt: skip
_LONGEST_SUBJECT = 6
"""Words before a colon that can be a name; more of them are a sentence."""

_PART_OF_BODY = re.compile(rf"\b({BODY})s?\b")
_WHAT_IS_HELD = re.compile(
    r"\b(?:the|a|an|his|her|their|its|[\w-]+'s|\d+|some) ((?:[\w-]+ ){0,2}?[\w-]+)(?= (?:from|to|back|in|at|on|with|"
    r"and|for|of|by|away|again|out)\b|[.,;!]|$)"
)


@dataclass(frozen=True, slots=True)
class Change:
    """One state change, as it was noted."""

    text: str
    position: int
    by: str = "model"
    """`model`, `builtin` or `person`."""
    subject: str | None = None
    """None: as the text says."""
    label: Label | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that holds now."""

    subject: str
    """Whom it is about; "" for the scene as a whole."""
    label: Label
    topic: str
    """What tells it from others of the same label: which thing is held, where someone is hurt."""
    text: str
    position: int
    by: str = "model"


@dataclass(frozen=True, slots=True)
class Current:
    """All that holds now, in the order it came to be so, and what held before."""

    items: tuple[Held, ...] = ()
    earlier: tuple[Held, ...] = ()
    suggestions: tuple[Change, ...] = ()
    """What a model would put in place of what a person wrote."""

    def by_subject(self) -> Mapping[str, Mapping[Label, tuple[Held, ...]]]:
        """What holds, by whom it is about and what about them."""
        found: dict[str, dict[Label, tuple[Held, ...]]] = {}
        for item in self.items:
            labels = found.setdefault(item.subject, {})
            labels[item.label] = (*labels.get(item.label, ()), item)
        return found


NO_STATE = Current()


def changes_of(signals: Signals, position: int, by: str = "model") -> tuple[Change, ...]:
    """The state changes of a span."""
    return tuple(Change(text, position, by) for text in signals.state_changes)


def reduce_current(current: Current, changes: Iterable[Change]) -> Current:
    """The state after these changes, which come in path order."""
    shelf = _Shelf(current.items)
    earlier, suggestions = list(current.earlier), list(current.suggestions)
    for change in changes:
        held = held_by(change, shelf.subjects)
        if held is None:
            continue
        replaced = [place for place, old in shelf.beside(held) if _replaces(held, old)]
        if any(shelf.items[place].by == PERSON for place in replaced) and change.by != PERSON:
            suggestions.append(change)
            continue
        earlier += [shelf.taken(place) for place in replaced]
        shelf.put(held)
    items = tuple(shelf.items.values())
    return Current(items, tuple(earlier[-MOST_EARLIER:]), tuple(suggestions[-MOST_SHOWN:]))


class _Shelf:
    """What holds, by whom and what it is about, so that a change is compared with few."""

    def __init__(self, items: Iterable[Held]) -> None:
        self.items: dict[int, Held] = {}
        self.subjects: dict[str, int] = {}
        """How much is held of each."""
        self._places: dict[tuple[str, Label], dict[int, None]] = {}
        self._next = 0
        for item in items:
            self.put(item)

    def put(self, item: Held) -> None:
        """One more, the newest."""
        self.items[self._next] = item
        self.subjects[item.subject] = self.subjects.get(item.subject, 0) + 1
        self._places.setdefault((folded(item.subject), item.label), {})[self._next] = None
        self._next += 1

    def beside(self, item: Held) -> list[tuple[int, Held]]:
        """What is held of the same subject under the same label."""
        return [(place, self.items[place]) for place in self._places.get((folded(item.subject), item.label), ())]

    def taken(self, place: int) -> Held:
        """Take one away."""
        item = self.items.pop(place)
        del self._places[folded(item.subject), item.label][place]
        self.subjects[item.subject] -= 1
        if not self.subjects[item.subject]:
            del self.subjects[item.subject]
        return item


def _replaces(new: Held, old: Held) -> bool:
    """Whether one of two items of the same subject and label takes the other's place."""
    if new.label is Label.INJURY:
        # "her wounds have healed" means all of them; a hurt without a place may be any.
        return not new.topic or not old.topic or new.topic == old.topic
    return new.topic == old.topic


def held_by(change: Change, subjects: Iterable[str] = ()) -> Held | None:
    """What holds after a change; None for a change without words."""
    text = " ".join(change.text.split())
    if not text:
        return None
    said, subject, rest = _subject_of(text)
    label = change.label or said or label_of(rest)
    scene = "" if label is Label.TIME else subject  # it is the same hour for all
    whom = scene if change.subject is None else change.subject.strip()
    return Held(_known_as(whom, subjects), label, _topic(label, rest, whom), text, change.position, change.by)


def _subject_of(text: str) -> tuple[Label | None, str, str]:
    """The label a text names itself, whom it is about, and what it says of them."""
    colon = _BEFORE_COLON.fullmatch(text)
    if colon:
        before, rest = colon.group(1).strip(" *-[]"), colon.group(2)
        label = _LABELS.get(before.casefold())
        if label:
            return label, "", rest
        if len(before.split()) <= _LONGEST_SUBJECT:
            return None, "" if before.casefold() in _NOBODY else before, rest
    for pattern in (_OWNED, _ARTICLE):
        found = pattern.match(text)
        if found and found.group(1).split()[0].casefold() not in _NOBODY:
            return None, found.group(1), text
    named = next((run.group() for run in _RUN.finditer(text) if names_in(run.group())), "")
    return None, named.removeprefix("The "), text


def _known_as(subject: str, subjects: Iterable[str]) -> str:
    """A subject as it is already called, where a longer or shorter form of the name leaves no doubt."""
    words = set(folded(subject).split())
    if not words:
        return ""
    known = list(dict.fromkeys(one for one in subjects if one))
    exact = [one for one in known if folded(one) == folded(subject)]
    alike = [one for one in known if words < set(folded(one).split()) or set(folded(one).split()) < words]
    return exact[0] if exact else alike[0] if len(alike) == 1 else subject


def _topic(label: Label, text: str, subject: str) -> str:
    """What tells two items of one label apart: one place at a time, but many things in a pocket."""
    low = text.replace("’", "'").casefold()
    if label is Label.INJURY:
        part = _PART_OF_BODY.search(low)
        return part.group(1) if part else ""
    if label is Label.POSSESSION:
        thing = _WHAT_IS_HELD.search(low)
        return thing.group(1).split()[-1] if thing else " ".join(sorted(wording(text).matter))
    about = wording(text)
    if label is Label.RELATION:
        own = set(folded(subject).split())
        return " ".join(name for name in about.names if name not in own)
    return " ".join([*sorted(about.core), *about.names, *sorted(about.numbers)]) if label is Label.OTHER else ""


def lines(current: Current, most: int = MOST_SHOWN) -> tuple[str, ...]:
    """What holds now as a view tells it: at most so many lines, in the order it came to be. Where there are more, the
    oldest of no label go first, then the oldest; what a person wrote goes last."""

    def worth(item: Held) -> tuple[bool, bool, int]:
        return item.by == PERSON, item.label is not Label.OTHER, item.position

    places = sorted(range(len(current.items)), key=lambda place: (*worth(current.items[place]), place))
    shown = sorted(places[max(0, len(places) - most) :])
    return tuple(current.items[place].text for place in shown)
