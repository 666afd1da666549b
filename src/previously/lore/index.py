"""The index: every entry of a story, ready for the next turn.

An index is a value: a change gives a new index and leaves the old one as it was. Entries stand in segments. All keys of
a segment are looked for in one pass over a text: plain keys by one automaton per way of comparing, patterns by one
filter. A segment finds a key exactly where looking for that key alone would find it, and never changes. A new entry
starts a small segment, and a segment is built anew together with newer ones only when those have grown to a fair part
of its size. So adding an entry to thousands is cheap, a text is read only a few times, and an index finds the same
however it came about.

An automaton names, at each letter of the text, every key that ends there. In ordinary lore that is one or two; a book
made for the purpose (`a`, `aa`, `aaa` and so on) would bring up millions. So where more than `MOST_NESTED` keys end in
each other, those beyond are set apart and looked for one at a time; so is a key of more than `LONGEST_TOGETHER`
letters. To build an automaton takes longer than its keys are many and long, so none has more than `MOST_TOGETHER`: ten
times the keys take ten times as long, in as many passes.

`StoryLore` is the index of all entries that may come up in a story: those of its books, and its own that a reader may
know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ahocorasick_rs import AhoCorasick

from previously.core.patterns import lazy_pattern
from previously.lore.entry import EVERYBODY, KeyedEntry, LoreEntry
from previously.lore.keys import (
    Comparison,
    PreparedText,
    RegexSet,
    SearchKey,
    is_whole_ascii_word,
    is_whole_word,
    prepare_key,
)
from previously.text.macros import NOBODY, MacroNames, has_macros, substitute_macros

MOST_NESTED = 8
"""Number of keys of an automaton that may end at one letter of a text: four times what ordinary lore has."""

MOST_TOGETHER = 4_096
"""Number of keys of an automaton. One of 100,000 keys that begin alike was built in 4.3 s, 25 of 4,096 keys each in
0.4 s; a pass over the messages of a turn takes well under a millisecond."""

LONGEST_TOGETHER = 200
"""Letters of a key of an automaton. One key of 30,000 letters was built in 1.7 s, nine times as long as one of 10,000;
4,096 keys of 200 take less than a tenth of a second, and people write no longer ones."""

_ENGLISH_WORD = lazy_pattern("[0-9A-Za-z_]+")


def find_nested(texts: Iterable[str]) -> list[str]:
    """Return the texts that end in too many of the others."""
    apart: list[str] = []
    endings: list[str] = []  # read backwards, each the beginning of the next
    for backwards in sorted(text[::-1] for text in texts):
        while endings and not backwards.startswith(endings[-1]):
            endings.pop()
        if len(endings) < MOST_NESTED:
            endings.append(backwards)
        else:
            apart.append(backwards[::-1])
    return apart


def find_first_place(key: str, given: PreparedText, alone: Callable[[str, int, int], bool] | None) -> int | None:
    """Return where a key first occurs in a text, as whole words if `alone` says what those are; None if it does not."""
    text, inside = given.text, given.inside
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        within = at in inside or end in inside
        if not within and (alone is None or alone(text, at, end)):
            return at
        after = at + 1
        if alone is not None and at > 0 and _ENGLISH_WORD.match(text, at - 1):
            word = _ENGLISH_WORD.match(text, at)
            after = word.end() if word else after  # whatever begins inside the same word is no whole word either
        at = text.find(key, after)
    return None


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
    """Keys that are looked for one at a time, since too many end in each other."""
    quirks: bool

    def find(self, given: PreparedText, places: dict[SearchKey, int]) -> None:
        """Note where each key first occurs in a text."""
        text, inside = given.text, given.inside
        alone = is_whole_ascii_word if self.quirks else is_whole_word
        settled: set[int] = set()
        for place, start, end in self.matcher.find_matches_as_indexes(text, overlapping=True):
            if place in settled or (inside and (start in inside or end in inside)):
                continue
            whole, anywhere = self.whole[place], self.anywhere[place]
            if anywhere is not None:
                places.setdefault(anywhere, start)
            if whole is None:
                settled.add(place)
            elif alone(text, start, end):
                places[whole] = start
                settled.add(place)
        for key in self.apart:
            at = find_first_place(key.text, given, alone if key.whole else None)
            if at is not None:
                places[key] = at


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
    """The depths to which each pattern is searched for, as its entries say."""
    constants: tuple[str, ...]
    deepest: int
    """The largest scan depth that an entry of it names."""
    casefold: tuple[KeyAutomaton, ...]
    exact: tuple[KeyAutomaton, ...]
    regexes: RegexSet | None

    @property
    def weight(self) -> int:
        """Return how many entries and keys it takes to build this segment anew."""
        return sum(1 + len(keys.primary) + len(keys.secondary) for keys in self.keyed.values())


def build_segment(entries: Iterable[KeyedEntry], number: int, *, quirks: bool = False) -> IndexSegment:
    keyed: dict[str, EntryKeys] = {}
    owners: dict[SearchKey, list[str]] = {}
    depths: dict[str, dict[int | None, None]] = {}
    constants: list[str] = []
    wanted: dict[Comparison, dict[SearchKey, None]] = {compared: {} for compared in Comparison}
    deepest = 0
    for entry in entries:
        keys = keyed[entry.uid] = prepare_keys(entry, quirks=quirks)
        if entry.needs_no_key:
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
        _build_automata(wanted[Comparison.CASEFOLD], quirks=quirks),
        _build_automata(wanted[Comparison.EXACT], quirks=quirks),
        RegexSet(patterns) if patterns else None,
    )


def prepare_keys(entry: KeyedEntry, *, quirks: bool = False) -> EntryKeys:
    """Return the keys of an entry, ready to be searched for."""

    def ready(written: Sequence[str]) -> tuple[SearchKey, ...]:
        return tuple(
            prepare_key(key, case_sensitive=entry.case_sensitive, whole_words=entry.whole_words, quirks=quirks)
            for key in written
        )

    return EntryKeys(ready(entry.keys), ready(entry.secondary))


def _build_automata(wanted: Iterable[SearchKey], *, quirks: bool) -> tuple[KeyAutomaton, ...]:
    keys = iter(wanted)
    parts = iter(lambda: list(islice(keys, MOST_TOGETHER)), [])
    return tuple(_build_automaton(part, quirks=quirks) for part in parts)


def _build_automaton(wanted: Iterable[SearchKey], *, quirks: bool) -> KeyAutomaton:
    whole: dict[str, SearchKey] = {}
    anywhere: dict[str, SearchKey] = {}
    for key in wanted:
        (whole if key.whole else anywhere)[key.text] = key
    texts = whole | anywhere
    long = [text for text in texts if len(text) > LONGEST_TOGETHER]
    nested = find_nested(text for text in texts if len(text) <= LONGEST_TOGETHER)
    apart = [key for text in (*long, *nested) for key in (whole.get(text), anywhere.get(text)) if key is not None]
    for key in apart:
        texts.pop(key.text, None)
    matcher = AhoCorasick(list(texts), store_patterns=False)
    return KeyAutomaton(matcher, tuple(map(whole.get, texts)), tuple(map(anywhere.get, texts)), tuple(apart), quirks)


GROWTH = 4
"""An older segment weighs more than this many times what the next newer one does: so few segments hold ten thousand
entries, and an entry with very many keys is not built anew for each that comes after it."""


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """The place of an entry in the index."""

    rank: int
    """Its place among all entries; an entry that changes keeps it."""
    segment: int | None
    """The number of its segment; None for one that cannot fire."""


@dataclass(frozen=True, slots=True)
class LoreIndex:
    """All entries of a story, by uid, and the segments that find them."""

    entries: Mapping[str, KeyedEntry]
    placed: Mapping[str, EntryPlace]
    segments: tuple[IndexSegment, ...]
    """Oldest and largest first."""
    levels: Mapping[int, int]
    """Number of entries that wait for each level of recursion."""
    quirks: bool = False
    """If true, keys are matched as SillyTavern matches them."""

    def with_entries(self, changed: Iterable[KeyedEntry] = (), removed: Iterable[str] = ()) -> LoreIndex:
        """Return the index after some entries were added, changed or removed."""
        entries, placed, levels = dict(self.entries), dict(self.placed), dict(self.levels)
        fresh: dict[str, KeyedEntry] = {}
        for uid in removed:
            old = entries.pop(uid, None)
            if old is not None:
                placed.pop(uid)
                _count(levels, old, -1)
        rank = next(reversed(placed.values())).rank + 1 if placed else 0
        for entry in changed:
            old = entries.get(entry.uid)
            entries[entry.uid] = entry
            if old is not None:
                _count(levels, old, -1)
            _count(levels, entry, 1)
            if old is not None and _list_indexed_fields(old) == _list_indexed_fields(entry):
                if entry.uid in fresh:
                    fresh[entry.uid] = entry
                continue
            if old is None:
                placed[entry.uid] = EntryPlace(rank, None)
                rank += 1
            else:
                placed[entry.uid] = EntryPlace(placed[entry.uid].rank, None)
            fresh.pop(entry.uid, None)
            if can_fire(entry):
                fresh[entry.uid] = entry
        return LoreIndex(entries, placed, self._grown(entries, placed, fresh), levels, self.quirks)

    def _grown(
        self, entries: Mapping[str, KeyedEntry], placed: dict[str, EntryPlace], fresh: dict[str, KeyedEntry]
    ) -> tuple[IndexSegment, ...]:
        """Return the segments with a new one for what is fresh, in which newer ones that it outweighs are taken up."""
        segments = [
            segment for segment in self.segments if any(_is_alive(placed, segment, uid) for uid in segment.keyed)
        ]
        if not fresh:
            return tuple(segments)
        gathered, weight = dict(fresh), sum(1 + len(entry.keys) + len(entry.secondary) for entry in fresh.values())
        while segments and segments[-1].weight <= GROWTH * weight:
            older = segments.pop()
            weight += older.weight
            gathered = {uid: entries[uid] for uid in older.keyed if _is_alive(placed, older, uid)} | gathered
        number = max((segment.number for segment in self.segments), default=-1) + 1
        for uid in gathered:
            placed[uid] = EntryPlace(placed[uid].rank, number)
        return (*segments, build_segment(gathered.values(), number, quirks=self.quirks))

    def owners(self, segment: IndexSegment, uids: Iterable[str]) -> Iterator[str]:
        """Return those of a segment's entries that still stand there."""
        return (uid for uid in uids if _is_alive(self.placed, segment, uid))

    def keyed(self, uid: str) -> EntryKeys | None:
        """Return the keys of an entry; None for one that cannot fire."""
        number = self.placed[uid].segment
        for segment in reversed(self.segments):
            if segment.number == number:
                return segment.keyed[uid]
        return None

    @property
    def deepest(self) -> int:
        """The largest scan depth that an entry names."""
        return max((segment.deepest for segment in self.segments), default=0)


