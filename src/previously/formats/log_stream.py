"""Large logs of agents, read as they go: what one look through the file must find for that to give the same story.

A log is one chain, if each step follows the one before it, or a few, where something was taken back and paths fork; and
each call is answered before anybody else speaks. Anything else has to be held as a whole, and `TangledLog` says so.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import inf

from previously.core.messages import Draft, Message, Role, Thinking, ToolCall, ToolResult
from previously.formats.log_lines import DraftCleaner, complete_calls

MOST_HELD = 1_000
"""Messages or lines that are held back at a time: agents make tens of calls together, never hundreds."""

_BUCKETS = 64
"""Parts that words are looked through in, one after the other: a set of all would take ten times their memory."""


_OF_TOOLS = (ToolCall, ToolResult)


class TangledLog(Exception):
    """The log cannot be read as it goes, and has to be held as a whole."""


class UniqueWords:
    """Words of which each is said once, a million of them in 8 MB: their hashes. Two words with the same hash, in one
    of ten million logs that long, are taken for the same: such a log is held as a whole."""

    def __init__(self) -> None:
        self._hashes = [array("q") for _ in range(_BUCKETS)]

    def add(self, word: str) -> None:
        hashed = hash(word)
        self._hashes[hashed % _BUCKETS].append(hashed)

    def check(self, never: Collection[str] = ()) -> None:
        """Raise `TangledLog` if a word was said twice, or one of those that must not be."""
        unwanted = {hash(word) for word in never}
        for bucket in self._hashes:
            said = set(bucket)
            if len(said) < len(bucket) or said & unwanted:
                raise TangledLog


class LineLinks(UniqueWords):
    """The ids of lines, each with the place that it leads to, in another 4 MB for a million."""

    def __init__(self) -> None:
        super().__init__()
        self._places = [array("i") for _ in range(_BUCKETS)]
        self._newest: dict[str, int] = {}

    def link(self, word: str, place: int) -> None:
        """Add the id of a line."""
        self.add(word)
        self._places[hash(word) % _BUCKETS].append(place)
        self._newest[word] = place
        if len(self._newest) > 2 * MOST_HELD:
            self._newest = dict(islice(self._newest.items(), MOST_HELD, None))

    def find(self, word: str) -> int | None:
        """Return where an id leads; None if no line has had it yet."""
        place = self._newest.get(word)
        if place is None:  # a line of long ago, or none
            bucket = hash(word) % _BUCKETS
            with suppress(ValueError):
                return self._places[bucket][self._hashes[bucket].index(hash(word))]
        return place


Stretch = tuple[int, int]
"""The first and the last of places in a log that follow each other."""


class LogPaths:
    """The paths through a log. Places are numbers that grow along the file, from 1; each follows the one before it, but
    where a path forks from an earlier one."""

    def __init__(self) -> None:
        self._starts, self._parents = [1], [0]

    @property
    def forks(self) -> Sequence[int]:
        """The places behind which paths part; 0 is before the first."""
        return self._parents[1:]

    def fork(self, start: int, parent: int) -> None:
        """Let what comes from `start` on follow an earlier place, `parent`. `TangledLog` if too many do."""
        if len(self._starts) > MOST_HELD:
            raise TangledLog
        self._starts.append(start)
        self._parents.append(parent)

    def find_before(self, place: int) -> int:
        """Return the place that another follows; 0 for the first."""
        at = bisect_right(self._starts, place) - 1
        return self._parents[at] if place == self._starts[at] else place - 1

    def path_to(self, place: int) -> list[Stretch]:
        """Return the path from the beginning to a place."""
        path: list[Stretch] = []
        while place > 0:
            at = bisect_right(self._starts, place) - 1
            path.append((self._starts[at], place))
            place = self._parents[at]
        return path[::-1]


@dataclass(frozen=True, slots=True)
class ForkedPath:
    """A path beside the main one."""

    parent: int
    """The last place that it shares with the main path; 0 = none."""
    rest: list[Stretch]
    """The places behind it."""


def part_paths(main: Sequence[Stretch], path: Sequence[Stretch]) -> ForkedPath:
    """Return what a path has that the main one has not."""
    shared = 0
    for at, (first, last) in enumerate(path):
        if at >= len(main) or main[at][0] != first:
            return ForkedPath(shared, list(path[at:]))
        shared = min(last, main[at][1])
        if last != main[at][1]:
            own = [(shared + 1, last)] if last > shared else []
            return ForkedPath(shared, [*own, *path[at + 1 :]])
    return ForkedPath(shared, [])


def is_in(place: int, stretches: Sequence[Stretch]) -> bool:
    """Return whether a place lies in one of these stretches, which are in order."""
    at = bisect_right(stretches, (place, inf)) - 1
    return at >= 0 and stretches[at][0] <= place <= stretches[at][1]


class ForkPositions:
    """Notes how many messages of the main path stand before each of its forks, while it is read."""

    def __init__(self, forks: Iterable[int]) -> None:
        self._forks = sorted(set(forks))
        self._found: dict[int, int] = {}
        self._next = 0

    def begin(self) -> None:
        """Read the path from its first message on."""
        self._next = 0

    def reach(self, place: float, messages: int) -> None:
        """Come to a place, behind so many messages."""
        while self._next < len(self._forks) and self._forks[self._next] < place:
            self._found[self._forks[self._next]] = messages
            self._next += 1

    def find(self, fork: int) -> int:
        return self._found[fork]


class CallLedger:
    """Notes the calls and results of a log in their order, and between which places something waits."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[int, int]] = {}
        """By call, the place that made it and the number of the message."""
        self._given_up: set[str] = set()
        self._messages = 0
        self._spans = array("q")
        """Pairs of places, the first with a call and the last with what it waited for."""
        self._run = 0
        """The place of the first call since nothing was held back; 0 = nothing is."""
        self._run_calls: set[str] = set()

    @property
    def never(self) -> frozenset[str]:
        """The calls that got no result."""
        return frozenset([*self._waiting, *self._given_up])

    @property
    def is_open(self) -> bool:
        """True if something is held back, to see what follows it."""
        return bool(self._run)

    def note(self, message: Message, place: int = 0) -> None:
        """Take the next message. Raise `TangledLog` if its calls and results do not tell by their ids alone what
        belongs together, or a result comes too late to be waited for."""
        self._messages += 1
        parts = [part for part in message.parts if isinstance(part, _OF_TOOLS)]
        for part in parts:
            is_call = isinstance(part, ToolCall)
            if not part.id or (part.id in self._waiting) is is_call or part.id in self._given_up:
                raise TangledLog
            if is_call:
                self._waiting[part.id] = (place, self._messages)
                self._run = self._run or place
                self._run_calls.add(part.id)
            else:
                made, number = self._waiting.pop(part.id)
                if self._messages - number > MOST_HELD:
                    raise TangledLog
                self._run_calls.discard(part.id)
                self._add_span(made, place)
        if message.role is Role.TOOL and not parts:
            raise TangledLog
        if parts:
            is_settled = not self._run_calls and not any(isinstance(part, ToolCall) for part in parts)
        else:
            is_settled = not all(isinstance(part, Thinking) for part in message.parts)
        if is_settled:
            self.settle(place)

    def settle(self, place: int) -> None:
        """Take words that nothing waits for."""
        if self._run:
            self._add_span(self._run, place)
            self._run = 0
            self._run_calls.clear()

    def _add_span(self, first: int, last: int) -> None:
        if last > first:
            self._spans.extend((first, last))

    def fork(self, parent: int) -> None:
        """Go back to an earlier place: what was called behind it gets no result any more."""
        if self._run:
            if self._run <= parent:
                raise TangledLog
            self._run = 0
            self._run_calls.clear()
        behind = [call for call, (place, _) in self._waiting.items() if place > parent]
        for call in behind:
            del self._waiting[call]
        self._given_up.update(behind)

    def check(self, forks: Iterable[int]) -> None:
        """Raise `TangledLog` if a path forks where something waits: what comes then would change what was before."""
        parents = sorted(forks)
        for at in range(0, len(self._spans) if parents else 0, 2):
            nearest = bisect_left(parents, self._spans[at])
            if nearest < len(parents) and parents[nearest] < self._spans[at + 1]:
                raise TangledLog


