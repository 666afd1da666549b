"""The keys that occur in messages and in the entries that fired: all of them, found in one pass over the text.

The newest messages stand one after the other, newest first, each as `Name: text` behind a character U+0001, as
patterns written for SillyTavern expect it. A plain key is found inside one message; a pattern may reach over several.
A key counts for an entry if it is in one of the messages that the entry's depth covers, in one of the other texts that
the entry names (the scenario, say), or in the content of an entry that fired; the newest of those messages is named.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from previously.core.json_values import clean
from previously.lore.entry import KeyedEntry
from previously.lore.index import IndexSegment, LoreIndex
from previously.lore.keys import Comparison, PreparedText, SearchKey, prepare_text

_BEGIN = "\x01"


@dataclass(frozen=True, slots=True)
class InMessage:
    """A key stands in a message, counted from the newest."""

    number: int


@dataclass(frozen=True, slots=True)
class InEntry:
    """A key stands in the content of an entry that fired."""

    uid: str


@dataclass(frozen=True, slots=True)
class InSource:
    """A key stands in a text beside the messages, by a name of `entry.SOURCES`."""

    name: str


Where = InMessage | InEntry | InSource


@dataclass(slots=True)
class KeyMatches:
    """The keys that were found so far for one turn."""

    index: LoreIndex
    depth: int
    """Number of messages that are read for an entry that does not say it itself."""
    in_messages: dict[SearchKey, int] = field(default_factory=dict)
    """The newest message that holds a plain key."""
    patterns: dict[tuple[str, int], int] = field(default_factory=dict)
    """The message in which a pattern begins, for a pattern and a depth."""
    in_entries: dict[SearchKey, str] = field(default_factory=dict)
    in_sources: dict[str, set[SearchKey]] = field(default_factory=dict)
    """The keys that stand in each text beside the messages."""

    def depth_of(self, entry: KeyedEntry) -> int:
        """Return how many of the newest messages are read for an entry."""
        return self.depth if entry.scan_depth is None else max(entry.scan_depth, 0)

    def where(self, key: SearchKey, entry: KeyedEntry) -> Where | None:
        """Return where a key of an entry was found."""
        depth = self.depth_of(entry)
        if depth <= 0 and self.index.quirks:
            return None  # SillyTavern gives such an entry an empty text, recursion included
        if key.compared is Comparison.REGEX:
            number = self.patterns.get((key.text, depth), depth)
        else:
            number = self.in_messages.get(key, depth)
        if number < depth:
            return InMessage(number)
        for name in entry.sources if self.in_sources else ():
            if key in self.in_sources.get(name, ()):
                return InSource(name)
        uid = self.in_entries.get(key)
        return None if uid is None else InEntry(uid)

    def read_messages(self, lines: Sequence[str], furthest: int = 0) -> dict[str, None]:
        """Look for all keys in the messages, newest first; return the entries that have a primary key among them, also
        in those up to the `furthest` that may be read later."""
        lines = [clean(line)[0] for line in lines[: max(self.depth, self.index.deepest, furthest)]]
        candidates: dict[str, None] = {}
        for segment, keys in self._plain(lines):
            for key, number in keys.items():
                self.in_messages.setdefault(key, number)
                candidates.update(dict.fromkeys(self._owners(segment, key)))
        whole = _joined(lines)
        for segment in self.index.segments:
            for pattern in segment.regexes.likely(whole) if segment.regexes else ():
                depths = {self.depth if one is None else max(one, 0) for one in segment.depths[pattern]}
                candidates |= self._read_pattern(segment, pattern, lines, depths)
        return candidates

    def read_sources(self, sources: Mapping[str, str]) -> dict[str, None]:
        """Look for all keys in texts beside the messages, by the names of `entry.SOURCES`; return the entries with a
        primary key in one of them, whether or not they name that text."""
        candidates: dict[str, None] = {}
        for name, text in sources.items():
            lines = [clean(text)[0]]
            keys = self.in_sources[name] = set()
            for segment, plain in self._plain(lines):
                patterns = segment.regexes.likely(_joined(lines)) if segment.regexes else ()
                matched = [
                    one
                    for one in patterns
                    if segment.regexes and segment.regexes.first(one, _joined(lines)) is not None
                ]
                for key in (*plain, *(SearchKey(Comparison.REGEX, pattern) for pattern in matched)):
                    keys.add(key)
                    candidates.update(dict.fromkeys(self._owners(segment, key)))
        return candidates

    def read_further(self, lines: Sequence[str]) -> dict[str, None]:
        """Read one message more for the entries that do not say how many; return those with a primary key in it. The
        plain keys in it are known already."""
        self.depth += 1
        lines = [clean(line)[0] for line in lines[: self.depth]]
        whole = _joined(lines)
        candidates: dict[str, None] = {}
        for segment in self.index.segments:
            for pattern in segment.regexes.likely(whole) if segment.regexes else ():
                if None in segment.depths[pattern]:
                    candidates |= self._read_pattern(segment, pattern, lines, {self.depth})
        return candidates

    def read_entries(self, entries: Sequence[KeyedEntry]) -> dict[str, None]:
        """Look for all keys in the content of entries that fired; return the entries with a primary key among them."""
        lines = [clean(entry.content)[0] for entry in entries]
        candidates: dict[str, None] = {}
        whole, starts = _joined(lines), _find_starts(lines)
        for segment, keys in self._plain(lines):
            for key, number in keys.items():
                self.in_entries.setdefault(key, entries[number].uid)
                candidates.update(dict.fromkeys(self._owners(segment, key)))
        for segment in self.index.segments:
            for pattern in segment.regexes.likely(whole) if segment.regexes else ():
                at = segment.regexes.first(pattern, whole) if segment.regexes else None
                if at is not None:
                    key = SearchKey(Comparison.REGEX, pattern)
                    self.in_entries.setdefault(key, entries[_line_at(starts, at)].uid)
                    candidates.update(dict.fromkeys(self._owners(segment, key)))
        return candidates

    def _read_pattern(
        self, segment: IndexSegment, pattern: str, lines: Sequence[str], depths: set[int]
    ) -> dict[str, None]:
        """Look for a pattern in the newest messages, as many as each of the depths says; return its entries."""
        candidates: dict[str, None] = {}
        for depth in depths:
            read = lines[:depth]
            at = segment.regexes.first(pattern, _joined(read)) if segment.regexes and read else None
            if at is not None:
                self.patterns[pattern, depth] = _line_at(_find_starts(read), at)
                candidates |= dict.fromkeys(self._owners(segment, SearchKey(Comparison.REGEX, pattern)))
        return candidates

    def _plain(self, lines: Sequence[str]) -> Iterator[tuple[IndexSegment, dict[SearchKey, int]]]:
        """Yield for each segment the plain keys that occur, and in which line first."""
        ready: dict[Comparison, tuple[PreparedText, list[int]]] = {}
        for segment in self.index.segments:
            keys: dict[SearchKey, int] = {}
            for compared, automata in ((Comparison.CASEFOLD, segment.casefold), (Comparison.EXACT, segment.exact)):
                if not automata or not lines:
                    continue
                if compared not in ready:
                    ready[compared] = _prepare_lines(lines, compared, quirks=self.index.quirks)
                text, starts = ready[compared]
                at: dict[SearchKey, int] = {}
                for automaton in automata:
                    automaton.find(text, at)
                keys |= {key: _line_at(starts, place) for key, place in at.items()}
            yield segment, keys

    def _owners(self, segment: IndexSegment, key: SearchKey) -> Iterator[str]:
        return self.index.owners(segment, segment.owners.get(key, ()))


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(_BEGIN + line for line in lines)


def _find_starts(lines: Sequence[str]) -> list[int]:
    """Return where each of the lines begins once they are joined."""
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 2
    return starts


def _prepare_lines(lines: Sequence[str], compared: Comparison, *, quirks: bool) -> tuple[PreparedText, list[int]]:
    """Return the lines, made comparable and joined, and where each begins."""
    ready = [prepare_text(line, compared, quirks=quirks) for line in lines]
    texts = [one.text for one in ready]
    starts = _find_starts(texts)
    inside = frozenset(start + 1 + at for start, one in zip(starts, ready, strict=True) for at in one.inside)
    return PreparedText(_joined(texts), inside), starts


def _line_at(starts: Sequence[int], at: int) -> int:
    return bisect_right(starts, at) - 1