def build_index(entries: Iterable[KeyedEntry], *, quirks: bool = False) -> LoreIndex:
    """Return an index of these entries; of two with one uid the later counts."""
    return LoreIndex({}, {}, (), {}, quirks).with_entries(entries)


def can_fire(entry: KeyedEntry) -> bool:
    """Return whether an entry can ever be of use: others need not be looked for."""
    return entry.enabled and not entry.is_blank


def _is_alive(placed: Mapping[str, EntryPlace], segment: IndexSegment, uid: str) -> bool:
    place = placed.get(uid)
    return place is not None and place.segment == segment.number


def _count(levels: dict[int, int], entry: KeyedEntry, by: int) -> None:
    """Keep count of the entries that wait for a level of recursion."""
    level = entry.delay_until_recursion
    if level > 0 and can_fire(entry):
        levels[level] = levels.get(level, 0) + by
        if not levels[level]:
            del levels[level]


def _list_indexed_fields(entry: KeyedEntry) -> tuple[object, ...]:
    """Return the fields that its segment holds: an entry that changes elsewhere need not be placed anew."""
    return (
        can_fire(entry),
        entry.keys,
        entry.secondary,
        entry.case_sensitive,
        entry.whole_words,
        entry.scan_depth,
        entry.needs_no_key,
    )