class CallWindow:
    """Passes on the messages of a log in which every call has its result, as `complete_calls` makes them: held back
    from a call on until all that will ever be answered is. `never` are the calls that will not be."""

    def __init__(self, never: Collection[str] = ()) -> None:
        self._never = never
        self._held: list[Draft] = []
        self._waiting: set[str] = set()

    def take(self, draft: Draft) -> Sequence[Draft]:
        """Return what can be passed on with this message."""
        parts = [part for part in draft.message.parts if isinstance(part, _OF_TOOLS)]
        if not parts and not self._held:
            return (draft,)
        if not parts and not self._waiting and not all(isinstance(part, Thinking) for part in draft.message.parts):
            return [*self.end(), draft]
        self._held.append(draft)
        calls = {part.id for part in parts if isinstance(part, ToolCall)}
        self._waiting |= calls.difference(self._never)
        self._waiting -= {part.id for part in parts if isinstance(part, ToolResult)}
        # Behind a call that nobody answers another may come that was made together with it.
        return () if calls or not parts or self._waiting else self.end()

    def end(self) -> Sequence[Draft]:
        """Return what was held back."""
        held, self._held = self._held, []
        return complete_calls(held) if held else ()


def count_replaced(drafts: Iterable[Draft], kept: DraftCleaner) -> Iterator[tuple[Draft, int]]:
    """Yield the drafts of a log, each with how many characters were replaced since the one before; with the last, also
    those of all that was read behind it."""
    newest: Draft | None = None
    counted = 0
    for draft in drafts:
        if newest is not None:
            yield newest, kept.replaced - counted
            counted = kept.replaced
        newest = draft
    if newest is not None:
        yield newest, kept.replaced - counted
