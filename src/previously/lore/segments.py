"""A segment: some entries, whose keys are all looked for in one pass over a text.

Plain keys go into one automaton per way of comparing, patterns into one filter. A segment is built once and never
changes; `index` puts several together, so that a new entry does not build the large ones anew.

What must stay true: a segment finds a key exactly where looking for that key alone would find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ahocorasick_rs import AhoCorasick

from previously.lore.entries import Entry
from previously.lore.keys import Compared, Key, Prepared, key_of, stands_alone, stands_alone_in_ascii
from previously.lore.nested import first_place, set_apart
from previously.lore.regexes import Regexes


@dataclass(frozen=True, slots=True)
class Keyed:
    """The keys of one entry, ready to be searched for, one for each that it has."""

    primary: tuple[Key, ...]
    secondary: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Automaton:
    """Plain keys that are compared in the same way."""

    matcher: AhoCorasick
    whole: tuple[Key | None, ...]
    """For each text in the matcher the key that wants it as whole words."""
    anywhere: tuple[Key | None, ...]
    """And the one that takes it anywhere."""
    apart: tuple[Key, ...]
    """Keys that are looked for one at a time; see `nested`."""
    quirks: bool

    def find(self, given: Prepared, found: dict[Key, int]) -> None:
        """Note where each key first occurs in a text."""
        text, inside = given.text, given.inside
        alone = stands_alone_in_ascii if self.quirks else stands_alone
        settled: set[int] = set()
        for place, start, end in self.matcher.find_matches_as_indexes(text, overlapping=True):
            if place in settled or (inside and (start in inside or end in inside)):
                continue
            whole, anywhere = self.whole[place], self.anywhere[place]
            if anywhere is not None:
                found.setdefault(anywhere, start)
            if whole is None:
                settled.add(place)
            elif alone(text, start, end):
                found[whole] = start
                settled.add(place)
        for key in self.apart:
            at = first_place(key.text, given, alone if key.whole else None)
            if at is not None:
                found[key] = at


@dataclass(frozen=True, slots=True)
class Segment:
    """Some entries and what finds them."""

    number: int
    """Newer segments have larger numbers."""
    keyed: Mapping[str, Keyed]
    """The keys of its entries, by uid."""
    owners: Mapping[Key, tuple[str, ...]]
    """Whom a primary key belongs to."""
    depths: Mapping[str, tuple[int | None, ...]]
    """How deep each pattern is searched for, as its entries say."""
    constants: tuple[str, ...]
    deepest: int
    """The largest scan depth that an entry of it names."""
    folded: Automaton | None
    exact: Automaton | None
    regexes: Regexes | None


def segment_of(entries: Iterable[Entry], number: int, *, quirks: bool = False) -> Segment:
    """A segment of these entries."""
    keyed: dict[str, Keyed] = {}
    owners: dict[Key, list[str]] = {}
    depths: dict[str, dict[int | None, None]] = {}
    constants: list[str] = []
    wanted: dict[Compared, dict[Key, None]] = {compared: {} for compared in Compared}
    deepest = 0
    for entry in entries:
        keys = keyed[entry.uid] = keyed_of(entry, quirks=quirks)
        if entry.constant:
            constants.append(entry.uid)
        deepest = max(deepest, entry.scan_depth or 0)
        for key in dict.fromkeys(keys.primary):
            owners.setdefault(key, []).append(entry.uid)
        for key in (*keys.primary, *keys.secondary):
            wanted[key.compared][key] = None
            if key.compared is Compared.REGEX:
                depths.setdefault(key.text, {})[entry.scan_depth] = None
    patterns = [key.text for key in wanted[Compared.REGEX]]
    return Segment(
        number,
        keyed,
        {key: tuple(uids) for key, uids in owners.items()},
        {pattern: tuple(found) for pattern, found in depths.items()},
        tuple(constants),
        deepest,
        _automaton(wanted[Compared.FOLDED], quirks=quirks),
        _automaton(wanted[Compared.EXACT], quirks=quirks),
        Regexes(patterns) if patterns else None,
    )


def keyed_of(entry: Entry, *, quirks: bool = False) -> Keyed:
    """The keys of an entry, ready to be searched for."""

    def ready(written: Sequence[str]) -> tuple[Key, ...]:
        return tuple(
            key_of(key, case_sensitive=entry.case_sensitive, whole_words=entry.whole_words, quirks=quirks)
            for key in written
        )

    return Keyed(ready(entry.keys), ready(entry.secondary))


def _automaton(wanted: Iterable[Key], *, quirks: bool) -> Automaton | None:
    whole: dict[str, Key] = {}
    anywhere: dict[str, Key] = {}
    for key in wanted:
        (whole if key.whole else anywhere)[key.text] = key
    texts = whole | anywhere
    if not texts:
        return None
    apart = [key for text in set_apart(texts) for key in (whole.get(text), anywhere.get(text)) if key is not None]
    for key in apart:
        texts.pop(key.text, None)
    matcher = AhoCorasick(list(texts), store_patterns=False)
    return Automaton(matcher, tuple(map(whole.get, texts)), tuple(map(anywhere.get, texts)), tuple(apart), quirks)