CONSTANT_TYPES = frozenset({"rule"})
"""Types of entries that are always shown: what holds always must always be known."""

BookVersions = tuple[tuple[str, str], ...]
"""The names of books, each with when it was kept."""


@dataclass(frozen=True, slots=True)
class StoryLore:
    """All entries of a story, indexed."""

    index: LoreIndex
    books: BookVersions
    story: Mapping[str, KeyedEntry]
    """The story's own entries, by uid."""
    timed: bool
    """True if one of the entries stays or rests once it has fired."""
    written: Mapping[str, KeyedEntry] = field(default_factory=dict)
    """The entries of books in which macros stand, as they were written."""
    names: MacroNames = NOBODY
    """The people whose names are put in for them."""
    is_filtered: bool = False
    """True if one of the entries is for some characters only."""
    sources: frozenset[str] = frozenset()
    """The texts beside the messages that an entry is looked for in, by the names of `entry.SOURCES`."""

    @property
    def constants(self) -> list[KeyedEntry]:
        """The entries that are always shown, the most important first."""
        constants = [entry for entry in self.index.entries.values() if entry.stands_always and can_fire(entry)]
        return sorted(constants, key=lambda entry: -entry.order)

    def with_story(self, known: Sequence[LoreEntry]) -> StoryLore:
        """Return the lore with these entries as the story's own; only what changed is indexed anew."""
        story = {entry.uid: entry for entry in map(make_keyed, known)}
        changed = [entry for uid, entry in story.items() if self.story.get(uid) != entry]
        removed = [uid for uid in self.story if uid not in story]
        if not changed and not removed:
            return self
        index = self.index.with_entries(changed, removed)
        return replace(self, index=index, story=story, timed=_is_timed(index))

    def with_names(self, names: MacroNames) -> StoryLore:
        """Return the lore with these people put in for the macros; only entries that have some are indexed anew."""
        if names == self.names or not self.written:
            return self
        index = self.index.with_entries(put_in_entry(entry, names) for entry in self.written.values())
        return replace(self, index=index, names=names)

    def is_overtaken(self, before: Mapping[str, str], fired: Iterable[KeyedEntry], by_people: Collection[str]) -> bool:
        """Return whether what a turn brought up before, each with its words, is not what people say by now: something
        of it is there no more, they gave it other words, or something of theirs comes up that was not there."""
        entries = self.index.entries

        def is_theirs(uid: str) -> bool:
            return uid in by_people or bool(entries[uid].book)

        if any(uid not in entries or (is_theirs(uid) and entries[uid].content != text) for uid, text in before.items()):
            return True
        return any(is_theirs(entry.uid) and entry.uid not in before for entry in fired)


