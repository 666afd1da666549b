"""A segment: some entries, whose keys are all looked for in one pass over a text.

Plain keys go into one automaton per way of comparing, patterns into one filter. A segment is built once and never
changes; `index` puts several together, so that a new entry does not build the large ones anew.

What must stay true: a segment finds a key exactly where looking for that key alone would find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ahocorasick_rs import AhoCorasick

from previously.lore.entries import KeyedEntry
from previously.lore.keys import Comparison, PreparedText, SearchKey, is_whole_ascii_word, is_whole_word, prepare_key
from previously.lore.nested import find_first_place, find_nested
from previously.lore.regexes import RegexSet


@dataclass(frozen=True, slots=True)
class EntryKeys:
    """The keys of one entry, ready to be searched for, one for each that it has."""

    primary: tuple[SearchKey, ...]
    secondary: tuple[SearchKey, ...]


@dataclass(frozen=True, slots=True)
class KeyAutomaton:
    """Plain keys that are compared in the same way."""

    matcher: AhoCorasick
    whole: tuple[SearchKey | None, ...]
    """For each text in the matcher the key that wants it as whole words."""
    anywhere: tuple[SearchKey | None, ...]
    """And the one that takes it anywhere."""
    apart: tuple[SearchKey, ...]
    """Keys that are looked for one at a time; see `nested`."""
    quirks: bool

    def find(self, given: PreparedText, found: dict[SearchKey, int]) -> None:
        """Note where each key first occurs in a text."""
        text, inside = given.text, given.inside
        alone = is_whole_ascii_word if self.quirks else is_whole_word
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
            at = find_first_place(key.text, given, alone if key.whole else None)
            if at is not None:
                found[key] = at


@dataclass(frozen=True, slots=True)
class IndexSegment:
    """Some entries and what finds them."""

    number: int
    """Newer segments have larger numbers."""
    keyed: Mapping[str, EntryKeys]
    """The keys of its entries, by uid."""
    owners: Mapping[SearchKey, tuple[str, ...]]
    """Whom a primary key belongs to."""
    depths: Mapping[str, tuple[int | None, ...]]
    """How deep each pattern is searched for, as its entries say."""
    constants: tuple[str, ...]
    deepest: int
    """The largest scan depth that an entry of it names."""
    folded: KeyAutomaton | None
    exact: KeyAutomaton | None
    regexes: RegexSet | None


def build_segment(entries: Iterable[KeyedEntry], number: int, *, quirks: bool = False) -> IndexSegment:
    """A segment of these entries."""
    keyed: dict[str, EntryKeys] = {}
    owners: dict[SearchKey, list[str]] = {}
    depths: dict[str, dict[int | None, None]] = {}
    constants: list[str] = []
    wanted: dict[Comparison, dict[SearchKey, None]] = {compared: {} for compared in Comparison}
    deepest = 0
    for entry in entries:
        keys = keyed[entry.uid] = prepare_keys(entry, quirks=quirks)
        if entry.constant:
            constants.append(entry.uid)
        deepest = max(deepest, entry.scan_depth or 0)
        for key in dict.fromkeys(keys.primary):
            owners.setdefault(key, []).append(entry.uid)
        for key in (*keys.primary, *keys.secondary):
            wanted[key.compared][key] = None
            if key.compared is Comparison.REGEX:
                depths.setdefault(key.text, {})[entry.scan_depth] = None
    patterns = [key.text for key in wanted[Comparison.REGEX]]
    return IndexSegment(
        number,
        keyed,
        {key: tuple(uids) for key, uids in owners.items()},
        {pattern: tuple(found) for pattern, found in depths.items()},
        tuple(constants),
        deepest,
        _automaton(wanted[Comparison.FOLDED], quirks=quirks),
        _automaton(wanted[Comparison.EXACT], quirks=quirks),
        RegexSet(patterns) if patterns else None,
    )


def prepare_keys(entry: KeyedEntry, *, quirks: bool = False) -> EntryKeys:
    """The keys of an entry, ready to be searched for."""

    def ready(written: Sequence[str]) -> tuple[SearchKey, ...]:
        return tuple(
            prepare_key(key, case_sensitive=entry.case_sensitive, whole_words=entry.whole_words, quirks=quirks)
            for key in written
        )

    return EntryKeys(ready(entry.keys), ready(entry.secondary))


def _automaton(wanted: Iterable[SearchKey], *, quirks: bool) -> KeyAutomaton | None:
    whole: dict[str, SearchKey] = {}
    anywhere: dict[str, SearchKey] = {}
    for key in wanted:
        (whole if key.whole else anywhere)[key.text] = key
    texts = whole | anywhere
    if not texts:
        return None
    apart = [key for text in find_nested(texts) for key in (whole.get(text), anywhere.get(text)) if key is not None]
    for key in apart:
        texts.pop(key.text, None)
    matcher = AhoCorasick(list(texts), store_patterns=False)
    return KeyAutomaton(matcher, tuple(map(whole.get, texts)), tuple(map(anywhere.get, texts)), tuple(apart), quirks)
