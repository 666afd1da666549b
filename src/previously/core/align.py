"""Alignment: the splices that bring a stored path to what a source holds now.

A source is a *file*, which holds the whole story, or a *window*, the list a client sends. A file is the truth: after
its splices the path is the file, message for message. A window is only what the client showed: a missing front was
trimmed, a hole is hidden, and the text a client has processed does not overwrite the text that was stored.

Two messages are the same by `digest` in a file and by `match_key` in a window. Short stretches are aligned by a table
of costs, which finds the fewest changes. Long ones are first cut at the longest chain of equal messages, found from
match lists rather than a table, so time grows with the number of messages and never with its square.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from previously.core.digests import digest, match_key
from previously.core.messages import NO_ATTRIBUTES, Attributes, Draft, Message, Role
from previously.core.path import OnPath, Put, Reuse, Splice, Splices

_TABLE = 62_500  # cells of the largest table: 250 messages against 250
_GAP_TABLE = 4_096  # the same for a gap in a long stretch, of which there may be many
_NEAR = 4  # so near to its beginning a story is taken not to be trimmed
_PIECE, _TRUSTED = 32, 24  # messages in a table where a long stretch has few landmarks, and how far it is trusted
_ONE = 1 << 20  # the cost of one changed message; what is below it only decides between equally short alignments
_NEVER = 2 * _ONE + 1  # more than a removal and an insertion


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """One message of the stored path, in path order."""

    entry: int
    digest: bytes
    match_key: bytes
    attributes: Attributes
    role: Role | None = None  # only a message of the same role can be its edit; None = not known, any role


@dataclass(frozen=True, slots=True)
class Alignment:
    """The change, and the number of messages it touches."""

    script: tuple[Splice, ...]
    """Brings the path to what the source holds; an edit is one message for one, with `Put.replaces` set."""
    attributes: tuple[tuple[int, Attributes], ...]
    """Entry and new attributes of messages that stay; moves no node."""
    alternatives: tuple[tuple[int, tuple[Draft, ...]], ...]
    """Position on the new path and swipes, stored already or not, for messages that stay."""
    added: int
    updated: int  # edited, with new attributes, or hidden
    removed: int
    unchanged: int

    @property
    def changes_nothing(self) -> bool:
        """Return whether there is nothing for a store to do or to look at."""
        return not (self.script or self.attributes or self.alternatives)


def align(stored: Sequence[KnownEntry], incoming: Sequence[Draft], *, whole: bool) -> Alignment:
    """Return what brings the path `stored` to `incoming`, a whole file or a window.

    A window that has no message in common with a non-empty path is appended: nothing is removed or hidden. Whether a
    window belongs to a story is for the caller to decide.
    """
    sides = _Sides(stored, incoming, whole)
    return _make_alignment(sides, *(_pair_file(sides) if whole else _pair_window(sides)))


def choose_swipes(
    script: Splices, siblings_at: Callable[[int], Sequence[OnPath]], key_of: Callable[[Message], bytes] = digest
) -> Splices:
    """Return the splices, with a swipe that is there already, and the same, chosen rather than made again. Only the
    first splice can meet one: behind it everything hangs on new nodes."""
    first = script[0] if script else None
    if first is None or first.remove != 1 or len(first.pieces) != 1 or not isinstance(first.pieces[0], Put):
        return script
    put = first.pieces[0]
    wanted = key_of(put.draft.message)
    for sibling in siblings_at(first.at):
        entry = sibling.entry
        if key_of(entry.message) == wanted and entry.id != put.replaces and not entry.attributes.hidden:
            return [replace(first, pieces=(Reuse(entry.id),)), *script[1:]]
    return script


class _Sides:
    """The two lists, and what a pair of messages from them costs."""

    def __init__(self, stored: Sequence[KnownEntry], incoming: Sequence[Draft], whole: bool) -> None:
        self.stored, self.incoming, self.whole = stored, incoming, whole
        self.keys = [known.digest if whole else known.match_key for known in stored]
        self.keys_in = list(map(digest if whole else match_key, (draft.message for draft in incoming)))

    def same(self, i: int, j: int) -> bool:
        return self.keys[i] == self.keys_in[j]

    def surely(self, i: int, j: int) -> bool:
        """Return whether they are the same, and their source does not say by its ids that they are two."""
        mine, theirs = self.stored[i].attributes.source_id, self.incoming[j].attributes.source_id
        return self.keys[i] == self.keys_in[j] and (mine == theirs or mine is None or theirs is None)

    def absent(self, i: int) -> bool:
        """Return whether a client is not expected to send this message: then it misses nothing, and sends no edit of
        it."""
        return not self.whole and self.stored[i].attributes.hidden

    def costs(self, i: int, drafts: Sequence[tuple[bytes, bytes, Draft]]) -> list[int]:
        """Return the costs of pairing a stored message with others; to leave both unpaired costs `2 * _ONE`."""
        key, known, absent, costs = self.keys[i], self.stored[i], self.absent(i), []
        mine, role = known.attributes.source_id, known.role
        for key_in, match_in, draft in drafts:
            theirs = draft.attributes.source_id
            clash = mine is not None and theirs is not None and mine != theirs
            if key == key_in:
                costs.append(int(clash))
            elif absent or (role is not None and role is not draft.message.role):
                costs.append(_NEVER if absent or mine is None or mine != theirs else 2 * _ONE - 1)
            elif known.match_key == match_in:
                costs.append(_ONE if clash else _ONE // 2)
            else:
                costs.append(2 * _ONE - 1 if clash else _ONE)
        return costs

    def landmarks(self, level: int, rows: slice, columns: slice) -> tuple[Sequence[object], Sequence[object]]:
        """By what a long stretch is cut: equal messages twice (rarity is judged anew), then ids, then match keys."""
        if level < 2:
            return self.keys[rows], self.keys_in[columns]
        stored, incoming = self.stored[rows], self.incoming[columns]
        if level == 2:
            return [known.attributes.source_id for known in stored], [draft.attributes.source_id for draft in incoming]
        return [known.match_key for known in stored], [match_key(draft.message) for draft in incoming]


def _pair_file(sides: _Sides) -> tuple[list[Pair], int, int]:
    """Return what is paired, and from where on an unpaired stored message is hidden or removed: all are removed."""
    start, end, end_in = 0, len(sides.stored), len(sides.incoming)
    # An equal start and end belong to an alignment with the fewest changes, whatever lies between.
    while start < min(end, end_in) and sides.surely(start, start):
        start += 1
    while start < min(end, end_in) and sides.surely(end - 1, end_in - 1):
        end, end_in = end - 1, end_in - 1
    back = [(end + k, end_in + k) for k in range(len(sides.stored) - end)]
    return [*((k, k) for k in range(start)), *_pair_stretches(sides, start, end, start, end_in, 0), *back], 0, 0


def _pair_window(sides: _Sides) -> tuple[list[Pair], int, int]:
    """Return what is paired, and from where on an unpaired stored message is hidden (the first match) or removed.

    Removed is what follows the last match, from the first message on that a client would have sent.
    """
    length, length_in = len(sides.stored), len(sides.incoming)
    shown = [i for i in range(length) if not sides.absent(i)]
    matches = [(length, length_in)]
    while shown and matches[-1][1] > 0 and sides.same(shown[-1], matches[-1][1] - 1):
        matches.append((shown.pop(), matches[-1][1] - 1))
    links = find_chain([sides.keys[i] for i in shown], sides.keys_in[: matches[-1][1]], rare=False)
    matches = [*((shown[k], j) for k, j in links), *reversed(matches)]
    matches = find_chain(sides.keys[: matches[0][0]], sides.keys_in[: matches[0][1]], rare=False) + matches
    pairs = [*_pair_front(sides, *matches[0]), matches[0]]
    for (i, j), (next_i, next_j) in pairwise(matches):
        pairs += [*_pair_stretches(sides, i + 1, next_i, j + 1, next_j, 1), (next_i, next_j)]
    pairs.pop()
    last = max((i for i, j in pairs if sides.same(i, j)), default=length)
    return pairs, (pairs or matches)[0][0], next((i for i in range(last + 1, length) if not sides.absent(i)), length)


def _pair_front(sides: _Sides, i: int, j: int) -> list[Pair]:
    """Return what belongs together before the first match: what a client shows there and is not known is an edit of
    what is stored there. Near the beginning that may be any of it; else the front was trimmed, and it is the last of
    it."""
    if not 0 < i < len(sides.stored) or not j:
        return []
    shown = [k for k in range(i) if not sides.absent(k)]
    start = 0 if i <= j + _NEAR else (shown[-j] if len(shown) >= j else 0)
    return _pair_stretches(sides, start, i, 0, j, 1)


def _pair_stretches(sides: _Sides, first: int, last: int, first_in: int, last_in: int, level: int) -> list[Pair]:
    """Return what belongs together in two stretches (ends not included): messages that stay and edits, in order."""
    pairs: list[Pair] = []
    work = [(first, last, first_in, last_in, level)]
    while work:
        a, b, c, d, level = work.pop()
        if (b - a) * (d - c) <= (_GAP_TABLE if level else _TABLE):
            pairs += _find_cheapest(sides, range(a, b), range(c, d))
        elif level < (4 if sides.whole else 2):
            links = find_chain(*sides.landmarks(level, slice(a, b), slice(c, d)), rare=True)
            for i, j in [*((a + i, c + j) for i, j in links), (b, d)]:
                if a < i and c < j:
                    work.append((a, i, c, j, level + 1))
                a, c = i + 1, j + 1
                pairs.append((i, j))
            pairs.pop()
        else:
            pairs += _pair_piecewise(sides, a, b, c, d)
    return sorted(pairs)


def _pair_piecewise(sides: _Sides, a: int, b: int, c: int, d: int) -> Iterator[Pair]:
    """Return the pairs of a long stretch without landmarks: as long as messages are equal, else by one small table."""
    while a < b and c < d:
        if sides.same(a, c):
            yield a, c
            a, c = a + 1, c + 1
            continue
        piece = _find_cheapest(sides, range(a, min(a + _PIECE, b)), range(c, min(c + _PIECE, d)))
        trusted = [(i, j) for i, j in piece if i < a + _TRUSTED and j < c + _TRUSTED]
        yield from trusted
        a, c = (trusted[-1][0] + 1, trusted[-1][1] + 1) if trusted else (a + _TRUSTED, c + _TRUSTED)


def _find_cheapest(sides: _Sides, rows: range, columns: range) -> list[Pair]:
    """Return the pairs of the alignment with the fewest changes; of equally good ones, that which pairs earlier
    messages."""
    drafts = [(sides.keys_in[j], match_key(sides.incoming[j].message), sides.incoming[j]) for j in columns if rows]
    best = [k * _ONE for k in range(len(columns) + 1)]
    moves: list[bytearray] = []  # for each cell how it was reached: 0 a removal, 1 an insertion, 2 a pair
    for i in rows:
        drop = 0 if sides.absent(i) else _ONE
        diagonal = best[0]
        left = best[0] = diagonal + drop
        row = bytearray(len(columns))
        for k, cost in enumerate(sides.costs(i, drafts)):
            up, insertion, both = best[k + 1], left + _ONE, diagonal + cost
            left = up + drop
            if insertion < left:
                left, row[k] = insertion, 1
            if both < left:
                left, row[k] = both, 2
            diagonal, best[k + 1] = up, left
        moves.append(row)
    pairs: list[Pair] = []
    r, k = len(rows) - 1, len(columns) - 1
    while r >= 0 and k >= 0:
        move = moves[r][k]
        if move == 2:
            pairs.append((rows[r], columns[k]))
        r, k = r - (move != 1), k - (move != 0)
    return pairs[::-1]


def _make_alignment(sides: _Sides, pairs: list[Pair], first: int, cut: int) -> Alignment:
    """Return the alignment with these pairs: unpaired stored messages from `first` are hidden, from `cut` on
    removed."""
    stored, incoming = sides.stored, sides.incoming
    script: list[Splice] = []
    attributes: list[tuple[int, Attributes]] = []
    alternatives: list[tuple[int, tuple[Draft, ...]]] = []
    added = edited = removed = unchanged = 0
    i = j = 0
    for next_i, next_j in (*pairs, (len(stored), len(incoming))):
        for known in stored[max(i, first) : min(next_i, cut)]:
            if not known.attributes.hidden:
                attributes.append((known.entry, replace(known.attributes, hidden=True)))
        at = max(i, min(next_i, cut))
        if at < next_i or j < next_j:
            script.append(Splice(at, next_i - at, tuple(Put(draft) for draft in incoming[j:next_j])))
            added += next_j - j
            removed += next_i - at
        i, j = next_i + 1, next_j + 1
        if next_j == len(incoming):
            break
        known, draft = stored[next_i], incoming[next_j]
        if not sides.same(next_i, next_j):
            put = replace(draft, attributes=_merge_attributes(known.attributes, draft.attributes))
            script.append(Splice(next_i, 1, (Put(put, replaces=known.entry),)))
            edited += 1
            continue
        new = _merge_attributes(
            known.attributes, draft.attributes if sides.whole else NO_ATTRIBUTES
        )  # what is sent is shown
        if new == known.attributes:
            unchanged += 1
        else:
            attributes.append((known.entry, new))
        if draft.alternatives:
            alternatives.append((next_i + added - removed, draft.alternatives))
    updated = edited + len(attributes)
    return Alignment(tuple(script), tuple(attributes), tuple(alternatives), added, updated, removed, unchanged)


def _merge_attributes(stored: Attributes, given: Attributes) -> Attributes:
    """Return what the source says, and where it says nothing what was known."""
    if given == stored:
        return stored
    at = stored.at if given.at is None else given.at
    source_id = stored.source_id if given.source_id is None else given.source_id
    return Attributes(at, source_id, given.extra or stored.extra, given.hidden)


CANDIDATES = 200_000
"""Pairs of equals that are all tried; beyond, each tries only its nearest equals."""

REACH = 8
"""Equals on either side of its own rank that each then tries: edits seldom move a message further."""

Pair = tuple[int, int]
"""A place in the one list and a place in the other."""


def find_chain(keys: Sequence[object], keys_in: Sequence[object], *, rare: bool) -> list[Pair]:
    """Return a longest run of pairs with equal keys, in order; of several, the one nearest to both ends. None equals
    nothing.

    With more than `CANDIDATES` pairs of equals only the rare keys count; where there are none, and `rare` does not
    insist on them, each message tries its nearest equals, counted from the end.
    """
    wanted = set(keys_in) - {None}
    places: dict[object, list[int]] = {}
    for i in range(len(keys) - 1, -1, -1):
        if keys[i] in wanted:
            places.setdefault(keys[i], []).append(i)
    reach = len(keys)
    if sum(len(places.get(key, ())) for key in keys_in) > CANDIDATES:
        reach, common = REACH, places
        places = {key: spots for key, spots in places.items() if len(spots) <= REACH} or ({} if rare else common)
    ranks = dict.fromkeys(places, 0)
    tails: list[int] = []  # for each length, how far from the end the nearest chain of that length begins
    heads: list[int] = []  # and the link it begins with
    links: list[tuple[int, int, int]] = []  # a pair, and the link that follows it or -1
    for j in range(len(keys_in) - 1, -1, -1):
        key = keys_in[j]
        if key not in places:
            continue
        rank = ranks[key]
        ranks[key] = rank + 1
        for i in reversed(places[key][max(0, rank - reach) : rank + reach + 1]):
            k = bisect_left(tails, -i)
            if k == len(tails) or tails[k] != -i:
                tails[k : k + 1], heads[k : k + 1] = [-i], [len(links)]
                links.append((i, j, heads[k - 1] if k else -1))
    pairs: list[Pair] = []
    link = heads[-1] if heads else -1
    while link >= 0:
        i, j, link = links[link]
        pairs.append((i, j))
    return pairs