def index_books(entries: Iterable[KeyedEntry], books: BookVersions, *, quirks: bool = False) -> StoryLore:
    """Return the lore of a story's books, without its own entries."""
    entries = list(entries)
    written = {entry.uid: entry for entry in entries if any(map(has_macros, (entry.content, *entry.keys)))}
    written |= {entry.uid: entry for entry in entries if any(map(has_macros, entry.secondary))}
    index = build_index(entries, quirks=quirks)
    is_filtered = any(entry.characters != EVERYBODY for entry in entries)
    sources = frozenset(name for entry in entries for name in entry.sources)
    return StoryLore(index, books, {}, _is_timed(index), written, is_filtered=is_filtered, sources=sources)


def put_in_entry(entry: KeyedEntry, names: MacroNames) -> KeyedEntry:
    """Return an entry with the names that its macros stand for, in its keys and its content."""

    values = names.values

    def put_in_all(keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(substitute_macros(key, values) for key in keys)

    return replace(
        entry,
        content=substitute_macros(entry.content, values),
        keys=put_in_all(entry.keys),
        secondary=put_in_all(entry.secondary),
    )


def make_keyed(entry: LoreEntry) -> KeyedEntry:
    """Return an entry of the story as the scan looks for it. One that is retired is found by its names alone; one whose
    keys a person wrote, by those and its name."""
    names = (entry.name,) if "keywords" in entry.locked else (entry.name, *entry.aliases)
    return KeyedEntry(
        uid=f"story/{entry.key}",
        name=entry.name,
        content=entry.content,
        keys=tuple(dict.fromkeys(names if entry.retired else (*names, *entry.keywords))),
        type=entry.type,
        constant=entry.type in CONSTANT_TYPES,
    )


def _is_timed(index: LoreIndex) -> bool:
    return any(entry.has_effects for entry in index.entries.values())
